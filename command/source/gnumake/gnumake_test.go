package gnumake_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/command/source/gnumake"
)

const makefile = `# A makefile
VERSION := $(shell git describe)
URL = http://example.org
A ::= b
.PHONY: all test
all: build \
     test
build test: src/main.o
	echo target: not one
src/main.o: src/main.c | dir
%.o: %.c
	cc $<
$(BIN): x
ifeq ($(OS),a:b)
lint::
	lint
endif
export PATH: x
define help
text: more
endef
clean: ; rm -rf out
a=b: c
release.tag release-all:
	x
`

func TestTargets(t *testing.T) {
	want := []string{"all", "build", "test", "src/main.o", "lint", "clean", "release.tag", "release-all"}
	if got := gnumake.Targets([]byte(makefile)); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestParse(t *testing.T) {
	l, err := gnumake.Parse([]byte(makefile), "Makefile", []string{"test", "clean"})
	if err != nil {
		t.Fatal(err)
	}
	if len(l.Tasks) != 2 || !slices.Equal(l.Tasks[0].Argv, []string{"make", "test"}) || l.Tasks[0].Rest != "" || l.Tasks[0].Params != nil {
		t.Errorf("got %+v", l.Tasks)
	}
	for name, says := range map[string]string{"tests": "did you mean test?", "SHELL=x": `no target "SHELL=x"`, "-f": `"-f"`, "foo.o": `"foo.o"`} {
		if _, err := gnumake.Parse([]byte(makefile), "Makefile", []string{name}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", name, err, says)
		}
	}
}

func FuzzTargets(f *testing.F) {
	f.Add(makefile)
	f.Fuzz(func(t *testing.T, text string) {
		for _, target := range gnumake.Targets([]byte(text)) {
			if strings.ContainsAny(target, "=$%:# \t\n'\"") || strings.HasPrefix(target, "-") || !strings.Contains(text, target) {
				t.Errorf("a target %q in %q", target, text)
			}
		}
	})
}

func TestIncludes(t *testing.T) {
	got, err := gnumake.Includes([]byte("include a.mk b.mk # c.mk\n-include \\\n  d.mk\nall:\n\tinclude no\n  sinclude e.mk\nincluded = x\n"))
	if want := []string{"a.mk", "b.mk", "d.mk", "e.mk"}; err != nil || !slices.Equal(got, want) {
		t.Errorf("%q, %v", got, err)
	}
	for _, text := range []string{"include $(DEPS)", "-include *.d", "include ~/x.mk"} {
		if got, err := gnumake.Includes([]byte(text)); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}

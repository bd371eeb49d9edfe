package acpd

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// program writes an executable file.
func program(t *testing.T, path string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestFind(t *testing.T) {
	named := program(t, filepath.Join(t.TempDir(), "any-name"))
	onPath := program(t, filepath.Join(t.TempDir(), name))
	plain := filepath.Join(t.TempDir(), "plain")
	if err := os.WriteFile(plain, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ variable, path, want, says string }{
		{named, filepath.Dir(onPath), named, ""},
		{"", filepath.Dir(onPath), onPath, ""},
		{"", "", "", "chant-acpd, which does it, is missing: it is neither beside chant-acp, nor named by CHANT_ACPD, nor on PATH; to get it: go install "},
		{"", ".", "", "is missing"},
		{"any-name", filepath.Dir(onPath), "", "no such file"}, // what was named and is not there is not replaced
		{plain, filepath.Dir(onPath), "", "plain is no program"},
		{filepath.Dir(named), filepath.Dir(onPath), "", "is no program"},
	} {
		t.Setenv(Variable, c.variable)
		t.Setenv("PATH", c.path)
		got, err := find("does it")
		if got != c.want || (err == nil) != (c.says == "") || err != nil && (!strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("CHANT_ACPD=%s PATH=%s: %q, %v", c.variable, c.path, got, err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	beside := program(t, filepath.Join(filepath.Dir(self), name))
	t.Cleanup(func() { _ = os.Remove(beside) })
	t.Setenv(Variable, named)
	if got, err := find("does it"); got != beside || err != nil {
		t.Errorf("beside the executable: %q, %v", got, err)
	}
}

func TestCalled(t *testing.T) {
	for _, c := range []struct {
		args, want []string
		by, says   string
	}{
		{args: nil},
		{args: []string{"gateway", "--for=x"}, want: []string{"gateway", "--for=x"}},
		{args: []string{"--for=" + Version, "evaluate"}, want: []string{"evaluate"}},
		{args: []string{"--for=" + Version, "--by=/bin/chant-acp", "ps", "--json"}, want: []string{"ps", "--json"}, by: "/bin/chant-acp"},
		{args: []string{"--for=9.8.7", "evaluate"}, says: "chant-acp 9.8.7 started chant-acpd " + Version},
	} {
		call, err := Called(c.args)
		if c.says != "" {
			if err == nil || !strings.Contains(err.Error(), c.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: %v", c.args, err)
			}
			continue
		}
		if err != nil || !slices.Equal(call.Args, c.want) || call.by != c.by || call.ByAgent() != (c.by != "") {
			t.Errorf("%q: %+v, %v", c.args, call, err)
		}
	}
	if call, _ := Called([]string{"--for=" + Version, "evaluate"}); !call.Is(Evaluate) || call.Is(Request) {
		t.Errorf("%+v is for evaluating", call)
	}
	if call, _ := Called([]string{"evaluate", "more"}); call.Is(Evaluate) {
		t.Errorf("%+v is for nothing", call)
	}
}

func TestCommand(t *testing.T) {
	environ := []string{"A=1", "B=2"}
	t.Setenv(Variable, "/proc/self/exe")
	c, err := Command(Request, environ[:1])
	if err != nil || c.Path != "/proc/self/exe" || c.Env[0] != "A=1" || len(c.Env) > 1 && endsAtOnce == "" {
		t.Errorf("%+v, %v", c, err)
	}
	if !slices.Equal(environ, []string{"A=1", "B=2"}) {
		t.Errorf("the environment became %q", environ)
	}
}

func TestAgent(t *testing.T) {
	onPath := program(t, filepath.Join(t.TempDir(), agent))
	t.Setenv("PATH", filepath.Dir(onPath))
	if got, err := (Call{}).Agent(); got != onPath || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	if got, err := (Call{by: "/a/b"}).Agent(); got != "/a/b" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	t.Setenv("PATH", "")
	if got, err := (Call{}).Agent(); err == nil || !strings.Contains(err.Error(), "go install") {
		t.Errorf("%q, %v", got, err)
	}
}

package just_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/command/source/just"
)

func TestIncludes(t *testing.T) {
	got, err := just.Includes([]byte("# import 'no'\nimport 'a.just'\nimport? \"b/c.just\" # later\n\nmod foo\nmod? bar 'dir/bar'\nbuild:\n  import 'body'\n"))
	want := []just.Include{{Path: "a.just"}, {Path: "b/c.just"}, {Module: "foo"}, {Path: "dir/bar", Module: "bar"}}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
	for _, text := range []string{"import x'~/a.just'", "import 'a' / 'b'", `import "a\tb"`, "mod foo f'{{x}}'", "import '''a'''"} {
		if got, err := just.Includes([]byte(text)); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %+v, %v", text, got, err)
		}
	}
}

func TestCount(t *testing.T) {
	text := "set shell := ['sh']\nalias b := build\nx := 'a: b'\n[private]\nbuild target='all' *args: lint\n  echo: no\n@quiet:\n_hidden:\nlint:\n    just build\n"
	if got := just.Count([]byte(text)); got != 3 {
		t.Errorf("%d recipes", got)
	}
}

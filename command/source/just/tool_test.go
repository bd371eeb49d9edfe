package just_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/command/source"
	"github.com/chant-acp/chant-acp/command/source/just"
)

// TestDumpOfJustItself compares what is stored of just's output with what the
// just of this machine prints, where there is one.
func TestDumpOfJustItself(t *testing.T) {
	program, err := exec.LookPath("just")
	if err != nil {
		t.Skip("just is not installed")
	}
	dir := t.TempDir()
	text, err := os.ReadFile("testdata/justfile")
	if err != nil {
		t.Fatal(err)
	}
	// A backtick leaves a trace if the dump runs it.
	text = bytes.ReplaceAll(text, []byte("`git describe`"), []byte("`touch ran`"))
	if err := os.WriteFile(filepath.Join(dir, "justfile"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, just.DumpArgs...)
	cmd.Dir = dir
	dump, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
		t.Error("the dump ran a command of the justfile")
	}
	got, err := just.Parse(dump, "justfile")
	if err != nil {
		t.Fatal(err)
	}
	want := listing(t)
	for i, task := range want.Tasks {
		if i >= len(got.Tasks) || shape(got.Tasks[i]) != shape(task) || got.Tasks[i].Name != task.Name {
			t.Errorf("%s: differs from what is stored", task.Name)
		}
	}
}

// TestRecipesSeeOneWord runs recipes with values that are taken, in a shell that
// writes down what it gets: the words are those of a plain value, but for it.
func TestRecipesSeeOneWord(t *testing.T) {
	program, err := exec.LookPath("just")
	if err != nil {
		t.Skip("just is not installed")
	}
	dir := t.TempDir()
	const file = `
spliced x:
    @rec() { for a; do printf '<%s>' "$a"; done; }; rec {{x}} "{{x}}" '{{x}}' --a={{x}} $(printf %s {{x}})
quoted x:
    @rec() { for a; do printf '<%s>' "$a"; done; }; rec {{quote(x)}}
exported $x:
    @rec() { for a; do printf '<%s>' "$a"; done; }; rec "$x"
[positional-arguments]
positional *x:
    @rec() { for a; do printf '<%s>' "$a"; done; }; rec "$@"
`
	if err := os.WriteFile(filepath.Join(dir, "justfile"), []byte(file), 0o644); err != nil {
		t.Fatal(err)
	}
	run := func(recipe, value string) string {
		cmd := exec.Command(program, recipe, value)
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s %q: %v\n%s", recipe, value, err, out)
		}
		return string(out)
	}
	for _, value := range []string{"a", "a=b", "@x", "%d", "+x", ":", ",", "./a-b_c", "1.2.3", "x@y:/z"} {
		want := strings.ReplaceAll("<§><§><§><--a=§><§>", "§", value)
		if got := run("spliced", value); got != want {
			t.Errorf("spliced %q: %s, want %s", value, got, want)
		}
	}
	for _, recipe := range []string{"quoted", "exported", "positional"} {
		for _, value := range []string{"a b", "$(id)", "`id`", `"`, "'", `\`, "*", "a\nb", "{{x}}", "~", "$HOME;x"} {
			if got, want := run(recipe, value), "<"+value+">"; got != want {
				t.Errorf("%s %q: %s, want %s", recipe, value, got, want)
			}
		}
	}
}

func FuzzParse(f *testing.F) {
	dump, err := os.ReadFile("testdata/dump.json")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(dump)
	f.Add([]byte(`{"recipes":{"a":null},"modules":{"a":null}}`))
	f.Add([]byte(`{"recipes":{"a":{"body":[[["variable"]]],"dependencies":[{"recipe":"a","arguments":[null]}],"parameters":[{"name":"x","default":["call"]}]}}}`))
	f.Fuzz(func(t *testing.T, dump []byte) {
		l, err := just.Parse(dump, "justfile")
		if err == nil && json.Valid(dump) {
			_, _, _, _ = source.Manifest([]*source.Listing{l}, command.NameError)
		}
	})
}

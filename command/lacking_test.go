package command

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/internal/strictyaml"
)

func TestLacking(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"sub", "away"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(t.TempDir(), filepath.Join(root, "out")); err != nil {
		t.Fatal(err)
	}
	var asked []string
	find := func(program string, vars []string) error {
		asked = append(asked, program+" "+strings.Join(vars, " "))
		if strings.HasPrefix(program, "no") {
			return errors.New(program + " is nowhere")
		}
		return nil
	}
	text := header + `  a: {summary: s, exec: [yes, no], cwd: sub, env: {B: 2, A: 1}}
  b: {summary: s, exec: [§no1]}
  c: {summary: s, exec: [yes], cwd: §out}
  d:
    cwd: §gone
    exec:
      - §no1
    summary: s
`
	var want []place
	for rest := text; ; {
		before, after, marked := strings.Cut(rest, "§")
		if !marked {
			break
		}
		line, column := strictyaml.Position([]byte(before), len(before))
		want, rest = append(want, place{line, column}), before+after
	}
	found := mustManifest(t, strings.ReplaceAll(text, "§", "")).Lacking(root, find)
	says := []string{"no1 is nowhere", "leads out of the project", "does not exist in the project", `see line 5 about its program "no1"`}
	if len(found) != len(says) {
		t.Fatalf("found %v", found)
	}
	for i, d := range found {
		if (place{d.Line, d.Column}) != want[i] || !strings.Contains(d.Message, says[i]) {
			t.Errorf("%v, want %v with %q", d, want[i], says[i])
		}
	}
	if calls := []string{"yes A=1 B=2", "no1 ", "yes ", "no1 "}; !slices.Equal(asked, calls) {
		t.Errorf("looked for %q, want %q", asked, calls)
	}
}

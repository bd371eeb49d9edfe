package op_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-acp/chant-acp/host/op"
)

func TestList(t *testing.T) {
	deploy := &op.Op{File: "deploy.op.yaml", Config: mustDecode(t, "deploy.op.yaml", `
name: deploy
overview: "Deploys\nit"
depends: [build, test]
phases:
  - {name: Build, parallel: true, steps: [{shell: a}, {shell: b}]}
  - {name: Ship, steps: [{gate: go}, {shell: c}]}
  - {name: Again, steps: [{gate: again}]}
onFailure:
  - {name: Mend, steps: [{shell: d}]}
  - {name: Tell, steps: [{shell: e}]}
`)}
	twin := func(file string) *op.Op {
		return &op.Op{File: file, Config: mustDecode(t, "x.op.yaml", "name: twin\nphases: [{name: p, steps: [{shell: x}]}]")}
	}
	s := op.NewSet("/r", []*op.Op{deploy, twin("a.op.ts"), twin("b.op.ts")}, []*op.FileError{op.Failed("z.op.ts", "it is broken")}, nil)
	want := `deploy  (deploy.op.yaml)
    Deploys it
    phases: Build (2 steps, parallel) → Ship (2 steps) → Again (1 step)
    gates: go, again
    on failure: Tell (1 step) → Mend (1 step)
    depends on: build, test
    last run: of deploy

twin  (a.op.ts)
    phases: p (1 step)
    cannot be run: two files name their Op so; rename all but one

twin  (b.op.ts)
    phases: p (1 step)
    cannot be run: two files name their Op so; rename all but one

z.op.ts: it is broken
`
	if d := cmp.Diff(want, s.List(func(name string) string { return "of " + name }, nil)); d != "" {
		t.Error(d)
	}
	none := op.NewSet("/r", nil, nil, nil)
	if got := none.List(nil, nil); got != "There are no Ops below /r. One is a file whose name ends in .op.ts, .op.yaml or .op.json.\n" {
		t.Errorf("got %s", got)
	}
}

// What a file says can't move the cursor, begin a line of its own, read as
// another text, or bury what else there is.
func TestListShowsHostileTextAsOneShortLine(t *testing.T) {
	hostile := "a\x1b[31mb\u202ec\u200bd\u009be\nf" + strings.Repeat("x", 400<<10)
	config := mustDecode(t, "x.op.json", `{"name":"bad","overview":`+jsonText(t, hostile)+`,"phases":[{"name":`+jsonText(t, hostile)+`,"steps":[{"shell":"x"}]}]}`)
	s := op.NewSet("/r", []*op.Op{{File: "x\x1b\n.op.json", Config: config}}, []*op.FileError{op.Failed("y\x1b\n.op.ts", "it throws %s", hostile)}, nil)
	_, err := s.Find("none")
	for _, text := range []string{s.List(nil, nil), err.Error()} {
		if strings.ContainsFunc(text, func(r rune) bool { return r != '\n' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) }) {
			t.Errorf("holds what shows nowhere: %.300q", text)
		}
		if strings.Contains(text, "\nf") || strings.Contains(text, "\n.op") {
			t.Errorf("the text of a file begins a line: %.300q", text)
		}
		if len(text) > 20<<10 {
			t.Errorf("has %d bytes", len(text))
		}
	}
}

// One who asks for an Op is not told of ten thousand mistakes before the lines
// that would work.
func TestNotFoundIsBounded(t *testing.T) {
	var failed []*op.FileError
	for i := range 10_000 {
		failed = append(failed, op.Failed(fmt.Sprintf("%d.op.ts", i), "it is broken"))
	}
	_, err := op.NewSet("/r", nil, failed, nil).Find("none")
	if n := strings.Count(err.Error(), "\n"); n > 110 {
		t.Errorf("has %d lines", n)
	}
	if want := "and of 9900 more files"; !strings.Contains(err.Error(), want) {
		t.Errorf("does not say %q: …%s", want, err.Error()[len(err.Error())-200:])
	}
}

func jsonText(t *testing.T, s string) string {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(text), "\u009b", `\u009b`)
}

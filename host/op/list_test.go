package op_test

import (
	"testing"

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

package eval_test

import (
	"os"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/host/op/eval"
	"github.com/chant-acp/chant-acp/internal/acpd"
)

// Without chant-acpd, or with one of another version, an *.op.ts says so in one
// line, Ops that are data are read, and nothing of it is kept.
func TestWithoutTheEvaluator(t *testing.T) {
	const typed = `import { Op, phase, shell } from "@intentius/chant-lexicon-temporal";
export default Op({ name: "typed", overview: "x", phases: [phase("A", [shell("true")])] });`
	dir := project(t, map[string]string{
		"data.op.yaml": "name: data\nphases: [{name: A, steps: [{shell: 'true'}]}]\n", "typed.op.ts": typed,
	})
	o := eval.Options{Cache: t.TempDir()}
	look := func(says string) {
		t.Helper()
		set := load(t, dir, o)
		if len(set.Ops) != 1 || len(set.Failed) != 1 || !strings.Contains(set.Failed[0].Error(), says) || strings.Contains(set.Failed[0].Error(), "\n") {
			t.Errorf("%+v, failed %v, want %q", set.Ops, set.Failed, says)
		}
	}
	o.Environ = append(os.Environ(), olderVariable+"=1")
	look("chant-acp 9.8.7 started chant-acpd " + acpd.Version)
	o.Environ = nil
	here := os.Getenv(acpd.Variable)
	t.Setenv(acpd.Variable, "")
	t.Setenv("PATH", "")
	look("typed.op.ts: chant-acpd, which evaluates *.op.ts, is missing")
	t.Setenv(acpd.Variable, here)
	if set := load(t, dir, o); len(set.Ops) != 2 {
		t.Errorf("failed %v", set.Failed)
	}
	t.Setenv(acpd.Variable, "")
	if set := load(t, dir, o); len(set.Ops) != 2 { // known from before
		t.Errorf("failed %v", set.Failed)
	}
}

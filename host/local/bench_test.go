package local

import (
	"testing"

	"github.com/chant-acp/chant-acp/host"
)

// A run of one step: two flushed files, four flushed entries and one program.
func BenchmarkHello(b *testing.B) {
	r := newRig(b, "name: hello\noverview: x\nphases: [{name: P, steps: [{shell: echo hello}]}]\n")
	for b.Loop() {
		run, err := r.rt.StartOp(b.Context(), named("hello"))
		if err != nil {
			b.Fatal(err)
		}
		if res := run.Wait(); res.Run.State != host.RunCompleted {
			b.Fatalf("%+v", res)
		}
	}
}

// A list of a hundred runs.
func BenchmarkRuns(b *testing.B) {
	r := newRig(b, "name: hello\noverview: x\nphases: [{name: P, steps: [{exec: ['true']}]}]\n")
	for range 100 {
		run, err := r.rt.StartOp(b.Context(), named("hello"))
		if err != nil {
			b.Fatal(err)
		}
		run.Wait()
	}
	for b.Loop() {
		if runs, err := r.rt.Runs(b.Context(), host.RunQuery{Limit: 200}); err != nil || len(runs) != 100 {
			b.Fatal(len(runs), err)
		}
	}
}

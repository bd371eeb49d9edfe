package local

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/host"
)

// manySteps is an Op of n steps in phases of at most 100, which do nothing: what they
// cost is ours.
func manySteps(n int) string {
	var b strings.Builder
	b.WriteString("name: many\noverview: Does a lot\nphases:\n")
	for i := range n {
		if i%100 == 0 {
			fmt.Fprintf(&b, "  - name: P%d\n    steps:\n", i/100)
		}
		b.WriteString("      - exec: [\"true\"]\n")
	}
	return b.String()
}

// What a step costs in Ops of several sizes, the disk and what is told included: alone,
// and where a gate lets them all run, so that each is compared with what was asked.
func BenchmarkSteps(b *testing.B) {
	for name, gate := range map[string]string{"alone": "", "gated": "  - {name: G, steps: [{gate: go}]}\n"} {
		for _, n := range []int{10, 1000, 10_000} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				r := newRig(b, strings.Replace(manySteps(n), "phases:\n", "phases:\n"+gate, 1))
				for b.Loop() {
					res, _ := r.run(named("many"))
					if gate != "" {
						if _, err := r.rt.Decide(b.Context(), host.GateAnswer{Ref: host.RunRef{ID: res.Run.ID}, Gate: "go", Approve: true}); err != nil {
							b.Fatal(err)
						}
						res, _ = r.run(on(res))
					}
					if res.Run.State != host.RunCompleted {
						b.Fatalf("%+v", res)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/step")
			})
		}
	}
}

// The plan is told of where a phase changes, and not with each step: else what an Op
// costs grows with the square of its steps.
func TestPlanIsToldWhereAPhaseChanges(t *testing.T) {
	r := newRig(t, manySteps(120)) // two phases
	plans := 0
	run, _, err := r.start(host.OpRequest{Ref: host.RunRef{Op: "many"}, Events: func(e host.OpEvent) {
		if _, ok := e.(*host.OpPlan); ok {
			plans++
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if res := run.Wait(); res.Run.State != host.RunCompleted || res.Run.Done != 120 {
		t.Errorf("%+v", res)
	}
	if plans != 6 { // at the beginning and the end, and as each phase begins and ends
		t.Errorf("the plan is told of %d times", plans)
	}
}

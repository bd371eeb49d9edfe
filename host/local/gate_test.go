package local

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/host"
)

const gated = `
name: deploy
overview: Deploys
phases:
  - name: Build
    steps: [{shell: echo build >> log}]
  - name: Approve
    steps: [{gate: go, description: "Ship it?"}]
  - name: Apply
    steps: [{shell: echo apply >> log}]
onFailure:
  - name: Undo
    steps: [{shell: echo undo >> log}]
`

func (r *rig) waiting(op string) host.OpResult {
	r.t.Helper()
	res, _ := r.run(named(op))
	if res.Run.State != host.RunWaiting || len(res.Run.Waits) != 1 {
		r.t.Fatalf("it does not wait: %+v", res)
	}
	return res
}

func approve(id, gate string) host.GateAnswer {
	return host.GateAnswer{Ref: host.RunRef{ID: id, Op: "deploy"}, Gate: gate, Approve: true, Actor: host.Actor{Client: "test"}}
}

func TestAGateIsPassedByItsApprovalOnly(t *testing.T) {
	r := newRig(t, gated)
	res := r.waiting("deploy")
	w := res.Run.Waits[0]
	tail := " --run " + res.Run.ID
	if w.Kind != host.WaitGate || w.Name != "go" || w.Description != "Ship it?" || len(w.Digest) != 8 || w.Digest == res.Run.Short || w.State != host.WaitOpen ||
		w.Approve != "approve deploy go"+tail || w.Reject != "reject deploy go"+tail || w.Continue != "run deploy"+tail || w.Until.Sub(w.Since) != 48*time.Hour {
		t.Errorf("%+v", w)
	}
	r.open() // another process
	still, _ := r.run(named("deploy"))
	if still.Run.ID != res.Run.ID || still.Run.State != host.RunWaiting || r.read("log") != "build\n" {
		t.Errorf("%+v, log %q", still, r.read("log"))
	}
	got, err := r.rt.Decide(t.Context(), approve(res.Run.ID, "go"))
	if err != nil || got.State != host.WaitApproved || got.By == "" || got.Client != "test" || r.read("log") != "build\n" {
		t.Fatalf("%+v, %v, log %q", got, err, r.read("log"))
	}
	r.open()
	done, e := r.run(on(res))
	if done.Run.State != host.RunCompleted || r.read("log") != "build\napply\n" {
		t.Errorf("%+v, log %q", done, r.read("log"))
	}
	same(t, "events", e.lines(), []string{
		"start Gate go: Ship it? 1/1", "completed Gate go: Ship it?", "start echo apply >> log 1/1", "completed echo apply >> log",
	})
}

func TestTheFirstDecisionCounts(t *testing.T) {
	r := newRig(t, gated)
	res := r.waiting("deploy")
	var all sync.WaitGroup
	var mu sync.Mutex
	var won []bool
	for i := range 10 {
		all.Go(func() {
			d := approve(res.Run.ID, "go")
			d.Approve = i%2 == 0
			_, err := r.rt.Decide(t.Context(), d)
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won = append(won, d.Approve)
			} else if !isRefusal(err, "before, by") {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if len(won) != 1 {
		t.Fatalf("%d decisions counted", len(won))
	}
	done, _ := r.run(on(res))
	if won[0] != (done.Run.State == host.RunCompleted) {
		t.Errorf("approved %t, and the run is %s", won[0], done.Run.State)
	}
	if _, err := r.rt.Decide(t.Context(), approve(res.Run.ID, "go")); !isRefusal(err, "is over") {
		t.Errorf("after the end: %v", err)
	}
}

func TestARejectionCompensates(t *testing.T) {
	r := newRig(t, gated)
	res := r.waiting("deploy")
	d := approve(res.Run.ID, "go")
	d.Approve, d.Note = false, "not on a Friday"
	if _, err := r.rt.Decide(t.Context(), d); err != nil {
		t.Fatal(err)
	}
	if r.read("log") != "build\n" {
		t.Error("a decision ran something")
	}
	done, e := r.run(on(res))
	if done.Run.State != host.RunFailed || r.read("log") != "build\nundo\n" || !strings.Contains(done.Failed.Err, "not on a Friday") {
		t.Errorf("%+v, log %q", done, r.read("log"))
	}
	if lines := strings.Join(e.lines(), "\n"); strings.Index(lines, "rejected by") > strings.Index(lines, "Its compensation begins") {
		t.Errorf("not in order:\n%s", lines)
	}
}

func TestTheTimeOfAGateIsARejection(t *testing.T) {
	r := newRig(t, strings.Replace(gated, "gate: go,", "gate: go, timeout: 1h,", 1))
	r.now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	res := r.waiting("deploy")
	r.mu.Lock()
	r.now = r.now.Add(time.Hour)
	r.mu.Unlock()
	if _, err := r.rt.Decide(t.Context(), approve(res.Run.ID, "go")); !isRefusal(err, "ran out at 2026-05-01T13:00:00Z") {
		t.Errorf("late: %v", err)
	}
	i, err := r.rt.RunInfo(t.Context(), host.RunRef{ID: res.Run.ID})
	if err != nil || i.State != host.RunWaiting || i.Waits[0].State != host.WaitExpired || r.read("log") != "build\n" {
		t.Errorf("%+v, %v", i, err)
	}
	r.mu.Lock()
	r.now = r.now.Add(-time.Hour) // a clock that goes back undoes nothing
	r.mu.Unlock()
	done, _ := r.run(on(res))
	if done.Run.State != host.RunFailed || r.read("log") != "build\nundo\n" || !strings.Contains(done.Failed.Err, "nobody decided within 1h0m0s") {
		t.Errorf("%+v, log %q", done, r.read("log"))
	}
}

func TestAChangedOpVoidsItsApproval(t *testing.T) {
	r := newRig(t, gated)
	res := r.waiting("deploy")
	if _, err := r.rt.Decide(t.Context(), approve(res.Run.ID, "go")); err != nil {
		t.Fatal(err)
	}
	r.op(strings.Replace(gated, "echo apply", "echo other", 1))
	_, _, err := r.start(on(res))
	if !isRefusal(err, "The approval of go by ") || !isRefusal(err, "is void: it was for "+res.Run.Waits[0].Digest) || !isRefusal(err, "run deploy --run "+res.Run.ID+" --restart") {
		t.Errorf("got %v", err)
	}
	if r.read("log") != "build\n" {
		t.Error("something ran")
	}
	again := on(res)
	again.Mode = host.RunRestart
	fresh, _ := r.run(again)
	if fresh.Run.ID == res.Run.ID || fresh.Run.State != host.RunWaiting || r.read("log") != "build\nbuild\n" {
		t.Errorf("%+v", fresh)
	}
	if r.stateOf(res.Run.ID) != host.RunCancelled {
		t.Error("the old run is open")
	}
	if _, err := r.rt.Decide(t.Context(), approve(res.Run.ID, "go")); !isRefusal(err, "is over") {
		t.Errorf("the old run's gate: %v", err)
	}
}

// A run whose Op is not there any more can be rejected all the same; that nothing
// is undone is said.
func TestARejectionWithoutItsOp(t *testing.T) {
	for name, change := range map[string]func(r *rig){
		"changed": func(r *rig) { r.op(strings.Replace(gated, "echo apply", "echo other", 1)) },
		"gone":    func(r *rig) { delete(r.ops, "deploy") },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, gated)
			res := r.waiting("deploy")
			change(r)
			i, err := r.rt.RunInfo(t.Context(), host.RunRef{ID: res.Run.ID})
			if err != nil || i.State != host.RunWaiting || i.Changed == "" {
				t.Errorf("%+v, %v", i, err)
			}
			tail := " --run " + res.Run.ID
			if _, err := r.rt.Decide(t.Context(), approve(res.Run.ID, "go")); !isRefusal(err, "An approval would be void") || !isRefusal(err, "reject deploy go"+tail) || !isRefusal(err, "run deploy"+tail+" --restart") {
				t.Errorf("approve: %v", err)
			}
			no := approve(res.Run.ID, "go")
			no.Approve = false
			if _, err := r.rt.Decide(t.Context(), no); err != nil {
				t.Fatal(err)
			}
			done, e := r.run(on(res))
			if done.Run.State != host.RunFailed || done.Run.Done != 1 || done.Run.Steps != 3 || done.Failed == nil || !strings.Contains(done.Failed.Err, "rejected by") || r.read("log") != "build\n" {
				t.Errorf("%+v, log %q", done, r.read("log"))
			}
			if lines := strings.Join(e.lines(), "\n"); !strings.Contains(lines, "notice The compensation of the run "+res.Run.ID+" can't be run") {
				t.Errorf("it said %s", lines)
			}
			if again, err := r.rt.RunInfo(t.Context(), host.RunRef{ID: res.Run.ID}); err != nil || again.State != host.RunFailed || !strings.Contains(again.Failure, "rejected by") {
				t.Errorf("%+v, %v", again, err)
			}
		})
	}
}

// Once a run was rejected, a restart does not take its compensation away.
func TestARejectionBeforeARestart(t *testing.T) {
	r := newRig(t, gated)
	res := r.waiting("deploy")
	no := approve(res.Run.ID, "go")
	no.Approve = false
	if _, err := r.rt.Decide(t.Context(), no); err != nil {
		t.Fatal(err)
	}
	again := on(res)
	again.Mode = host.RunRestart
	if _, _, err := r.start(again); !isRefusal(err, "was rejected, and fails before anything begins anew") || !isRefusal(err, "run deploy --run "+res.Run.ID) {
		t.Errorf("restart: %v", err)
	}
	if done, _ := r.run(on(res)); done.Run.State != host.RunFailed || r.read("log") != "build\nundo\n" {
		t.Errorf("%+v, log %q", done, r.read("log"))
	}
	if fresh, _ := r.run(again); fresh.Run.State != host.RunWaiting {
		t.Errorf("afterwards: %+v", fresh)
	}
}

// However a rejection and a restart fall together, one of them wins: a rejection
// that was taken is compensated.
func TestARejectionBesideARestart(t *testing.T) {
	for range 20 {
		r := newRig(t, gated)
		res := r.waiting("deploy")
		no := approve(res.Run.ID, "go")
		no.Approve = false
		var both sync.WaitGroup
		var rejected, restarted error
		both.Go(func() { _, rejected = r.rt.Decide(t.Context(), no) })
		both.Go(func() {
			again := on(res)
			again.Mode = host.RunRestart
			run, _, err := r.start(again)
			if restarted = err; err == nil {
				run.Wait()
			}
		})
		both.Wait()
		if (rejected == nil) == (restarted == nil) {
			t.Fatalf("reject: %v, restart: %v", rejected, restarted)
		}
		if state := r.stateOf(res.Run.ID); (rejected == nil) != (state == host.RunWaiting) {
			t.Fatalf("reject: %v, and the run is %s", rejected, state)
		}
	}
}

func TestAnswersThatAreRefused(t *testing.T) {
	r := newRig(t, gated, "name: other\noverview: x\nphases: [{name: P, steps: [{gate: go}]}]\n",
		"name: form\noverview: x\nphases: [{name: P, steps: [{gate: pick, schema: {type: object, required: [version], properties: {version: {type: string}}}}]}]\n")
	if _, err := r.rt.Decide(t.Context(), host.GateAnswer{Ref: host.RunRef{Op: "deploy"}, Gate: "go", Approve: true}); !isRefusal(err, "No run of this project is open") {
		t.Errorf("nothing open: %v", err)
	}
	res, other, form := r.waiting("deploy"), r.waiting("other"), r.waiting("form")
	for _, c := range []struct {
		name string
		d    host.GateAnswer
		want string
	}{
		{"no such gate", approve(res.Run.ID, "gone"), "does not wait at a gate gone"},
		{"another run", approve(other.Run.ID, "go"), "is another one than the line says"},
		{"no such run", approve("zzzzzz", "go"), "There is no run zzzzzz"},
		{"a path for a run", approve("../x", "go"), "There is no run"},
		{"another digest", approve(res.Run.ID, "go@00000000"), "and not about 00000000"},
		{"no request", host.GateAnswer{Request: res.Run.ID + ".p2s1.nonsense", Approve: true}, "No run of this project asked"},
		{"no request at all", host.GateAnswer{Request: "../../etc", Approve: true}, "No run of this project asked"},
		{"no such pause", host.GateAnswer{Request: res.Run.ID + ".p9s9.x", Approve: true}, "No run of this project asked"},
		{"another's parameters", host.GateAnswer{Ref: host.RunRef{Op: "deploy", Params: map[string]string{"a": "1"}}, Gate: "go"}, "No open run of this project fits"},
		{"no answer to a form", host.GateAnswer{Ref: host.RunRef{ID: form.Run.ID}, Gate: "pick", Approve: true}, "does not meet the schema"},
		{"a wrong answer", host.GateAnswer{Ref: host.RunRef{ID: form.Run.ID}, Gate: "pick", Approve: true, Answer: json.RawMessage(`{"version":1}`)}, "does not meet the schema"},
		{"an answer that is none", host.GateAnswer{Ref: host.RunRef{ID: form.Run.ID}, Gate: "pick", Approve: true, Answer: json.RawMessage(`{`)}, "does not meet the schema"},
	} {
		if _, err := r.rt.Decide(t.Context(), c.d); !isRefusal(err, c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	for _, id := range []string{res.Run.ID, other.Run.ID, form.Run.ID} {
		if i, err := r.rt.RunInfo(t.Context(), host.RunRef{ID: id}); err != nil || i.State != host.RunWaiting || i.Waits[0].State != host.WaitOpen {
			t.Errorf("%+v, %v", i, err)
		}
	}
	answer := host.GateAnswer{Ref: host.RunRef{ID: form.Run.ID}, Gate: "pick@" + form.Run.Waits[0].Digest, Approve: true, Answer: json.RawMessage(`{"version":"v1"}`)}
	if _, err := r.rt.Decide(t.Context(), answer); err != nil {
		t.Error(err)
	}
	if done, _ := r.run(on(form)); done.Run.State != host.RunCompleted {
		t.Errorf("%+v", done)
	}
}

func TestARequestIsAnsweredInAnotherProcess(t *testing.T) {
	r := newRig(t, gated)
	res := r.waiting("deploy")
	id := res.Run.Waits[0].RequestID
	r.open()
	i, w, err := r.rt.FindRequest(t.Context(), id)
	if err != nil || i.ID != res.Run.ID || w.State != host.WaitOpen || w.RequestID != id {
		t.Fatalf("%+v, %+v, %v", i, w, err)
	}
	decided := make(chan host.OpWait, 1)
	go func() {
		w, err := r.rt.AwaitDecision(context.Background(), res.Run.ID, id)
		if err != nil {
			t.Error(err)
		}
		decided <- w
	}()
	if _, err := r.rt.Decide(t.Context(), host.GateAnswer{Request: id, Approve: true}); err != nil {
		t.Fatal(err)
	}
	if w := <-decided; w.State != host.WaitApproved {
		t.Errorf("%+v", w)
	}
	gone, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("reason")
	cancel(reason)
	if w, err := r.rt.AwaitDecision(gone, res.Run.ID, id); err != nil || w.State != host.WaitApproved {
		t.Errorf("what is decided needs no waiting: %+v, %v", w, err)
	}
	if done, _ := r.run(on(res)); done.Run.State != host.RunCompleted {
		t.Errorf("%+v", done)
	}
	if _, w, err := r.rt.FindRequest(t.Context(), id); err != nil || w.State != host.WaitApproved {
		t.Errorf("later: %+v, %v", w, err)
	}
}

func TestGatesOfAParallelPhaseComeLastAndTogether(t *testing.T) {
	r := newRig(t, `
name: deploy
overview: x
phases:
  - name: All
    parallel: true
    steps: [{gate: one}, {shell: touch ran}, {gate: two}]
`)
	res, e := r.run(named("deploy"))
	if res.Run.State != host.RunWaiting || len(res.Run.Waits) != 2 || e.lines()[0] != "start touch ran 1/1" {
		t.Fatalf("%+v\n%q", res, e.lines())
	}
	if _, err := r.rt.Decide(t.Context(), approve(res.Run.ID, "two")); err != nil {
		t.Fatal(err)
	}
	half, _ := r.run(on(res))
	if half.Run.State != host.RunWaiting || len(half.Run.Waits) != 1 || half.Run.Waits[0].Name != "one" {
		t.Errorf("%+v", half)
	}
	if _, err := r.rt.Decide(t.Context(), approve(res.Run.ID, "two")); !isRefusal(err, "was decided before") {
		t.Errorf("once more: %v", err)
	}
	if _, err := r.rt.Decide(t.Context(), approve(res.Run.ID, "one")); err != nil {
		t.Fatal(err)
	}
	if done, _ := r.run(on(res)); done.Run.State != host.RunCompleted {
		t.Errorf("%+v", done)
	}
}

func TestSleepAndEvents(t *testing.T) {
	r := newRig(t, `
name: deploy
overview: x
phases:
  - name: A
    steps: [{sleep: 2m}, {sleep: 1h}, {waitForEvent: order 7, timeout: 1d, schema: {type: object, required: [n]}}]
  - name: B
    steps: [{shell: touch done}]
`)
	r.now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	pass := func(d time.Duration) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.now = r.now.Add(d)
	}
	var slept []time.Duration
	r.rt.sleep = func(_ context.Context, d time.Duration) error { slept = append(slept, d); pass(d); return nil }
	res, _ := r.run(named("deploy"))
	if len(slept) != 1 || slept[0] != 2*time.Minute || res.Run.State != host.RunWaiting || res.Run.Waits[0].Kind != host.WaitSleep {
		t.Fatalf("slept %v, %+v", slept, res)
	}
	if early, _ := r.run(on(res)); early.Run.State != host.RunWaiting || early.Run.Waits[0].Kind != host.WaitSleep {
		t.Errorf("too early: %+v", early)
	}
	pass(time.Hour)
	event, _ := r.run(on(res))
	if event.Run.State != host.RunWaiting || event.Run.Waits[0].Kind != host.WaitEvent || event.Run.Waits[0].Signal != "signal 'order 7' --run "+res.Run.ID {
		t.Fatalf("%+v", event)
	}
	for _, c := range []struct {
		s    host.EventSignal
		want string
	}{
		{host.EventSignal{Key: "order 8"}, "signal 'order 7'"},
		{host.EventSignal{Key: "order 7"}, "does not meet the schema"},
		{host.EventSignal{Key: "order 7", RunID: "zzzzzz", Payload: json.RawMessage(`{"n":1}`)}, "No open run"},
	} {
		if _, err := r.rt.Signal(t.Context(), c.s); !isRefusal(err, c.want) {
			t.Errorf("%+v: %v", c.s, err)
		}
	}
	large := json.RawMessage(`{"n":"` + strings.Repeat("<", maxEntry/2) + `"}`)
	if _, err := r.rt.Signal(t.Context(), host.EventSignal{Key: "order 7", Payload: large}); !isRefusal(err, "the answer is too large to be kept") {
		t.Errorf("large: %v", err)
	}
	if w, err := r.rt.Signal(t.Context(), host.EventSignal{Key: "order 7", Payload: json.RawMessage(`{"n":1}`)}); err != nil || w.State != host.WaitSignaled {
		t.Fatalf("%+v, %v", w, err)
	}
	if done, _ := r.run(on(res)); done.Run.State != host.RunCompleted {
		t.Errorf("%+v", done)
	}
}

// A signal that comes twice, or too late, is told so.
func TestSignalsThatComeTooLate(t *testing.T) {
	r := newRig(t, "name: deploy\noverview: x\nphases: [{name: A, steps: [{waitForEvent: k, timeout: 1h}]}]\n")
	r.now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	res := r.waiting("deploy")
	if _, err := r.rt.Signal(t.Context(), host.EventSignal{Key: "k"}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.rt.Signal(t.Context(), host.EventSignal{Key: "k"}); !isRefusal(err, "was signalled before, by ") || !isRefusal(err, "run deploy --run "+res.Run.ID) {
		t.Errorf("twice: %v", err)
	}
	if done, _ := r.run(on(res)); done.Run.State != host.RunCompleted {
		t.Errorf("%+v", done)
	}
	late := r.waiting("deploy")
	r.mu.Lock()
	r.now = r.now.Add(time.Hour)
	r.mu.Unlock()
	for range 2 {
		if _, err := r.rt.Signal(t.Context(), host.EventSignal{Key: "k", RunID: late.Run.ID}); !isRefusal(err, "its time ran out at 2026-05-01T13:00:00Z") {
			t.Errorf("late: %v", err)
		}
	}
}

func TestTwoRunsThatWaitForOneEvent(t *testing.T) {
	r := newRig(t, "name: deploy\noverview: x\nphases: [{name: A, steps: [{waitForEvent: k, timeout: 1d}]}]\n")
	a := r.waiting("deploy")
	other := named("deploy")
	other.Ref.Params = map[string]string{"p": "1"}
	b, _ := r.run(other)
	if _, err := r.rt.Signal(t.Context(), host.EventSignal{Key: "k"}); !isRefusal(err, "signal k --run "+a.Run.ID) || !isRefusal(err, "signal k --run "+b.Run.ID) {
		t.Errorf("got %v", err)
	}
	if _, err := r.rt.Signal(t.Context(), host.EventSignal{Key: "k", RunID: b.Run.ID}); err != nil {
		t.Error(err)
	}
	if _, err := r.rt.Decide(t.Context(), host.GateAnswer{Ref: host.RunRef{Op: "deploy"}, Gate: "g"}); !isRefusal(err, "More than one open run fits") {
		t.Errorf("got %v", err)
	}
	if done, _ := r.run(host.OpRequest{Ref: host.RunRef{Op: "deploy", ID: b.Run.ID}}); done.Run.State != host.RunCompleted {
		t.Errorf("%+v", done)
	}
}

// A decision that is dated before its question counts for nothing, and says so.
func TestADecisionFromBeforeItsQuestion(t *testing.T) {
	r := newRig(t, gated)
	r.now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	res := r.waiting("deploy")
	set := func(d time.Duration) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.now = r.now.Add(d)
	}
	set(-time.Second)
	for _, yes := range []bool{true, false} {
		d := approve(res.Run.ID, "go")
		d.Approve = yes
		if _, err := r.rt.Decide(t.Context(), d); !isRefusal(err, "was asked at 2026-05-01T12:00:00Z, and the clock says that it is 2026-05-01T11:59:59Z") {
			t.Errorf("got %v", err)
		}
	}
	if still, _ := r.run(on(res)); still.Run.State != host.RunWaiting || r.read("log") != "build\n" {
		t.Errorf("%+v, log %q", still, r.read("log"))
	}
	set(time.Second)
	if _, err := r.rt.Decide(t.Context(), approve(res.Run.ID, "go")); err != nil {
		t.Fatal(err)
	}
	if done, _ := r.run(on(res)); done.Run.State != host.RunCompleted {
		t.Errorf("%+v", done)
	}
}

// Who rejects after the time ran out gets what the end of the time means already.
func TestARejectionAfterItsTime(t *testing.T) {
	r := newRig(t, strings.Replace(gated, "gate: go,", "gate: go, timeout: 1h,", 1))
	r.now = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)
	res := r.waiting("deploy")
	r.mu.Lock()
	r.now = r.now.Add(time.Hour)
	r.mu.Unlock()
	d := approve(res.Run.ID, "go")
	d.Approve = false
	for range 2 { // the second one finds it recorded
		if w, err := r.rt.Decide(t.Context(), d); err != nil || w.State != host.WaitExpired || !w.At.Equal(r.clock()) {
			t.Errorf("%+v, %v", w, err)
		}
	}
	done, _ := r.run(on(res))
	if done.Run.State != host.RunFailed || r.read("log") != "build\nundo\n" || !strings.Contains(done.Failed.Err, "nobody decided within 1h0m0s") {
		t.Errorf("%+v, log %q", done, r.read("log"))
	}
}

package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/chant-acp/chant-acp/host"
)

// stubOps is a runtime of one run of each Op, which takes a function of scripts
// as far as it goes.
type stubOps struct {
	scripts map[string]func(*stubLeg) host.RunState
	// decideErr, where set, is what Decide says.
	decideErr error
	panics    string // the method that does
	printed   string // more of what the log holds

	mu      sync.Mutex
	changed chan struct{} // closed and replaced whenever something is decided
	runs    map[string]*host.RunInfo
	started []host.OpRequest
	decided []host.GateAnswer
	legs    map[string]int
}

func newStubOps(scripts map[string]func(*stubLeg) host.RunState) *stubOps {
	return &stubOps{scripts: scripts, changed: make(chan struct{}), runs: map[string]*host.RunInfo{}, legs: map[string]int{}}
}

// stubLeg is one leg of a run. It implements host.OpRun.
type stubLeg struct {
	ops    *stubOps
	run    *host.RunInfo
	n      int // of the leg, from 1
	req    host.OpRequest
	stops  chan host.Stop
	done   chan struct{}
	result host.OpResult
}

func (o *stubOps) StartOp(ctx context.Context, req host.OpRequest) (host.OpRun, error) {
	o.fault("StartOp")
	o.mu.Lock()
	defer o.mu.Unlock()
	name := req.Ref.Op
	if o.scripts[name] == nil {
		return nil, &host.OpRefusal{Reason: "there is no Op " + name, Lines: []string{"run good"}}
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	run := o.runs[name]
	if run == nil || !run.State.Open() {
		if req.Ref.ID != "" && run != nil {
			return nil, &host.OpRefusal{Reason: "The run is over.", Runs: []host.RunInfo{*run}}
		}
		run = &host.RunInfo{ID: "r_" + name, Op: name, Env: req.Ref.Env, Digest: "d1g35t", Short: "d1g3"}
		o.runs[name] = run
	}
	o.legs[name]++
	o.started = append(o.started, req)
	l := &stubLeg{ops: o, run: run, n: o.legs[name], req: req, stops: make(chan host.Stop, 16), done: make(chan struct{})}
	run.State = host.RunRunning
	go func() { // its end is what Wait waits for
		defer close(l.done)
		state := o.scripts[name](l)
		o.mu.Lock()
		defer o.mu.Unlock()
		run.State = state
		if state == host.RunInterrupted {
			run.Resume = "run " + run.Op + " --run " + run.ID + " --resume"
		}
		if state != host.RunWaiting {
			run.Waits = nil
		}
		l.result.Run, l.result.Duration = *run, time.Second
	}()
	return l, nil
}

func (o *stubOps) fault(method string) {
	if o.panics == method {
		panic("a fault of the runtime")
	}
}

func (l *stubLeg) ID() string          { return l.run.ID }
func (l *stubLeg) Stop(why host.Stop)  { l.stops <- why }
func (l *stubLeg) Wait() host.OpResult { <-l.done; return l.result }
func (l *stubLeg) tell(e host.OpEvent) { l.req.Events(e) }

func (l *stubLeg) info(key, title, kind string) host.StepInfo {
	return host.StepInfo{ID: fmt.Sprintf("%s-%d-%s", l.run.ID, l.n, key), Title: title, Phase: "Work", Kind: kind, Args: json.RawMessage(`{"cmd":"` + title + `"}`)}
}

// plan tells of a phase of activities, in one state.
func (l *stubLeg) plan(state host.StepState, steps ...host.StepInfo) {
	ph := host.PlanPhase{Name: "Work", State: state}
	for _, s := range steps {
		ph.Steps = append(ph.Steps, host.PlanStep{StepInfo: s, State: host.StepPending})
	}
	l.tell(&host.OpPlan{RunID: l.run.ID, Op: l.run.Op, Phases: []host.PlanPhase{ph}})
}

// does runs a step that prints and completes.
func (l *stubLeg) does(s host.StepInfo, output string) {
	l.tell(&host.StepStarted{Step: s, Attempt: 1, Of: 1})
	l.tell(&host.StepOutput{StepID: s.ID, Data: []byte(output)})
	l.tell(&host.StepResult{Step: s, State: host.StepCompleted, Attempts: 1, Duration: time.Second})
}

// fails runs a step that fails.
func (l *stubLeg) fails(s host.StepInfo, output string) {
	code := 7
	l.tell(&host.StepStarted{Step: s, Attempt: 1, Of: 1})
	l.tell(&host.StepOutput{StepID: s.ID, Data: []byte(output)})
	r := host.StepResult{Step: s, State: host.StepFailed, Attempts: 1, Duration: time.Second, ExitCode: &code, Err: "it ended with 7", Tail: []string{output}}
	l.result.Failed = &r
	l.tell(&r)
}

// gate asks at a gate, or says what came of it.
func (l *stubLeg) gate(name string) host.WaitState {
	s := l.info("gate", "Gate "+name, "gate")
	l.ops.mu.Lock()
	if len(l.run.Waits) == 0 {
		l.run.Waits = []host.OpWait{{
			RunID: l.run.ID, Op: l.run.Op, Kind: host.WaitGate, Name: name, Digest: l.run.Short, RequestID: "req_" + l.run.ID, State: host.WaitOpen,
			Approve: "approve " + l.run.Op + " " + name + " --run " + l.run.ID, Reject: "reject " + l.run.Op + " " + name + " --run " + l.run.ID,
			Continue: "run " + l.run.Op + " --run " + l.run.ID,
		}}
	}
	w := l.run.Waits[0]
	l.ops.mu.Unlock()
	l.tell(&host.StepStarted{Step: s, Attempt: 1, Of: 1})
	r := &host.StepResult{Step: s, State: host.StepWaiting, Attempts: 1, Wait: &w}
	switch w.State {
	case host.WaitApproved:
		r.State = host.StepCompleted
	case host.WaitRejected, host.WaitExpired:
		r.State, r.Err = host.StepFailed, string(w.State)
		l.result.Failed = r
	}
	l.tell(r)
	return w.State
}

// stopped waits for a stop and says what the run is then.
func (l *stubLeg) stopped() host.RunState {
	if <-l.stops == host.StopCancelled {
		return host.RunCancelled
	}
	return host.RunInterrupted
}

func (o *stubOps) find(fits func(host.OpWait) bool) (*host.RunInfo, *host.OpWait) {
	for _, run := range o.runs {
		for i := range run.Waits {
			if fits(run.Waits[i]) {
				return run, &run.Waits[i]
			}
		}
	}
	return nil, nil
}

func (o *stubOps) Decide(_ context.Context, d host.GateAnswer) (host.OpWait, error) {
	o.fault("Decide")
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.decideErr != nil {
		return host.OpWait{}, o.decideErr
	}
	_, w := o.find(func(w host.OpWait) bool {
		return d.Request == w.RequestID || d.Request == "" && d.Ref.Op == w.Op && d.Gate == w.Name
	})
	switch {
	case w == nil:
		return host.OpWait{}, &host.OpRefusal{Reason: "nothing waits for it"}
	case w.State != host.WaitOpen:
		return *w, &host.OpRefusal{Reason: "it was decided before"}
	}
	o.decided = append(o.decided, d)
	o.settle(w, map[bool]host.WaitState{true: host.WaitApproved, false: host.WaitRejected}[d.Approve], d.Actor.Client)
	return *w, nil
}

// settle records what came of a wait; the caller holds the lock.
func (o *stubOps) settle(w *host.OpWait, s host.WaitState, client string) {
	w.State, w.By, w.Client = s, "somebody", client
	close(o.changed)
	o.changed = make(chan struct{})
}

// elsewhere decides as another process would.
func (o *stubOps) elsewhere(op string, s host.WaitState) {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, w := o.find(func(w host.OpWait) bool { return w.Op == op })
	o.settle(w, s, "other")
}

func (o *stubOps) AwaitDecision(ctx context.Context, _, requestID string) (host.OpWait, error) {
	for {
		o.mu.Lock()
		_, w := o.find(func(w host.OpWait) bool { return w.RequestID == requestID })
		changed := o.changed
		if w == nil {
			o.mu.Unlock()
			return host.OpWait{}, &host.OpRefusal{Reason: "The run is over."}
		}
		found := *w
		o.mu.Unlock()
		if found.State != host.WaitOpen {
			return found, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return found, context.Cause(ctx)
		}
	}
}

func (o *stubOps) FindRequest(_ context.Context, requestID string) (host.RunInfo, host.OpWait, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	run, w := o.find(func(w host.OpWait) bool { return w.RequestID == requestID })
	if w == nil {
		return host.RunInfo{}, host.OpWait{}, &host.OpRefusal{Reason: "No run asked " + requestID}
	}
	return *run, *w, nil
}

func (o *stubOps) Signal(_ context.Context, s host.EventSignal) (host.OpWait, error) {
	if s.Key != "paid" {
		return host.OpWait{}, &host.OpRefusal{Reason: "Nothing waits for the event " + s.Key}
	}
	return host.OpWait{RunID: "r1", Op: "good", Kind: host.WaitEvent, Name: s.Key, State: host.WaitSignaled, By: "me", Note: string(s.Payload), Continue: "run good --run r1"}, nil
}

func (o *stubOps) Runs(context.Context, host.RunQuery) ([]host.RunInfo, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	var all []host.RunInfo
	for _, r := range o.runs {
		all = append(all, *r)
	}
	return all, nil
}

func (o *stubOps) RunInfo(_ context.Context, ref host.RunRef) (host.RunInfo, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, r := range o.runs {
		if ref.ID == r.ID || ref.ID == "" && ref.Op == r.Op {
			return *r, nil
		}
	}
	return host.RunInfo{}, &host.OpRefusal{Reason: "There is no such run."}
}

func (o *stubOps) RunLog(ctx context.Context, ref host.RunRef, follow bool, w io.Writer) error {
	if _, err := o.RunInfo(ctx, ref); err != nil {
		return err
	}
	_, _ = io.WriteString(w, "what it printed\n"+o.printed)
	if follow {
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return nil
}

func (o *stubOps) VerifyRuns(_ context.Context, ref host.RunRef) ([]host.RunCheck, error) {
	if ref.Op == "bad" {
		return []host.RunCheck{
			{ID: "r_good", Op: "good", Lines: 3},
			{ID: "r_bad", Op: "bad", Bad: []host.BadFile{{Path: "/runs/journal.jsonl", Problem: "is damaged: line 3 is not what was written"}}},
		}, nil
	}
	return []host.RunCheck{{ID: "r_good", Op: "good", Lines: 3}}, nil
}

func (o *stubOps) CancelRun(ctx context.Context, ref host.RunRef, _ host.Actor) (host.RunInfo, error) {
	info, err := o.RunInfo(ctx, ref)
	if err != nil {
		return info, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	run := o.runs[info.Op]
	run.State, run.Waits = host.RunCancelled, nil
	close(o.changed)
	o.changed = make(chan struct{})
	return *run, nil
}

type stubSet struct{}

func (stubSet) List(last func(string) string) string {
	return "good  (good.op.yaml)\n    last run: " + last("good") + "\n"
}

func (stubSet) WriteJSON(w io.Writer) error {
	_, err := io.WriteString(w, `{"name":"good","file":"good.op.yaml","config":{}}`+"\n")
	return err
}

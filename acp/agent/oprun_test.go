package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/host"
)

// opScripts are the Ops of the stub.
var opScripts = map[string]func(*stubLeg) host.RunState{
	"good": func(l *stubLeg) host.RunState {
		a, b := l.info("a", "make a", "activity"), l.info("b", "make b", "exec")
		l.plan(host.StepPending, a, b)
		l.plan(host.StepRunning, a, b)
		l.does(a, "made a\n")
		l.does(b, "made b\n")
		l.plan(host.StepCompleted, a, b)
		return host.RunCompleted
	},
	"bad": func(l *stubLeg) host.RunState {
		a, b := l.info("a", "make a", "activity"), l.info("b", "make b", "activity")
		l.plan(host.StepRunning, a, b)
		l.fails(a, "no way\n")
		l.tell(&host.OpNotice{Text: "Compensation of bad:"})
		undo := l.info("u", "unmake a", "activity")
		undo.Compensation, undo.Phase = true, "Clean"
		l.does(undo, "unmade a\n")
		l.result.Compensation = []host.StepResult{{Step: undo, State: host.StepCompleted}}
		l.run.Compensation = []host.UndoStep{{Title: "unmake a", State: host.StepCompleted}}
		l.tell(&host.StepResult{Step: b, State: host.StepSkipped})
		l.plan(host.StepFailed, a, b)
		return host.RunFailed
	},
	"broken": func(l *stubLeg) host.RunState {
		a := l.info("a", "make a", "activity")
		l.plan(host.StepRunning, a)
		l.fails(a, "main.go:3:5: undefined: x\n")
		return host.RunFailed
	},
	"again": func(l *stubLeg) host.RunState {
		a := l.info("a", "try", "activity")
		l.plan(host.StepRunning, a)
		l.tell(&host.StepStarted{Step: a, Attempt: 1, Of: 2})
		l.tell(&host.StepOutput{StepID: a.ID, Data: []byte("first")})
		l.tell(&host.StepRetry{StepID: a.ID, Attempt: 1, Of: 2, Err: "not yet", Wait: 2 * time.Second})
		l.tell(&host.StepStarted{Step: a, Attempt: 2, Of: 2})
		l.tell(&host.StepOutput{StepID: a.ID, Data: []byte("second\n")})
		l.tell(&host.StepResult{Step: a, State: host.StepCompleted, Attempts: 2, Duration: time.Second, Outcome: &host.StepOutcome{Name: "Drift", Value: []byte("true")}})
		return host.RunCompleted
	},
	"side": func(l *stubLeg) host.RunState { // side by side
		a, b := l.info("a", "left", "activity"), l.info("b", "right", "activity")
		a.Parallel, b.Parallel = true, true
		l.plan(host.StepRunning, a, b)
		l.tell(&host.StepStarted{Step: a, Attempt: 1, Of: 1})
		l.tell(&host.StepOutput{StepID: a.ID, Data: []byte("[left] one\n")})
		l.tell(&host.StepStarted{Step: b, Attempt: 1, Of: 1})
		l.tell(&host.StepOutput{StepID: b.ID, Data: []byte("[right] one\n")})
		l.tell(&host.StepResult{Step: a, State: host.StepCompleted, Attempts: 1})
		l.tell(&host.StepOutput{StepID: b.ID, Data: []byte("[right] two\n")})
		l.tell(&host.StepResult{Step: b, State: host.StepFailed, Attempts: 1, Err: "no", Tail: []string{"[right] two"}})
		return host.RunFailed
	},
	"slow": func(l *stubLeg) host.RunState {
		a, b := l.info("a", "take long", "activity"), l.info("b", "make b", "activity")
		l.plan(host.StepRunning, a, b)
		l.tell(&host.StepStarted{Step: a, Attempt: 1, Of: 1})
		l.tell(&host.StepOutput{StepID: a.ID, Data: []byte("begun\nand ")})
		state := l.stopped()
		l.tell(&host.StepResult{Step: a, State: host.StepState(state), Attempts: 1})
		l.tell(&host.StepResult{Step: b, State: host.StepPending})
		return state
	},
	"deaf": func(l *stubLeg) host.RunState { // tells nothing of its end
		a := l.info("a", "take long", "activity")
		l.plan(host.StepRunning, a)
		l.tell(&host.StepStarted{Step: a, Attempt: 1, Of: 1})
		l.tell(&host.StepOutput{StepID: a.ID, Data: []byte("begun\n")})
		return l.stopped()
	},
	"gated": gated,
	"other": gated,
}

func gated(l *stubLeg) host.RunState {
	a, g, b := l.info("a", "make a", "activity"), l.info("gate", "Gate ship", "gate"), l.info("b", "make b", "activity")
	if l.n == 1 {
		l.plan(host.StepRunning, a, g, b)
		l.does(a, "made a\n")
	}
	switch l.gate("ship") {
	case host.WaitOpen:
		l.tell(&host.StepResult{Step: b, State: host.StepPending})
		return host.RunWaiting
	case host.WaitApproved:
		l.plan(host.StepRunning, b)
		l.does(b, "made b\n")
		return host.RunCompleted
	}
	l.tell(&host.OpNotice{Text: "Compensation:"})
	undo := l.info("u", "unmake a", "activity")
	undo.Compensation = true
	l.does(undo, "unmade\n")
	return host.RunFailed
}

// dialOps starts an agent whose project has the Ops of the stub.
func dialOps(t *testing.T, s setup) *wire {
	t.Helper()
	s.host = newStub(t)
	s.host.ops = newStubOps(opScripts)
	return dial(t, s)
}

// order is what came, in order, each update as its kind and what matters of it.
func (l turnLog) order() []string {
	var list []string
	for _, m := range l {
		switch u := m.Params.Update; {
		case m.Method == "session/request_permission":
			list = append(list, "request")
		case u.Kind == "plan":
			list = append(list, "plan "+u.Entries[0].Status)
		case u.Kind == "tool_call", u.Kind == "tool_call_update" && u.Meta.Output == nil:
			name := u.ToolCallID[strings.LastIndexByte(u.ToolCallID, '-')+1:]
			if strings.HasPrefix(u.ToolCallID, "gate_") {
				name = "gate"
			}
			list = append(list, name+" "+u.Status)
		}
	}
	return list
}

func TestRunsAsTurns(t *testing.T) {
	for _, tt := range []struct {
		line, outcome, order string
		text                 []string // in this order
	}{
		{
			"run good", "end_turn/completed",
			"plan pending, plan in_progress, a pending, b pending, a in_progress, a completed, b in_progress, b completed, plan completed",
			[]string{"Work › `make a`", "made a", "Work › `make b`", "made b", "`run good` completed in 1.0 s (run r_good)."},
		},
		{
			"run bad", "end_turn/failed",
			"plan in_progress, a pending, b pending, a in_progress, a failed, u pending, u in_progress, u completed, b failed, plan completed",
			[]string{"no way", "`make a` failed with exit code 7", "Compensation of bad:", "Undo: Clean › `unmake a`", "unmade a", "The step `make a` failed with exit code 7", "1 of 1 steps"},
		},
		{
			"run again", "end_turn/completed",
			"plan in_progress, a pending, a in_progress, a completed",
			[]string{"first", "Attempt 1 of 2 of `try` failed: not yet.", "in 2.0 s", "second"},
		},
		{
			"run side", "end_turn/failed",
			"plan in_progress, a pending, b pending, a in_progress, b in_progress, a completed, b failed",
			[]string{"[left] one", "[right] one", "[right] two", "`right` failed", "[right] two"},
		},
		{"run nope", "refusal/refused", "", []string{"There is no Op nope.", "run good"}},
		{
			"run gated", "end_turn/waiting",
			"plan in_progress, a pending, a in_progress, a completed",
			[]string{"made a", "waits, after", "gate `ship@d1g3`", "approve gated ship --run r_gated", "reject gated ship --run r_gated", "run gated --run r_gated"},
		},
	} {
		for _, terminal := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, terminal %v", tt.line, terminal), func(t *testing.T) {
				w := dialOps(t, setup{terminal: terminal})
				o, log := w.prompt(w.newSession(), tt.line)
				if o.String() != tt.outcome {
					t.Errorf("%v, want %s", o, tt.outcome)
				}
				if got := strings.Join(log.order(), ", "); got != tt.order {
					t.Errorf("order\n %s\nwant\n %s", got, tt.order)
				}
				if terminal {
					return
				}
				text := log.text()
				for _, want := range tt.text {
					_, rest, ok := strings.Cut(text, want)
					if !ok {
						t.Fatalf("%q does not follow in %q", want, log.text())
					}
					text = rest
				}
			})
		}
	}
}

func TestWhatAStepTells(t *testing.T) {
	w := dialOps(t, setup{})
	s := w.newSession()
	o, log := w.prompt(s, "run again --env dev --param a=b --no-depends")
	if o.Meta.Chant.RunID != "r_again" {
		t.Errorf("run id %q", o.Meta.Chant.RunID)
	}
	req := w.host.ops.started[0]
	if req.Ref.Env != "dev" || req.Ref.Params["a"] != "b" || !req.NoDepends || req.Mode != host.RunOn {
		t.Errorf("asked for %+v", req)
	}
	calls := log.updates("tool_call")
	if len(calls) != 1 || calls[0].Title != "try" || calls[0].ToolKind != "execute" || !strings.Contains(log[slices.IndexFunc(log, func(m message) bool { return m.Params.Update.Kind == "tool_call" })].raw, `"rawInput":{"command":"try","phase":"Work","args":{"cmd":"try"}}`) {
		t.Errorf("calls %+v", calls)
	}
	ends := log.updates("tool_call_update")
	last := ends[len(ends)-1]
	if last.RawOutput["attempts"] != 2.0 || last.RawOutput["durationMs"] != 1000.0 || fmt.Sprint(last.RawOutput["outcome"]) != "map[name:Drift value:true]" {
		t.Errorf("raw output %v", last.RawOutput)
	}
	_, again := w.prompt(s, "run again")
	if again.updates("tool_call")[0].ToolCallID == calls[0].ToolCallID {
		t.Error("two tool calls have one id")
	}
}

func TestProtectedRuns(t *testing.T) {
	w := dialOps(t, setup{})
	s := w.newSession()
	_, log := w.prompt(s, "run good --env prod")
	if title := log.updates("tool_call")[0].Title; title != "[prod] make a" {
		t.Errorf("title %q", title)
	}
	if !strings.Contains(log.text(), "\n[prod] `run good --env prod` completed") {
		t.Errorf("text %q", log.text())
	}
}

// A failed step's last lines stand in the text where its output does not.
func TestFailedStepsSpeak(t *testing.T) {
	for _, s := range []setup{{terminal: true}, {options: agent.Options{Output: "quiet"}}} {
		w := dialOps(t, s)
		_, log := w.prompt(w.newSession(), "run bad")
		if text := log.text(); strings.Count(text, "no way") != 1 || !strings.Contains(text, "exit code 7") {
			t.Errorf("%+v: %q", s, text)
		}
	}
}

// A failed step names the places that it printed.
func TestFailedStepsHaveLocations(t *testing.T) {
	for _, s := range []setup{{terminal: true}, {client: "CodeCompanion.nvim"}, {}, {options: agent.Options{Output: "quiet"}}} {
		w := dialOps(t, s)
		id := w.newSession()
		root := w.host.root
		if err := os.WriteFile(filepath.Join(root, "main.go"), nil, 0o644); err != nil {
			t.Fatal(err)
		}
		_, log := w.prompt(id, "run broken")
		if text := log.text(); strings.Count(text, "At `main.go:3:5`.\n") != 1 {
			t.Errorf("%+v: %q", s, text)
		}
		if got := located(t, root, log); s.client == "" && (len(got) != 1 || got[0].Path != "main.go" || got[0].Line != 3) {
			t.Errorf("%+v: locations %v", s, got)
		}
	}
}

func TestStoppedRuns(t *testing.T) {
	for _, op := range []string{"slow", "deaf"} {
		for _, terminal := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, terminal %v", op, terminal), func(t *testing.T) {
				w := dialOps(t, setup{terminal: terminal})
				s := w.newSession()
				id := w.begin(s, "run "+op)
				w.await("output", func(m message) bool { return strings.Contains(m.raw, "begun") })
				w.send(cancelLine(s))
				if o := w.ended(id); o.String() != "cancelled/cancelled" || o.Meta.Chant.RunID != "r_"+op {
					t.Errorf("after a cancel: %v", o)
				}
				if o, _ := w.prompt(s, "run "+op); o.Meta.Chant.Outcome != "refused" {
					t.Errorf("the same line right after it: %v", o)
				}
				id = w.begin(s, "run "+op)
				w.await("output", func(m message) bool { return strings.Contains(m.raw, "begun") })
				if err := w.hangUp(); err != nil {
					t.Error(err)
				}
				if o := w.ended(id); o.String() != "cancelled/interrupted" {
					t.Errorf("after the end of the input: %v", o)
				}
			})
		}
	}
}

// A run that does not end in time is left to itself when the agent leaves.
func TestLeavingAStubbornRun(t *testing.T) {
	free := make(chan struct{})
	h := newStub(t)
	h.ops = newStubOps(map[string]func(*stubLeg) host.RunState{"stuck": func(l *stubLeg) host.RunState {
		a := l.info("a", "take long", "activity")
		l.plan(host.StepRunning, a, l.info("b", "next", "activity"))
		l.tell(&host.StepStarted{Step: a, Attempt: 1, Of: 1})
		l.tell(&host.StepOutput{StepID: a.ID, Data: []byte("begun\n")})
		<-free
		l.tell(&host.StepResult{Step: a, State: host.StepCompleted})
		return host.RunCompleted
	}})
	w := dial(t, setup{host: h})
	id := w.begin(w.newSession(), "run stuck")
	w.await("output", func(m message) bool { return strings.Contains(m.raw, "begun") })
	if err := w.hangUp(); err != nil {
		t.Error(err)
	}
	if o := w.ended(id); o.String() != "cancelled/interrupted" {
		t.Errorf("%v", o)
	}
	close(free)
}

// A second program waits for a run to end, and a run for a program.
func TestRunsTakeThePlace(t *testing.T) {
	w := dialOps(t, setup{})
	one, two := w.newSession(), w.newSession()
	first := w.begin(one, "run slow")
	w.await("output", func(m message) bool { return strings.Contains(m.raw, "begun") })
	second := w.begin(two, "ok")
	w.said(two, "Waiting for `run slow` to end")
	if got := w.host.runs(); len(got) > 0 {
		t.Fatalf("%q ran beside it", got)
	}
	w.send(cancelLine(one))
	w.ended(first)
	if o := w.ended(second); o.String() != "end_turn/completed" {
		t.Errorf("%v", o)
	}
}

func TestLookingBack(t *testing.T) {
	w := dialOps(t, setup{})
	s := w.newSession()
	w.prompt(s, "run good")
	w.prompt(s, "run gated")
	for _, tt := range []struct{ line, outcome, text string }{
		{"ops", "end_turn/completed", "last run: completed"},
		{"ops --json", "end_turn/completed", `{"name":"good"`},
		{"run list", "end_turn/completed", "r_good"},
		{"run status good", "end_turn/completed", "state        completed"},
		{"run status gated", "end_turn/completed", "approve gated ship --run r_gated"},
		{"run status nope", "refusal/refused", "There is no such run."},
		{"run log good", "end_turn/completed", "what it printed"},
		{"run verify", "end_turn/completed", "The run is what was written."},
		{"run verify bad", "end_turn/failed", "The run r_bad of `bad`:\n\n```\n/runs/journal.jsonl is damaged: line 3 is not what was written"},
		{"run log nope", "refusal/refused", "There is no such run."},
		{"signal paid '{\"n\": 1}'", "end_turn/completed", `the run r1 was signaled by me: {"n": 1}`},
		{"signal lost", "refusal/refused", "Nothing waits for the event lost."},
		{"approve gated nope", "refusal/refused", "Nothing waits for it."},
		{"approve gated ship", "end_turn/completed", "was approved by somebody. To go on, type"},
		{"approve gated ship", "refusal/refused", "It was decided before."},
		{"run cancel gated", "end_turn/completed", "The run r_gated of `gated` is cancelled."},
	} {
		o, log := w.prompt(s, tt.line)
		if o.String() != tt.outcome || !strings.Contains(log.text(), tt.text) {
			t.Errorf("%s: %v, %q; want %s and %q", tt.line, o, log.text(), tt.outcome, tt.text)
		}
	}
	id := w.begin(s, "run log good --follow")
	w.said(s, "what it printed")
	w.send(cancelLine(s))
	if o := w.ended(id); o.String() != "cancelled/cancelled" {
		t.Errorf("a log that is followed ends with %v", o)
	}
	bare := dial(t, setup{})
	if o, log := bare.prompt(bare.newSession(), "run good"); o.String() != "refusal/refused" || !strings.Contains(log.text(), "can't be kept here") {
		t.Errorf("without a runtime: %v, %q", o, log.text())
	}
}

func TestWhoMayDecide(t *testing.T) {
	for _, origin := range []agent.Origin{agent.OriginMCP, agent.OriginHeartbeat, agent.OriginProgram} {
		w := dialOps(t, setup{origin: origin, options: agent.Options{Gates: "ask"}})
		s := w.newSession()
		if o, log := w.prompt(s, "run gated"); o.String() != "end_turn/waiting" || slices.Contains(log.order(), "request") {
			t.Errorf("%v asks nobody: %v", origin, log.order())
		}
		for _, line := range []string{
			"approve gated ship", "reject gated ship", "signal paid", "run cancel gated", "run undo gated", "run good --restart", "run good --no-depends", "run good --env prod",
		} {
			if o, log := w.prompt(s, line); o.String() != "refusal/refused" || !strings.Contains(log.text(), "a person") {
				t.Errorf("%v, %s: %v, %s", origin, line, o, log.text())
			}
		}
		if o, _ := w.prompt(s, "run good --env dev"); o.String() != "end_turn/completed" {
			t.Errorf("%v, an environment that is not protected: %v", origin, o)
		}
		if len(w.host.ops.decided) > 0 {
			t.Errorf("%v decided", origin)
		}
		// What a person began in a protected environment is not gone on with.
		run := w.host.ops.runs["gated"]
		run.Env, run.State, run.Resume = "prod", host.RunInterrupted, "run gated --run r_gated --resume"
		for _, line := range []string{"run gated --run r_gated", "run gated --run r_gated --resume"} {
			if o, log := w.prompt(s, line); o.String() != "refusal/refused" || !strings.Contains(log.text(), "a run in prod, which is protected") {
				t.Errorf("%v, %s: %v, %s", origin, line, o, log.text())
			}
		}
		o, log := w.prompt(s, "run status gated")
		if text := log.text(); o.String() != "end_turn/completed" || !strings.Contains(text, "--resume") || strings.Contains(text, "--restart") {
			t.Errorf("%v is told %s", origin, text)
		}
		run.Changed = "its file changed"
		_, log = w.prompt(s, "run status gated")
		if text := log.text(); !strings.Contains(text, "for a person to decide") || strings.Contains(text, "--restart") || strings.Contains(text, "run cancel") {
			t.Errorf("%v is told %s", origin, text)
		}
	}
}

// A fault of the runtime fails the turn, and holds up nobody.
func TestFaultyRuntime(t *testing.T) {
	h := newStub(t)
	h.ops = newStubOps(map[string]func(*stubLeg) host.RunState{"good": opScripts["good"], "gated": gated})
	w := dial(t, setup{host: h})
	s := w.newSession()
	w.prompt(s, "run gated")
	h.ops.panics = "StartOp"
	for _, line := range []string{"run good", "approve gated ship", "reject gated ship"} {
		if line != "run good" {
			h.ops.panics = "Decide"
		}
		if o, log := w.prompt(s, line); o.String() != "end_turn/failed" || !strings.Contains(log.text(), "failed inside the agent") {
			t.Errorf("%s: %v, %q", line, o, log.text())
		}
	}
	h.ops.panics = ""
	if o, _ := w.prompt(s, "run good"); o.String() != "end_turn/completed" {
		t.Errorf("afterwards: %v", o)
	}
}

// A client that shows each plan below the one before it is sent one.
func TestPlansThatPileUp(t *testing.T) {
	for client, once := range map[string]bool{"vscode-acp-client": true, "CodeCompanion.nvim": false} {
		w := dialOps(t, setup{client: client})
		_, log := w.prompt(w.newSession(), "run good")
		if n := len(log.updates("plan")); n == 0 || once != (n == 1) {
			t.Errorf("%s: %d plans", client, n)
		}
	}
}

package agent_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/host"
)

// Where not all of what a step prints is shown, it says where the whole is: the
// log of its run.
func TestTheWholeOfAStepIsInTheLog(t *testing.T) {
	h := newStub(t)
	h.ops = newStubOps(map[string]func(*stubLeg) host.RunState{"loud": func(l *stubLeg) host.RunState {
		l.run.Log = "/state/runs/r_loud/output.log"
		a := l.info("a", "make noise", "activity")
		l.plan(host.StepRunning, a)
		l.does(a, strings.Repeat("one more line\n", 50_000))
		l.plan(host.StepCompleted, a)
		return host.RunCompleted
	}})
	h.ops.printed = strings.Repeat("one more line\n", 50_000)
	w := dial(t, setup{host: h})
	s := w.newSession()
	for _, line := range []string{"run loud", "run log loud"} {
		o, log := w.prompt(s, line)
		if text := log.text(); o.String() != "end_turn/completed" || !strings.Contains(text, "The whole is in /state/runs/r_loud/output.log]") || strings.Contains(text, "no log of the whole") {
			t.Errorf("%s: %v, it ends %q", line, o, text[max(0, len(text)-300):])
		}
	}
}

// The status of a run that can't go on offers nothing that would be refused.
func TestStatusOfAChangedOp(t *testing.T) {
	for state, want := range map[host.WaitState]struct{ said, offered, not string }{
		host.WaitOpen:     {"An approval of the gate `ship` would be void.", "reject gated ship --run r_gated\nrun cancel --run r_gated\nrun gated --run r_gated --restart\n", "approve gated"},
		host.WaitApproved: {"The approval of the gate `ship` is void.", "run cancel --run r_gated\nrun gated --run r_gated --restart\n", "reject gated"},
		host.WaitRejected: {"To let the run fail, type", "run gated --run r_gated\n", "--restart"},
	} {
		w := dialOps(t, setup{})
		s := w.newSession()
		w.prompt(s, "run gated")
		if state != host.WaitOpen {
			w.host.ops.elsewhere("gated", state)
		}
		w.host.ops.mu.Lock()
		w.host.ops.runs["gated"].Changed = "the Op gated is not what it was"
		w.host.ops.mu.Unlock()
		_, log := w.prompt(s, "run status gated")
		if text := log.text(); !strings.Contains(text, "The Op gated is not what it was.") || !strings.Contains(text, want.said) ||
			!strings.Contains(text, "\n"+want.offered) || strings.Contains(text, want.not) {
			t.Errorf("%s: it said %q", state, text)
		}
	}
}

// Once the time of a gate ran out, nothing is offered that decides it.
func TestNothingDecidesAGateAfterItsTime(t *testing.T) {
	w := dialOps(t, setup{options: agent.Options{Gates: "ask"}})
	s := w.newSession()
	from := len(w.seen)
	id := w.begin(s, "run gated")
	w.asked()
	w.host.ops.elsewhere("gated", host.WaitExpired)
	w.ended(id)
	if text := turnLog(w.seen[from:]).text(); strings.Contains(text, "To decide, type") || !strings.Contains(text, "was not decided in time") || !strings.Contains(text, "run gated --run r_gated") {
		t.Errorf("it said %q", text)
	}
}

// What has an end of its own gets no other, and a program keeps its name.
func TestSentencesOfRuns(t *testing.T) {
	h := newStub(t)
	h.ops = newStubOps(map[string]func(*stubLeg) host.RunState{"bad": func(l *stubLeg) host.RunState {
		a := l.info("a", "make a", "activity")
		l.plan(host.StepRunning, a)
		r := &host.StepResult{Step: a, State: host.StepFailed, Attempts: 1, Err: "sh ended with exit code 7"}
		l.result.Failed = r
		l.tell(&host.StepStarted{Step: a, Attempt: 1, Of: 1})
		l.tell(r)
		return host.RunFailed
	}})
	w := dial(t, setup{host: h})
	s := w.newSession()
	_, log := w.prompt(s, "run bad")
	for _, m := range log {
		if strings.Contains(m.raw, "Sh ended") || strings.Contains(m.raw, `7..`) {
			t.Error(m.raw)
		}
	}
}

// The name of a phase stays one line of the plan, which tells a terminal nothing.
func TestPhasesInThePlanAreOneLine(t *testing.T) {
	h := newStub(t)
	h.ops = newStubOps(map[string]func(*stubLeg) host.RunState{"odd": func(l *stubLeg) host.RunState {
		l.tell(&host.OpPlan{RunID: l.run.ID, Op: l.run.Op, Phases: []host.PlanPhase{{Name: "Ship\x1b[2J\n```\nit\u202e", State: host.StepRunning}}})
		return host.RunCompleted
	}})
	w := dial(t, setup{host: h})
	_, log := w.prompt(w.newSession(), "run odd")
	plans := 0
	for _, m := range log {
		u := m.Params.Update
		if u.Kind != "plan" {
			continue
		}
		plans++
		if u.Entries[0].Content != "Ship \\[2J \\`\\`\\` it\\u202e" {
			t.Errorf("the plan says %q", u.Entries[0].Content)
		}
	}
	if plans == 0 {
		t.Error("no plan was shown")
	}
}

// A log that is not whole is not taken for one that is, nor for an empty one.
func TestWhatALogLacksIsSaid(t *testing.T) {
	h := newStub(t)
	h.ops = newStubOps(map[string]func(*stubLeg) host.RunState{"loud": func(l *stubLeg) host.RunState {
		l.run.LogLacks = "the log ends after 7 bytes: no space left"
		l.plan(host.StepCompleted, l.info("a", "make noise", "activity"))
		return host.RunCompleted
	}})
	w := dial(t, setup{host: h})
	s := w.newSession()
	for _, line := range []string{"run loud", "run log loud", "run status loud"} {
		_, log := w.prompt(s, line)
		if text := log.text(); !strings.Contains(text, "the log ends after 7 bytes: no space left") {
			t.Errorf("%s: it said %q", line, text)
		}
	}
}

// A run that could not go on for want of a disk has failed to, which is no cancel,
// and the lines to type end where their block does.
func TestAFaultEndsInWords(t *testing.T) {
	h := newStub(t)
	h.ops = newStubOps(map[string]func(*stubLeg) host.RunState{"full": func(l *stubLeg) host.RunState {
		l.run.LogLacks = "the log ends after 7 bytes"
		l.plan(host.StepRunning, l.info("a", "make noise", "activity"))
		l.result.Err = errors.New("writing the journal: no space left on device")
		return host.RunInterrupted
	}})
	w := dial(t, setup{host: h})
	o, log := w.prompt(w.newSession(), "run full")
	if o.String() != "end_turn/failed" {
		t.Errorf("it ended as %v", o)
	}
	text := log.text()
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.HasPrefix(line, "```") && line != "```" {
			t.Errorf("%q ends no code block", line)
		}
	}
	for _, want := range []string{"no space left on device.", "the log ends after 7 bytes.", "--resume\n"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in %q", want, text)
		}
	}
}

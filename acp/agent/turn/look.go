package turn

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent/view"
	"github.com/chant-acp/chant-acp/acp/agent/view/shape"
	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host"
)

// opBuiltin carries out a built-in about Ops. What runs steps has the thread for
// itself and queues for the slot; what looks or decides waits for neither.
func (t *Turn) opBuiltin(inv *command.Invocation) outcome {
	if err := t.mayDecide(inv); err != nil {
		return t.refuse(err)
	}
	if inv.Name == "run" || inv.Name == "run undo" || inv.Name == "reject" {
		return t.later(inv, func() outcome { return t.runSteps(inv) })
	}
	return t.deferred(func() outcome {
		if t.stopped() {
			return t.stoppedBeforeStart("")
		}
		e, err := t.lookOrDecide(inv)
		if err != nil {
			return t.nothingDone(err)
		}
		return e
	})
}

// runSteps carries out what runs steps.
func (t *Turn) runSteps(inv *command.Invocation) outcome {
	if inv.Name == "reject" {
		return t.rejectGate(inv)
	}
	if t.repeats == inv.Line {
		return t.refuse(fmt.Errorf("%s was stopped just now, and came again: nothing was run, because some clients send a stopped line once more by themselves. Type it once more to run it", view.Code(inv.Line)))
	}
	return t.runOp(inv)
}

// opAgain is runSteps for a line of the history.
func (t *Turn) opAgain(inv *command.Invocation) outcome {
	if err := t.mayDecide(inv); err != nil {
		return t.refuse(err)
	}
	return t.runSteps(inv)
}

// mayDecide refuses what only a person may do: to decide about a run, to undo it, to
// begin it anew or without what it depends on, and to run it in a protected environment.
func (t *Turn) mayDecide(inv *command.Invocation) error {
	why := t.noPerson()
	if why == "" {
		return nil
	}
	if !inv.Decides() && (inv.Name != "run" || !t.protects(inv.Op.Env)) {
		return nil
	}
	return fmt.Errorf("%s was not done: %s", view.Code(inv.Line), why)
}

// protects says whether the project protects an environment.
func (t *Turn) protects(env string) bool {
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	return slices.ContainsFunc(t.session.allow.Environments, func(e command.Environment) bool { return e.Name == env && e.Protected })
}

// deciding says whether a line is one that mayDecide refuses where there is no
// person: such lines are not suggested there.
func deciding(line string) bool {
	words := strings.Fields(line)
	switch {
	case len(words) == 0:
		return false
	case slices.Contains([]string{"approve", "reject", "signal", "confirm", "allow"}, words[0]),
		len(words) > 1 && words[0] == "run" && (words[1] == "cancel" || words[1] == "undo"):
		return true
	}
	return slices.Contains(words, "--restart") || slices.Contains(words, "--no-depends")
}

// lookOrDecide carries out what runs nothing.
func (t *Turn) lookOrDecide(inv *command.Invocation) (outcome, error) {
	rt, err := t.session.host.Ops()
	if err != nil {
		return outcome{}, err
	}
	ref := host.RunRef{ID: inv.Op.Run, Op: inv.Op.Op}
	switch inv.Name {
	case "ops":
		return t.listOps(rt, inv.Op.JSON)
	case "run list":
		return t.listRuns(rt, inv.Op)
	case "run log":
		return t.runLog(rt, ref, inv.Op.Follow)
	case "run status":
		info, err := rt.RunInfo(t.context(), ref)
		return t.describeRun(info, view.RunText(info, t.noPerson() == "")), err
	case "run verify":
		return t.verifyRuns(rt, ref)
	case "run cancel":
		info, err := rt.CancelRun(t.context(), ref, t.actor())
		return t.describeRun(info, fmt.Sprintf("%sThe run %s of %s is %s.%s\n", t.markOf(info.Env), info.ID, view.Code(info.Op), info.State,
			view.StoppedText(info, t.noPerson() == ""))), err
	case "approve":
		w, err := rt.Decide(t.context(), gateAnswerOf(inv.Op, true, t.actor()))
		return t.describeWait(w), err
	case "signal":
		w, err := rt.Signal(t.context(), host.EventSignal{Key: inv.Op.Key, Payload: inv.Op.Payload, RunID: inv.Op.Run, Actor: t.actor()})
		return t.describeWait(w), err
	}
	return outcome{}, fmt.Errorf("%s is not part of this version", view.Code(inv.Name))
}

func gateAnswerOf(l *command.OpLine, approve bool, by host.Actor) host.GateAnswer {
	return host.GateAnswer{Ref: host.RunRef{ID: l.Run, Op: l.Op}, Gate: l.Gate, Approve: approve, Note: l.Note, Answer: l.Answer, Actor: by}
}

// rejectGate is `reject`: the run fails, and its compensation runs in this turn.
func (t *Turn) rejectGate(inv *command.Invocation) outcome {
	r, err := t.newOpTurn(inv)
	if err != nil {
		return t.refuse(err)
	}
	return r.decide(gateAnswerOf(inv.Op, false, t.actor()))
}

// describeRun ends a turn that showed a run. It is not told where there was an error,
// which the caller has.
func (t *Turn) describeRun(info host.RunInfo, text string) outcome {
	e := outcome{reason: acp.StopEndTurn, state: view.StateCompleted, meta: chantMeta{RunID: info.ID}}
	if info.ID != "" {
		t.recorder.say(text)
	}
	return e
}

// describeWait ends a turn in which something was decided.
func (t *Turn) describeWait(w host.OpWait) outcome {
	if w.State != host.WaitApproved && w.State != host.WaitSignaled {
		return outcome{} // the caller has the error
	}
	t.recorder.say(view.Sentence(view.DecisionText(w)) + " To go on, type\n\n" + view.Fenced(w.Continue) + "\n")
	return outcome{reason: acp.StopEndTurn, state: view.StateCompleted, meta: chantMeta{RunID: w.RunID, Gate: gateName(w)}}
}

func gateName(w host.OpWait) string {
	if w.Kind != host.WaitGate {
		return ""
	}
	return w.Name
}

// maxListed bounds the runs that are looked at for what came of each Op.
const maxListed = 1000

func (t *Turn) listOps(rt host.Runtime, asJSON bool) (outcome, error) {
	set, err := t.session.host.OpSet(t.context())
	if err != nil {
		return outcome{}, err
	}
	if asJSON {
		var b strings.Builder
		if err := set.WriteJSON(&b); err != nil {
			return outcome{}, err
		}
		return t.sayText(view.Fenced(b.String())), nil
	}
	runs, err := rt.Runs(t.context(), host.RunQuery{Limit: maxListed})
	if err != nil {
		return outcome{}, err
	}
	return t.sayText(view.Fenced(set.List(func(name string) string {
		for _, r := range runs {
			if r.Op == name {
				return resultText(r)
			}
		}
		return ""
	}))), nil
}

// resultText is what came of a run.
func resultText(r host.RunInfo) string {
	text := string(r.State)
	if r.Env != "" {
		text += " in " + r.Env
	}
	if r.Ended.IsZero() {
		return fmt.Sprintf("%s, begun %s (run %s)", text, view.Moment(r.Began), r.ID)
	}
	return fmt.Sprintf("%s at %s (run %s)", text, view.Moment(r.Ended), r.ID)
}

func (t *Turn) listRuns(rt host.Runtime, l *command.OpLine) (outcome, error) {
	runs, err := rt.Runs(t.context(), host.RunQuery{Op: l.Op, Open: l.Open})
	if err != nil {
		return outcome{}, err
	}
	if len(runs) == 0 {
		return t.sayText("There are no such runs in this project."), nil
	}
	return t.sayText(view.Fenced(view.RunTable(runs))), nil
}

// verifyRuns says which of the runs are not what was written.
func (t *Turn) verifyRuns(rt host.Runtime, ref host.RunRef) (outcome, error) {
	checks, err := rt.VerifyRuns(t.context(), ref)
	if err != nil {
		return outcome{}, err
	}
	text, whole := view.ChecksText(checks)
	e := t.sayText(text)
	if !whole {
		e.state = view.StateFailed
	}
	return e, nil
}

// runLog shows what the steps of a run printed, as it comes where that is asked
// for.
func (t *Turn) runLog(rt host.Runtime, ref host.RunRef, follow bool) (outcome, error) {
	cfg := t.session.outputConfig()
	cfg.Quiet = false // it was asked for
	cfg.LogPath = func() string {
		info, _ := rt.RunInfo(t.context(), ref) // RunLog tells of the error
		return view.WholeLog(info)
	}
	cfg.Emit = func(text string) error {
		return t.Stream(t.context(), view.Event{Kind: view.EventOutput, Text: text, Plain: true})
	}
	s := shape.New(cfg)
	err := rt.RunLog(t.context(), ref, follow, shaperWriter{s})
	for _, piece := range s.Finish() {
		t.Add(view.Event{Kind: view.EventOutput, Text: piece, Plain: true})
	}
	s.Wait()
	stats := s.Stats()
	if err != nil && t.stopped() && context.Cause(t.context()) != nil {
		return t.stoppedBeforeStart(""), nil
	}
	info, _ := rt.RunInfo(t.context(), ref) // RunLog tells of the error
	switch {
	case err != nil:
	case info.LogLacks != "":
		t.recorder.say("\n" + view.LogLack(info) + "\n")
	case stats.Bytes == 0:
		t.recorder.say("Its steps have printed nothing.\n")
	}
	return outcome{reason: acp.StopEndTurn, state: view.StateCompleted}, err
}

// shaperWriter is a shaper that what copies can write to.
type shaperWriter struct{ *shape.Shaper }

func (w shaperWriter) Write(p []byte) (int, error) {
	w.Shaper.Write(p)
	return len(p), nil
}

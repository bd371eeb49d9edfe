package turn

import (
	"context"
	"errors"
	"fmt"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent/view"
	"github.com/chant-acp/chant-acp/host"
)

// The ways in which a gate asks; see Options.Gates.
const (
	gatesAuto    = "auto"
	gatesReply   = "reply"
	gatesAsk     = "ask"
	gatesDurable = "durable"
)

// stopWaiting is the stop reason of a turn that left a durable request behind. It
// is outside the schema, for clients that are made for it.
const stopWaiting acp.StopReason = "waiting"

// gates is how this turn asks. Where there is no person to ask, it only says what
// to type.
func (r *opTurn) gates() string {
	switch mode := r.turn.conn.Options.Gates; {
	case r.turn.noPerson() != "":
		return gatesReply
	case mode != "" && mode != gatesAuto:
		return mode
	case r.turn.client.AsksPerson && r.turn.client.Name != view.PromptClient:
		return gatesAsk // the command line rejects where nobody is there to ask
	}
	return gatesReply
}

// openGate is the first gate that is not decided, nil for none.
func openGate(waits []host.OpWait) *host.OpWait {
	for i := range waits {
		if waits[i].Kind == host.WaitGate && waits[i].State == host.WaitOpen {
			return &waits[i]
		}
	}
	return nil
}

// ask puts a gate to a person, without the slot, until it is decided: by the
// answer, or by anybody else on the record. It returns true, with the slot taken,
// when the run is to go on; or how the turn ended.
func (r *opTurn) ask(run host.RunInfo, w host.OpWait) (outcome, bool) {
	t, slot := r.turn, r.turn.conn.Slot
	call := r.gateCall(w)
	for {
		before := slot.changed()
		t.Flush()
		a := r.answerOrDecision(call, run, w)
		if a.gone != nil {
			call.Fail("the run does not wait for it any more")
			return r.elsewhere(run.ID, a.gone), false
		}
		if a.wait.State == host.WaitExpired {
			call.Fail("nobody decided in time, which counts as a rejection")
			return r.expired(run, a.wait), false
		}
		if !a.decided && a.answer == nil {
			call.Fail(a.why)
			return r.stillWaits(run, w, a.why), false
		}
		if t.wait(r.inv.Line, true) != nil {
			call.Fail("the turn was stopped")
			return r.stillWaits(run, w, "the turn was stopped before that"), false
		}
		switch {
		case a.decided:
			r.settle(call, w, a.wait)
			return outcome{}, true
		case slot.changed() != before && a.answer.Approve:
			slot.release(false)
			t.say(fmt.Sprintf("\nAnother command changed things while the gate %s waited for an answer, so it is asked for again.\n\n", view.Code(w.Name)))
			continue
		}
		decided, err := r.record(*a.answer, true)
		if decided.State == host.WaitExpired {
			call.Fail("nobody decided in time, which counts as a rejection")
			return r.expired(run, decided), false
		}
		if err != nil {
			call.Fail("the answer was not taken")
			return r.stillWaits(run, w, "the answer was not taken: "+view.Said(view.OneLine(err.Error()))), false
		}
		r.settle(call, w, decided) // by somebody else, where he was first
		return outcome{}, true
	}
}

// record decides a gate in the slot, and gives the slot up where that fails.
// With others, the answer of somebody who was first will do.
func (r *opTurn) record(answer host.GateAnswer, others bool) (w host.OpWait, err error) {
	taken := false
	defer func() {
		if !taken {
			r.turn.conn.Slot.release(false)
		}
	}()
	w, err = r.rt.Decide(r.turn.context(), answer)
	var refusal *host.OpRefusal
	if others && errors.As(err, &refusal) && (w.State == host.WaitApproved || w.State == host.WaitRejected) {
		err = nil
	}
	taken = err == nil
	return w, err
}

// gateCall announces the tool call that a gate is asked about with.
func (r *opTurn) gateCall(w host.OpWait) *view.Call {
	info, ok := r.waits[w.RequestID]
	if !ok { // the run waits at it since an earlier turn
		info = host.StepInfo{ID: w.RequestID, Title: "Gate " + w.Name, Kind: "gate"}
		if w.Description != "" {
			info.Title += ": " + w.Description
		}
	}
	delete(r.waits, w.RequestID)
	id := "gate_" + newID() // the step has another one each time that the run goes on
	c := &view.Call{Stage: r.turn.stage, ID: id, Title: view.StepTitle(r.mark, info), Line: r.inv.Line, Cwd: r.inv.Dir, Silent: true}
	c.Announce(acp.ToolPending, gateInput(w), view.GateText(w))
	return c
}

// gateAsked is what came of a question.
type gateAsked struct {
	answer  *host.GateAnswer // the client's; nil where it gave none
	why     string           // why it gave none
	decided bool             // on the record, by somebody else
	wait    host.OpWait      // as it was decided
	gone    error            // why the run does not wait any more
}

// awaited is what came of watching the record.
type awaited struct {
	wait host.OpWait
	err  error
}

// answerOrDecision asks the client and watches the record, whichever is first.
func (r *opTurn) answerOrDecision(call *view.Call, run host.RunInfo, w host.OpWait) gateAsked {
	t := r.turn
	ctx, done := context.WithCancelCause(t.context())
	defer done(nil)
	record := make(chan awaited, 1)
	go func() { // ends with ctx; waited for below
		w, err := r.rt.AwaitDecision(ctx, run.ID, w.RequestID)
		record <- awaited{w, err}
		done(errDecided)
	}()
	answer, err := t.conn.RequestPermission(ctx, gateRequest(t.session.ID, call, w))
	ended := ctx.Err() != nil
	done(nil)
	seen := <-record
	if errors.Is(err, acp.ErrClosed) {
		t.stop(host.StopLeaving) // the client has left; conn.leave stops the turn a moment later
	}
	t.settle() // a cancel in the same packet as the answer wins
	switch {
	case t.stopped():
		return gateAsked{why: "the turn was stopped"}
	case seen.err == nil:
		return gateAsked{decided: seen.wait.State != host.WaitExpired, wait: seen.wait}
	case ended:
		return gateAsked{gone: seen.err}
	case err != nil:
		return gateAsked{why: fmt.Sprintf("the client could not ask (%v)", err)}
	case answer.Outcome != acp.OutcomeSelected:
		return gateAsked{why: "the question was dismissed"}
	case answer.OptionID == acp.AllowOnce, answer.OptionID == acp.RejectOnce:
		return gateAsked{answer: &host.GateAnswer{Request: w.RequestID, Approve: answer.OptionID == acp.AllowOnce, Actor: t.actor()}}
	}
	return gateAsked{why: "the client's answer was none of those offered"}
}

// errDecided ends a question that somebody else has answered.
var errDecided = errors.New("the gate was decided elsewhere")

// gateRequest is the question. Its options are named as their kinds: clients that
// answer later name one of them.
func gateRequest(session string, call *view.Call, w host.OpWait) acp.RequestPermissionRequest {
	return acp.RequestPermissionRequest{
		SessionID: session,
		ToolCall: acp.ToolCallUpdate{
			ToolCallID: call.ID, Title: call.Title, ToolKind: acp.ToolExecute, Status: acp.ToolPending, RawInput: view.Input(gateInput(w)),
			Content: []acp.ToolCallContent{acp.ToolText(view.Visible(view.GateText(w)))},
		},
		Options: []acp.PermissionOption{
			{OptionID: acp.AllowOnce, Name: "Approve", Kind: acp.AllowOnce},
			{OptionID: acp.RejectOnce, Name: "Reject: the run fails and is undone", Kind: acp.RejectOnce},
		},
		Meta: acp.Meta{"chant": view.GateMeta(w)},
	}
}

func gateInput(w host.OpWait) any {
	return struct {
		Command string `json:"command"`
		Op      string `json:"op"`
		Gate    string `json:"gate"`
		Run     string `json:"run"`
		Digest  string `json:"digest"`
	}{view.Cut(w.Approve, view.FieldBytes), w.Op, view.Cut(w.Name, view.FieldBytes), w.RunID, w.Digest}
}

// settle ends the call of a gate that was decided.
func (r *opTurn) settle(call *view.Call, asked, decided host.OpWait) {
	r.decided[asked.RequestID] = true
	status := acp.ToolCompleted
	if decided.State != host.WaitApproved {
		status = acp.ToolFailed
	}
	text := view.Sentence(view.DecisionText(decided))
	call.End(view.ResultEvent{Status: status, Content: text, RawOutput: view.RawJSON(map[string]any{"state": decided.State, "by": decided.By})})
	r.turn.say("\n" + r.mark + text + "\n\n")
}

// stillWaits ends a turn whose gate was not decided: the run stays where it is.
func (r *opTurn) stillWaits(run host.RunInfo, w host.OpWait, why string) outcome {
	t := r.turn
	e := outcome{reason: acp.StopEndTurn, state: view.StateWaiting, meta: chantMeta{RunID: run.ID, Gate: w.Name, Digest: w.Digest}}
	if t.stopped() {
		e.reason = acp.StopCancelled
	}
	t.recorder.say(fmt.Sprintf("\n%s%s still waits at the gate %s: %s\n\n", r.mark, view.Code(run.Op), view.Code(w.Name), view.SentenceEnd(why)) + view.WaitText(w))
	return r.aboutRun(e)
}

// expired is stillWaits for a gate that nobody can decide any more.
func (r *opTurn) expired(run host.RunInfo, w host.OpWait) outcome {
	w.State = host.WaitExpired
	return r.stillWaits(run, w, "its time ran out, which counts as a rejection. The compensation runs when the run is taken up again")
}

// askLater leaves a question with the client. What it answers to the request
// itself counts for nothing: the answer comes with a later prompt.
func (r *opTurn) askLater(w host.OpWait) {
	t := r.turn
	call := r.gateCall(w)
	t.ask(acp.MethodRequestPermission, gateRequest(t.session.ID, call, w))
	call.Fail("it waits for an answer")
}

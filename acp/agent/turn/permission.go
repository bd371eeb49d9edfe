package turn

import (
	"errors"
	"fmt"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent/view"
	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host"
)

// permission is _meta.chant.permission of a prompt: the answer to a request that
// outlived its turn.
type permission struct {
	request, option string
}

// permissionOf finds the answer in a prompt. there is true of one that can't be
// read, too.
func permissionOf(m acp.Meta) (p permission, there bool) {
	chant, _ := m["chant"].(map[string]any)
	answer, there := chant["permission"]
	if !there || answer == nil {
		return p, false
	}
	fields, _ := answer.(map[string]any)
	p.request, _ = fields["requestId"].(string)
	p.option, _ = fields["optionId"].(string)
	return p, true
}

// permit takes the answer to a durable request, and goes on with its run. The text
// of the prompt is not read.
func (t *Turn) permit(p permission) outcome {
	switch {
	case t.conn.Options.Gates != gatesDurable:
		return t.refuse(errors.New("nothing was decided: the prompt holds an answer to a request, and this agent leaves none behind. It would with --gates durable; a gate is decided with approve or reject"))
	case t.noPerson() != "":
		return t.refuse(errors.New("nothing was decided: a gate is decided by a person, and there is none behind this turn"))
	case p.request == "" || p.option != acp.AllowOnce && p.option != acp.RejectOnce:
		return t.refuse(fmt.Errorf("nothing was decided: _meta.chant.permission takes a requestId, and an optionId that is %s or %s", acp.AllowOnce, acp.RejectOnce))
	}
	return t.later(nil, func() outcome { return t.permitted(p) })
}

func (t *Turn) permitted(p permission) outcome {
	rt, err := t.session.host.Ops()
	if err != nil {
		return t.refuse(err)
	}
	run, w, err := rt.FindRequest(t.context(), p.request)
	if err != nil {
		return t.nothingDone(err)
	}
	inv, err := t.session.Refresh().Registry.Parse([]string{"run", run.Op, "--run", run.ID}, command.ParseOptions{})
	if err != nil {
		return t.refuse(err)
	}
	r, err := t.newOpTurn(inv)
	if err != nil {
		return t.refuse(err)
	}
	return r.decide(host.GateAnswer{Request: w.RequestID, Approve: p.option == acp.AllowOnce, Actor: t.actor()})
}

// nothingDone ends a turn in which nothing was done: the line was refused, or that
// failed.
func (t *Turn) nothingDone(err error) outcome {
	var refusal *host.OpRefusal
	var unknown *command.Refusal
	switch {
	case t.stopped():
		return t.stoppedBeforeStart("")
	case errors.As(err, &refusal), errors.As(err, &unknown):
		return t.refuse(err)
	}
	t.recorder.say("Nothing was done: " + view.SentenceEnd(view.Said(err.Error())) + "\n")
	return outcome{reason: acp.StopEndTurn, state: view.StateFailed}
}

// decide takes the slot, records the answer, and goes on with the run: with its
// compensation where the answer was no.
func (r *opTurn) decide(answer host.GateAnswer) outcome {
	t := r.turn
	if t.wait(r.inv.Line, false) != nil {
		return r.aboutRun(t.stoppedBeforeStart(r.inv.Line))
	}
	if t.stopped() {
		t.conn.Slot.release(false)
		return r.aboutRun(t.stoppedBeforeStart(r.inv.Line))
	}
	w, err := r.record(answer, false)
	if err != nil {
		return r.aboutRun(t.nothingDone(err))
	}
	r.mark, r.id = r.markOfRun(w.RunID), w.RunID
	t.say(r.mark + view.Sentence(view.DecisionText(w)) + "\n\n")
	return r.advance(host.OpRequest{Ref: host.RunRef{ID: w.RunID, Op: w.Op}})
}

func (r *opTurn) markOfRun(id string) string {
	info, err := r.rt.RunInfo(r.turn.context(), host.RunRef{ID: id})
	if err != nil {
		return r.mark
	}
	return r.turn.markOf(info.Env)
}

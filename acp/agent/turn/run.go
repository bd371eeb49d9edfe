package turn

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent/view"
	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/internal/brief"
)

// opTurn is a turn that takes a run of an Op as far as it goes.
type opTurn struct {
	turn *Turn
	reading
	rt   host.Runtime
	mark string // of a protected environment
	took time.Duration
	ran  bool   // something of the run went on in this turn
	id   string // of the run, once this turn did something to it
	// decided are the gates whose tool call was ended when they were asked for.
	decided map[string]bool
	waits   map[string]host.StepInfo // steps that wait for somebody, by the id of the request
}

// newOpTurn makes the turn of a run, or says why there can be none.
func (t *Turn) newOpTurn(inv *command.Invocation) (*opTurn, error) {
	rt, err := t.session.host.Ops()
	if err != nil {
		return nil, err
	}
	r := &opTurn{turn: t, reading: t.reading(inv), rt: rt, mark: view.ProtectedMark(inv), decided: map[string]bool{}, waits: map[string]host.StepInfo{}}
	if inv.Op.Run != "" { // a run keeps the environment it began with
		if info, err := rt.RunInfo(t.context(), host.RunRef{ID: inv.Op.Run}); err == nil {
			r.mark = t.markOf(info.Env)
		}
	}
	return r, nil
}

// markOf is what titles begin with where the environment is protected.
func (t *Turn) markOf(env string) string {
	if t.protects(env) {
		return "[" + env + "] "
	}
	return ""
}

func (t *Turn) actor() host.Actor {
	return host.Actor{Client: t.client.Name, Person: t.noPerson() == ""}
}

// runOp is `run <op>` and `run undo <op>`.
func (t *Turn) runOp(inv *command.Invocation) outcome {
	if e, ok := t.allowed(inv); !ok {
		return e
	}
	r, err := t.newOpTurn(inv)
	if err != nil {
		return t.refuse(err)
	}
	if why := t.noPerson(); why != "" && r.mark != "" { // the run that is named has a protected environment
		return t.refuse(fmt.Errorf("%s was not done: it is a run in %s, which is protected; %s", view.Code(inv.Line), strings.Trim(r.mark, "[] "), why))
	}
	if t.wait(inv.Line, false) != nil {
		return r.aboutRun(t.stoppedBeforeStart(inv.Line))
	}
	return r.advance(requestOf(inv))
}

// requestOf is what a line asks for.
func requestOf(inv *command.Invocation) host.OpRequest {
	l := inv.Op
	req := host.OpRequest{Ref: host.RunRef{ID: l.Run, Op: l.Op, Env: l.Env, Params: l.Params}, NoDepends: l.NoDepends, Context: l.Context}
	switch {
	case inv.Name == "run undo":
		req.Mode = host.RunUndo
	case l.Resume:
		req.Mode = host.RunResume
	case l.Restart:
		req.Mode = host.RunRestart
	}
	return req
}

// aboutRun is an outcome of this turn.
func (r *opTurn) aboutRun(e outcome) outcome {
	e = e.about(r.inv)
	e.title = brief.Runes(r.mark+view.Visible(r.inv.Line), view.TitleRunes)
	e.ran, e.took = e.ran || r.ran, r.took
	return e
}

// advance takes the run on, from gate to gate where a person is asked at each. The
// slot is taken, and given up by the time it returns.
func (r *opTurn) advance(req host.OpRequest) outcome {
	for {
		res, err := r.advanceOnce(req)
		switch {
		case err != nil && r.id != "" && !r.turn.stopped():
			return r.elsewhere(r.id, err)
		case err != nil:
			return r.notStarted(err)
		}
		r.id = res.Run.ID
		w := openGate(res.Run.Waits)
		if res.Run.State != host.RunWaiting || w == nil || r.gates() != gatesAsk || r.turn.stopped() {
			return r.conclude(res)
		}
		if e, ok := r.ask(res.Run, *w); !ok {
			return e
		}
		req = host.OpRequest{Ref: host.RunRef{ID: res.Run.ID, Op: res.Run.Op}}
	}
}

// errOver says that the turn was stopped before the run was taken up.
var errOver = errors.New("the turn was stopped before")

// advanceOnce takes the run up and waits until it stops, in the slot.
func (r *opTurn) advanceOnce(req host.OpRequest) (host.OpResult, error) {
	t := r.turn
	started := false
	defer func() { t.conn.Slot.release(started) }()
	if t.stopped() {
		return host.OpResult{}, errOver
	}
	if err := r.stillAllowed(t); err != nil {
		return host.OpResult{}, err
	}
	t.stage.Output = t.session.outputConfig()
	shown := view.NewRun(t.stage, view.RunOptions{
		Context: t.context(), Mark: r.mark, Line: r.inv.Line, Cwd: r.inv.Dir, LogPath: r.logPath, Over: t.isOver,
		Waits: r.waits, Decided: r.decided,
	})
	defer shown.Stop() // after a panic, too, nothing more is shown
	req.Actor, req.Color, req.Events = t.actor(), t.client.Terminal, shown.Take
	run, err := r.rt.StartOp(t.context(), req)
	if err != nil {
		return host.OpResult{}, err
	}
	started, r.ran = true, true
	t.runs(run)
	res := run.Wait()
	t.ran()
	r.took += res.Duration
	shown.Close()
	return res, nil
}

// logPath is the file that holds all of what the steps of a run print, "" for none.
func (r *opTurn) logPath(run string) string {
	info, err := r.rt.RunInfo(r.turn.context(), host.RunRef{ID: run})
	if err != nil {
		return ""
	}
	return view.WholeLog(info)
}

// notStarted ends a turn in which the run was not taken up, or not taken up again.
func (r *opTurn) notStarted(err error) outcome { return r.aboutRun(r.turn.nothingDone(err)) }

// elsewhere ends a turn whose run was taken up, or ended, by somebody else.
func (r *opTurn) elsewhere(id string, why error) outcome {
	t := r.turn
	e := outcome{reason: acp.StopEndTurn, state: view.StateFailed, meta: chantMeta{RunID: id}}
	t.recorder.say(fmt.Sprintf("\n%s%s\n", r.mark, view.Refusal(why)))
	info, err := r.rt.RunInfo(t.context(), host.RunRef{ID: id})
	if err == nil {
		e.state = outcomeOf(info.State)
		t.recorder.say("\n" + view.RunText(info, t.noPerson() == ""))
	}
	return r.aboutRun(e)
}

// conclude ends the turn where the run stopped.
func (r *opTurn) conclude(res host.OpResult) outcome {
	t := r.turn
	e := outcome{reason: acp.StopEndTurn, state: outcomeOf(res.Run.State)}
	switch {
	case t.stopped():
		e.reason = acp.StopCancelled
	case e.state == view.StateInterrupted: // by what res.Err says
		e.state = view.StateFailed
	}
	if res.Run.UndoneBy != "" && view.Undone(res.Run) {
		e.state = view.StateCompleted // which is what the line was for
	}
	if r.mark == "" { // the line does not say which run it is
		r.mark = t.markOf(res.Run.Env)
	}
	if res.Failed != nil && e.state == view.StateFailed {
		e.meta.ExitCode = res.Failed.ExitCode
	}
	e.meta.RunID = res.Run.ID
	line := r.inv.Line
	if r.inv.Name == "reject" { // which did its work
		line = view.RunLine(res.Run)
	}
	text := view.RunClosing(r.mark, line, res, t.TextShown(), t.noPerson() == "")
	if e.state == view.StateWaiting {
		w := openGate(res.Run.Waits)
		if w != nil {
			e.meta.Gate, e.meta.Digest = w.Name, w.Digest
		}
		text += view.WaitingText(res.Run)
		if w != nil && r.gates() == gatesDurable && e.reason == acp.StopEndTurn {
			r.askLater(*w)
			e.reason = stopWaiting
		}
	}
	t.recorder.say(text)
	return r.aboutRun(e)
}

// outcomeOf is the state of a run as the state of a turn. One that goes on in
// another process is waited for.
func outcomeOf(s host.RunState) string {
	switch s {
	case host.RunCompleted:
		return view.StateCompleted
	case host.RunCancelled:
		return view.StateCancelled
	case host.RunInterrupted:
		return view.StateInterrupted
	case host.RunWaiting, host.RunRunning:
		return view.StateWaiting
	}
	return view.StateFailed
}

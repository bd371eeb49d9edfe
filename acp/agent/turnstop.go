package agent

import (
	"context"
	"slices"
	"time"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/host"
)

// program is what a turn runs: a program, or a run of an Op.
type program interface {
	// Stop asks for the end and returns at once; see host.Run and host.OpRun.
	Stop(host.Stop)
}

// runs notes what the turn runs from here on, and stops it for what has happened
// already; the caller holds the lock.
func (t *turn) runs(p program) {
	t.program = p
	for _, why := range t.stops {
		p.Stop(why)
	}
}

// ran notes that it has ended.
func (t *turn) ran() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.program = nil
}

// stop records why the turn is to end, the first reason counting, and passes it
// to the program. It never waits.
func (t *turn) stop(why host.Stop) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped == host.StopNone {
		t.stopped = why
	}
	t.stops = append(t.stops, why)
	t.endContext()
	if t.program != nil {
		t.program.Stop(why)
	}
}

// context ends when the turn is stopped or over: what waits then stops waiting.
// It is made when first asked for: a refusal waits for nothing.
func (t *turn) context() context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.ctx == nil {
		t.ctx, t.cancel = context.WithCancelCause(context.Background())
		if t.stopped != host.StopNone || t.over {
			t.cancel(errStopped)
		}
	}
	return t.ctx
}

// endContext ends the context, where there is one; the caller holds the lock.
func (t *turn) endContext() {
	if t.cancel != nil {
		t.cancel(errStopped)
	}
}

// doom records the first reason ahead of stop: from here on the turn starts no
// program.
func (t *turn) doom(why host.Stop) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.stopped == host.StopNone {
		t.stopped = why
	}
}

// whenOver calls f once the turn is answered. f must not block.
func (t *turn) whenOver(f func()) {
	t.mu.Lock()
	over := t.over
	if !over {
		t.after = append(t.after, f)
	}
	t.mu.Unlock()
	if over {
		f()
	}
}

// answered marks the end, and returns what waited for it, to be called without
// the lock, which the caller holds.
func (t *turn) answered() []func() {
	t.over = true
	after := t.after
	t.after = nil
	return after
}

func (t *turn) isOver() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.over
}

// giveUp answers for a turn that does not end in time, when the agent leaves.
func (t *turn) giveUp() {
	e := &EndEvent{Reason: acp.StopCancelled, State: stateInterrupted}
	t.mu.Lock()
	if len(t.open) > 0 {
		e.Line, e.Ran = t.open[0].line, t.program != nil
	}
	t.mu.Unlock()
	after, gaveUp := t.giveUpAnswer()
	if !gaveUp {
		return
	}
	over := Event{Kind: EventEnd, Time: time.Now().UTC(), Turn: t.id, Client: t.clientName, End: e}
	_ = t.session.write([]Event{over})
	if told := t.takeTold(); len(told) > 0 {
		t.session.mu.Lock()
		t.session.untold = append(t.session.untold, append(told, over))
		t.session.mu.Unlock()
	}
	for _, f := range after {
		f()
	}
}

func (t *turn) giveUpAnswer() (after []func(), gaveUp bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.over {
		return nil, false
	}
	b := t.conn.Batch()
	for _, c := range t.open {
		c.giveUp(b)
	}
	b.Reply(t.req, response{acp.StopCancelled, chantMeta{Outcome: stateInterrupted}})
	b.Send()
	return t.answered(), true
}

func (t *turn) stopReason() host.Stop {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.stopped
}

// crash ends what runs and the open calls, after a panic in mid-run.
func (t *turn) crash() {
	t.mu.Lock()
	if t.program != nil {
		t.program.Stop(host.StopFault)
		t.program = nil
	}
	open := slices.Clone(t.open)
	t.mu.Unlock()
	for _, c := range open {
		c.crash()
	}
}

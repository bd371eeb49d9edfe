package turn

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent/view"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/internal/brief"
)

// refuse ends a turn whose prompt is not a command. Nothing ran.
func (t *Turn) refuse(err error) outcome {
	if about, ok := errors.AsType[*host.OpRefusal](err); ok && t.noPerson() != "" {
		shown := *about
		shown.Lines = slices.DeleteFunc(slices.Clone(about.Lines), deciding)
		err = &shown
	}
	t.recorder.say(view.Refusal(err))
	reason := acp.StopRefusal
	switch t.conn.Options.Refusal {
	case "refusal":
	case "end_turn":
		reason = acp.StopEndTurn
	default:
		if t.client.EndsTurn {
			reason = acp.StopEndTurn
		}
	}
	return outcome{reason: reason, state: view.StateRefused}
}

// stoppedBeforeStart ends a turn that was stopped while no program ran.
func (t *Turn) stoppedBeforeStart(line string) outcome {
	e := cancelledOutcome(view.StateCancelled)
	if t.reason() == host.StopLeaving {
		e.state = view.StateInterrupted
	}
	e.line = line
	return e
}

// finish answers the prompt and frees the session for the next one. No update
// of this turn follows the answer, and none of the next precedes it.
func (t *Turn) finish(e outcome) {
	for _, f := range t.answer(e) {
		f()
	}
}

// answer puts the end of the turn into the thread and the response on the wire, in one
// batch with what was late, and then lets go of the thread. It returns what waited for
// that.
func (t *Turn) answer(e outcome) (after []func()) {
	s := t.session
	if !t.isOver() {
		t.Add(view.Event{Kind: view.EventEnd, Client: t.client.Name, End: &view.EndEvent{Reason: e.reason, State: e.state, Line: e.line, Ran: e.ran, Took: e.took}})
	}
	s.Wire.Lock()
	defer s.Wire.Unlock()
	t.write()
	late := t.conn.Batch()
	t.showLate(late)
	if !t.isOver() {
		late.Send()
	}
	if title, is := s.name(e, t.typed()); is {
		t.Show(acp.SessionInfoUpdate{Title: title, UpdatedAt: time.Now().UTC().Format(time.RFC3339)})
		if s.log != nil {
			s.log.Named()
		}
	}
	if t.release != nil {
		t.release() // not before: the process that gets the thread next must find the end of this turn
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if e.line != "" {
		s.remember(entry{line: e.line, state: e.state, ran: e.ran, at: time.Now(), took: e.took, client: t.client.Name})
	}
	if s.log != nil {
		if events := t.takeEvents(); len(events) > 0 { // none where the turn was given up: GiveUp took them
			s.log.Ended(events)
		}
		if text := s.log.Warning(); text != "" {
			t.Show(acp.AgentMessageChunk{Content: acp.Text(text)})
		}
	}
	if e.state == view.StateCancelled {
		s.cancelled = e.line
	}
	e.meta.Outcome = e.state
	t.batch.Reply(t.req, response{e.reason, e.meta})
	s.turn = nil
	after, _ = t.recorder.answer(t.batch)
	t.stopper.end()
	return after
}

// GiveUp answers for a turn that does not end in time, when the agent leaves.
func (t *Turn) GiveUp() {
	e := &view.EndEvent{Reason: acp.StopCancelled, State: view.StateInterrupted}
	b := t.conn.Batch()
	t.showLate(b)
	for i, c := range t.stage.Open() {
		if i == 0 {
			e.Line, e.Ran = c.Line, t.running()
		}
		for _, event := range c.GiveUp() {
			t.view.Show(event, func(u acp.SessionUpdate) { t.session.Notify(b, u) })
		}
	}
	b.Reply(t.req, response{acp.StopCancelled, chantMeta{Outcome: view.StateInterrupted}})
	after, gaveUp := t.recorder.answer(b)
	if !gaveUp {
		return
	}
	over := view.Event{Kind: view.EventEnd, Time: time.Now().UTC(), Turn: t.id, Client: t.client.Name, End: e}
	_ = t.session.write([]view.Event{over})
	if events := t.takeEvents(); len(events) > 0 {
		t.session.log.Ended(append(events, over))
	}
	for _, f := range after {
		f()
	}
}

// crash ends what runs and the open calls, after a panic in mid-run.
func (t *Turn) crash() {
	t.stopper.crash()
	for _, c := range t.stage.Open() {
		c.Crash()
	}
}

// Finish answers a turn that was not begun, because the agent leaves.
func (t *Turn) Finish() { t.finish(cancelledOutcome(view.StateInterrupted)) }

// typed is the first line of the prompt, as a title.
func (t *Turn) typed() string {
	for _, b := range t.blocks {
		if line, _, _ := strings.Cut(strings.TrimSpace(b.Text), "\n"); line != "" {
			return brief.Runes(view.Visible(view.OneLine(line)), view.TitleRunes)
		}
	}
	return ""
}

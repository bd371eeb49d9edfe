package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/host/pause"
)

// long says whether a step sleeps so long that no process waits for it. In a
// compensation nobody comes back, so there all sleep in turn.
func long(s *step) bool {
	return s.Kind == op.Sleep && s.Duration > op.MaxInlineSleep && !s.phase.undo
}

// pause asks for what a step waits for, or finds what came of it.
func (l *segment) pause(s *step) verdict {
	began := time.Now()
	r := &host.StepResult{Step: l.info(s), Attempts: 1}
	l.report(&host.StepStarted{Step: r.Step, Attempt: 1, Of: 1})
	if s.Kind == op.Sleep && !long(s) {
		return l.shortSleep(s, r)
	}
	w, err := l.ask(s)
	if err == nil && s.Kind == op.Gate {
		w, err = l.askAnew(s, w)
	}
	r.Duration = time.Since(began)
	if err != nil {
		if l.stopped() == host.StopNone || !errors.Is(err, context.Canceled) {
			l.spoil(err)
		}
		r.Err = l.mask().Text(err.Error())
		return l.halt(s, r)
	}
	r.Wait = &w
	if w.State == host.WaitOpen {
		r.State = host.StepWaiting
		l.setState(s, host.StepWaiting)
		l.over(s, r)
		return waiting
	}
	return l.settle(s, r, w)
}

// shortSleep sleeps for as long as is left of it. No program follows from its entries,
// so they come to disk with the next one that has to be there; and nobody waits for a
// copy of what is not asked. After a power cut it may be slept again.
func (l *segment) shortSleep(s *step, r *host.StepResult) verdict {
	began := time.Now()
	l.mu.Lock()
	asked := l.history.steps[s.key] != nil && l.history.steps[s.key].pause != ""
	l.mu.Unlock()
	if !asked {
		id := requestID(l.ID(), s.key)
		q, err := l.question(s, id, l.Digest)
		if err == nil {
			err = l.appendUnsynced(entry{Kind: entryAsk, Step: s.key, Title: s.title, Pause: s.key, Request: id, Asks: &q})
		}
		if err != nil {
			l.spoil(err)
			return l.halt(s, r)
		}
	}
	l.mu.Lock()
	until, _ := l.history.steps[s.key].asks.Deadline()
	l.mu.Unlock()
	if l.rt.sleep(l.ctx, until.Sub(l.rt.o.Now())) != nil {
		return l.halt(s, r)
	}
	r.Duration = time.Since(began)
	if l.appendUnsynced(entry{Kind: entryEnd, Step: s.key, State: string(host.StepCompleted), DurationMs: r.Duration.Milliseconds()}) != nil {
		return l.halt(s, r)
	}
	l.mu.Lock()
	w := l.folder.wait(l.record, l.history.steps[s.key], l.rt.o.Now())
	l.mu.Unlock()
	r.Wait, r.State = &w, host.StepCompleted
	l.over(s, r)
	return passed
}

// askAnew asks a gate once more whose question is about something else than what
// would run now. A rejection holds all the same.
func (l *segment) askAnew(s *step, w host.OpWait) (host.OpWait, error) {
	if w.State != host.WaitOpen && w.State != host.WaitApproved {
		return w, nil
	}
	why, err := l.differs(s)
	if err != nil || why == "" {
		return w, err
	}
	if err := l.void(s, why); err != nil {
		return w, err
	}
	return l.ask(s)
}

// spoil keeps the segment from going on: what it waits for can't be known.
func (l *segment) spoil(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault == nil {
		l.fault = err
	}
}

// ask asks for what a step waits for, unless that was done, and looks what was
// decided.
func (l *segment) ask(s *step) (host.OpWait, error) {
	l.mu.Lock()
	asked := l.history.steps[s.key] != nil && l.history.steps[s.key].pause != ""
	l.mu.Unlock()
	if !asked {
		if err := l.askFirst(s); err != nil {
			return host.OpWait{}, err
		}
	}
	w, moved, unpublished, err := l.look(s)
	if moved != "" {
		l.notice("What was there in the place of the copy of %s was not written by this run. It counts for nothing, and is kept as %s.", s.title, moved)
	}
	if unpublished != nil {
		l.notice("The copy of %s, for steps to read, can't be written: %v.", s.title, unpublished)
	}
	return w, err
}

// look takes in what was decided meanwhile, records that the time ran out where it
// did, and publishes the copy of the question.
func (l *segment) look(s *step) (w host.OpWait, moved string, unpublished, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault != nil {
		return w, "", nil, l.fault
	}
	err = l.journal.locked(l.ctx, func() error {
		h, now := l.history.steps[s.key], l.rt.o.Now()
		if options[s.Kind] != nil && h.decision == nil && h.late(now) {
			e := entry{Kind: entryDecide, Step: s.key, Request: h.asked, Decision: &decision{Option: optionExpire, At: now.UTC()}}
			if err := l.journal.write(e); err != nil {
				return err
			}
		}
		w = l.folder.wait(l.record, h, now)
		moved, unpublished = l.publish(h, w)
		return nil
	})
	return w, moved, unpublished, err
}

// askFirst asks for what the journal holds no question for.
func (l *segment) askFirst(s *step) error {
	id := requestID(l.ID(), s.key)
	digest := l.Digest
	if s.Kind == op.Gate {
		l.endLeft(s)
		var err error
		if digest, err = l.askAbout(s); err != nil {
			return err
		}
	}
	q, err := l.question(s, id, digest)
	if err != nil {
		return err
	}
	e := entry{Kind: entryAsk, Step: s.key, Title: s.title, Pause: s.key, Request: id, Asks: &q}
	if s.Kind == op.Gate {
		e.Digest = digest
	}
	return l.append(e)
}

// askAbout writes down what a gate is about to ask about.
func (l *segment) askAbout(s *step) (digest string, err error) {
	tree := l.rt.lookAtTree(l.ctx)() // as it is now, and not when the run began
	a := asked{Commit: tree.Commit, Clean: tree.Clean}
	l.mu.Lock()
	a.Subject, err = l.rt.subject(l.record, l.history, s, s.lets)
	l.mu.Unlock()
	a.Subject.Steps = nil
	for _, behind := range s.lets {
		a.Subject.Steps = append(a.Subject.Steps, behind.title)
	}
	if err != nil {
		return "", fmt.Errorf("what the gate %s asks about can't be read: %w", quote(s.Name), err)
	}
	return l.folder.keepAsked(a)
}

// question is what a step waits for, as it is kept.
func (l *segment) question(s *step, id, digest string) (pause.Request, error) {
	var q pause.Request
	about := question{
		Run: l.ID(), Op: l.Op, Name: s.Name, Description: l.mask().Text(s.Description), Digest: digest, RequestID: id,
	}
	switch s.Kind {
	case op.Gate:
		q = pause.Decision(s.title, s.Schema, s.Timeout)
	case op.WaitForEvent:
		var err error
		if q, err = pause.Event(s.title, s.Name, s.Schema, s.Timeout); err != nil {
			return q, err
		}
	default:
		q = pause.Sleep(s.Duration)
	}
	q.CreatedAt = l.rt.o.Now().UTC().Round(0) // as the journal has it
	payload, err := json.Marshal(about)
	q.Payload = payload
	return q, err
}

// settle goes on with what was decided.
func (l *segment) settle(s *step, r *host.StepResult, w host.OpWait) verdict {
	switch {
	case s.Kind == op.Sleep:
		return l.complete(s, r, nil, nil)
	case w.State == host.WaitApproved, w.State == host.WaitSignaled:
		return l.pass(s, r)
	case w.State == host.WaitExpired && s.Kind == op.Gate:
		r.Err = fmt.Sprintf("nobody decided within %s, up to %s, which counts as a rejection", s.Timeout, w.Until.UTC().Format(time.RFC3339))
	case w.State == host.WaitExpired:
		r.Err = fmt.Sprintf("no signal %s came within %s", quote(w.Name), s.Timeout)
	default:
		r.Err = l.mask().Text(decision{By: w.By, At: w.At, Note: w.Note}.rejection())
	}
	return l.failed(s, r)
}

// rejection is why a rejected gate failed.
func (d decision) rejection() string {
	text := fmt.Sprintf("rejected by %s at %s", d.By, d.At.Format(time.RFC3339))
	if d.Note != "" {
		text += ": " + d.Note
	}
	return text
}

// pass records that the run goes on.
func (l *segment) pass(s *step, r *host.StepResult) verdict {
	if l.append(entry{Kind: entryEnd, Step: s.key, State: string(host.StepCompleted)}) != nil {
		return l.halt(s, r)
	}
	r.State = host.StepCompleted
	l.over(s, r)
	return passed
}

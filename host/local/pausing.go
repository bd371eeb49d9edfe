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
func (l *leg) pause(s *step) verdict {
	began := time.Now()
	r := &host.StepResult{Step: l.info(s), Attempts: 1}
	l.tell(&host.StepStarted{Step: r.Step, Attempt: 1, Of: 1})
	rec, w, err := l.ask(s)
	if err == nil && s.Kind == op.Gate {
		rec, w, err = l.askAnew(s, rec, w)
	}
	if err == nil && s.Kind == op.Sleep && !rec.Resolved && !long(s) {
		if l.rt.sleep(l.ctx, w.Until.Sub(l.rt.o.Now())) != nil {
			return l.halt(s, r)
		}
		rec, w, err = l.ask(s)
	}
	r.Duration = time.Since(began)
	if err != nil {
		if l.stopped() == host.StopNone || !errors.Is(err, context.Canceled) {
			l.spoil(err)
		}
		r.Err = l.rt.mask.Text(err.Error())
		return l.halt(s, r)
	}
	if !rec.Resolved {
		r.State, r.Wait = host.StepWaiting, &w
		l.setState(s, host.StepWaiting)
		l.over(s, r)
		return waiting
	}
	return l.settle(s, r, rec, w)
}

// askAnew asks a gate once more whose question is about something else than what
// would run now. A rejection holds all the same.
func (l *leg) askAnew(s *step, rec pause.Record, w host.OpWait) (pause.Record, host.OpWait, error) {
	if w.State != host.WaitOpen && w.State != host.WaitApproved {
		return rec, w, nil
	}
	why, err := l.differs(s)
	if err == nil && why == "" && w.State == host.WaitApproved {
		var d decision
		_ = json.Unmarshal(rec.Payload, &d) // an answer of another kind is no approval
		if asked := l.digestOf(s); d.Digest != asked {
			why = fmt.Sprintf("it was for %s, and this is %s", short(d.Digest), short(asked))
		}
	}
	if err != nil || why == "" {
		return rec, w, err
	}
	if err := l.void(s, why); err != nil {
		return rec, w, err
	}
	return l.ask(s)
}

// digestOf is the digest of what a gate asked about.
func (l *leg) digestOf(s *step) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.history.steps[s.key].digest
}

// spoil keeps the leg from going on: what it waits for can't be known.
func (l *leg) spoil(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault == nil {
		l.fault = err
	}
}

// ask writes the question, or reads it again with what came of it. The question
// is there before the journal says so: a journal that names one which is gone was
// robbed of it.
func (l *leg) ask(s *step) (pause.Record, host.OpWait, error) {
	store, now := l.pauses(), l.rt.o.Now()
	l.mu.Lock()
	asked := l.history.steps[s.key] != nil && l.history.steps[s.key].pause != ""
	l.mu.Unlock()
	if !asked {
		if err := l.askFirst(s, store, now); err != nil {
			return pause.Record{}, host.OpWait{}, err
		}
	}
	l.mu.Lock()
	h := l.history.steps[s.key]
	l.mu.Unlock()
	w, err := l.rt.wait(l.ctx, l.folder, l.record, h)
	if err != nil {
		return pause.Record{}, w, err
	}
	rec, found, err := store.Pause(s.key)
	if err == nil && !found {
		err = fmt.Errorf("the record of %s is gone", s.title)
	}
	return rec, w, err
}

// askFirst asks for what the journal holds no question for. A record that is there
// all the same is one that a crash left unjournaled, or one that a step wrote to
// pass the gate: neither counts.
func (l *leg) askFirst(s *step, store *pause.Store, now time.Time) error {
	id := requestID(l.ID(), s.key)
	digest := l.Digest
	if s.Kind == op.Gate {
		var err error
		if digest, err = l.askAbout(s); err != nil {
			return err
		}
	}
	q, err := l.question(s, id, digest)
	if err != nil {
		return err
	}
	aside, err := store.Ask(l.ctx, s.key, q, now)
	if err != nil {
		return err
	}
	if aside != "" {
		l.notice("A record of %s was there before it was asked for. It counts for nothing, and is kept as %s.", s.title, aside)
	}
	e := entry{Kind: entryAsk, Step: s.key, Title: s.title, Pause: s.key, Request: id}
	if s.Kind == op.Gate {
		e.Digest = digest
	}
	return l.append(e)
}

// askAbout writes down what a gate is about to ask about.
func (l *leg) askAbout(s *step) (digest string, err error) {
	a := asked{Commit: l.Commit, Clean: l.Clean}
	l.mu.Lock()
	a.Subject, err = l.rt.subject(l.record, l.history, s, nil)
	l.mu.Unlock()
	if err != nil {
		return "", fmt.Errorf("what the gate %s asks about can't be read: %w", quote(s.Name), err)
	}
	return l.folder.keepAsked(a)
}

// question is what a step waits for, as it is kept.
func (l *leg) question(s *step, id, digest string) (pause.Request, error) {
	var q pause.Request
	about := question{
		Run: l.ID(), Op: l.Op, Name: s.Name, Description: l.rt.mask.Text(s.Description), Digest: digest, RequestID: id,
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
	payload, err := json.Marshal(about)
	q.Payload = payload
	return q, err
}

// settle goes on with what came of a question.
func (l *leg) settle(s *step, r *host.StepResult, rec pause.Record, w host.OpWait) verdict {
	var d decision
	_ = json.Unmarshal(rec.Payload, &d) // an answer of another kind is no approval
	r.Wait = &w
	switch {
	case s.Kind == op.Sleep:
		return l.complete(s, r, nil, nil)
	case rec.Expired && s.Kind == op.Gate:
		r.Err = fmt.Sprintf("nobody decided within %s, up to %s, which counts as a rejection", s.Timeout, w.Until.UTC().Format(time.RFC3339))
		return l.failed(s, r, nil)
	case rec.Expired:
		r.Err = fmt.Sprintf("no signal %s came within %s", quote(w.Name), s.Timeout)
		return l.failed(s, r, nil)
	case s.Kind == op.WaitForEvent && d.Option == optionSignal:
		return l.pass(s, r, d)
	case s.Kind == op.Gate && d.Option == optionApprove && d.Digest == l.digestOf(s):
		return l.pass(s, r, d)
	case d.Option == optionReject:
		r.Err = d.rejection()
	default:
		r.Err = "its record holds an answer that is none"
	}
	r.Err = l.rt.mask.Text(r.Err)
	return l.failed(s, r, &d)
}

// rejection is why a rejected gate failed.
func (d decision) rejection() string {
	text := fmt.Sprintf("rejected by %s at %s", d.By, d.At.Format(time.RFC3339))
	if d.Note != "" {
		text += ": " + d.Note
	}
	return text
}

// pass records who let the run go on.
func (l *leg) pass(s *step, r *host.StepResult, d decision) verdict {
	if l.append(entry{Kind: entryEnd, Step: s.key, State: string(host.StepCompleted), Decision: &d}) != nil {
		return l.halt(s, r)
	}
	r.State = host.StepCompleted
	l.over(s, r)
	return passed
}

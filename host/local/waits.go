package local

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/pause"
)

// waits are what an open run waits for, in the order of its steps.
func (q *queries) waits(k *kept) []host.OpWait {
	if k.history.failing != nil {
		return nil // what is decided now changes nothing any more
	}
	now := q.now()
	var keys []string
	for key, s := range k.history.steps {
		if s.pause != "" && s.end == nil {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, compareKeys)
	var waits []host.OpWait
	for _, key := range keys {
		waits = append(waits, k.folder.wait(k.record, k.history.steps[key], now))
	}
	return waits
}

// wait is what a step waits for, and what came of it, as the journal has it. The
// copy in the folder that steps are given says nothing here.
func (f folder) wait(r record, s *stepHistory, now time.Time) host.OpWait {
	w := describe(f, r, s)
	if a, err := f.readAsked(s.digest); err == nil { // else the difference says so
		a.into(&w)
	}
	switch {
	case s.decision != nil:
		s.decision.into(&w)
	case s.late(now):
		decision{Option: optionExpire}.into(&w)
	}
	return w
}

// question is the payload of a request: what a gate or event is about.
type question struct {
	Run         string `json:"run"`
	Op          string `json:"op"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Digest      string `json:"digest"`
	RequestID   string `json:"requestId"`
}

// describe is what others see of a question.
func describe(f folder, r record, s *stepHistory) host.OpWait {
	q, about := s.asks, s.about
	w := host.OpWait{
		RunID: f.id(), Op: r.Op, Name: about.Name, Description: about.Description, Digest: short(about.Digest),
		RequestID: s.asked, Since: q.CreatedAt, State: host.WaitOpen,
	}
	w.Until, _ = q.Deadline()
	if s := string(q.Schema); s != "true" && s != "" {
		w.Schema = q.Schema
	}
	tail := " --run " + f.id()
	w.Continue = "run " + quote(r.Op) + tail
	switch q.Kind {
	case pause.KindDecision:
		w.Kind = host.WaitGate
		w.Approve = "approve " + quote(r.Op) + " " + quote(about.Name) + tail
		w.Reject = "reject " + quote(r.Op) + " " + quote(about.Name) + tail
	case pause.KindEvent:
		w.Kind = host.WaitEvent
		w.Signal = "signal " + quote(about.Name) + tail
	default:
		w.Kind = host.WaitSleep
	}
	return w
}

// decision is what was decided of a gate or event, as it is kept.
type decision struct {
	Option string          `json:"optionId"`
	By     string          `json:"resolvedBy"`
	Client string          `json:"client,omitempty"`
	At     time.Time       `json:"at"`
	Note   string          `json:"note,omitempty"`
	Digest string          `json:"digest,omitempty"` // of what was decided on
	Answer json.RawMessage `json:"answer,omitempty"`
}

const (
	optionApprove = "approve"
	optionReject  = "reject"
	optionSignal  = "signal"
	optionExpire  = "expire" // the time did; of both
)

// into fills in what was decided.
func (d decision) into(w *host.OpWait) {
	w.By, w.Client, w.At, w.Note = d.By, d.Client, d.At, d.Note
	switch d.Option {
	case optionApprove:
		w.State = host.WaitApproved
	case optionSignal:
		w.State = host.WaitSignaled
	case optionExpire:
		w.State, w.At = host.WaitExpired, w.Until
	default:
		w.State = host.WaitRejected
	}
}

// publish writes the copy of a question, with what was decided, into the folder
// that steps are given. Nobody reads it back. What stood in its place and is
// neither is kept, and aside says where.
func (f folder) publish(s *stepHistory, w host.OpWait) (moved string, err error) {
	request, err := json.Marshal(s.asks)
	if err != nil {
		return "", err
	}
	rec := pause.Record{PauseID: s.pause, Request: request}
	switch w.State {
	case host.WaitOpen:
	case host.WaitExpired:
		rec.Resolved, rec.Expired, rec.Payload = true, true, json.RawMessage("null")
	default:
		rec.Resolved = true
		if rec.Payload, err = json.Marshal(s.decision); err != nil {
			return "", err
		}
	}
	return f.pauses().Publish(rec)
}

// FindRequest implements host.Runtime.
func (q *queries) FindRequest(ctx context.Context, requestID string) (host.RunInfo, host.OpWait, error) {
	k, w, err := q.request(requestID)
	if err != nil {
		return host.RunInfo{}, w, err
	}
	return q.info(k), w, nil
}

// decisionPoll is how often a gate is looked at by those who wait for it.
const decisionPoll = 200 * time.Millisecond

// AwaitDecision implements host.Runtime.
func (q *queries) AwaitDecision(ctx context.Context, runID, requestID string) (host.OpWait, error) {
	again := time.NewTicker(decisionPoll)
	defer again.Stop()
	for {
		k, w, err := q.request(requestID)
		if err != nil {
			return w, err
		}
		if k.id() != runID {
			return w, fmt.Errorf("the request %s is not of the run %s", requestID, runID)
		}
		if w.State != host.WaitOpen {
			return w, nil
		}
		if !k.state().Open() {
			return w, q.over(k)
		}
		select {
		case <-ctx.Done():
			return w, context.Cause(ctx)
		case <-again.C:
		}
	}
}

// waitOf is something that a run waits for.
type waitOf struct {
	k *kept
	w host.OpWait
}

// events are the waits for an event in the open runs, with what became of them,
// and the lines for other events that are waited for.
func (q *queries) events(s host.EventSignal) (fit []waitOf, others []string, err error) {
	runs, err := q.all()
	if err != nil {
		return nil, nil, err
	}
	for _, k := range runs {
		if !k.state().Open() || s.RunID != "" && k.id() != s.RunID {
			continue
		}
		for _, w := range q.waits(k) {
			switch {
			case w.Kind != host.WaitEvent:
			case w.Name == s.Key:
				fit = append(fit, waitOf{k, w})
			case w.State == host.WaitOpen:
				others = append(others, w.Signal)
			}
		}
	}
	return fit, others, nil
}

package local

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/pause"
	"github.com/chant-acp/chant-acp/internal/brief"
)

// waits are what an open run waits for, in the order of its steps.
func (rt *Runtime) waits(ctx context.Context, k *kept) ([]host.OpWait, error) {
	var keys []string
	for key, s := range k.history.steps {
		if s.pause != "" && s.end == nil {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, compareKeys)
	var waits []host.OpWait
	for _, key := range keys {
		w, err := rt.wait(ctx, k.folder, k.record, k.history.steps[key])
		if err != nil {
			return waits, err
		}
		waits = append(waits, w)
	}
	return waits, nil
}

// wait reads the pause record that a step waits for. A damaged one is set aside,
// and so is one of another question.
func (rt *Runtime) wait(ctx context.Context, f folder, r record, s *stepHistory) (host.OpWait, error) {
	path := filepath.Join(f.pauses().Root(), "pauses", s.pause+".json")
	rec, found, err := f.pauses().Look(ctx, s.pause, rt.o.Now())
	var corrupt *pause.CorruptError
	switch {
	case errors.As(err, &corrupt):
		return host.OpWait{}, &damageError{path: corrupt.Path, problem: "can't be read (" + corrupt.Err.Error() + ")" + asideOf(corrupt.Path)}
	case err != nil:
		return host.OpWait{}, err
	case !found:
		return host.OpWait{}, &damageError{path: path, problem: "is gone, and with it what the run waits for" + asidesOf(path)}
	}
	w, about, err := describe(f, r, rec)
	if err == nil {
		err = about.isOf(r, s)
	}
	if a, lost := f.readAsked(s.digest); lost == nil { // else the difference says so
		a.into(&w)
	}
	if err != nil {
		return host.OpWait{}, &damageError{path: path, problem: "is not the record of this question: " + err.Error() + asideOf(path)}
	}
	return w, nil
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

// isOf compares what a record is about with the run that asked, as its record and
// its journal have it.
func (q question) isOf(r record, s *stepHistory) error {
	digest := cmp.Or(s.digest, r.Digest)
	for _, c := range []struct{ name, has, want string }{
		{"run", q.Run, r.ID}, {"op", q.Op, r.Op}, {"digest", q.Digest, digest}, {"requestId", q.RequestID, s.asked},
	} {
		if c.has != c.want {
			return fmt.Errorf("its %s is %q, and the run has %q", c.name, brief.Runes(c.has, maxTitle), c.want)
		}
	}
	return nil
}

// describe turns a record into what others see.
func describe(f folder, r record, rec pause.Record) (host.OpWait, question, error) {
	var about question
	q, err := rec.Asked()
	if err != nil {
		return host.OpWait{}, about, err
	}
	if len(q.Payload) > 0 {
		if err := json.Unmarshal(q.Payload, &about); err != nil {
			return host.OpWait{}, about, fmt.Errorf("its payload is none: %w", err)
		}
	}
	w := host.OpWait{
		RunID: f.id(), Op: r.Op, Name: about.Name, Description: about.Description, Digest: short(about.Digest),
		RequestID: about.RequestID, Since: q.CreatedAt, State: host.WaitOpen,
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
	case pause.KindSleep:
		w.Kind = host.WaitSleep
	default:
		return w, about, fmt.Errorf("it asks for %q", q.Kind)
	}
	if rec.Resolved {
		resolved(&w, rec)
	}
	return w, about, nil
}

// decision is the answer to a gate or event, as it is kept.
type decision struct {
	Option string          `json:"optionId"` // approve, reject, signal
	By     string          `json:"resolvedBy"`
	Client string          `json:"client,omitempty"`
	At     time.Time       `json:"at"`
	Note   string          `json:"note,omitempty"`
	Digest string          `json:"digest,omitempty"` // of the run that was decided on
	Answer json.RawMessage `json:"answer,omitempty"`
}

const (
	optionApprove = "approve"
	optionReject  = "reject"
	optionSignal  = "signal"
)

func resolved(w *host.OpWait, rec pause.Record) {
	if rec.Expired {
		w.State, w.At = host.WaitExpired, w.Until
		return
	}
	var d decision
	_ = json.Unmarshal(rec.Payload, &d) // another runner's answer is no approval
	w.By, w.Client, w.At, w.Note = d.By, d.Client, d.At, d.Note
	switch {
	case w.Kind == host.WaitEvent:
		w.State = host.WaitSignaled
	case d.Option == optionApprove:
		w.State = host.WaitApproved
	default:
		w.State = host.WaitRejected
	}
}

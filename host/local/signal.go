package local

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/chant-acp/chant-acp/host"
)

// Signal implements host.Runtime.
func (rt *Runtime) Signal(ctx context.Context, s host.EventSignal) (host.OpWait, error) {
	payload := s.Payload
	if payload == nil {
		payload = json.RawMessage("null")
	}
	fit, others, err := rt.events(s)
	if err != nil {
		return host.OpWait{}, err
	}
	open := fit[:0:0]
	for _, f := range fit {
		if f.w.State == host.WaitOpen {
			open = append(open, f)
		}
	}
	switch {
	case len(open) == 1:
		return rt.answer(ctx, open[0].k, open[0].w, decision{
			Option: optionSignal, By: osUser(), Client: s.Actor.Client, At: rt.o.Now().UTC(), Digest: open[0].k.Digest, Answer: payload,
		})
	case len(open) > 1:
		refusal := &host.OpRefusal{Reason: fmt.Sprintf("%d runs wait for the event %s. Say which one.", len(open), quote(s.Key))}
		for _, f := range open {
			refusal.Lines = append(refusal.Lines, f.w.Signal)
		}
		return host.OpWait{}, refusal
	case len(fit) > 0:
		return fit[0].w, signalled(fit[0].w)
	}
	return host.OpWait{}, &host.OpRefusal{Reason: fmt.Sprintf("No open run of this project waits for the event %s.", quote(s.Key)), Lines: others}
}

// signalled refuses a signal that comes too late, or twice.
func signalled(w host.OpWait) error {
	reason := fmt.Sprintf("%s was signalled before, by %s at %s.", subjectOf(w), w.By, w.At.Format(time.RFC3339))
	if w.State == host.WaitExpired {
		reason = fmt.Sprintf("%s: its time ran out at %s, and the run fails when it goes on.", subjectOf(w), w.Until.UTC().Format(time.RFC3339))
	}
	return &host.OpRefusal{Reason: reason, Lines: []string{w.Continue}}
}

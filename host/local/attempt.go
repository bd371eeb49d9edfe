package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/local/activity"
)

// errTimedOut is the cause of a context whose attempt took too long.
var errTimedOut = errors.New("the attempt took too long")

// errStopped says that a step did not come to its end because the run was
// stopped.
var errStopped = errors.New("the run was stopped")

// attempts runs a step as often as its profile allows, and records each attempt
// before it is made.
func (l *segment) attempts(s *step) verdict {
	began := time.Now()
	out := l.newOutput(s)
	r := &host.StepResult{Step: l.info(s), Attempts: 1}
	for ; ; r.Attempts++ {
		switch v := l.stillApproved(s); v {
		case halted:
			return l.halt(s, r)
		case reopened:
			l.setState(s, "")
			return v
		}
		if l.append(entry{Kind: entryStart, Step: s.key, Title: s.title, Attempt: r.Attempts}) != nil {
			return l.halt(s, r)
		}
		l.report(&host.StepStarted{Step: r.Step, Attempt: r.Attempts, Of: s.profile.Attempts})
		c := &call{segment: l, step: s, out: out}
		value, err := c.try(r.Attempts)
		out.flush()
		r.Duration, r.Tail, r.ExitCode = time.Since(began), out.tail(), activity.ExitCode(err)
		r.Warnings = append(r.Warnings, c.warnings...)
		switch {
		case err == nil:
			return l.complete(s, r, value, c.set)
		case l.stopped() != host.StopNone:
			return l.halt(s, r)
		case r.Attempts >= s.profile.Attempts || permanent(err, s.profile.NonRetryable):
			r.Err = l.mask().Text(err.Error())
			return l.failed(s, r)
		}
		if !l.backOff(s, r, err) {
			return l.halt(s, r)
		}
	}
}

// try makes one attempt within its time.
func (c *call) try(attempt int) (any, error) {
	ctx := c.segment.ctx
	if limit := c.step.profile.StartToClose; limit > 0 {
		var done context.CancelFunc
		ctx, done = context.WithTimeoutCause(ctx, limit, errTimedOut)
		defer done()
	}
	c.ctx = ctx
	c.out.header(fmt.Sprintf("== %s · %s (attempt %d)\n", c.step.phase.name, c.step.title, attempt))
	value, err := c.step.act(c)
	if err != nil && errors.Is(context.Cause(ctx), errTimedOut) {
		err = fmt.Errorf("it took longer than %s and was ended: %w", c.step.profile.StartToClose, err)
	}
	return value, err
}

// backOff waits before the next attempt; false says that the run was stopped.
func (l *segment) backOff(s *step, r *host.StepResult, err error) bool {
	wait := s.profile.Wait(r.Attempts)
	text := l.mask().Text(err.Error())
	if l.append(entry{Kind: entryRetry, Step: s.key, Attempt: r.Attempts, WaitMs: wait.Milliseconds(), Error: text}) != nil {
		return false
	}
	l.report(&host.StepRetry{StepID: r.Step.ID, Attempt: r.Attempts, Of: s.profile.Attempts, Err: text, Wait: wait})
	return l.rt.sleep(l.ctx, wait) == nil
}

// sleep returns the cause of ctx where that ends first.
func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-t.C:
		return nil
	}
}

// complete records that a step is done, with what it leaves to later ones.
func (l *segment) complete(s *step, r *host.StepResult, value any, set map[string]string) verdict {
	e := entry{Kind: entryEnd, Step: s.key, State: string(host.StepCompleted), Attempt: r.Attempts, DurationMs: r.Duration.Milliseconds(), Set: set}
	if s.Outcome != nil {
		v := bounded(pick(value, s.Outcome.From))
		e.Outcome = &outcome{s.Outcome.Name, v}
		r.Outcome = &host.StepOutcome{Name: s.Outcome.Name, Value: l.mask().JSON(v)}
	}
	if l.append(e) != nil {
		return l.halt(s, r)
	}
	r.State = host.StepCompleted
	l.over(s, r)
	return passed
}

// maxOutcome bounds an outcome, in bytes of JSON.
const maxOutcome = 64 << 10

// bounded keeps the beginning of a text that is too long, and says of anything
// else that it is.
func bounded(v json.RawMessage) json.RawMessage {
	if len(v) <= maxOutcome {
		return v
	}
	var s string
	kept := fmt.Sprintf("(%d bytes of JSON, more than an outcome may have)", len(v))
	if json.Unmarshal(v, &s) == nil {
		kept = strings.ToValidUTF8(s[:min(len(s), maxOutcome/8)], "") + "…" // a byte may take six in JSON
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return json.RawMessage("null")
	}
	return text
}

// failed records that a step failed for good.
func (l *segment) failed(s *step, r *host.StepResult) verdict {
	if l.append(entry{
		Kind: entryEnd, Step: s.key, State: string(host.StepFailed), Attempt: r.Attempts, DurationMs: r.Duration.Milliseconds(),
		ExitCode: r.ExitCode, Error: r.Err,
	}) != nil {
		return l.halt(s, r)
	}
	r.State = host.StepFailed
	l.over(s, r)
	return failed
}

// halt tells of a step that the run stopped in. Only a cancelled one is over; any
// other may be done again.
func (l *segment) halt(s *step, r *host.StepResult) verdict {
	r.State = host.StepInterrupted
	if l.stopped() == host.StopCancelled {
		r.State = host.StepCancelled
		if l.hasBegun(s.key) {
			_ = l.append(entry{Kind: entryEnd, Step: s.key, State: string(host.StepCancelled), Attempt: r.Attempts}) // conclude tells of an error
		}
	}
	l.setState(s, r.State)
	l.over(s, r)
	return halted
}

// over tells that a step came to an end in this segment.
func (l *segment) over(s *step, r *host.StepResult) {
	if lack := l.log.Lacks(); lack != "" && r.State == host.StepFailed {
		r.Warnings = append(r.Warnings, lack)
	}
	for i, w := range r.Warnings {
		r.Warnings[i] = l.mask().Text(w)
	}
	l.mu.Lock()
	s.reported = true
	switch {
	case s.phase.undo:
		l.result.Compensation = append(l.result.Compensation, *r)
	case r.State == host.StepFailed && l.result.Failed == nil:
		failure := *r
		l.result.Failed = &failure
	}
	l.mu.Unlock()
	l.report(r)
}

// permanent says whether another attempt would fail as well, or a retry profile says
// that the error of this name is not tried again.
func permanent(err error, names []string) bool {
	var e *activity.Error
	return errors.As(err, &e) && (e.Final || e.Name != "" && slices.Contains(names, e.Name))
}

// pick takes a part of a result by its dot path; null where there is none. The
// empty path is all of it.
func pick(value any, path string) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		return json.RawMessage("null")
	}
	if path == "" {
		return text
	}
	for key := range strings.SplitSeq(path, ".") {
		var object map[string]json.RawMessage
		if json.Unmarshal(text, &object) != nil || object[key] == nil {
			return json.RawMessage("null")
		}
		text = object[key]
	}
	return text
}

package local

import (
	"fmt"
	"sync"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/op"
)

// phase runs what is left of a phase.
func (l *segment) phase(ph *phase) verdict {
	left := false
	for _, s := range ph.steps {
		switch l.ended(s.key) {
		case host.StepFailed:
			return failed // in an earlier segment, which did not come further
		case "":
			left = true
		}
	}
	if !left {
		return passed
	}
	if ph.parallel {
		return l.parallel(ph)
	}
	return l.sequence(ph.steps)
}

// sequence runs steps one after the other, up to one that does not pass.
func (l *segment) sequence(steps []*step) verdict {
	for _, s := range steps {
		if l.ended(s.key) != "" {
			continue
		}
		if v := l.step(s); v != passed {
			return v
		}
	}
	return passed
}

// parallel runs the steps of a phase at the same time, each to its end. What
// waits comes after its siblings, and all of it is asked for at once.
func (l *segment) parallel(ph *phase) verdict {
	var all sync.WaitGroup
	var mu sync.Mutex
	var verdicts []verdict
	var waits []*step
	for _, s := range ph.steps {
		switch {
		case l.ended(s.key) != "":
		case s.Kind == op.Gate || s.Kind == op.WaitForEvent || long(s):
			waits = append(waits, s)
		default:
			all.Go(func() {
				v := l.step(s)
				mu.Lock()
				defer mu.Unlock()
				verdicts = append(verdicts, v)
			})
		}
	}
	all.Wait()
	if v := worst(verdicts); v != passed {
		return v
	}
	verdicts = nil
	for _, s := range waits {
		v := l.step(s)
		if v == failed || v == halted {
			return v
		}
		verdicts = append(verdicts, v)
	}
	return worst(verdicts)
}

// worst is what steps of one phase come to: halted over failed over reopened over
// waiting.
func worst(verdicts []verdict) verdict {
	w := passed
	for _, v := range verdicts {
		if rank(v) > rank(w) {
			w = v
		}
	}
	return w
}

func rank(v verdict) int {
	switch v {
	case halted:
		return 4
	case failed:
		return 3
	case reopened:
		return 2
	case waiting:
		return 1
	}
	return 0
}

// step runs one step, or waits for what it waits for.
func (l *segment) step(s *step) verdict {
	if l.stopped() != host.StopNone {
		return halted
	}
	l.setState(s, host.StepRunning)
	l.reportChange(s, passed)
	var v verdict
	if s.act != nil {
		v = l.attempts(s)
	} else {
		v = l.pause(s)
	}
	l.reportChange(s, v)
	return v
}

// compensate undoes what it can, best effort: a phase that fails does not keep the
// next one from running. ph is the phase that failed; nil where somebody asked for
// it, or an earlier segment began.
func (l *segment) compensate(ph *phase) verdict {
	if ph != nil && !l.fail(ph) {
		return halted
	}
	var text string
	switch began := l.history.failing; {
	case ph != nil:
		text = fmt.Sprintf("The Op %s failed in the step %s. Its compensation begins.", l.Op, l.result.Failed.Step.Title)
	case began.Kind == entryFailing:
		text = fmt.Sprintf("The Op %s failed before, in the step %s. Its compensation goes on.", l.Op, began.Title)
		l.result.Failed = &host.StepResult{Step: host.StepInfo{Title: began.Title}, State: host.StepFailed, Err: began.Error}
	case began.Segment == l.history.segments:
		text = fmt.Sprintf("What the run %s of %s did is undone. Its compensation begins.", l.ID(), l.Op)
	default:
		text = fmt.Sprintf("The run %s of %s is %s. Its compensation goes on.", l.ID(), l.Op, began.Error)
	}
	if len(l.plan.undo) == 0 {
		return failed
	}
	l.notice("%s", text)
	l.reportPlan()
	for _, undo := range l.plan.undo {
		if l.phase(undo) == halted {
			return halted
		}
	}
	return failed
}

// giveUp ends a run that was rejected, and whose Op is not there any more to undo
// anything with.
func (l *segment) giveUp() verdict {
	for _, w := range l.rejected {
		key := pauseOf(w.RequestID)
		l.mu.Lock()
		title := l.history.steps[key].title
		l.mu.Unlock()
		d := decision{By: w.By, At: w.At, Note: w.Note}
		r := host.StepResult{
			Step:  host.StepInfo{ID: fmt.Sprintf("%s-%d-%s", l.ID(), l.history.segments, key), Title: title, Kind: string(op.Gate)},
			State: host.StepFailed, Attempts: 1, Err: l.mask().Text(d.rejection()), Wait: &w,
		}
		if l.append(entry{Kind: entryEnd, Step: key, State: string(host.StepFailed), Error: r.Err}) != nil {
			return halted
		}
		if l.result.Failed == nil {
			l.result.Failed = &r
		}
		l.report(&r)
	}
	f := l.result.Failed
	if l.append(entry{Kind: entryFailing, Title: f.Step.Title, Error: f.Err}) != nil {
		return halted
	}
	return failed
}

// fail records which step failed first, before anything is undone.
func (l *segment) fail(ph *phase) bool {
	if l.result.Failed == nil {
		l.result.Failed = l.failedBefore(ph)
	}
	f := l.result.Failed
	return l.append(entry{Kind: entryFailing, Title: f.Step.Title, Error: f.Err}) == nil
}

// failedBefore is the step of a phase that failed in an earlier segment, which did not
// come to the compensation.
func (l *segment) failedBefore(ph *phase) *host.StepResult {
	r := &host.StepResult{State: host.StepFailed}
	for _, s := range ph.steps {
		if l.ended(s.key) == host.StepFailed {
			end := l.history.steps[s.key].end
			r.Step, r.Err, r.ExitCode = l.info(s), end.Error, end.ExitCode
			break
		}
	}
	return r
}

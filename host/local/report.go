package local

import (
	"fmt"
	"slices"

	"github.com/chant-acp/chant-acp/host"
)

// report passes an event on.
func (l *segment) report(e host.OpEvent) {
	l.reporting.Lock()
	defer l.reporting.Unlock()
	l.req.Events(e)
}

func (l *segment) notice(text string, args ...any) {
	l.report(&host.OpNotice{Text: l.mask().Text(fmt.Sprintf(text, args...))})
}

// reportPlan reports all phases as they stand.
func (l *segment) reportPlan() {
	p := &host.OpPlan{RunID: l.ID(), Op: l.Op}
	for _, ph := range l.plan.phases {
		p.Phases = append(p.Phases, l.planned(ph))
	}
	l.mu.Lock()
	failing := l.history.failing != nil
	l.mu.Unlock()
	if failing {
		for _, ph := range l.plan.undo {
			p.Phases = append(p.Phases, l.planned(ph))
		}
	}
	l.report(p)
}

// planned is a phase as it stands. One that did not change is not looked at again:
// an Op may have thousands.
func (l *segment) planned(ph *phase) host.PlanPhase {
	l.mu.Lock()
	shown, changed := ph.shown, ph.changed
	ph.changed = false
	l.mu.Unlock()
	if shown.State != "" && !changed {
		return shown
	}
	p := host.PlanPhase{Name: ph.name, Parallel: ph.parallel, Compensation: ph.undo}
	var states []host.StepState
	for _, s := range ph.steps {
		state := l.stateOf(s)
		states = append(states, state)
		p.Steps = append(p.Steps, host.PlanStep{StepInfo: l.info(s), State: state})
	}
	p.State = phaseState(states)
	l.mu.Lock()
	ph.shown = p
	l.mu.Unlock()
	return p
}

// reportChange reports all phases where what one is now changes how it is shown: as
// it begins and ends, and with what waits, fails or is stopped in it.
func (l *segment) reportChange(s *step, v verdict) {
	l.mu.Lock()
	ph := s.phase
	ph.changed = true
	left := 1 // a step of which the journal knows nothing is about to begin
	if known := l.history.steps[s.key]; known != nil {
		left = known.phase.left
	}
	same := v == passed && s.act != nil && ph.shown.State == host.StepRunning && left > 0
	l.mu.Unlock()
	if !same {
		l.reportPlan()
	}
}

// stateOf is how far a step is.
func (l *segment) stateOf(s *step) host.StepState {
	if end := l.ended(s.key); end != "" {
		return end
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if s.state == "" {
		return host.StepPending
	}
	return s.state
}

func (l *segment) setState(s *step, state host.StepState) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.state, s.phase.changed = state, true
}

func phaseState(states []host.StepState) host.StepState {
	for _, first := range []host.StepState{host.StepFailed, host.StepCancelled, host.StepInterrupted, host.StepRunning, host.StepWaiting, host.StepSkipped} {
		if slices.Contains(states, first) {
			return first
		}
	}
	switch {
	case !slices.Contains(states, host.StepPending):
		return host.StepCompleted
	case slices.Contains(states, host.StepCompleted):
		return host.StepRunning
	}
	return host.StepPending
}

// info is a step as others see it.
func (l *segment) info(s *step) host.StepInfo {
	return host.StepInfo{
		ID: fmt.Sprintf("%s-%d-%s", l.ID(), l.history.segments, s.key), Title: s.title, Phase: s.phase.name, Kind: string(s.Kind),
		Args: s.shown, Compensation: s.phase.undo, Parallel: s.phase.parallel,
	}
}

// reportRest reports the steps that were announced and did not come to their turn.
func (l *segment) reportRest(v verdict) {
	state := host.StepSkipped
	if v == waiting || v == halted && l.stopped() != host.StopCancelled {
		state = host.StepPending // in another segment they may
	}
	phases := l.plan.phases
	if l.history.failing != nil {
		phases = slices.Concat(phases, l.plan.undo)
	}
	for _, ph := range phases {
		for _, s := range ph.steps {
			if l.ended(s.key) == "" && !s.reported {
				s.reported = true
				l.setState(s, state)
				l.report(&host.StepResult{Step: l.info(s), State: state})
			}
		}
	}
	l.reportPlan()
}

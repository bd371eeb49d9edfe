package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/host/pause"
)

// history is what a journal says.
type history struct {
	segments int
	segment  entry // the last one
	began    time.Time
	last     time.Time
	steps    map[string]*stepHistory
	failed   bool   // a step of the phases did
	failing  *entry // with which the compensation began: that of a failure, or a segment
	cancel   *entry // was asked for while the last segment goes on
	status   *entry // of the last segment; nil while it goes on, or where it was killed
	set      map[string]string
	lacks    string // why the log is not whole; "" where it is

	header journalHeader
	lines  int // that were read
	phases []*phaseHistory
	undo   []*phaseHistory
	first  int // the first phase that is not over; len(phases) where all are
}

// stepHistory is what is known of one step.
type stepHistory struct {
	title string
	begun bool   // in some segment
	pause string // the id of what it waits for
	asked string // the id of the question
	asks  pause.Request
	about question
	// decision is what was decided of the question, nil while nothing was.
	decision *decision
	// digest is that of what was asked about, "" of all but gates; askedAt is when.
	digest  string
	askedAt time.Time
	end     *entry // nil while it is not over

	phase  *phaseHistory
	number int     // in the phase, from 0
	waits  op.Kind // "" of a step that runs something
	passed bool    // it completed, and was not asked again since
}

// phaseHistory is what is known of one phase.
type phaseHistory struct {
	shape   phaseShape
	undo    bool
	index   int            // among those of its kind, from 0
	steps   []*stepHistory // nil for those of which nothing is known
	first   int            // the first step that is not passed
	left    int            // steps that are not passed
	running int            // of these, those that do not wait
}

// takeHeader takes in the first line.
func (h *history) takeHeader(line []byte) error {
	if err := json.Unmarshal(line, &h.header); err != nil {
		return fmt.Errorf("is no beginning of a journal: %w", err)
	}
	phasesOf := func(shapes []phaseShape, undo bool) (phases []*phaseHistory, err error) {
		for i, shape := range shapes {
			if shape.Steps < 1 || shape.Steps > maxSteps {
				return nil, fmt.Errorf("has a phase of %d steps", shape.Steps)
			}
			phases = append(phases, &phaseHistory{
				shape: shape, undo: undo, index: i, left: shape.Steps, running: shape.Steps - len(shape.Waits), steps: make([]*stepHistory, shape.Steps),
			})
		}
		return phases, nil
	}
	var err error
	if h.phases, err = phasesOf(h.header.Phases, false); err == nil {
		h.undo, err = phasesOf(h.header.Undo, true)
	}
	return err
}

// step is the step of a key, which must be in the plan.
func (h *history) step(key string) (*stepHistory, error) {
	if s := h.steps[key]; s != nil {
		return s, nil
	}
	numbers := keyNumbers(key)
	phases := h.phases
	if undoes(key) {
		phases = h.undo
	}
	if len(numbers) != 2 || numbers[0] < 1 || numbers[0] > len(phases) {
		return nil, fmt.Errorf("there is no step %.20q", key)
	}
	ph := phases[numbers[0]-1]
	if numbers[1] < 1 || numbers[1] > len(ph.steps) || key != stepKey(ph.undo, numbers[0], numbers[1]) {
		return nil, fmt.Errorf("there is no step %.20q", key)
	}
	s := &stepHistory{phase: ph, number: numbers[1] - 1, waits: ph.shape.Waits[numbers[1]]}
	ph.steps[s.number], h.steps[key] = s, s
	return s, nil
}

// pass notes that a step completed.
func (h *history) pass(s *stepHistory) {
	ph := s.phase
	s.passed = true
	ph.left--
	if s.waits == "" {
		ph.running--
	}
	for ph.first < len(ph.steps) && ph.steps[ph.first] != nil && ph.steps[ph.first].passed {
		ph.first++
	}
	for !ph.undo && h.first < len(h.phases) && h.phases[h.first].left == 0 {
		h.first++
	}
}

// reopen notes that a step that was passed is asked again.
func (h *history) reopen(s *stepHistory) {
	if !s.passed {
		return
	}
	ph := s.phase
	s.passed = false
	ph.left++
	ph.first, h.first = min(ph.first, s.number), min(h.first, ph.index)
}

func newHistory() *history {
	return &history{steps: make(map[string]*stepHistory), set: make(map[string]string)}
}

// take takes in the next entry. What can't follow what came before is an error.
func (h *history) take(e entry) error {
	if h.over() && e.Kind != entrySegment {
		return errors.New("the run was over")
	}
	if e.Kind != entrySegment && (h.segments == 0 || h.status != nil && e.Kind != entryDecide) {
		return fmt.Errorf("no process had taken the run up before the entry %q", e.Kind)
	}
	h.last = e.Time
	if e.LogLacks != "" {
		h.lacks = e.LogLacks
	}
	switch e.Kind {
	case entrySegment:
		return h.takeSegment(e)
	case entryCancel:
		h.cancel = &e
		return nil
	case entryStatus:
		return h.takeStatus(e)
	case entryFailing:
		return h.takeFailing(e)
	case entryRetry, entryStart, entryAsk, entryDecide, entryVoid, entryEnd:
		return h.takeStep(e)
	}
	return fmt.Errorf("there is no entry %q", e.Kind)
}

func (h *history) takeSegment(e entry) error {
	if e.Segment != h.segments+1 {
		return fmt.Errorf("it is leg %d after leg %d", e.Segment, h.segments)
	}
	if err := h.mayTakeUp(e.Mode); err != nil {
		return err
	}
	switch {
	case h.segments == 0:
		h.began = e.Time
	case e.Mode == legResume:
		for _, s := range h.steps {
			if s.end != nil && host.StepState(s.end.State) == host.StepCancelled {
				s.end = nil
			}
		}
	case e.Mode == legUndo:
		h.failing = &e
	}
	h.segments, h.segment, h.cancel, h.status = e.Segment, e, nil, nil
	return nil
}

// mayTakeUp says what keeps a segment of a mode from following.
func (h *history) mayTakeUp(mode string) error {
	switch {
	case mode == "" && h.over():
		return errors.New("the run was over")
	case mode == "":
	case mode == legResume && !h.cancelled():
		return errors.New("the run is resumed, and was not cancelled")
	case mode == legResume:
	case mode != legUndo:
		return fmt.Errorf("there is no mode %q of a leg", mode)
	case h.segments == 0 || len(h.undo) == 0 || h.failing != nil || h.status != nil && !h.cancelled() && host.RunState(h.status.State) != host.RunInterrupted:
		return errors.New("the run is undone, and there is nothing to undo")
	}
	return nil
}

func (h *history) takeStatus(e entry) error {
	switch host.RunState(e.State) {
	case host.RunCancelled, host.RunInterrupted:
	case host.RunCompleted:
		if h.failing != nil || h.first < len(h.phases) {
			return errors.New("the run is completed, and not all of its steps are")
		}
	case host.RunFailed:
		if h.failing == nil {
			return errors.New("the run failed, and none of its steps did")
		}
	case host.RunWaiting:
		if !h.waiting() {
			return errors.New("the run waits, and none of its steps does")
		}
	default:
		return fmt.Errorf("there is no state %q", e.State)
	}
	h.status = &e
	return nil
}

// waiting says whether a step waits.
func (h *history) waiting() bool {
	for _, s := range h.steps {
		if s.pause != "" && s.end == nil {
			return true
		}
	}
	return false
}

func (h *history) takeFailing(e entry) error {
	if !h.failed {
		return errors.New("the compensation begins, and no step failed")
	}
	h.failing = &e
	return nil
}

func (h *history) takeStep(e entry) error {
	s, err := h.step(e.Step)
	if err != nil {
		return fmt.Errorf("the entry %q: %w", e.Kind, err)
	}
	if e.Kind == entryVoid {
		if s.waits != op.Gate || s.pause == "" {
			return fmt.Errorf("the step %s asked nothing", e.Step)
		}
		// It counts as passed until it is asked again: what runs beside it began before.
		*s = stepHistory{title: s.title, phase: s.phase, number: s.number, waits: s.waits, passed: s.passed}
		return nil
	}
	if s.end != nil {
		return fmt.Errorf("the step %s was over", e.Step)
	}
	if e.Title != "" {
		s.title = e.Title
	}
	switch e.Kind {
	case entryStart:
		if s.waits != "" {
			return fmt.Errorf("the step %s runs nothing", e.Step)
		}
		s.begun = true
		return h.mayBegin(s, e.Step)
	case entryAsk:
		if err := s.takeAsk(e); err != nil {
			return err
		}
		h.reopen(s)
		return h.mayBegin(s, e.Step)
	case entryDecide:
		return s.takeDecision(e)
	case entryEnd:
		return h.takeEnd(s, e)
	}
	if !s.begun {
		return fmt.Errorf("the step %s did not begin", e.Step)
	}
	return nil
}

// asking is how a step that waits asks.
var asking = map[op.Kind]pause.Kind{op.Gate: pause.KindDecision, op.WaitForEvent: pause.KindEvent, op.Sleep: pause.KindSleep}

func (s *stepHistory) takeAsk(e entry) error {
	if s.waits == "" || s.pause != "" {
		return fmt.Errorf("the step %s has nothing to ask", e.Step)
	}
	if e.Asks == nil || e.Asks.Kind != asking[s.waits] || e.Request == "" {
		return fmt.Errorf("the step %s asks nothing that it can", e.Step)
	}
	if err := json.Unmarshal(e.Asks.Payload, &s.about); err != nil {
		return fmt.Errorf("what the step %s asks about can't be read: %w", e.Step, err)
	}
	s.begun, s.pause, s.asked, s.asks, s.digest, s.askedAt = true, e.Pause, e.Request, *e.Asks, e.Digest, e.Time
	return nil
}

// options are what can be decided of a step that waits.
var options = map[op.Kind][]string{op.Gate: {optionApprove, optionReject, optionExpire}, op.WaitForEvent: {optionSignal, optionExpire}}

func (s *stepHistory) takeDecision(e entry) error {
	d := e.Decision
	switch {
	case d == nil || s.pause == "" || e.Request != s.asked:
		return fmt.Errorf("what is decided of the step %s was not asked", e.Step)
	case s.decision != nil:
		return fmt.Errorf("the step %s was decided before", e.Step)
	case !slices.Contains(options[s.waits], d.Option):
		return fmt.Errorf("the step %s can't be decided with %.20q", e.Step, d.Option)
	case d.At.Before(s.asks.CreatedAt):
		return fmt.Errorf("the step %s was decided before it was asked", e.Step)
	case s.late(d.At) != (d.Option == optionExpire):
		return fmt.Errorf("the step %s was decided after its time, or ran out before it", e.Step)
	case d.Option == optionApprove && d.Digest != s.digest:
		return fmt.Errorf("the step %s was approved for something else than it asked about", e.Step)
	}
	s.decision = d
	return nil
}

// late says whether the time of a question is over.
func (s *stepHistory) late(now time.Time) bool {
	at, ok := s.asks.Deadline()
	return ok && !now.Before(at)
}

// decided is the option that was decided, "" while none was.
func (s *stepHistory) decided() string {
	if s.decision == nil {
		return ""
	}
	return s.decision.Option
}

// mayBegin refuses a step before those that come first.
func (h *history) mayBegin(s *stepHistory, key string) error {
	ph := s.phase
	switch {
	case ph.undo && h.failing == nil:
		return fmt.Errorf("the step %s undoes something, and no step failed", key)
	case !ph.undo && h.failing != nil:
		return fmt.Errorf("the step %s comes after the run failed", key)
	case !ph.undo && ph.index > h.first,
		!ph.shape.Parallel && s.number > ph.first,
		ph.shape.Parallel && s.waits != "" && ph.running > 0:
		return fmt.Errorf("the step %s comes before what lies before it is over", key)
	}
	return nil
}

func (h *history) takeEnd(s *stepHistory, e entry) error {
	if !s.begun {
		return fmt.Errorf("the step %s ends, and did not begin", e.Step)
	}
	passes := s.decided() == optionApprove || s.decided() == optionSignal
	switch host.StepState(e.State) {
	case host.StepFailed:
		if options[s.waits] != nil && (s.decision == nil || passes) {
			return fmt.Errorf("the step %s failed, and nobody decided that", e.Step)
		}
		h.failed = h.failed || !s.phase.undo
	case host.StepCancelled:
	case host.StepCompleted:
		if options[s.waits] != nil && !passes {
			return fmt.Errorf("the step %s is passed, and nobody decided", e.Step)
		}
		h.pass(s)
	default:
		return fmt.Errorf("there is no end %q of a step", e.State)
	}
	s.end = &e
	for name, value := range e.Set {
		h.set[name] = value
	}
	return nil
}

// over says whether the journal holds the end of the run.
func (h *history) over() bool {
	return h.status != nil && !host.RunState(h.status.State).Open()
}

// cancelled says whether the run was, and has not been taken up since.
func (h *history) cancelled() bool {
	return h.status != nil && host.RunState(h.status.State) == host.RunCancelled
}

// ended says how a step ended; "" for one that did not.
func (h *history) ended(key string) host.StepState {
	if s := h.steps[key]; s != nil && s.end != nil {
		return host.StepState(s.end.State)
	}
	return ""
}

// interrupted are the titles of the steps that began and are not over, without
// those that only wait: of the compensation, once that began.
func (h *history) interrupted() []string {
	return h.titles(func(s *stepHistory) bool {
		return s.end == nil && s.phase.undo == (h.failing != nil)
	})
}

// stopped is interrupted, with the steps that were cancelled.
func (h *history) stopped() []string {
	return h.titles(func(s *stepHistory) bool {
		return (s.end == nil || host.StepState(s.end.State) == host.StepCancelled) && s.phase.undo == (h.failing != nil)
	})
}

// ran are the titles of all steps that began, but those of the compensation.
func (h *history) ran() []string {
	return h.titles(func(s *stepHistory) bool { return !s.phase.undo })
}

// titles are those of the steps that began and fit, in the order of the plan,
// without those that only wait.
func (h *history) titles(fits func(*stepHistory) bool) []string {
	var keys []string
	for key, s := range h.steps {
		if s.begun && s.waits == "" && fits(s) {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, compareKeys)
	titles := make([]string, len(keys))
	for i, key := range keys {
		titles[i] = h.steps[key].title
	}
	return titles
}

// compensation are the steps that undo, once that began. live says that a process
// runs the run.
func (h *history) compensation(live bool) (steps []host.UndoStep) {
	if h.failing == nil {
		return nil
	}
	for _, ph := range h.undo {
		for _, s := range ph.steps {
			u := host.UndoStep{State: host.StepPending}
			if h.status != nil && host.RunState(h.status.State) == host.RunFailed {
				u.State = host.StepSkipped
			}
			switch {
			case s == nil:
			case s.end != nil:
				u = host.UndoStep{Title: s.title, State: host.StepState(s.end.State)}
			case s.begun && live:
				u = host.UndoStep{Title: s.title, State: host.StepRunning}
			case s.begun:
				u = host.UndoStep{Title: s.title, State: host.StepInterrupted}
			}
			steps = append(steps, u)
		}
	}
	return steps
}

// undoable says whether the compensation can be asked for.
func (h *history) undoable() bool { return h.mayTakeUp(legUndo) == nil && len(h.ran()) > 0 }

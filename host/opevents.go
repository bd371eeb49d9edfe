package host

import (
	"encoding/json"
	"time"
)

// OpEvent is one thing that happens in a run: *OpPlan, *OpNotice, *StepStarted,
// *StepOutput, *StepRetry or *StepResult. Texts show values of the environment by
// their names; output is what was printed.
type OpEvent interface{ opEvent() }

// StepState says how far a step, or a phase, is.
type StepState string

// The states of steps and phases.
const (
	StepPending     StepState = "pending"
	StepRunning     StepState = "running"
	StepWaiting     StepState = "waiting"
	StepCompleted   StepState = "completed"
	StepFailed      StepState = "failed"
	StepSkipped     StepState = "skipped"
	StepCancelled   StepState = "cancelled"
	StepInterrupted StepState = "interrupted"
)

// OpPlan is the whole run as it stands: first of all events, again whenever a
// phase changed, and with the compensation once that begins.
type OpPlan struct {
	RunID  string
	Op     string
	Phases []PlanPhase
}

// PlanPhase is one phase of a plan.
type PlanPhase struct {
	Name         string
	State        StepState
	Parallel     bool
	Compensation bool
	Steps        []PlanStep
}

// PlanStep is one step of a plan. Those that are completed when a run goes on
// are not told of again.
type PlanStep struct {
	StepInfo
	State StepState
}

// StepInfo says what a step is.
type StepInfo struct {
	// ID is unlike that of any other step of any run, in any process: a step that
	// is done again when the run goes on has another.
	ID    string
	Title string // for a person, of one line
	Phase string
	Kind  string // activity, exec, gate, sleep, waitForEvent
	// Args is the JSON object of what the step is given.
	Args json.RawMessage
	// Compensation says that the step undoes.
	Compensation bool
	// Parallel says that the step runs beside others of its phase; its output
	// comes as whole lines that name it.
	Parallel bool
}

// OpNotice is a sentence, or some, for the person: what a run goes on with, why a
// compensation begins.
type OpNotice struct{ Text string }

// StepStarted says that a step begins, or begins again.
type StepStarted struct {
	Step StepInfo
	// Attempt counts from 1, to Of at most.
	Attempt, Of int
}

// StepOutput is what a step printed.
type StepOutput struct {
	StepID string
	Data   []byte
}

// StepRetry says that an attempt failed and the next one follows.
type StepRetry struct {
	StepID      string
	Attempt, Of int
	Err         string
	Wait        time.Duration
}

// StepResult says how a step ended, once for each that was announced and is not
// completed already. A step that never started ends as well.
type StepResult struct {
	Step     StepInfo
	State    StepState
	Attempts int
	Duration time.Duration
	// Outcome is what the Op asks to be shown of the result; nil for nothing.
	Outcome  *StepOutcome
	ExitCode *int   // of the program that decided; nil where none did
	Err      string // why it failed
	// Tail is the end of what it printed, at most 20 lines.
	Tail []string
	// Wait is what a waiting step waits for; nil for others.
	Wait *OpWait
	// Warnings are for a person, such as processes left behind or a log that is
	// not whole.
	Warnings []string
}

// StepOutcome is a named part of a step's result.
type StepOutcome struct {
	Name  string
	Value json.RawMessage
}

func (*OpPlan) opEvent()      {}
func (*OpNotice) opEvent()    {}
func (*StepStarted) opEvent() {}
func (*StepOutput) opEvent()  {}
func (*StepRetry) opEvent()   {}
func (*StepResult) opEvent()  {}

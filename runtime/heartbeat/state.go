package heartbeat

import (
	"strings"
	"time"

	"github.com/chant-acp/chant-acp/internal/brief"
)

// State says how far a run is.
type State string

// The states of a run. All but the first two are ends; with [Waiting], Run.Ended
// tells.
const (
	Running     State = "running"
	Waiting     State = "waiting"     // for a person: a gate, a confirmation
	Completed   State = "completed"   // it ran and succeeded
	Failed      State = "failed"      // it ran and failed, or could not be started
	Refused     State = "refused"     // it is not in the allow-list, or must not be run from here
	Cancelled   State = "cancelled"   // somebody cancelled it
	Interrupted State = "interrupted" // the process ended first
)

// An Outcome is how a run ended, or that it waits.
type Outcome struct {
	State State `json:"state"`
	// Text is one line or a few for a person; 2 KiB of it are kept.
	Text string `json:"text,omitempty"`
	// ExitCode is the program's, where one ran and ended.
	ExitCode *int `json:"exitCode,omitempty"`
	// Ref names, with State Waiting, what [Options.Settled] asks about.
	Ref string `json:"ref,omitempty"`
}

// A Run is one run of a job.
type Run struct {
	Tick    time.Time `json:"tick"`    // what it was for
	Started time.Time `json:"started"` // when it began
	// Ended is the zero time while it runs or waits.
	Ended time.Time `json:"ended,omitzero"`
	Outcome
}

// Open says whether the run still runs or waits.
func (r *Run) Open() bool { return r != nil && r.Ended.IsZero() }

// outlives says whether an open run is still what it was when its process has ended:
// it waits, and somebody can be asked about it.
func (r *Run) outlives() bool { return r.State == Waiting && r.Ref != "" }

// interrupted is how a run ended whose process ended first.
func interrupted() Outcome {
	return Outcome{State: Interrupted, Text: "the process ended before the run did"}
}

// JobState is what is kept of a job.
type JobState struct {
	Command string `json:"command"`
	// Tick is the last tick that was seen to: run, skipped, or gone by before
	// the job was known.
	Tick time.Time `json:"tick"`
	// Last is the last run, or the one that is open; nil when there was none.
	Last *Run `json:"last,omitempty"`
	// Skipped counts the ticks since Last began that were not run, because it was
	// open or the next one waited for its turn.
	Skipped int `json:"skipped,omitempty"`
	// Next is when the job is due next.
	Next time.Time `json:"next,omitzero"`
}

type stateFile struct {
	head
	Jobs map[string]*JobState `json:"jobs"` // by Job.ID
}

func (s store) readState(workspace string) (map[string]*JobState, error) {
	var f stateFile
	found, err := load(s.state(), &f, func() error { return f.check(workspace) })
	if err != nil || !found {
		return map[string]*JobState{}, err
	}
	if f.Jobs == nil {
		f.Jobs = map[string]*JobState{}
	}
	for id, j := range f.Jobs {
		if j == nil {
			delete(f.Jobs, id)
		}
	}
	return f.Jobs, nil
}

func (s store) writeState(workspace string, jobs map[string]*JobState) error {
	return s.save(s.state(), stateFile{head{version, workspace}, jobs})
}

// maxText bounds what is kept of an outcome's text, in bytes.
const maxText = 2 << 10

// bounded makes an outcome fit to be kept.
func (o Outcome) bounded() Outcome {
	o.Text = brief.Bytes(strings.ToValidUTF8(o.Text, "\uFFFD"), maxText)
	return o
}

package heartbeat

import "time"

// EventKind says what an [Event] is about.
type EventKind string

// The kinds of events.
const (
	Loaded  EventKind = "loaded"  // a trusted file was taken; its jobs run from now on
	Stopped EventKind = "stopped" // there is no trusted file; said once, until there was one again
	Started EventKind = "started" // a run begins
	Waits   EventKind = "waits"   // a run waits for a person
	Ended   EventKind = "ended"   // a run ended, or was settled
	Skipped EventKind = "skipped" // a tick is not run; said once for each run that is in its way
	Problem EventKind = "problem" // something is wrong with what is kept; said once
)

// EventKinds lists the kinds of events.
func EventKinds() []EventKind {
	return []EventKind{Loaded, Stopped, Started, Waits, Ended, Skipped, Problem}
}

// An Event is something that a person, or a log, should hear of.
type Event struct {
	Kind EventKind
	Time time.Time
	// Job is what it is about; nil where it is about all of them.
	Job *Job
	// Tick is what a run is for; the zero time elsewhere. A run that is late
	// begins well behind it.
	Tick time.Time
	// Outcome is that of a run that ended or waits; nil elsewhere.
	Outcome *Outcome
	// Text says it in a sentence.
	Text string
}

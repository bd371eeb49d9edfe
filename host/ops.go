package host

import (
	"context"
	"encoding/json"
	"io"
	"time"
)

// OpSet is all Ops of a project, with the files that could not be read as one.
type OpSet interface {
	// List describes them for people. last says what came of the last run of an
	// Op, "" where there was none.
	List(last func(name string) string) string
	// WriteJSON writes one object a line: {name, file, config} for an Op,
	// {file, error} for a file that is none.
	WriteJSON(w io.Writer) error
}

// Runtime runs the Ops of one project and remembers their runs. An Op's run may
// take several turns, in several processes: each call of StartOp takes it as far
// as it goes. Implementations are safe for concurrent use.
type Runtime interface {
	// StartOp begins a run, or goes on with one that waits, was interrupted or was
	// cancelled, or undoes it. Only a person resumes what was cancelled, undoes, or
	// repeats a step that undoes. ctx bounds the start only. An error means that
	// nothing runs; an *OpRefusal is for the person who typed the line.
	StartOp(ctx context.Context, req OpRequest) (OpRun, error)
	// Decide records the answer to a gate and runs nothing. The first answer
	// counts. The error is an *OpRefusal where the answer was not taken. A rejection
	// of a gate whose time ran out, which is one already, is none: its wait says so.
	Decide(ctx context.Context, d GateAnswer) (OpWait, error)
	// AwaitDecision returns what a gate waits for once that is decided, by anybody,
	// or its time ran out; else the cause of ctx.
	AwaitDecision(ctx context.Context, runID, requestID string) (OpWait, error)
	// FindRequest finds a gate by the id of its request, whatever came of it.
	FindRequest(ctx context.Context, requestID string) (RunInfo, OpWait, error)
	// Signal tells the one run that waits for an event with this key. payload is
	// JSON. The error is an *OpRefusal where nothing waits for it, or more than
	// one does.
	Signal(ctx context.Context, s EventSignal) (OpWait, error)
	// Runs lists runs, the newest first.
	Runs(ctx context.Context, q RunQuery) ([]RunInfo, error)
	// RunInfo tells of the one run that ref means.
	RunInfo(ctx context.Context, ref RunRef) (RunInfo, error)
	// RunLog copies what the steps of a run printed. With follow it goes on until
	// the run stops or ctx ends.
	RunLog(ctx context.Context, ref RunRef, follow bool, w io.Writer) error
	// VerifyRuns reads what is kept of the runs of this project: of the one with
	// ref's ID, of those of its Op, or of all, the newest first.
	VerifyRuns(ctx context.Context, ref RunRef) ([]RunCheck, error)
	// CancelRun ends a run, without compensation: one that waits or was
	// interrupted at once; of one that runs, here or in another process, it asks
	// for the end and waits for it as long as ctx allows.
	CancelRun(ctx context.Context, ref RunRef, by Actor) (RunInfo, error)
}

// RunRef is how a line says which run it means. Without an ID it means the one
// open run that fits all that is given.
type RunRef struct {
	ID     string
	Op     string
	Env    string            // "" for any
	Params map[string]string // each equals the run's own
}

// Actor is who does something, as far as this process knows. The user of the
// operating system is added by the runtime.
type Actor struct {
	// Client is the name of the program that speaks for the person.
	Client string
	// Person says that there is one: who may decide.
	Person bool
}

// RunMode says what is to become of a run that is there already.
type RunMode int

// The modes.
const (
	RunOn      RunMode = iota // begin, or go on where the run waited
	RunResume                 // go on with the step that was interrupted, or cancelled
	RunRestart                // give up the run that is there and begin anew
	RunUndo                   // run the compensation of a run that was interrupted, or cancelled
)

// OpRequest asks for a run.
type OpRequest struct {
	// Ref names the Op and, for a run that is there, the run.
	Ref  RunRef
	Mode RunMode
	// NoDepends runs the Op though Ops that it depends on never completed.
	NoDepends bool
	Actor     Actor
	// Context holds keys that travel to the steps, and to the runs that they
	// start. None begins with ac__.
	Context map[string]string
	// Color says that the reader shows colour.
	Color bool
	// Events takes what happens, one event after the other. While it blocks, what
	// prints is slowed down, and the run comes to no end; it may call Stop. Output
	// is valid until it returns.
	Events func(OpEvent)
}

// OpRun is a run under way.
type OpRun interface {
	// ID is the run's.
	ID() string
	// Stop asks for the end of what runs and returns at once: StopCancelled ends the
	// run, any other reason interrupts it. A second StopCancelled does not wait
	// for the grace.
	Stop(Stop)
	// Wait returns when nothing of the run is under way any more and all events
	// were taken.
	Wait() OpResult
}

// OpRefusal says why a line about a run was not taken, to the person who typed
// it. Nothing changed.
type OpRefusal struct {
	Reason string
	// Lines are what would work, each to be typed as it is.
	Lines []string
	// Runs are those among which the line has to choose, or the one it is about.
	Runs []RunInfo
	// Missing says that the run, or the gate of it, that the line names is not
	// there, and was not before.
	Missing bool
}

func (e *OpRefusal) Error() string {
	text := e.Reason
	for _, line := range e.Lines {
		text += "\n    " + line
	}
	return text
}

// RunState says how far a run is.
type RunState string

// The states of a run.
const (
	RunRunning     RunState = "running"
	RunWaiting     RunState = "waiting"
	RunCompleted   RunState = "completed"
	RunFailed      RunState = "failed"
	RunCancelled   RunState = "cancelled"
	RunInterrupted RunState = "interrupted"
	RunUnreadable  RunState = "unreadable" // what is kept of it can't be understood
)

// Open says whether the run may go on.
func (s RunState) Open() bool {
	return s == RunRunning || s == RunWaiting || s == RunInterrupted
}

// RunInfo is what is known of a run. Of an unreadable one only the ID may be.
type RunInfo struct {
	ID     string
	Op     string
	Env    string
	Params map[string]string
	State  RunState
	// Digest identifies what the run does: the project, the Op as it was read, its
	// environment and parameters. Short is how a person sees it.
	Digest, Short string
	Began, Ended  time.Time // Ended is zero while the run is open
	Commit        string    // "" where it is not known
	Clean         *bool     // whether the tree held nothing but that commit
	User, Client  string    // who began it
	Step          string    // the title of the step that runs, failed or was interrupted
	Failure       string    // why it failed
	Problem       string    // why it is unreadable, and where what is left is
	Waits         []OpWait  // what it waits for
	Changed       string    // why an open run can't go on: its Op is not what it was; "" where it is, and of lists
	Log           string    // the file of what its steps printed; "" where it is not known
	LogLacks      string    // why that does not hold all of it; "" where it does
	Done, Steps   int       // of the phases, without compensation
	// NotUndone are the titles of the steps that ran, whole or in part, of a run that
	// was cancelled or interrupted before its compensation; nil of any other.
	NotUndone []string
	// Compensation are its steps in the order in which they run, once it began; nil
	// before that.
	Compensation []UndoStep
	// UndoneBy is who asked for the compensation; "" where a failure began it.
	UndoneBy string
	// Resume and Undo are the whole lines by which a person goes on with a run that was
	// cancelled or interrupted, and by which its compensation runs; "" where they would
	// be refused, as far as the run itself says.
	Resume, Undo string
	Parent       string // the run whose step began this one
}

// UndoStep is one step of a compensation.
type UndoStep struct {
	Title string // "" where it is not known
	State StepState
}

// RunCheck is what came of verifying a run.
type RunCheck struct {
	ID    string
	Op    string // "" where that can't be read
	Lines int    // of its journal, that are what was written
	Bad   []BadFile
}

// BadFile is a file of a run that is not what was written.
type BadFile struct {
	Path    string
	Problem string // such as "is damaged: line 3 is not what was written"
}

// WaitKind says what a run waits for.
type WaitKind string

// The kinds of waits.
const (
	WaitGate  WaitKind = "gate"
	WaitEvent WaitKind = "event"
	WaitSleep WaitKind = "sleep"
)

// WaitState says what came of a wait.
type WaitState string

// The states of a wait.
const (
	WaitOpen     WaitState = "open"
	WaitApproved WaitState = "approved"
	WaitRejected WaitState = "rejected"
	WaitExpired  WaitState = "expired" // of a gate or event: as good as rejected; of a sleep: its end
	WaitSignaled WaitState = "signaled"
)

// OpWait is something that a run waits for, or waited for.
type OpWait struct {
	RunID       string
	Op          string
	Kind        WaitKind
	Name        string // of the gate; the key of the event
	Description string
	Digest      string // short; of a gate, of what it asks about: what is approved is this. Of others, the run's
	RequestID   string // of this question, unlike any other
	Since       time.Time
	Until       time.Time       // zero where the time never runs out
	Schema      json.RawMessage // that the answer must meet; nil for none
	State       WaitState
	By, Client  string // who decided
	At          time.Time
	Note        string
	// Of a gate, as it was asked: the steps up to the next gate, as command lines;
	// the files that a person is to look at; the commit, "" where it is not known,
	// and whether the tree held nothing but that.
	Steps    []string
	Evidence []Evidence
	Commit   string
	Clean    *bool
	// Void says why an approval would be void, or is: what would run is not what was
	// asked about. "" where it is, and of lists.
	Void string
	// Approve, Reject and Continue are the whole lines to type; Signal stands in
	// place of the first two for an event.
	Approve, Reject, Continue, Signal string
}

// Evidence is a file that a person is to look at before a decision.
type Evidence struct {
	Path   string // below the project's folder, with forward slashes
	Size   int64  // bytes
	SHA256 string // in hexadecimal; "" where Lacks is not
	Lacks  string // why there is no content, such as "not there"
}

// GateAnswer is a person's answer to a gate. Either Request names the gate, or
// Ref the run and Gate the gate, as <name> or <name>@<short digest>.
type GateAnswer struct {
	Ref     RunRef
	Gate    string
	Request string
	Approve bool
	Note    string
	// Answer is JSON and meets the gate's schema; nil where it has none.
	Answer json.RawMessage
	Actor  Actor
}

// EventSignal tells of an event.
type EventSignal struct {
	Key     string
	Payload json.RawMessage // nil for null
	RunID   string          // "" for the one run that waits for it
	Actor   Actor
}

// RunQuery chooses runs.
type RunQuery struct {
	Op    string // "" for all
	Open  bool   // those that may go on only
	Limit int    // 0 for 50
}

// OpResult is where a run stopped.
type OpResult struct {
	Run RunInfo
	// Failed is the step that failed first; nil where none did.
	Failed *StepResult
	// Compensation are the results of the compensation of this call, in order.
	Compensation []StepResult
	Duration     time.Duration // of this call
	// Err says what this process could not do, such as keep the journal; the run
	// is where the journal says.
	Err error
}

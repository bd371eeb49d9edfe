// Package host is the seam between the agent and what it runs things on: the
// interfaces, their events and results, and no implementation. host/project is
// the real one; tests drive the whole protocol through a stub.
//
// Begin at [Host], what a project does for a turn, and [Runtime], what it does for runs of Ops.
package host

import (
	"context"
	"time"

	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host/subject"
)

// Host is one project: its allow-list, and the programs that it allows.
type Host interface {
	// Dir is the project root, absolute.
	Dir() string
	// AllowList is what may run now. It follows the files it is made of and is
	// cheap while they do not change.
	AllowList() AllowList
	// Start starts the program of an invocation. ctx bounds the start only. An
	// error means that nothing runs; it says why and what to do.
	Start(ctx context.Context, inv *command.Invocation, o StartOptions) (Run, error)
	// Subject is what Start would run now, by its bytes; nothing is started. A
	// question is about it, and its answer holds for nothing else.
	Subject(ctx context.Context, inv *command.Invocation) (subject.Subject, error)
	// Commit is the commit that the project is at, "" where it is not known, and
	// whether its tree holds nothing but that; nil where that is not known. No
	// program is started.
	Commit(ctx context.Context) (commit string, clean *bool)
	// Offer is the command of an invocation as the project offers it now, whatever
	// its arguments: what a person allows. ok is false for what comes with this
	// program and starts nothing of the project.
	Offer(ctx context.Context, inv *command.Invocation) (o Offer, ok bool, err error)
	// Offers are all that the project offers: commands, and Ops by the lines that
	// run them.
	Offers(ctx context.Context) ([]Offer, error)
	// Ops is what runs the project's Ops. It is made when it is first asked for.
	Ops() (Runtime, error)
	// OpSet reads all Ops of the project as they are now.
	OpSet(ctx context.Context) (OpSet, error)
}

// Offer is a command that a project offers.
type Offer struct {
	Name    string // "plan", "run deploy"
	Summary string
	Effect  command.Effect
	Runs    string // what it starts, for people
	// Text is what the project says of it, in lines, of which a person is shown the
	// differences.
	Text string
	// Subject is what it is made of: its entry, or the Op's sources, and programs
	// and files that they name.
	Subject subject.Subject
}

// Allowance says what a person has allowed of a command.
type Allowance struct {
	// Project says that a person has looked at all that the project offered.
	Project bool
	// Allowed says that the command is allowed in this very form.
	Allowed bool
	// Before is when another form of the command was allowed last; zero where none
	// was. Changed says what is not the same any more, as a clause, and Difference is
	// what the project says of it now and then, in lines that begin with "+ " and
	// "- "; either may be "".
	Before              time.Time
	Changed, Difference string
}

// TaskSources is a Host that takes commands from a project's task runners.
type TaskSources interface {
	// Take has the tasks of a task runner as commands from now on, for this user, and
	// returns them as the project offers them, with notes for people on what is not
	// among them. An error means that nothing was taken.
	Take(ctx context.Context, s command.Source) (offers []Offer, notes []string, err error)
	// Drop ends it; false where it was not so.
	Drop(tool string) (bool, error)
}

// AllowList is what a project allows.
type AllowList struct {
	Registry *command.Registry
	// Environments of the manifest, in its order.
	Environments []command.Environment
	// ManifestDir is the folder of the manifest, which was there a moment ago; ""
	// for none.
	ManifestDir string
	// Problem says why the manifest is not in use; nil when all is well or
	// there is none. The built-in commands work all the same.
	Problem error
	// Version changes whenever the rest may have.
	Version int
}

// StartOptions say how a program's output is wanted.
type StartOptions struct {
	// Name identifies the turn; the log file is named after it. It matches
	// ^[A-Za-z0-9_][A-Za-z0-9_.-]*$.
	Name string
	// Color says that the reader shows colour.
	Color bool
	// Output takes what the program prints, in order, from one goroutine. The
	// bytes are valid until it returns. While it blocks the program is slowed
	// down.
	Output func([]byte)
}

// Run is a program that was started.
type Run interface {
	// Stop asks for the program's end and returns at once. A second
	// StopCancelled does not wait for the grace.
	Stop(Stop)
	// Wait returns when the program and its process group have ended, or were
	// left to the guard, and all output was delivered.
	Wait() Result
	// Log is the path of the file that keeps the whole output, "" while there
	// is none.
	Log() string
}

// Stop says why a program is ended.
type Stop int

// The reasons. The first one given counts.
const (
	StopNone      Stop = iota // it ended by itself
	StopCancelled             // a person asked
	StopTimeout               // its time was over
	StopLeaving               // this process leaves
	StopFault                 // what took its output failed
)

// Result is how a program ended.
type Result struct {
	ExitCode int    // 128+n where signal n ended it; -1 where it was not seen to end
	Signal   string // "SIGKILL"; "" for none
	Duration time.Duration
	Stopped  Stop
	// Killed says that SIGKILL had to be sent.
	Killed bool
	// Leftovers counts processes that the program left behind and that were
	// ended.
	Leftovers int
	// HeldOutput says that a process outside the program's group still held
	// its output open; what it prints later is not shown.
	HeldOutput bool
	// Handed says that the program still runs and was left to the guard.
	Handed bool
	// LogLacks says why the log holds less than the whole output; "" when it
	// holds it all.
	LogLacks string
	// Err says that the program could not be followed to its end.
	Err error
}

package process

import (
	"context"
	"os"
	"time"
)

// Cause says why a program ended.
type Cause int

const (
	// Finished: the program ended by itself.
	Finished Cause = iota
	// Cancelled: somebody asked for the end.
	Cancelled
	// TimedOut: the program ran longer than [Spec.Timeout].
	TimedOut
	// Leaving: the calling process is about to end.
	Leaving
	// Aborted: [Spec.Output] or [Spec.Errors] panicked; [Exit.Err] says how.
	Aborted
)

// String returns the cause as one lower-case word.
func (c Cause) String() string {
	switch c {
	case Finished:
		return "finished"
	case Cancelled:
		return "cancelled"
	case TimedOut:
		return "timed out"
	case Leaving:
		return "leaving"
	case Aborted:
		return "aborted"
	}
	return "unknown"
}

const (
	// DefaultGrace is the time between SIGTERM and SIGKILL where [Spec.Grace] is zero.
	DefaultGrace = 2 * time.Second
	// LeavingGrace is the most that a program gets after Stop(Leaving) before it is killed or
	// handed to the guard.
	LeavingGrace = 1200 * time.Millisecond
	// TokenVar is the environment variable by which a program's descendants are recognised, as long
	// as they keep their environment.
	TokenVar = "CHANT_ACP_TOKEN"
)

// Spec describes a program to run.
type Spec struct {
	// Path is the absolute path of the program; see [LookPath].
	Path string
	// Argv are the arguments as the program sees them, its own name first. Empty: Path alone.
	Argv []string
	// Dir is the absolute path of the working directory.
	Dir string
	// Env is the whole environment, each entry "NAME=value". Start adds [TokenVar].
	Env []string
	// TTY gives the program a terminal of its own.
	TTY bool
	// Cols and Rows are the size of that terminal in cells; zero means 80 and 24.
	Cols, Rows uint16
	// Input gives the program a standard input that is written to by [Process.Input]: a pipe, or
	// the terminal.
	Input bool
	// Extra, where set, is descriptor 3 of the program. Start leaves it open here.
	Extra *os.File
	// Timeout stops the program with cause TimedOut; zero means never. The time that [Output]
	// blocks counts.
	Timeout time.Duration
	// Grace is the time between SIGTERM and SIGKILL; zero means [DefaultGrace]. Only a grace that
	// is given and longer than [LeavingGrace] is handed to the guard when the calling process
	// leaves.
	Grace time.Duration
	// Output receives what the program prints, in order, from one goroutine that ends before Wait
	// returns. p is valid until Output returns. It may block, which slows the program down and
	// delays Wait, but no signal. Nil discards.
	Output func(p []byte)
	// OutputEnd is called after the last Output, from its goroutine: at the program's end, or
	// before it when the program has closed its output. Nil does nothing.
	OutputEnd func()
	// Errors receives, as Output does and from a goroutine of its own, what the program prints on
	// standard error. Nil leaves that to Output, and so does a terminal.
	Errors func(p []byte)
}

// Exit is how a program ended.
type Exit struct {
	// Code is the exit code; 128+n when signal n ended the program; -1 when it was not seen to end
	// (Handed, or Err says why).
	Code int
	// Signal is the name of the signal that ended the program ("SIGKILL"), or empty.
	Signal string
	// Duration is the time from start to the end of the program itself, not of what it left behind.
	Duration time.Duration
	// Cause is the first reason for which the program was stopped.
	Cause Cause
	// Leftovers counts the processes that outlived the program and were ended: members of its group
	// and, after a stop, what left it.
	Leftovers int
	// HeldOutput is set when a process outside the group still held the output open; what it prints
	// later is lost to it.
	HeldOutput bool
	// Handed is set when the group still runs and the guard gives it the rest of its grace.
	Handed bool
	// Killed is set when SIGKILL had to be sent.
	Killed bool
	// Err is set when supervision failed: a process that survives SIGKILL, output that can't be
	// read, an Output that panicked.
	Err error
}

// Process is a program that was started.
type Process struct {
	spec    Spec
	os      *os.Process
	serial  uint64 // n of the token <prefix>.<n>
	start   uint64 // of the leader, in the kernel's ticks
	started time.Time
	out     *output
	errs    *output       // nil: standard error is part of out
	in      *Input        // nil: there is none
	broken  chan struct{} // an item when a receiver of output panicked
	orders  chan Cause
	settled chan struct{} // closed when no signal will be sent any more
	done    chan struct{} // closed when exit is final
	exit    Exit
}

// Start starts the program that spec describes. ctx bounds only the start. The error names the
// program and says what to do.
func Start(ctx context.Context, spec Spec) (*Process, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return start(ctx, spec)
}

// PID returns the process id of the program, which is also the id of its process group and of its
// session.
func (p *Process) PID() int { return p.os.Pid }

// Stop asks for the end of the program and returns without waiting for it. The first call sends
// SIGTERM to the group, and SIGKILL follows when the grace is over. A second call with Cancelled
// sends SIGKILL at once. Leaving cuts the grace to [LeavingGrace]; a longer grace of the program's
// own is left to the guard. After the end it does nothing.
func (p *Process) Stop(why Cause) {
	select {
	case p.orders <- why:
	case <-p.settled:
	}
}

// Wait returns when the program has ended, its group is gone, killed or handed over, and its output
// is delivered. It may be called often and by many.
func (p *Process) Wait() Exit {
	<-p.done
	return p.exit
}

package session

import (
	"errors"
	"fmt"
	"strings"
)

var (
	// ErrNotFound: there is no session of that id or name.
	ErrNotFound = errors.New("there is no session of that id or name; list them to see which there are")
	// ErrRunning: only a session that has ended can be forgotten.
	ErrRunning = errors.New("the session is running; kill it first")
	// ErrStarting: the agent has not opened its session yet, and takes no prompt.
	ErrStarting = errors.New("the agent is still starting; try again when it runs")
	// ErrEnded: the session has ended, and takes nothing any more.
	ErrEnded = errors.New("the session has ended; start another one")
	// ErrWrongKind: the session is of another kind.
	ErrWrongKind = errors.New("the session is of another kind")
	// ErrBusy: the agent's turn has not ended, and it takes one prompt at a time.
	ErrBusy = errors.New("the agent's turn has not ended; wait for it, or cancel it")
	// ErrNoSuchRequest: there is no open permission request of that id.
	ErrNoSuchRequest = errors.New("there is no open request of that id; it was answered, or cancelled with its turn")
	// ErrStalled: a watcher took nothing for StallLimit although there was something to take.
	ErrStalled = errors.New("the watcher took nothing for 5 s and was dropped so that the others go on; attach again to see what is there now")
	// ErrWatchClosed: the watcher, or the subscription to lines, was closed by its owner.
	ErrWatchClosed = errors.New("the watch was closed")
	// ErrInputFull: the program does not read its input, and as much as is kept for it waits
	// already.
	ErrInputFull = errors.New("the program does not read its input, and no more is kept for it; try again when it does")
	// ErrShutdown: the registry is shutting down, or has.
	ErrShutdown = errors.New("the sessions are being shut down; nothing new is started")
)

// AmbiguousError says that a name is of several sessions.
type AmbiguousError struct {
	Name string
	IDs  []string
}

// Error lists the ids to choose from.
func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%d sessions are called %q: use one of the ids %s", len(e.IDs), e.Name, strings.Join(e.IDs, ", "))
}

// BadNameError says what is wrong with a name for a session.
type BadNameError struct {
	Name string
	Why  string
}

// Error names the name and the rule.
func (e *BadNameError) Error() string {
	return fmt.Sprintf("a session can't be called %q: %s", e.Name, e.Why)
}

// BadSizeError says that a terminal can't have a size.
type BadSizeError struct{ Cols, Rows int }

// Error names the limits.
func (e *BadSizeError) Error() string {
	return fmt.Sprintf("a terminal can't be %d columns by %d rows: both must be from 1 to %d", e.Cols, e.Rows, MaxSize)
}

// BadOptionError says that a permission request has no such option.
type BadOptionError struct {
	Request, Option string
	Options         []string
}

// Error lists the options that there are.
func (e *BadOptionError) Error() string {
	return fmt.Sprintf("the request %s has no option %q: choose one of %s", e.Request, e.Option, strings.Join(e.Options, ", "))
}

// AgentError says why an agent could not be started as an agent.
type AgentError struct {
	// Command is the command line that was run.
	Command []string
	// Err is what went wrong, and what to do.
	Err error
	// Stderr is the last that it printed on standard error, at most 2 KiB.
	Stderr string
}

// Error names the command, what went wrong, and what the agent printed.
func (e *AgentError) Error() string {
	text := fmt.Sprintf("the agent %q could not be started: %v", strings.Join(e.Command, " "), e.Err)
	if e.Stderr != "" {
		text += "; on standard error it printed: " + e.Stderr
	}
	return text
}

// Unwrap returns Err.
func (e *AgentError) Unwrap() error { return e.Err }

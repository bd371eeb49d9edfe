// Package console is what the commands share with whoever runs them: standard
// streams, and how the process ends.
//
// [Streams] go into each command; [Streams.End] makes an exit code of what it returns.
package console

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/term"
)

// Exit codes, all of them.
const (
	OK        = 0
	Failed    = 1   // the command failed, or a check found errors
	Usage     = 2   // the command line of chant-acp itself is wrong
	Refused   = 3   // the prompt is not a command, or was not confirmed
	Waiting   = 4   // the prompt waits for a confirmation
	Cancelled = 130 // the turn was cancelled
)

// Streams are the process's standard streams. Nothing else in the command reads
// or writes them.
type Streams struct {
	In, Err *os.File
	Out     *Output
}

// ExitError carries an exit code.
type ExitError struct {
	Code int
	Err  error // printed; nil for nothing
}

// Exit makes an error that ends the process with a code. err nil prints nothing.
func Exit(code int, err error) error { return &ExitError{code, err} }

// Error is what is printed.
func (e *ExitError) Error() string {
	if e.Err == nil {
		return ""
	}
	return e.Err.Error()
}

// Unwrap returns Err.
func (e *ExitError) Unwrap() error { return e.Err }

// End says on standard error how a command ended, and returns the exit code. An
// error without a code is one of usage.
func (s Streams) End(err error) int {
	err = withLost(err, s.Out.Lost())
	if err == nil {
		return OK
	}
	var exit *ExitError
	if !errors.As(err, &exit) {
		exit = &ExitError{Usage, fmt.Errorf("%w\nRun %q for the ways to use it", err, "chant-acp --help")}
	}
	if text := exit.Error(); text != "" {
		fmt.Fprintln(s.Err, "chant-acp:", text)
	}
	return exit.Code
}

// IsTerminal says whether a person is at the other end of f.
func IsTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

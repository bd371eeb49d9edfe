package activity

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// Action does what a step is for, once. Its result is one that encoding/json can
// write. It begins nothing that outlives it.
type Action func(Call) (any, error)

// Call is one attempt of a step, as its action sees it.
type Call interface {
	// Context ends when the run is stopped, or the attempt took too long.
	Context() context.Context
	// Run runs a program to its end. The error is an *Error with an exit code where
	// the program came to its end by itself, without success.
	Run(p Program) error
	// Getenv reads the environment of the step's programs; "" where a variable is
	// not set.
	Getenv(name string) string
	// Sleep waits, and returns the cause of the context where that ends first.
	Sleep(d time.Duration) error
	// Say prints a sentence where the output of the step's programs goes.
	Say(format string, args ...any)
	// Warn adds a sentence to what is told of the step when it is over.
	Warn(text string)
	// Set sets variables for the later steps of the run, once this one has succeeded.
	Set(vars map[string]string)
	// File is the path of a file that no other step uses, in the folder of the run.
	// The action makes and removes it.
	File(name, extension string) string
	// HasOutcome says whether somebody asks for the result.
	HasOutcome() bool
}

// Program is one that an action runs, without a shell.
type Program struct {
	Argv  []string
	Dir   string            // below the project's folder, or absolute; "" for the folder
	Env   map[string]string // over the rest
	Value io.Writer         // takes standard output, which then has a pipe of its own
	Quiet bool              // standard output is for the action only
	Copy  io.Writer         // takes all that is printed, beside those who see it
}

// Error is why a step failed, where more is known than a sentence.
type Error struct {
	Text  string // the sentence
	Cause error  // may be nil
	Name  string // of the error in chant, by which a retry profile knows it
	Final bool   // another attempt would fail as well
	Code  *int   // the exit code of the program that decided
}

func (e *Error) Error() string { return e.Text }

// Unwrap is for errors.Is and errors.As.
func (e *Error) Unwrap() error { return e.Cause }

// Final is an error that no further attempt mends.
func Final(err error) error { return &Error{Text: err.Error(), Cause: err, Final: true} }

// ExitCode is the exit code of the program that made a step fail; nil where it was
// none that decided.
func ExitCode(err error) *int {
	var e *Error
	if errors.As(err, &e) {
		return e.Code
	}
	return nil
}

// with makes an action of a function and its arguments, which are checked before
// any step runs.
func with[A any](run func(Call, A) (any, error)) func(json.RawMessage) (Action, error) {
	return func(text json.RawMessage) (Action, error) {
		var args A
		if len(text) > 0 {
			if err := json.Unmarshal(text, &args); err != nil {
				return nil, fmt.Errorf("its arguments: %w", err)
			}
		}
		if checked, ok := any(args).(interface{ check() error }); ok {
			if err := checked.check(); err != nil {
				return nil, err
			}
		}
		return func(c Call) (any, error) { return run(c, args) }, nil
	}
}

// maxValue bounds what is kept of a program's output as a value, in bytes. It is
// shown and logged whole.
const maxValue = 256 << 10

// capture keeps the first maxValue bytes.
type capture struct {
	mu   sync.Mutex
	text []byte
	more bool
}

func (c *capture) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	room := maxValue - len(c.text)
	c.more = c.more || len(p) > room
	c.text = append(c.text, p[:min(room, len(p))]...)
	return len(p), nil
}

// String is what was kept, without the space around it.
func (c *capture) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return strings.ToValidUTF8(strings.TrimSpace(string(c.text)), "\uFFFD")
}

// output runs a program quietly and returns what it printed.
func output(c Call, argv ...string) (string, error) {
	var out capture
	err := c.Run(Program{Argv: argv, Value: &out, Quiet: true})
	return out.String(), err
}

// printed runs a program whose result is what it prints, where somebody asks for
// the result.
func printed(c Call, p Program) (any, error) {
	if !c.HasOutcome() {
		return nil, c.Run(p)
	}
	var out capture
	p.Value = &out
	err := c.Run(p)
	if out.more {
		c.Warn(fmt.Sprintf("of its output only the first %d KiB are kept as its result", maxValue>>10))
	}
	return out.String(), err
}

// tolerate lets a program's exit code pass, with a line about it; a program that
// can't be run at all, or was stopped, is an error still.
func tolerate(c Call, err error) error {
	if ExitCode(err) == nil {
		return err
	}
	c.Say("%v; taken as done", err)
	return nil
}

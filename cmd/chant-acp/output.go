package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
)

// output is standard output. It remembers the first error of a write and takes
// nothing more: run looks at it when a command has ended, so that no command
// has to, and none can forget.
//
// A standard output that was closed when the process started is not noticed:
// the Go runtime opens the null device in its place, and that is also what many
// programs give to one whose output they don't want.
type output struct {
	file *os.File // to ask whether it is a terminal
	to   io.Writer

	mu  sync.Mutex
	err error
}

func newStreams(in, out, err *os.File) streams {
	return streams{in: in, out: &output{file: out, to: out}, err: err}
}

// Write implements io.Writer.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return 0, o.err
	}
	n, err := o.to.Write(p)
	if err != nil {
		o.err = &lostError{err}
	}
	return n, o.err
}

// lost is why some of what was printed did not arrive, or nil.
func (o *output) lost() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.err
}

// lostError is a write to standard output that failed.
type lostError struct{ why error }

func (e *lostError) Error() string {
	why := e.why
	var path *os.PathError // its path says less than the sentence
	if errors.As(why, &path) {
		why = path.Err
	}
	return fmt.Sprintf("standard output can't be written, so what was to be printed is not all there: %v", why)
}

func (e *lostError) Unwrap() error { return e.why }

// withLost adds to how a command ended that its output was lost. Who reads no
// further, as head does, needs no words about it: most often SIGPIPE has ended
// the process before.
func withLost(err, lost error) error {
	if lost == nil {
		return err
	}
	code := exitFailed
	var exit *exitError
	if errors.As(err, &exit) {
		code, err = exit.code, exit.err
	}
	switch said, quiet := errors.Is(err, lost), errors.Is(lost, syscall.EPIPE); {
	case said && quiet:
		err = nil
	case !said && !quiet:
		err = errors.Join(err, lost)
	}
	return &exitError{code, err}
}

package console

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"syscall"
)

// Output is standard output. It remembers the first error of a write and takes
// nothing more: [Streams.End] looks at it when a command has ended, so that no command
// has to, and none can forget.
//
// A standard output that was closed when the process started is not noticed:
// the Go runtime opens the null device in its place, and that is also what many
// programs give to one whose output they don't want.
type Output struct {
	File *os.File // to ask whether it is a terminal
	to   io.Writer

	mu  sync.Mutex
	err error
}

// NewStreams makes streams of files.
func NewStreams(in, out, err *os.File) Streams {
	return Streams{In: in, Out: &Output{File: out, to: out}, Err: err}
}

// Write implements io.Writer.
func (o *Output) Write(p []byte) (int, error) {
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

// Lost is why some of what was printed did not arrive, or nil.
func (o *Output) Lost() error {
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
	code := Failed
	var exit *ExitError
	if errors.As(err, &exit) {
		code, err = exit.Code, exit.Err
	}
	switch reported, quiet := errors.Is(err, lost), errors.Is(lost, syscall.EPIPE); {
	case reported && quiet:
		err = nil
	case !reported && !quiet:
		err = errors.Join(err, lost)
	}
	return &ExitError{code, err}
}

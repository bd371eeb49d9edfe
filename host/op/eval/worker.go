package eval

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/host/op/eval/internal/wire"
	"github.com/chant-acp/chant-acp/internal/acpd"
)

// maxWait is how long one file is waited for, should the child not end it.
const maxWait = 20 * time.Second

// A worker is a child process that evaluates files, one after the other. It is
// started for the first one, and anew after one that ended it.
type worker struct {
	root    string
	environ []string
	child   *child
}

// child is a chant-acpd that evaluates.
type child struct {
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	stderr head
	late   bool // it was killed because it did not answer
}

// evaluate returns the answer for a file, which may take work of processor time.
// An error means that evaluating is not
// possible at all, or that ctx is done. A child that has lived through files has
// less memory than a new one, so that only a new one says that a file needs more
// than there is.
func (w *worker) evaluate(ctx context.Context, file string, work time.Duration) (wire.Answer, error) {
	fresh := w.child == nil
	a, err := w.try(ctx, file, work)
	if err == nil && !fresh && w.child == nil && a.Findings[0].Message != wire.TooLong {
		a, err = w.try(ctx, file, work)
	}
	if err == nil && work < wire.MaxWork && a.Findings != nil && a.Findings[0].Message == wire.TooLong {
		a.Findings[0].Message, a.Chance = wire.TooBusy, true
	}
	return a, err
}

// try evaluates a file, and ends the child where it used up time or memory.
func (w *worker) try(ctx context.Context, file string, work time.Duration) (wire.Answer, error) {
	if err := ctx.Err(); err != nil {
		return wire.Answer{}, err
	}
	if w.child == nil {
		c, err := startChild(ctx, w.root, w.environ)
		var missing *acpd.MissingError
		var other *versionError
		if errors.As(err, &missing) || errors.As(err, &other) {
			return wire.Answer{Findings: op.Failed(file, "%v", err).Findings, Chance: true}, nil
		}
		if err != nil {
			return wire.Answer{}, err
		}
		w.child = c
	}
	a, err := w.child.ask(ctx, wire.Request{File: file, Work: work})
	if err == nil && (!a.Spent || work < wire.MaxWork) { // after a short time it has used up little else
		return a, nil
	}
	reason, spent := w.close()
	if ctx.Err() != nil {
		return wire.Answer{}, ctx.Err()
	}
	if err != nil {
		a.Findings, a.Spent, a.Chance = op.Failed(file, "%s", reason).Findings, spent, !spent
		a.Took = work // the child is dead and can't say how long it took
	}
	return a, nil
}

// close ends the child and says what it died of, had it died; spent where it
// would die of it again.
func (w *worker) close() (reason string, spent bool) {
	c := w.child
	w.child = nil
	if c == nil {
		return "", false
	}
	return c.end()
}

// startChild starts one, behind its walls, and waits until it is ready.
func startChild(ctx context.Context, root string, environ []string) (*child, error) {
	cmd, err := acpd.Command(acpd.Evaluate, environ)
	if err != nil {
		return nil, err
	}
	c := &child{cmd: cmd}
	c.cmd.Dir = root
	c.cmd.Stderr = &c.stderr
	in, err := c.cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("the evaluator of Ops cannot be started: %w", err)
	}
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("the evaluator of Ops cannot be started: %w", err)
	}
	if err := startWalled(c.cmd, root); err != nil {
		return nil, fmt.Errorf("the evaluator of Ops cannot be started: %w", err)
	}
	c.in, c.out = in, bufio.NewReader(out)
	if err := c.prepare(ctx, root); err != nil {
		reason, _ := c.end()
		if c.cmd.ProcessState.ExitCode() == acpd.WrongVersion {
			return nil, &versionError{reason}
		}
		return nil, fmt.Errorf("the evaluator of Ops cannot be used: %w: %s", err, reason)
	}
	return c, nil
}

// versionError says that chant-acpd is of another version.
type versionError struct{ reason string }

func (e *versionError) Error() string { return e.reason }

// prepare tells the child where it works, and bounds its memory once it has
// started, before any file is read.
func (c *child) prepare(ctx context.Context, root string) error {
	if _, err := c.ask(ctx, wire.Request{Root: root}); err != nil {
		return err
	}
	return boundMemory(c.cmd.Process.Pid)
}

// ask sends one request and waits for the answer, for maxWait at most. Together
// with an error it returns what had come of it.
func (c *child) ask(ctx context.Context, r wire.Request) (wire.Answer, error) {
	var a wire.Answer
	done := make(chan error, 1)
	go func() { done <- c.exchange(r, &a) }()
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	select {
	case err := <-done:
		return a, err
	case <-ctx.Done():
	case <-timer.C:
		c.late = true
	}
	c.kill() // which ends the goroutine
	<-done
	return a, errors.New("it does not answer")
}

// exchange puts the parts of an answer together.
func (c *child) exchange(r wire.Request, a *wire.Answer) error {
	if err := wire.WriteFrame(c.in, r); err != nil {
		return err
	}
	for {
		var part wire.Answer
		if err := wire.ReadFrame(c.out, &part); err != nil {
			return err
		}
		before := a.Seen
		before.Add(part.Seen)
		more := part.More
		part.More, part.Seen = false, before
		if *a = part; !more {
			return nil
		}
	}
}

func (c *child) kill() { _ = syscall.Kill(-c.cmd.Process.Pid, syscall.SIGKILL) }

// end ends the child and says what it died of; spent where the file would use up
// the same again.
func (c *child) end() (reason string, spent bool) {
	_ = c.in.Close()
	early := time.AfterFunc(time.Second, c.kill) // it leaves at the end of its input
	err := c.cmd.Wait()
	early.Stop()
	var exit *exec.ExitError
	switch text := c.stderr.String(); {
	case c.late: // a busy machine may be the reason
		return wire.TooLong, false
	case errors.As(err, &exit) && exit.ExitCode() == wire.ExitOvertime:
		return wire.TooLong, true
	case strings.Contains(text, "out of memory") || strings.Contains(text, "cannot allocate memory"):
		return wire.TooLarge, true
	case strings.Contains(text, "stack overflow") || strings.Contains(text, "stack exceeds"):
		return "it is nested too deeply to be evaluated", true
	case errors.As(err, &exit) && exit.ExitCode() == acpd.WrongVersion:
		return strings.TrimSpace(text), false
	default:
		first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		return fmt.Sprintf("the evaluator failed over it (%v: %s)", err, first), false
	}
}

// A head keeps the beginning of what is written, which names what went wrong.
type head struct {
	mu   sync.Mutex
	text []byte
}

func (t *head) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	const most = 4096
	t.text = append(t.text, p[:min(len(p), most-len(t.text))]...)
	return len(p), nil
}

func (t *head) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.text)
}

package console

import (
	"bufio"
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Answers reads the lines that a person types on a terminal. A signal has to
// end the wait for one, and a plain Read can't be ended.
type Answers struct {
	in    *os.File
	lines *bufio.Reader

	woken, wake *os.File // a pipe: what waits is woken when wake closes
	once        sync.Once
}

// NewAnswers reads from a terminal. The caller closes it, which does not close in.
func NewAnswers(in *os.File) (*Answers, error) {
	woken, wake, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &Answers{in: in, lines: bufio.NewReader(in), woken: woken, wake: wake}, nil
}

// GiveUp ends the wait for this line and every later one.
func (a *Answers) GiveUp() { a.once.Do(func() { _ = a.wake.Close() }) }

// Close ends every wait.
func (a *Answers) Close() {
	a.GiveUp()
	_ = a.woken.Close() // nobody waits any more
}

// Line returns the next line, "" at the end of the input. given is false when
// the wait was ended.
func (a *Answers) Line() (text string, given bool) {
	if a.lines.Buffered() == 0 && !a.ready() {
		return "", false
	}
	text, err := a.lines.ReadString('\n')
	if err != nil {
		return "", true
	}
	return text, true
}

// ready waits until there is something to read and says whether there is. A
// terminal has something when a line is complete.
func (a *Answers) ready() bool {
	fds := []unix.PollFd{
		{Fd: int32(a.in.Fd()), Events: unix.POLLIN},
		{Fd: int32(a.woken.Fd()), Events: unix.POLLIN},
	}
	for {
		_, err := unix.Poll(fds, -1)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil || fds[1].Revents != 0:
			return false
		case fds[0].Revents != 0:
			return true
		}
	}
}

package main

import (
	"bufio"
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// answers reads the lines that a person types on a terminal. A signal has to
// end the wait for one, and a plain Read can't be ended.
type answers struct {
	in    *os.File
	lines *bufio.Reader

	woken, wake *os.File // a pipe: what waits is woken when wake closes
	once        sync.Once
}

func newAnswers(in *os.File) (*answers, error) {
	woken, wake, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return &answers{in: in, lines: bufio.NewReader(in), woken: woken, wake: wake}, nil
}

// giveUp ends the wait for this line and every later one.
func (a *answers) giveUp() { a.once.Do(func() { _ = a.wake.Close() }) }

func (a *answers) close() {
	a.giveUp()
	_ = a.woken.Close() // nobody waits any more
}

// line returns the next line, "" at the end of the input. given is false when
// the wait was ended.
func (a *answers) line() (text string, given bool) {
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
func (a *answers) ready() bool {
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

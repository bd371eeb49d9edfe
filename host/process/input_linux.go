package process

import (
	"errors"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrNoTerminal: the program has no terminal; see [Spec.TTY].
var ErrNoTerminal = errors.New("the program has no terminal")

// Input writes to the standard input of a program: a pipe, or its terminal. What is written after
// the program's end fails; it never raises SIGPIPE.
type Input struct {
	file *os.File // non-blocking: the write end of the pipe, or the terminal's master, which the output closes
	tty  bool
}

// Write returns when the program, or the kernel for it, has taken p. A program that does not read
// takes at least 4 KiB on a terminal, 64 KiB on a pipe, and then blocks Write until
// SetWriteDeadline, Close or the program's end.
func (i *Input) Write(p []byte) (int, error) { return i.file.Write(p) }

// SetWriteDeadline bounds a Write under way and those to come; see [os.File.SetWriteDeadline].
func (i *Input) SetWriteDeadline(t time.Time) error { return i.file.SetWriteDeadline(t) }

// SyscallConn gives access to the descriptor, which is non-blocking and has to stay so.
func (i *Input) SyscallConn() (syscall.RawConn, error) { return i.file.SyscallConn() }

// Close ends a Write under way. A pipe's reader then finds the end of its input. A terminal stays
// open as long as its program runs.
func (i *Input) Close() error {
	if i.tty {
		return i.file.SetWriteDeadline(time.Now())
	}
	return i.file.Close()
}

// LineMode reports whether the terminal collects its input to lines (termios(3), canonical mode),
// of which it drops what is beyond 4095 bytes without a word, and the character that hands over the
// line collected so far as if it were complete (VEOF), 0 where there is none.
func (i *Input) LineMode() (eof byte, collects bool) {
	if !i.tty {
		return 0, false
	}
	var t *unix.Termios
	err := control(i.file, func(fd int) (err error) {
		t, err = unix.IoctlGetTermios(fd, unix.TCGETS) // the master answers for its terminal
		return err
	})
	if err != nil || t.Lflag&unix.ICANON == 0 {
		return 0, false
	}
	return t.Cc[unix.VEOF], true
}

// Input returns the standard input of the program, or nil where [Spec.Input] is not set.
func (p *Process) Input() *Input { return p.in }

// Resize changes the size of the program's terminal in cells, and tells the program so (SIGWINCH).
// The error is ErrNoTerminal, or that the terminal is closed, as it is when the program has ended.
func (p *Process) Resize(cols, rows uint16) error {
	if !p.spec.TTY {
		return ErrNoTerminal
	}
	return control(p.out.file, func(fd int) error {
		return unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: cols, Row: rows})
	})
}

// control calls f with the descriptor of file, which is not closed before f returns.
func control(file *os.File, f func(fd int) error) error {
	rc, err := file.SyscallConn()
	if err != nil {
		return err
	}
	closed := rc.Control(func(fd uintptr) { err = f(int(fd)) })
	return errors.Join(closed, err)
}

package attach

import (
	"fmt"
	"os"

	"golang.org/x/term"
)

// tty is one of our own files, which may be a terminal.
type tty struct {
	f   *os.File
	was *term.State // as it was found; nil where it was not changed
}

// control does something with the descriptor. By Fd it would become one whose
// reads nothing can end.
func (t *tty) control(do func(fd int) error) error {
	conn, err := t.f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	if err := conn.Control(func(fd uintptr) { failed = do(int(fd)) }); err != nil {
		return err
	}
	return failed
}

func (t *tty) isTerminal() bool {
	is := false
	_ = t.control(func(fd int) error { is = term.IsTerminal(fd); return nil }) // a descriptor that can't be asked is no terminal
	return is
}

// raw makes every key one that is read. It may be called again.
func (t *tty) raw() error {
	err := t.control(func(fd int) error {
		was, err := term.MakeRaw(fd)
		if err == nil && t.was == nil {
			t.was = was
		}
		return err
	})
	if err != nil {
		return fmt.Errorf("the terminal can't be put into raw mode: %w", err)
	}
	return nil
}

// restore makes it what it was.
func (t *tty) restore() {
	if t.was != nil {
		_ = t.control(func(fd int) error { return term.Restore(fd, t.was) }) // a terminal that is gone needs nothing
	}
}

// size is its size, 0 by 0 where it has none.
func (t *tty) size() (cols, rows int) {
	_ = t.control(func(fd int) (err error) { cols, rows, err = term.GetSize(fd); return err })
	if cols <= 0 || rows <= 0 {
		return 0, 0
	}
	return min(cols, maxSize), min(rows, maxSize)
}

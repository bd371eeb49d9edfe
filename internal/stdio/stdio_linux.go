// Package stdio takes the standard input and output away from everything in the process but their
// one owner.
//
// One stray line on standard output can end a session of a protocol that is spoken there, and a
// child that inherits standard input eats the next requests.
//
// Begin at [Takeover]; [Reader] and [Writer] are the two ends that it gives out.
package stdio

import (
	"fmt"
	"math"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

// Takeover moves the standard input and output of the process to descriptors that are private and
// close-on-exec. Descriptor 0 then is the null device, descriptor 1 is standard error, and all
// others are close-on-exec. Call it before anything else may write.
//
// Pipes, sockets and terminals come back non-blocking, so that deadlines and Close end a Read or
// Write. Regular files and the null device never block and have no deadlines. The flags of an open
// pipe or terminal that others hold too are not changed; a socket's have to be, and restore, which
// may be called more than once, sets them back: call it last.
//
// Standard input that was closed when the process started reads as empty. Standard output that was
// closed fails every write with EPIPE. So does one that is the null device open for reading and
// writing, which is what the Go runtime puts in the place of a closed one.
func Takeover() (in, out *os.File, restore func(), err error) {
	var t takeover
	defer func() {
		if err != nil {
			t.restore()
		}
	}()
	if err := fillStandard(); err != nil {
		return nil, nil, nil, err
	}
	// What the process inherited beside the three is nothing for its children. Kernels before 5.11
	// lack the call.
	_ = unix.CloseRange(3, math.MaxInt, unix.CLOSE_RANGE_CLOEXEC)
	if in, err = t.move(0, "stdin"); err != nil {
		return nil, nil, nil, fmt.Errorf("standard input can't be taken over: %w", err)
	}
	if closedAtStart(1) {
		out, err = brokenPipe()
	} else {
		out, err = t.move(1, "stdout")
	}
	if err == nil {
		err = redirect()
	}
	if err != nil {
		in.Close()
		if out != nil {
			out.Close()
		}
		return nil, nil, nil, fmt.Errorf("standard output can't be taken over: %w", err)
	}
	var once sync.Once
	return in, out, func() { once.Do(t.restore) }, nil
}

// fillStandard opens the null device on what is closed of 0, 1 and 2, so that nothing opened later
// can land there. The Go runtime does it at start for the main program; this holds for whatever
// happened since.
func fillStandard() error {
	for fd := 0; fd <= 2; fd++ {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != unix.EBADF {
			continue
		}
		got, err := unix.Open(os.DevNull, unix.O_RDWR, 0) // the lowest free descriptor, which is fd
		if err != nil {
			return fmt.Errorf("descriptor %d is closed and %s can't be opened in its place: %w", fd, os.DevNull, err)
		}
		if got != fd {
			return fmt.Errorf("descriptor %d was closed while the process started", fd)
		}
	}
	return nil
}

// redirect points descriptor 0 at the null device and descriptor 1 at standard error.
func redirect() error {
	null, err := unix.Open(os.DevNull, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return fmt.Errorf("%s can't be opened: %w", os.DevNull, err)
	}
	defer unix.Close(null)
	if err := unix.Dup3(null, 0, 0); err != nil {
		return err
	}
	return unix.Dup3(2, 1, 0)
}

// closedAtStart says whether nobody can be reading fd.
func closedAtStart(fd int) bool {
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil {
		return true
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_RDWR && isNull(&st)
}

func isNull(st *unix.Stat_t) bool {
	return st.Mode&unix.S_IFMT == unix.S_IFCHR && st.Rdev == unix.Mkdev(1, 3)
}

// brokenPipe returns the write end of a pipe that nobody reads.
func brokenPipe() (*os.File, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	return write, read.Close()
}

// takeover remembers which shared flags were changed.
type takeover struct {
	changed []int // duplicates of descriptors made non-blocking
}

// move returns a private descriptor for what fd is now. It leaves fd as it is.
func (t *takeover) move(fd int, name string) (*os.File, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, err
	}
	flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFL, 0)
	if err != nil {
		return nil, err
	}
	switch st.Mode & unix.S_IFMT {
	case unix.S_IFIFO, unix.S_IFCHR:
		if isNull(&st) {
			break
		}
		if own, err := reopen(fd, flags); err == nil {
			return os.NewFile(uintptr(own), name), nil
		}
		return t.shared(fd, flags, name) // another user's pipe, or no /proc
	case unix.S_IFSOCK:
		return t.shared(fd, flags, name)
	}
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(own), name), nil
}

// reopen opens what fd is once more, which gives it flags of its own.
func reopen(fd, flags int) (int, error) {
	mode := flags&unix.O_ACCMODE | unix.O_NONBLOCK | unix.O_CLOEXEC | unix.O_NOCTTY
	return unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), mode, 0)
}

// shared duplicates fd, which shares its flags with everybody who holds the same open file, and
// makes it non-blocking.
func (t *takeover) shared(fd, flags int, name string) (*os.File, error) {
	own, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, err
	}
	if flags&unix.O_NONBLOCK == 0 {
		if err := t.setNonblock(own); err != nil {
			unix.Close(own)
			return nil, err
		}
	}
	return os.NewFile(uintptr(own), name), nil
}

// setNonblock keeps one more duplicate, because the file that its owner gets may be closed before
// the flags are set back.
func (t *takeover) setNonblock(fd int) error {
	spare, err := unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		unix.Close(spare)
		return err
	}
	t.changed = append(t.changed, spare)
	return nil
}

func (t *takeover) restore() {
	for _, fd := range t.changed {
		_ = unix.SetNonblock(fd, false)
		unix.Close(fd)
	}
	t.changed = nil
}

package stdio

import (
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Writer writes to a descriptor that the runtime's poller does not know: where
// that is a socket, each line that the other side reads would otherwise wake a
// thread that waits there. Close ends a Write.
type Writer struct {
	fd     int
	wake   int // an eventfd, readable once Close was called
	closed atomic.Bool
	mu     sync.Mutex // held by a write, and by Close while it closes
}

// NewWriter makes a Writer of f, which it closes.
func NewWriter(f *os.File) (*Writer, error) {
	fd, wake, err := private(f)
	if err != nil {
		return nil, err
	}
	return &Writer{fd: fd, wake: wake}, nil
}

// private duplicates f's descriptor, closes f, and makes an eventfd to wake who
// waits for it.
func private(f *os.File) (fd, wake int, err error) {
	raw, err := f.SyscallConn()
	if err == nil {
		err = errors.Join(raw.Control(func(old uintptr) { fd, err = unix.FcntlInt(old, unix.F_DUPFD_CLOEXEC, 3) }), err)
	}
	if err != nil {
		return -1, -1, fmt.Errorf("duplicating %s: %w", f.Name(), err)
	}
	if wake, err = unix.Eventfd(0, unix.EFD_CLOEXEC); err != nil {
		_ = unix.Close(fd)
		return -1, -1, fmt.Errorf("making an eventfd: %w", err)
	}
	_ = f.Close() // the duplicate is as good
	return fd, wake, nil
}

// wake wakes whoever waits for an eventfd, now and later.
func wake(eventfd int) { _, _ = unix.Write(eventfd, []byte{1, 0, 0, 0, 0, 0, 0, 0}) } // it takes the first 2^64-2

// TryWrite writes once, as much as goes without waiting.
func (w *Writer) TryWrite(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.once(p)
}

// once is TryWrite for a caller that holds the lock.
func (w *Writer) once(p []byte) (int, error) {
	if w.closed.Load() {
		return 0, os.ErrClosed
	}
	n, err := unix.Write(w.fd, p)
	if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
		return 0, nil
	}
	return max(n, 0), os.NewSyscallError("write", err)
}

// Write writes all of p, waiting for the other side to read.
func (w *Writer) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for done := 0; ; {
		n, err := w.once(p[done:])
		if done += n; err != nil || done == len(p) {
			return done, err
		}
		fds := []unix.PollFd{{Fd: int32(w.fd), Events: unix.POLLOUT}, {Fd: int32(w.wake), Events: unix.POLLIN}}
		if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return done, os.NewSyscallError("poll", err)
		}
	}
}

// Close ends a Write under way, waits for it, and closes the descriptor.
func (w *Writer) Close() error {
	if w.closed.Swap(true) {
		return os.ErrClosed
	}
	wake(w.wake)
	w.mu.Lock()
	defer w.mu.Unlock()
	return errors.Join(unix.Close(w.fd), unix.Close(w.wake))
}

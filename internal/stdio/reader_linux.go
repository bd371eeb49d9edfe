package stdio

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// Reader reads a descriptor by waiting in the kernel, on a thread of its own,
// instead of in the runtime's poller. A process that does little else is then
// idle in one system call, and a line costs two: through the poller it is five,
// and the monitor thread is put to sleep and woken each time. The price: what a
// line started runs on another thread, unless the reading goroutine yields
// before it reads on. Close ends a Read.
type Reader struct {
	f      *os.File
	wake   *os.File // an eventfd, readable once Close was called
	closed atomic.Bool
	mu     sync.Mutex // held by Read, and by Close while it closes
}

// NewReader makes a Reader of f, which it owns from then on.
func NewReader(f *os.File) (*Reader, error) {
	fd, err := unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK)
	if err != nil {
		return nil, fmt.Errorf("making an eventfd: %w", err)
	}
	return &Reader{f: f, wake: os.NewFile(uintptr(fd), "eventfd")}, nil
}

// Read waits until something is there, or the end, or Close.
func (r *Reader) Read(p []byte) (n int, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	control(r.f, func(fd int) {
		control(r.wake, func(wake int) { n, err = r.read(fd, wake, p) })
	})
	if r.closed.Load() {
		return 0, os.ErrClosed
	}
	if n == 0 && err == nil {
		return 0, io.EOF
	}
	return n, err
}

func (r *Reader) read(fd, wake int, p []byte) (int, error) {
	fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}, {Fd: int32(wake), Events: unix.POLLIN}}
	for !r.closed.Load() {
		if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) {
			return 0, os.NewSyscallError("poll", err)
		}
		if fds[0].Revents == 0 {
			continue
		}
		n, err := unix.Read(fd, p)
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EINTR) {
			continue
		}
		return max(n, 0), os.NewSyscallError("read", err)
	}
	return 0, os.ErrClosed
}

// HungUp says whether the writing side is gone, even where what it wrote is not
// read yet.
func (r *Reader) HungUp() bool {
	gone := false
	control(r.f, func(fd int) {
		fds := []unix.PollFd{{Fd: int32(fd)}}
		n, err := unix.Poll(fds, 0)
		gone = err == nil && n > 0 && fds[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
	})
	return gone
}

// control calls f with the file's descriptor, which stays open meanwhile. It
// leaves the descriptor's mode alone, as Fd might not.
func control(file *os.File, f func(fd int)) {
	if raw, err := file.SyscallConn(); err == nil {
		_ = raw.Control(func(fd uintptr) { f(int(fd)) }) // fails only when it is closed, which Read finds
	}
}

// Close ends a Read under way, waits for it, and closes the file.
func (r *Reader) Close() error {
	if r.closed.Swap(true) {
		return os.ErrClosed
	}
	control(r.wake, func(fd int) { _, _ = unix.Write(fd, []byte{1, 0, 0, 0, 0, 0, 0, 0}) })
	r.mu.Lock()
	defer r.mu.Unlock()
	return errors.Join(r.f.Close(), r.wake.Close())
}

package stdio

import (
	"errors"
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
	fd     int
	out    int // see NewReader; -1 for none
	wake   int // an eventfd, readable once Close was called
	closed atomic.Bool
	lives  bool       // somebody was seen to hold the other side; of Read alone
	read   sync.Mutex // held by Read, and by Close while it closes
	look   sync.Mutex // held by HungUp, and by Close while it closes
}

// NewReader makes a Reader of f, which it closes: what f reads it reads by a
// descriptor that the runtime's poller does not know, and whose every line would
// otherwise wake a thread that waits there. A Read that waits fails with EPIPE
// when nobody reads what out writes any more, unless out is nil; close out after
// the Reader.
func NewReader(f *os.File, out *Writer) (*Reader, error) {
	fd, wake, err := private(f)
	if err != nil {
		return nil, err
	}
	r := &Reader{fd: fd, out: -1, wake: wake}
	if out != nil {
		r.out = out.fd
	}
	return r, nil
}

// Read waits until something is there, or the end, or Close, or there is nobody
// left to answer.
func (r *Reader) Read(p []byte) (int, error) {
	r.read.Lock()
	defer r.read.Unlock()
	// What is negative is passed over, and of the output errors alone are told: poll(2).
	fds := []unix.PollFd{{Fd: int32(r.fd), Events: unix.POLLIN}, {Fd: int32(r.wake), Events: unix.POLLIN}, {Fd: int32(r.out)}}
	for !r.closed.Load() {
		// A named pipe that was opened after its last writer had gone never tells
		// of a hang-up. Reading does.
		if r.lives {
			if _, err := unix.Poll(fds, -1); err != nil && !errors.Is(err, unix.EINTR) {
				return 0, os.NewSyscallError("poll", err)
			}
			if fds[0].Revents == 0 {
				if fds[2].Revents&(unix.POLLERR|unix.POLLHUP) != 0 && fds[1].Revents == 0 {
					return 0, os.NewSyscallError("write", unix.EPIPE) // as the next write would
				}
				continue
			}
		}
		n, err := unix.Read(r.fd, p)
		switch {
		case errors.Is(err, unix.EAGAIN):
			r.lives = true
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return 0, os.NewSyscallError("read", err)
		case n == 0:
			return 0, io.EOF
		default:
			return n, nil
		}
	}
	return 0, os.ErrClosed
}

// HungUp says whether the writing side is gone, even where what it wrote is not
// read yet.
func (r *Reader) HungUp() bool {
	r.look.Lock()
	defer r.look.Unlock()
	if r.closed.Load() {
		return true
	}
	fds := []unix.PollFd{{Fd: int32(r.fd)}}
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0 && fds[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0
}

// Close ends a Read under way, waits for it, and closes the descriptor.
func (r *Reader) Close() error {
	if r.closed.Swap(true) {
		return os.ErrClosed
	}
	wake(r.wake)
	r.read.Lock()
	defer r.read.Unlock()
	r.look.Lock()
	defer r.look.Unlock()
	return errors.Join(unix.Close(r.fd), unix.Close(r.wake))
}

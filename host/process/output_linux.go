package process

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// pipeSize is asked for every output pipe: with the default of 64 KiB a fast printer and its
	// reader wake each other for every piece.
	pipeSize = 1 << 20
	// readSize is the largest piece given to Spec.Output. A terminal's master gives no more than
	// the kernel's buffer of 4 KiB at a time.
	readSize, ttyReadSize = 256 << 10, 4 << 10
	// hangUp is how long the rest of a terminal's output is waited for: the kernel passes it on
	// from a work queue of its own.
	hangUp = 200 * time.Millisecond
)

var (
	buffers    = sync.Pool{New: func() any { return new([readSize]byte) }}
	ttyBuffers = sync.Pool{New: func() any { return new([ttyReadSize]byte) }}
)

// output reads what a program prints and passes it on, from one goroutine.
type output struct {
	file    *os.File // non-blocking: the read end of the pipe, or the terminal's master
	tty     bool
	deliver func([]byte)
	end     func()          // called when nothing more will be delivered
	broken  chan<- struct{} // gets an item when deliver or end panicked; it has room for it
	done    chan struct{}   // closed when the file is closed and nothing more will be delivered
	held    bool
	err     error
}

func newOutput(file *os.File, tty bool, broken chan<- struct{}, deliver func([]byte), end func()) *output {
	if deliver == nil {
		deliver = func([]byte) {}
	}
	if end == nil {
		end = func() {}
	}
	return &output{file: file, tty: tty, deliver: deliver, end: end, broken: broken, done: make(chan struct{})}
}

// run reads until the end of the output or until finish.
func (o *output) run() {
	defer close(o.done)
	defer o.guarded(func() { o.end() })
	defer o.file.Close()
	if o.tty {
		buf := ttyBuffers.Get().(*[ttyReadSize]byte)
		defer ttyBuffers.Put(buf)
		o.read(buf[:])
		return
	}
	buf := buffers.Get().(*[readSize]byte)
	defer buffers.Put(buf)
	o.read(buf[:])
}

func (o *output) read(buf []byte) {
	for {
		n, err := o.file.Read(buf)
		if n > 0 {
			o.give(buf[:n])
		}
		switch {
		case err == nil:
		case errors.Is(err, os.ErrDeadlineExceeded):
			o.drain(buf)
			return
		case o.ended(err):
			return
		default:
			o.fail(fmt.Errorf("the program's output can't be read: %w", err))
			return
		}
	}
}

// finish makes run return with what the pipe holds now, and waits for it. A pipe that others keep
// open is not waited for.
func (o *output) finish() {
	last := time.Now()
	if o.tty {
		last = last.Add(hangUp)
	}
	// An error means that run has closed the file already.
	_ = o.file.SetReadDeadline(last)
	<-o.done
}

// drain delivers what is there without waiting, which is at most one pipe full: what comes beyond
// that was printed by others than the group.
func (o *output) drain(buf []byte) {
	for total := 0; total <= pipeSize; {
		n, err := o.readNow(buf)
		if err == unix.EAGAIN {
			// A program that is being started at this moment has a copy of our write end until it
			// executes.
			syscall.ForkLock.RLock()
			//lint:ignore SA2001 it waits for that start
			syscall.ForkLock.RUnlock()
			n, err = o.readNow(buf)
		}
		if n > 0 {
			o.give(buf[:n])
			total += n
			continue
		}
		o.held = err == unix.EAGAIN
		return
	}
	o.held = true
}

// readNow reads once; n is 0 and err nil at the end of the output.
func (o *output) readNow(buf []byte) (n int, err error) {
	rc, err := o.file.SyscallConn()
	if err != nil {
		return 0, err
	}
	closed := rc.Control(func(fd uintptr) {
		n, err = retry(func() (int, error) { return unix.Read(int(fd), buf) })
	})
	if closed != nil {
		return 0, closed
	}
	return max(n, 0), err
}

// ended tells the end of the output from a failure. A terminal whose other side is closed reads EIO
// on Linux.
func (o *output) ended(err error) bool {
	return errors.Is(err, io.EOF) || o.tty && errors.Is(err, unix.EIO)
}

// give passes p on.
func (o *output) give(p []byte) { o.guarded(func() { o.deliver(p) }) }

// guarded calls the receiver. Its panic, or Goexit, ends the program but not the reading, so that
// nothing is leaked.
func (o *output) guarded(call func()) {
	returned := false
	defer func() {
		if returned {
			return
		}
		o.deliver, o.end = func([]byte) {}, func() {}
		o.fail(fmt.Errorf("the receiver of the program's output panicked: %v\n%s", recover(), debug.Stack()))
		select {
		case o.broken <- struct{}{}:
		default: // for the second time
		}
	}()
	call()
	returned = true
}

func (o *output) fail(err error) {
	if o.err == nil {
		o.err = err
	}
}

package acp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"sync"
	"syscall"
)

// MaxLine is the longest line that is read, in bytes without its terminator.
// The TypeScript SDK has the same limit.
const MaxLine = 32 << 20

// keptLine is the size up to which the buffer of a long line is kept for the
// next; a rare huge prompt must not be paid for all day.
const keptLine = 1 << 20

// Transport carries one complete line in and complete lines out. The standard
// streams of a process and [Pipe] are its two implementations.
type Transport interface {
	// ReadLine returns the next line without its terminator, valid until the
	// next call. A last line without a terminator counts. It returns
	// ErrLineTooLong for a line over MaxLine, once, after discarding it, and
	// io.EOF at the end.
	ReadLine() ([]byte, error)
	// Ready reports whether a whole line has arrived already, so that ReadLine
	// would return it without waiting. It is called between two ReadLines.
	Ready() bool
	// HungUp reports whether the other side has closed its end: no more will
	// come than has. False where it can't be told.
	HungUp() bool
	// WriteLines writes whole lines, each ended by a newline.
	WriteLines(p []byte) error
	// TryWrite writes as much of p as goes without waiting, and says how much
	// that was: 0 where it can't tell. It is never called during WriteLines.
	TryWrite(p []byte) (int, error)
	// Close ends both directions and unblocks both calls, as far as the
	// underlying streams can.
	Close() error
}

// ErrLineTooLong is returned by ReadLine for a line over MaxLine. The
// connection goes on after it.
var ErrLineTooLong = errors.New("acp: a line is longer than 32 MiB")

// NewTransport makes a Transport of a stream in and a stream out. Close closes
// both.
//
// An out that has a TryWrite method, or that is non-blocking and gives access
// to its descriptor, is written to without waiting where that is asked for.
func NewTransport(in io.ReadCloser, out io.WriteCloser) Transport {
	t := &streamTransport{in: in, out: out, r: bufio.NewReaderSize(in, 64<<10)}
	switch w := out.(type) {
	case interface{ TryWrite([]byte) (int, error) }:
		t.try = w.TryWrite
	case syscall.Conn:
		t.try = tryDescriptor(w)
	}
	return t
}

// tryDescriptor writes to a descriptor once. Where it would block, nothing is
// written.
func tryDescriptor(c syscall.Conn) func([]byte) (int, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return nil
	}
	return func(p []byte) (n int, err error) {
		closed := raw.Write(func(fd uintptr) bool {
			n, err = syscall.Write(int(fd), p)
			return true
		})
		if errors.Is(err, syscall.EAGAIN) || errors.Is(err, syscall.EINTR) {
			return 0, nil
		}
		return max(n, 0), errors.Join(closed, err)
	}
}

// streamTransport is a Transport of two streams, such as standard input and output.
// long holds a line that is longer than the reader's buffer.
type streamTransport struct {
	in   io.ReadCloser
	out  io.WriteCloser
	r    *bufio.Reader
	long []byte
	try  func([]byte) (int, error) // nil: there is no way
}

// ReadLine implements Transport.
func (t *streamTransport) ReadLine() ([]byte, error) {
	line, err := t.r.ReadSlice('\n')
	if err == nil {
		return line[:len(line)-1], nil
	}
	if !errors.Is(err, bufio.ErrBufferFull) {
		return lastLine(line, err)
	}
	if cap(t.long) > keptLine {
		t.long = nil
	}
	t.long = t.long[:0]
	for errors.Is(err, bufio.ErrBufferFull) {
		if len(t.long)+len(line) > MaxLine {
			return nil, t.discard()
		}
		t.long = append(t.long, line...)
		line, err = t.r.ReadSlice('\n')
	}
	if len(t.long)+len(line) > MaxLine+1 {
		return nil, ErrLineTooLong
	}
	t.long = append(t.long, line...)
	if err != nil {
		return lastLine(t.long, err)
	}
	return t.long[:len(t.long)-1], nil
}

// lastLine returns what came before the end of the stream; the end itself is
// returned by the next call.
func lastLine(line []byte, err error) ([]byte, error) {
	if len(line) > 0 && errors.Is(err, io.EOF) {
		return line, nil
	}
	return nil, err
}

// discard reads up to the newline that ends an overlong line. At the end of the
// stream the line still counts as one too long.
func (t *streamTransport) discard() error {
	for {
		_, err := t.r.ReadSlice('\n')
		if err == nil || errors.Is(err, io.EOF) {
			return ErrLineTooLong
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return err
		}
	}
}

func (t *streamTransport) Ready() bool {
	have, _ := t.r.Peek(t.r.Buffered())
	return bytes.IndexByte(have, '\n') >= 0
}

func (t *streamTransport) HungUp() bool {
	in, ok := t.in.(interface{ HungUp() bool })
	return ok && in.HungUp()
}

func (t *streamTransport) WriteLines(p []byte) error {
	_, err := t.out.Write(p)
	return err
}

func (t *streamTransport) TryWrite(p []byte) (int, error) {
	if t.try == nil {
		return 0, nil
	}
	return t.try(p)
}

func (t *streamTransport) Close() error {
	return errors.Join(t.in.Close(), t.out.Close()) // a Reader of package stdio looks at out
}

// Pipe returns the two ends of a connection in memory. Each direction holds
// 64 KiB, as a pipe of the operating system does, so that a side that does not
// read is felt by the other.
func Pipe() (Transport, Transport) {
	ab, ba := newMemPipe(64<<10), newMemPipe(64<<10)
	return NewTransport(ba, ab), NewTransport(ab, ba)
}

// memPipe is one direction: a bounded buffer with a blocking reader and writer.
// Closing it by either end lets the reader finish what is there.
type memPipe struct {
	mu     sync.Mutex
	cond   sync.Cond
	buf    []byte
	limit  int
	closed bool
}

func newMemPipe(limit int) *memPipe {
	p := &memPipe{limit: limit}
	p.cond.L = &p.mu
	return p
}

func (p *memPipe) Read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for len(p.buf) == 0 {
		if p.closed {
			return 0, io.EOF
		}
		p.cond.Wait()
	}
	n := copy(b, p.buf)
	p.buf = append(p.buf[:0], p.buf[n:]...)
	p.cond.Broadcast()
	return n, nil
}

func (p *memPipe) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	written := 0
	for len(b) > 0 {
		for len(p.buf) >= p.limit && !p.closed {
			p.cond.Wait()
		}
		if p.closed {
			return written, io.ErrClosedPipe
		}
		n := min(p.limit-len(p.buf), len(b))
		p.buf = append(p.buf, b[:n]...)
		b = b[n:]
		written += n
		p.cond.Broadcast()
	}
	return written, nil
}

// HungUp says whether either end was closed.
func (p *memPipe) HungUp() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// TryWrite writes what there is room for.
func (p *memPipe) TryWrite(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return 0, io.ErrClosedPipe
	}
	n := min(p.limit-len(p.buf), len(b))
	p.buf = append(p.buf, b[:n]...)
	p.cond.Broadcast()
	return n, nil
}

func (p *memPipe) Close() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	p.cond.Broadcast()
	return nil
}

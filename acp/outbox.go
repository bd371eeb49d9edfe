package acp

import (
	"context"
	"sync"
	"time"
)

const (
	// maxAnswers is how many answers may wait for the other side to read; then
	// no further line is read.
	maxAnswers = 256
	// maxWaiting is the same in bytes: a few large answers are as much as many
	// small ones.
	maxWaiting = 4 << 20
	// maxQueued is how many bytes may wait before a notification has to.
	maxQueued = 64 << 10
)

// outbox is the one way out: whole lines, in order. What goes without waiting
// is written at once; the rest by one goroutine. Notifications wait for room;
// answers never wait, they hold back the reader.
type outbox struct {
	write func([]byte) error
	try   func([]byte) (int, error)

	mu      sync.Mutex
	buf     []byte        // lines that wait
	answers int           // answers among them and in the write under way
	busy    bool          // a write is under way
	moved   chan struct{} // closed and replaced whenever a write ends
	err     error         // set once: nothing is written any more

	wake   chan struct{} // capacity 1
	closed chan struct{} // closed with err
	ended  chan struct{} // closed when the writer goroutine has ended
}

func newOutbox(t Transport) *outbox {
	return &outbox{
		write:  t.WriteLines,
		try:    t.TryWrite,
		moved:  make(chan struct{}),
		wake:   make(chan struct{}, 1),
		closed: make(chan struct{}),
		ended:  make(chan struct{}),
	}
}

// run writes what is put until close; its owner waits for ended.
func (o *outbox) run() {
	defer close(o.ended)
	var spare []byte
	for {
		select {
		case <-o.wake:
		case <-o.closed:
			return
		}
		o.mu.Lock()
		out, answers := o.buf, o.answers
		if len(out) == 0 { // went with the last write
			o.mu.Unlock()
			continue
		}
		o.buf, o.busy = spare[:0], true
		o.mu.Unlock()

		err := o.write(out)

		o.mu.Lock()
		spare = out
		if cap(spare) > 2*maxQueued {
			spare = nil
		}
		o.answers -= answers
		o.busy = false
		close(o.moved)
		o.moved = make(chan struct{})
		o.mu.Unlock()
		if err != nil {
			o.close(err)
			return
		}
	}
}

// put queues lines without waiting.
func (o *outbox) put(lines []byte, answers int) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err != nil {
		return o.err
	}
	return o.append(lines, answers)
}

// append writes lines, or queues what can't be written at once; the caller
// holds the lock.
func (o *outbox) append(lines []byte, answers int) error {
	if len(o.buf) == 0 && !o.busy {
		n, err := o.try(lines)
		if err != nil {
			o.fail(err)
			return err
		}
		if n == len(lines) {
			return nil
		}
		lines = lines[n:]
	}
	o.buf = append(o.buf, lines...)
	o.answers += answers
	select {
	case o.wake <- struct{}{}:
	default:
	}
	return nil
}

// putWhenRoom queues a line as soon as less than maxQueued bytes wait.
func (o *outbox) putWhenRoom(ctx context.Context, line []byte) error {
	for {
		o.mu.Lock()
		if o.err != nil {
			defer o.mu.Unlock()
			return o.err
		}
		if len(o.buf) < maxQueued {
			defer o.mu.Unlock()
			return o.append(line, 0)
		}
		moved := o.moved
		o.mu.Unlock()
		if err := o.wait(ctx, moved); err != nil {
			return err
		}
	}
}

// answersFull says whether the reader has to wait.
func (o *outbox) answersFull() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return (o.answers >= maxAnswers || len(o.buf) > maxWaiting) && o.err == nil
}

// hangUpLook is how often a side that does not read is looked at: there is no
// event for its going away while its last lines are unread.
const hangUpLook = 50 * time.Millisecond

// waitAnswers returns true when fewer than maxAnswers answers wait, or at close;
// false when the other side has gone without reading them.
func (o *outbox) waitAnswers(gone func() bool) bool {
	look := time.NewTicker(hangUpLook)
	defer look.Stop()
	for {
		o.mu.Lock()
		moved := o.moved
		o.mu.Unlock()
		if !o.answersFull() {
			return true
		}
		select {
		case <-moved:
		case <-o.closed:
		case <-look.C:
			if gone() {
				return false
			}
		}
	}
}

// drain returns when everything put has been written.
func (o *outbox) drain(ctx context.Context) error {
	for {
		o.mu.Lock()
		if o.err != nil {
			defer o.mu.Unlock()
			return o.err
		}
		empty, moved := len(o.buf) == 0 && !o.busy, o.moved
		o.mu.Unlock()
		if empty {
			return nil
		}
		if err := o.wait(ctx, moved); err != nil {
			return err
		}
	}
}

func (o *outbox) wait(ctx context.Context, moved <-chan struct{}) error {
	select {
	case <-moved:
		return nil
	case <-o.closed:
		return ErrClosed
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// close ends the outbox; what waits is dropped. The first error stays.
func (o *outbox) close(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.fail(err)
}

// fail is close for a caller that holds the lock.
func (o *outbox) fail(err error) {
	if o.err != nil {
		return
	}
	o.err = err
	o.buf = nil
	close(o.closed)
}

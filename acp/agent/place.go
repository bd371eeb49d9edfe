package agent

import (
	"context"
	"slices"
	"sync"
	"time"
)

// queueNotice is how long a turn waits before it says so.
const queueNotice = time.Second

// place is the one place where a program runs. Turns queue for it.
type place struct {
	mu      sync.Mutex
	holder  string // the command line that holds it; "" when free
	queue   []*waiter
	changes int // write and destroy commands that ended
}

type waiter struct {
	line  string
	ready chan struct{} // closed when the place is this waiter's
}

// take waits for the place. front puts the turn before all that wait. slow is
// called once, with the holder's command line, when it takes longer than
// queueNotice. The error is ctx's cause.
func (p *place) take(ctx context.Context, line string, front bool, slow func(holder string)) error {
	p.mu.Lock()
	if p.holder == "" {
		p.holder = line
		p.mu.Unlock()
		return nil
	}
	w := &waiter{line: line, ready: make(chan struct{})}
	if front {
		p.queue = slices.Insert(p.queue, 0, w)
	} else {
		p.queue = append(p.queue, w)
	}
	p.mu.Unlock()
	notice := time.NewTimer(queueNotice)
	defer notice.Stop()
	for {
		select {
		case <-w.ready:
			return nil
		case <-notice.C:
			slow(p.holding())
		case <-ctx.Done():
			p.leave(w)
			return context.Cause(ctx)
		}
	}
}

func (p *place) holding() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.holder
}

// leave takes a waiter out of the queue, or passes the place on where it has
// just become this waiter's.
func (p *place) leave(w *waiter) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if i := slices.Index(p.queue, w); i >= 0 {
		p.queue = slices.Delete(p.queue, i, i+1)
		return
	}
	p.next()
}

// release gives the place to the next turn. changed says that a write or
// destroy command ran.
func (p *place) release(changed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if changed {
		p.changes++
	}
	p.next()
}

// next hands the place over; the caller holds the lock.
func (p *place) next() {
	if len(p.queue) == 0 {
		p.holder = ""
		return
	}
	w := p.queue[0]
	p.queue = p.queue[1:]
	p.holder = w.line
	close(w.ready)
}

// changed counts the write and destroy commands that ended so far.
func (p *place) changed() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changes
}

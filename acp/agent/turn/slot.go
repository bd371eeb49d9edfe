package turn

import (
	"context"
	"slices"
	"sync"
	"time"
)

// queueNotice is how long a turn waits before it says so.
const queueNotice = time.Second

// Slot is the run slot: one program runs in it at a time, because an environment takes
// one command at a time. Turns queue for it. The zero value is free.
type Slot struct {
	mu      sync.Mutex
	holder  string // the command line that holds it; "" when free
	queue   []*waiter
	changes int // write and destroy commands that ended
}

// waiter is a turn in the queue.
type waiter struct {
	line  string
	ready chan struct{} // closed when the slot is this waiter's
}

// take waits for the slot. front puts the turn before all that wait. slow is
// called once, with the holder's command line, when it takes longer than
// queueNotice. The error is ctx's cause.
func (s *Slot) take(ctx context.Context, line string, front bool, slow func(holder string)) error {
	s.mu.Lock()
	if s.holder == "" {
		s.holder = line
		s.mu.Unlock()
		return nil
	}
	w := &waiter{line: line, ready: make(chan struct{})}
	if front {
		s.queue = slices.Insert(s.queue, 0, w)
	} else {
		s.queue = append(s.queue, w)
	}
	s.mu.Unlock()
	notice := time.NewTimer(queueNotice)
	defer notice.Stop()
	for {
		select {
		case <-w.ready:
			return nil
		case <-notice.C:
			slow(s.holding())
		case <-ctx.Done():
			s.leave(w)
			return context.Cause(ctx)
		}
	}
}

func (s *Slot) holding() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.holder
}

// leave takes a waiter out of the queue, or passes the slot on where it has
// just become this waiter's.
func (s *Slot) leave(w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.queue, w); i >= 0 {
		s.queue = slices.Delete(s.queue, i, i+1)
		return
	}
	s.next()
}

// release gives the slot to the next turn. changed says that a write or
// destroy command ran.
func (s *Slot) release(changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if changed {
		s.changes++
	}
	s.next()
}

// next hands the slot over; the caller holds the lock.
func (s *Slot) next() {
	if len(s.queue) == 0 {
		s.holder = ""
		return
	}
	w := s.queue[0]
	s.queue = s.queue[1:]
	s.holder = w.line
	close(w.ready)
}

// changed counts the write and destroy commands that ended so far.
func (s *Slot) changed() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changes
}

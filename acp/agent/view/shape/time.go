package shape

import "time"

// lock is a mutex for a holder that may wait long, for a client. As a
// channel it lets testing/synctest see that those who wait for it are idle.
type lock chan struct{}

func (l lock) Lock()   { l <- struct{}{} }
func (l lock) Unlock() { <-l }

// sending is one call of Emit.
type sending struct {
	done    chan error
	atStart bool // once the call succeeded: what is on the wire ends with its line
	bytes   int64
}

// send hands one update to Emit and waits for it, or for Abandon. Emit runs in a
// goroutine of its own, because only so can Abandon free a program whose output
// waits for a client that does not read.
func (s *Shaper) send(text string) {
	if !s.showing() {
		return
	}
	c := &sending{done: make(chan error, 1), atStart: s.block.atStart, bytes: s.taken}
	s.emits.Go(func() { c.done <- s.cfg.Emit(text) })
	select {
	case err := <-c.done:
		s.sent(c, err)
	case <-s.abandoned:
		s.inFlight = c
	}
	s.lastSent = time.Now()
}

func (s *Shaper) sent(c *sending, err error) {
	if err != nil {
		s.err = err
		return
	}
	s.wireAtStart, s.onWire = c.atStart, c.bytes
}

// toWire throws away what was not sent: the block goes on where the client is.
func (s *Shaper) toWire() {
	if s.inFlight != nil {
		select {
		case err := <-s.inFlight.done:
			s.sent(s.inFlight, err)
		default:
		}
		s.inFlight = nil
	}
	s.block.drop()
	s.block.atStart = s.wireAtStart
}

// plan says after a Write what is to happen when, and sends what is due.
func (s *Shaper) plan(now time.Time) {
	s.restAt = time.Time{}
	if len(s.src.Pending()) > 0 {
		if s.movesFor.IsZero() {
			s.movesFor = now
		}
		s.restAt = now.Add(restAfter)
		if moving := s.movesFor.Add(movingEvery); s.cfg.Mode == Text && moving.Before(s.restAt) {
			s.restAt = moving
		}
	}
	if s.headFull {
		s.statusAt = now.Add(progressEvery)
	}
	s.batch(now)
	s.schedule(now)
}

// batch sends the waiting batch if the last update is long enough ago.
func (s *Shaper) batch(now time.Time) {
	s.flushAt = time.Time{}
	if s.block.empty() {
		return
	}
	if now.Sub(s.lastSent) < s.cfg.Interval {
		s.flushAt = s.lastSent.Add(s.cfg.Interval)
		return
	}
	s.block.flush()
}

// status puts the line of progress that stands for output that is not shown.
func (s *Shaper) status(now time.Time) {
	s.statusAt = now.Add(progressEvery)
	if s.bytes == s.reported {
		return
	}
	s.reported = s.bytes
	s.block.note(s.progressNote())
	s.block.flush()
}

// tick does what is due; it may come early, when what it was armed for was put off.
func (s *Shaper) tick() {
	defer s.ticks.Done()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.armedFor = time.Time{}
	if !s.showing() {
		return
	}
	now := time.Now()
	if isDue(s.restAt, now) {
		s.restAt = time.Time{}
		s.putPending()
		s.taken = s.bytes
	}
	if isDue(s.statusAt, now) {
		s.status(now)
	}
	s.batch(now)
	s.schedule(now)
}

func isDue(t, now time.Time) bool { return !t.IsZero() && !t.After(now) }

// schedule arms the timer for what is due next.
func (s *Shaper) schedule(now time.Time) {
	var due time.Time
	for _, t := range []time.Time{s.flushAt, s.restAt, s.statusAt} {
		if due.IsZero() || !t.IsZero() && t.Before(due) {
			due = t
		}
	}
	armed := !s.armedFor.IsZero() && !due.Before(s.armedFor)
	if due.IsZero() || armed || !s.showing() {
		return
	}
	s.armedFor = due
	if s.timer == nil {
		s.ticks.Add(1)
		s.timer = time.AfterFunc(due.Sub(now), s.tick)
	} else if !s.timer.Reset(due.Sub(now)) {
		s.ticks.Add(1)
	}
}

// stop disarms the timer for good; ticks.Wait then waits for a running one.
func (s *Shaper) stop() {
	s.stopped = true
	if s.timer != nil && s.timer.Stop() {
		s.ticks.Done()
	}
}

func (s *Shaper) isAbandoned() bool {
	select {
	case <-s.abandoned:
		return true
	default:
		return false
	}
}

// Abandon stops showing at once, for a cancel while the client does not read:
// a blocked Write, Break or Finish goes on, and what was not sent is dropped.
// Output is still counted. It does not wait for an Emit that blocks.
func (s *Shaper) Abandon() {
	s.abandon.Do(func() { close(s.abandoned) })
	s.mu.Lock()
	s.stop()
	s.block.drop()
	s.mu.Unlock()
	s.ticks.Wait()
}

// Wait waits for a call of Emit that Abandon left behind. It may be called after
// Finish or Abandon. Called between Abandon and Finish it makes sure that Finish
// knows whether that last update arrived.
func (s *Shaper) Wait() { s.emits.Wait() }

package agent

import (
	"context"
	"slices"
	"time"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent/view"
)

// freeLook is how long to wait for the lock of a thread that may be busy.
const freeLook = 50 * time.Millisecond

// closeLast ends the last turn of the thread where a crash left it open. It runs
// on the reading goroutine and waits for nobody: who has the wire may wait for
// the client to read, and is a turn of this process, or a load, which looks by
// itself.
func (s *session) closeLast() {
	if !s.wire.TryLock() {
		return
	}
	defer s.wire.Unlock()
	ctx := context.Background()
	var p view.Past
	next, err := s.conn.agent.o.Store.Read(ctx, s.id, LastTurn, p.Add)
	if err == nil {
		err = s.closeTorn(ctx, &p, next)
	}
	s.noteCancelled(p.Events)
	if err != nil { // who reads all of it says so
		s.conn.agent.o.Log.Warn().Err(err).Str("session", s.id).Msg("the end of a thread was not looked at")
	}
}

// closeTorn ends the turns that a crash left open, unless another process is at
// it. p is the thread as it was read up to position.
func (s *session) closeTorn(ctx context.Context, p *view.Past, position int64) error {
	if len(s.torn(p)) == 0 {
		return nil
	}
	now, cancel := context.WithTimeout(ctx, freeLook)
	defer cancel()
	release, err := s.conn.agent.o.Store.Lock(now, s.id)
	if err != nil {
		return nil // it is running elsewhere, or nothing can be written
	}
	defer release()
	// What seemed open may have ended since it was read.
	if _, err := s.conn.agent.o.Store.Read(ctx, s.id, position, p.Add); err != nil {
		return err
	}
	ends := s.torn(p)
	if len(ends) == 0 {
		return nil
	}
	_ = s.write(ends)
	for _, e := range ends {
		_ = p.Add(e)
	}
	return nil
}

// torn makes the ends of the turns that have none and are not this session's
// own. What they ran last is when they are taken to have ended.
func (s *session) torn(p *view.Past) []Event {
	s.mu.Lock()
	running := s.turn
	s.mu.Unlock()
	var ends []Event
	for _, e := range p.Events {
		at := slices.IndexFunc(ends, func(end Event) bool { return end.Turn == e.Turn })
		switch {
		case at < 0 && e.Kind != EventEnd && e.Kind != EventGap && (running == nil || e.Turn != running.id):
			// Most often its prompt; what is left out of a long turn began with one.
			ends = append(ends, Event{
				Kind: EventEnd, Time: e.Time, Turn: e.Turn,
				End: &EndEvent{Reason: acp.StopCancelled, State: view.StateInterrupted},
			})
		case e.Kind == EventGap: // which may have taken the ends of those before it
			for i := range ends {
				if ends[i].Turn != e.Turn {
					ends[i].End.Reason, ends[i].End.State = acp.StopEndTurn, view.StateUnknown
				}
			}
		case at < 0:
		case e.Kind == EventEnd:
			ends = slices.Delete(ends, at, at+1)
		default:
			ends[at].Time = e.Time
			if e.Kind == EventCall && e.Call != nil {
				ends[at].End.Line = e.Call.CommandLine()
			}
		}
	}
	return ends
}

// noteCancelled takes note of the line that was cancelled last, with nothing asked
// since; events are the end of the thread.
func (s *session) noteCancelled(events []Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		return
	}
	s.cancelled = ""
	if n := len(events); n > 0 && events[n-1].Kind == EventEnd && events[n-1].End != nil && events[n-1].End.State == view.StateCancelled {
		s.cancelled = events[n-1].End.Line
	}
}

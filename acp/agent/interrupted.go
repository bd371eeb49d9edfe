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

// endLast ends the last turn of the thread where a crash left it open. It runs
// on the reading goroutine and waits for nobody: who has the wire may wait for
// the client to read, and is a turn of this process, or a load, which looks by
// itself.
func (s *session) endLast() {
	if !s.Wire.TryLock() {
		return
	}
	defer s.Wire.Unlock()
	ctx := context.Background()
	var p view.Past
	next, err := s.conn.agent.o.Store.Read(ctx, s.ID, LastTurn, p.Add)
	if err == nil {
		err = s.endInterrupted(ctx, &p, next)
	}
	s.NoteCancelled(p.Events)
	if err != nil { // loading the whole thread reports damage
		s.conn.agent.o.Log.Warn().Err(err).Str("session", s.ID).Msg("the end of a thread was not looked at")
	}
}

// endInterrupted ends the turns that a crash left open, unless another process is at
// it. p is the thread as it was read up to position.
func (s *session) endInterrupted(ctx context.Context, p *view.Past, position int64) error {
	if len(s.unended(p)) == 0 {
		return nil
	}
	now, cancel := context.WithTimeout(ctx, freeLook)
	defer cancel()
	release, err := s.conn.agent.o.Store.Lock(now, s.ID)
	if err != nil {
		return nil // it is running elsewhere, or nothing can be written
	}
	defer release()
	// What seemed open may have ended since it was read.
	if _, err := s.conn.agent.o.Store.Read(ctx, s.ID, position, p.Add); err != nil {
		return err
	}
	ends := s.unended(p)
	if len(ends) == 0 {
		return nil
	}
	_ = s.kept.Write(ends)
	for _, e := range ends {
		_ = p.Add(e)
	}
	return nil
}

// unended makes the ends of the turns that have none and are not this session's
// own. What they ran last is when they are taken to have ended.
func (s *session) unended(p *view.Past) []Event {
	running := s.Running()
	var ends []Event
	for _, e := range p.Events {
		at := slices.IndexFunc(ends, func(end Event) bool { return end.Turn == e.Turn })
		switch {
		case at < 0 && e.Kind != EventEnd && e.Kind != EventGap && e.Turn != running:
			// Most often its prompt; what is left out of a long turn began with one.
			ends = append(ends, Event{
				Kind: EventEnd, Time: e.Time, Turn: e.Turn,
				End: &EndEvent{Reason: acp.StopCancelled, State: view.StateInterrupted},
			})
		case e.Kind == EventGap: // the ends of earlier turns may be lost in the gap
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

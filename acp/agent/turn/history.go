package turn

import (
	"context"
	"strconv"
	"strings"

	"github.com/chant-acp/chant-acp/acp/agent/view"
)

// codesNotKept marks the codes that no other process can come to know; the
// caller holds the session's lock.
func (s *Thread) codesNotKept(events []view.Event) {
	for _, e := range events {
		if e.Code == nil {
			continue
		}
		if p, ok := s.pending[e.Code.Code]; ok {
			p.unkept = true
			s.pending[e.Code.Code] = p
		}
	}
}

// apply takes an event of the past into what is known of the session.
func (s *Thread) apply(e view.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case e.Kind == view.EventEnd && e.End != nil && e.End.Line != "":
		s.history = append(s.history, entry{line: e.End.Line, state: e.End.State, ran: e.End.Ran, at: e.Time, took: e.End.Took, client: e.Client})
		if len(s.history) > 2*maxHistory {
			s.sortHistory()
		}
	case e.Kind == view.EventCode && e.Code != nil && e.Code.Subject != nil:
		s.guesses = 0
		s.pending[e.Code.Code] = pendingConfirm{
			words: e.Code.Words, env: e.Code.Environment, asked: asked{subject: *e.Code.Subject, at: e.Time}, until: e.Code.Until,
		}
	case e.Kind == view.EventUsed:
		s.use(e.Text)
	}
}

// catchUp takes note of what other processes did in this thread.
func (s *Thread) catchUp(ctx context.Context) {
	if s.log == nil {
		return
	}
	s.log.Follow(ctx, func(e view.Event) {
		if !s.own(e.Turn) {
			s.apply(e)
		}
	}, view.EventEnd, view.EventCode, view.EventUsed)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sortHistory()
}

// own says whether this Thread ran the turn: what it did it knows without reading.
// A session that was closed and opened again is another.
func (s *Thread) own(turn string) bool {
	count, ok := strings.CutPrefix(turn, s.conn.instance()+".")
	n, err := strconv.ParseUint(count, 10, 64)
	return ok && err == nil && n > s.after
}

// write keeps events. The error is for who has to know at once.
func (s *Thread) write(events []view.Event) error {
	if s.log == nil {
		return nil
	}
	err := s.log.Write(events)
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.codesNotKept(events)
	}
	return err
}

// NoteCancelled takes note of the line that was cancelled last, with nothing asked
// since; events are the end of the thread.
func (s *Thread) NoteCancelled(events []view.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		return
	}
	s.cancelled = ""
	if n := len(events); n > 0 && events[n-1].Kind == view.EventEnd && events[n-1].End != nil && events[n-1].End.State == view.StateCancelled {
		s.cancelled = events[n-1].End.Line
	}
}

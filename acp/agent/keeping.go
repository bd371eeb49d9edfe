package agent

import (
	"cmp"
	"context"
	"errors"
	"slices"

	"github.com/chant-acp/chant-acp/acp/agent/view"
)

// keeping is what is known of how well a thread is kept; the session's lock
// guards it.
type keeping struct {
	// lost says why nothing is kept at the moment.
	lost error
	// unlocked and unread say why nothing may be kept: a turn without the lock may
	// meet another, and what is damaged is left as it is.
	unlocked, unread error
	unmade           bool  // the store does not know the session
	gap              bool  // something was not kept since the last event that was
	missed           error // why that was, where more was kept afterwards

	toldLost, toldMissed bool
}

// write appends events. That they can't be kept does not end a turn; the client
// is told; the error is for who has to know at once.
//
// Where something was not kept, a gap says so in the thread before it goes on.
// Output alone does not close a gap: it would read as if it were all, and a
// thread that is full has room for other things only.
func (s *session) write(events []Event) error {
	store := s.conn.agent.o.Store
	if store == nil {
		return nil
	}
	s.mu.Lock()
	k := s.keeping
	s.mu.Unlock()
	err := cmp.Or(k.unlocked, k.unread)
	if err == nil && k.gap && !slices.ContainsFunc(events, func(e Event) bool { return e.Kind != EventOutput }) {
		err = k.lost
	}
	if err == nil && k.unmade {
		s.mu.Lock()
		made := s.record()
		s.mu.Unlock()
		err = store.Create(context.Background(), made)
	}
	if err == nil {
		if k.gap {
			events = append([]Event{{Kind: EventGap, Time: events[0].Time, Turn: events[0].Turn}}, events...)
		}
		durable := slices.ContainsFunc(events, func(e Event) bool { return e.Kind == EventCode || e.Kind == EventUsed })
		err = store.Append(context.Background(), s.id, durable, events...)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.keeping.gap = true
		s.notKept(err)
		s.codesNotKept(events)
		return err
	}
	if s.keeping.lost != nil {
		s.keeping.missed = s.keeping.lost
	}
	s.keeping.lost, s.keeping.gap, s.keeping.unmade = nil, false, false
	return nil
}

// notKept notes why the thread is not kept, the first reason counting; the
// caller holds the session's lock.
func (s *session) notKept(err error) {
	if s.keeping.lost == nil {
		s.keeping.lost = err
	}
}

// notMade notes that the store does not know the session. It is made later, where
// that is possible then.
func (s *session) notMade(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.keeping.unmade, s.keeping.gap = true, true
	s.notKept(err)
}

// missed notes that something beside the events was not kept.
func (s *session) missed(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.keeping.missed == nil {
		s.keeping.missed = err
	}
}

// bar notes why nothing may be kept, in one of keeping's fields; nil: it may.
func (s *session) bar(by *error, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err != nil {
		s.notKept(err)
	}
	if errors.Is(err, ErrUnknownSession) {
		err = nil // who writes next finds that out, or makes it
	}
	*by = err
}

// lossText is what the client is told, once, of how its thread is kept; "" where
// there is no news. The caller holds the session's lock.
func (s *session) lossText() string {
	k := &s.keeping
	switch {
	case k.lost != nil && k.toldLost, k.lost == nil && !k.toldLost && (k.missed == nil || k.toldMissed):
		return ""
	case k.lost != nil:
		k.toldLost = true
		return "\nThis thread is not being kept, and what happens in it now can't be shown again later: " + view.Sentence(k.lost.Error()) + "\n"
	case k.toldLost:
		k.toldLost, k.missed = false, nil
		return "\nThis thread is being kept again, without what happened in between.\n"
	}
	k.toldMissed = true
	return "\nNot all of this turn was kept in its thread: " + view.Sentence(k.missed.Error()) + "\n"
}

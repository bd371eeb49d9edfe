package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/chant-acp/chant-acp/acp/agent/turn"
	"github.com/chant-acp/chant-acp/acp/agent/view"
)

// keptThread keeps a session in the store; it implements turn.Log.
type keptThread struct {
	session *session
	store   Store
	o       *Options

	delivering sync.Mutex // held while TurnEnded is called: it hears of turns in order

	mu       sync.Mutex
	position int64          // how far what other processes did is known
	ended    [][]view.Event // turns that TurnEnded has not heard of

	// lost says why nothing is kept at the moment.
	lost error
	// unlocked and unread say why nothing may be kept: a turn without the lock may
	// meet another, and what is damaged is left as it is.
	unlocked, unread error
	uncreated        bool  // the store does not know the session
	gap              bool  // something was not kept since the last event that was
	missed           error // why that was, where more was kept afterwards

	warnedLost, warnedMissed bool
}

var _ turn.Log = (*keptThread)(nil)

// create makes the session in the store. Where that is not possible, it is made
// with the first events, if it is possible then.
func (k *keptThread) create() {
	err := k.store.Create(context.Background(), k.session.record())
	if err == nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.uncreated, k.gap = true, true
	k.notKept(err)
}

// Write implements turn.Log.
//
// Where something was not kept, a gap says so in the thread before it goes on.
// Output alone does not close a gap: it would read as if it were all, and a
// thread that is full has room for other things only.
func (k *keptThread) Write(events []Event) error {
	k.mu.Lock()
	err, gap, unmade := cmp.Or(k.unlocked, k.unread), k.gap, k.uncreated
	if err == nil && gap && !slices.ContainsFunc(events, func(e Event) bool { return e.Kind != EventOutput }) {
		err = k.lost
	}
	k.mu.Unlock()
	if err == nil && unmade {
		err = k.store.Create(context.Background(), k.session.record())
	}
	if err == nil {
		if gap {
			events = append([]Event{{Kind: EventGap, Time: events[0].Time, Turn: events[0].Turn}}, events...)
		}
		durable := slices.ContainsFunc(events, func(e Event) bool { return e.Kind == EventCode || e.Kind == EventUsed })
		err = k.store.Append(context.Background(), k.session.ID, durable, events...)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.gap = true
		k.notKept(err)
		return err
	}
	if k.lost != nil {
		k.missed = k.lost
	}
	k.lost, k.gap, k.uncreated = nil, false, false
	return nil
}

// notKept notes why the thread is not kept, the first reason counting; the
// caller holds the lock.
func (k *keptThread) notKept(err error) {
	if k.lost == nil {
		k.lost = err
	}
}

// forbid notes why nothing may be kept, in one of the fields for that; nil: it may.
func (k *keptThread) forbid(by *error, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil {
		k.notKept(err)
	}
	if errors.Is(err, ErrUnknownSession) {
		err = nil // the next Write finds that the session is gone, or creates it
	}
	*by = err
}

// noteRead notes that the thread could be read, or why not.
func (k *keptThread) noteRead(err error) { k.forbid(&k.unread, err) }

// Lock implements turn.Log.
func (k *keptThread) Lock(ctx context.Context) (release func(), err error) {
	release, err = k.store.Lock(ctx, k.session.ID)
	var held *SessionHeldError
	switch {
	case err == nil:
		k.forbid(&k.unlocked, nil)
		return release, nil
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case errors.As(err, &held):
		return nil, fmt.Errorf("nothing was run: process %d runs a command in this thread. Wait for it to end, or start a new thread", held.PID)
	}
	k.forbid(&k.unlocked, err)
	return nil, nil
}

// Follow implements turn.Log. An error leaves things as they are known.
func (k *keptThread) Follow(ctx context.Context, f func(Event), kinds ...EventKind) {
	k.mu.Lock()
	from := k.position
	k.mu.Unlock()
	next, err := k.store.Read(ctx, k.session.ID, from, func(e Event) error {
		f(e)
		return nil
	}, kinds...)
	if err == nil || ctx.Err() == nil {
		k.noteRead(err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.position = next
}

// Named implements turn.Log: it keeps a changed record.
func (k *keptThread) Named() {
	r := k.session.record()
	if kept, err := k.store.Get(context.Background(), r.ID); err == nil {
		r.Cwd = kept.Cwd // another process may have found the folder elsewhere,
		if kept.Title != "" && (!kept.Typed || r.Typed) {
			r.Title, r.Typed = kept.Title, kept.Typed // or run the first command
		}
	}
	err := k.store.Update(context.Background(), r)
	k.mu.Lock()
	defer k.mu.Unlock()
	if err != nil && k.missed == nil {
		k.missed = err
	}
}

// Observed implements turn.Log.
func (k *keptThread) Observed() bool {
	return k.o.TurnEnded != nil && (k.o.TurnsWanted == nil || k.o.TurnsWanted(k.session.Dir()))
}

// Ended implements turn.Log.
func (k *keptThread) Ended(events []Event) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.ended = append(k.ended, events)
}

// Deliver implements turn.Log.
func (k *keptThread) Deliver() {
	k.delivering.Lock()
	defer k.delivering.Unlock()
	for {
		r := k.session.record()
		k.mu.Lock()
		if len(k.ended) == 0 {
			k.mu.Unlock()
			return
		}
		events := k.ended[0]
		k.ended = k.ended[1:]
		k.mu.Unlock()
		k.o.TurnEnded(r, events)
	}
}

// closed tells that the client is done with the session.
func (k *keptThread) closed() {
	if k.o.SessionEnded == nil || !k.Observed() {
		return
	}
	k.Deliver()
	k.delivering.Lock()
	defer k.delivering.Unlock()
	k.o.SessionEnded(k.session.record())
}

// Warning implements turn.Log.
func (k *keptThread) Warning() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case k.lost != nil && k.warnedLost, k.lost == nil && !k.warnedLost && (k.missed == nil || k.warnedMissed):
		return ""
	case k.lost != nil:
		k.warnedLost = true
		return "\nThis thread is not being kept, and what happens in it now can't be shown again later: " + view.Sentence(k.lost.Error()) + "\n"
	case k.warnedLost:
		k.warnedLost, k.missed = false, nil
		return "\nThis thread is being kept again, without what happened in between.\n"
	}
	k.warnedMissed = true
	return "\nNot all of this turn was kept in its thread: " + view.Sentence(k.missed.Error()) + "\n"
}

package gateway

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/chant-acp/chant-acp/host/subject"
)

const (
	// maxKey is the longest idempotency key, in bytes.
	maxKey = 200
	// keptKeys is how many keys are remembered: the newest of those whose call has
	// ended, and all others.
	keptKeys = 1024
)

// once remembers how the calls of idempotency keys ended, so that a client that
// asks again, because it does not know what became of its call, runs nothing
// twice. It remembers for the life of the gateway.
type once struct {
	mu   sync.Mutex
	keys map[string]*keyed
	over []string // keys of calls that have ended, the oldest first
}

// keyed is the call of a key.
type keyed struct {
	cwd, line string
	done      chan struct{} // closed when the rest is final
	outcome   Outcome
	err       error
	ran       subject.Subject // with files of the project as it left them
	began     time.Time
}

// lineWork is what a call does: subject is what it would run now, by its bytes.
type lineWork struct {
	subject func() (subject.Subject, error)
	run     func() (Outcome, error)
}

var (
	errKeyTooLong = errors.New("the idempotencyKey is longer than 200 bytes")
	errKeyReused  = errors.New("the idempotencyKey was used for another line: take a new one for each line that is to run")
	errKeyChanged = errors.New("nothing was run: the first call of this idempotencyKey ran something else than the line would run now; take a new key to run it")
	errKeyFailed  = errors.New("the first call of this idempotencyKey failed in the gateway; its log says more")
)

// do runs a line, or returns how it ended when it ran for the same key; a call that
// still runs is waited for. What was refused ran nothing, and neither did what is
// an error: their keys are free again. Where the line would run something else now
// than it did, that is no repeat: it is an error that says what changed.
func (o *once) do(ctx context.Context, key, cwd, line string, w lineWork) (Outcome, error) {
	if key == "" {
		return w.run()
	}
	if len(key) > maxKey {
		return Outcome{}, errKeyTooLong
	}
	call, first := o.enter(key, cwd, line)
	if !first {
		if call.cwd != cwd || call.line != line {
			return Outcome{}, errKeyReused
		}
		select {
		case <-call.done:
			return call.again(w)
		case <-ctx.Done():
			return Outcome{}, context.Cause(ctx)
		}
	}
	call.err = errKeyFailed // stays where run panics
	defer o.leave(key, call)
	call.began = time.Now()
	before, unread := w.subject()
	call.outcome, call.err = w.run()
	if unread == nil { // else it was refused, or nothing is the same
		if after, err := w.subject(); err == nil {
			before = before.Ended(after)
		}
		call.ran = before
	}
	return call.outcome, call.err
}

// again is the answer to a repeat of a call that is over.
func (c *keyed) again(w lineWork) (Outcome, error) {
	if c.err != nil || c.outcome.Outcome == "refused" {
		return c.outcome, c.err // nothing ran
	}
	now, err := w.subject()
	if err != nil {
		return Outcome{}, fmt.Errorf("%w: what the line would run now can't be read: %w", errKeyChanged, err)
	}
	if what := subject.Compare(c.ran, now, c.began, "the first call"); what != "" {
		return Outcome{}, fmt.Errorf("%w: %s", errKeyChanged, what)
	}
	return c.outcome, nil
}

// enter returns the call of a key, and whether it is new.
func (o *once) enter(key, cwd, line string) (call *keyed, first bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if call, ok := o.keys[key]; ok {
		return call, false
	}
	if o.keys == nil {
		o.keys = make(map[string]*keyed)
	}
	call = &keyed{cwd: cwd, line: line, done: make(chan struct{})}
	o.keys[key] = call
	return call, true
}

// leave keeps how a call ended.
func (o *once) leave(key string, call *keyed) {
	o.mu.Lock()
	defer o.mu.Unlock()
	close(call.done)
	if call.err != nil || call.outcome.Outcome == "refused" {
		delete(o.keys, key)
		return
	}
	o.over = append(o.over, key)
	if len(o.over) > keptKeys {
		delete(o.keys, o.over[0])
		o.over = slices.Delete(o.over, 0, 1)
	}
}

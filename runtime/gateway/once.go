package gateway

import (
	"context"
	"errors"
	"slices"
	"sync"
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
}

var (
	errKeyTooLong = errors.New("the idempotencyKey is longer than 200 bytes")
	errKeyReused  = errors.New("the idempotencyKey was used for another line: take a new one for each line that is to run")
	errKeyFailed  = errors.New("the first call of this idempotencyKey failed in the gateway; its log says more")
)

// do runs a line, or returns how it ended when it ran for the same key; a call that
// still runs is waited for. What was refused ran nothing, and neither did what is
// an error: their keys are free again.
func (o *once) do(ctx context.Context, key, cwd, line string, run func() (Outcome, error)) (Outcome, error) {
	if key == "" {
		return run()
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
			return call.outcome, call.err
		case <-ctx.Done():
			return Outcome{}, context.Cause(ctx)
		}
	}
	call.err = errKeyFailed // where run panics
	defer o.leave(key, call)
	call.outcome, call.err = run()
	return call.outcome, call.err
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

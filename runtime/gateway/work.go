package gateway

import (
	"context"
	"errors"
	"sync"
	"time"
)

// work is everything that Stop waits for.
type work struct {
	mu    sync.RWMutex
	ended bool
	sync.WaitGroup
}

// enter begins something, unless Stop has begun to wait. Done ends it.
func (w *work) enter() bool {
	w.mu.RLock()
	defer w.mu.RUnlock()
	if w.ended {
		return false
	}
	w.Add(1)
	return true
}

// end lets nothing begin any more.
func (w *work) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
}

// lastTime is what requests get on top of the time of a stop, to say goodbye.
const lastTime = 400 * time.Millisecond

// wait waits for the end of what was begun, until shortly after ctx ends.
func (w *work) wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		w.Wait()
		close(done)
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
	}
	last := time.NewTimer(lastTime)
	defer last.Stop()
	select {
	case <-done:
		return nil
	case <-last.C:
		return errors.New("not all requests have ended in time")
	}
}

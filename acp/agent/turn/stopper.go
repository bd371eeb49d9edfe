package turn

import (
	"context"
	"errors"
	"sync"

	"github.com/chant-acp/chant-acp/host"
)

// errStopped is the cause of a turn's context.
var errStopped = errors.New("the turn was stopped")

// program is what a turn runs: a program, or a run of an Op.
type program interface {
	// Stop asks for the end and returns at once; see host.Run and host.OpRun.
	Stop(host.Stop)
}

// stopper ends what a turn does, from any goroutine. Why is recorded when it
// happens, the first reason counting. The zero value is ready.
type stopper struct {
	mu      sync.Mutex
	first   host.Stop
	all     []host.Stop
	ended   bool // nothing may wait any more
	ctx     context.Context
	cancel  context.CancelCauseFunc // nil with ctx
	program program                 // while one runs
}

// stop asks for the end, of the program too. It never waits.
func (s *stopper) stop(why host.Stop) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == host.StopNone {
		s.first = why
	}
	s.all = append(s.all, why)
	s.endContext()
	if s.program != nil {
		s.program.Stop(why)
	}
}

// forbidStart records the first reason ahead of stop: from here on the turn starts no
// program.
func (s *stopper) forbidStart(why host.Stop) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.first == host.StopNone {
		s.first = why
	}
}

// reason is why the turn is to end; host.StopNone where it is not.
func (s *stopper) reason() host.Stop {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.first
}

func (s *stopper) stopped() bool { return s.reason() != host.StopNone }

// context ends when the turn is stopped or over: what waits then stops waiting.
// It is made when first asked for: a refusal waits for nothing.
func (s *stopper) context() context.Context {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ctx == nil {
		s.ctx, s.cancel = context.WithCancelCause(context.Background())
		if s.first != host.StopNone || s.ended {
			s.cancel(errStopped)
		}
	}
	return s.ctx
}

// end ends the context of a turn that is over.
func (s *stopper) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.endContext()
}

// endContext ends the context, where there is one; the caller holds the lock.
func (s *stopper) endContext() {
	if s.cancel != nil {
		s.cancel(errStopped)
	}
}

// runs notes what the turn runs from here on, and stops it for what has happened
// already.
func (s *stopper) runs(p program) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.program = p
	for _, why := range s.all {
		p.Stop(why)
	}
}

// running says whether something runs.
func (s *stopper) running() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.program != nil
}

// ran notes that it has ended.
func (s *stopper) ran() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.program = nil
}

// crash stops what runs after a panic: nobody waits for it.
func (s *stopper) crash() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.program != nil {
		s.program.Stop(host.StopFault)
		s.program = nil
	}
}

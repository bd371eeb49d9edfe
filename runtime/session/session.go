package session

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/chant-acp/chant-acp/host/process"
)

// agentLeave is what an agent gets to leave by itself at the end of its input, before it is told by
// signals.
const agentLeave = 500 * time.Millisecond

// Session is one of a Registry.
type Session struct {
	id       string
	kind     Kind
	registry *Registry
	feed     *feed      // nil for one of before a restart
	input    *input     // nil where there is none
	child    child      // nil for one of before a restart
	agent    *agentSide // nil where it is no agent
	person   bool       // the session is an agent that a person started
	done     chan struct{}

	mu       sync.Mutex
	info     Info   // without what infoNow adds
	why      string // why the session is being ended
	watchers map[*Watcher]struct{}
}

// child is what a session does with its process: [process.Process], or one that was adopted.
type child interface {
	PID() int
	Stop(process.Cause)
	Wait() process.Exit
}

// Info describes it now.
func (s *Session) Info() Info {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.infoNow()
}

// infoNow is Info for a caller that holds the lock.
func (s *Session) infoNow() Info {
	info := s.info
	info.Argv = slices.Clone(info.Argv)
	info.Watchers = len(s.watchers)
	return info
}

// ID is the session's id, which never changes.
func (s *Session) ID() string { return s.id }

// Person says that it is an agent that speaks for the person who started it.
func (s *Session) Person() bool { return s.person }

// Done is closed when it has ended and its output is complete.
func (s *Session) Done() <-chan struct{} { return s.done }

// notice is an event to tell of.
type notice struct {
	event string
	data  any
}

// change changes what is known of the session, and tells of what f returns. f must not call
// anything that locks.
func (s *Session) change(f func(*Info) []notice) {
	r := s.registry
	r.notifying.Lock()
	defer r.notifying.Unlock()
	s.mu.Lock()
	r.version.Add(1)
	notices := f(&s.info)
	info := s.infoNow()
	s.mu.Unlock()
	for _, n := range notices {
		r.notify(n.event, info, n.data)
	}
}

// Rename gives it another name; empty takes its name away. The error is a *BadNameError.
func (s *Session) Rename(name string) error {
	if err := checkName(name); err != nil {
		return err
	}
	s.change(func(i *Info) []notice {
		i.Name = name
		return []notice{{EventRenamed, nil}}
	})
	return nil
}

// Kill ends it: SIGHUP to a terminal's programs, SIGTERM, and SIGKILL after 2 s. An agent gets half
// a second to leave by itself first. A second Kill sends SIGKILL at once. It returns when the
// session has ended, or the cause of ctx. For one that has ended it does nothing.
func (s *Session) Kill(ctx context.Context) error {
	s.stop(ctx, process.Cancelled)
	select {
	case <-s.done:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// stop asks for the end. It waits for nothing but an agent's leaving by itself.
func (s *Session) stop(ctx context.Context, why process.Cause) {
	if s.child == nil {
		return
	}
	if why == process.Leaving {
		s.setReason("it was ended because everything was shut down")
		s.feed.runFree() // a slow reader must not hold up the shutdown
	} else {
		s.setReason("it was killed on request")
	}
	if s.agent != nil && s.agent.leave() {
		limit := time.NewTimer(agentLeave)
		defer limit.Stop()
		select {
		case <-s.done:
		case <-ctx.Done():
		case <-limit.C:
		}
	}
	s.child.Stop(why)
}

// setReason keeps the first reason for its end.
func (s *Session) setReason(why string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.why == "" {
		s.why = why
	}
}

// reason is what setReason kept.
func (s *Session) reason() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(s.why, "it was ended")
}

// supervise waits for the end of the child and tells of it. One goroutine of each session runs it;
// the registry waits for that.
func (s *Session) supervise() {
	defer s.registry.running.Done()
	var helpers sync.WaitGroup
	over := make(chan struct{})
	if s.input != nil {
		helpers.Go(func() { s.input.run(over) })
	}
	exit := s.child.Wait()
	close(over)
	if s.input != nil {
		_ = s.input.to.Close() // ends a write; again, where the child did that
	}
	if s.agent != nil {
		s.agent.close(exit)
	}
	helpers.Wait()
	s.change(func(i *Info) []notice {
		listed := i.State != StateStarting // a session that never started was not listed
		s.end(i, exit)
		if !listed {
			return nil
		}
		return []notice{{EventEnded, nil}}
	})
	s.feed.close()
	close(s.done)
	s.registry.dropEnded()
}

// end writes down how it ended.
func (s *Session) end(i *Info, exit process.Exit) {
	i.State, i.Ended, i.Turn = StateEnded, time.Now(), ""
	if exit.Code >= 0 {
		i.ExitCode = &exit.Code
	}
	i.Signal = exit.Signal
	switch {
	case exit.Err != nil:
		i.Reason = exit.Err.Error()
	case exit.Cause != process.Finished || s.why != "":
		i.Reason = s.why
	}
}

// ReadTerminal returns at most the last limit bytes of the output of a session of any kind, cut at
// a rune; never more than [Replay].
func (s *Session) ReadTerminal(limit int) []byte {
	if s.feed == nil {
		return nil
	}
	return s.feed.tail(limit)
}

// WriteTerminal writes to a terminal, or to the standard input of a process. It returns when the
// bytes are queued. When the program does not read and the queue is full, it waits for at most 5 s
// or ctx, and returns ErrInputFull or the cause of ctx; a part of p may be queued then. The error
// may be ErrEnded or ErrWrongKind, too.
func (s *Session) WriteTerminal(ctx context.Context, p []byte) error {
	switch {
	case s.Info().State == StateEnded:
		return ErrEnded
	case s.input == nil:
		return ErrWrongKind
	}
	return s.input.put(ctx, p)
}

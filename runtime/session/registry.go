package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/rs/zerolog"

	"github.com/chant-acp/chant-acp/host/process"
)

// Limits.
const (
	// Replay is how many of the last bytes of a session's output a newcomer gets first.
	Replay = 256 << 10
	// StallLimit is how long a watcher may take nothing while there is something to take.
	StallLimit = 5 * time.Second
	// MaxSize is the most columns and rows of a terminal.
	MaxSize = 10000
	// TextLimit is how much of an agent's text is kept for [Turn], in bytes.
	TextLimit = 1 << 20
	// MaxName is the length of a session's name in bytes.
	MaxName = 100
	// KeptEnded is how many sessions that have ended stay listed; the oldest are forgotten for the
	// next.
	KeptEnded = 256
	// shutdownLimit bounds a shutdown. All that is under the guard has ended by then; what was
	// adopted may not have.
	shutdownLimit = 4500 * time.Millisecond
	// keptOutput is how many of them can still be read.
	keptOutput = 32
	// keptCalls is how many calls that have ended stay listed. There may be many of them, and they
	// must not take the room of what people started.
	keptCalls = 32
)

// Options are what a Registry is made with.
type Options struct {
	// StateFile is the absolute path of the file in which the sessions are written down, to be
	// listed after a restart; empty: nowhere. Its folder must be there.
	StateFile string
	Log       zerolog.Logger
	// Notify is told what happens, one event at a time and in order. It must not block, and may ask
	// (List, Find, Info, Requests) but not change anything.
	Notify func(Event)
	// Env is the environment of children, each entry "NAME=value"; nil: the calling process's.
	Env []string
}

// Registry keeps the sessions. Shutdown ends it.
type Registry struct {
	version atomic.Uint64 // see Version; grows under the lock of what changes

	opts  Options
	saver *saver
	// startLimit bounds the start of an agent.
	startLimit time.Duration

	notifying sync.Mutex // held while something changes and is told, so that all see one order

	mu       sync.Mutex
	sessions []*Session // the oldest first
	leaving  bool
	running  sync.WaitGroup // one for each session that has not ended, and each start
}

// Open makes a registry. It lists the sessions of the last one that used the state file; those that
// had not ended then have now. A state file that can't be understood is set aside and logged; the
// error is that one can't be read or set aside.
func Open(o Options) (*Registry, error) {
	if o.Env == nil {
		o.Env = os.Environ()
	}
	r := &Registry{opts: o, startLimit: agentStartLimit}
	past, err := load(o.StateFile, o.Log)
	if err != nil {
		return nil, err
	}
	for _, info := range past {
		r.sessions = append(r.sessions, pastSession(r, info))
	}
	r.saver = newSaver(o.StateFile, o.Log, r.List)
	if len(past) > 0 {
		r.saver.changed()
	}
	return r, nil
}

// Version grows before anything that List returns changes: whoever asks for it before List, and
// gets the same number later, has what List would return.
func (r *Registry) Version() uint64 { return r.version.Load() }

// List returns all sessions, the oldest first.
func (r *Registry) List() []Info {
	all := r.all()
	infos := make([]Info, len(all))
	for i, s := range all {
		infos[i] = s.Info()
	}
	return infos
}

func (r *Registry) all() []*Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.sessions)
}

// Find returns the session of an id, else of a name. Where several have the name, one that has not
// ended is preferred to those that have. The error is ErrNotFound or an *AmbiguousError.
func (r *Registry) Find(idOrName string) (*Session, error) {
	var live, ended []*Session
	for _, s := range r.all() {
		info := s.Info()
		switch {
		case info.ID == idOrName:
			return s, nil
		case info.Name != idOrName || idOrName == "":
		case info.State == StateEnded:
			ended = append(ended, s)
		default:
			live = append(live, s)
		}
	}
	called := live
	if len(live) == 0 {
		called = ended
	}
	switch len(called) {
	case 0:
		return nil, ErrNotFound
	case 1:
		return called[0], nil
	}
	e := &AmbiguousError{Name: idOrName}
	for _, s := range called {
		e.IDs = append(e.IDs, s.id)
	}
	return nil, e
}

// Forget drops a session that has ended. The error is that of Find, or ErrRunning.
func (r *Registry) Forget(idOrName string) error {
	s, err := r.Find(idOrName)
	if err != nil {
		return err
	}
	if s.Info().State != StateEnded {
		return ErrRunning
	}
	r.forget(s)
	return nil
}

func (r *Registry) forget(s *Session) {
	r.notifying.Lock()
	defer r.notifying.Unlock()
	if r.remove(s) {
		r.notify(EventForgotten, s.Info(), nil)
	}
}

// remove takes a session off the list.
func (r *Registry) remove(s *Session) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	i := slices.Index(r.sessions, s)
	if i >= 0 {
		r.version.Add(1)
		r.sessions = slices.Delete(r.sessions, i, i+1)
	}
	return i >= 0
}

// notify passes an event on to Options.Notify; the caller holds notifying.
func (r *Registry) notify(kind string, info Info, data any) {
	switch kind {
	case EventStarted, EventEnded, EventRenamed, EventForgotten:
		r.saver.changed()
	}
	if r.opts.Notify != nil {
		r.opts.Notify(Event{Type: kind, Session: info, Data: data})
	}
}

// begin counts a session that is being started as running.
func (r *Registry) begin() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.leaving {
		return ErrShutdown
	}
	r.running.Add(1)
	return nil
}

// enter lists a session whose child runs. The error is ErrShutdown.
func (r *Registry) enter(s *Session) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.leaving {
		return ErrShutdown
	}
	r.version.Add(1)
	r.sessions = append(r.sessions, s)
	return nil
}

// dropEnded forgets what ended long ago, and lets go of the output of what ended a while ago.
func (r *Registry) dropEnded() {
	type past struct {
		s     *Session
		ended time.Time
	}
	var ended []past
	for _, s := range r.all() {
		if info := s.Info(); info.State == StateEnded {
			ended = append(ended, past{s, info.Ended})
		}
	}
	slices.SortFunc(ended, func(a, b past) int { return b.ended.Compare(a.ended) })
	calls, others := 0, 0
	for _, p := range ended {
		count, most := &others, KeptEnded
		if p.s.kind == KindCall {
			count, most = &calls, keptCalls
		}
		if *count >= keptOutput && p.s.feed != nil {
			p.s.feed.discard()
		}
		if *count >= most {
			r.forget(p.s)
		}
		*count++
	}
}

// Shutdown ends all sessions, the agents first because they may use the others, and waits for them.
// It takes less than 5 s, or until ctx ends, and then names what is left. Nothing can be started
// any more.
func (r *Registry) Shutdown(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, shutdownLimit)
	defer cancel()
	defer r.saver.close()
	r.mu.Lock()
	r.leaving = true
	all := slices.Clone(r.sessions)
	r.mu.Unlock()
	slices.SortStableFunc(all, func(a, b *Session) int { return cmp.Compare(b.rank(), a.rank()) })
	for len(all) > 0 {
		n := 1
		for n < len(all) && all[n].rank() == all[0].rank() {
			n++
		}
		if err := leaveAll(ctx, all[:n]); err != nil {
			return err
		}
		all = all[n:]
	}
	r.running.Wait()
	return nil
}

// rank orders a shutdown: the highest first.
func (s *Session) rank() int {
	if s.kind == KindAgent {
		return 1
	}
	return 0
}

// leaveAll ends sessions side by side.
func leaveAll(ctx context.Context, all []*Session) error {
	var each sync.WaitGroup
	for _, s := range all {
		each.Go(func() { s.stop(ctx, process.Leaving) })
	}
	each.Wait()
	var left []string
	for _, s := range all {
		select {
		case <-s.done:
		case <-ctx.Done():
			left = append(left, s.id)
		}
	}
	if len(left) > 0 {
		return errors.Join(errors.New("not all sessions have ended in time; the guard ends what is left of "+strings.Join(left, ", ")), context.Cause(ctx))
	}
	return nil
}

// newID returns an id for a session of a kind: short enough to be typed, and long enough never to
// come again.
func newID(kind Kind) string {
	return string(kind[:1]) + "-" + strings.ToLower(rand.Text()[:12])
}

// checkName returns a *BadNameError for a name that can't be typed or shown.
func checkName(name string) error {
	switch {
	case !utf8.ValidString(name):
		return &BadNameError{name, "it is not UTF-8"}
	case len(name) > MaxName:
		return &BadNameError{name[:20] + "…", "it is longer than 100 bytes"}
	case strings.ContainsFunc(name, func(c rune) bool { return !unicode.IsPrint(c) || c == '/' }):
		return &BadNameError{name, "it holds a slash or what can't be printed"}
	case strings.TrimSpace(name) != name:
		return &BadNameError{name, "it begins or ends with a space"}
	}
	return nil
}

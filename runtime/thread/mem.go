package thread

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/internal/flock"
)

// Memory keeps sessions as long as itself, for tests and for agents that are not
// to leave anything behind. It behaves as Store does.
type Memory struct {
	lockWait time.Duration
	max      int64

	mu       sync.Mutex
	sessions map[string]*memSession
}

// memSession is a session of a Memory.
type memSession struct {
	record Record
	lines  [][]byte // encoded, so that nobody shares memory with what is kept
	size   int64
	lock   chan struct{}
}

var _ agent.Store = (*Memory)(nil)

// Mem returns an empty store in memory.
func Mem() *Memory {
	return &Memory{lockWait: 2 * time.Second, max: MaxSession, sessions: map[string]*memSession{}}
}

// Create implements agent.Store.
func (m *Memory) Create(_ context.Context, r Record) error {
	if !validID(r.ID) {
		return fmt.Errorf("session %q: %w", r.ID, errBadID)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.sessions[r.ID] != nil {
		return fmt.Errorf("session %s: %w", r.ID, errExists)
	}
	r.Updated = latest(r.Created, r.Updated)
	m.sessions[r.ID] = &memSession{record: clone(r), lock: make(chan struct{}, 1)}
	return nil
}

// Get implements agent.Store.
func (m *Memory) Get(_ context.Context, id string) (Record, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.find(id)
	if err != nil {
		return Record{}, err
	}
	return clone(s.record), nil
}

func (m *Memory) find(id string) (*memSession, error) {
	s := m.sessions[id]
	if s == nil {
		return nil, fmt.Errorf("%w: %s", agent.ErrUnknownSession, id)
	}
	return s, nil
}

// clone shares nothing with r, and has what a trip to disk and back leaves.
func clone(r Record) Record {
	raw, err := json.Marshal(r)
	var out Record
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	if err != nil {
		return r
	}
	out.Updated = r.Updated.UTC()
	return out
}

// Update implements agent.Store.
func (m *Memory) Update(_ context.Context, r Record) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.find(r.ID)
	if err != nil {
		return err
	}
	r.Updated = latest(s.record.Updated, r.Updated)
	s.record = clone(r)
	return nil
}

// Lock implements agent.Store.
func (m *Memory) Lock(ctx context.Context, id string) (func(), error) {
	m.mu.Lock()
	s, err := m.find(id)
	m.mu.Unlock()
	if err != nil {
		return nil, err
	}
	if err := s.take(ctx, m.lockWait); err != nil {
		return nil, lockError(id, err)
	}
	release := sync.OnceFunc(func() { <-s.lock })
	if _, err := m.Get(ctx, id); err != nil { // removed meanwhile
		release()
		return nil, err
	}
	return release, nil
}

func (s *memSession) take(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case s.lock <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return flock.ErrHeld
	}
}

func lockError(id string, err error) error {
	if errors.Is(err, flock.ErrHeld) {
		return &agent.SessionHeldError{PID: os.Getpid()}
	}
	return fmt.Errorf("locking the session %s: %w", id, err)
}

// Append implements agent.Store.
func (m *Memory) Append(_ context.Context, id string, _ bool, events ...Event) error {
	var lines [][]byte
	size := int64(0)
	reserve := m.max / 16
	for i := range events {
		line, err := events[i].AppendJSON(nil)
		if err != nil {
			return fmt.Errorf("writing to the session %s: %w", id, err)
		}
		if len(line) > MaxEvent-lineEnd {
			return fmt.Errorf("%w: it has %d bytes of at most %d", ErrTooLarge, len(line), MaxEvent-lineEnd)
		}
		if events[i].Kind != agent.EventOutput {
			reserve = 0
		}
		lines, size = append(lines, line), size+int64(len(line))+lineEnd
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	s, err := m.find(id)
	if err != nil {
		return err
	}
	if size > m.max-reserve-s.size {
		return fmt.Errorf("%w: it has %d bytes; start a new session to go on with a kept one", ErrFull, s.size)
	}
	s.lines, s.size = append(s.lines, lines...), s.size+size
	s.record.Updated = latest(s.record.Updated, newest(events)).UTC()
	return nil
}

// lineEnd is what a line of a thread has behind an event: see internal/journal.
const lineEnd = 27

// Read implements agent.Store. Positions count events.
func (m *Memory) Read(ctx context.Context, id string, from int64, f func(Event) error) (int64, error) {
	m.mu.Lock()
	s, err := m.find(id)
	var lines [][]byte
	if err == nil {
		lines = s.lines[:len(s.lines):len(s.lines)]
	}
	m.mu.Unlock()
	if err != nil {
		return from, err
	}
	if from == agent.LastTurn {
		for from = int64(len(lines)); from > 0; {
			if from--; bytes.HasPrefix(lines[from], promptStart) {
				break
			}
		}
	}
	if from < 0 || from > int64(len(lines)) {
		return from, fmt.Errorf("%w: it has %d events, and %d is none of them", agent.ErrUnreadableSession, len(lines), from)
	}
	for _, line := range lines[from:] {
		if err := ctx.Err(); err != nil {
			return from, err
		}
		var e Event
		if err := decodeEvent(line, &e); err != nil {
			return from, fmt.Errorf("%w: event %d: %w", agent.ErrUnreadableSession, from, err)
		}
		if err := f(e); err != nil {
			return from, err
		}
		from++
	}
	return from, nil
}

// List implements agent.Store.
func (m *Memory) List(_ context.Context, cwd, cursor string) ([]Record, string, error) {
	after, err := parseCursor(cursor)
	if err != nil {
		return nil, "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var entries []listEntry
	for id, s := range m.sessions {
		if cwd == "" || sameFolder(s.record.Cwd, cwd) {
			entries = append(entries, listEntry{id: id, changed: s.record.Updated.UnixNano()})
		}
	}
	slices.SortFunc(entries, newestFirst)
	if cursor != "" {
		entries = entries[sort.Search(len(entries), func(i int) bool { return newestFirst(entries[i], after) > 0 }):]
	}
	next := ""
	if len(entries) > pageSize {
		entries = entries[:pageSize]
		next = formatCursor(entries[pageSize-1])
	}
	var page []Record
	for _, p := range entries {
		page = append(page, clone(m.sessions[p.id].record))
	}
	return page, next, nil
}

// Delete implements agent.Store.
func (m *Memory) Delete(ctx context.Context, id string) error {
	m.mu.Lock()
	s := m.sessions[id]
	m.mu.Unlock()
	if s == nil {
		return nil
	}
	if err := s.take(ctx, m.lockWait); err != nil {
		return fmt.Errorf("removing the session %s: %w", id, lockError(id, err))
	}
	m.mu.Lock()
	delete(m.sessions, id)
	m.mu.Unlock()
	<-s.lock
	return nil
}

// sameFolder says whether a session with this cwd is one of cwd's.
func sameFolder(a, b string) bool {
	return filepath.Clean(a) == filepath.Clean(b) || folder(a) == folder(b)
}

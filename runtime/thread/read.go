package thread

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/internal/flock"
	"github.com/chant-acp/chant-acp/internal/journal"
)

// Read implements agent.Store. Positions are offsets in the file. Memory stays
// within a few lines. A whole line that is no event is ErrUnreadableSession.
func (s *Store) Read(ctx context.Context, id string, from int64, f func(Event) error, kinds ...agent.EventKind) (int64, error) {
	l, err := s.borrow(id)
	if err != nil {
		return from, err
	}
	defer s.release(l)
	l.mu.Lock()
	start := l.log.First()
	end, err := l.extent(ctx)
	l.mu.Unlock()
	if err != nil {
		return from, err
	}
	switch from {
	case 0:
		from = start
	case agent.LastTurn:
		if from, err = l.lastPrompt(start, end); err != nil {
			return start, err
		}
	case agent.RecentTurns:
		if from, err = l.recentTurns(start, end); err != nil {
			return start, err
		}
	}
	if from == end {
		return end, nil
	}
	if from < start || from > end {
		return from, l.unreadable("was changed: it ends at byte %d, and byte %d was read before", end, from)
	}
	return l.read(ctx, from, end, f, kinds)
}

// maxTurn is how far from its end a thread is searched for the last prompt.
const maxTurn = 8 << 20

// lineStart is how the line of an event begins; see agent.Event.AppendJSON.
func lineStart(k agent.EventKind) []byte { return []byte(`{"kind":"` + string(k) + `",`) }

var promptStart = lineStart(agent.EventPrompt)

// recentTurns is where the line of the first prompt begins among the last bytes of the
// thread, and where the first line does if there is none.
func (l *logFile) recentTurns(start, end int64) (int64, error) {
	sought := append([]byte{'\n'}, promptStart...)
	buf := make([]byte, 256<<10)
	for at := end - agent.MaxRecent; at > start && end-at >= int64(len(sought)); {
		part := buf[:min(int64(len(buf)), end-at)]
		if _, err := l.f.ReadAt(part, at); err != nil {
			return 0, fmt.Errorf("reading the session %s: %w", l.id, err)
		}
		if i := bytes.Index(part, sought); i >= 0 {
			return at + int64(i) + 1, nil
		}
		at += int64(len(part) - len(sought) + 1)
	}
	return start, nil
}

// lastPrompt is where the line of the last prompt begins; of a turn that is too
// long, that of a later line.
func (l *logFile) lastPrompt(start, end int64) (int64, error) {
	const step = 64 << 10
	buf := make([]byte, step+len(promptStart)+1) // the newline before a line, and a line that begins at the edge
	line := end
	for to := end; to > start && end-to < maxTurn; {
		from := max(to-step, start)
		part := buf[:min(to-from+int64(len(promptStart)), end-from)+1]
		if _, err := l.f.ReadAt(part, from-1); err != nil {
			return 0, fmt.Errorf("reading the session %s: %w", l.id, err)
		}
		for i := len(part); ; {
			if i = bytes.LastIndexByte(part[:i], '\n'); i < 0 {
				break
			}
			at := from + int64(i) // one byte before from is part of it
			if at < to {
				line = at
			}
			if bytes.HasPrefix(part[i+1:], promptStart) {
				return at, nil
			}
		}
		to = from
	}
	return line, nil
}

// extent is where the events end. What lies before never changes again, so it
// is read without holding up those who append. The caller holds l.mu.
func (l *logFile) extent(ctx context.Context) (end int64, err error) {
	if err := flock.File(ctx, l.f, unix.LOCK_SH, l.store.lockWait); err != nil {
		return 0, fmt.Errorf("reading the session %s: %w", l.id, err)
	}
	defer flock.Unlock(l.f)
	end, err = l.log.Extent()
	return end, l.fault("reading", err)
}

// verify is what Get needs to know of a thread: that it can be gone on with.
func (l *logFile) verify(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := flock.File(ctx, l.f, unix.LOCK_SH, l.store.lockWait); err != nil {
		return fmt.Errorf("reading the session %s: %w", l.id, err)
	}
	defer flock.Unlock(l.f)
	return l.fault("reading", l.log.Verify())
}

func (l *logFile) read(ctx context.Context, from, end int64, f func(Event) error, kinds []agent.EventKind) (int64, error) {
	unwanted := func([]byte) bool { return false }
	if len(kinds) > 0 {
		starts := make([][]byte, len(kinds))
		for i, k := range kinds {
			starts[i] = lineStart(k)
		}
		unwanted = func(line []byte) bool {
			return !slices.ContainsFunc(starts, func(s []byte) bool { return bytes.HasPrefix(line, s) })
		}
	}
	var own error // of f or of the context: no fault of the file
	at, err := l.log.Lines(from, end, func(at int64, line []byte) error {
		if own = ctx.Err(); own != nil {
			return own
		}
		if unwanted(line) {
			return nil
		}
		var e Event
		if err := decodeEvent(line, &e); err != nil {
			return &journal.Damage{At: at, Problem: fmt.Sprintf("is no event (%v)", err)}
		}
		own = f(e)
		return own
	})
	if own != nil {
		return at, own
	}
	return at, l.fault("reading", err)
}

func decodeEvent(line []byte, e *Event) error {
	if err := json.Unmarshal(line, e); err != nil {
		return err
	}
	if e.Kind == "" {
		return errors.New("it has no kind")
	}
	return nil
}

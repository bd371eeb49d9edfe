package thread

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"golang.org/x/sys/unix"
)

// Read implements agent.Store. Positions are offsets in the file. Memory stays
// within a few lines. A whole line that is no event is ErrUnreadableSession.
func (s *Store) Read(ctx context.Context, id string, from int64, f func(Event) error) (int64, error) {
	l, err := s.borrow(id)
	if err != nil {
		return from, err
	}
	defer s.release(l)
	start, end, err := l.extent(ctx)
	if err != nil {
		return from, err
	}
	if from == 0 {
		from = start
	}
	if from == end {
		return end, nil
	}
	if from < start || from > end {
		return from, l.unreadable("was changed: it ends at byte %d, and byte %d was read before", end, from)
	}
	return l.read(ctx, from, end, f)
}

// extent is where the events start and end. What lies between never changes
// again, so it is read without holding up those who append.
func (l *logFile) extent(ctx context.Context) (start, end int64, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := flock(ctx, l.f, unix.LOCK_SH, l.store.lockWait); err != nil {
		return 0, 0, fmt.Errorf("reading the session %s: %w", l.id, err)
	}
	defer unlock(l.f)
	st, err := l.f.Stat()
	if err != nil {
		return 0, 0, fmt.Errorf("reading the session %s: %w", l.id, err)
	}
	if l.events == 0 {
		if err := l.readHeader(st.Size()); err != nil || l.events == 0 {
			return 0, 0, err
		}
	}
	if st.Size() > l.store.max+maxHeader+MaxEvent {
		return 0, 0, l.unreadable("has %d bytes, more than a session may have", st.Size())
	}
	end, err = l.wholeEnd(st.Size())
	if err == nil && end < l.events {
		err = l.unreadable("was cut")
	}
	return l.events, end, err
}

func (l *logFile) read(ctx context.Context, from, end int64, f func(Event) error) (int64, error) {
	// One byte more than a line may have, so that a longer one is seen. The byte
	// before the first line tells whether it is the start of one.
	at := from - 1
	r := bufio.NewReaderSize(io.NewSectionReader(l.f, at, end-at), int(min(end-at, MaxEvent+1)))
	if c, err := r.ReadByte(); err != nil || c != '\n' {
		return from, l.unreadable("has no line that starts at byte %d", from)
	}
	for from < end {
		if err := ctx.Err(); err != nil {
			return from, err
		}
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			return from, l.unreadable("has a line of more than %d bytes at byte %d", MaxEvent, from)
		}
		if err != nil {
			return from, fmt.Errorf("reading the session %s: %w", l.id, err)
		}
		var e Event
		if err := decodeEvent(line, &e); err != nil {
			return from, l.unreadable("has a line at byte %d that is no event (%v)", from, err)
		}
		if err := f(e); err != nil {
			return from, err
		}
		from += int64(len(line))
	}
	return from, nil
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

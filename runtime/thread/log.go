package thread

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/internal/flock"
	"github.com/chant-acp/chant-acp/internal/journal"
	"golang.org/x/sys/unix"
)

// logFile is an open thread. Those that turns write to stay open between calls.
type logFile struct {
	store *Store
	id    string
	path  string
	f     *os.File
	refs  int  // Store.mu
	kept  bool // Store.mu: in Store.logs

	made Record // the session as it was made
	key  string // under which it was found by its folder then

	mu  sync.Mutex // for log, but for its Lines
	log *journal.Log
}

// keptOpen bounds the threads that stay open in a process.
const keptOpen = 64

// openLog opens a session's thread and reads its header.
func openLog(s *Store, id string, flag int) (*logFile, error) {
	if !validID(id) {
		return nil, fmt.Errorf("%w: %q", agent.ErrUnknownSession, id)
	}
	err := s.look()
	l := &logFile{store: s, id: id, path: s.path(id)}
	if err == nil {
		l.f, err = os.OpenFile(l.path, flag|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	}
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %s", agent.ErrUnknownSession, id)
	case errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENXIO), errors.Is(err, syscall.EISDIR):
		return nil, l.unreadable("is not a regular file")
	case errors.Is(err, fs.ErrPermission) && flag == os.O_RDONLY:
		return nil, l.unreadable("may not be read by this user")
	case err != nil:
		return nil, fmt.Errorf("opening the session %s: %w", id, err)
	}
	if err := l.check(); err != nil {
		_ = l.f.Close()
		return nil, err
	}
	return l, nil
}

func (l *logFile) check() error {
	st, err := l.f.Stat()
	if err != nil {
		return fmt.Errorf("opening the session %s: %w", l.id, err)
	}
	switch {
	case !st.Mode().IsRegular():
		return l.unreadable("is not a regular file")
	case !ours(st):
		return l.unreadable("belongs to another user")
	}
	return l.readHeader()
}

// readHeader reads the first line. It was written whole before the thread had
// its name, so one that is cut is damage, as much as a thread of no bytes.
func (l *logFile) readHeader() error {
	log, line, err := journal.Open(l.f, l.store.format())
	if err != nil {
		return l.fault("opening", err)
	}
	var h header
	if err := json.Unmarshal(line, &h); err != nil {
		return l.unreadable("has a damaged first line")
	}
	l.log, l.made = log, h.Session
	if validKey(h.Folder) {
		l.key = h.Folder
	}
	l.made.ID = l.id
	return nil
}

// fault says what an error of the log means for the session. What is of no file is
// passed on, with what was being done.
func (l *logFile) fault(doing string, err error) error {
	var damage *journal.Damage
	var other *journal.VersionError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &damage):
		return l.unreadable("is damaged: %v", damage)
	case errors.As(err, &other) && other.Newer():
		return fmt.Errorf("%w: %s %w", agent.ErrNewerSession, l.path, err)
	case errors.As(err, &other):
		return l.unreadable("%v", other)
	case errors.Is(err, journal.ErrRemoved):
		return fmt.Errorf("%w: %s was removed", agent.ErrUnknownSession, l.id)
	case errors.Is(err, journal.ErrFull):
		return fmt.Errorf("%w: %s has %d bytes; start a new session to go on with a kept one", ErrFull, l.path, l.log.Settled())
	case errors.Is(err, journal.ErrTooLarge):
		return fmt.Errorf("%w: %w", ErrTooLarge, err)
	}
	return fmt.Errorf("%s the session %s: %w", doing, l.id, err)
}

func (l *logFile) unreadable(what string, args ...any) error {
	return fmt.Errorf("%w: %s %s: move it away or mend it, or remove it with \"chant-acp sessions delete %s\"; it is left as it is",
		agent.ErrUnreadableSession, l.path, fmt.Sprintf(what, args...), l.id)
}

// Append implements agent.Store. Errors: ErrFull, ErrTooLarge. After an error
// none of the events is kept, but for that of an fsync, which may be of earlier
// events and then says that they may not outlast a power cut.
func (s *Store) Append(ctx context.Context, id string, durable bool, events ...Event) error {
	l, err := s.acquire(id)
	if err != nil {
		return err
	}
	defer s.release(l)
	if err := l.append(ctx, events); err != nil {
		if errors.Is(err, agent.ErrUnknownSession) {
			s.drop(l)
		}
		return err
	}
	s.sync.mark(l.path)
	if durable {
		return s.sync.flush()
	}
	// A failed fsync of earlier ones is said here: nobody else is there to hear it.
	return s.sync.failed()
}

// append writes events behind all that is there, under the file's lock, and gives the
// file the time of the last one.
func (l *logFile) append(ctx context.Context, events []Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var reserve int64
	if !slices.ContainsFunc(events, func(e Event) bool { return e.Kind != agent.EventOutput }) {
		reserve = l.store.max / 16
	}
	// The lock is held for one write. It lets a writer tell the rest of a line that
	// a crash left from a line that another process is writing.
	if err := flock.File(ctx, l.f, unix.LOCK_EX, l.store.lockWait); err != nil {
		return fmt.Errorf("writing to the session %s: %w", l.id, err)
	}
	defer flock.Unlock(l.f)
	if err := l.settle(); err != nil {
		return err
	}
	last := newest(events)
	if time.Since(last).Abs() <= touchFrom { // the write sets the thread's time of change to now
		return l.write(events, reserve)
	}
	// The thread's time of change becomes that of the events, unless it was later.
	st, err := l.f.Stat()
	if err != nil {
		return fmt.Errorf("writing to the session %s: %w", l.id, err)
	}
	if err := l.write(events, reserve); err != nil {
		return err
	}
	_ = touch(l.path, latest(st.ModTime(), last))
	return nil
}

func (l *logFile) write(events []Event, reserve int64) error {
	return l.fault("writing to", l.log.Append(reserve, len(events), func(i int, b []byte) ([]byte, error) { return events[i].AppendJSON(b) }))
}

// touchFrom is how far the time of the last event may be from that of its write
// before the thread gets it as its time of change.
const touchFrom = 50 * time.Millisecond

// newest is the time of the last of the events, now where none has one.
func newest(events []Event) (last time.Time) {
	for i := range events {
		if t := events[i].Time; t.After(last) {
			last = t
		}
	}
	if last.IsZero() {
		return time.Now()
	}
	return last
}

// settle cuts off what a crash left after the last whole line, and looks at what
// others wrote: what is damaged is not gone on with. The lock on the file is held.
func (l *logFile) settle() error {
	return l.fault("writing to", l.log.Settle())
}

// acquire returns a session's thread for writing and keeps it open.
func (s *Store) acquire(id string) (*logFile, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	if l := s.logs[id]; l != nil {
		l.refs++
		return l, nil
	}
	l, err := openLog(s, id, os.O_RDWR|os.O_APPEND)
	if err != nil {
		return nil, err
	}
	if len(s.logs) >= keptOpen {
		for id, old := range s.logs {
			if old.refs == 0 {
				s.forget(id, old)
				break
			}
		}
	}
	l.refs, l.kept = 1, true
	s.logs[id] = l
	return l, nil
}

// borrow returns a session's thread for reading.
func (s *Store) borrow(id string) (*logFile, error) {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil, errClosed
	}
	if l := s.logs[id]; l != nil {
		l.refs++
		s.mu.Unlock()
		if !l.removed() {
			return l, nil
		}
		s.drop(l)
		s.release(l)
	} else {
		s.mu.Unlock()
	}
	l, err := openLog(s, id, os.O_RDONLY)
	if err != nil {
		return nil, err
	}
	l.refs = 1
	return l, nil
}

// removed says whether another process removed the thread.
func (l *logFile) removed() bool {
	var st unix.Stat_t
	err := unix.Fstat(int(l.f.Fd()), &st)
	return err != nil || st.Nlink == 0
}

func (s *Store) release(l *logFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.refs--
	if l.refs == 0 && !l.kept {
		_ = l.f.Close()
	}
}

// drop stops keeping a thread open.
func (s *Store) drop(l *logFile) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l.kept {
		s.forget(l.id, l)
	}
}

// forget is drop with Store.mu held.
func (s *Store) forget(id string, l *logFile) {
	delete(s.logs, id)
	l.kept = false
	if l.refs == 0 {
		_ = l.f.Close()
	}
}

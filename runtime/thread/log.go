package thread

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/internal/flock"
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

	made   Record // the session as it was made
	events int64  // where the first event starts

	mu   sync.Mutex
	size int64  // the end of the last whole line, when it was last looked for; all before was looked at
	buf  []byte // whole lines on their way into the file
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
	case st.Size() > l.store.max+maxHeader+MaxEvent:
		return l.unreadable("has %d bytes, more than a session may have", st.Size())
	}
	return l.readHeader(st.Size())
}

// readHeader reads the first line. It was written whole before the thread had
// its name, so one that is cut is damage, as much as a thread of no bytes.
func (l *logFile) readHeader(size int64) error {
	raw := make([]byte, min(size, 4<<10))
	for {
		n, err := l.f.ReadAt(raw, 0)
		if err != nil && err != io.EOF {
			return fmt.Errorf("reading the session %s: %w", l.id, err)
		}
		if i := bytes.IndexByte(raw[:n], '\n'); i >= 0 {
			return l.parseHeader(raw[:i])
		}
		if n < len(raw) || int64(n) == min(size, maxHeader) {
			return l.unreadable("has no whole first line in its %d bytes", size)
		}
		raw = make([]byte, min(size, maxHeader))
	}
}

func (l *logFile) parseHeader(line []byte) error {
	// The version first: what follows it may be anything in a newer one.
	var h struct {
		Format  string
		Version int
		Session json.RawMessage
	}
	if err := json.Unmarshal(line, &h); err != nil || h.Format != format || h.Version < 1 {
		return l.unreadable("is not a thread")
	}
	if h.Version > version {
		return newer(l.path, h.Version)
	}
	if err := json.Unmarshal(h.Session, &l.made); err != nil {
		return l.unreadable("has a damaged first line")
	}
	l.made.ID = l.id
	l.events = int64(len(line)) + 1
	l.size = l.events
	return nil
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

func (l *logFile) append(ctx context.Context, events []Event) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	last, onlyOutput, err := l.encode(events)
	if err != nil {
		return err
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
	room := l.store.max - l.size
	if onlyOutput {
		room -= l.store.max / 16
	}
	if int64(len(l.buf)) > room {
		return fmt.Errorf("%w: %s has %d bytes; start a new session to go on with a kept one", ErrFull, l.path, l.size)
	}
	if time.Since(last).Abs() <= touchFrom {
		return l.write(l.buf) // which sets the thread's time of change to now
	}
	return l.writeAs(last)
}

// writeAs is write for events of another time than now: the thread's time of
// change becomes theirs, unless it was later.
func (l *logFile) writeAs(last time.Time) error {
	st, err := l.f.Stat()
	if err != nil {
		return fmt.Errorf("writing to the session %s: %w", l.id, err)
	}
	if err := l.write(l.buf); err != nil {
		return err
	}
	_ = touch(l.path, latest(st.ModTime(), last))
	return nil
}

// touchFrom is how far the time of the last event may be from that of its write
// before the thread gets it as its time of change.
const touchFrom = 50 * time.Millisecond

// encode puts the events' lines into the buffer. Time is the last event's.
func (l *logFile) encode(events []Event) (last time.Time, onlyOutput bool, err error) {
	if cap(l.buf) > 2*MaxEvent {
		l.buf = nil
	}
	l.buf = l.buf[:0]
	onlyOutput = true
	for i := range events {
		start := len(l.buf)
		line, err := events[i].AppendJSON(l.buf)
		if err != nil {
			return last, false, fmt.Errorf("writing to the session %s: %w", l.id, err)
		}
		l.buf = append(line, '\n')
		if n := len(l.buf) - start; n > MaxEvent {
			return last, false, fmt.Errorf("%w: its line has %d bytes of at most %d", ErrTooLarge, n, MaxEvent)
		}
		onlyOutput = onlyOutput && events[i].Kind == agent.EventOutput
		if t := events[i].Time; t.After(last) {
			last = t
		}
	}
	if last.IsZero() {
		last = time.Now()
	}
	return last, onlyOutput, nil
}

// settle finds the end of the last whole line and cuts off what a crash left
// after it. The lock on the file is held.
func (l *logFile) settle() error {
	size, links, err := l.stat()
	switch {
	case err != nil:
		return fmt.Errorf("writing to the session %s: %w", l.id, err)
	case links == 0:
		return fmt.Errorf("%w: %s was removed", agent.ErrUnknownSession, l.id)
	case size == l.size:
		return nil
	}
	end, err := l.wholeEnd(size)
	if err == nil {
		err = l.skim(end)
	}
	if err != nil {
		return err
	}
	if end < size {
		if err := l.f.Truncate(end); err != nil {
			return fmt.Errorf("cutting off what a crash left in %s: %w", l.path, err)
		}
	}
	return nil
}

// stat does not ask for the times: a kernel that was asked gives the next write
// a time of its own, instead of that of the tick, and writes the inode for it.
func (l *logFile) stat() (size int64, links uint32, err error) {
	fd := int(l.f.Fd())
	var sx unix.Statx_t
	const mask = unix.STATX_SIZE | unix.STATX_NLINK
	if unix.Statx(fd, "", unix.AT_EMPTY_PATH, mask, &sx) == nil && sx.Mask&mask == mask {
		return int64(sx.Size), sx.Nlink, nil
	}
	var st unix.Stat_t // an old kernel, or a sandbox that does not know the call
	err = unix.Fstat(fd, &st)
	return st.Size, uint32(st.Nlink), err
}

// write appends whole lines in one write. What a full disk cut is taken back.
func (l *logFile) write(lines []byte) error {
	if _, err := l.f.Write(lines); err != nil {
		if terr := l.f.Truncate(l.size); terr != nil {
			l.size = -1 // the next settle looks for the end again
		}
		return fmt.Errorf("writing to the session %s: %w", l.id, err)
	}
	l.size += int64(len(lines))
	return nil
}

// wholeEnd is the end of the last whole line in the first size bytes.
func (l *logFile) wholeEnd(size int64) (int64, error) {
	var buf [4 << 10]byte
	for end := size; end > 0; {
		if size-end > MaxEvent {
			return 0, l.unreadable("ends in a line of more than %d bytes", MaxEvent)
		}
		// Most often the last byte is the newline.
		n := min(end, int64(len(buf)))
		if end == size {
			n = 1
		}
		if _, err := l.f.ReadAt(buf[:n], end-n); err != nil && err != io.EOF {
			return 0, fmt.Errorf("reading the session %s: %w", l.id, err)
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return end - n + int64(i) + 1, nil
		}
		end -= n
	}
	return 0, nil
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

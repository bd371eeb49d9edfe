package thread

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/internal/flock"
)

// Lock implements agent.Store. The lock is the kernel's (flock) and ends with
// the process, however it ends. What a crash cut in the thread is cut off.
func (s *Store) Lock(ctx context.Context, id string) (func(), error) {
	l, err := s.acquire(id)
	if err != nil {
		return nil, err
	}
	defer s.release(l)
	release, err := s.lock(ctx, id, s.lockWait)
	if errors.Is(err, fs.ErrNotExist) { // the thread was brought here without the folders
		if err := s.prepare(); err != nil {
			return nil, err
		}
		release, err = s.lock(ctx, id, s.lockWait)
	}
	if err != nil {
		return nil, err
	}
	if err := l.repair(ctx); err != nil {
		release()
		if errors.Is(err, agent.ErrUnknownSession) {
			s.drop(l)
		}
		return nil, err
	}
	return release, nil
}

func (l *logFile) repair(ctx context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := flock.File(ctx, l.f, unix.LOCK_EX, l.store.lockWait); err != nil {
		return fmt.Errorf("writing to the session %s: %w", l.id, err)
	}
	defer flock.Unlock(l.f)
	return l.settle()
}

// lock takes a session's lock, whatever its thread is like. Each call opens the
// file anew, so that turns of one process exclude each other too.
func (s *Store) lock(ctx context.Context, id string, wait time.Duration) (func(), error) {
	for {
		f, err := s.openLock(id)
		if err != nil {
			return nil, fmt.Errorf("locking the session %s: %w", id, err)
		}
		err = flock.File(ctx, f, unix.LOCK_EX, wait)
		if errors.Is(err, flock.ErrHeld) {
			err = &agent.SessionHeldError{PID: holder(f)}
		} else if err != nil {
			err = fmt.Errorf("locking the session %s: %w", id, err)
		}
		if err != nil {
			_ = f.Close()
			return nil, err
		}
		// A lock file whose session was removed meanwhile excludes nobody.
		if (&logFile{f: f}).removed() {
			_ = f.Close()
			continue
		}
		if pid := os.Getpid(); holder(f) != pid {
			setHolder(f, pid)
		}
		return sync.OnceFunc(func() {
			// A child between fork and exec may have the file too, so closing it
			// would not be enough.
			flock.Unlock(f)
			_ = f.Close()
		}), nil
	}
}

func (s *Store) lockPath(id string) string { return filepath.Join(s.locks, id) }

// errNoLock says that what stands in the place of a lock is none.
var errNoLock = errors.New("is no lock but something else")

// openLock opens the file of a lock.
func (s *Store) openLock(id string) (*os.File, error) {
	path := s.lockPath(id)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
	if err == nil {
		st, serr := f.Stat()
		if serr == nil && st.Mode().IsRegular() {
			return f, nil
		}
		_ = f.Close()
		err = cmp.Or(serr, error(syscall.EISDIR))
	}
	switch {
	case errors.Is(err, syscall.EISDIR), errors.Is(err, syscall.ELOOP), errors.Is(err, syscall.ENXIO):
		return nil, fmt.Errorf("%s %w: remove it", path, errNoLock)
	case errors.Is(err, fs.ErrPermission):
		return nil, fmt.Errorf("%w: remove it once nothing runs in the session", err)
	}
	return nil, err
}

// The holder's pid stays in the file afterwards: it is only asked for while the
// lock is held. It always has the same length, so that none leaves a part of
// another.
const holderLen = 11

// setHolder says who has the lock; without it the lock is as good, only less
// well explained.
func setHolder(f *os.File, pid int) {
	_, _ = f.WriteAt(fmt.Appendf(make([]byte, 0, holderLen), "%-*d\n", holderLen-1, pid), 0)
}

// holder is the pid of who has the lock, 0 if it can't be said.
func holder(f *os.File) int {
	raw := make([]byte, holderLen)
	n, _ := f.ReadAt(raw, 0)
	pid, _ := strconv.Atoi(string(bytes.TrimSpace(raw[:n])))
	return max(pid, 0)
}

package thread

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// syncEvery is how long what was written waits for its fsync.
const syncEvery = 500 * time.Millisecond

// syncer brings files and folders to disk (fsync) soon after they changed. Its
// goroutine starts with the first change, and close waits for it.
type syncer struct {
	mu      sync.Mutex
	dirty   map[string]bool
	err     error // of the background, until somebody is told
	wake    chan struct{}
	done    chan struct{}
	stopped chan struct{}
	closed  bool

	flushing sync.Mutex // one at a time: who finds nothing dirty still waits for it to be on disk
}

// mark says that files or folders have changed.
func (y *syncer) mark(paths ...string) {
	y.mu.Lock()
	defer y.mu.Unlock()
	if y.dirty == nil {
		y.dirty = map[string]bool{}
	}
	for _, p := range paths {
		y.dirty[p] = true
	}
	if y.closed {
		return
	}
	if y.wake == nil {
		y.wake = make(chan struct{}, 1)
		y.done = make(chan struct{})
		y.stopped = make(chan struct{})
		go y.run()
	}
	select {
	case y.wake <- struct{}{}:
	default:
	}
}

// run flushes what is marked, at most once in syncEvery.
func (y *syncer) run() {
	defer close(y.stopped)
	for {
		select {
		case <-y.done:
			return
		case <-y.wake:
		}
		timer := time.NewTimer(syncEvery)
		select {
		case <-y.done:
			timer.Stop()
			return
		case <-timer.C:
		}
		if err := y.flush(); err != nil {
			y.mu.Lock()
			y.err = err
			y.mu.Unlock()
		}
	}
}

// flush brings everything that is marked to disk.
func (y *syncer) flush() error {
	y.flushing.Lock()
	defer y.flushing.Unlock()
	y.mu.Lock()
	paths := slices.Collect(maps.Keys(y.dirty))
	clear(y.dirty)
	y.mu.Unlock()
	var errs []error
	for _, p := range paths {
		if err := fsync(p); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// failed returns, once, what went wrong in the background.
func (y *syncer) failed() error {
	y.mu.Lock()
	defer y.mu.Unlock()
	err := y.err
	y.err = nil
	return err
}

func (y *syncer) close() error {
	y.mu.Lock()
	first := !y.closed
	y.closed = true
	started := y.wake != nil
	y.mu.Unlock()
	if started {
		if first {
			close(y.done)
		}
		<-y.stopped
	}
	return errors.Join(y.flush(), y.failed())
}

// leave is close for a process that ends now: it waits for no disk. What was written
// is the kernel's, which has been asked to begin with it and needs no process for it.
func (y *syncer) leave() {
	y.mu.Lock()
	if !y.closed && y.wake != nil {
		close(y.done)
	}
	y.closed = true
	paths := slices.Collect(maps.Keys(y.dirty))
	y.mu.Unlock()
	for _, p := range paths[:min(len(paths), maxBegun)] {
		beginSync(p)
	}
}

// maxBegun bounds the files whose writing leave begins: a few milliseconds of it.
const maxBegun = 64

// beginSync begins to bring the data of a file to disk. Nothing depends on it: it
// only comes sooner than by itself.
func beginSync(path string) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return
	}
	_ = unix.SyncFileRange(int(f.Fd()), 0, 0, unix.SYNC_FILE_RANGE_WRITE)
	_ = f.Close()
}

// fsync brings a file or folder to disk; one removed meanwhile is done.
func fsync(path string) error {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("bringing a session to disk: %w", err)
	}
	defer func() { _ = f.Close() }()
	if err := f.Sync(); err != nil {
		return fmt.Errorf("bringing a session to disk: %w", err)
	}
	return nil
}

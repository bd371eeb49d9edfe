// Package flock locks files with the kernel's flock, which ends with the
// process, however it ends.
//
// Begin at [Take], which waits for a lock, or [Try], which does not; [File] locks a file that is
// open already.
package flock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// ErrHeld says that somebody else holds the lock.
var ErrHeld = errors.New("another process holds the lock")

// poll is how often a lock that is held is tried again: a flock that blocks
// can't be ended with its context.
const poll = 5 * time.Millisecond

// A Lock is an exclusive lock on a file. Each belongs to one opening of the file,
// so that two of one process exclude each other.
type Lock struct{ f *os.File }

// Try takes the lock of the file at path, which is made with mode 0600 where it
// is not there, or returns ErrHeld.
func Try(path string) (*Lock, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0o600)
		if err != nil {
			return nil, fmt.Errorf("locking: %w", err)
		}
		if err := try(f); err != nil {
			_ = f.Close()
			return nil, err
		}
		if !removed(f) { // a file that was removed meanwhile excludes nobody
			return &Lock{f}, nil
		}
		_ = f.Close()
	}
}

// Take waits for the lock, at most as long as wait and ctx allow. The error is
// ErrHeld, the context's cause, or why the file can't be used.
func Take(ctx context.Context, path string, wait time.Duration) (*Lock, error) {
	var l *Lock
	err := until(ctx, wait, func() (err error) {
		l, err = Try(path)
		return err
	})
	return l, err
}

// File takes the lock of an open file, shared (unix.LOCK_SH) or not
// (unix.LOCK_EX), and waits as Take does. The lock belongs to this opening of the
// file; [Unlock] lets go of it.
func File(ctx context.Context, f *os.File, how int, wait time.Duration) error {
	return until(ctx, wait, func() error { return lock(f, how) })
}

// until tries again as long as somebody holds the lock.
func until(ctx context.Context, wait time.Duration, take func() error) error {
	err := take()
	if !errors.Is(err, ErrHeld) {
		return err
	}
	end := time.NewTimer(wait)
	defer end.Stop()
	again := time.NewTicker(poll)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-end.C:
			return err
		case <-again.C:
			if err := take(); !errors.Is(err, ErrHeld) {
				return err
			}
		}
	}
}

// Held says whether somebody holds the lock of the file at path. It takes the
// lock for a moment, shared, so that askers do not find each other.
func Held(path string) (bool, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("looking at a lock: %w", err)
	}
	defer f.Close()
	err = lock(f, unix.LOCK_SH)
	if errors.Is(err, ErrHeld) {
		return true, nil
	}
	if err == nil {
		Unlock(f)
	}
	return false, err
}

// File is the file that is locked, to be shared with another process, which
// holds the lock as long as it has the file open.
func (l *Lock) File() *os.File { return l.f }

// Release lets go of the lock, wherever else the file is open.
func (l *Lock) Release() {
	Unlock(l.f) // a child between fork and exec may have the file too: closing it would not be enough
	_ = l.f.Close()
}

func try(f *os.File) error { return lock(f, unix.LOCK_EX) }

func lock(f *os.File, how int) error {
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EINTR):
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrHeld
		default:
			return err
		}
	}
}

// Unlock lets go of the lock of an open file, wherever else it is open.
func Unlock(f *os.File) { _ = unix.Flock(int(f.Fd()), unix.LOCK_UN) }

func removed(f *os.File) bool {
	var st unix.Stat_t
	err := unix.Fstat(int(f.Fd()), &st)
	return err != nil || st.Nlink == 0
}

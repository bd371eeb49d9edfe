package flock_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/internal/flock"
	"github.com/chant-acp/chant-acp/internal/testenv"
)

func TestOneAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	if held, err := flock.Held(path); held || err != nil {
		t.Fatalf("no file: %v, %v", held, err)
	}
	first, err := flock.Try(path)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := flock.Try(path); !errors.Is(err, flock.ErrHeld) {
		t.Errorf("a second one: %v", err)
	}
	if _, err := flock.Take(t.Context(), path, time.Millisecond); !errors.Is(err, flock.ErrHeld) {
		t.Errorf("a second one that waits: %v", err)
	}
	gone, cancel := context.WithCancelCause(t.Context())
	reason := errors.New("reason")
	cancel(reason)
	if _, err := flock.Take(gone, path, time.Hour); !errors.Is(err, reason) {
		t.Errorf("a cancelled one: %v", err)
	}
	if held, err := flock.Held(path); !held || err != nil {
		t.Errorf("held: %v, %v", held, err)
	}
	got := make(chan error)
	go func() {
		l, err := flock.Take(context.Background(), path, testenv.Hang)
		if err == nil {
			l.Release()
		}
		got <- err
	}()
	first.Release()
	if err := <-got; err != nil {
		t.Errorf("one that waited: %v", err)
	}
	if held, err := flock.Held(path); held || err != nil {
		t.Errorf("free again: %v, %v", held, err)
	}
}

func TestALinkIsNoLock(t *testing.T) {
	dir := t.TempDir()
	if err := os.Symlink(filepath.Join(dir, "target"), filepath.Join(dir, "lock")); err != nil {
		t.Fatal(err)
	}
	if _, err := flock.Try(filepath.Join(dir, "lock")); err == nil {
		t.Error("a link was followed")
	}
	if _, err := os.Stat(filepath.Join(dir, "target")); err == nil {
		t.Error("its target was made")
	}
}

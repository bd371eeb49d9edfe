package heartbeat

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/chant-acp/chant-acp/internal/durable"
	"github.com/chant-acp/chant-acp/internal/flock"
	"github.com/chant-acp/chant-acp/internal/stateroot"
)

// version is that of both formats below.
const version = 1

// maxStored bounds what is read of our own files: of each job there are a few
// hundred bytes, and its command line.
const maxStored = 16 << 20

// store is the folder of grants and states below the state root, and the name of
// one workspace in it.
type store struct {
	dir, name string
}

func newStore(stateDir, workspace string) store {
	sum := sha256.Sum256([]byte(workspace))
	return store{filepath.Join(stateDir, "heartbeat"), hex.EncodeToString(sum[:16])}
}

func (s store) grant() string    { return filepath.Join(s.dir, s.name+".trust.json") }
func (s store) lockPath() string { return filepath.Join(s.dir, s.name+".lock") }
func (s store) state() string    { return filepath.Join(s.dir, s.name+".state.json") }

// head is what both files have.
type head struct {
	Version   int    `json:"version"`
	Workspace string `json:"workspace"` // its real path
}

func (h head) check(workspace string) error {
	switch {
	case h.Version > version:
		return fmt.Errorf("it has format %d, and this version knows %d: update chant-acp: %w", h.Version, version, errNewer)
	case h.Version < 1 || h.Workspace != workspace:
		return errors.New("it is not about this workspace")
	}
	return nil
}

// errNewer is a file of a newer version, which is no broken one.
var errNewer = errors.New("a newer version wrote it")

// errBroken is a file that can't be one of ours.
var errBroken = errors.New("it is broken")

// load reads a file of ours; found is false where there is none. An error that is
// errBroken says that it can be set aside.
func load(path string, into any, check func() error) (found bool, err error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return false, nil
	case errors.Is(err, syscall.ELOOP):
		return false, fmt.Errorf("%s is a link, and none of ours: %w", path, errBroken)
	case err != nil:
		return false, err
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return false, fmt.Errorf("%s is not a regular file: %w", path, errBroken)
	}
	raw, err := io.ReadAll(io.LimitReader(f, maxStored))
	if err != nil {
		return false, err
	}
	err = json.Unmarshal(bytes.TrimRight(raw, "\n"), into)
	if err == nil {
		err = check()
	}
	switch {
	case errors.Is(err, errNewer):
		return false, fmt.Errorf("%s cannot be used: %w", path, err)
	case err != nil:
		return false, fmt.Errorf("%s cannot be used (%w): %w", path, err, errBroken)
	}
	return true, nil
}

func (s store) makeDir() error {
	if err := stateroot.Make(filepath.Dir(s.dir)); err != nil {
		return err
	}
	return stateroot.Make(s.dir)
}

// save replaces a file as a whole; after a crash it is the old or the new one.
func (s store) save(path string, v any) error {
	if err := s.makeDir(); err != nil {
		return err
	}
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return durable.Write(path, append(raw, '\n'))
}

// lockWait outlasts those who look for a moment whether the lock is held.
const lockWait = 250 * time.Millisecond

// lock makes this process the one that runs the heartbeat of the workspace.
func (s store) lock(ctx context.Context) (release func(), err error) {
	if err := s.makeDir(); err != nil {
		return nil, err
	}
	l, err := flock.Take(ctx, s.lockPath(), lockWait)
	if errors.Is(err, flock.ErrHeld) {
		return nil, ErrRunning
	}
	if err != nil {
		return nil, err
	}
	return l.Release, nil
}

// locked says whether a process has the lock.
func (s store) locked() bool {
	held, err := flock.Held(s.lockPath())
	return err == nil && held
}

// ErrRunning says that another loop runs for the workspace.
var ErrRunning = errors.New("the heartbeat of this workspace runs already, perhaps in another process; end that one first")

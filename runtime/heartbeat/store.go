package heartbeat

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

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

// setAside renames a broken file to a name that says so, and returns that.
func setAside(path string, now time.Time) (string, error) {
	aside := fmt.Sprintf("%s.broken-%s-%04x", path, now.UTC().Format("20060102T150405Z"), rand.Uint32()&0xffff)
	if err := os.Rename(path, aside); err != nil {
		return "", fmt.Errorf("setting a broken file aside: %w", err)
	}
	return aside, nil
}

// save replaces a file as a whole; after a crash it is the old or the new one.
func (s store) save(path string, v any) error {
	if err := stateroot.Make(filepath.Dir(s.dir)); err != nil {
		return err
	}
	if err := stateroot.Make(s.dir); err != nil {
		return err
	}
	raw, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	temp := fmt.Sprintf("%s.%016x.tmp", path, rand.Uint64())
	if err := writeSynced(temp, append(raw, '\n')); err != nil {
		_ = os.Remove(temp)
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		_ = os.Remove(temp)
		return err
	}
	return syncDir(s.dir)
}

// sweep removes what writes of the state have left that a crash cut. Whoever has
// the lock is the only one that writes it.
func (s store) sweep() {
	left, _ := filepath.Glob(s.state() + ".*.tmp") // the pattern is a good one, unless the state root is odd
	for _, path := range left {
		_ = os.Remove(path) // it only takes room
	}
}

func writeSynced(path string, data []byte) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

func syncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// lock makes this process the one that runs the heartbeat of the workspace. The
// lock is the kernel's, belongs to the open file, and ends with the process,
// however that ends.
func (s store) lock() (release func(), err error) {
	if err := stateroot.Make(filepath.Dir(s.dir)); err != nil {
		return nil, err
	}
	if err := stateroot.Make(s.dir); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(s.lockPath(), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.FcntlFlock(f.Fd(), unix.F_OFD_SETLK, &unix.Flock_t{Type: unix.F_WRLCK}); err != nil {
		_ = f.Close()
		if errors.Is(err, unix.EAGAIN) || errors.Is(err, unix.EACCES) {
			return nil, ErrRunning
		}
		return nil, err
	}
	return func() { _ = f.Close() }, nil
}

// locked says whether a process has the lock, without taking it.
func (s store) locked() bool {
	f, err := os.OpenFile(s.lockPath(), os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	l := unix.Flock_t{Type: unix.F_WRLCK}
	err = unix.FcntlFlock(f.Fd(), unix.F_OFD_GETLK, &l)
	return err == nil && l.Type != unix.F_UNLCK
}

// ErrRunning says that another loop runs for the workspace.
var ErrRunning = errors.New("the heartbeat of this workspace runs already, perhaps in another process; end that one first")

package heartbeat

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// A File is a HEARTBEAT.md as it was read, once.
type File struct {
	Workspace string // its real path
	Path      string // of the file
	Digest    string // SHA-256 of the bytes, in hex
	// Plan is what those bytes say; nil where Err is not.
	Plan *Plan
	// Err is the *[PlanError] of those bytes, or nil.
	Err error
}

// Workspace resolves a folder to the real path that grants and state go by.
func Workspace(dir string) (string, error) {
	abs, err := filepath.Abs(dir)
	if err == nil {
		abs, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		return "", fmt.Errorf("the workspace cannot be resolved: %w", err)
	}
	if st, err := os.Stat(abs); err != nil || !st.IsDir() {
		return "", fmt.Errorf("the workspace %s is no folder", abs)
	}
	return abs, nil
}

// ErrNoFile says that a workspace has no HEARTBEAT.md.
var ErrNoFile = errors.New("there is no " + FileName)

// Read reads the HEARTBEAT.md of a workspace. A link is followed while it stays
// inside of the workspace. The error is [ErrNoFile] where there is no file;
// errors of what the file says are in [File.Err].
func Read(workspace string) (*File, error) {
	real, err := Workspace(workspace)
	if err != nil {
		return nil, err
	}
	f := &File{Workspace: real, Path: filepath.Join(real, FileName)}
	text, err := readInside(real)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w in %s", ErrNoFile, real)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not used: %w", f.Path, err)
	}
	sum := sha256.Sum256(text)
	f.Digest = hex.EncodeToString(sum[:])
	f.Plan, f.Err = Parse(text)
	return f, nil
}

// readInside reads one byte more than may be there at most.
func readInside(workspace string) ([]byte, error) {
	root, err := os.OpenRoot(workspace)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	// Non-blocking, so that a pipe under this name holds nobody.
	f, err := root.OpenFile(FileName, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if st, lerr := root.Lstat(FileName); lerr == nil && st.Mode()&fs.ModeSymlink != 0 {
			return nil, errors.New("it is a link to something that is not there; put the file itself there")
		}
		return nil, err
	}
	if errors.Is(err, fs.ErrPermission) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%w; it has to be a file of the workspace, or a link to one inside of it", err)
	}
	defer f.Close()
	if st, err := f.Stat(); err != nil || !st.Mode().IsRegular() {
		return nil, errors.New("it is not a regular file; put one there")
	}
	return io.ReadAll(io.LimitReader(f, MaxFile+1))
}

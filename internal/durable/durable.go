// Package durable writes files that outlast a crash and a power cut whole or not
// at all, and reads them with a bound.
//
// [Write] replaces a file, [Create] makes one that must not be there, [Read] reads one with a
// bound, and [SetAside] renames one that is damaged.
package durable

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// Write puts data in the place of the file at path, which need not be there yet;
// its folder must. The file gets mode 0600, whatever it had: it is written beside
// path under <path>.tmp.<12 hex>, flushed and renamed, and the folder is flushed.
// A link at path is replaced, not followed: see [Target]. After an error before
// the rename the file is as it was, and nothing is left beside it.
func Write(path string, data []byte) error {
	temp, err := writeTemp(path, data)
	if err != nil {
		return err
	}
	if err := os.Rename(temp, path); err != nil {
		_ = os.Remove(temp)
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// Create makes a file as Write does, and leaves one that is there as it is: the
// error is fs.ErrExist then.
func Create(path string, data []byte) error {
	temp, err := writeTemp(path, data)
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp) }()
	// A link fails where there is a file already; a rename would replace it.
	if err := os.Link(temp, path); err != nil {
		return err
	}
	return SyncDir(filepath.Dir(path))
}

func writeTemp(path string, data []byte) (string, error) {
	var random [6]byte
	_, _ = rand.Read(random[:]) // never fails; crypto/rand ends the process instead
	temp := path + tempMark + hex.EncodeToString(random[:])
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return "", err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		_ = os.Remove(temp)
		return "", err
	}
	return temp, nil
}

const tempMark = ".tmp."

// Sweep removes what writes of path have left that a crash cut. It is for whoever
// is the only one that writes there now.
func Sweep(path string) {
	beside, _ := os.ReadDir(filepath.Dir(path)) // leftovers only take room
	for _, e := range beside {
		if strings.HasPrefix(e.Name(), filepath.Base(path)+tempMark) {
			_ = os.Remove(filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
}

// SyncDir flushes a folder, so that what was made or renamed in it stays.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// Read reads a regular file of at most max bytes. It follows no link.
func Read(path string, max int64) ([]byte, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	st, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !st.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is not a regular file", path)
	}
	data, err := io.ReadAll(io.LimitReader(f, max+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > max {
		return nil, fmt.Errorf("%s holds more than %d bytes, the most that is read", path, max)
	}
	return data, nil
}

// SetAside renames a damaged file, or what stands in its place, to
// <path>.corrupt-<n>, the first n that is free, and returns the new name: nothing
// is lost, and nothing reads it again.
func SetAside(path string) (string, error) {
	for n := 1; ; n++ {
		moved := fmt.Sprintf("%s.corrupt-%d", path, n)
		err := move(path, moved)
		switch {
		case errors.Is(err, os.ErrExist):
		case err != nil:
			return "", fmt.Errorf("setting aside %s: %w", path, err)
		default:
			return moved, SyncDir(filepath.Dir(path))
		}
	}
}

// move renames a file to where none is.
func move(path, to string) error {
	// A link is made where no file is, a rename would replace one.
	err := os.Link(path, to)
	if err == nil {
		return os.Remove(path)
	}
	if !errors.Is(err, syscall.EPERM) && !errors.Is(err, syscall.ENOTSUP) {
		return err
	}
	// A folder, or a file system without links.
	if _, err := os.Lstat(to); err == nil {
		return os.ErrExist
	}
	return os.Rename(path, to)
}

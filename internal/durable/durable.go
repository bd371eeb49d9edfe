// Package durable writes files that outlast a crash and a power cut whole or not
// at all, and reads them with a bound.
package durable

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// Write puts data in the place of the file at path, with mode 0600: written beside
// it under <path>.tmp.<12 hex>, flushed, renamed, and the folder flushed.
func Write(path string, data []byte) error {
	var random [6]byte
	_, _ = rand.Read(random[:]) // never fails; crypto/rand ends the process instead
	temp := path + ".tmp." + hex.EncodeToString(random[:])
	f, err := os.OpenFile(temp, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	err = errors.Join(err, f.Close())
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		_ = os.Remove(temp)
		return err
	}
	return SyncDir(filepath.Dir(path))
}

// SyncDir flushes a folder, so that what was made or renamed in it stays.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	err = d.Sync()
	return errors.Join(err, d.Close())
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

// SetAside renames a damaged file to <path>.corrupt-<n>, the first n that is
// free, and returns the new name: nothing is lost, and nothing reads it again.
func SetAside(path string) (string, error) {
	for n := 1; ; n++ {
		aside := fmt.Sprintf("%s.corrupt-%d", path, n)
		// A link is made where no file is, a rename would replace one.
		err := os.Link(path, aside)
		if errors.Is(err, os.ErrExist) {
			continue
		}
		if err == nil {
			err = os.Remove(path)
		}
		if err != nil {
			return "", fmt.Errorf("setting aside %s: %w", path, err)
		}
		return aside, SyncDir(filepath.Dir(path))
	}
}

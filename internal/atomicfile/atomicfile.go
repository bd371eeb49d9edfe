// Package atomicfile replaces files in one step: whoever reads one finds what
// was there before or what is there now, whole, also after a loss of power.
package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Write puts data in the place of the file at path, which need not be there yet;
// its folder must. It writes a file beside it, of a random name, fsyncs it,
// renames it and fsyncs the folder. A link at path is replaced, not followed: see
// [Target]. After an error before the rename the file is as it was, and nothing
// is left beside it.
func Write(path string, data []byte, mode fs.FileMode) error {
	dir, name := filepath.Split(path)
	temp := filepath.Join(dir, fmt.Sprintf(".%s.%016x.tmp", name, rand.Uint64()))
	err := writeSynced(temp, data, mode)
	if err == nil {
		err = os.Rename(temp, path)
	}
	if err != nil {
		_ = os.Remove(temp)
		return fmt.Errorf("replacing %s: %w", path, err)
	}
	if err := SyncDir(filepath.Dir(path)); err != nil {
		return fmt.Errorf("%s was replaced, but may not outlast a loss of power: %w", path, err)
	}
	return nil
}

// Target is the path behind links, for files that people keep elsewhere and
// link to. The last of them may lead to a file that is not there yet.
func Target(path string) (string, error) {
	const most = 40 // as the kernel follows (path_resolution(7))
	for range most {
		real, err := filepath.EvalSymlinks(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return real, err
		}
		to, err := os.Readlink(path)
		if err != nil { // it is no link, so it is the file that is not there
			return path, nil
		}
		if !filepath.IsAbs(to) { // from the folder that it really lies in
			dir, err := filepath.EvalSymlinks(filepath.Dir(path))
			if err != nil {
				return "", err
			}
			to = filepath.Join(dir, to)
		}
		path = to
	}
	return "", fmt.Errorf("%s is a link that leads nowhere", path)
}

func writeSynced(path string, data []byte, mode fs.FileMode) error {
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(mode) // whatever the umask
	}
	if err == nil {
		err = f.Sync()
	}
	return errors.Join(err, f.Close())
}

// SyncDir makes what was made, renamed and removed in a folder outlast a loss of
// power.
func SyncDir(dir string) error {
	d, err := os.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

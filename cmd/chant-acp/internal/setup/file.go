package setup

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// maxFile is the largest settings file that is edited, in bytes.
const maxFile = 16 << 20

// file is a settings file as it was found.
type file struct {
	path string // links followed
	data []byte
	info fs.FileInfo // nil where there is no file yet
}

// load reads the file at path, through links: people keep settings in a
// repository and link to them, and the link has to stay.
func load(path string) (*file, error) {
	if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
		return &file{path: path}, nil
	}
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, fmt.Errorf("the settings file %s cannot be reached: %w; if it is a link, make it point to a file, or remove it", path, err)
	}
	info, err := os.Stat(real)
	if err != nil {
		return nil, fmt.Errorf("cannot look at the settings file: %w", err)
	}
	if err := editable(real, info); err != nil {
		return nil, err
	}
	data, err := readFile(real)
	if err != nil {
		return nil, err
	}
	return &file{path: real, data: data, info: info}, nil
}

// editable refuses a file that its owner has protected, also where we could
// write to it by renaming: the owner meant it (home managers make such files).
func editable(path string, info fs.FileInfo) error {
	const anyWrite = 0o222
	if !info.Mode().IsRegular() {
		return fmt.Errorf("%s is not a regular file (%s); move it away, or paste what setup prints", path, info.Mode().Type())
	}
	if info.Size() > maxFile {
		return fmt.Errorf("%s has %d bytes, more than the %d that setup edits; paste what it prints instead", path, info.Size(), maxFile)
	}
	if info.Mode()&anyWrite == 0 {
		return fmt.Errorf("%s is read-only (mode %v); make it writable, or change what generates it, or paste what setup prints", path, info.Mode().Perm())
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("the settings file cannot be written: %w; make it writable, or paste what setup prints", err)
	}
	f.Close()
	dir, err := os.Stat(filepath.Dir(path))
	if err == nil && dir.Mode()&anyWrite == 0 {
		return fmt.Errorf("the folder %s is read-only (mode %v), and the new file and the backup belong there; make it writable, or paste what setup prints", filepath.Dir(path), dir.Mode().Perm())
	}
	return nil
}

func readFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the settings file: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("cannot read the settings file: %w", err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("%s has more than the %d bytes that setup edits; paste what it prints instead", path, maxFile)
	}
	return data, nil
}

// replace puts data in the file's place in one step and returns the path of
// the backup it made, "" for a new file. After an error the file is untouched
// and neither backup nor temporary file is left.
func (f *file) replace(data []byte, now time.Time) (backup string, err error) {
	if f.info == nil {
		// XDG Base Directory Specification: configuration folders are private.
		if err := os.MkdirAll(filepath.Dir(f.path), 0o700); err != nil {
			return "", fmt.Errorf("cannot make the folder of %s: %w", f.path, err)
		}
	}
	temp, err := f.writeTemp(data)
	if err != nil {
		return "", fmt.Errorf("%s was not changed, because the new version cannot be written beside it: %w", f.path, err)
	}
	defer os.Remove(temp) // gone already after the rename
	if f.info != nil {
		if backup, err = f.backup(now); err != nil {
			return "", fmt.Errorf("%s was not changed, because no backup can be made: %w", f.path, err)
		}
	}
	if err := f.swap(temp); err != nil {
		if backup != "" {
			os.Remove(backup)
		}
		return "", err
	}
	return backup, nil
}

// swap renames the new version over the file, unless someone changed the file
// since it was read: the client itself writes it too.
func (f *file) swap(temp string) error {
	current, err := os.ReadFile(f.path)
	if f.info == nil && errors.Is(err, fs.ErrNotExist) {
		err = nil
	} else if err == nil && (f.info == nil || !bytes.Equal(current, f.data)) {
		err = errors.New("it changed meanwhile; run setup again")
	}
	if err == nil {
		err = os.Rename(temp, f.path)
	}
	if err != nil {
		return fmt.Errorf("%s was not changed: %w", f.path, err)
	}
	syncDir(filepath.Dir(f.path))
	return nil
}

// writeTemp writes a new version beside the file, with its mode and owner.
func (f *file) writeTemp(data []byte) (string, error) {
	temp, err := os.CreateTemp(filepath.Dir(f.path), "."+filepath.Base(f.path)+".*")
	if err != nil {
		return "", err
	}
	if err := f.fillAndClose(temp, data); err != nil {
		os.Remove(temp.Name())
		return "", err
	}
	return temp.Name(), nil
}

// backup copies the file as it was read beside itself, never over another copy.
func (f *file) backup(now time.Time) (string, error) {
	name := f.path + ".chant-acp-backup-" + now.UTC().Format("20060102T150405Z")
	out, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	for n := 2; errors.Is(err, fs.ErrExist) && n < 1000; n++ {
		numbered := fmt.Sprintf("%s-%d", name, n)
		out, err = os.OpenFile(numbered, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	}
	if err != nil {
		return "", err
	}
	if err := f.fillAndClose(out, f.data); err != nil {
		os.Remove(out.Name())
		return "", err
	}
	return out.Name(), nil
}

// fillAndClose writes data to the disk. A mode that cannot be given is an
// error, as the file may hold secrets; an owner that cannot is not.
func (f *file) fillAndClose(out *os.File, data []byte) error {
	_, err := out.Write(data)
	if err == nil && f.info != nil {
		copyOwner(out, f.info)
		err = out.Chmod(f.info.Mode().Perm())
	}
	if err == nil {
		err = out.Sync()
	}
	return errors.Join(err, out.Close())
}

// within reports whether path lies in dir, links in dir followed.
func within(dir, path string) bool {
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return false
	}
	rel, err := filepath.Rel(real, path)
	return err == nil && filepath.IsLocal(rel)
}

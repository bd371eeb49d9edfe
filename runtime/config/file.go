package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/chant-acp/chant-acp/internal/atomicfile"
)

// MaxFile is the largest file that is read, in bytes.
const MaxFile = 1 << 20

// Load reads the file at path. One that is not there is an empty document. With
// an error, the document is empty, too, so that it stands for the defaults:
// *SyntaxError for what is no configuration; others for what can't be read, is
// no regular file or larger than [MaxFile], or may have been written by somebody
// else, as its contents decide what is run.
func Load(path string) (*Document, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return &Document{file: path}, nil
	}
	if err != nil {
		return &Document{file: path}, fmt.Errorf("the configuration can't be read: %w", err)
	}
	defer f.Close()
	return load(path, f)
}

func load(path string, f *os.File) (*Document, error) {
	text, err := read(path, f)
	if err != nil {
		return &Document{file: path}, err
	}
	return Parse(path, text)
}

func read(path string, f *os.File) ([]byte, error) {
	st, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("the configuration can't be read: %w", err)
	}
	if reason := distrust(st); reason != "" {
		return nil, fmt.Errorf("the configuration %s is not used: %s", path, reason)
	}
	text := make([]byte, 0, st.Size()+1) // and not what io.ReadAll grows to
	b := bytes.NewBuffer(text)
	if _, err := b.ReadFrom(io.LimitReader(f, MaxFile+1)); err != nil {
		return nil, fmt.Errorf("the configuration can't be read: %w", err)
	}
	if b.Len() > MaxFile {
		return nil, fmt.Errorf("the configuration %s is not used: it is larger than %d bytes", path, MaxFile)
	}
	return b.Bytes(), nil
}

// distrust says why a file must not decide what is run.
func distrust(st fs.FileInfo) string {
	sys, ok := st.Sys().(*syscall.Stat_t)
	switch {
	case !st.Mode().IsRegular():
		return "it is no regular file"
	case ok && sys.Uid != 0 && int(sys.Uid) != os.Geteuid():
		return fmt.Sprintf("it belongs to another user (uid %d); take it over with chown if it is meant to be yours", sys.Uid)
	case st.Mode().Perm()&0o002 != 0:
		return "everyone may write to it; run chmod o-w on it if it is meant to be used"
	}
	return ""
}

// Update changes the file at path: it excludes other writers, reads the file,
// calls change, and replaces the file in one step, unless change returned an
// error or changed nothing. A file that is not there is made, with mode 0600,
// and its folder with 0700; of a link, what it leads to is replaced. A file
// that is broken is left as it is (*SyntaxError), and change is not called.
func Update(path string, change func(*Document) error) error {
	return locked(path, func(path string, f *os.File) (changed bool, err error) {
		text, err := read(path, f)
		if err != nil {
			return false, err
		}
		d, err := Parse(path, text)
		if err != nil {
			return false, err
		}
		if d.root == nil {
			d, _ = Parse(path, []byte(newFile))
		}
		before := d.text
		if err := change(d); err != nil || bytes.Equal(before, d.text) {
			return false, err
		}
		return replaced(path, f, text, d)
	})
}

// newFile is what a file begins with.
const newFile = "{\n  \"version\": 1\n}\n"

// Replace puts a text in the place of the file at path, broken or not, as Update
// does. before is what the caller believes that the file holds. Errors:
// *SyntaxError for a text that is no configuration; ErrChanged.
func Replace(path string, before, text []byte) error {
	d, err := Parse(path, text)
	if err != nil {
		return err
	}
	return locked(path, func(path string, f *os.File) (changed bool, err error) {
		return replaced(path, f, before, d)
	})
}

// ErrChanged says that somebody else changed the file after it was read. It was
// left as it is.
var ErrChanged = errors.New("it was changed by somebody else meanwhile, and was left as it is now")

// locked excludes other writers while change replaces the file, behind links. A
// file that was not there and is not replaced is not there afterwards.
func locked(path string, change func(path string, f *os.File) (changed bool, err error)) error {
	path, err := atomicfile.Target(path)
	if err != nil {
		return fmt.Errorf("the configuration can't be reached: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("making the folder of the configuration: %w", err)
	}
	f, made, err := lock(path)
	if err != nil {
		return fmt.Errorf("the configuration can't be changed: %w", err)
	}
	defer f.Close() // which ends the lock
	changed, err := change(path, f)
	if made && !changed {
		_ = os.Remove(path) // who waits for it sees that it is gone
	}
	return err
}

// replaced replaces a file that still holds before.
func replaced(path string, f *os.File, before []byte, d *Document) (changed bool, err error) {
	if d, err = d.versioned(); err != nil {
		return false, err
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return false, fmt.Errorf("the configuration can't be read: %w", err)
	}
	now, err := read(path, f)
	if err != nil {
		return false, err
	}
	// Editors know of no lock.
	if !bytes.Equal(now, before) || !current(path, f) {
		return false, fmt.Errorf("%s: %w; try again", path, ErrChanged)
	}
	if err := atomicfile.Write(path, d.text, 0o600); err != nil {
		return false, fmt.Errorf("the configuration was not changed: %w", err)
	}
	return true, nil
}

// versioned is the document with the format's version in it.
func (d *Document) versioned() (*Document, error) {
	if n := d.find([]string{"version"}); n != nil && string(d.text[n.start:n.end]) == "1" {
		return d, nil
	}
	return d.with([]string{"version"}, []byte("1"))
}

// lock opens the file at path, makes it if need be, and excludes other writers
// until it is closed. The file itself is what is locked, so that no other lies
// about; a replaced one excludes nobody, so it is looked at again.
func lock(path string) (f *os.File, made bool, err error) {
	for {
		f, made, err = openToWrite(path)
		if err != nil {
			return nil, false, err
		}
		err = flock(f)
		if err == nil && current(path, f) {
			return f, made, nil
		}
		_ = f.Close()
		if err != nil {
			return nil, false, fmt.Errorf("locking %s: %w", path, err)
		}
	}
}

func openToWrite(path string) (f *os.File, made bool, err error) {
	const flags = os.O_RDWR | syscall.O_NONBLOCK | syscall.O_NOFOLLOW
	for {
		f, err = os.OpenFile(path, flags, 0)
		if !errors.Is(err, fs.ErrNotExist) {
			return f, false, err
		}
		f, err = os.OpenFile(path, flags|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			return f, true, err
		}
	}
}

// flock waits for the lock: other writers hold it for as long as it takes to
// replace a small file.
func flock(f *os.File) error {
	for {
		if err := unix.Flock(int(f.Fd()), unix.LOCK_EX); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// current says whether an open file is still the one at path.
func current(path string, f *os.File) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(open, there)
}

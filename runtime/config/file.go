package config

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/chant-acp/chant-acp/internal/durable"
	"github.com/chant-acp/chant-acp/internal/flock"
)

// MaxFile is the largest file that is read, in bytes.
const MaxFile = 1 << 20

// Open reads the configuration at [Path]: an empty document where there is none,
// and where there is no place for one. With an error of Path or [Load] the document
// is empty, too.
func Open(env func(string) string) (*Document, error) {
	path, err := Path(env)
	switch {
	case err == nil:
		return Load(path)
	case errors.Is(err, ErrNoHome):
		err = nil
	}
	return new(Document), err
}

// Load reads the file at path. One that is not there is an empty document. With
// an error, the document is empty, too, so that it stands for the defaults:
// *SyntaxError for what is no configuration; others for what can't be read, is
// no regular file or larger than [MaxFile], or may have been written by somebody
// else, as its contents decide what is run.
func Load(path string) (*Document, error) {
	// Without an os.File, whose first one of a process costs more than all the rest.
	const flags = unix.O_RDONLY | unix.O_NONBLOCK | unix.O_CLOEXEC
	fd, err := unix.Open(path, flags, 0)
	for errors.Is(err, unix.EINTR) { // some file systems let a signal in
		fd, err = unix.Open(path, flags, 0)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return &Document{file: path}, nil
	}
	if err != nil {
		return &Document{file: path}, unreadable(path, err)
	}
	text, err := read(path, fd)
	_ = unix.Close(fd) // nothing was written
	if err != nil {
		return &Document{file: path}, err
	}
	return Parse(path, text)
}

func unreadable(path string, err error) error {
	return fmt.Errorf("the configuration can't be read: %w", &fs.PathError{Op: "open", Path: path, Err: err})
}

// read reads an open file from its beginning.
func read(path string, fd int) ([]byte, error) {
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return nil, unreadable(path, err)
	}
	if reason := distrust(&st); reason != "" {
		return nil, fmt.Errorf("the configuration %s is not used: %s", path, reason)
	}
	text := make([]byte, min(st.Size, MaxFile)+1)
	end := 0
	for {
		n, err := unix.Pread(fd, text[end:], int64(end))
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case err != nil:
			return nil, unreadable(path, err)
		case n == 0:
			return text[:end], nil
		}
		if end += n; end > MaxFile {
			return nil, fmt.Errorf("the configuration %s is not used: it is larger than %d bytes", path, MaxFile)
		}
		if end == len(text) {
			text = append(text, make([]byte, end)...)
		}
	}
}

// distrust says why a file must not decide what is run.
func distrust(st *unix.Stat_t) string {
	switch {
	case st.Mode&unix.S_IFMT != unix.S_IFREG:
		return "it is no regular file"
	case st.Uid != 0 && int(st.Uid) != os.Geteuid():
		return fmt.Sprintf("it belongs to another user (uid %d); take it over with chown if it is meant to be yours", st.Uid)
	case st.Mode&0o002 != 0:
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
		text, err := read(path, int(f.Fd()))
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
	path, err := durable.Target(path)
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
	defer f.Close()
	defer flock.Unlock(f)
	changed, err := change(path, f)
	if made && !changed {
		_ = os.Remove(path) // whoever waits for the lock sees that the file is gone
	}
	return err
}

// replaced replaces a file that still holds before.
func replaced(path string, f *os.File, before []byte, d *Document) (changed bool, err error) {
	if d, err = d.versioned(); err != nil {
		return false, err
	}
	now, err := read(path, int(f.Fd()))
	if err != nil {
		return false, err
	}
	// Editors know of no lock.
	if !bytes.Equal(now, before) || !current(path, f) {
		return false, fmt.Errorf("%s: %w; try again", path, ErrChanged)
	}
	if err := durable.Write(path, d.text); err != nil {
		// It may be in place and only its folder not flushed.
		return !current(path, f), fmt.Errorf("writing the configuration %s: %w", path, err)
	}
	return true, nil
}

// versioned is the document with the format's version in it.
func (d *Document) versioned() (*Document, error) {
	if n := d.find([]string{"version"}); n != nil && string(n.Text) == "1" {
		return d, nil
	}
	return d.with([]string{"version"}, []byte("1"))
}

// lockWait is how long another writer may take: it replaces a small file.
const lockWait = 30 * time.Second

// lock opens the file at path, makes it if need be, and excludes other writers
// until it is closed. The file itself is what is locked, so that no other lies
// about; a replaced one excludes nobody, so it is looked at again.
func lock(path string) (f *os.File, made bool, err error) {
	for {
		f, made, err = openToWrite(path)
		if err != nil {
			return nil, false, err
		}
		err = flock.File(context.Background(), f, unix.LOCK_EX, lockWait)
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

// current says whether an open file is still the one at path.
func current(path string, f *os.File) bool {
	open, err := f.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(open, there)
}

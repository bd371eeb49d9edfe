package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// NotFoundError says that a program was not found, and where it was looked for.
type NotFoundError struct {
	// Name is the program as it was asked for.
	Name string
	// PathSet tells a PATH that is empty from one that is not set.
	PathSet bool
	// Path is the PATH that was searched, or the one file that was tried where Name has a slash.
	Path string
	// Denied are files of that name that can't be executed.
	Denied []string
	// Relative are entries of PATH that hold the program but are not used because they are
	// relative.
	Relative []string
}

// Error names the program, where it was looked for, and what to do.
func (e *NotFoundError) Error() string {
	switch {
	case len(e.Denied) > 0:
		return fmt.Sprintf("program %q can't be executed: %s is not an executable file; run chmod +x on it or name another program",
			e.Name, strings.Join(e.Denied, ", "))
	case len(e.Relative) > 0:
		return fmt.Sprintf("program %q is found only by the relative PATH entry %q, which is not used; make that entry absolute or write the program's path (searched PATH=%s)",
			e.Name, strings.Join(e.Relative, ":"), e.Path)
	case strings.Contains(e.Name, "/"):
		return fmt.Sprintf("program %q not found: there is no file %s", e.Name, e.Path)
	case !e.PathSet:
		return fmt.Sprintf("program %q not found: PATH is not set; set it in the environment or write the program's absolute path", e.Name)
	case e.Path == "":
		return fmt.Sprintf("program %q not found: PATH is empty; set it in the environment or write the program's absolute path", e.Name)
	}
	return fmt.Sprintf("program %q not found in PATH=%s; install it, or add its directory to PATH", e.Name, e.Path)
}

// Unwrap makes errors.Is(err, fs.ErrNotExist), or fs.ErrPermission where a file was found, hold.
func (e *NotFoundError) Unwrap() error {
	if len(e.Denied) > 0 {
		return fs.ErrPermission
	}
	return fs.ErrNotExist
}

// LookPath returns the absolute path of the program name. A name with a slash is relative to dir,
// which is absolute; any other is searched in the PATH of env, of which the last entry counts.
// Relative entries of PATH, the empty one included, are not used: what they find depends on where
// one stands. The error is a [*NotFoundError].
func LookPath(name, dir string, env []string) (string, error) {
	if name == "" {
		return "", &NotFoundError{Name: name, Path: dir}
	}
	if strings.Contains(name, "/") {
		return lookFile(name, dir)
	}
	list, set := lastEnv(env, "PATH")
	notFound := &NotFoundError{Name: name, Path: list, PathSet: set}
	if list == "" {
		return "", notFound
	}
	for _, entry := range filepath.SplitList(list) {
		file := filepath.Join(entry, name)
		if !filepath.IsAbs(entry) {
			if executable(filepath.Join(dir, file)) == nil {
				notFound.Relative = append(notFound.Relative, entry)
			}
			continue
		}
		err := executable(file)
		if err == nil {
			return file, nil
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, unix.EISDIR) {
			notFound.Denied = append(notFound.Denied, file)
		}
	}
	return "", notFound
}

func lookFile(name, dir string) (string, error) {
	file := name
	if !filepath.IsAbs(file) {
		file = filepath.Join(dir, file)
	}
	err := executable(file)
	if err == nil {
		return file, nil
	}
	notFound := &NotFoundError{Name: name, Path: file}
	if !errors.Is(err, fs.ErrNotExist) {
		notFound.Denied = []string{file}
	}
	return "", notFound
}

// executable returns nil for a file that may be executed, and fs.ErrNotExist for one that is not
// there.
func executable(file string) error {
	info, err := os.Stat(file)
	if errors.Is(err, unix.ENOTDIR) {
		return fs.ErrNotExist // an entry of PATH that is a file
	}
	if err != nil {
		return err
	}
	if info.IsDir() {
		return unix.EISDIR
	}
	return unix.Faccessat(unix.AT_FDCWD, file, unix.X_OK, unix.AT_EACCESS)
}

// lastEnv returns the value of name in env; as for a child that reads its environment through
// os.Getenv, the last entry counts.
func lastEnv(env []string, name string) (value string, set bool) {
	for _, entry := range env {
		if v, ok := strings.CutPrefix(entry, name+"="); ok {
			value, set = v, true
		}
	}
	return value, set
}

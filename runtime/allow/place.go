package allow

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chant-acp/chant-acp/internal/durable"
	"github.com/chant-acp/chant-acp/internal/flock"
)

// maxPointer bounds the files of git that hold a path, in bytes.
const maxPointer = 8 << 10

// Place is what a project in the folder root is kept under: its real path; in a
// worktree that git made, that of the same folder in the repository it was made
// from. Both ends of a worktree name the other (gitrepository-layout(5),
// worktrees/<id>/gitdir), so that a clone can't pass for a worktree of what
// somebody has allowed.
func Place(root string) (string, error) {
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", fmt.Errorf("the project's folder: %w", err)
	}
	for top := real; ; top = filepath.Dir(top) {
		info, err := os.Lstat(filepath.Join(top, ".git"))
		if err == nil && info.Mode().IsRegular() {
			if main := mainTree(top); main != "" {
				below, err := filepath.Rel(top, real)
				if err == nil {
					return filepath.Join(main, below), nil
				}
			}
		}
		if err == nil || top == filepath.Dir(top) {
			return real, nil
		}
	}
}

// mainTree is the folder that holds the repository of a worktree; "" where the two
// do not name each other.
func mainTree(top string) string {
	admin, ok := strings.CutPrefix(pointer(filepath.Join(top, ".git")), "gitdir: ")
	if !ok {
		return ""
	}
	if !filepath.IsAbs(admin) {
		admin = filepath.Join(top, admin)
	}
	admin, err := filepath.EvalSymlinks(admin)
	if err != nil {
		return ""
	}
	back := pointer(filepath.Join(admin, "gitdir"))
	if !filepath.IsAbs(back) {
		back = filepath.Join(admin, back)
	}
	if back, err = filepath.EvalSymlinks(back); err != nil || back != filepath.Join(top, ".git") {
		return ""
	}
	common := filepath.Dir(filepath.Dir(admin)) // <common>/worktrees/<id>
	if filepath.Base(filepath.Dir(admin)) != "worktrees" {
		return ""
	}
	return strings.TrimSuffix(common, string(filepath.Separator)+".git")
}

// pointer reads a file that holds one line; "" where there is none.
func pointer(path string) string {
	text, err := durable.Read(path, maxPointer)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

const lockWait = 10 * time.Second

// lock keeps others from writing.
func (s *Store) lock() (func(), error) {
	if err := s.makeDir(); err != nil {
		return nil, err
	}
	l, err := flock.Take(context.Background(), filepath.Join(s.dir, ".lock"), lockWait)
	if err != nil {
		return nil, fmt.Errorf("keeping what is allowed: %w", err)
	}
	return l.Release, nil
}

func remove(path string) (bool, error) {
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

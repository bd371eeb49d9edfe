package command

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks bounds the links followed in one path, as the system does.
const maxLinks = 40

// within says whether path is folder or lies below it. Both are absolute and
// clean.
func within(folder, path string) bool {
	rel, err := filepath.Rel(folder, path)
	return err == nil && filepath.IsLocal(rel)
}

// insideProject refuses a path that leads out of root when the system follows
// it from dir, links included. What does not exist yet is taken as written, so a
// dangling link counts as the place it points to.
//
// The answer holds for the moment of asking: whoever may write to the project
// can put a link there afterwards.
func insideProject(root, dir, path string) error {
	_, err := projectPath(root, dir, path)
	return err
}

// projectPath is insideProject, and says where below root the path leads.
func projectPath(root, dir, path string) (rel string, err error) {
	realRoot, err := filepath.EvalSymlinks(root)
	if err != nil {
		return "", fmt.Errorf("the project's root cannot be resolved: %w", err)
	}
	real, err := follow(dir, path)
	if err != nil {
		return "", err
	}
	if !within(realRoot, real) {
		return "", fmt.Errorf("it leads out of the project, to %s; only paths inside %s are taken", real, root)
	}
	return filepath.Rel(realRoot, real)
}

// checkPath refuses a path that a person gave if it leads out of root, as
// [insideProject] does, or into a folder .git or .chant-acp: what lies there
// decides what git, its hooks and chant-acp do.
func checkPath(root, dir, path string) error {
	rel, err := projectPath(root, dir, path)
	if err != nil {
		return err
	}
	for _, part := range strings.Split(rel, string(filepath.Separator)) {
		if strings.EqualFold(part, ".git") || strings.EqualFold(part, ".chant-acp") {
			return fmt.Errorf("it leads into %s, which no command is given", part)
		}
	}
	return nil
}

// follow resolves path from dir the way the system does: one component after
// the other, ".." from where a link has led. Components that do not exist stay
// as they are.
func follow(dir, path string) (string, error) {
	at, err := filepath.EvalSymlinks(dir)
	if err != nil {
		return "", fmt.Errorf("the folder %s cannot be resolved: %w", dir, err)
	}
	if filepath.IsAbs(path) {
		at = filepath.VolumeName(path) + string(filepath.Separator)
		path = path[len(filepath.VolumeName(path)):]
	}
	todo := strings.Split(filepath.ToSlash(path), "/")
	for links := 0; len(todo) > 0; {
		part := todo[0]
		todo = todo[1:]
		switch part {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, part)
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return "", fmt.Errorf("it cannot be followed: %w", err)
		case info.Mode()&fs.ModeSymlink != 0:
			if links++; links > maxLinks {
				return "", fmt.Errorf("it leads through more than %d links", maxLinks)
			}
			target, err := os.Readlink(next)
			if err != nil {
				return "", fmt.Errorf("it cannot be followed: %w", err)
			}
			if filepath.IsAbs(target) {
				at = filepath.VolumeName(target) + string(filepath.Separator)
				target = target[len(filepath.VolumeName(target)):]
			}
			todo = append(strings.Split(filepath.ToSlash(target), "/"), todo...)
			continue
		}
		at = next
	}
	return at, nil
}

package subject

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// CheckGlob says what is wrong with a pattern of bind: slash-separated, below the
// project's folder, each part as in path.Match, or ** for any number of folders.
func CheckGlob(pattern string) error {
	if pattern == "" || path.IsAbs(pattern) || !filepath.IsLocal(filepath.FromSlash(path.Clean(pattern))) {
		return fmt.Errorf("%q must be a path below the project's folder", pattern)
	}
	if _, err := path.Match(pattern, ""); err != nil {
		return fmt.Errorf("%q is no pattern: %w", pattern, err)
	}
	return nil
}

// CheckPath says what is wrong with a path of evidence.
func CheckPath(name string) error {
	if name == "" || path.IsAbs(name) || !filepath.IsLocal(filepath.FromSlash(name)) {
		return fmt.Errorf("%q must be the path of a file below the project's folder", name)
	}
	return nil
}

// bind adds the files that the patterns name. Links are not followed, and what git
// and chant-acp keep for themselves is not looked at.
func (m *maker) bind(patterns []string) error {
	if len(patterns) == 0 {
		return nil
	}
	var split [][]string
	for _, p := range patterns {
		if err := CheckGlob(p); err != nil {
			return fmt.Errorf("bind: %w", err)
		}
		split = append(split, strings.Split(path.Clean(p), "/"))
	}
	files := 0
	err := fs.WalkDir(m.folder.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed meanwhile
			return nil
		case err != nil:
			return err
		case name == ".":
			return nil
		case d.IsDir() && (d.Name() == ".git" || name == ".chant-acp"):
			return fs.SkipDir
		case d.IsDir():
			if !anyMatch(split, name, true) {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular() || !anyMatch(split, name, false):
			return nil
		}
		if files++; files > maxFiles {
			return fmt.Errorf("it names more than %d files; narrow its patterns", maxFiles)
		}
		if err := m.explicit(KindBound, filepath.FromSlash(name)); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("bind: %w", err)
	}
	return nil
}

func anyMatch(patterns [][]string, name string, folder bool) bool {
	parts := strings.Split(name, "/")
	for _, p := range patterns {
		if match(p, parts, folder) {
			return true
		}
	}
	return false
}

// match says whether a pattern names the path; of a folder, whether it may name
// something below it.
func match(pattern, name []string, folder bool) bool {
	for len(pattern) > 0 && len(name) > 0 {
		if pattern[0] == "**" {
			for i := range len(name) + 1 {
				if match(pattern[1:], name[i:], folder) {
					return true
				}
			}
			return folder
		}
		if ok, err := path.Match(pattern[0], name[0]); err != nil || !ok {
			return false
		}
		pattern, name = pattern[1:], name[1:]
	}
	if len(name) == 0 && folder {
		return true
	}
	return len(name) == 0 && len(pattern) == 0
}

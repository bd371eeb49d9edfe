package subject

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
)

// bind adds the files that the patterns name. Links are not followed, and what git
// and chant-acp keep for themselves is not looked at.
func (m *maker) bind(patterns []string) error {
	if len(patterns) == 0 {
		return nil
	}
	var split [][]string
	for _, p := range patterns {
		if !filepath.IsLocal(filepath.FromSlash(p)) {
			return fmt.Errorf("bind: %q leads out of the project", p)
		}
		if _, err := path.Match(p, ""); err != nil {
			return fmt.Errorf("bind: %q is no pattern: %w", p, err)
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

package problem

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// MaxLocations is how many locations Resolve returns at most.
const MaxLocations = 20

// Resolve returns where the files are that were found, with absolute paths: those
// that are regular files inside the project, errors first. root is the project's
// root, and dir the folder that the program ran in, both absolute.
func (f *Finder) Resolve(root, dir string) []Location {
	var all []Location
	list := f.found()
	if len(list) == 0 {
		return nil
	}
	project := openProject(root)
	if project == nil {
		return nil
	}
	defer project.root.Close()
	for _, l := range list {
		if l.Path = project.file(dir, l); l.Path == "" || slices.Contains(all, l.Location) {
			continue
		}
		if all = append(all, l.Location); len(all) == MaxLocations {
			break
		}
	}
	return all
}

// Files are the paths that are regular files inside the project, absolute, in their
// order. Paths that are not absolute begin in dir.
func Files(root, dir string, paths []string) []string {
	var files []string
	project := openProject(root)
	if project == nil {
		return nil
	}
	defer project.root.Close()
	for _, p := range paths[:min(len(paths), MaxLocations)] {
		if file := project.inside(dir, p); file != "" && !slices.Contains(files, file) {
			files = append(files, file)
		}
	}
	return files
}

// project is a folder that no path leads out of.
type project struct {
	name, real string // as the session knows it, and without links
	root       *os.Root
	known      map[string]string
}

func openProject(name string) *project {
	real, err := filepath.EvalSymlinks(name)
	if err != nil {
		return nil
	}
	root, err := os.OpenRoot(real)
	if err != nil {
		return nil
	}
	return &project{name: name, real: real, root: root, known: map[string]string{}}
}

// file is the absolute path of a location's file, "" where there is none.
func (p *project) file(dir string, l found) string {
	if l.pkg == "" {
		return p.inside(dir, l.Path)
	}
	// The folder of a package is the end of its import path, as much of it as is not
	// the module's.
	for folder := l.pkg; ; {
		if file := p.inside(dir, filepath.Join(folder, l.Path)); file != "" {
			return file
		}
		_, rest, more := strings.Cut(folder, "/")
		if !more {
			return p.inside(dir, l.Path)
		}
		folder = rest
	}
}

// inside is the absolute path of a regular file of the project, "" where it is none.
func (p *project) inside(dir, path string) string {
	if !filepath.IsAbs(path) {
		path = filepath.Join(dir, path)
	}
	file, tried := p.known[path]
	if tried {
		return file
	}
	for _, root := range []string{p.name, p.real} {
		rel, err := filepath.Rel(root, path)
		if err != nil || !filepath.IsLocal(rel) {
			continue
		}
		if info, err := p.root.Stat(rel); err == nil && info.Mode().IsRegular() {
			file = filepath.Join(p.name, rel)
			break
		}
	}
	p.known[path] = file
	return file
}

// Package tasks reads what a project has for its task runners: which files there are,
// and what tasks they offer. Reading runs nothing of the project; of a justfile, just
// itself is asked for what is in it, which runs nothing either.
//
// [Find] looks by names alone; [List] reads one tool's file and all that it takes in.
package tasks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/command/source"
	"github.com/chant-acp/chant-acp/command/source/gnumake"
	"github.com/chant-acp/chant-acp/command/source/just"
	"github.com/chant-acp/chant-acp/command/source/npm"
	"github.com/chant-acp/chant-acp/command/source/taskfile"
	"github.com/chant-acp/chant-acp/internal/brief"
	"github.com/chant-acp/chant-acp/internal/durable"
	"github.com/chant-acp/chant-acp/internal/near"
)

// Limits of what is read, in bytes.
const (
	maxFile  = 1 << 20
	maxTotal = 8 << 20
)

// tool is a task runner whose files are known.
type tool struct {
	name, task string   // "just", "recipe"
	files      []string // its names for a file, the first that is there counts
	count      func(text []byte) int
	list       func(ctx context.Context, r *reader, file string, names []string) (*source.Listing, error)
}

var tools = []tool{
	{"just", "recipe", just.Files, just.Count, listJust},
	{"task", "task", taskfile.Files, taskfile.Count, listTaskfile},
	{"npm", "script", npm.Files, npm.Count, listNpm},
	{"make", "target", gnumake.Files, func(text []byte) int { return len(gnumake.Targets(text)) }, listMake},
}

// Tools are the names of the task runners that are known, those first whose tasks
// keep their names where two have the same.
func Tools() []string {
	var list []string
	for _, t := range tools {
		list = append(list, t.name)
	}
	return list
}

// Found is a file of a task runner.
type Found struct {
	Tool string // "just"
	File string // relative to the project root
	What string // how many tasks it has, about: "34 recipes"; or that it can't be read
}

// Find looks for the files of task runners in the project root. It runs nothing.
func Find(root string) []Found {
	var list []Found
	there := filesOf(root)
	for _, t := range tools {
		file := first(there, t.files)
		if file == "" {
			continue
		}
		n := -1
		if text, err := durable.Read(filepath.Join(root, file), maxFile); err == nil {
			n = t.count(text)
		}
		switch {
		case n < 0:
			list = append(list, Found{t.name, file, "can't be read"})
		case n > 0:
			list = append(list, Found{t.name, file, brief.Plural(n, t.task)})
		}
	}
	return list
}

// filesOf are the names of the regular files in a folder; none where it can't be read.
func filesOf(dir string) []string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() {
			names = append(names, e.Name())
		}
	}
	return names
}

// first returns the first of the names that a file has; "" for none. just does not mind
// the case of its file's name.
func first(files, names []string) string {
	for _, name := range names {
		for _, file := range files {
			if file == name || slices.Contains(just.Files, name) && strings.EqualFold(file, name) {
				return file
			}
		}
	}
	return ""
}

// List reads the tasks of a source. Of make, which can't be asked without running what
// its file says, they have to be named. env is the environment in which just is looked
// for and run. The error says why the file can't be taken, or which name it does not
// have.
func List(ctx context.Context, root string, s command.Source, env []string) (*source.Listing, Seen, error) {
	i := slices.IndexFunc(tools, func(t tool) bool { return t.name == s.Tool })
	if i < 0 {
		return nil, nil, fmt.Errorf("%s is no task runner that is known; those are %s", s.Tool, strings.Join(Tools(), ", "))
	}
	t := &tools[i]
	dir := path.Clean(s.Dir)
	if !filepath.IsLocal(filepath.FromSlash(dir)) {
		return nil, nil, fmt.Errorf("%s lies outside of the project", s.Dir)
	}
	r := &reader{root: root, dir: dir, env: env}
	r.watch(dir) // where another file may be the first that is there
	file := first(filesOf(filepath.Join(root, filepath.FromSlash(dir))), t.files)
	if file == "" {
		return nil, r.seen, fmt.Errorf("there is no %s in %s", t.files[0], filepath.Join(root, filepath.FromSlash(dir)))
	}
	file = path.Join(dir, file)
	l, err := t.list(ctx, r, file, s.Names)
	if err == nil && t.name != "make" && len(s.Names) > 0 {
		err = keep(l, s.Names)
	}
	if err != nil {
		return nil, r.seen, fmt.Errorf("%s is not taken: %w", file, err)
	}
	l.Files, l.Prefix = r.files, s.Prefix
	if dir != "." {
		l.Dir = dir
	}
	return l, r.seen, nil
}

// Seen is how the files were that a listing depends on, those too that were looked
// for and are not there.
type Seen []seenFile

type seenFile struct{ path, stamp string }

// Same says whether nothing of it has changed, by what the file system says of the
// files.
func (s Seen) Same() bool {
	for _, f := range s {
		if stamp(f.path) != f.stamp {
			return false
		}
	}
	return true
}

// stamp identifies a file in the state it is in; "" for none. Of a folder it changes
// with the names in it.
func stamp(path string) string {
	var st unix.Stat_t
	if unix.Stat(path, &st) != nil {
		return ""
	}
	return fmt.Sprint(st.Dev, st.Ino, st.Mode, st.Size, st.Mtim, st.Ctim)
}

// keep leaves the named tasks of a listing.
func keep(l *source.Listing, names []string) error {
	var all []string
	for _, t := range l.Tasks {
		all = append(all, t.Name)
	}
	for _, name := range names {
		if !slices.Contains(all, name) {
			return fmt.Errorf("%s has no task %q%s", l.File, name, near.Hint(name, all))
		}
	}
	l.Tasks = slices.DeleteFunc(l.Tasks, func(t source.Task) bool { return !slices.Contains(names, t.Name) })
	return nil
}

// A reader reads the files that a listing depends on, and notes them.
type reader struct {
	root  string
	dir   string // of the tool's file, below the root
	env   []string
	files []string // that were read
	seen  Seen
	total int
}

// read reads a file by its path relative to the root. A missing one is fs.ErrNotExist,
// and watched all the same.
func (r *reader) read(name string) ([]byte, error) {
	name = filepath.ToSlash(filepath.Clean(filepath.FromSlash(name)))
	if !filepath.IsLocal(name) {
		return nil, fmt.Errorf("%s lies outside of the project", name)
	}
	r.watch(name)
	folder, err := os.OpenRoot(r.root)
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	info, err := folder.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, err
	case err != nil:
		return nil, fmt.Errorf("%s can't be read: %w", name, err)
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s is not a regular file", name)
	case info.Size() > maxFile:
		return nil, fmt.Errorf("%s has more than %d MiB", name, maxFile>>20)
	}
	if reason := command.DistrustBelow(r.root, filepath.FromSlash(name)); reason != "" {
		return nil, fmt.Errorf("%s is not used: %s", name, reason)
	}
	text, err := folder.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("%s can't be read: %w", name, err)
	}
	if r.total += len(text); r.total > maxTotal {
		return nil, fmt.Errorf("it takes in more than %d MiB of files", maxTotal>>20)
	}
	if !slices.Contains(r.files, name) {
		r.files = append(r.files, name)
	}
	return text, nil
}

// watch notes how a file is, before it is read.
func (r *reader) watch(name string) {
	path := filepath.Join(r.root, filepath.FromSlash(name))
	if !r.watches(path) {
		r.seen = append(r.seen, seenFile{path, stamp(path)})
	}
}

func (r *reader) watches(path string) bool {
	return slices.ContainsFunc(r.seen, func(f seenFile) bool { return f.path == path })
}

// isFolder says whether a path below the root is a folder.
func (r *reader) isFolder(name string) bool {
	if !filepath.IsLocal(filepath.FromSlash(name)) {
		return false
	}
	st, err := os.Stat(filepath.Join(r.root, filepath.FromSlash(name)))
	return err == nil && st.IsDir()
}

func listNpm(_ context.Context, r *reader, file string, _ []string) (*source.Listing, error) {
	text, err := r.read(file)
	if err != nil {
		return nil, err
	}
	if _, err := r.read(path.Join(r.dir, npm.Settings)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	return npm.Parse(text, file)
}

// maxIncluded bounds how many files a makefile or a justfile may consist of.
const maxIncluded = 100

func listMake(_ context.Context, r *reader, file string, names []string) (*source.Listing, error) {
	text, err := r.read(file)
	if err != nil {
		return nil, err
	}
	for todo := [][]byte{text}; len(todo) > 0; todo = todo[1:] {
		included, err := gnumake.Includes(todo[0])
		if err != nil {
			return nil, err
		}
		for _, name := range included {
			if path.IsAbs(name) {
				return nil, fmt.Errorf("it includes a file outside of the project: %s", name)
			}
			name = path.Join(r.dir, name) // make looks from where it runs
			if r.watches(filepath.Join(r.root, filepath.FromSlash(name))) {
				continue
			}
			more, err := r.read(name)
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return nil, err
			}
			if len(r.seen) > maxIncluded {
				return nil, fmt.Errorf("it includes more than %d files", maxIncluded)
			}
			todo = append(todo, more)
		}
	}
	if len(names) == 0 {
		known := gnumake.Targets(text)
		return nil, fmt.Errorf("its targets have to be named, for make can't be asked without running what its file says: %s", strings.Join(known[:min(len(known), 8)], " "))
	}
	return gnumake.Parse(text, file, names)
}

func listTaskfile(_ context.Context, r *reader, file string, _ []string) (*source.Listing, error) {
	return taskfile.Parse(file, func(name string) (string, []byte, error) {
		if r.isFolder(name) {
			r.watch(name) // a file that is made there may be the one that counts then
			in := first(filesOf(filepath.Join(r.root, filepath.FromSlash(name))), taskfile.Files)
			if in == "" {
				return name, nil, fs.ErrNotExist
			}
			name = strings.TrimSuffix(name, "/") + "/" + in
		}
		text, err := r.read(name)
		return name, text, err
	})
}

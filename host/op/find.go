package op

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chant-acp/chant-acp/internal/gitignore"
	"github.com/chant-acp/chant-acp/internal/trust"
)

// MaxEntries is how many files and folders a search looks at.
const MaxEntries = 200_000

// maxIgnore is the largest file of ignore patterns that is read, in bytes.
const maxIgnore = 1 << 20

// Files are the files of a project that can hold an Op.
type Files struct {
	Names      []string     // slash-separated, below the root, sorted
	Failed     []*FileError // what looks like an Op's file and is not used
	Incomplete error        // why the search ended early; nil where it did not
}

// FindFiles searches a project. It skips folders that begin with a dot,
// node_modules, dist, vendor and what git ignores, and everything that another
// user could have put there; it follows no links. At most [MaxEntries] are
// looked at. An error means that the root itself cannot be searched.
func FindFiles(ctx context.Context, root *os.Root) (*Files, error) {
	return findFiles(ctx, root, MaxEntries)
}

func findFiles(ctx context.Context, root *os.Root, most int) (*Files, error) {
	info, err := root.Stat(".")
	if err != nil {
		return nil, fmt.Errorf("the project's folder cannot be searched for Ops: %w", err)
	}
	s := search{ctx: ctx, root: root, start: info, most: most, left: most, found: &Files{}}
	exclude := s.ignoreFile("", ".git/info/exclude")
	if err := s.folder("", []gitignore.Patterns{exclude}); err != nil && !errors.Is(err, errFull) {
		return nil, err
	}
	slices.Sort(s.found.Names)
	slices.SortFunc(s.found.Failed, func(a, b *FileError) int { return strings.Compare(a.File, b.File) })
	return s.found, nil
}

// search is one walk through a project.
type search struct {
	ctx   context.Context
	root  *os.Root
	start fs.FileInfo
	most  int
	left  int
	found *Files
}

var errFull = errors.New("too many entries")

// folder searches one folder. What it cannot read travels with the files that
// were found.
func (s *search) folder(dir string, ignored []gitignore.Patterns) error {
	if err := s.ctx.Err(); err != nil {
		return err
	}
	entries, err := s.entries(dir)
	if err != nil {
		if dir == "" {
			return fmt.Errorf("the project's folder cannot be searched for Ops: %w", err)
		}
		s.found.Failed = append(s.found.Failed, Failed(dir, "the folder cannot be searched for Ops: %v", err))
		return nil
	}
	if slices.ContainsFunc(entries, func(e fs.DirEntry) bool { return e.Name() == ".gitignore" }) {
		ignored = append(slices.Clip(ignored), s.ignoreFile(dir, path.Join(dir, ".gitignore")))
	}
	for _, e := range entries {
		if s.left--; s.left < 0 {
			s.found.Incomplete = fmt.Errorf("the project holds more than %d files and folders, the most that are searched for Ops; what git ignores does not count", s.most)
			return errFull
		}
		if err := s.entry(path.Join(dir, e.Name()), e, ignored); err != nil {
			return err
		}
	}
	return nil
}

// entries lists a folder, sorted, without reading more of a huge one than is
// looked at.
func (s *search) entries(dir string) ([]fs.DirEntry, error) {
	f, err := s.root.OpenFile(orDot(dir), os.O_RDONLY|trust.OpenNonblock, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	entries, err := f.ReadDir(s.left + 1)
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	return entries, nil
}

func orDot(dir string) string {
	if dir == "" {
		return "."
	}
	return dir
}

// entry takes one file or folder: into it, into the list, or left out.
func (s *search) entry(name string, e fs.DirEntry, ignored []gitignore.Patterns) error {
	dir := e.IsDir()
	format := FormatOf(name)
	switch {
	case dir && (strings.HasPrefix(e.Name(), ".") || slices.Contains([]string{"node_modules", "dist", "vendor"}, e.Name())):
		return nil
	case !dir && format == "" && !strings.HasSuffix(name, ".op.yml"):
		return nil
	case s.ignores(name, dir, ignored):
		return nil
	case dir:
		if !s.enters(name, e) {
			return nil
		}
		return s.folder(name, ignored)
	case e.Type()&fs.ModeSymlink != 0:
		s.link(name)
	case !e.Type().IsRegular():
		s.found.Failed = append(s.found.Failed, Failed(name, "it is not a regular file"))
	case format == "":
		s.found.Failed = append(s.found.Failed, Failed(name, "an Op in YAML has a name that ends in %s; rename the file", YAML))
	default:
		s.found.Names = append(s.found.Names, name)
	}
	return nil
}

func (s *search) ignores(name string, dir bool, ignored []gitignore.Patterns) bool {
	for _, p := range slices.Backward(ignored) {
		if yes, decided := p.Match(name, dir); decided {
			return yes
		}
	}
	return false
}

// enters says whether a folder is this project's: on its file system, and not
// open to others.
func (s *search) enters(name string, e fs.DirEntry) bool {
	info, err := e.Info()
	if err != nil || !trust.SameFileSystem(info, s.start) { // gone since, or another's
		return false
	}
	reason := trust.Reason(filepath.Join(s.root.Name(), filepath.FromSlash(name)), info)
	if reason != "" {
		s.found.Failed = append(s.found.Failed, Failed(name, "the folder is not searched for Ops: %s", reason))
	}
	return reason == ""
}

// link looks where a link under an Op's name leads. Inside the project the file
// is found where it is.
func (s *search) link(name string) {
	target, err := filepath.EvalSymlinks(filepath.Join(s.root.Name(), filepath.FromSlash(name)))
	if err != nil {
		s.found.Failed = append(s.found.Failed, Failed(name, "it is a link that leads nowhere: %v", err))
		return
	}
	if rel, err := filepath.Rel(s.root.Name(), target); err != nil || !filepath.IsLocal(rel) {
		s.found.Failed = append(s.found.Failed, Failed(name, "it is a link that leads out of the project, to %s; put the file itself there", target))
	}
}

// ignoreFile reads a file of ignore patterns for the folder dir; one that is not
// there ignores nothing.
func (s *search) ignoreFile(dir, name string) gitignore.Patterns {
	info, err := s.root.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxIgnore {
		return gitignore.Patterns{}
	}
	data, err := s.root.ReadFile(name)
	if err != nil {
		return gitignore.Patterns{}
	}
	return gitignore.Parse(dir, data)
}

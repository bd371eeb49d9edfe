package op

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chant-acp/chant-acp/internal/brief"
)

// A Set is all Ops of a project, with the files that could not be read: "no such
// Op" can only be said together with them.
type Set struct {
	// Root is the folder that was searched, absolute, its links resolved.
	Root string
	// Ops are sorted by name, then by file. Two of one name are both here, and
	// neither can be found by it.
	Ops []*Op
	// Failed are the files that are no Op, sorted by file.
	Failed []*FileError
	// Incomplete says that the search ended before it saw all of the project.
	Incomplete error
}

// NewSet sorts what was found below a root.
func NewSet(root string, ops []*Op, failed []*FileError, incomplete error) *Set {
	slices.SortFunc(ops, func(a, b *Op) int {
		if c := strings.Compare(a.Name(), b.Name()); c != 0 {
			return c
		}
		return strings.Compare(a.File, b.File)
	})
	slices.SortFunc(failed, func(a, b *FileError) int { return strings.Compare(a.File, b.File) })
	return &Set{Root: root, Ops: ops, Failed: failed, Incomplete: incomplete}
}

// ShowFailed puts what is wrong with files through what show makes for what a file
// read, as it was written: once it is part of a line, what that looks for may not be
// there any more.
func (s *Set) ShowFailed(show func(reads []string) func(string) string) {
	for _, f := range s.Failed {
		shown := show(f.Reads)
		for i := range f.Findings {
			f.Findings[i].Message = shown(f.Findings[i].Message)
		}
	}
}

// Reads are the variables that any of the files read.
func (s *Set) Reads() []string {
	var all []string
	for _, o := range s.Ops {
		all = append(all, o.Reads...)
	}
	for _, f := range s.Failed {
		all = append(all, f.Reads...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// Named lists the Ops of a name: one, none, or several that cannot be told apart.
func (s *Set) Named(name string) []*Op {
	start, _ := slices.BinarySearchFunc(s.Ops, name, func(o *Op, name string) int {
		return strings.Compare(o.Name(), name)
	})
	end := start
	for end < len(s.Ops) && s.Ops[end].Name() == name {
		end++
	}
	return s.Ops[start:end]
}

// Names lists the names of all Ops, sorted, each once.
func (s *Set) Names() []string {
	var names []string
	for _, o := range s.Ops {
		names = append(names, o.Name())
	}
	return slices.Compact(names)
}

// Find returns the Op of a name, a *[NotFoundError], or a *[DuplicateError].
func (s *Set) Find(name string) (*Op, error) {
	switch named := s.Named(name); len(named) {
	case 0:
		return nil, &NotFoundError{Name: name, Set: s}
	case 1:
		return named[0], nil
	default:
		bad := &DuplicateError{Name: name}
		for _, o := range named {
			bad.Files = append(bad.Files, o.File)
		}
		return nil, bad
	}
}

// A DuplicateError says that a name stands for several Ops.
type DuplicateError struct {
	Name  string
	Files []string
}

func (e *DuplicateError) Error() string {
	return fmt.Sprintf("several files name their Op %s: %s; rename all but one", e.Name, strings.Join(e.Files, ", "))
}

// A NotFoundError says that a project has no Op of a name, and all that could
// not be read there.
type NotFoundError struct {
	Name string
	Set  *Set
}

func (e *NotFoundError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "there is no Op %q", e.Name)
	names := e.Set.Names()
	switch {
	case len(names) > maxListed:
		fmt.Fprintf(&b, "; there are: %s, and %d more", strings.Join(names[:maxListed], ", "), len(names)-maxListed)
	case len(names) > 0:
		fmt.Fprintf(&b, "; there are: %s", strings.Join(names, ", "))
	case len(e.Set.Failed) == 0:
		fmt.Fprintf(&b, ", nor any other; one is a file below %s whose name ends in %s, %s or %s", e.Set.Root, TypeScript, YAML, JSON)
	}
	if e.Set.Incomplete != nil {
		fmt.Fprintf(&b, "\nNot all was searched: %v", e.Set.Incomplete)
	}
	if len(e.Set.Failed) > 0 {
		b.WriteString("\nIt may be in what could not be read:" + failedFiles(e.Set.Failed))
	}
	return b.String()
}

// maxListed bounds what is told of a project beside what was asked: all of it is in
// its list.
const maxListed = 100

// failedFiles are the first findings, a line each.
func failedFiles(failed []*FileError) string {
	var b strings.Builder
	lines := 0
	for i, f := range failed {
		if lines += len(f.Findings); lines > maxListed && i > 0 {
			return b.String() + fmt.Sprintf("\n  and of %s; ops lists all", brief.Plural(len(failed)-i, "more file"))
		}
		b.WriteString("\n  " + strings.ReplaceAll(f.Error(), "\n", "\n  "))
	}
	return b.String()
}

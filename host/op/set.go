package op

import (
	"fmt"
	"slices"
	"strings"
)

// A Set is all Ops of a project, with the files that could not be read: "no such
// Op" can only be said together with them.
type Set struct {
	// Root is the folder that was searched, absolute, its links resolved.
	Root string
	// Ops are sorted by name, which is unique.
	Ops []*Op
	// Failed are the files that are no Op, sorted by file.
	Failed []*FileError
	// Incomplete says that the search ended before it saw all of the project.
	Incomplete error
}

// Find returns the Op of a name, or a *[NotFoundError].
func (s *Set) Find(name string) (*Op, error) {
	i, found := slices.BinarySearchFunc(s.Ops, name, func(o *Op, name string) int {
		return strings.Compare(o.Name(), name)
	})
	if !found {
		return nil, &NotFoundError{Name: name, Set: s}
	}
	return s.Ops[i], nil
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
	names := make([]string, len(e.Set.Ops))
	for i, o := range e.Set.Ops {
		names[i] = o.Name()
	}
	switch {
	case len(names) > 0:
		fmt.Fprintf(&b, "; there are: %s", strings.Join(names, ", "))
	case len(e.Set.Failed) == 0:
		fmt.Fprintf(&b, "; no file below %s ends in .op.ts, .op.yaml or .op.json: create one", e.Set.Root)
	}
	if e.Set.Incomplete != nil {
		fmt.Fprintf(&b, "\nNot all was searched: %v", e.Set.Incomplete)
	}
	if len(e.Set.Failed) > 0 {
		b.WriteString("\nIt may be one of these, which could not be read:")
		for _, f := range e.Set.Failed {
			b.WriteString("\n  " + strings.ReplaceAll(f.Error(), "\n", "\n  "))
		}
	}
	return b.String()
}

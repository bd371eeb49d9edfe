// Package gitstate says which commit a work tree is at, and whether the tree holds
// more than that, without starting git: git runs what a repository configures
// (core.fsmonitor, filter.*.clean), and this package runs nothing. The formats are
// those of gitrepository-layout(5), gitformat-index(5) and gitformat-pack(5).
//
// Only the repository itself is read. What its user or the system has configured
// outside, such as an ignore file in the home folder, is not known here.
//
// [Read] takes a folder and gives a [State].
package gitstate

import (
	"context"
	"os"
)

// A State is what is known of a work tree.
type State struct {
	// Commit is the id of the commit that HEAD names, in hexadecimal digits; ""
	// where there is none yet, or it isn't known.
	Commit string
	// Branch is the branch that HEAD is on, without refs/heads/; "" where HEAD is
	// on none, or it isn't known.
	Branch string
	// Clean says whether `git status` would list nothing: all files are what the
	// commit holds, and there are none besides, but those that the repository
	// ignores. nil is for unknown: where only a program could tell (a filter, a
	// submodule), where a repository uses what this package does not read, or
	// where ctx ended before all was compared.
	Clean *bool
}

// Read looks at the work tree that dir, an absolute path, lies in. No repository,
// and one that can't be read, is the zero State.
func Read(ctx context.Context, dir string) State {
	r, err := find(dir)
	if err != nil {
		return State{}
	}
	defer r.close()
	var s State
	var known bool
	s.Commit, s.Branch, known = r.head()
	if !known {
		return State{}
	}
	switch r.compare(ctx, s.Commit) {
	case same:
		s.Clean = new(true)
	case differs:
		s.Clean = new(false)
	}
	return s
}

// An answer is what is known of a comparison. What differs somewhere differs as a
// whole, whatever else is unknown.
type answer int

const (
	same answer = iota
	unknown
	differs
)

// compare compares the commit with the index, and the index with the files.
func (r *repository) compare(ctx context.Context, commit string) answer {
	if r.opaque {
		return unknown
	}
	entries, err := r.readIndex()
	if err != nil {
		return unknown
	}
	for _, e := range entries {
		if e.stage() != 0 || e.intentToAdd() {
			return differs
		}
	}
	staged := r.compareStaged(commit, entries)
	if staged == differs {
		return differs
	}
	root, err := os.OpenRoot(r.tree)
	if err != nil {
		return unknown
	}
	defer root.Close()
	return max(staged, newWalk(ctx, r).folder(root, "", entries, r.outerPatterns(), r.outerAttributes()))
}

func (r *repository) compareStaged(commit string, entries []entry) answer {
	have, ok := treeID(r.hash, entries, "")
	if !ok {
		return unknown
	}
	if commit == "" {
		return match(len(entries) == 0)
	}
	want, err := r.treeOf(commit)
	if err != nil {
		return unknown
	}
	return match(string(have) == string(want))
}

func match(equal bool) answer {
	if equal {
		return same
	}
	return differs
}

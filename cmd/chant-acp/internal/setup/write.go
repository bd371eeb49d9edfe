package setup

import (
	"bytes"
	"fmt"
	"path/filepath"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/chant-acp/chant-acp/internal/brief"
)

// Change says what Write did.
type Change struct {
	// Path is the file edited, links followed.
	Path string
	// Backup is the copy of the file as it was; empty where there was no file,
	// or nothing was changed.
	Backup string
	// Created: there was no such file before.
	Created bool
	// Unchanged: the file said all of it already, and was not touched.
	Unchanged bool
	// Summary is what was done and what was left alone, for a person.
	Summary string
	// Diff is the changed lines, "-" before the old and "+" before the new,
	// under a heading with the line's number.
	Diff string
}

// Write edits the client's settings file so that it starts o.Binary. Only our
// own entry is added or corrected: of an entry that is there, the command is
// set, arguments are added where it has none, and everything else is kept. The
// former file is copied beside itself first; the new one takes its place in one
// step, with the same mode. On an error the file is as it was.
func (t *Target) Write(o Options) (Change, error) {
	path, err := t.Path(o)
	if err != nil {
		return Change{}, err
	}
	if err := o.check(); err != nil {
		return Change{}, err
	}
	f, err := load(path)
	if err != nil {
		return Change{}, err
	}
	if filepath.Base(path) == acpxProjectFile && !within(o.Dir, f.path) {
		return Change{}, fmt.Errorf("%s is a link that leads out of the project, to %s, and is not followed; edit that file yourself", path, f.path)
	}
	p, err := t.settings.plan(f.data, o)
	if err != nil {
		return Change{}, fmt.Errorf("%s was not changed: %w", f.path, err)
	}
	c := Change{Path: f.path, Created: f.info == nil, Summary: p.summary(f.path), Diff: p.diff.String()}
	if f.info != nil && bytes.Equal(p.out, f.data) {
		c.Unchanged = true
		return c, nil
	}
	now := o.now
	if now == nil {
		now = time.Now
	}
	c.Backup, err = f.replace(p.out, now())
	return c, err
}

func (o Options) check() error {
	if !filepath.IsAbs(o.Binary) {
		return fmt.Errorf("the path of chant-acp must be absolute, because clients start it from anywhere; it is %q", o.Binary)
	}
	for _, s := range append([]string{o.Binary}, o.Args...) {
		if !utf8.ValidString(s) || strings.ContainsRune(s, 0) {
			return fmt.Errorf("%q cannot be written to a JSON file, because it is not UTF-8 text; move or link the binary to a path that is", s)
		}
	}
	return nil
}

// lineDiff is the lines that differ, as one hunk; lines are cut where they are
// too long to read.
func lineDiff(before, after []byte) string {
	a, b := lines(before), lines(after)
	start := 0
	for start < len(a) && start < len(b) && a[start] == b[start] {
		start++
	}
	end := 0
	for end < len(a)-start && end < len(b)-start && a[len(a)-1-end] == b[len(b)-1-end] {
		end++
	}
	var out strings.Builder
	fmt.Fprintf(&out, "@@ line %d @@\n", start+1)
	for _, l := range a[start : len(a)-end] {
		out.WriteString("-" + cut(l) + "\n")
	}
	for _, l := range b[start : len(b)-end] {
		out.WriteString("+" + cut(l) + "\n")
	}
	return out.String()
}

func lines(b []byte) []string {
	if len(b) == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// maxDiffLine bounds a line of a diff, in bytes.
const maxDiffLine = 400

func cut(line string) string {
	return brief.Bytes(strings.TrimSuffix(line, "\r"), maxDiffLine)
}

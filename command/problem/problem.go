// Package problem finds the places in files that programs name where they report a
// failure, such as main.go:3:5. A Finder reads what a program prints; Resolve keeps
// what is a file of the project. Begin at Finder; formats.go has what each kind of
// tool prints.
package problem

import (
	"bytes"
	"slices"
	"strings"
	"sync"

	"github.com/chant-acp/chant-acp/internal/termtext"
)

// Bounds of a Finder.
const (
	maxLine  = 1 << 10 // bytes of a line; of a longer one nothing is read
	maxBytes = 4 << 20 // bytes of output
	maxFound = 100     // locations, of errors and of warnings
)

// A Location is a position in a file.
type Location struct {
	// Path is as the program printed it; after Resolve it is absolute.
	Path string `json:"path"`
	// Line and Column start at 1; 0 is unknown.
	Line   int `json:"line,omitempty"`
	Column int `json:"column,omitempty"`
}

// found is a Location as it was printed, with what is needed to find the file.
type found struct {
	Location
	// pkg is the import path of the Go package whose folder Path is below, where a
	// test named it: go test prints the names of test files without their folder.
	pkg string
}

// A Finder finds locations in the output of one program. Its methods may be called from
// any goroutine.
type Finder struct {
	mu       sync.Mutex
	formats  []Format
	patterns bool   // not all formats have a name
	line     []byte // the unfinished line
	tooLong  bool   // and it is longer than maxLine
	read     int
	errors   []found
	warns    []found

	header  string // eslint: the file that the next lines are about
	warning bool   // rust: the message that the next arrow belongs to is a warning
	pending []int  // go: the errors without a folder whose package is not named yet
}

// NewFinder makes the Finder of a program that prints problems in these formats.
func NewFinder(formats []Format) *Finder {
	return &Finder{formats: formats, patterns: slices.ContainsFunc(formats, func(f Format) bool { return f.name == "" })}
}

// Write takes the next piece of output: text, with or without the sequences that
// colour it.
func (f *Finder) Write(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.formats) == 0 || f.read >= maxBytes || len(f.errors) == maxFound {
		return
	}
	f.read += len(text)
	if f.dull(text) {
		return
	}
	for p := []byte(text); len(p) > 0; {
		end := bytes.IndexByte(p, '\n')
		if end < 0 {
			f.add(p)
			return
		}
		if len(f.line) == 0 && !f.tooLong {
			f.take(p[:end])
		} else {
			f.add(p[:end])
			f.take(f.line)
		}
		f.line, f.tooLong = f.line[:0], false
		p = p[end+1:]
	}
}

// marks are what a line of a named format holds, or one that such lines depend on. All
// else is passed over without looking at its lines, which is ten times as fast.
var marks = []string{".go:", "rror", "arning", "--> ", "panicked", "FAIL\t", "ok  \t", "\n/", "\x1b", "\r"}

// dull says whether a piece of output is whole lines that no format can match.
func (f *Finder) dull(text string) bool {
	if f.patterns || len(f.line) > 0 || f.tooLong || text == "" || text[0] == '/' || text[len(text)-1] != '\n' {
		return false
	}
	return !slices.ContainsFunc(marks, func(mark string) bool { return strings.Contains(text, mark) })
}

// add adds to the unfinished line.
func (f *Finder) add(p []byte) {
	f.tooLong = f.tooLong || len(f.line)+len(p) > maxLine
	if !f.tooLong {
		f.line = append(f.line, p...)
	}
}

// take reads a line.
func (f *Finder) take(line []byte) {
	if f.tooLong || len(line) > maxLine {
		return
	}
	if bytes.IndexByte(line, '\x1b') >= 0 || bytes.IndexByte(line, '\r') >= 0 {
		line = termtext.Clean(line)
	}
	if len(line) == 0 {
		return
	}
	for _, format := range f.formats {
		if format.match(f, line) {
			return
		}
	}
}

// report notes a location: an error or, behind all errors, a warning.
func (f *Finder) report(l Location, warning bool) {
	list := &f.errors
	if warning {
		list = &f.warns
	}
	same := func(other found) bool { return other.Location == l && other.pkg == "" }
	if l.Path == "" || len(*list) == maxFound || slices.ContainsFunc(*list, same) {
		return
	}
	*list = append(*list, found{Location: l})
}

// found is what was found, errors first, in the order of the output.
func (f *Finder) found() []found {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.line) > 0 {
		f.take(f.line)
		f.line = f.line[:0]
	}
	return slices.Concat(f.errors, f.warns)
}

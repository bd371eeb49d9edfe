// Package journal is an append-only log: a file of JSON objects, one a line, each
// with a checksum that also covers the line before it.
//
// A line ends with the member "sum": 16 hexadecimal digits, the first quarter
// of the SHA-256 of the sum of the line before and of the line up to its
// own. So no line can be changed, removed, put in or moved unseen, and nothing can
// be cut off the beginning. The first line says what the file is:
//
//	{"format":"chant-acp run","version":2, … ,"sum":"0123456789abcdef"}
//
// A file may be cut at its end, by a crash in the middle of a write: what lies
// behind the last newline was never acknowledged, and is cut off by whoever appends
// next. Everything else is a [Damage], and a damaged file is never written to.
//
// A Log does not lock its file. Where several processes append, each holds a lock
// from [Log.Settle] to the end of [Log.Append].
//
// Begin with [Format.Begin], which makes the first lines of a new file, and [Open].
package journal

import (
	"errors"
	"fmt"
)

// A Format is what the files of one kind have in common.
type Format struct {
	Name    string // as the first line has it
	Version int    // as well; from 1
	MaxLine int    // bytes of a line, with its newline
	MaxSize int64  // bytes of a file
}

// Errors of Settle and Append. Nothing was written.
var (
	ErrRemoved  = errors.New("the file was removed")
	ErrFull     = errors.New("the file is full")
	ErrTooLarge = errors.New("the line is too long to be kept")
)

// A Damage is something in a file that no crash leaves.
type Damage struct {
	Line    int    // its number from 1; 0 where it is not known
	At      int64  // the byte at which that line begins
	Problem string // such as "is not what was written"
}

func (d *Damage) Error() string {
	if d.Line == 0 {
		return fmt.Sprintf("the line at byte %d %s", d.At, d.Problem)
	}
	return fmt.Sprintf("line %d %s", d.Line, d.Problem)
}

// A VersionError says that a file has another version of its format.
type VersionError struct{ Version, Known int }

func (e *VersionError) Error() string {
	if e.Version > e.Known {
		return fmt.Sprintf("has format %d, and this version knows %d: update chant-acp", e.Version, e.Known)
	}
	return fmt.Sprintf("has format %d, of a chant-acp before the first release: this version reads %d and later ones", e.Version, e.Known)
}

// Newer says whether a newer program wrote the file.
func (e *VersionError) Newer() bool { return e.Version > e.Known }

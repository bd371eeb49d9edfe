package op

import (
	"fmt"
	"strings"
)

// A Finding is one thing that is wrong in an Op's file. At is zero where the
// format knows no positions.
type Finding struct {
	File    string
	At      Position
	Message string
}

// String is one line.
func (f Finding) String() string {
	place := oneLine(f.File)
	if f.At.Line != 0 {
		place = fmt.Sprintf("%s:%d:%d", place, f.At.Line, f.At.Column)
	}
	return place + ": " + oneLine(f.Message)
}

// A FileError says why a file cannot be read as an Op. It holds the first 100
// findings at most, in the order of the file.
type FileError struct {
	File     string
	Findings []Finding
	Reads    []string // as those of an [Op]
}

func (e *FileError) Error() string {
	lines := make([]string, len(e.Findings))
	for i, f := range e.Findings {
		lines[i] = f.String()
	}
	return strings.Join(lines, "\n")
}

// Failed is a FileError of one finding about the whole of a file.
func Failed(file, format string, args ...any) *FileError {
	return &FileError{File: file, Findings: []Finding{{File: file, Message: fmt.Sprintf(format, args...)}}}
}

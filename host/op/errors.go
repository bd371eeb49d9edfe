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

func (f Finding) String() string {
	if f.At.Line == 0 {
		return f.File + ": " + f.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", f.File, f.At.Line, f.At.Column, f.Message)
}

// A FileError says why a file cannot be read as an Op. It holds the first 100
// findings at most, in the order of the file.
type FileError struct {
	File     string
	Findings []Finding
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

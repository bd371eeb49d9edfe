package config

import "fmt"

// Problem is a value that is not used, or a key that means nothing, and where.
type Problem struct {
	// File, Line and Column are where it stands; Line 0: in the environment.
	// Lines and columns start at 1, columns count characters.
	File         string
	Line, Column int
	// Key is the dotted key, or the name of a variable.
	Key string
	// Message is the sentence, without the place.
	Message string
	// Advice: nothing is left out for it.
	Advice bool

	path []string // the key, in parts
}

func (p Problem) String() string {
	if p.Line == 0 {
		return p.Message
	}
	return fmt.Sprintf("%s:%d:%d: %s", p.File, p.Line, p.Column, p.Message)
}

// SyntaxError says where a file stops being a configuration: it is no JSON, or
// no object.
type SyntaxError struct {
	File         string
	Line, Column int // from 1; columns count characters
	Message      string
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s:%d:%d: %s", e.File, e.Line, e.Column, e.Message)
}

package just

import (
	"fmt"
	"regexp"
	"strings"
)

// An Include is a file that a justfile takes in, as it names it.
type Include struct {
	// Path is the file, or a folder that holds a justfile, relative to the folder of
	// the justfile; "" for a module that is looked for by its name.
	Path string
	// Module is the name of a module; "" for an import.
	Module string
}

// A statement stands alone on its line; see the grammar of just, items import and
// module.
var (
	importLine = regexp.MustCompile(`^import\??[ \t]+(.*?)[ \t]*(?:#.*)?$`)
	moduleLine = regexp.MustCompile(`^mod\??[ \t]+([A-Za-z_][A-Za-z0-9_-]*)[ \t]*(.*?)[ \t]*(?:#.*)?$`)
	recipeLine = regexp.MustCompile(`^@?[A-Za-z_][A-Za-z0-9_-]*(?:[ \t][^:]*)?:(?:[^=]|$)`)
	notRecipe  = regexp.MustCompile(`^(?:set|alias|export|unexport|import|mod)[ \t?]`)
)

// Includes lists what a justfile takes in. Lines within a string of several lines
// count too: one file too many does no harm. The error says which can't be told
// without running just.
func Includes(text []byte) ([]Include, error) {
	var list []Include
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\r\n")
		if m := importLine.FindStringSubmatch(line); m != nil {
			path, ok := plainString(m[1])
			if !ok {
				return nil, fmt.Errorf("what it imports can't be told without running just: %s", line)
			}
			list = append(list, Include{Path: path})
		}
		if m := moduleLine.FindStringSubmatch(line); m != nil {
			inc := Include{Module: m[1]}
			if m[2] != "" {
				path, ok := plainString(m[2])
				if !ok {
					return nil, fmt.Errorf("the file of its module %s can't be told without running just: %s", m[1], line)
				}
				inc.Path = path
			}
			list = append(list, inc)
		}
	}
	return list, nil
}

// plainString reads a string literal that means what it says.
func plainString(s string) (string, bool) {
	if len(s) < 3 || s[0] != s[len(s)-1] || s[0] != '\'' && s[0] != '"' {
		return "", false
	}
	inner := s[1 : len(s)-1]
	return inner, !strings.ContainsAny(inner, "'\"\\\x00")
}

// Count is about how many recipes a justfile has: what its text shows, without
// imports and modules, and without those that begin with an underscore, which are
// private.
func Count(text []byte) int {
	n := 0
	for line := range strings.Lines(string(text)) {
		if recipeLine.MatchString(line) && !notRecipe.MatchString(line) && !strings.HasPrefix(strings.TrimPrefix(line, "@"), "_") {
			n++
		}
	}
	return n
}

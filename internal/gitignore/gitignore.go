// Package gitignore says what git would ignore, by the patterns of gitignore(5),
// without git. It knows nothing of the index: a file that is tracked although a
// pattern matches it counts as ignored.
//
// [Parse] reads a file of patterns; [Patterns.Match] answers for a path.
package gitignore

import (
	"path"
	"strings"
	"sync"
)

// Patterns are those of one file, which apply below its folder.
type Patterns struct {
	dir  string // "" for the root
	list []pattern
}

// pattern is one line of a file.
type pattern struct {
	parts    []string // between slashes
	anchored bool     // from the file's folder on, not at any depth
	negated  bool
	dirOnly  bool
}

// Parse reads a file of patterns. dir is the folder that they are relative to, a
// slash-separated path below the root, "" for the root itself. A pattern that
// cannot be read matches nothing, as in git.
func Parse(dir string, data []byte) Patterns {
	p := Patterns{dir: dir}
	text := strings.TrimPrefix(string(data), "\ufeff")
	for line := range strings.SplitSeq(text, "\n") {
		if one, ok := parse(strings.TrimSuffix(line, "\r")); ok {
			p.list = append(p.list, one)
		}
	}
	return p
}

// parse reads one line; ok is false for a comment and for what matches nothing.
func parse(line string) (p pattern, ok bool) {
	if strings.HasPrefix(line, "#") {
		return p, false
	}
	line = trimBlanks(line)
	line, p.negated = strings.CutPrefix(line, "!")
	line, p.dirOnly = strings.CutSuffix(line, "/")
	p.anchored = strings.Contains(line, "/")
	line = strings.TrimPrefix(line, "/")
	if line == "" {
		return p, false
	}
	for part := range strings.SplitSeq(line, "/") {
		part = classes().Replace(part)
		if _, err := path.Match(part, ""); err != nil {
			return p, false
		}
		p.parts = append(p.parts, part)
	}
	return p, true
}

// classes turns git's character classes into those of path.Match.
var classes = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer(
		"[!", "[^",
		"[:alnum:]", "a-zA-Z0-9", "[:alpha:]", "a-zA-Z", "[:digit:]", "0-9", "[:lower:]", "a-z", "[:upper:]", "A-Z",
		"[:space:]", " \t\r\n\v\f", "[:xdigit:]", "0-9a-fA-F",
	)
})

// trimBlanks removes blanks at the end that no backslash keeps.
func trimBlanks(line string) string {
	for strings.HasSuffix(line, " ") {
		before := strings.TrimSuffix(line, " ")
		backslashes := len(before) - len(strings.TrimRight(before, `\`))
		if backslashes%2 == 1 {
			break
		}
		line = before
	}
	return line
}

// Match says what the patterns say of a path below the root: ignored or not, and
// whether they say anything at all. The last pattern that matches decides. The
// folders above the path are asked about on their own, because nothing in an
// ignored folder can be taken back.
func (p Patterns) Match(name string, dir bool) (ignored, decided bool) {
	rel := name
	if p.dir != "" {
		var below bool
		if rel, below = strings.CutPrefix(name, p.dir+"/"); !below {
			return false, false
		}
	}
	parts := strings.Split(rel, "/")
	for i := len(p.list) - 1; i >= 0; i-- {
		one := p.list[i]
		if one.dirOnly && !dir {
			continue
		}
		subject := parts
		if !one.anchored {
			subject = parts[len(parts)-1:]
		}
		if match(one.parts, subject) {
			return !one.negated, true
		}
	}
	return false, false
}

// match compares part by part; ** stands for any number of them, at the end for
// at least one. Where parts do not match, the last ** takes one more: going back
// to an earlier one could win nothing.
func match(pattern, name []string) bool {
	star, taken := -1, 0 // the last **, and where in name what follows it was tried
	p, n := 0, 0
	for n < len(name) {
		switch {
		case p < len(pattern) && pattern[p] == "**":
			if p == len(pattern)-1 {
				return true
			}
			star, taken = p, n
			p++
		case p < len(pattern) && matches(pattern[p], name[n]):
			p++
			n++
		case star >= 0:
			taken++
			p, n = star+1, taken
		default:
			return false
		}
	}
	return p == len(pattern)
}

func matches(part, name string) bool {
	ok, err := path.Match(part, name)
	return err == nil && ok
}

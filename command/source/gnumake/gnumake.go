// Package gnumake finds targets in the text of a makefile.
//
// make can't list its targets without running what the makefile says, so only
// targets that a person named are taken, and only those that the text itself
// holds: not those of patterns, variables and included files.
//
// [Parse] takes the text and the names, and gives a source.Listing; [Targets] lists what could be
// named.
package gnumake

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chant-acp/chant-acp/command/source"
	"github.com/chant-acp/chant-acp/internal/near"
)

// Files are the names that GNU make looks for, in its order.
var Files = []string{"GNUmakefile", "makefile", "Makefile"}

// Targets lists the targets that a makefile's text names, each once, in their
// order, without those that begin with a dot or that only make itself would
// know what to make of.
func Targets(text []byte) []string {
	var list []string
	define := false
	for line := range lines(string(text)) {
		word, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch {
		case word == "define":
			define = true
		case word == "endef":
			define = false
		}
		if define || line == "" || line[0] == '\t' || line[0] == '#' {
			continue
		}
		for _, target := range targets(line) {
			if isTarget(target) && !slices.Contains(list, target) {
				list = append(list, target)
			}
		}
	}
	return list
}

// lines gives the lines of a makefile, those joined that end in a backslash.
func lines(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		joined := ""
		for line := range strings.Lines(text) {
			line = strings.TrimRight(line, "\r\n")
			if head, found := strings.CutSuffix(line, `\`); found {
				joined += head + " "
				continue
			}
			if !yield(joined + line) {
				return
			}
			joined = ""
		}
		yield(joined)
	}
}

// targets are the words before the colon of a rule; nil for a line that is none.
func targets(line string) []string {
	before, after, found := strings.Cut(line, ":")
	if !found || strings.ContainsAny(before, "=#$") || strings.HasPrefix(after, "=") || strings.HasPrefix(after, ":=") || strings.HasPrefix(after, "::=") {
		return nil
	}
	words := strings.Fields(before)
	if len(words) > 0 && isDirective(words[0]) {
		return nil
	}
	return words
}

func isDirective(word string) bool {
	switch word {
	case "include", "-include", "sinclude", "ifeq", "ifneq", "ifdef", "ifndef", "else", "endif", "export", "unexport", "override", "private", "undefine", "vpath", "load", "-load":
		return true
	}
	return false
}

// isTarget says whether a word can be given to make as the name of a target and
// means nothing else there.
func isTarget(w string) bool {
	for i := 0; i < len(w); i++ {
		c := w[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_':
		case i > 0 && (c == '-' || c == '.' || c == '/' || c == '+' || c == '@'):
		default:
			return false
		}
	}
	return w != ""
}

// Parse makes tasks of the targets that are named. Values can't be given: what
// follows a target on make's command line are further targets and variables,
// which run what they hold. One that the text does not hold is an error.
func Parse(text []byte, file string, named []string) (*source.Listing, error) {
	l := &source.Listing{Tool: "make", File: file}
	known := Targets(text)
	for _, name := range named {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("%s holds no target %q by name (those of patterns, variables and included files do not count)%s", file, name, near.Hint(name, known))
		}
		l.Tasks = append(l.Tasks, source.Task{Name: name, Summary: "make " + name, Argv: []string{"make", name}})
	}
	return l, nil
}

// Includes lists the files that a makefile takes in, relative to the folder where
// make runs. The error names one that can't be told without running make.
func Includes(text []byte) ([]string, error) {
	var list []string
	for line := range lines(string(text)) {
		if strings.HasPrefix(line, "\t") {
			continue
		}
		line, _, _ = strings.Cut(line, "#")
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "include" && words[0] != "-include" && words[0] != "sinclude" {
			continue
		}
		for _, w := range words[1:] {
			if strings.ContainsAny(w, "$*?[~") {
				return nil, fmt.Errorf("what it includes can't be told without running make: %s", strings.TrimSpace(line))
			}
			list = append(list, w)
		}
	}
	return list, nil
}

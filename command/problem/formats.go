package problem

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// A Format is how one kind of tool prints where a problem is.
type Format struct {
	name string // "" of a pattern
	// match reads a line of output and says whether no other format need read it.
	match func(f *Finder, line []byte) bool
}

// usual are the formats that are known by name. None of them takes a line that says
// nothing of a failure, so all of them can be looked for in what any program prints.
func usual() []Format {
	return []Format{{"go", matchGo}, {"gcc", matchGCC}, {"tsc", matchTSC}, {"eslint", matchESLint}, {"rust", matchRust}}
}

// Usual are the formats of a program that nothing is said of: all that have a name.
func Usual() []Format { return usual() }

// Names are the names of formats.
func Names() []string {
	var names []string
	for _, f := range usual() {
		names = append(names, f.name)
	}
	return names
}

// Named is the format of a name.
func Named(name string) (f Format, known bool) {
	i := slices.IndexFunc(usual(), func(f Format) bool { return f.name == name })
	if i < 0 {
		return Format{}, false
	}
	return usual()[i], true
}

// Groups of a pattern.
const (
	groupFile   = "file"
	groupLine   = "line"
	groupColumn = "column"
)

// Pattern is the format of lines in which a regular expression (RE2) finds a match.
// Its group file is the path, line and, where there is one, column are the numbers. The error
// is a clause for a person.
func Pattern(expr string) (Format, error) {
	re, err := regexp.Compile(expr)
	if err != nil {
		return Format{}, errors.New("is not a regular expression (RE2 syntax): " + strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	for _, need := range []string{groupFile, groupLine} {
		if re.SubexpIndex(need) < 0 {
			return Format{}, fmt.Errorf("needs a group for the %s: (?P<%s>…)", need, need)
		}
	}
	for _, name := range re.SubexpNames() {
		if name != "" && name != groupFile && name != groupLine && name != groupColumn {
			return Format{}, fmt.Errorf("has a group %s; its groups are file, line and column", name)
		}
	}
	file, line, column := re.SubexpIndex(groupFile), re.SubexpIndex(groupLine), re.SubexpIndex(groupColumn)
	return Format{match: func(f *Finder, text []byte) bool {
		m := re.FindSubmatch(text)
		if m == nil {
			return false
		}
		l := Location{Path: string(m[file]), Line: number(m[line])}
		if column >= 0 {
			l.Column = number(m[column])
		}
		if l.Line > 0 {
			f.report(l, false)
		}
		return true
	}}, nil
}

// number is a whole number above 0 in decimal digits, else 0.
func number(p []byte) int {
	if len(p) == 0 || p[0] < '0' || p[0] > '9' {
		return 0
	}
	n, err := strconv.Atoi(string(p))
	if err != nil {
		return 0
	}
	return n
}

// leading splits off the digits at the beginning.
func leading(p []byte) (n int, rest []byte) {
	end := 0
	for end < len(p) && p[end] >= '0' && p[end] <= '9' {
		end++
	}
	return number(p[:end]), p[end:]
}

// trailing reads PATH:LINE or PATH:LINE:COLUMN, all of p.
func trailing(p []byte) (Location, bool) {
	at := bytes.LastIndexByte(p, ':')
	if at < 0 {
		return Location{}, false
	}
	last := number(p[at+1:])
	if last == 0 {
		return Location{}, false
	}
	if at2 := bytes.LastIndexByte(p[:at], ':'); at2 >= 0 {
		if line := number(p[at2+1 : at]); line > 0 {
			return Location{string(bytes.TrimSpace(p[:at2])), line, last}, true
		}
	}
	return Location{Path: string(bytes.TrimSpace(p[:at])), Line: last}, true
}

// matchGo reads what the compiler, vet, tests and panics print: file.go:3:5: text,
// with anything before it that ends with a space.
func matchGo(f *Finder, line []byte) bool {
	if pkg, ended := testedPackage(line); ended {
		f.testsOf(pkg)
		return true
	}
	at := bytes.Index(line, []byte(".go:"))
	if at < 0 {
		return false
	}
	start := bytes.LastIndexAny(line[:at], " \t") + 1
	l := Location{Path: string(line[start : at+len(".go")])}
	var rest []byte
	if l.Line, rest = leading(line[at+len(".go:"):]); l.Line == 0 {
		return false
	}
	if len(rest) > 1 && rest[0] == ':' {
		if n, after := leading(rest[1:]); n > 0 {
			l.Column, rest = n, after
		}
	}
	if len(rest) > 0 && !bytes.ContainsRune([]byte(": \t"), rune(rest[0])) {
		return false
	}
	before := len(f.errors)
	f.report(l, false)
	if len(f.errors) > before && !strings.Contains(l.Path, "/") {
		f.pending = append(f.pending, before)
	}
	return true
}

// testedPackage reads the line that ends the tests of a package: FAIL, a tab, its
// import path, a tab, and more (go help test).
func testedPackage(line []byte) (pkg string, ok bool) {
	rest, failed := bytes.CutPrefix(line, []byte("FAIL\t"))
	if !failed {
		if rest, ok = bytes.CutPrefix(line, []byte("ok  \t")); !ok {
			return "", false
		}
	}
	name, _, _ := bytes.Cut(rest, []byte("\t"))
	name, _, _ = bytes.Cut(name, []byte(" "))
	return string(name), true
}

// testsOf names the package of the test files that were named before.
func (f *Finder) testsOf(pkg string) {
	for _, i := range f.pending {
		f.errors[i].pkg = pkg
	}
	f.pending = f.pending[:0]
}

// matchGCC reads what GCC and Clang print: file.c:3:5: error: text. The column can be
// left out.
func matchGCC(f *Finder, line []byte) bool {
	warning := false
	at := bytes.Index(line, []byte(": error: "))
	if at < 0 {
		at = bytes.Index(line, []byte(": fatal error: "))
	}
	if at < 0 {
		at, warning = bytes.Index(line, []byte(": warning: ")), true
	}
	if at < 0 {
		return false
	}
	l, ok := trailing(line[:at])
	if ok {
		f.report(l, warning)
	}
	return ok
}

// matchTSC reads what the TypeScript compiler prints: file.ts(3,5): error TS1: text
// and, with --pretty, file.ts:3:5 - error TS1: text.
func matchTSC(f *Finder, line []byte) bool {
	if at := bytes.Index(line, []byte(" - error TS")); at >= 0 {
		l, ok := trailing(line[:at])
		if ok {
			f.report(l, false)
		}
		return ok
	}
	at := bytes.Index(line, []byte("): error TS"))
	if at < 0 {
		return false
	}
	open := bytes.LastIndexByte(line[:at], '(')
	if open < 0 {
		return false
	}
	n, rest := leading(line[open+1 : at])
	if n == 0 || len(rest) < 2 || rest[0] != ',' {
		return false
	}
	f.report(Location{string(line[:open]), n, number(rest[1:])}, false)
	return true
}

// matchESLint reads what ESLint prints: a line with the path of a file, then below it
// lines with 3:5 and error or warning.
func matchESLint(f *Finder, line []byte) bool {
	if line[0] == '/' {
		f.header = string(line)
		return false
	}
	if line[0] != ' ' || f.header == "" {
		return false
	}
	l := Location{Path: f.header}
	var rest []byte
	if l.Line, rest = leading(bytes.TrimLeft(line, " ")); l.Line == 0 || len(rest) < 2 || rest[0] != ':' {
		return false
	}
	l.Column, rest = leading(rest[1:])
	rest = bytes.TrimLeft(rest, " ")
	warning := bytes.HasPrefix(rest, []byte("warning "))
	if !warning && !bytes.HasPrefix(rest, []byte("error ")) {
		return false
	}
	f.report(l, warning)
	return true
}

// matchRust reads what rustc and cargo print: a line that begins with error or
// warning, then below it an arrow and file.rs:3:5. It reads where a thread panicked,
// too.
func matchRust(f *Finder, line []byte) bool {
	switch {
	case bytes.HasPrefix(line, []byte("error")):
		f.warning = false
	case bytes.HasPrefix(line, []byte("warning")):
		f.warning = true
	}
	rest, arrow := bytes.CutPrefix(bytes.TrimLeft(line, " "), []byte("--> "))
	if !arrow {
		at := bytes.Index(line, []byte(" panicked at "))
		if at < 0 {
			return false
		}
		rest = bytes.TrimSuffix(line[at+len(" panicked at "):], []byte(":"))
		if comma := bytes.LastIndex(rest, []byte(", ")); comma >= 0 {
			rest = rest[comma+len(", "):] // 'message', file.rs:3:5, before Rust 1.73
		}
	}
	l, ok := trailing(rest)
	if ok {
		f.report(l, arrow && f.warning)
	}
	return ok
}

// Package strictyaml reads YAML that means the same to every reader: one document
// of UTF-8 text, without anchors, aliases, merge keys and tags. What is wrong
// comes with its line and column.
package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// A Problem is one thing that is wrong. Line and Column start at 1.
type Problem struct {
	Line, Column int
	Message      string
}

// Parse reads the one document of data, and returns its root. Where something is
// wrong it returns nil and the problems, which are none where there is no
// document. what names the file in messages, such as "the manifest".
func Parse(data []byte, what string) (*yaml.Node, []Problem) {
	p := parser{what: what}
	root := p.parse(bytes.TrimPrefix(data, []byte("\ufeff")))
	return root, p.found
}

type parser struct {
	what  string
	found []Problem
}

func (p *parser) at(line, column int, format string, args ...any) {
	p.found = append(p.found, Problem{max(line, 1), max(column, 1), fmt.Sprintf(format, args...)})
}

func (p *parser) bad(n *yaml.Node, format string, args ...any) {
	p.at(n.Line, n.Column, format, args...)
}

func (p *parser) parse(data []byte) *yaml.Node {
	if i, found := InvalidText(data); found != "" {
		line, column := Position(data, i)
		p.at(line, column, "%s holds %s; save it as UTF-8 text", p.what, found)
		return nil
	}
	var doc, more yaml.Node
	dec := yaml.NewDecoder(bytes.NewReader(data))
	switch err := dec.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil:
		p.syntax(err, data)
		return nil
	}
	switch err := dec.Decode(&more); {
	case err == nil:
		p.bad(&more, "a second document begins here; %s is one document, so remove the --- line", p.what)
		return nil
	case !errors.Is(err, io.EOF):
		p.syntax(err, data)
		return nil
	}
	if len(doc.Content) == 0 || !p.plain(doc.Content[0]) {
		return nil
	}
	return doc.Content[0]
}

// InvalidText finds the first byte that is not UTF-8, or a NUL: its offset and
// what it is, "" where all is well.
func InvalidText(data []byte) (int, string) {
	if i := bytes.IndexByte(data, 0); i >= 0 && utf8.Valid(data[:i]) {
		return i, "a NUL byte"
	}
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n == 1 {
			return i, fmt.Sprintf("a byte that is not UTF-8 (0x%02x)", data[i])
		}
		i += n
	}
	return 0, ""
}

// Position turns an offset into a line and a column, in characters.
func Position(data []byte, offset int) (line, column int) {
	before := data[:offset]
	line = 1 + bytes.Count(before, []byte("\n"))
	return line, 1 + utf8.RuneCount(before[bytes.LastIndexByte(before, '\n')+1:])
}

// syntax reports an error of the YAML reader, which knows the line at best.
func (p *parser) syntax(err error, data []byte) {
	message, line := strings.TrimPrefix(err.Error(), "yaml: "), 1
	if after, ok := strings.CutPrefix(message, "line "); ok {
		if number, text, ok := strings.Cut(after, ": "); ok {
			if n, err := strconv.Atoi(number); err == nil {
				line, message = n, text
			}
		}
	}
	if at, column := tabIndent(data, line); column > 0 {
		p.at(at, column, "a tab stands here, and YAML is indented with spaces only; replace it")
		return
	}
	p.at(line, 1, "this is not valid YAML: %s", message)
}

// tabIndent finds a tab that indents the line, or the one after it, where the
// reader may have noticed an error of the line's; column 0 for none.
func tabIndent(data []byte, line int) (at, column int) {
	lines := bytes.Split(data, []byte("\n"))
	for at = max(line-1, 1); at <= line+1 && at <= len(lines); at++ {
		text := lines[at-1]
		indent := text[:len(text)-len(bytes.TrimLeft(text, " \t"))]
		if i := bytes.IndexByte(indent, '\t'); i >= 0 {
			return at, i + 1
		}
	}
	return 0, 0
}

// plain refuses what makes the same text mean something else elsewhere:
// anchors, aliases, merge keys and tags of other schemas. Refusing aliases also
// keeps a small file from standing for a huge one.
func (p *parser) plain(n *yaml.Node) bool {
	ok := true
	switch {
	case n.Kind == yaml.AliasNode:
		p.bad(n, "aliases (*%s) are not supported here; write the value out", n.Value)
		return false
	case n.Anchor != "":
		p.bad(n, "anchors (&%s) are not supported here; write the value out where it is needed", n.Anchor)
		ok = false
	case n.Tag == "!!merge":
		p.bad(n, "merge keys (<<) are not supported here; write the keys out")
		ok = false
	case n.Style&yaml.TaggedStyle != 0:
		p.bad(n, "tags (%s) are not supported here; remove the tag", n.Tag)
		ok = false
	}
	for _, c := range n.Content {
		if !p.plain(c) {
			ok = false
		}
	}
	return ok
}

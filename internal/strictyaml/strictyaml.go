// Package strictyaml reads YAML that means the same to every reader: one document
// of UTF-8 text, without anchors, aliases, merge keys and tags. What is wrong
// comes with its line and column.
//
// [Parse] takes a text and gives the library's node, or [Problem]s.
package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
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
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	p := &parser{what: what}
	p.endLine, p.endColumn = Position(data, len(data))
	root := p.parse(data)
	return root, p.found
}

type parser struct {
	what               string
	endLine, endColumn int // of the text; the reader puts what is missing there on a line of its own
	found              []Problem
}

func (p *parser) at(line, column int, format string, args ...any) {
	if line > p.endLine {
		line, column = p.endLine, p.endColumn
	}
	p.found = append(p.found, Problem{max(line, 1), max(column, 1), fmt.Sprintf(format, args...)})
}

func (p *parser) bad(n *yaml.Node, format string, args ...any) {
	p.at(n.Line, n.Column, format, args...)
}

// parse reads the one document of the file and returns its root, or nil.
func (p *parser) parse(data []byte) *yaml.Node {
	if i, found := InvalidText(data); found != "" {
		line, column := Position(data, i)
		p.at(line, column, "%s holds %s", p.what, found)
		return nil
	}
	doc, more, err := documents(data)
	switch {
	case err != nil:
		p.syntax(err, data)
	case doc == nil || len(doc.Content) == 0:
	case more != nil:
		p.bad(more, "a second document begins here; %s is one document, so remove the line with --- or ... that divides them", p.what)
	case p.plain(doc.Content[0]):
		return doc.Content[0]
	}
	return nil
}

// documents reads the first document, and the second where there is one.
func documents(data []byte) (first, second *yaml.Node, err error) {
	loader, err := yaml.NewLoader(bytes.NewReader(data))
	if err != nil {
		return nil, nil, err
	}
	var nodes [2]yaml.Node
	for i := range nodes {
		switch err := loader.Load(&nodes[i]); {
		case errors.Is(err, io.EOF) && i == 0:
			return nil, nil, nil
		case errors.Is(err, io.EOF):
			return &nodes[0], nil, nil
		case err != nil:
			return nil, nil, err
		}
	}
	return &nodes[0], &nodes[1], nil
}

// InvalidText finds the first thing that is no text, or that editors and YAML readers count lines
// and columns differently for, and says what to do with it; "" where all is well.
func InvalidText(data []byte) (offset int, what string) {
	for i := 0; i < len(data); {
		r, n := utf8.DecodeRune(data[i:])
		switch {
		case r == utf8.RuneError && n == 1:
			return i, fmt.Sprintf("a byte that is not UTF-8 (0x%02x); save it as UTF-8 text", data[i])
		case r == 0:
			return i, "a NUL byte; save it as UTF-8 text"
		case r == '\t', r == '\n', r == '\r':
		case unicode.IsControl(r), r == '\u2028', r == '\u2029', r == '\ufeff', r == '\ufffe', r == '\uffff':
			return i, fmt.Sprintf("the character U+%04X, which shows nowhere and is not read alike everywhere; remove it", r)
		}
		i += n
	}
	return 0, ""
}

// Position turns an offset into a line and a column, counted in characters.
// Lines end as those of YAML do (1.2.2, 5.4): with LF, CR LF or CR.
func Position(data []byte, offset int) (line, column int) {
	before := data[:offset]
	crlf := bytes.Count(before, []byte("\r\n"))
	line = 1 + bytes.Count(before, []byte("\n")) + bytes.Count(before, []byte("\r")) - crlf
	return line, 1 + utf8.RuneCount(before[bytes.LastIndexAny(before, "\r\n")+1:])
}

const noAliases = "aliases (*%[1]s) are not supported here; write the value out, or put text that begins with * in quotes: \"*%[1]s\""

// plain refuses what makes the same text mean something else elsewhere:
// anchors, aliases, merge keys and tags of other schemas. Refusing aliases also
// keeps a small file from standing for a huge one.
func (p *parser) plain(n *yaml.Node) bool {
	ok := true
	switch {
	case n.Kind == yaml.AliasNode:
		p.bad(n, noAliases, n.Value)
		return false
	case n.Anchor != "":
		p.bad(n, "anchors (&%s) are not supported here; write the value out where it is needed, or put text that begins with & in quotes", n.Anchor)
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

package strictyaml

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// syntax reports an error of the YAML reader at the first character that cannot
// be where it is. What is opened and never closed, and a key without its colon,
// are reported where they begin: the reader notices them elsewhere.
func (p *parser) syntax(err error, data []byte) {
	var e *yaml.LoadError
	if !errors.As(err, &e) {
		p.at(1, 1, "this is not valid YAML: %s", err)
		return
	}
	atEnd := e.Mark.Line > p.endLine || e.Mark.Line == p.endLine && e.Mark.Column >= p.endColumn
	if atEnd && e.Message == "did not find expected node content" {
		// With a value there, the error is that the list is not closed, and has
		// the place where it begins.
		if _, _, closer := documents(append(bytes.Clone(data), "\n~"...)); errors.As(closer, &e) {
			atEnd = true
		}
	}
	mark, text := explain(e, atEnd)
	if e.Message == "found character that cannot start any token" && characterAt(data, e.Mark) != '\t' {
		text = fmt.Sprintf("this is not valid YAML: no value begins with %c; put it in quotes", characterAt(data, e.Mark))
	}
	if bracket := strings.HasPrefix(e.Message, "did not find expected "); bracket && atEnd && commentAfter(data, e.ContextMark) {
		text += ", and mind that a # with a blank before it begins a comment: put text that holds one in quotes"
	}
	p.at(mark.Line, mark.Column, "%s", text)
}

// commentAfter says whether a comment begins behind the mark, in its line, so
// that what was to close a bracket may be in it.
func commentAfter(data []byte, mark yaml.Mark) bool {
	lines := bytes.Split(data, []byte("\n"))
	if mark.Line < 1 || mark.Line > len(lines) {
		return false
	}
	line := []rune(string(bytes.TrimSuffix(lines[mark.Line-1], []byte("\r"))))
	from := min(max(mark.Column, 0), len(line))
	return strings.Contains(string(line[from:]), " #")
}

// characterAt is the character at a mark of the reader's, which counts them.
func characterAt(data []byte, mark yaml.Mark) rune {
	for ; mark.Index > 0 && len(data) > 0; mark.Index-- {
		_, n := utf8.DecodeRune(data)
		data = data[n:]
	}
	r, _ := utf8.DecodeRune(data)
	return r
}

// explain says where an error of the YAML reader is and what to do about it.
func explain(e *yaml.LoadError, atEnd bool) (yaml.Mark, string) {
	begin, invalid := e.ContextMark, "this is not valid YAML: "
	switch e.Message {
	case "found unexpected end of stream":
		return begin, invalid + "the text in quotes that begins here has no end; its quote is never closed"
	case "did not find expected ',' or ']'":
		return unclosed(e, atEnd, "[", "]")
	case "did not find expected ',' or '}'":
		return unclosed(e, atEnd, "{", "}")
	case "did not find expected node content":
		return e.Mark, invalid + "a value is expected here"
	case "could not find expected ':'":
		return begin, invalid + "this is a key and has no colon; write key: value, with a blank after the colon"
	case "mapping values are not allowed in this context":
		return e.Mark, invalid + "a colon cannot stand here; put a value that holds one in quotes, or correct the indentation of a key"
	case "block sequence entries are not allowed in this context":
		return e.Mark, invalid + "a list cannot begin here; begin it on a line of its own, or put a value that begins with a hyphen in quotes"
	case "did not find expected key":
		return e.Mark, fmt.Sprintf("%sthis does not continue the mapping that begins in line %d; correct the indentation, or put the whole value in quotes", invalid, begin.Line)
	case "did not find expected '-' indicator":
		return e.Mark, fmt.Sprintf("%sthis does not continue the list that begins in line %d; begin it with a hyphen and a blank, or correct the indentation", invalid, begin.Line)
	case "found unknown escape character":
		return e.Mark, invalid + `there is no such escape in double quotes; write \\ for a backslash, or use single quotes, where it is one`
	}
	return explainToken(e)
}

// unclosed explains a list or mapping in brackets.
func unclosed(e *yaml.LoadError, atEnd bool, open, end string) (yaml.Mark, string) {
	begin := e.ContextMark
	if atEnd {
		return begin, fmt.Sprintf("this is not valid YAML: this %s is never closed; add %s", open, end)
	}
	return e.Mark, fmt.Sprintf("this is not valid YAML: a comma or %s is missing before this, after the %s in line %d, column %d; text that holds a brace or a bracket stands in quotes there", end, open, begin.Line, begin.Column)
}

// explainToken is explain for what cannot be read at all or is not taken.
func explainToken(e *yaml.LoadError) (yaml.Mark, string) {
	alias, isAlias := strings.CutPrefix(e.Message, "unknown anchor '")
	alias, _ = strings.CutSuffix(alias, "' referenced")
	begin := e.ContextMark
	if begin.Line == 0 {
		begin = e.Mark
	}
	switch {
	case isAlias:
		return e.Mark, fmt.Sprintf(noAliases, alias)
	case strings.Contains(e.ContextMsg+e.Message, "directive"), e.Message == "found incompatible YAML document":
		return begin, "directives (lines that begin with %) are not supported here; remove the line"
	case e.ContextMsg == "while scanning a tag", e.Message == "found undefined tag handle":
		return begin, "tags (!) are not supported here; remove the tag, or put a value that begins with ! in quotes"
	case strings.HasPrefix(e.Message, "found a tab character"), e.Message == "found character that cannot start any token":
		return e.Mark, "a tab stands here, and YAML is indented with spaces only; replace it"
	}
	return e.Mark, "this is not valid YAML: " + e.Message
}

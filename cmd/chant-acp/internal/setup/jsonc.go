package setup

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// document is a settings file: JSON with comments and trailing commas, parsed
// for the offsets of its values. Edits splice bytes into body, so that
// everything they do not touch stays as it was.
type document struct {
	bom    []byte
	body   []byte
	root   hujson.Value // unset when blank
	blank  bool         // nothing but white space and comments
	layout layout
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// maxDepth of nested values. Real settings stay below ten; Zed's reader ends at
// 128. The parser recurses, so the depth has to be bounded before it runs.
const maxDepth = 500

// parse reads a settings file. unit is the indentation to use where the file
// shows none. Errors give line and column, counted in bytes from one.
func parse(src []byte, unit string) (*document, error) {
	body, marked := bytes.CutPrefix(src, byteOrderMark)
	d := &document{body: body, layout: layout{newline: "\n", unit: unit}}
	if marked {
		d.bom = byteOrderMark
	}
	if i := bytes.IndexByte(body, '\n'); i > 0 && body[i-1] == '\r' {
		d.layout.newline = "\r\n"
	}
	if n := invalidUTF8(body); n >= 0 {
		return nil, fmt.Errorf("%s: this is not UTF-8 text, as JSON must be (RFC 8259, section 8.1)", position(body, n))
	}
	s := scanner{body: body}
	if err := s.run(); err != nil {
		return nil, err
	}
	if d.blank = !s.values; d.blank {
		return d, nil
	}
	// The parser wants a newline after every line comment; a file may end in one.
	root, err := hujson.Parse(append(bytes.Clone(body), '\n'))
	if err != nil {
		return nil, errors.New(strings.TrimPrefix(err.Error(), "hujson: "))
	}
	d.root = root
	if u := d.indentStep(&d.root); u != "" {
		d.layout.unit = u
	}
	return d, nil
}

// invalidUTF8 is the offset of the first byte that is not UTF-8 text, or -1.
func invalidUTF8(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	n := 0
	for {
		r, size := utf8.DecodeRune(b[n:])
		if r == utf8.RuneError && size <= 1 {
			return n
		}
		n += size
	}
}

// scanner looks a file over for what the parser does not guard against.
type scanner struct {
	body   []byte
	values bool
	depth  int
}

func (s *scanner) run() error {
	for i := 0; i < len(s.body); {
		next, err := s.token(i)
		if err != nil {
			return err
		}
		i = next
	}
	return nil
}

// token is the offset after the token, comment or character at i. What is not
// well formed is left to the parser, whose message is better.
func (s *scanner) token(i int) (int, error) {
	rest := s.body[i:]
	switch {
	case bytes.IndexByte([]byte(" \t\r\n"), rest[0]) >= 0:
		return i + 1, nil
	case bytes.HasPrefix(rest, []byte("//")):
		return s.lineComment(i)
	case bytes.HasPrefix(rest, []byte("/*")):
		if n := bytes.Index(rest[2:], []byte("*/")); n >= 0 {
			return i + 2 + n + 2, nil
		}
		return 0, fmt.Errorf("%s: this comment has no end; close it with */", position(s.body, i))
	}
	s.values = true
	switch rest[0] {
	case '"':
		return i + stringLen(rest), nil
	case '{', '[':
		if s.depth++; s.depth > maxDepth {
			return 0, fmt.Errorf("%s: values are nested more than %d deep", position(s.body, i), maxDepth)
		}
	case '}', ']':
		s.depth--
	}
	return i + 1, nil
}

// lineComment refuses a lone carriage return: some readers end the comment
// there and some do not, so what the file says is in doubt.
func (s *scanner) lineComment(i int) (int, error) {
	line, _, _ := bytes.Cut(s.body[i:], []byte("\n"))
	if n := bytes.IndexByte(bytes.TrimSuffix(line, []byte("\r")), '\r'); n >= 0 {
		return 0, fmt.Errorf("%s: a carriage return stands alone in this comment; save the file with LF or CRLF line ends", position(s.body, i+n))
	}
	return i + len(line), nil
}

// stringLen is the length of the string that b starts with, all of b if it
// does not end.
func stringLen(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// position is a place in a file as a person counts it.
func position(b []byte, offset int) string {
	before := b[:min(offset, len(b))]
	return fmt.Sprintf("line %d, column %d", 1+bytes.Count(before, []byte("\n")), len(before)-bytes.LastIndexByte(before, '\n'))
}

// indentStep is the first step of indentation found below v, or "".
func (d *document) indentStep(v *hujson.Value) string {
	outer := d.lineIndent(v.StartOffset)
	step := func(child *hujson.Value) string {
		inner := d.lineIndent(child.StartOffset)
		if strings.HasPrefix(inner, outer) && startsLine(child) {
			return inner[len(outer):]
		}
		return ""
	}
	switch c := v.Value.(type) {
	case *hujson.Object:
		for i := range c.Members {
			if u := step(&c.Members[i].Name); u != "" {
				return u
			}
			if u := d.indentStep(&c.Members[i].Value); u != "" {
				return u
			}
		}
	case *hujson.Array:
		for i := range c.Elements {
			if u := step(&c.Elements[i]); u != "" {
				return u
			}
			if u := d.indentStep(&c.Elements[i]); u != "" {
				return u
			}
		}
	}
	return ""
}

// startsLine reports whether a line break stands before v in its container.
func startsLine(v *hujson.Value) bool { return bytes.IndexByte(v.BeforeExtra, '\n') >= 0 }

// lineIndent is the white space at the start of the line that holds offset.
func (d *document) lineIndent(offset int) string {
	line := d.body[bytes.LastIndexByte(d.body[:offset], '\n')+1 : offset]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

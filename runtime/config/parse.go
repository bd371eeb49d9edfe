package config

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// maxDepth of nested values: the parser recurses, so it has to be bounded.
const maxDepth = 100

// manyKeys is how many keys of an object are looked up one by one.
const manyKeys = 32

// node is a value of the file. Its bytes are text[start:end].
type node struct {
	kind       byte // first byte of the value: { [ " t f n, or 0 for a number
	start, end int
	members    []member // of an object
	items      []node   // of an array
}

// member is a key of an object and its value.
type member struct {
	name  string
	start int // of the key's quotation mark
	value node
}

// member finds a key; nil without one. The pointer is into n.
func (n *node) member(name string) *member {
	for i := range n.members {
		if n.members[i].name == name {
			return &n.members[i]
		}
	}
	return nil
}

// parser reads JSON (RFC 8259) and says where it stops being that. It is not
// encoding/json because an edit needs the place of each value, an error its line
// and column, and the agent's start its time.
type parser struct {
	text  []byte
	at    int
	depth int
}

// failure is where and why a text is not JSON.
type failure struct {
	at  int
	why string
}

// parse reads a text that holds one value. A blank text is a nil node.
func parse(text []byte) (*node, *failure) {
	p := parser{text: text}
	if at := invalidUTF8(text); at >= 0 {
		return nil, &failure{at, "this is not UTF-8 text, as JSON has to be"}
	}
	if p.space(); p.at == len(text) {
		return nil, nil
	}
	var n node
	if f := p.value(&n); f != nil {
		return nil, f
	}
	if p.space(); p.at < len(text) {
		return nil, p.fail("the file ends with its object, and here is more: %s", p.found())
	}
	return &n, nil
}

func invalidUTF8(b []byte) int {
	for at := 0; at < len(b); {
		if b[at] < utf8.RuneSelf {
			at++
			continue
		}
		r, size := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && size <= 1 {
			return at
		}
		at += size
	}
	return -1
}

func (p *parser) fail(format string, args ...any) *failure {
	return &failure{p.at, fmt.Sprintf(format, args...)}
}

func (p *parser) peek() byte {
	if p.at == len(p.text) {
		return 0
	}
	return p.text[p.at]
}

func (p *parser) space() {
	for ; p.at < len(p.text); p.at++ {
		switch p.text[p.at] {
		case ' ', '\t', '\r', '\n':
		default:
			return
		}
	}
}

// found describes what stands here, for messages.
func (p *parser) found() string {
	if p.at == len(p.text) {
		return "the end of the file"
	}
	switch c := p.text[p.at]; c {
	case '/', '#':
		return "a comment, which JSON does not have"
	case '\'':
		return "a single quotation mark, where JSON takes double ones only"
	case ',':
		return "a comma"
	}
	r, _ := utf8.DecodeRune(p.text[p.at:])
	return fmt.Sprintf("%q", r)
}

func (p *parser) value(n *node) *failure {
	n.start = p.at
	n.kind = p.peek()
	var f *failure
	switch n.kind {
	case '{', '[':
		if p.depth++; p.depth > maxDepth {
			return p.fail("values are nested more than %d deep", maxDepth)
		}
		if n.kind == '{' {
			f = p.object(n)
		} else {
			f = p.array(n)
		}
		p.depth--
	case '"':
		f = p.skipString()
	case 't':
		f = p.word("true")
	case 'f':
		f = p.word("false")
	case 'n':
		f = p.word("null")
	default:
		n.kind = 0
		f = p.number()
	}
	n.end = p.at
	return f
}

func (p *parser) object(n *node) *failure {
	var seen map[string]bool // only of many keys: a few are compared faster
	p.at++
	for first := true; ; first = false {
		p.space()
		if first && p.peek() == '}' {
			break
		}
		if p.peek() != '"' {
			if p.peek() == '}' {
				return p.fail("a comma stands before this brace, and no key after it; remove the comma")
			}
			return p.fail("a key in double quotation marks belongs here, and here is %s", p.found())
		}
		m := member{start: p.at}
		if f := p.skipString(); f != nil {
			return f
		}
		m.name = unquote(p.text[m.start:p.at])
		if len(n.members) == manyKeys {
			seen = make(map[string]bool)
			for i := range n.members {
				seen[n.members[i].name] = true
			}
		}
		if seen[m.name] || seen == nil && n.member(m.name) != nil {
			return &failure{m.start, fmt.Sprintf("the key %q stands twice in this object; remove one of them", m.name)}
		}
		p.space()
		if p.peek() != ':' {
			return p.fail("a colon belongs between a key and its value, and here is %s", p.found())
		}
		p.at++
		p.space()
		if f := p.value(&m.value); f != nil {
			return f
		}
		if n.members = append(n.members, m); seen != nil {
			seen[m.name] = true
		}
		p.space()
		if p.peek() == '}' {
			break
		}
		if f := p.comma("}"); f != nil {
			return f
		}
	}
	p.at++
	return nil
}

func (p *parser) array(n *node) *failure {
	p.at++
	for first := true; ; first = false {
		p.space()
		if p.peek() == ']' {
			if !first {
				return p.fail("a comma stands before this bracket, and no value after it; remove the comma")
			}
			break
		}
		var item node
		if f := p.value(&item); f != nil {
			return f
		}
		n.items = append(n.items, item)
		p.space()
		if p.peek() == ']' {
			break
		}
		if f := p.comma("]"); f != nil {
			return f
		}
	}
	p.at++
	return nil
}

func (p *parser) comma(end string) *failure {
	if p.peek() != ',' {
		return p.fail("a comma or %s belongs here, and here is %s", end, p.found())
	}
	p.at++
	return nil
}

func (p *parser) word(w string) *failure {
	if len(p.text)-p.at < len(w) || string(p.text[p.at:p.at+len(w)]) != w {
		return p.noValue()
	}
	p.at += len(w)
	return nil
}

func (p *parser) noValue() *failure {
	return p.fail("a value belongs here (a string in double quotation marks, a number, true, false, null, [ or {), and here is %s", p.found())
}

// number is -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?
func (p *parser) number() *failure {
	start := p.at
	if p.peek() == '-' {
		p.at++
	}
	switch whole := p.at; {
	case p.digits() == 0:
		p.at = start
		return p.noValue()
	case p.text[whole] == '0' && p.at > whole+1:
		p.at = start
		return p.fail("a number does not begin with 0; put it in quotation marks if it is none")
	}
	if p.peek() == '.' {
		p.at++
		if p.digits() == 0 {
			return p.fail("digits belong behind a number's point, and here is %s", p.found())
		}
	}
	if c := p.peek(); c == 'e' || c == 'E' {
		p.at++
		if c := p.peek(); c == '+' || c == '-' {
			p.at++
		}
		if p.digits() == 0 {
			return p.fail("digits belong into a number's exponent, and here is %s", p.found())
		}
	}
	return nil
}

func (p *parser) digits() (n int) {
	for ; p.peek() >= '0' && p.peek() <= '9'; n++ {
		p.at++
	}
	return n
}

func (p *parser) skipString() *failure {
	start := p.at
	for p.at++; p.at < len(p.text); p.at++ {
		switch c := p.text[p.at]; {
		case c == '"':
			p.at++
			return nil
		case c == '\\':
			if f := p.escape(); f != nil {
				return f
			}
		case c < ' ':
			if c == '\n' {
				return &failure{start, "this string has no end on its line; close it with a double quotation mark, and write a line break as \\n"}
			}
			return p.fail("a string holds this control character only when it is written as \\u%04x", c)
		}
	}
	return &failure{start, "this string has no end; close it with a double quotation mark"}
}

// escape leaves p at the last byte of an escape.
func (p *parser) escape() *failure {
	p.at++
	switch p.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return nil
	case 'u':
		for range 4 {
			p.at++
			switch c := p.peek(); {
			case c >= '0' && c <= '9', c >= 'a' && c <= 'f', c >= 'A' && c <= 'F':
			default:
				return p.fail("four hexadecimal digits belong behind \\u, and here is %s", p.found())
			}
		}
		return nil
	}
	p.at--
	return p.fail("a backslash in a string is written as two, unless it is one of \\\" \\/ \\b \\f \\n \\r \\t \\u")
}

// unquote is what a string's token says; quoted is well formed.
func unquote(quoted []byte) string {
	inner := quoted[1 : len(quoted)-1]
	for _, c := range inner {
		if c == '\\' {
			var s string
			_ = json.Unmarshal(quoted, &s) // it is a JSON string
			return s
		}
	}
	return string(inner)
}

// place is the line and the column of a byte, both from 1, columns in characters.
func place(text []byte, at int) (line, column int) {
	line, column = 1, 1
	for _, r := range string(text[:min(at, len(text))]) {
		if r == '\n' {
			line, column = line+1, 0
		}
		column++
	}
	return line, column
}

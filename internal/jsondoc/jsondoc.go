package jsondoc

import (
	"bytes"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/tailscale/hujson"
)

// Rules are what a kind of document may be.
type Rules struct {
	// Comments are taken, and commas after the last value of a list or object.
	Comments bool
	// Depth is how deeply objects and lists may be nested.
	Depth int
	// Unit is one step of indentation where the text shows none; "" for two spaces.
	Unit string
}

// Document is a text that was read. It is not changed by what reads it, and may be used
// by several goroutines.
type Document struct {
	// Text is the whole text, but for a byte order mark. All offsets are its.
	Text []byte
	// Root is its value; nil where the text has nothing but blanks and comments.
	Root *Value
	// Repeats are the keys that stand in an object already, in the text's order.
	Repeats []Repeat
	// Standard says that it is JSON without comments and trailing commas.
	Standard bool

	mark   []byte // the byte order mark, or nothing
	layout layout
}

// Value is one value of a document.
type Value struct {
	// Kind is { or [, a quotation mark, 0 for a number, and t, f or n for true, false
	// and null.
	Kind byte
	// Start and End are the offsets of its first byte and of what follows it.
	Start, End int
	// Text is what stands between them.
	Text    []byte
	Members []Member // of an object
	Items   []Value  // of a list

	parsed  *hujson.Value
	ownLine bool // it begins a line, or its key does
}

// Member is a key of an object and its value.
type Member struct {
	Name  string
	Start int // of the key's first quotation mark
	Value Value
}

// Repeat is a key that stands a second time in its object. Which of the two counts is
// not the same for all who read it.
type Repeat struct {
	Name         string
	Start, First int // of the two keys
}

// Member finds a key, the first one of the name; nil without one, and of what is no
// object.
func (v *Value) Member(name string) *Member {
	if v == nil {
		return nil
	}
	for i := range v.Members {
		if v.Members[i].Name == name {
			return &v.Members[i]
		}
	}
	return nil
}

// String is what a string says, and the text of anything else.
func (v *Value) String() string { return said(v.Text) }

// said is what a literal says. Most strings say what stands in them.
func said(literal []byte) string {
	if n := len(literal); n > 1 && literal[0] == '"' && bytes.IndexByte(literal, '\\') < 0 {
		return string(literal[1 : n-1])
	}
	return hujson.Literal(literal).String()
}

// Error says where and why a text is no document.
type Error struct {
	Line, Column int // from 1; columns are characters
	Message      string
}

func (e *Error) Error() string {
	return fmt.Sprintf("line %d, column %d: %s", e.Line, e.Column, e.Message)
}

// failure is an error by its offset.
type failure struct {
	at  int
	why string
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// Parse reads a text. The error is an *[Error]. The document refers to src, which must
// not be changed afterwards.
func Parse(src []byte, rules Rules) (*Document, error) {
	text, marked := bytes.CutPrefix(src, byteOrderMark)
	d := &Document{Text: text}
	if marked {
		d.mark = byteOrderMark
	}
	if f := d.parse(rules); f != nil {
		line, column := d.Position(f.at)
		return nil, &Error{line, column, f.why}
	}
	d.layout = d.layoutOf(rules.Unit)
	return d, nil
}

func (d *Document) parse(rules Rules) *failure {
	if at := invalidUTF8(d.Text); at >= 0 {
		return &failure{at, "this is not UTF-8 text, as JSON has to be (RFC 8259, section 8.1)"}
	}
	s := scanner{text: d.Text, rules: rules}
	end := len(d.Text)
	wrong := s.run(end)
	if wrong != nil {
		end = wrong.at
	}
	if d.Standard = !s.loose; !s.values {
		return wrong
	}
	// hujson recurses: what it is given is nested no deeper than the scanner found. It
	// wants a line break after each line comment, and a text may end without.
	root, err := hujson.Parse(append(bytes.Clone(d.Text[:end]), '\n'))
	if err != nil {
		if at := offsetOf(d.Text[:end], err); at < end || wrong == nil {
			return explain(d.Text, at, err)
		}
	}
	if wrong != nil {
		return wrong
	}
	d.Root = new(Value)
	d.take(&root, d.Root)
	return nil
}

// offsetOf is where hujson stopped, which it says in words only.
func offsetOf(text []byte, err error) int {
	var line, column int
	if _, scan := fmt.Sscanf(err.Error(), "hujson: line %d, column %d:", &line, &column); scan != nil {
		return len(text)
	}
	at := 0
	for ; line > 1; line-- {
		n := bytes.IndexByte(text[at:], '\n')
		if n < 0 { // behind the line break that was added
			return len(text)
		}
		at += n + 1
	}
	return min(at+column-1, len(text))
}

// manyKeys is how many keys of an object are looked up one by one.
const manyKeys = 32

func (d *Document) take(from *hujson.Value, to *Value) {
	to.Start, to.End, to.Kind, to.parsed = from.StartOffset, from.EndOffset, byte(from.Value.Kind()), from
	to.Text = d.Text[to.Start:to.End]
	switch c := from.Value.(type) {
	case *hujson.Array:
		to.Items = make([]Value, len(c.Elements))
		for i := range c.Elements {
			to.Items[i].ownLine = startsLine(&c.Elements[i])
			d.take(&c.Elements[i], &to.Items[i])
		}
	case *hujson.Object:
		to.Members = make([]Member, 0, len(c.Members))
		var seen map[string]int // only of many keys: a few are compared faster
		if len(c.Members) > manyKeys {
			seen = make(map[string]int, len(c.Members))
		}
		for i := range c.Members {
			name, value := &c.Members[i].Name, &c.Members[i].Value
			m := Member{Name: said(name.Value.(hujson.Literal)), Start: name.StartOffset}
			d.repeated(to, m, seen)
			m.Value.ownLine = startsLine(name)
			to.Members = append(to.Members, m)
			d.take(value, &to.Members[i].Value)
		}
	}
}

// repeated notes a key that is about to be added to an object and is there already.
func (d *Document) repeated(object *Value, m Member, seen map[string]int) {
	if seen != nil {
		if first, there := seen[m.Name]; there {
			d.Repeats = append(d.Repeats, Repeat{m.Name, m.Start, first})
		} else {
			seen[m.Name] = m.Start
		}
		return
	}
	if first := object.Member(m.Name); first != nil {
		d.Repeats = append(d.Repeats, Repeat{m.Name, m.Start, first.Start})
	}
}

// startsLine says whether a line break stands before v in what it is a part of.
func startsLine(v *hujson.Value) bool { return bytes.IndexByte(v.BeforeExtra, '\n') >= 0 }

// invalidUTF8 is the offset of the first byte that is not UTF-8 text, or -1.
func invalidUTF8(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	at := 0
	for {
		r, size := utf8.DecodeRune(b[at:])
		if r == utf8.RuneError && size <= 1 {
			return at
		}
		at += size
	}
}

// Position is the line and the column of an offset, both from 1, columns in characters.
func (d *Document) Position(at int) (line, column int) {
	p := Places{text: d.Text}
	return p.Of(at)
}

// Places tells the positions of many offsets of a document. It goes over the text once
// where they are asked for in the text's order.
type Places struct {
	text         []byte
	at           int // an offset, with its line and column from 0
	line, column int
}

// Places begins at the text's first byte.
func (d *Document) Places() *Places { return &Places{text: d.Text} }

// Of is the position of an offset, as [Document.Position].
func (p *Places) Of(at int) (line, column int) {
	if at < p.at {
		p.at, p.line, p.column = 0, 0, 0
	}
	passed := p.text[p.at:min(at, len(p.text))]
	if n := bytes.Count(passed, []byte("\n")); n > 0 {
		p.line, p.column = p.line+n, 0
		passed = passed[bytes.LastIndexByte(passed, '\n')+1:]
	}
	p.column += utf8.RuneCount(passed)
	p.at = min(at, len(p.text))
	return p.line + 1, p.column + 1
}

// reason is what hujson says of a text, without the place.
func reason(err error) string {
	if inner := errors.Unwrap(err); inner != nil {
		return inner.Error()
	}
	return err.Error()
}

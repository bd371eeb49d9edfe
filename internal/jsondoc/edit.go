package jsondoc

import (
	"bytes"

	"github.com/tailscale/hujson"
)

// splice puts text in the place of the document's bytes from one offset to another.
type splice struct {
	from, to int
	text     string
}

// apply is the text with some places changed, in their order.
func (d *Document) apply(splices ...splice) []byte {
	out := bytes.Clone(d.mark)
	done := 0
	for _, s := range splices {
		out = append(append(out, d.Text[done:s.from]...), s.text...)
		done = s.to
	}
	return append(out, d.Text[done:]...)
}

// Fill is the text of a document without a value, with one below its comments. value is
// JSON.
func (d *Document) Fill(value []byte) []byte {
	var text string
	if len(bytes.TrimSpace(d.Text)) > 0 {
		if text = string(d.Text); text[len(text)-1] != '\n' {
			text += d.layout.newline
		}
	}
	return d.apply(splice{0, len(d.Text), text + render(value, d.layout) + d.layout.newline})
}

// Replace is the text with another value in the place of one that is of the document.
// value is JSON.
func (d *Document) Replace(old *Value, value []byte) []byte {
	l := d.layout
	if l.inline = !old.ownLine; !l.inline {
		l.indent = d.lineIndent(old.Start)
	}
	return d.apply(splice{old.Start, old.End, render(value, l)})
}

// Insert is the text with a member more, the last one of an object of the document.
// value is JSON.
func (d *Document) Insert(object *Value, name string, value []byte) []byte {
	if len(object.Members) == 0 {
		return d.apply(d.first(object, name, value))
	}
	last := object.Members[len(object.Members)-1].Value
	// The parser sets AfterExtra of the last value only before a comma.
	trailing := last.parsed.AfterExtra != nil
	tail, comma := last.End, ""
	if trailing {
		tail, comma = last.End+len(last.parsed.AfterExtra)+len(","), ","
	}
	l := d.layout
	var text string
	if last.ownLine {
		l.indent = d.lineIndent(object.Members[len(object.Members)-1].Start)
		text = l.newline + l.indent + member(name, value, l) + comma
		tail += sameLineComments(afterLast(object))
	} else {
		l.inline, l.tight = true, len(last.parsed.BeforeExtra) == 0
		text = l.space() + member(name, value, l) + comma
		if !trailing {
			return d.apply(splice{last.End, last.End, "," + text})
		}
	}
	if trailing {
		return d.apply(splice{tail, tail, text})
	}
	return d.apply(splice{last.End, last.End, ","}, splice{tail, tail, text})
}

// afterLast is the space between the last member of an object and its brace.
func afterLast(object *Value) []byte { return object.parsed.Value.(*hujson.Object).AfterExtra }

// first adds the first member of an object, below the comments it may hold.
func (d *Document) first(object *Value, name string, value []byte) splice {
	from, to := object.Start+len("{"), object.End-len("}")
	l := d.layout
	space := afterLast(object)
	if object != d.Root && !object.ownLine && bytes.IndexByte(space, '\n') < 0 {
		l.inline = true
		gap := ""
		if len(space) > 0 {
			gap = " "
		}
		return splice{from + commentsEnd(space), to, gap + member(name, value, l) + gap}
	}
	l.indent = d.lineIndent(object.Start)
	text := l.newline + l.indent + l.unit + member(name, value, l.deeper()) + l.newline + l.indent
	return splice{from + commentsEnd(space), to, text}
}

// Remove is the text without one member of an object of the document, by its index, and
// without the comma that parts it from the others. Comments on the way go, too.
func (d *Document) Remove(object *Value, index int) []byte {
	m, others := object.Members[index], object.Members
	switch {
	case index > 0:
		return d.apply(splice{others[index-1].Value.End, m.Value.End, ""})
	case len(others) > 1:
		return d.apply(splice{m.Start, others[1].Start, ""})
	}
	return d.apply(splice{object.Start + 1, object.End - 1, ""})
}

// commentsEnd is where the last comment in the space between two tokens ends, its line
// break left out; 0 where there is none.
func commentsEnd(space []byte) int {
	end := 0
	for i := 0; i < len(space); {
		if space[i] != '/' {
			i++
			continue
		}
		i += commentLen(space[i:])
		end = i
	}
	return end
}

// sameLineComments is where the comments end that follow a value on its line.
func sameLineComments(space []byte) int {
	end := 0
	for i := 0; i < len(space); {
		switch space[i] {
		case ' ', '\t':
			i++
		case '/':
			n := commentLen(space[i:])
			if bytes.IndexByte(space[i:i+n], '\n') >= 0 {
				return end
			}
			i += n
			end = i
		default:
			return end
		}
	}
	return end
}

// commentLen is the length of the comment at the start of b, which the parser has
// accepted; the line break after a line comment does not count.
func commentLen(b []byte) int {
	if b[1] == '*' {
		return 2 + bytes.Index(b[2:], []byte("*/")) + 2
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	return len(bytes.TrimSuffix(line, []byte("\r")))
}

package setup

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/tailscale/hujson"
)

// place is a value found in a document.
type place struct {
	value *hujson.Value
	keys  []string // the way to it
	// inline: it stands in an object that is written on one line.
	inline bool
}

// splice replaces body[from:to] by text.
type splice struct {
	from, to int
	text     string
}

// find follows keys from the root as far as they exist; the place's keys say
// how far that was. Every value on the way must be an object, and no key on it
// may be there twice, because readers differ on which one counts.
func (d *document) find(keys []string) (place, error) {
	at := place{value: &d.root}
	for i, key := range keys {
		obj, ok := at.value.Value.(*hujson.Object)
		if !ok {
			return at, fmt.Errorf("%s: %s must be an object, and is not; correct that first", position(d.body, at.value.StartOffset), pathName(at.keys))
		}
		m, err := d.member(obj, key)
		if err != nil {
			return at, err
		}
		if m == nil {
			return at, nil
		}
		at = place{value: &m.Value, keys: keys[:i+1], inline: !startsLine(&m.Name)}
	}
	return at, nil
}

func (d *document) member(obj *hujson.Object, key string) (*hujson.ObjectMember, error) {
	var found *hujson.ObjectMember
	for i := range obj.Members {
		m := &obj.Members[i]
		if m.Name.Value.(hujson.Literal).String() != key {
			continue
		}
		if found != nil {
			return nil, fmt.Errorf("%s: the key %q is here a second time, first on %s; keep one of them", position(d.body, m.Name.StartOffset), key, position(d.body, found.Name.StartOffset))
		}
		found = m
	}
	return found, nil
}

// pathName writes a path of keys for a person.
func pathName(keys []string) string {
	if len(keys) == 0 {
		return "the file's content"
	}
	return strings.Join(quoteAll(keys, jsonString), " → ")
}

// set returns the file with the value at the path of keys being v. Objects
// that are missing on the way are created; a value that is there must be a
// string, as no other may be replaced without losing comments within it.
func (d *document) set(keys []string, v any) ([]byte, error) {
	if d.blank {
		return d.fillBlank(nest(keys, v)), nil
	}
	at, err := d.find(keys)
	if err != nil {
		return nil, err
	}
	if n := len(at.keys); n < len(keys) {
		return d.apply(d.insert(at, field{keys[n], nest(keys[n+1:], v)})), nil
	}
	return d.replaceString(at.value, pathName(keys), v)
}

func (d *document) replaceString(old *hujson.Value, name string, v any) ([]byte, error) {
	if old.Value.Kind() != '"' {
		return nil, fmt.Errorf("%s: %s must be a string, and is not; correct that first", position(d.body, old.StartOffset), name)
	}
	return d.apply([]splice{{old.StartOffset, old.EndOffset, render(v, d.layout)}}), nil
}

func (d *document) apply(splices []splice) []byte {
	out := bytes.Clone(d.bom)
	done := 0
	for _, s := range splices {
		out = append(append(out, d.body[done:s.from]...), s.text...)
		done = s.to
	}
	return append(out, d.body[done:]...)
}

// fillBlank writes the first value of a file, below the comments it may hold.
func (d *document) fillBlank(v any) []byte {
	body := d.body
	if len(bytes.TrimSpace(body)) == 0 {
		body = nil
	}
	out := append(bytes.Clone(d.bom), body...)
	if len(body) > 0 && body[len(body)-1] != '\n' {
		out = append(out, d.layout.newline...)
	}
	return append(out, render(v, d.layout)+d.layout.newline...)
}

// insert adds a member after the last one of the object at a place, in the way
// that one is written.
func (d *document) insert(at place, f field) []splice {
	obj := at.value.Value.(*hujson.Object)
	if len(obj.Members) == 0 {
		return d.fill(at, obj, f)
	}
	last := &obj.Members[len(obj.Members)-1]
	end := last.Value.EndOffset
	// The parser sets AfterExtra of the last value only before a comma.
	trailing := last.Value.AfterExtra != nil
	tail, comma := end, ""
	if trailing {
		tail, comma = end+len(last.Value.AfterExtra)+len(","), ","
	}
	l := d.layout
	text := ""
	if startsLine(&last.Name) {
		l.indent = d.lineIndent(last.Name.StartOffset)
		text = l.newline + l.indent + renderMember(f, l) + comma
		tail += sameLineComments(obj.AfterExtra)
	} else {
		l.inline, l.tight = true, len(last.Value.BeforeExtra) == 0
		text = l.space() + renderMember(f, l) + comma
		if !trailing {
			return []splice{{end, end, "," + text}}
		}
	}
	if trailing {
		return []splice{{tail, tail, text}}
	}
	return []splice{{end, end, ","}, {tail, tail, text}}
}

// fill adds the first member of an object, below the comments it may hold.
func (d *document) fill(at place, obj *hujson.Object, f field) []splice {
	from, to := at.value.StartOffset+len("{"), at.value.EndOffset-len("}")
	l := d.layout
	space := obj.AfterExtra
	if at.inline && bytes.IndexByte(space, '\n') < 0 {
		l.inline = true
		gap := ""
		if len(space) > 0 {
			gap = " "
		}
		return []splice{{from + commentsEnd(space), to, gap + renderMember(f, l) + gap}}
	}
	l.indent = d.lineIndent(at.value.StartOffset)
	text := l.newline + l.indent + l.unit + renderMember(f, l.deeper()) + l.newline + l.indent
	return []splice{{from + commentsEnd(space), to, text}}
}

// commentsEnd is where the last comment in the space between two tokens ends,
// its line break left out; 0 where there is none.
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

// commentLen is the length of the comment at the start of b, which the parser
// has accepted; the line break after a line comment does not count.
func commentLen(b []byte) int {
	if b[1] == '*' {
		return 2 + bytes.Index(b[2:], []byte("*/")) + 2
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	return len(bytes.TrimSuffix(line, []byte("\r")))
}

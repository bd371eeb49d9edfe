package config

import (
	"bytes"
	"encoding/json"
)

// Edits of a text that is well formed: only the bytes that an edit is about
// change, in the layout that is there.

// splice puts with in the place of text[from:to].
func splice(text []byte, from, to int, with ...[]byte) []byte {
	out := append(make([]byte, 0, len(text)+256), text[:from]...)
	for _, w := range with {
		out = append(out, w...)
	}
	return append(out, text[to:]...)
}

// insert adds a member as an object's last.
func insert(text []byte, object *node, name string, value []byte) []byte {
	key := append(quote(name), ": "...)
	if len(object.members) == 0 {
		outer := lineIndent(text, object.start)
		inner := outer + indentUnit(text)
		return splice(text, object.start, object.end, []byte("{"+newline(text)+inner), key, laidOut(text, value, inner), []byte(newline(text)+outer+"}"))
	}
	last := object.members[len(object.members)-1]
	if oneLine(text, object) {
		return splice(text, last.value.end, last.value.end, []byte(", "), key, compact(value))
	}
	indent := lineIndent(text, last.start)
	return splice(text, last.value.end, last.value.end, []byte(","+newline(text)+indent), key, laidOut(text, value, indent))
}

// replace exchanges a member's value.
func replace(text []byte, object *node, m *member, value []byte) []byte {
	if oneLine(text, object) {
		value = compact(value)
	} else {
		value = laidOut(text, value, lineIndent(text, m.start))
	}
	return splice(text, m.value.start, m.value.end, value)
}

// remove takes a member out, with the comma that parts it from the others.
func remove(text []byte, object *node, name string) []byte {
	for i, m := range object.members {
		switch {
		case m.name != name:
		case i > 0:
			return splice(text, object.members[i-1].value.end, m.value.end)
		case len(object.members) > 1:
			return splice(text, m.start, object.members[1].start)
		default:
			return splice(text, object.start+1, object.end-1)
		}
	}
	return text
}

func oneLine(text []byte, n *node) bool {
	return bytes.IndexByte(text[n.start:n.end], '\n') < 0
}

// lineIndent is the white space that the line of a byte begins with.
func lineIndent(text []byte, at int) string {
	begin := bytes.LastIndexByte(text[:at], '\n') + 1
	end := begin
	for end < at && (text[end] == ' ' || text[end] == '\t') {
		end++
	}
	return string(text[begin:end])
}

// indentUnit is one step of the text's indentation; two spaces where it shows
// none.
func indentUnit(text []byte) string {
	for line := range bytes.Lines(text) {
		if n := len(line) - len(bytes.TrimLeft(line, " \t")); n > 0 && n < len(bytes.TrimRight(line, "\r\n")) {
			return string(line[:n])
		}
	}
	return "  "
}

func newline(text []byte) string {
	if i := bytes.IndexByte(text, '\n'); i > 0 && text[i-1] == '\r' {
		return "\r\n"
	}
	return "\n"
}

// laidOut is a value as it stands behind a key on a line with an indentation.
func laidOut(text, value []byte, indent string) []byte {
	var b bytes.Buffer
	if err := json.Indent(&b, bytes.TrimSpace(value), indent, indentUnit(text)); err != nil {
		return value // which is not JSON; the result is parsed and refused
	}
	if newline(text) == "\n" {
		return b.Bytes()
	}
	return bytes.ReplaceAll(b.Bytes(), []byte("\n"), []byte("\r\n"))
}

func compact(value []byte) []byte {
	var b bytes.Buffer
	if err := json.Compact(&b, value); err != nil {
		return value // which is not JSON; the result is parsed and refused
	}
	return b.Bytes()
}

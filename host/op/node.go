package op

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
)

// A node is a value of JSON with the order and the places of a file.
type node struct {
	kind nodeKind
	// text is a string, a number as JSON writes it, or true or false.
	text string
	// source is how YAML wrote a scalar that it takes for a number or a boolean:
	// where text is wanted, 1.10 stays 1.10. "" in JSON, which has quotes.
	source  string
	members []member // of an object
	items   []*node  // of a list
	at      Position
}

// member is a key of an object with its value.
type member struct {
	name  string
	at    Position
	value *node
}

// nodeKind is the type of a JSON value.
type nodeKind int

const (
	null nodeKind = iota
	boolean
	number
	text
	list
	object
)

func (k nodeKind) String() string {
	return [...]string{"empty", "true or false", "a number", "text", "a list", "a mapping"}[k]
}

func textNode(s string, at Position) *node { return &node{kind: text, text: s, at: at} }

// get returns a member's value, nil for none.
func (n *node) get(name string) *node {
	for _, m := range n.members {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// place is where the value begins that a path of keys and positions leads to, as
// far as it does; for a member it is its key.
func (n *node) place(path []string) Position {
	at := n.at
	for _, step := range path {
		if i, err := strconv.Atoi(step); n.kind == list && err == nil && i < len(n.items) {
			n = n.items[i]
			at = n.at
			continue
		}
		i := slices.IndexFunc(n.members, func(m member) bool { return m.name == step })
		if i < 0 {
			return at
		}
		at, n = n.members[i].at, n.members[i].value
	}
	return at
}

// add appends a member unless its value is nil.
func (n *node) add(name string, value *node) {
	if value != nil {
		n.members = append(n.members, member{name, value.at, value})
	}
}

// show replaces text by what is shown of it.
func (n *node) show(show func(string) string) {
	switch n.kind {
	case text:
		n.text = show(n.text)
	case number:
		if shown := show(n.text); shown != n.text {
			n.kind, n.text = text, shown
		}
	}
	for _, c := range n.items {
		c.show(show)
	}
	for i := range n.members {
		n.members[i].name = show(n.members[i].name)
		n.members[i].value.show(show)
	}
}

// json writes a node compactly, in its order.
func (n *node) json() json.RawMessage {
	var b bytes.Buffer
	n.write(&b)
	return b.Bytes()
}

// write writes the value as JSON without spaces.
func (n *node) write(b *bytes.Buffer) {
	switch n.kind {
	case null:
		b.WriteString("null")
	case boolean, number:
		b.WriteString(n.text)
	case text:
		quote(b, n.text)
	case list:
		b.WriteByte('[')
		for i, c := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			c.write(b)
		}
		b.WriteByte(']')
	case object:
		b.WriteByte('{')
		for i, m := range n.members {
			if i > 0 {
				b.WriteByte(',')
			}
			quote(b, m.name)
			b.WriteByte(':')
			m.value.write(b)
		}
		b.WriteByte('}')
	}
}

// quote writes a string as JSON, with <, > and & as themselves, as JavaScript
// does.
func quote(b *bytes.Buffer, s string) {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(s) // a string has no error
	b.Truncate(b.Len() - 1)
}

package setup

import (
	"strings"

	"github.com/tailscale/hujson"
)

// object is a JSON object whose keys keep their order. Values are string,
// []string or object: settings need no more.
type object []field

type field struct {
	key   string
	value any
}

// layout is how a file is written by hand, for what is added to read alike.
type layout struct {
	newline string // "\n" or "\r\n"
	unit    string // one step of indentation
	indent  string // of the line on which the value starts
	inline  bool   // everything on that one line
	tight   bool   // no spaces after colon and comma
}

func (l layout) deeper() layout {
	l.indent += l.unit
	return l
}

func (l layout) space() string {
	if l.tight {
		return ""
	}
	return " "
}

// render writes v as JSON. A list stays on one line, as people write arguments.
func render(v any, l layout) string {
	switch v := v.(type) {
	case string:
		return string(hujson.String(v))
	case []string:
		return "[" + strings.Join(quoteAll(v, jsonString), ","+l.space()) + "]"
	case object:
		return renderObject(v, l)
	}
	panic("setup: a settings value that is neither string, list nor object")
}

func jsonString(s string) string { return string(hujson.String(s)) }

func renderObject(o object, l layout) string {
	if len(o) == 0 {
		return "{}"
	}
	members := make([]string, len(o))
	for i, f := range o {
		members[i] = renderMember(f, l.deeper())
	}
	if l.inline {
		return "{" + strings.Join(members, ","+l.space()) + "}"
	}
	inner := l.newline + l.indent + l.unit
	return "{" + inner + strings.Join(members, ","+inner) + l.newline + l.indent + "}"
}

func renderMember(f field, l layout) string {
	return jsonString(f.key) + ":" + l.space() + render(f.value, l)
}

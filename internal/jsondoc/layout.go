package jsondoc

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/tailscale/hujson"
)

// layout is how a document is written, for what is added to read alike.
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

func (d *Document) layoutOf(unit string) layout {
	l := layout{newline: "\n", unit: cmp.Or(unit, "  ")}
	if i := bytes.IndexByte(d.Text, '\n'); i > 0 && d.Text[i-1] == '\r' {
		l.newline = "\r\n"
	}
	if d.Root != nil {
		l.unit = cmp.Or(d.indentStep(d.Root), l.unit)
	}
	return l
}

// indentStep is the first step of indentation found below v, or "".
func (d *Document) indentStep(v *Value) string {
	step := func(start int, child *Value) string {
		if child.ownLine { // a value on a shared line says nothing of the layout
			if unit, deeper := strings.CutPrefix(d.lineIndent(start), d.lineIndent(v.Start)); deeper && unit != "" {
				return unit
			}
		}
		return d.indentStep(child)
	}
	for i := range v.Members {
		if unit := step(v.Members[i].Start, &v.Members[i].Value); unit != "" {
			return unit
		}
	}
	for i := range v.Items {
		if unit := step(v.Items[i].Start, &v.Items[i]); unit != "" {
			return unit
		}
	}
	return ""
}

// lineIndent is the white space at the start of the line that holds an offset.
func (d *Document) lineIndent(offset int) string {
	line := d.Text[bytes.LastIndexByte(d.Text[:offset], '\n')+1 : offset]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// Quote writes text as a JSON string, with nothing escaped that JSON leaves as it is.
func Quote(s string) string { return string(hujson.String(s)) }

// Line is JSON on one line, with a space after each comma and colon.
func Line(value []byte) string { return render(value, layout{inline: true}) }

// Lines is JSON as a file has it, with an indentation of unit.
func Lines(value []byte, unit string) string {
	return render(value, layout{newline: "\n", unit: unit})
}

// render writes JSON in a layout. A list of nothing but texts, numbers and the like
// stays on one line, as people write arguments.
func render(value []byte, l layout) string {
	v, err := hujson.Parse(value)
	if err != nil {
		return string(value) // which is not JSON; what was made with it is parsed and refused
	}
	return renderValue(&v, l)
}

func renderValue(v *hujson.Value, l layout) string {
	var parts []string
	switch c := v.Value.(type) {
	case *hujson.Object:
		for i := range c.Members {
			name := string(c.Members[i].Name.Value.(hujson.Literal))
			parts = append(parts, name+":"+l.space()+renderValue(&c.Members[i].Value, l.deeper()))
		}
		return enclose("{", parts, "}", l)
	case *hujson.Array:
		nested := slices.ContainsFunc(c.Elements, func(e hujson.Value) bool {
			return e.Value.Kind() == '{' || e.Value.Kind() == '['
		})
		inner := l.deeper()
		inner.inline = l.inline || !nested
		for i := range c.Elements {
			parts = append(parts, renderValue(&c.Elements[i], inner))
		}
		l.inline = inner.inline
		return enclose("[", parts, "]", l)
	}
	return string(v.Value.(hujson.Literal))
}

func enclose(begin string, parts []string, end string, l layout) string {
	if len(parts) == 0 || l.inline {
		return begin + strings.Join(parts, ","+l.space()) + end
	}
	inner := l.newline + l.indent + l.unit
	return begin + inner + strings.Join(parts, ","+inner) + l.newline + l.indent + end
}

// member is a key with its value.
func member(name string, value []byte, l layout) string {
	return Quote(name) + ":" + l.space() + render(value, l)
}

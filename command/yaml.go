package command

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/chant-acp/chant-acp/internal/brief"
	"github.com/chant-acp/chant-acp/internal/near"
)

// A decoder reads a manifest from YAML nodes, which know their line and column,
// and collects what is wrong instead of stopping at it.
type decoder struct {
	file  string
	end   place // of the text; the reader puts what is missing there on a line of its own
	found []Diagnostic
}

// maxFindings bounds what is reported of one manifest; whoever has more errors
// mends those first.
const maxFindings = 100

func (d *decoder) at(line, column int, format string, args ...any) {
	if line > d.end.line {
		line, column = d.end.line, d.end.column
	}
	found := Diagnostic{d.file, max(line, 1), max(column, 1), fmt.Sprintf(format, args...)}
	n := len(d.found)
	if n == maxFindings || n > 0 && d.found[n-1] == found {
		return
	}
	d.found = append(d.found, found)
}

func (d *decoder) bad(n *yaml.Node, format string, args ...any) {
	d.at(n.Line, n.Column, format, args...)
}

// kindOf names what a node is, for messages.
func kindOf(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "empty"
	case n.Tag == "!!str":
		return "text"
	case n.Tag == "!!bool":
		return "true or false"
	case n.Tag == "!!int", n.Tag == "!!float":
		return "a number"
	}
	return "something else"
}

// A field is one key of a mapping and its value.
type field struct {
	name       string
	key, value *yaml.Node
}

// fields reads a mapping with unique keys. what names it in messages; known, if
// not nil, are the keys it may have.
func (d *decoder) fields(n *yaml.Node, what string, known []string) []field {
	if n.Kind != yaml.MappingNode {
		d.bad(n, "%s must be a mapping (key: value), and is %s", what, kindOf(n))
		return nil
	}
	var list []field
	seen := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		name, ok := d.text(k, "a key of "+what)
		if !ok {
			continue
		}
		if line := seen[name]; line > 0 {
			d.bad(k, "%q stands twice in %s, first in line %d; remove one of them", name, what, line)
			continue
		}
		seen[name] = k.Line
		if known != nil && !slices.Contains(known, name) {
			d.unknownKey(k, name, what, known)
			continue
		}
		list = append(list, field{name, k, v})
	}
	return list
}

func (d *decoder) unknownKey(k *yaml.Node, name, what string, known []string) {
	if meant := near.Word(name, known); meant != "" {
		d.bad(k, "%s has no key %q; did you mean %q?", what, name, meant)
		return
	}
	d.bad(k, "%s has no key %q; it may have: %s", what, name, strings.Join(known, ", "))
}

// text reads a scalar as it is written: 1.10 stays 1.10.
func (d *decoder) text(n *yaml.Node, what string) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.Tag == "!!null" {
		d.bad(n, "%s must be text, and is %s", what, kindOf(n))
		return "", false
	}
	if _, found := illegal(n.Value); found != "" {
		d.bad(n, "%s holds %s; remove it", what, found)
		return "", false
	}
	return n.Value, true
}

// texts reads a list of scalars.
//
// A {name} without quotes is a mapping with one key to YAML, and the likeliest
// thing that is no text.
func (d *decoder) texts(n *yaml.Node, what string) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		d.bad(n, "%s must be a list, and is %s", what, kindOf(n))
		return nil
	}
	var list []*yaml.Node
	for _, c := range n.Content {
		if name, is := bareName(c); is {
			d.bad(c, `each element of %s must be text, and YAML reads {%s} without quotes as a mapping; write "{%s}"`, what, name, name)
			continue
		}
		if _, ok := d.text(c, "each element of "+what); ok {
			list = append(list, c)
		}
	}
	return list
}

// bareName returns the name of what was written as {name}.
func bareName(n *yaml.Node) (string, bool) {
	if n.Kind != yaml.MappingNode || n.Style&yaml.FlowStyle == 0 || len(n.Content) != 2 {
		return "", false
	}
	key, value := n.Content[0], n.Content[1]
	return key.Value, key.Kind == yaml.ScalarNode && value.Tag == "!!null" && value.Value == ""
}

func (d *decoder) boolean(n *yaml.Node, what string) bool {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!bool" {
		d.bad(n, "%s must be true or false, and is %s", what, kindOf(n))
		return false
	}
	return strings.EqualFold(n.Value, "true")
}

// integer reads a decimal number between least and most.
func (d *decoder) integer(n *yaml.Node, what string, least, most int) (int, bool) {
	v, err := strconv.Atoi(n.Value)
	switch {
	case n.Kind != yaml.ScalarNode || n.Tag != "!!int" || err != nil:
		d.bad(n, "%s must be a whole number, and is %s", what, kindOf(n))
		return 0, false
	case v < least || v > most:
		d.bad(n, "%s must be from %d to %d, and is %d", what, least, most, v)
		return 0, false
	}
	return v, true
}

// duration reads a duration up to most; zero is taken only where least is.
func (d *decoder) duration(n *yaml.Node, what string, least, most time.Duration) (time.Duration, bool) {
	v, err := time.ParseDuration(n.Value)
	switch {
	case n.Kind != yaml.ScalarNode || err != nil:
		d.bad(n, "%s must be a duration such as 90s, 10m or 1h30m", what)
		return 0, false
	case v < least || v > most:
		d.bad(n, "%s must be from %s to %s, and is %s", what, brief.Duration(least), brief.Duration(most), n.Value)
		return 0, false
	}
	return v, true
}

// oneOf reads one of a few words.
func (d *decoder) oneOf(n *yaml.Node, what string, words ...string) (string, bool) {
	s, ok := d.text(n, what)
	if ok && !slices.Contains(words, s) {
		d.bad(n, "%s must be one of %s, and is %q", what, strings.Join(words, ", "), s)
		return "", false
	}
	return s, ok
}

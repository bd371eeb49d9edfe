package config

import (
	"fmt"
	"strings"

	"github.com/chant-acp/chant-acp/internal/jsondoc"
	"github.com/chant-acp/chant-acp/internal/near"
)

const nameRule = "names are made of letters, digits and _ . - and begin with a letter, a digit or _"

// Check finds values that can't be used, in all profiles, and, as advice, keys
// that mean nothing here, in the file's order; the first 100.
func (d *Document) Check() []Problem { return d.check(true) }

func (d *Document) check(advice bool) []Problem {
	if d.root == nil {
		return nil
	}
	c := checker{d: d, places: d.doc.Places(), advice: advice}
	c.object(nil, d.root)
	return c.found
}

// maxFound bounds what is reported of one file; whoever has more mends those
// first.
const maxFound = 100

// checker walks a document with the table of keys.
type checker struct {
	d      *Document
	places *jsondoc.Places
	advice bool // wanted, too
	found  []Problem
}

func (c *checker) add(at int, path []string, advice bool, format string, args ...any) {
	if len(c.found) == maxFound {
		return
	}
	line, column := c.places.Of(at)
	c.found = append(c.found, Problem{
		File: c.d.file, Line: line, Column: column, Key: joinKey(path), Advice: advice,
		Message: fmt.Sprintf(format, args...), path: append([]string(nil), path...),
	})
}

func (c *checker) object(path []string, n *jsondoc.Value) {
	for i := range n.Members {
		c.member(append(path, n.Members[i].Name), &n.Members[i])
	}
	if len(path) == 2 && path[0] == "adapters" && n.Member("command") == nil {
		c.add(n.Start, append(path, "command"), false, "%s needs command, the program to run and its arguments", joinKey(path))
	}
}

func (c *checker) member(path []string, m *jsondoc.Member) {
	key, section := lookup(path)
	switch {
	case key != nil:
		if _, wrong := key.read(&m.Value); wrong != "" {
			c.add(m.Value.Start, path, false, "%s %s", joinKey(path), wrong)
		}
	case !section:
		if c.advice && len(c.found) < maxFound {
			c.add(m.Start, path, true, "%s", unknown(path))
		}
	case m.Value.Kind != '{':
		c.add(m.Value.Start, path, false, "%s must be an object, and is %s", joinKey(path), describe(&m.Value))
	case named(path) && !validName(m.Name):
		c.add(m.Start, path, false, "%q can't be a name here: %s", m.Name, nameRule)
	default:
		c.object(path, &m.Value)
	}
}

// named says whether the last part of a path is a name that a person chose: a
// profile's or an adapter's.
func named(path []string) bool {
	if n := len(path); n < 2 || path[n-2] != "adapters" && path[n-2] != "profiles" {
		return false
	}
	return len(path) == 2 || len(path) == 4 && path[0] == "profiles"
}

// unknown says that a key means nothing, and what was meant.
func unknown(path []string) string {
	key := joinKey(path)
	if path[0] == "profiles" && len(path) > 2 {
		if k, section := lookup(path[2:]); k != nil || section {
			return fmt.Sprintf("%s has no meaning in a profile; it belongs to the top level", key)
		}
	}
	text := fmt.Sprintf("%s is no key of chant-acp, and is kept for whoever knows it", key)
	if meant := (&Document{}).Nearest(key); len(meant) > 0 {
		text += "; did you mean " + strings.Join(meant, " or ") + "?"
	}
	return text
}

// Known finds the key that a dotted key names, in a profile or out of it; for one
// below a key of TypeMap, that key. section: it is that of an object that holds
// keys. Without either it means nothing here.
func Known(key string) (k *Key, section bool) {
	path, err := splitKey(key)
	if err != nil {
		return nil, false
	}
	if k, section = lookup(path); k == nil && !section {
		if k, _ = lookup(path[:len(path)-1]); k != nil && k.Type != TypeMap {
			k = nil
		}
	}
	return k, section
}

// Nearest are the keys, known ones and those of the file, that a dotted key was
// most likely meant to be; three at most.
func (d *Document) Nearest(key string) []string {
	path, err := splitKey(key)
	if err != nil {
		return nil
	}
	typed, last := joinKey(path), path[len(path)-1]
	var whole, same, alike []string // near as a whole, or by their last part
	for _, name := range d.candidates(path) {
		key, end := joinKey(name), name[len(name)-1]
		comparable := len(path) == 1 || len(path) == len(name)
		switch {
		case near.Word(typed, []string{key}) != "":
			whole = append(whole, key)
		case comparable && strings.EqualFold(last, end):
			same = append(same, key)
		case comparable && near.Word(last, []string{end}) != "":
			alike = append(alike, key)
		}
	}
	for _, list := range [][]string{whole, same, alike} {
		if len(list) > 0 {
			return list[:min(len(list), 3)]
		}
	}
	return nil
}

// candidates are the keys that a path could have been meant to be.
func (d *Document) candidates(path []string) (list [][]string) {
	var prefix []string
	if path[0] == "profiles" && len(path) > 2 {
		prefix, path = path[:2], path[2:]
	}
	seen := map[string]bool{}
	for i := range table {
		name := strings.Split(table[i].Name, ".")
		for j := range name { // an adapter's slug is as it was typed
			if wildcard(name[j]) && j < len(path) {
				name[j] = path[j]
			}
		}
		name = append(append([]string(nil), prefix...), name...)
		seen[joinKey(name)] = true
		list = append(list, name)
	}
	const most = 1000
	var walk func(path []string, n *jsondoc.Value)
	walk = func(path []string, n *jsondoc.Value) {
		for i := range n.Members {
			name := append(append([]string(nil), path...), n.Members[i].Name)
			if !seen[joinKey(name)] && len(list) < most {
				list = append(list, name)
			}
			walk(name, &n.Members[i].Value)
		}
	}
	if d.root != nil {
		walk(nil, d.root)
	}
	return list
}

package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/chant-acp/chant-acp/internal/jsondoc"
)

// Document is a configuration file's text, which is a JSON object or blank. The
// zero value is that of a file that is not there. It is not safe for concurrent
// use while it is changed.
type Document struct {
	file string // its name in messages
	text []byte
	doc  *jsondoc.Document
	root *jsondoc.Value // nil where it is blank
}

// maxDepth of nested values.
const maxDepth = 100

// Parse reads a file's text; file is its name in messages. Errors: *SyntaxError,
// and then the document is empty, so that it stands for the defaults.
func Parse(file string, text []byte) (*Document, error) {
	d := &Document{file: file}
	doc, err := jsondoc.Parse(text, jsondoc.Rules{Depth: maxDepth})
	if bad := new(jsondoc.Error); errors.As(err, &bad) {
		return d, &SyntaxError{file, bad.Line, bad.Column, bad.Message}
	}
	if at, why := unusable(doc); why != "" {
		line, column := doc.Position(at)
		return d, &SyntaxError{file, line, column, why}
	}
	d.text, d.doc, d.root = doc.Text, doc, doc.Root
	return d, nil
}

// unusable says why a JSON document is no configuration, and where.
func unusable(doc *jsondoc.Document) (at int, why string) {
	switch root := doc.Root; {
	case root == nil:
		return 0, ""
	case root.Kind != '{':
		return root.Start, "the file has to hold an object, in braces, and holds " + describe(root)
	case len(doc.Repeats) > 0:
		twice := doc.Repeats[0]
		return twice.Start, fmt.Sprintf("the key %q stands twice in this object; remove one of them", twice.Name)
	}
	m := doc.Root.Member("version")
	if m == nil || m.Value.Kind != '0' {
		return 0, ""
	}
	if v, ok := wholeNumber(string(m.Value.Text)); ok && v > 1 {
		return m.Value.Start, fmt.Sprintf("this is version %d of the format, and this chant-acp knows version 1; update chant-acp", v)
	}
	return 0, ""
}

// find walks down a path.
func (d *Document) find(path []string) *jsondoc.Value {
	n := d.root
	for _, part := range path {
		if n == nil {
			return nil
		}
		n = child(n, part)
	}
	return n
}

func child(n *jsondoc.Value, part string) *jsondoc.Value {
	if m := n.Member(part); m != nil {
		return &m.Value
	}
	if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(n.Items) && part == strconv.Itoa(i) {
		return &n.Items[i]
	}
	return nil
}

// Get returns the JSON at a dotted key; a number is one of an array. With a
// profile, what the profile says, else the file's top level. ok is false where
// nothing stands there. Errors: no key; no such profile.
func (d *Document) Get(profile, key string) (value json.RawMessage, ok bool, err error) {
	path, err := splitKey(key)
	if err != nil {
		return nil, false, err
	}
	n := d.find(path)
	if profile != "" {
		if err := d.checkProfile(profile); err != nil {
			return nil, false, err
		}
		if own := d.find(inProfile(profile, path)); own != nil {
			n = own
		}
	}
	if n == nil {
		return nil, false, nil
	}
	return bytes.Clone(n.Text), true, nil
}

func inProfile(profile string, path []string) []string {
	if profile == "" {
		return path
	}
	return append([]string{"profiles", profile}, path...)
}

// Profiles are the names of the profiles, in the file's order.
func (d *Document) Profiles() []string {
	n := d.find([]string{"profiles"})
	if n == nil {
		return nil
	}
	var names []string
	for i := range n.Members {
		names = append(names, n.Members[i].Name)
	}
	return names
}

// checkProfile says that there is no such profile, and which there are.
func (d *Document) checkProfile(name string) error {
	if n := d.find([]string{"profiles", name}); n != nil {
		return nil
	}
	names, file := d.Profiles(), cmp.Or(d.file, "the configuration")
	if len(names) == 0 {
		return fmt.Errorf("there is no profile %q, and no other: %s has none", name, file)
	}
	return fmt.Errorf("there is no profile %q in %s; there is: %s", name, file, strings.Join(names, ", "))
}

// Set puts a JSON value at a dotted key, in a profile where one is named, and
// makes the objects on the way. Everything else stays as it is, byte for byte.
// Errors: no key; no JSON; a value that the key does not take; something on the
// way that is not an object. Then nothing has changed.
func (d *Document) Set(profile, key string, value json.RawMessage) error {
	path, err := splitKey(key)
	if err != nil {
		return err
	}
	if profile != "" && !validName(profile) {
		return fmt.Errorf("%q can't be a profile's name: %s", profile, nameRule)
	}
	path = inProfile(profile, path)
	if doc, err := jsondoc.Parse(value, jsondoc.Rules{Depth: maxDepth}); err != nil || doc.Root == nil {
		return fmt.Errorf("the value of %s is not JSON", key)
	}
	changed, err := d.with(path, value)
	if err != nil {
		return err
	}
	for _, p := range changed.check(false) {
		if within(p.path, path) || within(path, p.path) {
			return fmt.Errorf("%s was not set: %s", key, p.Message)
		}
	}
	*d = *changed
	return nil
}

// within says whether a path is another one or lies below it.
func within(path, above []string) bool {
	if len(path) < len(above) {
		return false
	}
	for i := range above {
		if path[i] != above[i] {
			return false
		}
	}
	return true
}

// with is the document with a value put in.
func (d *Document) with(path []string, value []byte) (*Document, error) {
	if d.root == nil {
		blank, err := Parse(d.file, []byte("{}\n"))
		if err != nil {
			return nil, err
		}
		d = blank
	}
	n := d.root
	for i, part := range path {
		if n.Kind != '{' {
			return nil, fmt.Errorf("%s is %s, and no object that %s could be put into; unset it first", joinKey(path[:i]), describe(n), part)
		}
		m := n.Member(part)
		if m == nil {
			return Parse(d.file, d.doc.Insert(n, part, nested(path[i+1:], value)))
		}
		if i == len(path)-1 {
			return Parse(d.file, d.doc.Replace(&m.Value, value))
		}
		n = &m.Value
	}
	return nil, fmt.Errorf("a key is missing")
}

// nested wraps a value in the objects that are not there yet.
func nested(path []string, value []byte) []byte {
	for _, key := range slices.Backward(path) {
		value = slices.Concat([]byte("{"+jsondoc.Quote(key)+":"), value, []byte("}"))
	}
	return value
}

// Unset removes a dotted key and its value, in a profile where one is named, and
// says whether it was there. Objects that it leaves empty stay.
func (d *Document) Unset(profile, key string) (was bool, err error) {
	path, err := splitKey(key)
	if err != nil {
		return false, err
	}
	path = inProfile(profile, path)
	above, last := d.find(path[:len(path)-1]), path[len(path)-1]
	index := -1
	if above != nil {
		index = slices.IndexFunc(above.Members, func(m jsondoc.Member) bool { return m.Name == last })
	}
	if index < 0 {
		if n := d.find(path); n != nil {
			return false, fmt.Errorf("%s is a part of a list; set the list without it", key)
		}
		return false, nil
	}
	changed, err := Parse(d.file, d.doc.Remove(above, index))
	if err != nil {
		return false, err
	}
	*d = *changed
	return true, nil
}

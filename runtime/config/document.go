package config

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// Document is a configuration file's text, which is a JSON object or blank. The
// zero value is that of a file that is not there. It is not safe for concurrent
// use while it is changed.
type Document struct {
	file string // its name in messages
	text []byte
	root *node // nil where it is blank
}

var byteOrderMark = []byte("\xef\xbb\xbf")

// Parse reads a file's text; file is its name in messages. Errors: *SyntaxError,
// and then the document is empty, so that it stands for the defaults.
func Parse(file string, text []byte) (*Document, error) {
	text = bytes.TrimPrefix(text, byteOrderMark)
	d := &Document{file: file}
	root, f := parse(text)
	if f == nil && root != nil && root.kind != '{' {
		f = &failure{root.start, "the file has to hold an object, in braces, and holds " + describe(text, root)}
	}
	if f == nil && root != nil {
		f = newer(text, root)
	}
	if f != nil {
		line, column := place(text, f.at)
		return d, &SyntaxError{file, line, column, f.why}
	}
	d.text, d.root = text, root
	return d, nil
}

// newer finds a version of the format that this one does not know.
func newer(text []byte, root *node) *failure {
	m := root.member("version")
	if m == nil || m.value.kind != 0 {
		return nil
	}
	if v, ok := wholeNumber(string(text[m.value.start:m.value.end])); ok && v > 1 {
		return &failure{m.value.start, fmt.Sprintf("this is version %d of the format, and this chant-acp knows version 1; update chant-acp", v)}
	}
	return nil
}

// find walks down a path.
func (d *Document) find(path []string) *node {
	n := d.root
	for _, part := range path {
		if n == nil {
			return nil
		}
		n = child(n, part)
	}
	return n
}

func child(n *node, part string) *node {
	if m := n.member(part); m != nil {
		return &m.value
	}
	if i, err := strconv.Atoi(part); err == nil && i >= 0 && i < len(n.items) && part == strconv.Itoa(i) {
		return &n.items[i]
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
	return bytes.Clone(d.text[n.start:n.end]), true, nil
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
	for i := range n.members {
		names = append(names, n.members[i].name)
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
	if n, f := parse(value); f != nil || n == nil {
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
	text, root := d.text, d.root
	if root == nil {
		text = []byte("{}\n")
		root = &node{kind: '{', start: 0, end: 2}
	}
	n := root
	for i, part := range path {
		if n.kind != '{' {
			return nil, fmt.Errorf("%s is %s, and no object that %s could be put into; unset it first", joinKey(path[:i]), describe(text, n), part)
		}
		m := n.member(part)
		if m == nil {
			return Parse(d.file, insert(text, n, part, nested(path[i+1:], value)))
		}
		if i == len(path)-1 {
			return Parse(d.file, replace(text, n, m, value))
		}
		n = &m.value
	}
	return nil, fmt.Errorf("a key is missing")
}

// nested wraps a value in the objects that are not there yet.
func nested(path []string, value []byte) []byte {
	for i := len(path) - 1; i >= 0; i-- {
		var b bytes.Buffer
		b.WriteByte('{')
		b.Write(quote(path[i]))
		b.WriteByte(':')
		b.Write(value)
		b.WriteByte('}')
		value = b.Bytes()
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
	if above == nil || above.member(last) == nil {
		if n := d.find(path); n != nil {
			return false, fmt.Errorf("%s is a part of a list; set the list without it", key)
		}
		return false, nil
	}
	changed, err := Parse(d.file, remove(d.text, above, last))
	if err != nil {
		return false, err
	}
	*d = *changed
	return true, nil
}

package op

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chant-acp/chant-acp/internal/trust"
)

// MaxFile is the largest file that is read as an Op, in bytes.
const MaxFile = 1 << 20

// FormatOf says what format a file has by its name; "" for a file of no Op.
func FormatOf(file string) Format {
	for _, f := range []Format{TypeScript, YAML, JSON} {
		if strings.HasSuffix(file, string(f)) && len(path.Base(file)) > len(f) {
			return f
		}
	}
	return ""
}

// Decode reads the text of a *.op.yaml or *.op.json file; file is its name in
// messages and says the format. What is wrong is a *[FileError].
func Decode(file string, data []byte) (*Config, error) {
	if len(data) > MaxFile {
		return nil, Failed(file, "the file is larger than 1 MiB, the most that is read of an Op")
	}
	format := FormatOf(file)
	var root *node
	var found []Finding
	switch format {
	case YAML:
		root, found = parseYAML(data)
	case JSON:
		root, found = parseJSON(data)
	default:
		return nil, Failed(file, "an Op that is data has a name that ends in %s or %s", YAML, JSON)
	}
	return decode(file, format, root, found)
}

// Restore reads what [Config.MarshalJSON] wrote, or what evaluating a *.op.ts
// file gave: a config's JSON, its short forms written out. Keys that it does not
// know are kept and mean nothing. What is wrong is a *[FileError] without
// positions.
func Restore(file string, config []byte) (*Config, error) {
	root, found := parseJSON(config)
	c, err := decode(file, TypeScript, root, found)
	if bad, ok := err.(*FileError); ok {
		for i := range bad.Findings {
			bad.Findings[i].At = Position{}
		}
	}
	if format := FormatOf(file); c != nil && format != "" {
		c.Format = format
	}
	return c, err
}

// ReadFile reads the file rel of a project's folder, a slash-separated path that
// names no link. A file that another user could have put there is refused.
func ReadFile(root *os.Root, rel string) ([]byte, error) {
	f, err := root.OpenFile(rel, os.O_RDONLY|trust.OpenNonblock, 0)
	if err != nil {
		return nil, Failed(rel, "it cannot be read: %v", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, Failed(rel, "it cannot be read: %v", err)
	}
	if !info.Mode().IsRegular() {
		return nil, Failed(rel, "it is not a regular file")
	}
	reason := trust.Reason(filepath.Join(root.Name(), filepath.FromSlash(rel)), info)
	switch {
	case reason != "":
		return nil, Failed(rel, "it is not used: %s", reason)
	case info.Size() > MaxFile:
		return nil, Failed(rel, "it has %d bytes, and %d are the most that is read of a file", info.Size(), MaxFile)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxFile+1))
	switch {
	case err != nil:
		return nil, Failed(rel, "it cannot be read: %v", err)
	case len(data) > MaxFile:
		return nil, Failed(rel, "it has more than %d bytes, the most that is read of a file", MaxFile)
	}
	return data, nil
}

// A decoder makes a Config of a node, and collects what is wrong instead of
// stopping at it. strict is for files that people write as data: no unknown
// keys, and nothing that means nothing.
type decoder struct {
	file   string
	strict bool
	found  []Finding
	gates  map[string]bool
}

func decode(file string, format Format, root *node, found []Finding) (*Config, error) {
	d := &decoder{file: file, strict: format != TypeScript, gates: make(map[string]bool), found: found}
	c := &Config{Format: format}
	if root != nil {
		d.config(root, c)
	}
	if len(d.found) == 0 {
		c.text = root.json()
		return c, nil
	}
	slices.SortStableFunc(d.found, func(a, b Finding) int {
		if a.At.Line != b.At.Line {
			return a.At.Line - b.At.Line
		}
		return a.At.Column - b.At.Column
	})
	const most = 100 // whoever has more errors mends those first
	d.found = d.found[:min(len(d.found), most)]
	for i := range d.found {
		d.found[i].File = file
	}
	return nil, &FileError{File: file, Findings: d.found}
}

func (d *decoder) bad(at Position, format string, args ...any) {
	d.found = append(d.found, Finding{At: at, Message: fmt.Sprintf(format, args...)})
}

// fields checks that n is a mapping, and of known keys where a person wrote it as
// data. It returns false where n is no mapping.
func (d *decoder) fields(n *node, what string, known ...string) bool {
	if n.kind != object {
		d.bad(n.at, "%s must be a mapping (key: value), and is %s", what, n.kind)
		return false
	}
	if !d.strict {
		return true
	}
	for _, m := range n.members {
		if !slices.Contains(known, m.name) {
			d.bad(m.at, "%s has no key %q; it may have: %s", what, m.name, strings.Join(known, ", "))
		}
	}
	return true
}

// need returns a member that must be there.
func (d *decoder) need(n *node, what, name string) *node {
	v := n.get(name)
	if v == nil || v.kind == null {
		d.bad(n.at, "%s needs %s", what, name)
		return nil
	}
	return v
}

// optional returns a member that may be absent. A program may have written null
// for that; a person who leaves a value empty has forgotten something.
func (d *decoder) optional(n *node, name string) *node {
	v := n.get(name)
	if v != nil && v.kind == null && !d.strict {
		return nil
	}
	return v
}

// text reads a string. A number or a boolean that stands in YAML without quotes
// is taken as it is written, and becomes text.
func (d *decoder) text(n *node, what string) string {
	if n == nil {
		return ""
	}
	if n.source != "" {
		n.kind, n.text, n.source = text, n.source, ""
	}
	if n.kind != text {
		d.bad(n.at, "%s must be text, and is %s", what, n.kind)
		return ""
	}
	if strings.ContainsRune(n.text, 0) {
		d.bad(n.at, "%s holds a NUL character; remove it", what)
	}
	return n.text
}

// word reads a name that people type in a command line.
func (d *decoder) word(n *node, what string) string {
	s := d.text(n, what)
	if n != nil && n.kind == text && !isWord(s) {
		d.bad(n.at, "%s consists of at most 100 letters, digits and any of . _ - and begins with a letter or digit, because it is typed in a command line; %q does not", what, s)
	}
	return s
}

func isWord(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case i > 0 && (c == '.' || c == '_' || c == '-'):
		default:
			return false
		}
	}
	return s != "" && len(s) <= 100
}

// texts reads a list of strings.
func (d *decoder) texts(n *node, what string) []string {
	if n == nil {
		return nil
	}
	if n.kind != list {
		d.bad(n.at, "%s must be a list, and is %s", what, n.kind)
		return nil
	}
	var all []string
	for _, c := range n.items {
		all = append(all, d.text(c, "each element of "+what))
	}
	return all
}

// variables reads a mapping of strings.
func (d *decoder) variables(n *node, what string) map[string]string {
	if n == nil {
		return nil
	}
	if n.kind != object {
		d.bad(n.at, "%s must be a mapping (key: value), and is %s", what, n.kind)
		return nil
	}
	all := make(map[string]string, len(n.members))
	for _, m := range n.members {
		all[m.name] = d.text(m.value, m.name+" of "+what)
	}
	return all
}

func (d *decoder) boolean(n *node, what string) bool {
	if n != nil && n.kind != boolean {
		d.bad(n.at, "%s must be true or false, and is %s", what, n.kind)
	}
	return n != nil && n.text == "true"
}

// raw returns the JSON of an object, nil for none.
func (d *decoder) raw(n *node, what string) json.RawMessage {
	if n == nil {
		return nil
	}
	if n.kind != object {
		d.bad(n.at, "%s must be a mapping (key: value), and is %s", what, n.kind)
		return nil
	}
	return n.json()
}

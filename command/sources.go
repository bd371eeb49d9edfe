package command

import (
	"path"
	"strings"

	"go.yaml.in/yaml/v4"
)

// A Source is a task runner whose tasks a project offers as commands.
type Source struct {
	Tool   string   // "just"
	Names  []string // the tasks to take; none for all
	Dir    string   // where its file is, slash-separated below the project root; "" for the root
	Prefix string   // the first words of its commands' names; "" for none

	// Line and Column are where a manifest names it, from 1; 0 for nowhere.
	Line, Column int
}

// Sources lists the task runners that the manifest takes commands from, in the order
// of the file.
func (m *Manifest) Sources() []Source {
	if m == nil {
		return nil
	}
	return m.sources
}

// Origin says where commands come from that no person wrote into a manifest.
type Origin struct {
	File   string            // that was read: "justfile"
	Files  []string          // all that they depend on, relative to the project root
	Bodies map[string]string // what each does, by its name, for people
}

// ParseListed parses a manifest that was made of what a task runner's file says.
func ParseListed(o Origin, data []byte) (*Manifest, error) {
	m, err := ParseManifest(o.File, data)
	if err != nil {
		return nil, err
	}
	for _, s := range m.commands {
		s.origin = &o
	}
	return m, nil
}

// SourceTools are the task runners that a manifest may name under sources.
var SourceTools = []string{"just", "task", "npm", "make"}

// sources reads the task runners whose tasks are commands.
func (d *decoder) sources(n *yaml.Node, m *Manifest) {
	for _, f := range d.fields(n, "sources", SourceTools) {
		s := Source{Tool: f.name, Line: f.key.Line, Column: f.key.Column}
		what := "the source " + f.name
		targets := f.name == "make" // what is to be taken of a makefile has to be said
		var names *yaml.Node
		for _, g := range d.fields(f.value, what, sourceKeys(targets)) {
			switch g.name {
			case "include", "targets":
				names = g.value
				for _, c := range d.texts(g.value, g.name) {
					s.Names = append(s.Names, c.Value)
				}
			case "dir":
				s.Dir = d.sourceDir(g.value)
			case "prefix":
				if v, ok := d.text(g.value, "the prefix of "+what); ok {
					if why := NameError(v); why != "" {
						d.bad(g.value, "the prefix cannot begin a command's name: %s", why)
					}
					s.Prefix = v
				}
			}
		}
		switch {
		case targets && len(s.Names) == 0:
			d.bad(f.key, "the source make needs targets, a list of those to take: make can't be asked without running what its file says")
		case names != nil && len(s.Names) == 0:
			d.bad(names, "include is empty, so nothing would be taken; leave it out for all tasks")
		}
		m.sources = append(m.sources, s)
	}
}

func sourceKeys(targets bool) []string {
	if targets {
		return []string{"targets", "dir", "prefix"}
	}
	return []string{"include", "dir", "prefix"}
}

// sourceDir reads a folder below the project root.
func (d *decoder) sourceDir(n *yaml.Node) string {
	v, ok := d.text(n, "dir")
	if !ok {
		return ""
	}
	clean := path.Clean(v)
	if v == "" || path.IsAbs(v) || clean == ".." || strings.HasPrefix(clean, "../") {
		d.bad(n, "dir must be a folder inside the project, relative to its root; %q is none", v)
		return ""
	}
	if clean == "." {
		return ""
	}
	return clean
}

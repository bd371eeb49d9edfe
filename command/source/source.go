// Package source turns what a repository's own task runner lists into commands.
//
// Each tool has a package below this one that reads the tool's file and makes
// [Task]s. Listings of them are written as a manifest, so that one reader checks what
// a person wrote and what a tool listed alike.
package source

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"
)

// A Listing is what a tool's file offers.
type Listing struct {
	Tool  string // the tool's name, which is also its program's
	File  string // the file that was read, relative to the project root
	Tasks []Task // in the order of the file, or of the listing

	// Files are all files that the tasks depend on, File first, relative to the
	// project root: what a person allows is their bytes.
	Files []string

	Dir    string // where the tasks run, below the project root; "" for the root
	Prefix string // the first words of the commands' names; "" for none
}

// A Task is one task of a tool's file.
type Task struct {
	Name    string   // the tool's name for it
	Summary string   // one line, or ""
	Argv    []string // the program and the arguments that select the task
	Params  []Param
	Rest    string   // the pattern of further arguments, which are handed on; "" for none
	Confirm bool     // the tool itself asks before it runs the task
	Left    string   // why it can't be offered; "" for a task that is
	Lost    []string // for each parameter that it is offered without, its name and the reason
	Body    string   // what the file has it do, for people; "" where that is not known
}

// NoHyphen is the pattern of arguments that no program takes for an option.
const NoHyphen = `(?s)([^-].*)?`

// A Param is a parameter of a task, in the order in which values are given.
type Param struct {
	Name     string
	Help     string
	Required bool
	Repeat   bool
	Word     bool     // the value ends up in a shell's text: the manifest's type word
	Enum     []string // the only values; nil for any
	Pattern  string   // the author's own; "" for none
	Flag     string   // "--name": given by its name; "" for a position
	Switch   bool     // a flag without a value
	As       []string // what a value becomes, with {} in its place; nil for the value itself
}

// Manifest writes the tasks of listings as the text of one manifest. A task keeps
// its name where no listing before has it and nameError, which says why a command
// can't be called so, has nothing to say; else it is called by its tool and its
// name. notes are for people: what is called otherwise, left out, or offered
// without a parameter, and why.
//
// bodies are what the tasks do, by the names of the commands.
func Manifest(listings []*Listing, nameError func(name string) string) (text []byte, bodies map[string]string, notes []string, err error) {
	bodies = make(map[string]string)
	commands := mapping(0)
	taken := make(map[string]bool)
	for _, l := range listings {
		for _, t := range l.Tasks {
			why := t.Left
			name := strings.TrimSpace(l.Prefix + " " + t.Name)
			if nameError(name) != "" || taken[name] {
				name = l.Tool + " " + name
			}
			if why == "" {
				why = nameError(name)
			}
			if why == "" && taken[name] {
				why = "its name stands there already"
			}
			if why != "" {
				notes = append(notes, fmt.Sprintf("%s of %s is left out: %s", t.Name, l.File, why))
				continue
			}
			if l.Prefix == "" && name != t.Name {
				notes = append(notes, fmt.Sprintf("%s of %s is called %s: the name alone is another's", t.Name, l.File, name))
			}
			for _, lost := range t.Lost {
				notes = append(notes, fmt.Sprintf("%s of %s goes without its parameter %s", t.Name, l.File, lost))
			}
			taken[name], bodies[name] = true, t.Body
			commands.Content = append(commands.Content, word(name), t.command(l.Dir))
		}
	}
	root := mapping(0, word("version"), &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: "1"})
	if len(commands.Content) > 0 {
		root.Content = append(root.Content, word("commands"), commands)
	}
	if text, err = yaml.Marshal(root); err != nil {
		return nil, nil, nil, fmt.Errorf("writing tasks as a manifest: %w", err)
	}
	return text, bodies, notes, nil
}

// command writes one task as a command of the manifest.
func (t *Task) command(dir string) *yaml.Node {
	summary := t.Summary
	if summary == "" {
		summary = strings.Join(t.Argv, " ")
	}
	exec := list()
	for _, a := range t.Argv {
		exec.Content = append(exec.Content, word(escape(a)))
	}
	params := mapping(0)
	position := 0
	for _, p := range t.Params {
		exec.Content = append(exec.Content, word("{"+p.Name+"}"))
		if p.Flag == "" {
			position++
		}
		params.Content = append(params.Content, word(p.Name), p.node(position))
	}
	n := mapping(0, word("summary"), word(summary), word("exec"), exec)
	add := func(key string, value *yaml.Node) { n.Content = append(n.Content, word(key), value) }
	if len(params.Content) > 0 {
		add("params", params)
	}
	if t.Rest != "" {
		add("rest", mapping(yaml.FlowStyle, word("pattern"), word(t.Rest)))
	}
	if t.Confirm {
		add("confirm", word("retype"))
	}
	if dir != "" {
		add("cwd", word(dir))
	}
	return n
}

// node is a parameter as YAML.
func (p *Param) node(position int) *yaml.Node {
	n := mapping(yaml.FlowStyle)
	add := func(key string, value *yaml.Node) { n.Content = append(n.Content, word(key), value) }
	if p.Flag != "" {
		add("flag", word(p.Flag))
	} else {
		add("position", &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!int", Value: fmt.Sprint(position)})
	}
	switch {
	case p.Switch:
		add("type", word("bool"))
	case p.Word:
		add("type", word("word"))
	}
	yes := &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!bool", Value: "true"}
	if p.Required {
		add("required", yes)
	}
	if p.Repeat {
		add("repeat", yes)
	}
	if p.Enum != nil {
		add("enum", list(p.Enum...))
	}
	if p.Pattern != "" {
		add("pattern", word(p.Pattern))
	}
	if p.As != nil {
		add("as", list(p.As...))
	}
	if p.Help != "" {
		add("description", word(p.Help))
	}
	return n
}

// escape writes an argument as it stands in exec, where {name} is a parameter.
func escape(arg string) string {
	return strings.NewReplacer("{", "{{", "}", "}}").Replace(arg)
}

func mapping(style yaml.Style, content ...*yaml.Node) *yaml.Node {
	return &yaml.Node{Kind: yaml.MappingNode, Tag: "!!map", Style: style, Content: content}
}

func list(items ...string) *yaml.Node {
	n := &yaml.Node{Kind: yaml.SequenceNode, Tag: "!!seq", Style: yaml.FlowStyle}
	for _, s := range items {
		n.Content = append(n.Content, word(s))
	}
	return n
}

func word(s string) *yaml.Node { return &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: s} }

// Line returns the first line of a text, cut to what a summary holds.
func Line(s string) string {
	s, _, _ = strings.Cut(strings.TrimSpace(s), "\n")
	return strings.TrimSpace(s)
}

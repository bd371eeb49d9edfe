// Package taskfile reads the tasks of a Taskfile (taskfile.dev, version 3). Task's
// own listing runs what the variables of a file say; reading it here runs nothing.
package taskfile

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/chant-acp/chant-acp/command/source"
)

// Files are the names that Task looks for, in its order (taskfile.dev, "Supported
// file names").
var Files = []string{
	"Taskfile.yml", "taskfile.yml", "Taskfile.yaml", "taskfile.yaml",
	"Taskfile.dist.yml", "taskfile.dist.yml", "Taskfile.dist.yaml", "taskfile.dist.yaml",
}

// MaxFiles bounds how many files a Taskfile may consist of.
const MaxFiles = 100

// Read reads a file of the project, by its path relative to the root, and notes it.
// A missing one is fs.ErrNotExist. A folder stands for the Taskfile in it, whose
// path is the first result.
type Read func(name string) (file string, text []byte, err error)

// file is what is read of a Taskfile.
type file struct {
	Version  yaml.Node `yaml:"version"`
	Includes yaml.Node `yaml:"includes"`
	Tasks    yaml.Node `yaml:"tasks"`
}

// include is an entry of includes.
type include struct {
	Taskfile string `yaml:"taskfile"`
	Dir      string `yaml:"dir"`
	Optional bool   `yaml:"optional"`
	Internal bool   `yaml:"internal"`
	Flatten  bool   `yaml:"flatten"`
}

// task is an entry of tasks.
type task struct {
	Desc        string    `yaml:"desc"`
	Summary     string    `yaml:"summary"`
	Internal    bool      `yaml:"internal"`
	Interactive bool      `yaml:"interactive"`
	Prompt      yaml.Node `yaml:"prompt"`
	Requires    struct {
		Vars []yaml.Node `yaml:"vars"`
	} `yaml:"requires"`
}

// A reader follows the includes of a Taskfile.
type reader struct {
	read    Read
	list    *source.Listing
	reading []string // paths, to end a circle
	files   int
}

// Parse reads the Taskfile name and what it includes.
func Parse(name string, read Read) (*source.Listing, error) {
	r := &reader{read: read, list: &source.Listing{Tool: "task", File: name}}
	if err := r.file(name, "", false); err != nil {
		return nil, err
	}
	return r.list, nil
}

// file adds the tasks of one file, behind a prefix. hidden says that it was included
// for other tasks alone.
func (r *reader) file(name, prefix string, hidden bool) error {
	name, text, err := r.read(name)
	if err != nil {
		return err
	}
	if r.files++; r.files > MaxFiles {
		return fmt.Errorf("it consists of more than %d files", MaxFiles)
	}
	if slices.Contains(r.reading, name) {
		return fmt.Errorf("%s includes itself", name)
	}
	r.reading = append(r.reading, name)
	defer func() { r.reading = r.reading[:len(r.reading)-1] }()
	var f file
	if err := yaml.Unmarshal(text, &f); err != nil {
		return fmt.Errorf("%s can't be read: %w", name, err)
	}
	if v := f.Version.Value; v != "3" && !strings.HasPrefix(v, "3.") {
		return fmt.Errorf("%s is of version %q; 3 is what is read", name, v)
	}
	if !hidden {
		if err := r.tasks(&f.Tasks, name, prefix); err != nil {
			return err
		}
	}
	return r.includes(&f.Includes, name, prefix, hidden)
}

// pairs are the entries of a mapping, none of anything else.
func pairs(n *yaml.Node) func(yield func(key string, value *yaml.Node) bool) {
	return func(yield func(string, *yaml.Node) bool) {
		if n.Kind != yaml.MappingNode {
			return
		}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if !yield(n.Content[i].Value, n.Content[i+1]) {
				return
			}
		}
	}
}

func (r *reader) includes(n *yaml.Node, from, prefix string, hidden bool) error {
	for namespace, value := range pairs(n) {
		inc := include{Taskfile: value.Value}
		if value.Kind == yaml.MappingNode {
			inc = include{}
			if err := value.Decode(&inc); err != nil {
				return fmt.Errorf("%s: the include %s can't be read: %w", from, namespace, err)
			}
		}
		if inc.Taskfile == "" || strings.Contains(inc.Taskfile, "{{") || strings.Contains(inc.Taskfile, "://") || strings.HasPrefix(inc.Taskfile, "git@") || strings.ContainsAny(inc.Taskfile, "~$\x00") {
			return fmt.Errorf("%s: what %s includes can't be told without running task: %q", from, namespace, inc.Taskfile)
		}
		if path.IsAbs(inc.Taskfile) {
			return fmt.Errorf("%s: %s includes a file outside of the project: %s", from, namespace, inc.Taskfile)
		}
		below := prefix + namespace + ":"
		if inc.Flatten {
			below = prefix
		}
		err := r.file(path.Join(path.Dir(from), inc.Taskfile), below, hidden || inc.Internal)
		if err != nil && !(inc.Optional && errors.Is(err, fs.ErrNotExist)) {
			return err
		}
	}
	return nil
}

func (r *reader) tasks(n *yaml.Node, from, prefix string) error {
	for name, value := range pairs(n) {
		var t task
		if value.Kind == yaml.MappingNode {
			if err := value.Decode(&t); err != nil {
				return fmt.Errorf("%s: the task %s can't be read: %w", from, name, err)
			}
		}
		if t.Internal {
			continue
		}
		r.list.Tasks = append(r.list.Tasks, t.task(prefix+name, value))
	}
	return nil
}

// task is a task as a command.
func (t *task) task(name string, value *yaml.Node) source.Task {
	out := source.Task{Name: name, Summary: source.Line(t.Desc), Argv: []string{"task", name}}
	if out.Summary == "" {
		out.Summary = source.Line(t.Summary)
	}
	if strings.Contains(out.Summary, "{{") { // Task would render it
		out.Summary = ""
	}
	text, err := yaml.Marshal(value)
	if err == nil {
		out.Body = string(text)
	}
	if !t.Prompt.IsZero() {
		out.Confirm = true
		out.Argv = []string{"task", "--yes", name} // its own question is asked here
	}
	switch {
	case strings.Contains(name, "*"):
		out.Left = "it is a wildcard, and what matches is put into a shell's text"
	case strings.HasPrefix(name, "-"):
		out.Left = "its name begins with a hyphen, which task takes for an option"
	case strings.Contains(name, "="):
		out.Left = "its name holds an equals sign, which task takes for a variable"
	case t.Interactive:
		out.Left = "it is interactive, and reads from a terminal"
	}
	for i := range t.Requires.Vars {
		require(&out, &t.Requires.Vars[i])
	}
	// What follows -- only a task that names it gets.
	if strings.Contains(out.Body, "CLI_ARGS") && out.Left == "" && len(out.Params) == 0 {
		out.Argv, out.Rest = append(out.Argv, "--"), arguments
	}
	return out
}

// arguments is the pattern of what may follow --. Task quotes that for its shell, but
// renders {{…}} in it (measured with Task 3.54), so that quotes could come out of it.
const arguments = `(?s)([^-{]|\{[^{])([^{]|\{[^{])*\{?|\{?`

// require adds a variable that a task needs. Task puts what is given into the text of
// a shell, and renders {{…}} in it once more, so that only listed values are taken.
func require(out *source.Task, n *yaml.Node) {
	var v struct {
		Name string   `yaml:"name"`
		Enum []string `yaml:"enum"`
	}
	v.Name = n.Value
	if n.Kind == yaml.MappingNode && n.Decode(&v) != nil {
		out.Left = "what it requires can't be read"
		return
	}
	if v.Name == "" {
		out.Left = "it requires a variable without a name"
		return
	}
	if len(v.Enum) == 0 {
		out.Left = fmt.Sprintf("it requires the variable %s, and what is given is put into a shell's text; an enum in requires would do", v.Name)
		return
	}
	out.Params = append(out.Params, source.Param{Name: strings.ToLower(v.Name), Required: true, Enum: v.Enum, As: []string{v.Name + "={}"}})
}

// Count is how many tasks the text of a Taskfile offers, without what it includes; -1
// where it can't be read.
func Count(text []byte) int {
	var f file
	if yaml.Unmarshal(text, &f) != nil {
		return -1
	}
	n := 0
	for _, value := range pairs(&f.Tasks) {
		var t task
		if value.Kind != yaml.MappingNode || value.Decode(&t) == nil && !t.Internal {
			n++
		}
	}
	return n
}

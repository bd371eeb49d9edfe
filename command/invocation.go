package command

import (
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/chant-acp/chant-acp/command/problem"
)

// An Effect says what running a command does to the world.
type Effect string

// The effects, from harmless to final.
const (
	Read    Effect = "read"
	Write   Effect = "write"
	Destroy Effect = "destroy"
)

// A Confirm says how a command is confirmed before it runs.
type Confirm string

// The ways to confirm: not at all; by asking a person through the client; by a
// line that has to be typed.
const (
	ConfirmNone   Confirm = "none"
	ConfirmAsk    Confirm = "ask"
	ConfirmRetype Confirm = "retype"
)

// A Kind says where in the allow-list a command comes from.
type Kind int

// The sources of the allow-list.
const (
	KindBuiltin Kind = iota + 1 // ours; carried out by the agent
	KindProject                 // the project's manifest
	KindVerb                    // a verb of the chant program
)

func (k Kind) String() string {
	switch k {
	case KindBuiltin:
		return "built in"
	case KindProject:
		return "project"
	case KindVerb:
		return "chant"
	}
	return "unknown"
}

// Defaults of the manifest keys timeout and grace.
const (
	DefaultTimeout = 30 * time.Minute
	DefaultGrace   = 2 * time.Second
)

// An Invocation is a command that may run: everything about it is decided.
// Treat it as read-only; slices may be shared with the registry.
type Invocation struct {
	Kind Kind
	Name string // the allow-list's name, "db migrate"

	// Line is the command line in normal form: the words quoted anew, without a
	// leading "/" and, for all but chant's verbs, without a leading "chant".
	// Parsing it again selects the same command.
	Line  string
	Words []string // the words of Line
	Args  []string // the words after the name
	Op    *OpLine  // what Args say, of a built-in about Ops; nil for others

	// Argv is the program and its arguments; nil for a built-in. Argv[0] is a
	// bare name to look up on PATH, or an absolute path.
	Argv []string
	Dir  string   // absolute; the folder to run in
	Env  []string // K=V, sorted by name, to add to the inherited environment

	Effect  Effect
	Confirm Confirm
	Timeout time.Duration // end the program's process group after this
	Grace   time.Duration // how long the group may take to end
	TTY     bool          // give the program a terminal of its own
	Success []int         // exit codes that count as success

	// Environment is the environment in force, also in Env as CHANT_ENV; "" for
	// none. Protected says that the manifest protects it, in which case the
	// line itself names it.
	Environment string
	Protected   bool

	// Notice is something a person should know before the command runs; "" for
	// nothing.
	Notice string

	spec  *spec  // of a project's command; nil for others
	root  string // the project root
	paths []pathValue
}

// Problems are the formats in which the program prints where a problem is.
func (i *Invocation) Problems() []problem.Format {
	if i.spec == nil || i.spec.problems == nil {
		return problem.Usual()
	}
	return i.spec.problems
}

// Root is the project's root, absolute; "" for what does not come from the manifest.
func (i *Invocation) Root() string { return i.root }

// Files are the regular files of the project that the line names as values of type
// path, absolute.
func (i *Invocation) Files() []string {
	values := make([]string, len(i.paths))
	for k, p := range i.paths {
		values[k] = p.value
	}
	return problem.Files(i.root, i.Dir, values)
}

// Entry is what the manifest says of the command, as it was read: JSON with sorted
// keys, "" for what is not of the manifest. The rest of the manifest, comments and
// the way in which it is written do not change it.
func (i *Invocation) Entry() string {
	if i.spec == nil || i.spec.entry == nil {
		return ""
	}
	return entryText(i.spec.entry)
}

// Origin is where the command comes from; nil where the project's own manifest
// declares it, and for what is no project's.
func (i *Invocation) Origin() *Origin {
	if i.spec == nil {
		return nil
	}
	return i.spec.origin
}

// plainValue is a node of the manifest without how and where it is written. What
// is no text is told from text of the same letters by its tag.
func plainValue(n *yaml.Node) any {
	switch n.Kind {
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		for i := 0; i+1 < len(n.Content); i += 2 {
			m[n.Content[i].Value] = plainValue(n.Content[i+1])
		}
		return m
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		for _, c := range n.Content {
			list = append(list, plainValue(c))
		}
		return list
	}
	if n.Tag != "!!str" {
		return n.Tag + " " + n.Value
	}
	return n.Value
}

// Package op is the model of Ops: named, phased runs of steps with gates and
// compensation. It finds their files, reads those that are data (*.op.yaml,
// *.op.json) and says what is wrong with them. host/op/eval reads *.op.ts.
//
// The model is chant's: its types, names and defaults are those of the OpConfig
// of @intentius/chant/op, with three kinds of steps of our own (exec, sleep,
// waitForEvent).
//
// [FindFiles] finds the files of a project, and [Decode] makes a [Config] of one that is data; what
// is wrong comes as [Finding]s.
package op

import (
	"encoding/json"
	"time"
)

// An Op is one file's Op.
type Op struct {
	// File is the path of its file below the root that was searched, with
	// forward slashes.
	File   string
	Config *Config
	// Sources are the files of the project that it was made of, File among them,
	// sorted; paths as File is one.
	Sources []string
	// Reads are the variables of the environment whose values the file read: its
	// text may hold them, and no others. Data reads none.
	Reads []string
}

// Name is what the Op is run by.
func (o *Op) Name() string { return o.Config.Name }

// A Format is the kind of file that an Op was read from.
type Format string

// The formats, named as the files end.
const (
	TypeScript Format = ".op.ts"
	YAML       Format = ".op.yaml"
	JSON       Format = ".op.json"
)

// A Config says what an Op does. It is made by reading ([Decode], [Read]) and
// not changed afterwards: its JSON is the text that was read, with short forms
// written out, in the order of the file, without defaults filled in.
type Config struct {
	Name       string
	Overview   string // "" where there is none
	TaskQueue  string // for Temporal; "" stands for Name
	Namespace  string // for Temporal; "" stands for the profile's
	Phases     []Phase
	Depends    []string // names of Ops that must have completed before
	OnFailure  []Phase  // compensation, run in reverse order
	Attributes map[string]string
	Format     Format

	text json.RawMessage
}

// A Phase is a list of steps that belong together.
type Phase struct {
	Name     string
	Steps    []Step
	Parallel bool // the steps run at the same time
	At       Position
}

// A Kind says what a step is, in the words of its JSON.
type Kind string

// The kinds of steps.
const (
	Activity     Kind = "activity"     // Fn with Args
	Gate         Kind = "gate"         // waits for the approval Name
	Exec         Kind = "exec"         // runs Argv, without a shell
	Sleep        Kind = "sleep"        // waits for Duration
	WaitForEvent Kind = "waitForEvent" // waits for a signal with the key Name
)

// A Step is one step of a phase. Which fields count depends on Kind.
type Step struct {
	Kind Kind
	At   Position

	// Fn is the activity's name, such as shellCmd, and Args the JSON object of
	// its arguments, nil where there are none.
	Fn   string
	Args json.RawMessage

	// Profile names the time limits and retries of an activity or exec step; ""
	// where the file names none. [Config.Profile] says what holds then.
	Profile string
	// Outcome, of an activity or exec step, is what of the result is shown and
	// kept; nil for nothing.
	Outcome *Outcome

	// Argv, Env and Dir are an exec step's program with its arguments, the
	// variables set for it, and its folder below the project root, "" for the
	// root.
	Argv []string
	Env  map[string]string
	Dir  string

	// Duration is how long a sleep lasts.
	Duration time.Duration

	// Name is a gate's name (chant's signalName) or an event's correlation key.
	Name string
	// Description says what a gate or event is about; "" where the file does not.
	Description string
	// Timeout bounds the wait for a gate or event: [DefaultWait] where the file
	// says nothing of a gate, 0 for no bound of an event.
	Timeout time.Duration
	// Bind are globs of files that an approval of a gate is for too, and Evidence
	// the paths of files that a person is to look at; both slash-separated, below
	// the project's folder. See [CheckGlob].
	Bind, Evidence []string
	// Schema is the JSON Schema that the answer to a gate or event must meet;
	// nil for none.
	Schema json.RawMessage
}

// DefaultWait is how long a gate waits when its file says nothing.
const DefaultWait = 48 * time.Hour

// MaxInlineSleep is the longest sleep that a turn waits for; a longer one is
// waited for as a gate is, with no process.
const MaxInlineSleep = 5 * time.Minute

// An Outcome names a part of a step's result.
type Outcome struct {
	Name string
	From string // dot path into the result; "" for all of it
}

// A Position is a place in an Op's file, both from 1; zero where the format
// knows none.
type Position struct {
	Line, Column int
}

// JSON is the config as chant would see it, byte for byte what JSON.stringify
// gives. It is not to be changed.
func (c *Config) JSON() json.RawMessage { return c.text }

// MarshalJSON gives the config as chant would see it. A Config that was not read
// from anything has none and is null.
func (c *Config) MarshalJSON() ([]byte, error) {
	if c.text == nil {
		return []byte("null"), nil
	}
	return c.text, nil
}

// Shown is the JSON with every string in it, keys included, as show shows it; a
// number that is shown otherwise becomes a string.
func (c *Config) Shown(show func(string) string) json.RawMessage {
	root, _ := parseJSON(c.text)
	if root == nil {
		return json.RawMessage("null")
	}
	root.show(show)
	return root.json()
}

// Steps calls yield for every step of the phases in order, then of the
// compensation, until it returns false.
func (c *Config) Steps(yield func(*Phase, *Step) bool) {
	for _, phases := range [][]Phase{c.Phases, c.OnFailure} {
		for i := range phases {
			for j := range phases[i].Steps {
				if !yield(&phases[i], &phases[i].Steps[j]) {
					return
				}
			}
		}
	}
}

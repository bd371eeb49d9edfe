package acptest

import (
	"errors"
	"testing"
	"time"
)

// Agent is what the suite has to know of the agent under test. Only Dial is
// required; a check that needs what is not given is skipped and says so.
type Agent struct {
	// Dial starts a fresh agent and returns the client's end of its connection:
	// see Pipe and Spawn.
	Dial func(t *testing.T) *Wire

	// Cwd is the directory that sessions are opened in. "" is a temporary one.
	Cwd string

	// Prompts of the agent under test, each the text of one block.
	OK       string // ends soon and well, with at least one update
	Fail     string // runs and fails, which is not an error of the protocol
	Hello    string // prints the line "hello" and ends well
	Refused  string // can't be taken: an unknown command
	Slow     string // reports at once that it runs, then runs until it is cancelled
	Stubborn string // as Slow, and does not end when asked nicely (a program that ignores SIGTERM)
	Big      string // prints more than 10 MiB
	Awkward  string // prints what is not UTF-8, control sequences, carriage returns, a very long line
	Ask      string // asks for permission, does something if it is given, and ends

	// AskFile is a file that Ask makes when it was allowed, and only then. It
	// is removed before each use.
	AskFile string
	// Marker is an argument of the program that Slow starts, unique to this
	// run: no process may have it when the turn, or the agent, has ended. Needs
	// a system with /proc.
	Marker string

	// Schema is the path of the protocol's JSON Schema, version 1; see
	// SchemaPath. "" leaves schema validation out.
	Schema string
	// Transcripts is a directory of *.txtar files that are replayed; see
	// Transcript.
	Transcripts string

	// Strict holds the agent to choices that the protocol leaves open and that
	// real clients have settled:
	//
	//   - initialize answers agentInfo and authMethods, and version 1 to any
	//     version that is asked for;
	//   - a request before initialize is refused with -32600;
	//   - messages are taken in the order in which they were written, so that
	//     what belongs together may be written in one packet;
	//   - what is no request is answered with its id, and with null only where
	//     there is none that can be read;
	//   - session/new refuses, with -32602, a cwd that is not an absolute path
	//     of a directory that exists;
	//   - an unknown session is -32002 with data.sessionId;
	//   - a second prompt in a session whose turn is open is -32600;
	//   - $/cancel_request ends a turn;
	//   - a tool_call_update repeats the status;
	//   - at the end of its input, the agent answers what it has read (open
	//     turns end cancelled) and exits with 0; it does so after SIGTERM,
	//     SIGHUP, SIGINT and a failed write, too, and never waits for a client
	//     that does not read;
	//   - standard error stays empty.
	Strict bool

	// Durable says that a session outlives its agent: one that is dialled later
	// loads it. Needs session/load.
	Durable bool

	// MaxRead is the longest line, in bytes, that the agent reads. Lines of
	// nearly that size must be served, longer ones refused once without harm. 0
	// leaves both out.
	MaxRead int
	// MaxWrite is the longest line, in bytes, that the agent writes; 0 is
	// MaxLine.
	MaxWrite int
	// MaxMemory is the most resident memory, in bytes, that the agent's process
	// may ever have used after any check. 0 leaves it out. Needs Spawn and a
	// system with /proc.
	MaxMemory int64

	// Rounds is how often checks of order are repeated; 0 is 200 within the
	// test process and 20 over a process.
	Rounds int
	// Patience is how long one wait may take before it counts as a hang; 0 is
	// two minutes.
	Patience time.Duration
}

// Run puts an agent under all checks, one subtest each.
func Run(t *testing.T, a Agent) {
	t.Helper()
	s, err := a.withDefaults(t)
	if err != nil {
		t.Fatal(err)
	}
	replays, err := transcriptChecks(a.Transcripts)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range append(checks(), replays...) {
		t.Run(c.name, func(t *testing.T) {
			report(t, c.rule, s.attempt(t, c))
		})
	}
}

func report(t *testing.T, rule string, err error) {
	t.Helper()
	var skip skipped
	switch {
	case errors.As(err, &skip):
		t.Skip(skip.reason)
	case err != nil:
		t.Errorf("%s\n%v", rule, err)
	}
}

// suite is an Agent with everything filled in.
type suite struct {
	Agent
	schema *Schema
}

func (a Agent) withDefaults(t *testing.T) (*suite, error) {
	if a.Dial == nil {
		return nil, errors.New("acptest: Agent.Dial is required: see Pipe and Spawn")
	}
	if a.Cwd == "" {
		a.Cwd = t.TempDir()
	}
	if a.Patience == 0 {
		a.Patience = defaultPatience
	}
	if a.MaxWrite == 0 {
		a.MaxWrite = MaxLine
	}
	if a.Marker != "" {
		if err := procfs(); err != nil {
			return nil, err
		}
	}
	s := &suite{Agent: a}
	if a.Schema == "" {
		return s, nil
	}
	var err error
	s.schema, err = LoadSchema(a.Schema)
	return s, err
}

// attempt runs one check. Its error is nil, a skipped, or what went wrong.
func (s *suite) attempt(t *testing.T, c check) (err error) {
	p := &probe{suite: s, t: t}
	defer func() {
		switch x := recover().(type) {
		case nil:
		case skipped:
			err = x
		case failure:
			err = errors.New(string(x))
		default:
			panic(x)
		}
	}()
	c.run(p)
	p.finish()
	return nil
}

// check is one row of the suite.
type check struct {
	name string
	rule string // what must hold, in a sentence, with its source where it has one
	run  func(*probe)
}

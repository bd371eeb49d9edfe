package agent

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent/view"
	"github.com/chant-acp/chant-acp/acp/agent/view/shape"
	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/internal/brief"
)

// Values of the session option "output".
const (
	outputAuto  = "auto"
	outputFull  = "full"
	outputPlain = "plain"
	outputQuiet = "quiet"
)

// noEnvironment is the value of the session option "env" that names none.
const noEnvironment = "none"

// session is one thread: a directory, its options, and at most one open turn.
type session struct {
	conn *conn
	id   string
	// after is how many turns its connection had before: later ones of this
	// session are its own.
	after uint64
	// loaded, of the reading goroutine alone, is closed when the load that was
	// asked for last is answered; nil without one.
	loaded chan struct{}

	// wire is held while something is kept and sent, so that a replay and what
	// goes on meanwhile are told one after the other.
	wire sync.Mutex

	// telling is held while TurnEnded is called: it hears of turns in order.
	telling sync.Mutex

	mu sync.Mutex
	// dir and host change with no turn open, on the reading goroutine.
	dir      string
	host     host.Host
	untold   [][]Event // turns that TurnEnded has not heard of
	turn     *turn
	env      string // "" for none
	output   string
	title    string
	created  time.Time
	told     string // the manifest's problem as it was last told
	allow    host.AllowList
	shown    int // version of the allow-list that the client was told of by a turn
	listed   int // version of the allow-list that the options were last told of
	history  []entry
	pending  map[string]pendingConfirm
	position int64 // how far what other processes did is known
	keeping  keeping
	guesses  int // wrong codes since the last one given out
	// cancelled is the command line of the last turn, where that was cancelled and
	// nothing was asked since.
	cancelled string
}

func newSession(c *conn, id, dir string) *session {
	output := c.agent.o.Output
	if output == "" {
		output = outputAuto
	}
	return &session{
		conn: c, id: id, dir: dir, host: c.agent.host(dir), output: output, created: time.Now().UTC(),
		pending: map[string]pendingConfirm{}, after: c.count,
	}
}

// restored makes the session of a record.
func restored(c *conn, r SessionRecord) *session {
	s := newSession(c, r.ID, r.Cwd)
	s.title, s.created = r.Title, r.Created
	s.refresh()
	if env := r.Options["env"]; env != "" {
		_ = s.setOption("env", env) // no longer declared: none, then
	}
	if output := r.Options["output"]; output != "" {
		_ = s.setOption("output", output)
	}
	return s
}

// name gives the session its title, after its first command. It says whether it
// did.
func (s *session) name(e end) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.title != "" || e.title == "" {
		return false
	}
	s.title = e.title
	return true
}

// refresh looks at the allow-list anew and returns it. An environment that is
// no longer declared is no longer the session's.
func (s *session) refresh() host.AllowList {
	s.mu.Lock()
	h := s.host
	s.mu.Unlock()
	allow := h.AllowList()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.allow = allow
	if s.env != "" && !slices.Contains(choosable(allow), s.env) {
		s.env = ""
	}
	return allow
}

// moveTo makes dir the session's directory, unless a turn runs in the one it
// has. The client is told its commands anew.
func (s *session) moveTo(dir string) {
	h := s.conn.agent.host(dir)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil || s.dir == dir {
		return
	}
	s.dir, s.host = dir, h
	s.shown, s.listed, s.told = 0, 0, ""
}

// open makes t the session's turn, unless one is open.
func (s *session) open(t *turn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		return false
	}
	s.turn = t
	return true
}

// stop asks for the end of the open turn, if there is one.
func (s *session) stop(why host.Stop) {
	s.mu.Lock()
	t := s.turn
	s.mu.Unlock()
	if t != nil {
		t.stop(why)
	}
}

// whenIdle calls f once no turn is open, which may be at once.
func (s *session) whenIdle(f func()) {
	s.mu.Lock()
	t := s.turn
	s.mu.Unlock()
	if t == nil {
		f()
		return
	}
	t.whenOver(f)
}

// notify adds an update of this session to a batch.
func (s *session) notify(b *acp.Batch, u acp.SessionUpdate) {
	b.Notify(acp.MethodSessionUpdate, acp.SessionNotification{SessionID: s.id, Update: u})
}

// commands is the snapshot of slash commands.
func (s *session) commands() acp.AvailableCommandsUpdate {
	s.mu.Lock()
	allow := s.allow
	s.mu.Unlock()
	list := []acp.AvailableCommand{}
	for _, ad := range allow.Registry.Advertised() {
		c := acp.AvailableCommand{Name: ad.Name, Description: ad.Description}
		if ad.Hint != "" {
			c.Input = &acp.CommandInput{Hint: ad.Hint}
		}
		list = append(list, c)
	}
	return acp.AvailableCommandsUpdate{AvailableCommands: fitCommands(list)}
}

// fitCommands shortens a list that is too long for a line: first the hints go,
// which the descriptions begin with, then the descriptions get shorter, and at
// last commands are left out. All of them can be typed all the same.
func fitCommands(list []acp.AvailableCommand) []acp.AvailableCommand {
	const frame = len(`{"name":"","description":""},`)
	for _, runes := range []int{view.TitleRunes, 100, 60, 30} {
		size := 0
		for i := range list {
			if runes < view.TitleRunes {
				list[i].Input = nil
			}
			list[i].Description = brief.Runes(list[i].Description, runes)
			size += frame + view.JSONLen(list[i].Name) + view.JSONLen(list[i].Description)
			if in := list[i].Input; in != nil {
				size += len(`,"input":{"hint":""}`) + view.JSONLen(in.Hint)
			}
			if size > view.PieceBytes && runes == 30 {
				return list[:i]
			}
		}
		if size <= view.PieceBytes {
			break
		}
	}
	return list
}

// choosable are the environments that a session may have for a default. A
// protected one has to stand in the line itself.
func choosable(allow host.AllowList) []string {
	var names []string
	for _, e := range allow.Environments {
		if !e.Protected {
			names = append(names, e.Name)
		}
	}
	return names
}

// configOptions is the complete list of the session's options.
func (s *session) configOptions() []acp.ConfigOption {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listed = s.allow.Version
	var options []acp.ConfigOption
	if names := choosable(s.allow); len(names) > 0 {
		o := acp.ConfigOption{
			ID: "env", Name: "Environment", Type: "select", CurrentValue: noEnvironment,
			Description: "The environment of commands that take one and are not given one. A protected environment has to be typed.",
			Options:     []acp.ConfigOptionValue{{Value: noEnvironment, Name: "none", Description: "Each command names its environment"}},
		}
		if s.env != "" {
			o.CurrentValue = s.env
		}
		size := 0
		for _, name := range names {
			if size += len(`{"value":"","name":""},`) + 2*view.JSONLen(name); size > view.PieceBytes {
				break // all of them can be typed all the same
			}
			o.Options = append(o.Options, acp.ConfigOptionValue{Value: name, Name: name})
		}
		options = append(options, o)
	}
	return append(options, acp.ConfigOption{
		ID: "output", Name: "Output", Type: "select", CurrentValue: s.output,
		Description: "How much of what a command prints is shown. The whole is always in its log.",
		Options: []acp.ConfigOptionValue{
			{Value: outputAuto, Name: "auto", Description: "The beginning and the end of a long output"},
			{Value: outputFull, Name: "full", Description: "Everything"},
			{Value: outputPlain, Name: "plain", Description: "As auto, as plain text without a code block"},
			{Value: outputQuiet, Name: "quiet", Description: "Nothing, unless the command fails"},
		},
	})
}

// client is what is known of the client, and how the session wants output there.
// It is called on the reading goroutine.
func (s *session) client() view.Client {
	c := s.conn.client
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Plain = c.Plain || s.output == outputPlain
	return c
}

// outputConfig is how the session wants output.
func (s *session) outputConfig() shape.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return shape.Config{Full: s.output == outputFull, Quiet: s.output == outputQuiet}
}

// setOption sets one option; the error names what may be set.
func (s *session) setOption(id, value string) error {
	allow := s.refresh()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch id {
	case "env":
		return s.setEnv(allow, value)
	case "output":
		values := []string{outputAuto, outputFull, outputPlain, outputQuiet}
		if !slices.Contains(values, value) {
			return fmt.Errorf("output has no value %q: it takes %s", value, strings.Join(values, ", "))
		}
		s.output = value
		return nil
	}
	return fmt.Errorf("there is no option %q: there are env and output", id)
}

func (s *session) setEnv(allow host.AllowList, value string) error {
	if value == noEnvironment {
		s.env = ""
		return nil
	}
	if slices.ContainsFunc(allow.Environments, func(e command.Environment) bool { return e.Name == value && e.Protected }) {
		return fmt.Errorf("env %q is protected: it is never a default, type it in each command that is meant for it", value)
	}
	names := choosable(allow)
	if !slices.Contains(names, value) {
		return fmt.Errorf("env has no value %q: it takes %s", value, strings.Join(append([]string{noEnvironment}, names...), ", "))
	}
	s.env = value
	return nil
}

// running is the id of the open turn, "" for none.
func (s *session) running() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == nil {
		return ""
	}
	return s.turn.id
}

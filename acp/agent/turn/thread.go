package turn

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"

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

// Thread is what the turns of one session share: a directory, the session's
// options, what ran and what waits for a code. It has at most one open turn.
type Thread struct {
	ID string
	// Wire is held while something is kept and sent, so that a replay and what goes
	// on meanwhile are told one after the other.
	Wire sync.Mutex

	conn *Conn
	log  Log // nil: nothing is kept
	// after is how many turns the connection had before: later ones of this thread
	// are its own.
	after uint64

	mu sync.Mutex
	// dir and host change with no turn open, on the reading goroutine.
	dir     string
	host    host.Host
	turn    *Turn
	env     string // "" for none
	output  string
	title   string
	typed   bool   // the title is a line that was typed: nothing ran yet
	problem string // of the manifest, as the client was last told
	allow   host.AllowList
	shown   int // version of the allow-list that the client was told of by a turn
	listed  int // version of the allow-list that the options were last told of
	history []entry
	pending map[string]pendingConfirm
	offered map[string]string // forms of commands that were shown and not allowed yet: digests by name
	granted map[string]bool   // what a person allowed for the session, by digest
	guesses int               // wrong codes since the last one given out
	// cancelled is the command line of the last turn, where that was cancelled and
	// nothing was asked since.
	cancelled string
}

// NewThread makes the Thread of a session in dir, whose host is h. output is the
// initial value of that option, "" for the default. log is nil where nothing is
// kept; KeepIn may say so later.
func NewThread(c *Conn, id, dir string, h host.Host, output string) *Thread {
	if output == "" {
		output = outputAuto
	}
	return &Thread{ID: id, conn: c, dir: dir, host: h, output: output, pending: map[string]pendingConfirm{}, after: c.count}
}

// KeepIn makes l keep what happens; before the first turn.
func (s *Thread) KeepIn(l Log) { s.log = l }

// Restore gives a thread the title and the options that it had. What is not there
// any more is the default.
func (s *Thread) Restore(title string, typed bool, options map[string]string) {
	s.title, s.typed = title, typed
	s.Refresh()
	for _, id := range []string{"env", "output"} {
		if value := options[id]; value != "" {
			_ = s.SetOption(id, value) // an environment that is declared no more is none
		}
	}
}

// State is the title, whether that is only a line that was typed, the directory and
// the values of all options.
func (s *Thread) State() (title string, typed bool, dir string, options map[string]string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	env := s.env
	if env == "" {
		env = noEnvironment
	}
	return s.title, s.typed, s.dir, map[string]string{"env": env, "output": s.output}
}

// Dir is the directory that the thread works in.
func (s *Thread) Dir() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.dir
}

// name gives the session its title: the first line that was typed, until something
// ran, and from then on what ran first. It says whether there is a new one.
func (s *Thread) name(e outcome, typed string) (title string, is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old := s.title
	switch {
	case e.ran && s.typed:
		s.title, s.typed = e.title, false
	case s.title == "" && e.ran:
		s.title = e.title
	case s.title == "":
		s.title, s.typed = cmp.Or(e.title, typed), true
	}
	return s.title, s.title != old
}

// Refresh looks at the allow-list anew and returns it. An environment that is
// no longer declared is no longer the session's.
func (s *Thread) Refresh() host.AllowList {
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

// MoveTo makes dir, whose host is h, the session's directory, unless a turn runs in the one it
// has. The client is told its commands anew.
func (s *Thread) MoveTo(dir string, h host.Host) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil || s.dir == dir {
		return
	}
	s.dir, s.host = dir, h
	s.shown, s.listed, s.problem = 0, 0, ""
}

// Open makes t the session's turn, unless one is open.
func (s *Thread) Open(t *Turn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn != nil {
		return false
	}
	s.turn = t
	return true
}

// Stop asks for the end of the open turn, if there is one.
func (s *Thread) Stop(why host.Stop) {
	s.mu.Lock()
	t := s.turn
	s.mu.Unlock()
	if t != nil {
		t.stop(why)
	}
}

// WhenIdle calls f once no turn is open, which may be at once.
func (s *Thread) WhenIdle(f func()) {
	s.mu.Lock()
	t := s.turn
	s.mu.Unlock()
	if t == nil {
		f()
		return
	}
	t.whenOver(f)
}

// Notify adds an update of this session to a batch.
func (s *Thread) Notify(b *acp.Batch, u acp.SessionUpdate) {
	b.Notify(acp.MethodSessionUpdate, acp.SessionNotification{SessionID: s.ID, Update: u})
}

// Commands is the snapshot of slash commands.
func (s *Thread) Commands() acp.AvailableCommandsUpdate {
	s.mu.Lock()
	allow := s.allow
	s.mu.Unlock()
	list := []acp.AvailableCommand{}
	for _, ad := range allow.Registry.Advertised(command.ParseOptions{NoPerson: s.conn.noPerson()}) {
		c := acp.AvailableCommand{Name: ad.Name, Description: view.Visible(ad.Description)}
		if signature, summary, ok := strings.Cut(ad.Description, ": "); ok && strings.HasPrefix(signature, ad.Name) {
			c.Description = view.Visible(summary) // the name stands before it, and what it takes in the hint
		}
		if ad.Hint != "" {
			c.Input = &acp.CommandInput{Hint: view.Visible(ad.Hint)}
		}
		list = append(list, c)
	}
	return acp.AvailableCommandsUpdate{AvailableCommands: fitCommands(list)}
}

// fitCommands shortens a list that is too long for a line: first the hints go into the
// descriptions, then these get shorter, and at last commands are left out. All of them can be typed
// all the same.
func fitCommands(list []acp.AvailableCommand) []acp.AvailableCommand {
	const frame = len(`{"name":"","description":""},`)
	for _, runes := range []int{view.TitleRunes, 100, 60, 30} {
		size := 0
		for i := range list {
			if in := list[i].Input; in != nil && runes < view.TitleRunes {
				list[i].Description, list[i].Input = in.Hint+": "+list[i].Description, nil
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

// ConfigOptions is the complete list of the session's options.
func (s *Thread) ConfigOptions() []acp.ConfigOption {
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

// Seen is what is known of the client, and how the session wants output there.
// It is called on the reading goroutine.
func (s *Thread) Seen() view.Client {
	c := s.conn.Client
	s.mu.Lock()
	defer s.mu.Unlock()
	c.Plain = c.Plain || s.output == outputPlain
	return c
}

// outputConfig is how the session wants output.
func (s *Thread) outputConfig() shape.Config {
	s.mu.Lock()
	defer s.mu.Unlock()
	return shape.Config{Full: s.output == outputFull, Quiet: s.output == outputQuiet}
}

// SetOption sets one option; the error names what may be set.
func (s *Thread) SetOption(id, value string) error {
	allow := s.Refresh()
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

func (s *Thread) setEnv(allow host.AllowList, value string) error {
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

// Running is the id of the open turn, "" for none.
func (s *Thread) Running() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == nil {
		return ""
	}
	return s.turn.id
}

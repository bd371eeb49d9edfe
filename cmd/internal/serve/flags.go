package serve

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/pflag"

	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/project"
	"github.com/chant-acp/chant-acp/internal/acpd"
	"github.com/chant-acp/chant-acp/internal/origin"
	"github.com/chant-acp/chant-acp/internal/stateroot"
	"github.com/chant-acp/chant-acp/runtime/allow"
	"github.com/chant-acp/chant-acp/runtime/person"
)

// Flags are the flags of an agent, wherever it runs.
type Flags struct {
	Output, Confirm, Refusal, Gates, Allow string
	ExitIdle                               time.Duration
	LogFile, LogLevel, Profile             string

	Durable, NoStore bool // of serve alone
	// Named says that a person typed the line for the very command, which allows it.
	Named bool

	given func(flag string) bool // whether the command line has it; nil: none
	configured
}

// DefaultFlags are the flags of an agent that was given none.
func DefaultFlags() Flags {
	return Flags{Output: "auto", Confirm: "auto", Refusal: "auto", Gates: "auto", Allow: "ask", LogLevel: "error"}
}

// Register adds the flags of any agent to fs, and gives f their defaults.
func (f *Flags) Register(fs *pflag.FlagSet) {
	*f = DefaultFlags()
	f.given = fs.Changed
	fs.StringVar(&f.Profile, "profile", "", "the profile of the configuration that counts")
	fs.StringVar(&f.Output, "output", f.Output, "how much output is shown: auto, full, plain or quiet")
	fs.StringVar(&f.Confirm, "confirm", f.Confirm, "how commands with 'confirm: ask' are asked for: auto, ask (through the client) or retype (a line to type)")
	fs.StringVar(&f.Refusal, "refusal", f.Refusal, "the stop reason of a refused prompt: auto, refusal or end_turn")
	fs.StringVar(&f.Gates, "gates", f.Gates, "how a gate of an Op asks: auto (ask where the client puts it to a person), reply (lines to type), ask (through the client, while the turn is open) or durable (through the client, which answers with a later prompt)")
	fs.StringVar(&f.Allow, "allow", f.Allow, "whether a person has to allow a project's commands before they run: ask, or always (nobody has to)")
	fs.DurationVar(&f.ExitIdle, "exit-idle", f.ExitIdle, "also leave when, after a cancel, nothing runs and nothing arrives for this long (0: never)")
	fs.StringVar(&f.LogFile, "log-file", f.LogFile, "append the program's own log to this file instead of standard error")
	fs.StringVar(&f.LogLevel, "log-level", f.LogLevel, "how much is logged: debug, info, warn, error or disabled")
}

// Check finds a flag whose value is none of those it takes.
func (f *Flags) Check() error {
	for _, c := range []struct {
		flag, value string
		allowed     []string
	}{
		{"output", f.Output, []string{"auto", "full", "plain", "quiet"}},
		{"confirm", f.Confirm, []string{"auto", "ask", "retype"}},
		{"refusal", f.Refusal, []string{"auto", "refusal", "end_turn"}},
		{"gates", f.Gates, []string{"auto", "reply", "ask", "durable"}},
		{"allow", f.Allow, []string{"ask", "always"}},
		{"log-level", f.LogLevel, []string{"debug", "info", "warn", "error", "disabled"}},
	} {
		if !slices.Contains(c.allowed, c.value) {
			return fmt.Errorf("--%s takes %s, not %q", c.flag, strings.Join(c.allowed, ", "), c.value)
		}
	}
	if f.Durable {
		f.Gates = "durable"
	}
	if f.ExitIdle < 0 {
		return fmt.Errorf("--exit-idle takes a duration such as 30s, not %s", f.ExitIdle)
	}
	return nil
}

// Logger opens the log. The caller closes it.
func (f *Flags) Logger(stderr *os.File) (zerolog.Logger, io.Closer, error) {
	level, err := zerolog.ParseLevel(f.LogLevel)
	if err != nil {
		return zerolog.Logger{}, nil, err
	}
	var to io.WriteCloser = keepOpen{stderr}
	if f.LogFile != "" {
		to, err = os.OpenFile(f.LogFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return zerolog.Logger{}, nil, fmt.Errorf("opening the log file: %w", err)
		}
	}
	return zerolog.New(to).Level(level).With().Timestamp().Logger(), to, nil
}

// OpsCache is the folder of what was evaluated of Ops, below the state root.
func OpsCache() string { return filepath.Join(stateroot.Dir(os.Getenv), "ops") }

// keepOpen keeps a stream that belongs to the process from being closed.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

// Agent makes the agent of this process. store nil: sessions end with it.
func (f *Flags) Agent(log zerolog.Logger, store agent.Store) *agent.Agent {
	return f.AgentIn(os.Environ(), log, store)
}

// AgentIn is Agent whose programs have another environment.
func (f *Flags) AgentIn(env []string, log zerolog.Logger, store agent.Store) *agent.Agent {
	o := agent.Options{
		Version:  acpd.Version,
		Log:      log,
		Store:    store,
		Notice:   f.notice,
		ExitIdle: f.ExitIdle,
		Output:   f.Output,
		Confirm:  f.Confirm,
		Refusal:  f.Refusal,
		Gates:    f.Gates,
		Open:     f.Projects(env),

		AllowNamed: f.Named,
	}
	if f.Allow != "always" {
		o.Allowed = allow.Open(stateroot.Dir(os.Getenv))
	}
	if where := f.settings.Conversations; store != nil && (where.Dir != "" || where.Workspace) {
		c := newConversations(log, where.Dir)
		o.TurnEnded, o.TurnsWanted, o.SessionEnded = c.turnEnded, c.wants, c.sessionEnded
	}
	return agent.New(o)
}

// Projects makes the hosts of directories, whose programs have the environment env.
func (f *Flags) Projects(env []string) func(cwd string) host.Host {
	state := stateroot.Dir(os.Getenv)
	p := project.Options{Env: env, LogDir: filepath.Join(state, "logs"), Runs: filepath.Join(state, "runs"), OpCache: OpsCache(), LogMax: f.settings.Log.Max, Chant: f.settings.Chant.Command, Taken: allow.Open(state)}
	return func(cwd string) host.Host { return project.New(cwd, p) }
}

// Origin says who is behind the turns of an agent of this process. A variable may
// name somebody who decides nothing; that it is a person nobody can say of himself.
func Origin(getenv func(string) string) agent.Origin {
	switch getenv(origin.Variable) {
	case "":
		if person.Decides() != nil {
			return agent.OriginProgram
		}
		return agent.OriginClient
	case origin.Heartbeat:
		return agent.OriginHeartbeat
	}
	return agent.OriginMCP
}

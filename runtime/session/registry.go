package session

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/rs/zerolog"

	"github.com/chant-acp/chant-acp/acp"
)

// Limits.
const (
	// Replay is how many of the last bytes of a session's output a newcomer gets first.
	Replay = 256 << 10
	// StallLimit is how long a watcher may take nothing while there is something to take.
	StallLimit = 5 * time.Second
	// MaxSize is the most columns and rows of a terminal.
	MaxSize = 10000
	// TextLimit is how much of an agent's text is kept for [Turn].
	TextLimit = 1 << 20
)

// Options are what a Registry is made with.
type Options struct {
	// StateFile is where the sessions are written down, to be listed after a restart; empty: nowhere. Its folder must be there.
	StateFile string
	Log       zerolog.Logger
	// Notify is told what happens, one event at a time and in order. It must not block, and may ask (List, Find, Info) but not change.
	Notify func(Event)
	// Env is the environment of children, each entry "NAME=value"; nil: the calling process's.
	Env []string
}

// Registry keeps the sessions.
type Registry struct{ opts Options }

// TerminalSpec describes a terminal to start.
type TerminalSpec struct {
	// Argv is the program, looked for in PATH, and its arguments.
	Argv []string
	// Cwd is the absolute path of the working directory.
	Cwd string
	// Cols and Rows are its size; both 0: 80 by 24.
	Cols, Rows int
	// Name may be empty, and need not be unique.
	Name string
	// Env is added to the registry's.
	Env []string
	MCP bool
}

// ProcessSpec describes a raw process to start: pipes, no terminal.
type ProcessSpec struct {
	Argv []string
	Cwd  string
	Name string
	Env  []string
	MCP  bool
}

// AgentSpec describes an ACP agent to start.
type AgentSpec struct {
	// Adapter is what the agent is listed as.
	Adapter string
	// Command is the program, looked for in PATH, and its arguments.
	Command []string
	Env     []string
	Cwd     string
	Name    string
	MCP     bool
	// Meta is the _meta of session/new.
	Meta acp.Meta
}

// Adopted is a child that somebody else started, and has to see to. It is not under the guard.
type Adopted struct {
	Name string
	Argv []string
	Cwd  string
	PID  int
	MCP  bool
	// Output is read to its end; nil: there is none.
	Output io.Reader
	// Input takes what is written to the session; nil: it takes nothing.
	Input io.Writer
	// Wait returns when it has ended. It is called once.
	Wait func() (code int, signal string)
	// Stop asks for its end, without waiting for it. It may be called more than once.
	Stop func()
}

var errSkeleton = errors.New("not built yet")

// Open makes a registry, and lists the sessions of the last one as ended.
func Open(o Options) (*Registry, error) { return &Registry{opts: o}, nil }

// List returns all sessions, the oldest first.
func (r *Registry) List() []Info { return nil }

// Find returns the session of an id, else of a name. Where several have the name, one that runs is preferred to those that have ended. The error is
// ErrNotFound or an *AmbiguousError.
func (r *Registry) Find(idOrName string) (*Session, error) { return nil, ErrNotFound }

// StartTerminal starts a program on a terminal of its own. ctx bounds only the start.
func (r *Registry) StartTerminal(ctx context.Context, spec TerminalSpec) (*Session, error) {
	return nil, errSkeleton
}

// StartProcess starts a program with pipes. ctx bounds only the start.
func (r *Registry) StartProcess(ctx context.Context, spec ProcessSpec) (*Session, error) {
	return nil, errSkeleton
}

// StartAgent starts an ACP agent and opens a session in it. ctx bounds the start, as does a limit of a minute. The error is an *AgentError where the
// program was found.
func (r *Registry) StartAgent(ctx context.Context, spec AgentSpec) (*Session, error) {
	return nil, errSkeleton
}

// Register lists a child that somebody else started.
func (r *Registry) Register(a Adopted) (*Session, error) { return nil, errSkeleton }

// Forget drops a session that has ended. The error is that of Find, or ErrRunning.
func (r *Registry) Forget(idOrName string) error { return ErrNotFound }

// Shutdown ends all sessions, agents first, and returns within 5 s, or when ctx ends. Nothing can be started any more.
func (r *Registry) Shutdown(ctx context.Context) error { return nil }

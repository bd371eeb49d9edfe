package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/host/process"
)

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
	// Env is added to the registry's. TERM is xterm-256color where it does not say otherwise.
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
	// Person says that a person started it, for whom it speaks.
	Person bool
	// Extra, where set, is the agent's descriptor 3.
	Extra *os.File
}

// Adopted is a child that somebody else started and has to see to. It is not under the guard.
type Adopted struct {
	// Kind is KindProcess where it is empty.
	Kind Kind
	Name string
	Argv []string
	Cwd  string
	PID  int
	MCP  bool
	// Output is read to its end; nil: there is none. Closing it, if it can be closed, has to end a
	// Read.
	Output io.Reader
	// Input takes what is written to the session; nil: nothing does. Its Close has to end a Write.
	Input io.WriteCloser
	// Wait returns when it has ended, with an exit code of 128+n and a name where signal n ended
	// it. It is called once.
	Wait func() (code int, signal string)
	// Stop asks for its end without waiting for it. It may be called more than once.
	Stop func()
}

// StartTerminal starts a program on a terminal of its own. ctx bounds only the start.
func (r *Registry) StartTerminal(ctx context.Context, spec TerminalSpec) (*Session, error) {
	if spec.Cols == 0 && spec.Rows == 0 {
		spec.Cols, spec.Rows = 80, 24
	}
	if err := checkSize(spec.Cols, spec.Rows); err != nil {
		return nil, err
	}
	s, p, err := r.prepare(KindTerminal, spec.Name, spec.Argv, spec.Cwd, append([]string{"TERM=xterm-256color"}, spec.Env...))
	if err != nil {
		return nil, err
	}
	p.TTY, p.Cols, p.Rows = true, uint16(spec.Cols), uint16(spec.Rows)
	s.info.Cols, s.info.Rows, s.info.MCP = spec.Cols, spec.Rows, spec.MCP
	return s.start(ctx, p)
}

// StartProcess starts a program with a pipe for its input and one for its output and errors. ctx
// bounds only the start.
func (r *Registry) StartProcess(ctx context.Context, spec ProcessSpec) (*Session, error) {
	s, p, err := r.prepare(KindProcess, spec.Name, spec.Argv, spec.Cwd, spec.Env)
	if err != nil {
		return nil, err
	}
	s.info.MCP = spec.MCP
	return s.start(ctx, p)
}

// prepare makes a session, and says how to start its program.
func (r *Registry) prepare(kind Kind, name string, argv []string, cwd string, env []string) (*Session, process.Spec, error) {
	if err := checkName(name); err != nil {
		return nil, process.Spec{}, err
	}
	if len(argv) == 0 || argv[0] == "" {
		return nil, process.Spec{}, errors.New("there is no program to start: name one")
	}
	if !filepath.IsAbs(cwd) {
		return nil, process.Spec{}, fmt.Errorf("%s can't be started in %q: the working directory must be an absolute path", argv[0], cwd)
	}
	env = childEnv(r.opts.Env, env)
	path, err := process.LookPath(argv[0], cwd, env)
	if err != nil {
		return nil, process.Spec{}, err
	}
	s := r.newSession(kind, name, argv, cwd)
	return s, process.Spec{Path: path, Argv: argv, Dir: cwd, Env: env, Input: true, Output: s.feed.write}, nil
}

func (r *Registry) newSession(kind Kind, name string, argv []string, cwd string) *Session {
	id := newID(kind)
	return &Session{
		id: id, kind: kind, registry: r, feed: newFeed(kind != KindAgent && kind != KindCall), done: make(chan struct{}),
		info: Info{ID: id, Name: name, Kind: kind, State: StateRunning, Argv: append([]string(nil), argv...), Cwd: cwd, Started: time.Now()},
	}
}

// childEnv adds entries to the environment of children; of several of a name the last one stays,
// because programs do not agree on which counts. The size of the terminal that we may have been
// started on is not theirs.
func childEnv(base, more []string) []string {
	at := make(map[string]int)
	var env []string
	add := func(entry string) {
		name, _, _ := strings.Cut(entry, "=")
		i, known := at[name]
		if !known {
			i = len(env)
			env = append(env, "")
		}
		at[name], env[i] = i, entry
	}
	for _, entry := range base {
		if !strings.HasPrefix(entry, "COLUMNS=") && !strings.HasPrefix(entry, "LINES=") {
			add(entry)
		}
	}
	for _, entry := range more {
		add(entry)
	}
	return env
}

// start starts a program that is typed to.
func (s *Session) start(ctx context.Context, spec process.Spec) (*Session, error) {
	if err := s.registry.begin(); err != nil {
		return nil, err
	}
	p, err := process.Start(ctx, spec)
	if err != nil {
		s.registry.running.Done()
		return nil, err
	}
	if err := s.adopt(p, p.Input()); err != nil {
		return nil, err
	}
	return s, nil
}

// adopt lists the session of a child that runs, whose registry counts it already, and sees to it
// until its end. A session that is starting is not told of yet.
func (s *Session) adopt(c child, in io.WriteCloser) error {
	s.child, s.info.PID = c, c.PID()
	if in != nil {
		s.input = newInput(in)
	}
	r := s.registry
	r.notifying.Lock()
	err := r.enter(s)
	if err == nil && s.info.State == StateRunning {
		r.notify(EventStarted, s.Info(), nil)
	}
	r.notifying.Unlock()
	if err != nil {
		s.feed.runFree()
		c.Stop(process.Leaving)
		c.Wait()
		r.running.Done()
		return err
	}
	go s.supervise() // Shutdown waits for it
	return nil
}

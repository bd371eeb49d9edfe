package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/chant-acp/chant-acp/internal/brief"
	"github.com/chant-acp/chant-acp/runtime/session"
)

// sessionProblem is the problem that an error of the registry is, or nil.
func sessionProblem(err error) *Problem {
	var many *session.AmbiguousError
	var option *session.BadOptionError
	var size *session.BadSizeError
	var name *session.BadNameError
	var agent *session.AgentError
	switch {
	case errors.As(err, &agent): // first: what it wraps is about the agent, not the request
		return badAgent.problem("%v", err)
	case errors.As(err, &many):
		return ambiguous.problem("%v", err).with("ids", many.IDs)
	case errors.Is(err, session.ErrNotFound), errors.Is(err, session.ErrNoSuchRequest):
		return notFound.problem("%v", err)
	case errors.Is(err, session.ErrRunning), errors.Is(err, session.ErrEnded), errors.Is(err, session.ErrWrongKind), errors.Is(err, session.ErrBusy), errors.Is(err, session.ErrStarting):
		return conflict.problem("%v", err)
	case errors.Is(err, session.ErrInputFull), errors.Is(err, session.ErrShutdown):
		return unavailable.problem("%v", err)
	case errors.As(err, &option):
		return invalid.problem("%v", err).with("pointer", "/optionId").with("options", option.Options)
	case errors.As(err, &size):
		return invalid.problem("%v", err).with("pointer", "/cols")
	case errors.As(err, &name):
		return invalid.problem("%v", err).with("pointer", "/name")
	}
	return nil
}

// sessionRoutes show what runs, start terminals, and end what runs.
type sessionRoutes struct {
	access      *access
	registry    *session.Registry
	workspace   string
	life        context.Context // ends when the gateway stops
	noTerminals bool
	cache, bare sessionCache
}

func (s *sessionRoutes) routes() []route {
	return []route{
		{"GET", "/sessions", needNothing, false, s.list},
		{"GET", "/sessions/{id}", needNothing, false, s.get},
		{"POST", "/sessions/terminal", needToken, false, s.startTerminal},
		{"POST", "/sessions/{id}/kill", needToken, true, s.kill},
		{"DELETE", "/sessions/{id}", needToken, false, s.delete},
	}
}

// find finds the session that a path names by its id or name.
func find(registry *session.Registry, r *http.Request) (*session.Session, error) {
	return registry.Find(r.PathValue("id"))
}

// folder returns the folder of a session: an absolute path of one that is there,
// or the workspace where none is named.
func folder(workspace, cwd string) (string, error) {
	if cwd == "" {
		return workspace, nil
	}
	if !filepath.IsAbs(cwd) {
		return "", fieldProblem("cwd", "must be an absolute path, not %q", brief.Bytes(cwd, 200))
	}
	if st, err := os.Stat(cwd); err != nil || !st.IsDir() {
		return "", fieldProblem("cwd", "is not a folder: %q", brief.Bytes(cwd, 200))
	}
	return filepath.Clean(cwd), nil
}

// sessionCache is an answer of GET /sessions, for as long as nothing changes.
type sessionCache struct {
	mu   sync.Mutex
	of   uint64 // the registry's version
	body []byte // nil: none yet
}

func (c *sessionCache) answer(r *session.Registry, show func(session.Info) any) ([]byte, error) {
	version := r.Version() // before the list, so that a change meanwhile is another version
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.body != nil && c.of == version {
		return c.body, nil
	}
	list := []any{}
	for _, info := range r.List() {
		list = append(list, show(info))
	}
	body, err := json.Marshal(map[string]any{"sessions": list})
	if err != nil {
		return nil, fmt.Errorf("listing the sessions: %w", err)
	}
	c.of, c.body = version, append(body, '\n')
	return c.body, nil
}

// bareSession is what everybody on this machine may know of a session.
type bareSession struct {
	ID    string        `json:"id"`
	Kind  session.Kind  `json:"kind"`
	State session.State `json:"state"`
}

func bareOf(i session.Info) any { return bareSession{i.ID, i.Kind, i.State} }

func wholeOf(i session.Info) any { return i }

// view chooses what a request may see of sessions. Without the token no page may
// read it either, trusted or not: command lines, folders and names are whose they
// are.
func (s *sessionRoutes) view(w http.ResponseWriter, r *http.Request) (*sessionCache, func(session.Info) any) {
	if s.access.hasToken(r) {
		return &s.cache, wholeOf
	}
	w.Header().Del("Access-Control-Allow-Origin")
	return &s.bare, bareOf
}

// list serves GET /sessions.
func (s *sessionRoutes) list(w http.ResponseWriter, r *http.Request) error {
	cache, show := s.view(w, r)
	body, err := cache.answer(s.registry, show)
	if err != nil {
		return err
	}
	writeBody(w, http.StatusOK, "application/json", body)
	return nil
}

// get serves GET /sessions/{id}.
func (s *sessionRoutes) get(w http.ResponseWriter, r *http.Request) error {
	found, err := find(s.registry, r)
	if err != nil {
		return err
	}
	_, show := s.view(w, r)
	return writeJSON(w, http.StatusOK, show(found.Info()))
}

// startTerminal serves POST /sessions/terminal.
func (s *sessionRoutes) startTerminal(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Argv []string          `json:"argv"`
		Cwd  string            `json:"cwd"`
		Cols int               `json:"cols"`
		Rows int               `json:"rows"`
		Name string            `json:"name"`
		Env  map[string]string `json:"env"`
		MCP  bool              `json:"mcp"`
	}
	if err := readBody(w, r, &body); err != nil {
		return err
	}
	if s.noTerminals {
		return notHere.problem("terminals are switched off: features.pty is false in the configuration")
	}
	if len(body.Argv) == 0 || body.Argv[0] == "" {
		return fieldProblem("argv", "must name a program and its arguments")
	}
	cwd, err := folder(s.workspace, body.Cwd)
	if err != nil {
		return err
	}
	env, err := environment(body.Env)
	if err != nil {
		return err
	}
	started, err := s.registry.StartTerminal(r.Context(), session.TerminalSpec{
		Argv: body.Argv, Cwd: cwd, Cols: body.Cols, Rows: body.Rows, Name: body.Name, Env: env, MCP: body.MCP,
	})
	if err != nil {
		return startProblem(err)
	}
	return created(w, started)
}

// created answers with a new session.
func created(w http.ResponseWriter, s *session.Session) error {
	info := s.Info()
	w.Header().Set("Location", "/sessions/"+info.ID)
	return writeJSON(w, http.StatusCreated, info)
}

// startProblem is why a session could not be started. What the registry has no
// word for is about the program: not there, not executable.
func startProblem(err error) error {
	if p := sessionProblem(err); p != nil {
		return p
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return unavailable.problem("the start was given up: %v", err)
	}
	return invalid.problem("%v", err)
}

// killTime is how long the answer to a kill waits for the end.
const killTime = 20 * time.Second

// kill serves POST /sessions/{id}/kill.
func (s *sessionRoutes) kill(w http.ResponseWriter, r *http.Request) error {
	if err := readBody(w, r, &struct{}{}); err != nil {
		return err
	}
	found, err := find(s.registry, r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), killTime)
	defer cancel()
	status := http.StatusOK
	if err := found.Kill(ctx); err != nil && ctx.Err() != nil && s.life.Err() == nil {
		status = http.StatusAccepted // the session was told to end, and has not yet
	} else if err != nil {
		return err
	}
	answerSoon(w)
	return writeJSON(w, status, found.Info())
}

// delete serves DELETE /sessions/{id}.
func (s *sessionRoutes) delete(w http.ResponseWriter, r *http.Request) error {
	if err := s.registry.Forget(r.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"

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

// sessionEvent tells the readers of /events what the registry says.
func (g *Gateway) sessionEvent(e session.Event) {
	data := map[string]any{"session": e.Session}
	if e.Data != nil {
		data["data"] = e.Data
	}
	g.Publish(e.Type, data)
}

// find finds the session that a path names by its id or name.
func (g *Gateway) find(r *http.Request) (*session.Session, error) {
	return g.sessions.Find(r.PathValue("id"))
}

// sessionCache is the answer of GET /sessions, for as long as nothing changes.
type sessionCache struct {
	mu   sync.Mutex
	of   uint64 // the registry's version
	body []byte // nil: none yet
}

func (c *sessionCache) answer(r *session.Registry) ([]byte, error) {
	version := r.Version() // before the list, so that a change meanwhile is another version
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.body != nil && c.of == version {
		return c.body, nil
	}
	list := r.List()
	if list == nil {
		list = []session.Info{}
	}
	body, err := json.Marshal(map[string]any{"sessions": list})
	if err != nil {
		return nil, fmt.Errorf("listing the sessions: %w", err)
	}
	c.of, c.body = version, append(body, '\n')
	return c.body, nil
}

// listSessions serves GET /sessions.
func (g *Gateway) listSessions(w http.ResponseWriter, _ *http.Request) error {
	body, err := g.listCache.answer(g.sessions)
	if err != nil {
		return err
	}
	writeBody(w, http.StatusOK, "application/json", body)
	return nil
}

// getSession serves GET /sessions/{id}.
func (g *Gateway) getSession(w http.ResponseWriter, r *http.Request) error {
	s, err := g.find(r)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, s.Info())
}

// startTerminal serves POST /sessions/terminal.
func (g *Gateway) startTerminal(w http.ResponseWriter, r *http.Request) error {
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
	if len(body.Argv) == 0 || body.Argv[0] == "" {
		return fieldProblem("argv", "must name a program and its arguments")
	}
	cwd, err := g.folder(body.Cwd)
	if err != nil {
		return err
	}
	env, err := environment(body.Env)
	if err != nil {
		return err
	}
	s, err := g.sessions.StartTerminal(r.Context(), session.TerminalSpec{
		Argv: body.Argv, Cwd: cwd, Cols: body.Cols, Rows: body.Rows, Name: body.Name, Env: env, MCP: body.MCP,
	})
	if err != nil {
		return startProblem(err)
	}
	return created(w, s)
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

// killSession serves POST /sessions/{id}/kill.
func (g *Gateway) killSession(w http.ResponseWriter, r *http.Request) error {
	if err := readBody(w, r, &struct{}{}); err != nil {
		return err
	}
	s, err := g.find(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(r.Context(), killTime)
	defer cancel()
	status := http.StatusOK
	if err := s.Kill(ctx); err != nil && ctx.Err() != nil && g.life.Err() == nil {
		status = http.StatusAccepted // it was told, and has not ended yet
	} else if err != nil {
		return err
	}
	g.soon(w)
	return writeJSON(w, status, s.Info())
}

// deleteSession serves DELETE /sessions/{id}.
func (g *Gateway) deleteSession(w http.ResponseWriter, r *http.Request) error {
	if err := g.sessions.Forget(r.PathValue("id")); err != nil {
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// soon bounds the write of an answer that took its time.
func (g *Gateway) soon(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(answerTime))
}

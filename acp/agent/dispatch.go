package agent

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"syscall"

	"github.com/google/uuid"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent/turn"
	"github.com/chant-acp/chant-acp/acp/agent/view"
	"github.com/chant-acp/chant-acp/host"
)

// HandleRequest answers at once, or registers a turn before the next message is
// read.
func (c *conn) HandleRequest(r *acp.Request) {
	c.idle.received(false, r.Method == acp.MethodSessionPrompt)
	if !c.initialized && r.Method != acp.MethodInitialize {
		r.Fail(acp.Errorf(acp.CodeInvalidRequest, "%s came before initialize: initialize the connection first", r.Method))
		return
	}
	if err := c.dispatch(r); err != nil {
		r.Fail(err)
	}
}

func (c *conn) dispatch(r *acp.Request) error {
	switch r.Method {
	case acp.MethodInitialize:
		return c.initialize(r)
	case acp.MethodSessionNew:
		return c.newSession(r)
	case acp.MethodSessionClose:
		return c.closeSession(r)
	case acp.MethodSessionLoad, acp.MethodSessionResume, acp.MethodSessionList, acp.MethodSessionDelete:
		if c.agent.o.Store != nil {
			return c.handleStored(r)
		}
	case acp.MethodSessionSetConfigOption:
		return c.setConfigOption(r)
	case acp.MethodSessionPrompt:
		return c.prompt(r)
	}
	return acp.Errorf(acp.CodeMethodNotFound, "%s is not a method of this agent; initialize tells what is", r.Method)
}

// HandleNotification knows session/cancel; everything else is silence.
func (c *conn) HandleNotification(method string, params json.RawMessage) {
	cancel := method == acp.MethodSessionCancel && c.initialized
	c.idle.received(cancel, false)
	if !cancel {
		return
	}
	var r acp.SessionRequest
	if r.UnmarshalJSON(params) != nil {
		return
	}
	if s, err := c.session(r.SessionID); err == nil {
		s.Stop(host.StopCancelled)
	}
}

// initialize learns who the client is, and what it shows.
func (c *conn) initialize(r *acp.Request) error {
	var req acp.InitializeRequest
	if err := r.Decode(&req); err != nil {
		return err
	}
	files := req.ClientCapabilities.FS
	c.Client = view.Nameless(files.ReadTextFile || files.WriteTextFile)
	if req.ClientInfo != nil && req.ClientInfo.Name != "" {
		c.Client = view.Known(req.ClientInfo.Name)
	}
	c.Client.Terminal, _ = req.ClientCapabilities.Meta["terminal_output"].(bool)
	c.initialized = true
	r.Reply(acp.InitializeResponse{
		ProtocolVersion:   acp.ProtocolVersion,
		AgentCapabilities: c.agent.capabilities(),
		AuthMethods:       []acp.AuthMethod{},
		AgentInfo:         &acp.Implementation{Name: "chant-acp", Title: "chant", Version: c.agent.o.Version},
	})
	return nil
}

// newSession answers session/new: the session, its options, and then its commands.
func (c *conn) newSession(r *acp.Request) error {
	var req acp.NewSessionRequest
	if err := r.Decode(&req); err != nil {
		return err
	}
	if err := checkDir(req.Cwd); err != nil {
		return acp.Errorf(acp.CodeInvalidParams, "cwd %w", err).With("cwd", req.Cwd)
	}
	id, err := uuid.NewV7()
	if err != nil {
		return fmt.Errorf("making a session id: %w", err)
	}
	s := newSession(c, "sess_"+id.String(), filepath.Clean(req.Cwd))
	if s.kept != nil {
		s.kept.create()
	}
	c.mu.Lock()
	c.sessions[s.ID] = s
	c.mu.Unlock()
	s.Refresh()
	b := c.Batch()
	b.Reply(r, acp.NewSessionResponse{SessionID: s.ID, ConfigOptions: s.ConfigOptions()})
	s.Notify(b, s.Commands())
	b.Send()
	return nil
}

// checkDir says what is wrong with a session's directory; nil when it exists
// and can be entered.
func checkDir(dir string) error {
	if !filepath.IsAbs(dir) {
		return fmt.Errorf("is %q: it must be an absolute path", dir)
	}
	st, err := os.Stat(dir)
	switch {
	case os.IsNotExist(err):
		return fmt.Errorf("%s does not exist", dir)
	case err != nil:
		return fmt.Errorf("%s can't be used: %w", dir, err)
	case !st.IsDir():
		return fmt.Errorf("%s is not a directory", dir)
	}
	if err := syscall.Access(dir, 1 /* X_OK */); err != nil {
		return fmt.Errorf("%s can't be entered: %w", dir, err)
	}
	return nil
}

func (c *conn) session(id string) (*session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.sessions[id]
	if s == nil {
		return nil, acp.Errorf(acp.CodeResourceNotFound, "session %q is not known here: start one with session/new", id).With("sessionId", id)
	}
	return s, nil
}

// closeSession ends the session's turn, and answers when it has ended.
func (c *conn) closeSession(r *acp.Request) error {
	var req acp.SessionRequest
	if err := r.Decode(&req); err != nil {
		return err
	}
	s, err := c.session(req.SessionID)
	if err != nil {
		return err
	}
	c.mu.Lock()
	delete(c.sessions, s.ID)
	c.mu.Unlock()
	s.Stop(host.StopCancelled)
	if s.kept == nil {
		s.WhenIdle(func() { r.Reply(struct{}{}) })
		return nil
	}
	s.WhenIdle(func() {
		c.background(func() {
			s.kept.closed()
			r.Reply(struct{}{})
		})
	})
	return nil
}

func (c *conn) setConfigOption(r *acp.Request) error {
	var req acp.SetConfigOptionRequest
	if err := r.Decode(&req); err != nil {
		return err
	}
	s, err := c.session(req.SessionID)
	if err != nil {
		return err
	}
	if err := s.SetOption(req.ConfigID, req.Value); err != nil {
		return acp.Errorf(acp.CodeInvalidParams, "%w", err)
	}
	if s.kept != nil {
		s.kept.Named()
	}
	r.Reply(acp.SetConfigOptionResponse{ConfigOptions: s.ConfigOptions()})
	return nil
}

// prompt registers the turn before anything else is read, so that a cancel in
// the same packet finds it.
func (c *conn) prompt(r *acp.Request) error {
	var req acp.PromptRequest
	if err := r.Decode(&req); err != nil {
		return err
	}
	s, err := c.session(req.SessionID)
	if err != nil {
		return err
	}
	s.follow()
	t := turn.New(s.Thread, r, req, s.loaded)
	if !s.Open(t) {
		return acp.Errorf(acp.CodeInvalidRequest, "a command is still running in this session: wait for it to end, or cancel it").With("sessionId", s.ID)
	}
	if t.Begin() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leaving {
		t.Finish()
		return nil
	}
	c.idle.turn(1)
	c.open[t] = true
	c.turns.Go(func() { defer c.forget(t); t.Run() }) // waited for by leave; ended by the turn itself or by stop
	// The reader may be about to wait in the kernel together with this
	// processor: the turn gets it first.
	defer runtime.Gosched()
	return nil
}

// background does what must not hold up the reader; leave waits for it.
func (c *conn) background(f func()) {
	c.mu.Lock()
	leaving := c.leaving
	if !leaving {
		c.turns.Go(f)
	}
	c.mu.Unlock()
	if leaving {
		f()
	}
}

// forget is the end of a turn's goroutine.
func (c *conn) forget(t *turn.Turn) {
	c.mu.Lock()
	delete(c.open, t)
	c.mu.Unlock()
	c.idle.turn(-1)
}

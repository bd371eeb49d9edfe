package agent_test

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"testing"
)

// rules hold each line of the agent, in order, to what is true of every turn:
// see "A turn" in the specification of the agent.
type rules struct {
	t        *testing.T
	sessions map[string]*seenThread
	calls    map[string]*call

	mu      sync.Mutex
	prompts map[string]string // session by the id of a prompt that was sent
	loads   map[string]string // session by the id of a load or resume
}

// seenThread is what a client knows of a session.
type seenThread struct {
	open   int             // tool calls without an end
	text   strings.Builder // of the turn
	titles int
}

type call struct {
	status   string
	terminal string // "", "open", "over"
}

func newRules(t *testing.T) *rules {
	return &rules{t: t, sessions: map[string]*seenThread{}, calls: map[string]*call{}, prompts: map[string]string{}, loads: map[string]string{}}
}

// sent notes a prompt before it is written.
func (r *rules) sent(id, session string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.prompts[id] = session
}

// opening notes a load or resume before it is written.
func (r *rules) opening(id, session string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.loads[id] = session
}

// loading says whether a load of the session has no answer yet.
func (r *rules) loading(session string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.loads {
		if s == session {
			return true
		}
	}
	return false
}

// opened takes the load of an answer.
func (r *rules) opened(id string) (session string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	session = r.loads[id]
	delete(r.loads, id)
	return session
}

// open says whether a prompt of the session has no answer yet.
func (r *rules) open(session string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, s := range r.prompts {
		if s == session {
			return true
		}
	}
	return false
}

// closed takes the prompt of an answer.
func (r *rules) closed(id string) (session string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	session = r.prompts[id]
	delete(r.prompts, id)
	return session
}

func (r *rules) check(m message) {
	if len(m.raw) > maxLine {
		r.t.Errorf("a line of %d bytes: %.300s…", len(m.raw), m.raw)
	}
	switch {
	case m.Method == "session/update":
		r.update(m)
	case m.Method == "session/request_permission":
		if c := r.calls[m.Params.ToolCall.ToolCallID]; c == nil {
			r.t.Errorf("permission for a tool call that was not announced: %s", m.raw)
		}
	case m.Method == "":
		r.answer(m)
	}
}

func (r *rules) answer(m message) {
	var result struct {
		SessionID  string `json:"sessionId"`
		StopReason string `json:"stopReason"`
	}
	_ = json.Unmarshal(m.Result, &result)
	if result.SessionID != "" {
		r.sessions[result.SessionID] = &seenThread{}
	}
	if session := r.opened(string(m.ID)); session != "" && m.Error == nil {
		s := r.known(session)
		if !r.open(session) && s.open > 0 {
			r.t.Errorf("a replay ended with %d open tool calls: %s", s.open, m.raw)
		}
		if !r.open(session) && fenceOpen(s.text.String()) {
			r.t.Errorf("a replay ended inside a code block: %q", s.text.String())
		}
		if !r.open(session) {
			s.text.Reset()
		}
	}
	session := r.closed(string(m.ID))
	if result.StopReason == "" {
		return
	}
	if s := r.sessions[session]; s != nil {
		if s.open > 0 {
			r.t.Errorf("a turn ended with %d open tool calls: %s", s.open, m.raw)
		}
		if fenceOpen(s.text.String()) {
			r.t.Errorf("a turn ended inside a code block: %q", s.text.String())
		}
		s.text.Reset()
	}
	var o outcome
	_ = json.Unmarshal(m.Result, &o)
	if !slices.Contains([]string{"completed", "failed", "refused", "cancelled", "waiting", "interrupted"}, o.Meta.Chant.Outcome) {
		r.t.Errorf("outcome %q", o.Meta.Chant.Outcome)
	}
	if !slices.Contains([]string{"end_turn", "refusal", "cancelled", "waiting"}, o.StopReason) {
		r.t.Errorf("stop reason %q", o.StopReason)
	}
}

func (r *rules) update(m message) {
	u := m.Params.Update
	s, loading := r.sessions[m.Params.SessionID], r.loading(m.Params.SessionID)
	if loading {
		s = r.known(m.Params.SessionID)
	}
	if s == nil {
		r.t.Errorf("an update before the answer to session/new: %s", m.raw)
		return
	}
	if !strings.HasPrefix(u.Kind, "available_") && !strings.HasPrefix(u.Kind, "config_") && !loading && !r.open(m.Params.SessionID) {
		r.t.Errorf("an update outside of a turn: %s", m.raw)
	}
	switch u.Kind {
	case "tool_call":
		before := r.calls[u.ToolCallID]
		if before != nil && !loading {
			r.t.Errorf("the tool call %s was announced twice", u.ToolCallID)
		}
		r.calls[u.ToolCallID] = &call{status: u.Status}
		r.terminal(u, true)
		if before == nil || final(before.status) {
			s.open++ // a replay announces an open call anew
		}
	case "tool_call_update":
		c := r.calls[u.ToolCallID]
		if c == nil {
			r.t.Errorf("an update of a tool call that was not announced: %s", m.raw)
			return
		}
		if u.Status == "" {
			r.t.Errorf("an update without a status: %s", m.raw)
		}
		if final(c.status) {
			r.t.Errorf("an update of a tool call that had ended: %s", m.raw)
		}
		if c.status = u.Status; final(u.Status) {
			s.open--
		}
		r.terminal(u, false)
	case "user_message_chunk":
		if !loading {
			r.t.Errorf("a prompt told outside of a replay: %s", m.raw)
		}
		s.text.Reset()
	case "agent_message_chunk":
		s.text.WriteString(u.text())
	case "session_info_update":
		if s.titles++; s.titles > 2 {
			r.t.Errorf("a third title: %s", m.raw)
		}
	}
}

// known is the session, also of one that another agent made.
func (r *rules) known(session string) *seenThread {
	if r.sessions[session] == nil {
		r.sessions[session] = &seenThread{}
	}
	return r.sessions[session]
}

// terminal holds _meta.terminal_* to its order: a client knows a terminal from
// the tool_call that announced it, and takes an update that refers to another
// for an error.
func (r *rules) terminal(u update, announced bool) {
	c := r.calls[u.ToolCallID]
	if u.Meta.Info != nil && announced {
		c.terminal = "open"
	}
	refers := u.Meta.Output != nil || u.Meta.Exit != nil || strings.Contains(string(u.Content), `"type":"terminal"`)
	if refers && c.terminal != "open" {
		r.t.Errorf("an update refers to a terminal that is not there (%q): %+v", c.terminal, u)
	}
	if u.Meta.Exit != nil {
		c.terminal = "over"
	}
}

func final(status string) bool { return status == "completed" || status == "failed" }

// fenceOpen says whether text ends inside a code block (CommonMark, 4.5).
func fenceOpen(text string) bool {
	open := 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, " \n")
		n := len(line) - len(strings.TrimLeft(line, "`"))
		switch {
		case open == 0 && n >= 3 && !strings.Contains(line[n:], "`"):
			open = n
		case open > 0 && n >= open && n == len(line):
			open = 0
		}
	}
	return open > 0
}

// long holds a line that check has not seen to its limit.
func (r *rules) long(m message) {
	if len(m.raw) > maxLine {
		r.t.Errorf("a line of %d bytes: %.300s…", len(m.raw), m.raw)
	}
}

package acptest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// keptPartial bounds what is remembered of a line that is not finished: past
// it, the line is one that no agent reads.
const keptPartial = 64 << 20

// ledger follows both directions and knows what may come next.
type ledger struct {
	// status requires a status in every tool_call_update.
	status bool

	partial  []byte
	asked    map[string][]ask // by raw id, oldest first
	sessions map[string]*session
}

// ask is a request of ours that is not answered.
type ask struct {
	method, session string
}

// session is what is known of one session.
type session struct {
	turns, loads int // open prompts, and loads or resumes under way
	turn         int // counts openings, to tell turns apart
	calls        map[string]*toolCall
}

// toolCall is what is known of one tool call.
type toolCall struct {
	turn      int
	announced bool // by more than a permission request
	status    string
}

func newLedger() ledger {
	return ledger{asked: map[string][]ask{}, sessions: map[string]*session{}}
}

// sent takes what goes to the agent, in whatever pieces.
func (l *ledger) sent(raw []byte) {
	for {
		part, rest, whole := bytes.Cut(raw, []byte("\n"))
		if len(l.partial) < keptPartial {
			l.partial = append(l.partial, part...)
		}
		if !whole {
			return
		}
		l.sentLine(l.partial)
		l.partial, raw = nil, rest
	}
}

// sentEnd takes the end of the agent's input, which also ends a line.
func (l *ledger) sentEnd() {
	l.sentLine(l.partial)
	l.partial = nil
}

// sentLine notes a request that goes to the agent, and the turn or load that it opens.
func (l *ledger) sentLine(line []byte) {
	line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	var members map[string]json.RawMessage
	if json.Unmarshal(line, &members) != nil {
		return
	}
	id, method := members["id"], unquote(members["method"])
	if id == nil || members["method"] == nil && (members["result"] != nil || members["error"] != nil) {
		return // neither a request nor something that wants an error
	}
	a := ask{method: method}
	var params map[string]json.RawMessage
	if json.Unmarshal(members["params"], &params) == nil {
		a.session = unquote(params["sessionId"])
	}
	l.asked[string(id)] = append(l.asked[string(id)], a)
	switch s := l.sessions[a.session]; {
	case method == methodLoad || method == methodResume:
		if s == nil {
			s = &session{calls: map[string]*toolCall{}}
			l.sessions[a.session] = s
		}
		s.loads++
	case method == methodPrompt && s != nil:
		s.turns++
		if s.turns == 1 {
			s.turn++
		}
	}
}

// received takes a message of the agent. It returns the method that a response
// answers.
func (l *ledger) received(m Message) (string, error) {
	switch {
	case m.IsResponse():
		return l.answered(m)
	case m.Method == methodUpdate:
		return "", l.updated(m.Params)
	case m.Method == methodPermission && m.ID != nil:
		return "", l.permission(m.Params)
	case strings.HasPrefix(m.Method, "_"), strings.HasPrefix(m.Method, "$/") && m.ID == nil:
		return "", nil
	}
	return "", fmt.Errorf("the agent uses %s, which this client did not offer in initialize", m.Method)
}

func (l *ledger) answered(m Message) (string, error) {
	open := l.asked[string(m.ID)]
	if len(open) == 0 {
		if string(m.ID) == "null" && m.Error != nil {
			return "", nil
		}
		return "", fmt.Errorf("a response to id %s, which is not open: it was answered before, or never asked", m.ID)
	}
	// Where one id is open twice, a refusal of the second does not end the first.
	at := 0
	if m.Error != nil {
		at = len(open) - 1
	}
	a := open[at]
	l.asked[string(m.ID)] = slices.Delete(open, at, at+1)
	return a.method, l.close(a, m)
}

// close notes the answer to a request: what was open ends, and with the last prompt the
// turn, whose calls must all have ended.
func (l *ledger) close(a ask, m Message) error {
	s := l.sessions[a.session]
	switch a.method {
	case methodNew:
		return l.opened(m)
	case methodLoad, methodResume:
		s.loads--
		if m.Error != nil && s.loads == 0 && s.turn == 0 && len(s.calls) == 0 {
			delete(l.sessions, a.session)
		}
	case methodPrompt:
		if s == nil {
			return nil
		}
		if s.turns--; s.turns == 0 {
			return s.ended()
		}
	}
	return nil
}

func (l *ledger) opened(m Message) error {
	if m.Error != nil {
		return nil
	}
	var r struct {
		SessionID string `json:"sessionId"`
	}
	if err := json.Unmarshal(m.Result, &r); err != nil {
		return fmt.Errorf("result of session/new: %w", err)
	}
	if l.sessions[r.SessionID] != nil {
		return fmt.Errorf("session/new answered the id %q, which is another session's", r.SessionID)
	}
	l.sessions[r.SessionID] = &session{calls: map[string]*toolCall{}}
	return nil
}

// ended says which tool calls a turn left open.
func (s *session) ended() error {
	for id, c := range s.calls {
		if c.announced && c.turn == s.turn && c.status != "completed" && c.status != "failed" {
			return fmt.Errorf("the turn has ended and its tool call %q is still %s: clients show it running for ever", id, c.status)
		}
	}
	return nil
}

// updated holds a session/update to the rules of order: in a known session, within a
// turn or load, and its tool calls announced before they change.
func (l *ledger) updated(params json.RawMessage) error {
	var n struct {
		SessionID string `json:"sessionId"`
		Update    struct {
			SessionUpdate string `json:"sessionUpdate"`
			ToolCallID    string `json:"toolCallId"`
			Status        string `json:"status"`
		} `json:"update"`
	}
	if err := json.Unmarshal(params, &n); err != nil {
		return fmt.Errorf("session/update: %w", err)
	}
	kind := n.Update.SessionUpdate
	s := l.sessions[n.SessionID]
	if s == nil {
		return fmt.Errorf("%s for session %q, which the client does not know: the response that opens a session comes before its first update", kind, n.SessionID)
	}
	if isSessionState(kind) || s.loads > 0 {
		return nil
	}
	if s.turns == 0 {
		return fmt.Errorf("%s outside a turn: updates of a turn precede its response", kind)
	}
	switch kind {
	case "tool_call":
		return s.announced(n.Update.ToolCallID, n.Update.Status)
	case "tool_call_update":
		if n.Update.Status == "" && l.status {
			return fmt.Errorf("tool_call_update of %q without a status: some clients take it for completed", n.Update.ToolCallID)
		}
		return s.progressed(n.Update.ToolCallID, n.Update.Status)
	}
	return nil
}

// isSessionState says whether an update is about the session and not part of a
// turn, so that it may come at any time.
func isSessionState(kind string) bool {
	switch kind {
	case "available_commands_update", "current_mode_update", "config_option_update", "session_info_update", "usage_update", "notice":
		return true
	}
	return false
}

func (s *session) announced(id, status string) error {
	if status == "" {
		status = "pending" // the schema's default
	}
	c := s.calls[id]
	if c == nil {
		s.calls[id] = &toolCall{turn: s.turn, announced: true, status: status}
		return nil
	}
	if c.turn != s.turn {
		return fmt.Errorf("tool call id %q was used in an earlier turn: clients would change that one's card", id)
	}
	c.announced = true
	return c.moveTo(id, status)
}

func (s *session) progressed(id, status string) error {
	c := s.calls[id]
	if c == nil {
		return fmt.Errorf("tool_call_update of %q, which was not announced by a tool_call", id)
	}
	if c.turn != s.turn {
		return fmt.Errorf("tool_call_update of %q, a call of an earlier turn", id)
	}
	c.announced = true
	if status == "" {
		return nil
	}
	return c.moveTo(id, status)
}

func (c *toolCall) moveTo(id, status string) error {
	final := c.status == "completed" || c.status == "failed"
	if final && c.status != status {
		return fmt.Errorf("tool call %q was %s and is now %s", id, c.status, status)
	}
	c.status = status
	return nil
}

func (l *ledger) permission(params json.RawMessage) error {
	var r struct {
		SessionID string `json:"sessionId"`
		ToolCall  struct {
			ToolCallID string `json:"toolCallId"`
		} `json:"toolCall"`
	}
	if err := json.Unmarshal(params, &r); err != nil {
		return fmt.Errorf("session/request_permission: %w", err)
	}
	s := l.sessions[r.SessionID]
	if s == nil || s.turns == 0 {
		return fmt.Errorf("permission is asked for in session %q, which has no open turn", r.SessionID)
	}
	if s.calls[r.ToolCall.ToolCallID] == nil {
		s.calls[r.ToolCall.ToolCallID] = &toolCall{turn: s.turn, status: "pending"}
	}
	return nil
}

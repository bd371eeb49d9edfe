package acp

import (
	"encoding/json"
	"strconv"
)

// McpServer is a server the client would like an agent to use (schema type
// McpServer). Only its shape is checked here.
type McpServer struct {
	Type    string            `json:"type,omitempty"` // "" for stdio, else http or sse
	Name    string            `json:"name"`
	Command string            `json:"command"`
	Args    []string          `json:"args,omitempty"`
	URL     string            `json:"url"`
	Env     []json.RawMessage `json:"env,omitempty"`
	Headers []json.RawMessage `json:"headers,omitempty"`
}

func checkMcpServers(o *object, key string, required bool) []McpServer {
	servers := []McpServer{}
	for i, raw := range o.list(key, required) {
		s := readObject(raw, o.at(key)+"["+strconv.Itoa(i)+"]")
		m := McpServer{Type: s.optString("type"), Name: s.string("name")}
		switch m.Type {
		case "http", "sse":
			m.URL, m.Headers = s.string("url"), s.list("headers", false)
		default:
			m.Command, m.Args, m.Env = s.string("command"), s.strings("args", false), s.list("env", false)
		}
		if o.err == nil {
			o.err = s.err
		}
		servers = append(servers, m)
	}
	return servers
}

// NewSessionRequest starts a session (schema type NewSessionRequest).
type NewSessionRequest struct {
	Cwd        string      `json:"cwd"`
	McpServers []McpServer `json:"mcpServers"`
	Meta       Meta        `json:"_meta,omitempty"`
}

// UnmarshalJSON requires cwd and mcpServers; null counts as no servers.
func (r *NewSessionRequest) UnmarshalJSON(raw []byte) error {
	o := readObject(raw, "params")
	*r = NewSessionRequest{Cwd: o.string("cwd"), McpServers: checkMcpServers(o, "mcpServers", true), Meta: o.meta()}
	o.strings("additionalDirectories", false)
	return o.done()
}

// NewSessionResponse answers it (schema type NewSessionResponse).
type NewSessionResponse struct {
	SessionID     string         `json:"sessionId"`
	ConfigOptions []ConfigOption `json:"configOptions,omitempty"`
	Meta          Meta           `json:"_meta,omitempty"`
}

// LoadSessionRequest opens a stored session, with or without its past (schema
// types LoadSessionRequest and ResumeSessionRequest).
type LoadSessionRequest struct {
	SessionID  string      `json:"sessionId"`
	Cwd        string      `json:"cwd"`
	McpServers []McpServer `json:"mcpServers"`
	Meta       Meta        `json:"_meta,omitempty"`
}

// UnmarshalJSON requires sessionId and cwd. mcpServers may be absent, as it may
// in session/resume.
func (r *LoadSessionRequest) UnmarshalJSON(raw []byte) error {
	o := readObject(raw, "params")
	*r = LoadSessionRequest{
		SessionID: o.string("sessionId"), Cwd: o.string("cwd"),
		McpServers: checkMcpServers(o, "mcpServers", false), Meta: o.meta(),
	}
	return o.done()
}

// LoadSessionResponse answers it (schema types LoadSessionResponse and
// ResumeSessionResponse). It is an object, never null.
type LoadSessionResponse struct {
	ConfigOptions []ConfigOption `json:"configOptions,omitempty"`
	Meta          Meta           `json:"_meta,omitempty"`
}

// SessionRequest is the params of a method that takes a session and nothing
// else: session/close, session/delete (schema types CloseSessionRequest,
// DeleteSessionRequest) and the notification session/cancel (schema type
// CancelNotification).
type SessionRequest struct {
	SessionID string `json:"sessionId"`
	Meta      Meta   `json:"_meta,omitempty"`
}

// UnmarshalJSON requires sessionId.
func (r *SessionRequest) UnmarshalJSON(raw []byte) error {
	o := readObject(raw, "params")
	*r = SessionRequest{SessionID: o.string("sessionId"), Meta: o.meta()}
	return o.done()
}

// ListSessionsRequest asks for a page of stored sessions (schema type
// ListSessionsRequest).
type ListSessionsRequest struct {
	Cwd    string `json:"cwd,omitempty"`
	Cursor string `json:"cursor,omitempty"`
	Meta   Meta   `json:"_meta,omitempty"`
}

// UnmarshalJSON takes absent params as no filter.
func (r *ListSessionsRequest) UnmarshalJSON(raw []byte) error {
	o := readObject(raw, "params")
	*r = ListSessionsRequest{Cwd: o.optString("cwd"), Cursor: o.optString("cursor"), Meta: o.meta()}
	return o.done()
}

// ListSessionsResponse answers it (schema type ListSessionsResponse).
type ListSessionsResponse struct {
	Sessions   []SessionInfo `json:"sessions"`
	NextCursor string        `json:"nextCursor,omitempty"`
}

// SessionInfo describes a stored session (schema type SessionInfo). UpdatedAt
// is ISO 8601.
type SessionInfo struct {
	SessionID string `json:"sessionId"`
	Cwd       string `json:"cwd"`
	Title     string `json:"title,omitempty"`
	UpdatedAt string `json:"updatedAt,omitempty"`
}

// ConfigOption is a choice of a session that clients show (schema type
// SessionConfigOption, the select kind).
type ConfigOption struct {
	ID           string              `json:"id"`
	Name         string              `json:"name"`
	Description  string              `json:"description,omitempty"`
	Category     string              `json:"category,omitempty"`
	Type         string              `json:"type"` // "select"
	CurrentValue string              `json:"currentValue"`
	Options      []ConfigOptionValue `json:"options"`
}

// ConfigOptionValue is one value of a ConfigOption (schema type
// SessionConfigSelectOption).
type ConfigOptionValue struct {
	Value       string `json:"value"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// SetConfigOptionRequest sets one (schema type SetSessionConfigOptionRequest).
type SetConfigOptionRequest struct {
	SessionID string `json:"sessionId"`
	ConfigID  string `json:"configId"`
	Value     string `json:"value"`
	Meta      Meta   `json:"_meta,omitempty"`
}

// UnmarshalJSON requires all three strings.
func (r *SetConfigOptionRequest) UnmarshalJSON(raw []byte) error {
	o := readObject(raw, "params")
	*r = SetConfigOptionRequest{
		SessionID: o.string("sessionId"), ConfigID: o.string("configId"), Value: o.string("value"), Meta: o.meta(),
	}
	return o.done()
}

// SetConfigOptionResponse holds the complete list (schema type
// SetSessionConfigOptionResponse).
type SetConfigOptionResponse struct {
	ConfigOptions []ConfigOption `json:"configOptions"`
}

// PromptRequest starts a turn (schema type PromptRequest).
type PromptRequest struct {
	SessionID string         `json:"sessionId"`
	Prompt    []ContentBlock `json:"prompt"`
	Meta      Meta           `json:"_meta,omitempty"`
}

// UnmarshalJSON requires sessionId and an array of valid blocks.
func (r *PromptRequest) UnmarshalJSON(raw []byte) error {
	o := readObject(raw, "params")
	*r = PromptRequest{SessionID: o.string("sessionId"), Prompt: []ContentBlock{}, Meta: o.meta()}
	if v, ok := o.lookup("prompt"); ok && string(v) == "null" {
		o.fail("prompt", "must be an array")
	}
	for i, raw := range o.list("prompt", true) {
		var b ContentBlock
		if b.decode(raw, "") != nil && o.err == nil {
			o.err = asError(b.decode(raw, o.at("prompt")+"["+strconv.Itoa(i)+"]")) // once more, to say where
		}
		r.Prompt = append(r.Prompt, b)
	}
	return o.done()
}

// StopReason says why a turn ended (schema type StopReason, closed).
type StopReason string

// The stop reasons of protocol version 1.
const (
	StopEndTurn         StopReason = "end_turn"
	StopMaxTokens       StopReason = "max_tokens"
	StopMaxTurnRequests StopReason = "max_turn_requests"
	StopRefusal         StopReason = "refusal"
	StopCancelled       StopReason = "cancelled"
)

// PromptResponse ends a turn (schema type PromptResponse).
type PromptResponse struct {
	StopReason StopReason `json:"stopReason"`
	Meta       Meta       `json:"_meta,omitempty"`
}

// AppendJSON implements [Appender].
func (r PromptResponse) AppendJSON(b []byte) ([]byte, error) {
	b = AppendString(append(b, `{"stopReason":`...), string(r.StopReason))
	return appendMeta(b, r.Meta)
}

// CancelRequestNotification asks to end a request (schema type
// CancelRequestNotification). RequestID is the id as it was sent.
type CancelRequestNotification struct {
	RequestID json.RawMessage `json:"requestId"`
}

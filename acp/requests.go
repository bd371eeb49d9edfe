package acp

import (
	"encoding/json"
	"slices"
	"strconv"
)

// Implementation names a program on either side (schema type Implementation).
type Implementation struct {
	Name    string `json:"name"`
	Title   string `json:"title,omitempty"`
	Version string `json:"version"`
}

// ClientCapabilities is what a client offers (schema type ClientCapabilities).
// What is omitted is unsupported and must not be called.
type ClientCapabilities struct {
	FS       FileSystemCapabilities `json:"fs"`
	Terminal bool                   `json:"terminal"`
	Meta     Meta                   `json:"_meta,omitempty"`
}

// FileSystemCapabilities are the fs/* methods a client answers (schema type
// FileSystemCapabilities).
type FileSystemCapabilities struct {
	ReadTextFile  bool `json:"readTextFile"`
	WriteTextFile bool `json:"writeTextFile"`
}

func decodeClientCapabilities(raw json.RawMessage) ClientCapabilities {
	o := readObject(raw, "clientCapabilities")
	var c ClientCapabilities
	o.lenient("terminal", &c.Terminal)
	if v, ok := o.get("fs"); ok {
		fs := readObject(v, "fs")
		fs.lenient("readTextFile", &c.FS.ReadTextFile)
		fs.lenient("writeTextFile", &c.FS.WriteTextFile)
	}
	c.Meta = o.meta()
	return c
}

// InitializeRequest opens a connection (schema type InitializeRequest).
type InitializeRequest struct {
	ProtocolVersion    int                `json:"protocolVersion"`
	ClientCapabilities ClientCapabilities `json:"clientCapabilities"`
	ClientInfo         *Implementation    `json:"clientInfo,omitempty"`
	Meta               Meta               `json:"_meta,omitempty"`
}

// UnmarshalJSON refuses a protocolVersion that is not an integer from 0 to
// 65535; a capability of a wrong type counts as absent.
func (r *InitializeRequest) UnmarshalJSON(raw []byte) error {
	o := readObject(raw, "params")
	*r = InitializeRequest{Meta: o.meta()}
	v, ok := o.lookup("protocolVersion")
	n, err := strconv.ParseUint(string(v), 10, 16)
	switch {
	case !ok:
		o.fail("protocolVersion", "is missing: it must be an integer, 1 for this version of the protocol")
	case err != nil:
		o.fail("protocolVersion", "must be an integer from 0 to 65535")
	}
	r.ProtocolVersion = int(n)
	if v, ok := o.get("clientCapabilities"); ok {
		r.ClientCapabilities = decodeClientCapabilities(v)
	}
	if v, ok := o.get("clientInfo"); ok {
		info := readObject(v, "clientInfo")
		ci := Implementation{Name: info.string("name"), Version: info.optString("version"), Title: info.optString("title")}
		if info.err == nil {
			r.ClientInfo = &ci
		}
	}
	return o.done()
}

// InitializeResponse answers it (schema type InitializeResponse).
type InitializeResponse struct {
	ProtocolVersion   int               `json:"protocolVersion"`
	AgentCapabilities AgentCapabilities `json:"agentCapabilities"`
	// AuthMethods is always an array on the wire; clients break on null.
	AuthMethods []AuthMethod    `json:"authMethods"`
	AgentInfo   *Implementation `json:"agentInfo,omitempty"`
	Meta        Meta            `json:"_meta,omitempty"`
}

// AppendJSON implements Appender: an editor waits for this answer at each start,
// and reflection would take longer than all else that makes it.
func (r InitializeResponse) AppendJSON(b []byte) ([]byte, error) {
	b = strconv.AppendInt(append(b, `{"protocolVersion":`...), int64(r.ProtocolVersion), 10)
	b, err := r.AgentCapabilities.AppendJSON(append(b, `,"agentCapabilities":`...))
	if err != nil {
		return b, err
	}
	b = append(b, `,"authMethods":`...)
	if len(r.AuthMethods) == 0 && r.AuthMethods != nil {
		b = append(b, "[]"...)
	} else if b, err = AppendValue(b, r.AuthMethods); err != nil {
		return b, err
	}
	if i := r.AgentInfo; i != nil {
		b = AppendString(append(b, `,"agentInfo":{"name":`...), i.Name)
		if i.Title != "" {
			b = AppendString(append(b, `,"title":`...), i.Title)
		}
		b = AppendString(append(b, `,"version":`...), i.Version)
		b = append(b, '}')
	}
	return appendMeta(b, r.Meta)
}

// AuthMethod is a way to log in to an agent (schema type AuthMethod).
type AuthMethod struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
}

// AgentCapabilities is what an agent offers (schema type AgentCapabilities).
// False and absent are the same to the schema, but not to every client: what
// does not work is left out.
type AgentCapabilities struct {
	LoadSession         bool                 `json:"loadSession,omitempty"`
	PromptCapabilities  *PromptCapabilities  `json:"promptCapabilities,omitempty"`
	SessionCapabilities *SessionCapabilities `json:"sessionCapabilities,omitempty"`
	Meta                Meta                 `json:"_meta,omitempty"`
}

// AppendJSON implements Appender.
func (c AgentCapabilities) AppendJSON(b []byte) ([]byte, error) {
	start := len(b)
	b = append(b, '{')
	if c.LoadSession {
		b = append(b, `"loadSession":true,`...)
	}
	if p := c.PromptCapabilities; p != nil {
		b = appendOffers(append(b, `"promptCapabilities":`...), "true", offer{"image", p.Image}, offer{"audio", p.Audio}, offer{"embeddedContext", p.EmbeddedContext})
		b = append(b, ',')
	}
	if s := c.SessionCapabilities; s != nil {
		b = appendOffers(append(b, `"sessionCapabilities":`...), "{}", offer{"list", s.List != nil}, offer{"delete", s.Delete != nil}, offer{"resume", s.Resume != nil}, offer{"close", s.Close != nil})
		b = append(b, ',')
	}
	if len(b) == start+1 { // nothing is offered
		if len(c.Meta) == 0 {
			return append(b, '}'), nil
		}
		b, err := appendMeta(b, c.Meta)
		return slices.Delete(b, start+1, start+2), err // the comma
	}
	return appendMeta(b[:len(b)-1], c.Meta)
}

// offer is something that is offered, or not.
type offer struct {
	name string
	made bool
}

// appendOffers appends an object of the offers that are made.
func appendOffers(b []byte, value string, offers ...offer) []byte {
	sep := byte('{')
	for _, o := range offers {
		if o.made {
			b = append(append(append(append(b, sep, '"'), o.name...), '"', ':'), value...)
			sep = ','
		}
	}
	if sep == '{' {
		b = append(b, '{')
	}
	return append(b, '}')
}

// PromptCapabilities are the kinds of content a prompt may hold beyond text and
// resource links (schema type PromptCapabilities).
type PromptCapabilities struct {
	Image           bool `json:"image,omitempty"`
	Audio           bool `json:"audio,omitempty"`
	EmbeddedContext bool `json:"embeddedContext,omitempty"`
}

// SessionCapabilities are the optional session methods (schema type
// SessionCapabilities).
type SessionCapabilities struct {
	List   *struct{} `json:"list,omitempty"`
	Delete *struct{} `json:"delete,omitempty"`
	Resume *struct{} `json:"resume,omitempty"`
	Close  *struct{} `json:"close,omitempty"`
}

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

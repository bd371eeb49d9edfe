package acp

import (
	"encoding/json"
	"errors"
	"fmt"
)

// SessionNotification is the params of session/update (schema type
// SessionNotification).
type SessionNotification struct {
	SessionID string        `json:"sessionId"`
	Update    SessionUpdate `json:"update"`
	Meta      Meta          `json:"_meta,omitempty"`
}

// SessionUpdate is one of the update types below (schema type SessionUpdate, a
// closed union in version 1).
type SessionUpdate interface {
	// Kind is the value of the sessionUpdate discriminator.
	Kind() string
}

// UserMessageChunk is a piece of what the person said (at replay).
type UserMessageChunk struct {
	Content ContentBlock `json:"content"`
	Meta    Meta         `json:"_meta,omitempty"`
}

// AgentMessageChunk is a piece of what the agent says. Chunks are shown joined,
// so they carry their own newlines.
type AgentMessageChunk struct {
	Content ContentBlock `json:"content"`
	Meta    Meta         `json:"_meta,omitempty"`
}

// AgentThoughtChunk is a piece of an agent's reasoning.
type AgentThoughtChunk struct {
	Content ContentBlock `json:"content"`
	Meta    Meta         `json:"_meta,omitempty"`
}

// Kinds of a tool call (schema type ToolKind); clients pick an icon by it.
const (
	ToolRead    = "read"
	ToolExecute = "execute"
	ToolOther   = "other"
)

// ToolStatus is how far a tool call is (schema type ToolCallStatus).
type ToolStatus string

// The states of a tool call.
const (
	ToolPending    ToolStatus = "pending"
	ToolInProgress ToolStatus = "in_progress"
	ToolCompleted  ToolStatus = "completed"
	ToolFailed     ToolStatus = "failed"
)

// ToolCall announces a tool call (schema type ToolCall).
type ToolCall struct {
	ToolCallID string             `json:"toolCallId"`
	Title      string             `json:"title"`
	ToolKind   string             `json:"kind,omitempty"`
	Status     ToolStatus         `json:"status,omitempty"`
	Content    []ToolCallContent  `json:"content,omitempty"`
	Locations  []ToolCallLocation `json:"locations,omitempty"`
	RawInput   any                `json:"rawInput,omitempty"`
	RawOutput  any                `json:"rawOutput,omitempty"`
	Meta       Meta               `json:"_meta,omitempty"`
}

// ToolCallUpdate changes an announced tool call (schema type ToolCallUpdate).
// Content and Locations, where given, replace the list. Status is always sent: a client
// takes a missing one for completed.
type ToolCallUpdate struct {
	ToolCallID string             `json:"toolCallId"`
	Title      string             `json:"title,omitempty"`
	ToolKind   string             `json:"kind,omitempty"`
	Status     ToolStatus         `json:"status,omitempty"`
	Content    []ToolCallContent  `json:"content,omitempty"`
	Locations  []ToolCallLocation `json:"locations,omitempty"`
	RawInput   any                `json:"rawInput,omitempty"`
	RawOutput  any                `json:"rawOutput,omitempty"`
	Meta       Meta               `json:"_meta,omitempty"`
}

// ToolCallLocation is a file a tool call works on (schema type
// ToolCallLocation): an absolute path and a line from 1.
type ToolCallLocation struct {
	Path string `json:"path"`
	Line int    `json:"line,omitempty"`
}

// ToolCallContent is what a tool call shows (schema type ToolCallContent, a
// union told apart by Type): a content block, a terminal by its id, or a diff,
// whose fields are kept as they came.
type ToolCallContent struct {
	Type       string
	Content    *ContentBlock
	TerminalID string
	Diff       json.RawMessage
}

// ToolText is content of a text block.
func ToolText(s string) ToolCallContent {
	b := Text(s)
	return ToolCallContent{Type: "content", Content: &b}
}

// ToolTerminal is content of an embedded terminal.
func ToolTerminal(id string) ToolCallContent {
	return ToolCallContent{Type: "terminal", TerminalID: id}
}

// MarshalJSON writes the fields of the content's type.
func (c ToolCallContent) MarshalJSON() ([]byte, error) {
	switch c.Type {
	case "terminal":
		return AppendValue(nil, struct {
			Type       string `json:"type"`
			TerminalID string `json:"terminalId"`
		}{c.Type, c.TerminalID})
	case "diff":
		return c.Diff, nil
	}
	return AppendValue(nil, struct {
		Type    string        `json:"type"`
		Content *ContentBlock `json:"content"`
	}{"content", c.Content})
}

// UnmarshalJSON reads content, strictly by its type.
func (c *ToolCallContent) UnmarshalJSON(raw []byte) error {
	o := readObject(raw, "content")
	*c = ToolCallContent{Type: o.string("type")}
	switch c.Type {
	case "content":
		inner, _ := o.get("content")
		c.Content = new(ContentBlock)
		if err := c.Content.decode(inner, "content.content"); err != nil {
			return err
		}
	case "terminal":
		c.TerminalID = o.string("terminalId")
	case "diff":
		o.string("path")
		o.string("newText")
		c.Diff = append(json.RawMessage(nil), raw...)
	default:
		o.fail("type", "is %q: protocol version 1 knows content, diff and terminal", c.Type)
	}
	return o.done()
}

// Plan is the whole plan, every time (schema type Plan).
type Plan struct {
	Entries []PlanEntry `json:"entries"`
	Meta    Meta        `json:"_meta,omitempty"`
}

// PlanEntry is one step of a plan (schema type PlanEntry).
type PlanEntry struct {
	Content  string `json:"content"`
	Priority string `json:"priority"` // high, medium, low
	Status   string `json:"status"`   // pending, in_progress, completed
}

// AvailableCommandsUpdate lists the slash commands (schema type
// AvailableCommandsUpdate).
type AvailableCommandsUpdate struct {
	AvailableCommands []AvailableCommand `json:"availableCommands"`
	Meta              Meta               `json:"_meta,omitempty"`
}

// AvailableCommand is one slash command (schema type AvailableCommand). Hint is
// shown while its arguments are typed.
type AvailableCommand struct {
	Name        string        `json:"name"`
	Description string        `json:"description"`
	Input       *CommandInput `json:"input,omitempty"`
}

// CommandInput is the free text that follows a slash command (schema type
// UnstructuredCommandInput).
type CommandInput struct {
	Hint string `json:"hint"`
}

// ConfigOptionUpdate holds the complete list of options (schema type
// ConfigOptionUpdate).
type ConfigOptionUpdate struct {
	ConfigOptions []ConfigOption `json:"configOptions"`
	Meta          Meta           `json:"_meta,omitempty"`
}

// SessionInfoUpdate changes a session's title or time (schema type
// SessionInfoUpdate). An empty field is left unchanged.
type SessionInfoUpdate struct {
	Title     string `json:"title,omitempty"`
	UpdatedAt string `json:"updatedAt,omitempty"`
	Meta      Meta   `json:"_meta,omitempty"`
}

// OtherUpdate is an update of a kind that is not modelled here, as it came.
type OtherUpdate struct {
	SessionUpdate string
	Raw           json.RawMessage
}

func (UserMessageChunk) Kind() string        { return "user_message_chunk" }
func (AgentMessageChunk) Kind() string       { return "agent_message_chunk" }
func (AgentThoughtChunk) Kind() string       { return "agent_thought_chunk" }
func (ToolCall) Kind() string                { return "tool_call" }
func (ToolCallUpdate) Kind() string          { return "tool_call_update" }
func (Plan) Kind() string                    { return "plan" }
func (AvailableCommandsUpdate) Kind() string { return "available_commands_update" }
func (ConfigOptionUpdate) Kind() string      { return "config_option_update" }
func (SessionInfoUpdate) Kind() string       { return "session_info_update" }
func (u OtherUpdate) Kind() string           { return u.SessionUpdate }

// MarshalJSON writes the update with its discriminator.
func (n SessionNotification) MarshalJSON() ([]byte, error) { return n.AppendJSON(nil) }

// AppendJSON implements [Appender].
func (n SessionNotification) AppendJSON(b []byte) ([]byte, error) {
	if n.Update == nil {
		return b, errors.New("session/update without an update")
	}
	b = AppendString(append(b, `{"sessionId":`...), n.SessionID)
	b, err := appendUpdate(append(b, `,"update":`...), n.Update)
	if err != nil {
		return b, err
	}
	return appendMeta(b, n.Meta)
}

func appendUpdate(b []byte, update SessionUpdate) ([]byte, error) {
	switch u := update.(type) {
	case OtherUpdate:
		return append(b, u.Raw...), nil
	case AgentMessageChunk: // nearly all that is ever sent
		if u.Meta == nil {
			b, err := u.Content.AppendJSON(append(b, `{"sessionUpdate":"agent_message_chunk","content":`...))
			return append(b, '}'), err
		}
	}
	return appendTagged(b, "sessionUpdate", update.Kind(), update)
}

// UnmarshalJSON reads an update into the type of its discriminator. A kind that
// is not modelled becomes an OtherUpdate.
func (n *SessionNotification) UnmarshalJSON(raw []byte) error {
	o := readObject(raw, "params")
	*n = SessionNotification{SessionID: o.string("sessionId"), Meta: o.meta()}
	update, _ := o.lookup("update")
	u := readObject(update, "params.update")
	kind := u.string("sessionUpdate")
	if o.err == nil {
		o.err = u.err
	}
	if o.err != nil {
		return o.err
	}
	var err error
	n.Update, err = decodeUpdate(kind, update)
	if err != nil {
		return fmt.Errorf("params.update (%s): %w", kind, err)
	}
	return nil
}

func decodeUpdate(kind string, raw json.RawMessage) (SessionUpdate, error) {
	switch kind {
	case "user_message_chunk":
		return decodeAs[UserMessageChunk](raw)
	case "agent_message_chunk":
		return decodeAs[AgentMessageChunk](raw)
	case "agent_thought_chunk":
		return decodeAs[AgentThoughtChunk](raw)
	case "tool_call":
		return decodeAs[ToolCall](raw)
	case "tool_call_update":
		return decodeAs[ToolCallUpdate](raw)
	case "plan":
		return decodeAs[Plan](raw)
	case "available_commands_update":
		return decodeAs[AvailableCommandsUpdate](raw)
	case "config_option_update":
		return decodeAs[ConfigOptionUpdate](raw)
	case "session_info_update":
		return decodeAs[SessionInfoUpdate](raw)
	}
	return OtherUpdate{SessionUpdate: kind, Raw: append(json.RawMessage(nil), raw...)}, nil
}

func decodeAs[T SessionUpdate](raw json.RawMessage) (SessionUpdate, error) {
	var v T
	err := json.Unmarshal(raw, &v)
	return v, err
}

// PermissionOption is one answer a person may give (schema type
// PermissionOption).
type PermissionOption struct {
	OptionID string `json:"optionId"`
	Name     string `json:"name"`
	Kind     string `json:"kind"`
}

// Kinds of a PermissionOption (schema type PermissionOptionKind).
const (
	AllowOnce    = "allow_once"
	AllowAlways  = "allow_always"
	RejectOnce   = "reject_once"
	RejectAlways = "reject_always"
)

// RequestPermissionRequest asks a person about a tool call (schema type
// RequestPermissionRequest).
type RequestPermissionRequest struct {
	SessionID string             `json:"sessionId"`
	ToolCall  ToolCallUpdate     `json:"toolCall"`
	Options   []PermissionOption `json:"options"`
	Meta      Meta               `json:"_meta,omitempty"`
}

// RequestPermissionResponse is the answer (schema type
// RequestPermissionResponse).
type RequestPermissionResponse struct {
	Outcome PermissionOutcome `json:"outcome"`
	Meta    Meta              `json:"_meta,omitempty"`
}

// UnmarshalJSON requires outcome, by its exact name.
func (r *RequestPermissionResponse) UnmarshalJSON(raw []byte) error {
	o := readObject(raw, "result")
	*r = RequestPermissionResponse{Meta: o.meta()}
	outcome, ok := o.lookup("outcome")
	if !ok {
		o.fail("outcome", "is missing: it must be an object")
	}
	if err := o.done(); err != nil {
		return err
	}
	return r.Outcome.UnmarshalJSON(outcome)
}

// PermissionOutcome is "selected" with an OptionID, or "cancelled" (schema type
// RequestPermissionOutcome).
type PermissionOutcome struct {
	Outcome  string `json:"outcome"`
	OptionID string `json:"optionId,omitempty"`
}

// Outcomes of a permission request.
const (
	OutcomeSelected  = "selected"
	OutcomeCancelled = "cancelled"
)

// UnmarshalJSON reads an outcome by exact names; an answer without an outcome
// is an error, one without an optionId is not: real clients send it.
func (o *PermissionOutcome) UnmarshalJSON(raw []byte) error {
	r := readObject(raw, "outcome")
	*o = PermissionOutcome{Outcome: r.string("outcome")}
	r.lenient("optionId", &o.OptionID)
	return r.done()
}

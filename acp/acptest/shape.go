package acptest

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Methods that the rules of shape and order know.
const (
	methodInitialize = "initialize"
	methodNew        = "session/new"
	methodLoad       = "session/load"
	methodResume     = "session/resume"
	methodList       = "session/list"
	methodClose      = "session/close"
	methodPrompt     = "session/prompt"
	methodCancel     = "session/cancel"
	methodUpdate     = "session/update"
	methodPermission = "session/request_permission"
)

// The closed enums of protocol version 1, stable.
var (
	stopReasons     = []string{"end_turn", "max_tokens", "max_turn_requests", "refusal", "cancelled"}
	toolStatuses    = []string{"pending", "in_progress", "completed", "failed"}
	toolKinds       = []string{"read", "edit", "delete", "move", "search", "execute", "think", "fetch", "switch_mode", "other"}
	permissionKinds = []string{"allow_once", "allow_always", "reject_once", "reject_always"}
	planPriorities  = []string{"high", "medium", "low"}
	planStatuses    = []string{"pending", "in_progress", "completed"}
)

// shape reads one object of the agent. The first thing wrong stays in err.
type shape struct {
	members map[string]json.RawMessage
	path    string
	err     error
}

func shapeOf(raw json.RawMessage, path string) *shape {
	s := &shape{path: path}
	if s.members, s.err = readMembers(raw); s.err != nil {
		s.err = fmt.Errorf("%s: %w", path, s.err)
	}
	return s
}

func (s *shape) failf(key, format string, args ...any) {
	if s.err == nil {
		s.err = fmt.Errorf("%s.%s "+format, append([]any{s.path, key}, args...)...)
	}
}

// given returns a member that is there and not null.
func (s *shape) given(key string) (json.RawMessage, bool) {
	v, ok := s.members[key]
	return v, ok && string(v) != "null"
}

// text returns a required string.
func (s *shape) text(key string) string {
	v := s.members[key]
	if len(v) == 0 || v[0] != '"' {
		s.failf(key, "is %s: it must be a string", orAbsent(v))
		return ""
	}
	return unquote(v)
}

// filled returns a required string that says something.
func (s *shape) filled(key string) string {
	v := s.text(key)
	if v == "" {
		s.failf(key, "is empty")
	}
	return v
}

// oneOf wants a required string of an enum.
func (s *shape) oneOf(key string, enum []string) {
	if v := s.text(key); !slices.Contains(enum, v) {
		s.failf(key, "is %q: the protocol knows %s", v, strings.Join(enum, ", "))
	}
}

// maybeOneOf wants a string of an enum, or none.
func (s *shape) maybeOneOf(key string, enum []string) {
	if _, ok := s.given(key); ok {
		s.oneOf(key, enum)
	}
}

// object reads a required object.
func (s *shape) object(key string) *shape {
	o := shapeOf(s.members[key], s.path+"."+key)
	s.adopt(o)
	return o
}

func (s *shape) adopt(o *shape) {
	if s.err == nil {
		s.err = o.err
	}
}

// each reads the objects of an array.
func (s *shape) each(key string, required bool, f func(*shape)) {
	v, ok := s.given(key)
	if !ok && !required {
		return
	}
	var items []json.RawMessage
	if !ok || json.Unmarshal(v, &items) != nil {
		s.failf(key, "is %s: it must be an array", orAbsent(s.members[key]))
		return
	}
	for i, item := range items {
		o := shapeOf(item, fmt.Sprintf("%s.%s[%d]", s.path, key, i))
		if o.err == nil {
			f(o)
		}
		s.adopt(o)
	}
}

func unquote(raw json.RawMessage) string {
	var v string
	_ = json.Unmarshal(raw, &v) // a string of a line that was valid
	return v
}

// checkShape holds the messages every agent sends to the shapes that clients
// read, with or without a schema. method is what a response answers.
func checkShape(m Message, method string) error {
	switch {
	case m.Error != nil:
		if m.Error.Message == "" {
			return fmt.Errorf("the error of %s says nothing: error.message is empty", clip(m.Raw))
		}
	case m.Method == methodUpdate:
		return shapeUpdate(m.Params)
	case m.Method == methodPermission:
		return shapePermission(m.Params)
	case m.IsResponse() && method != "" && !strings.HasPrefix(method, "_"):
		return shapeResult(method, m.Result)
	}
	return nil
}

func shapeResult(method string, result json.RawMessage) error {
	s := shapeOf(result, "result of "+method)
	if s.err != nil {
		return s.err
	}
	switch method {
	case methodInitialize:
		var v int
		if raw := s.members["protocolVersion"]; json.Unmarshal(raw, &v) != nil || strings.Trim(string(raw), "0123456789") != "" {
			s.failf("protocolVersion", "is %s: it must be an integer", orAbsent(raw))
		}
		if _, ok := s.members["authMethods"]; ok {
			s.each("authMethods", true, func(o *shape) { o.filled("id"); o.filled("name") })
		}
		if _, ok := s.given("agentInfo"); ok {
			info := s.object("agentInfo")
			info.filled("name")
			info.text("version")
			s.adopt(info)
		}
	case methodNew:
		s.filled("sessionId")
	case methodPrompt:
		s.oneOf("stopReason", stopReasons)
	case methodList:
		s.each("sessions", true, func(o *shape) { o.filled("sessionId"); o.filled("cwd") })
	}
	return s.err
}

func shapeUpdate(params json.RawMessage) error {
	s := shapeOf(params, "params")
	s.filled("sessionId")
	u := s.object("update")
	if s.err != nil {
		return s.err
	}
	u.path = "update"
	switch kind := u.text("sessionUpdate"); kind {
	case "user_message_chunk", "agent_message_chunk", "agent_thought_chunk":
		shapeBlock(u.object("content"), u)
	case "tool_call":
		u.text("title")
		shapeToolCall(u)
	case "tool_call_update":
		shapeToolCall(u)
	case "plan":
		u.each("entries", true, func(e *shape) {
			e.text("content")
			e.oneOf("priority", planPriorities)
			e.oneOf("status", planStatuses)
		})
	case "available_commands_update":
		u.each("availableCommands", true, func(c *shape) { c.filled("name"); c.text("description") })
	case "current_mode_update":
		u.filled("currentModeId")
	case "config_option_update":
		u.each("configOptions", true, func(o *shape) { o.filled("id"); o.filled("name") })
	case "session_info_update", "usage_update", "notice", "compaction_update", "compaction_summary_chunk":
	default:
		u.failf("sessionUpdate", "is %q: version 1 is a closed union, clients drop or reject what it does not hold", kind)
	}
	return u.err
}

func shapeToolCall(u *shape) {
	u.filled("toolCallId")
	u.maybeOneOf("status", toolStatuses)
	u.maybeOneOf("kind", toolKinds)
	u.each("content", false, func(c *shape) {
		switch kind := c.text("type"); kind {
		case "content":
			shapeBlock(c.object("content"), c)
		case "diff":
			c.filled("path")
			c.text("newText")
		case "terminal":
			c.filled("terminalId")
		default:
			c.failf("type", "is %q: tool call content is content, diff or terminal; a block of text is wrapped in content", kind)
		}
	})
	u.each("locations", false, func(l *shape) { l.filled("path") })
}

func shapeBlock(b, parent *shape) {
	if b.err == nil {
		switch kind := b.text("type"); kind {
		case "text":
			b.text("text")
		case "image", "audio":
			b.text("data")
			b.text("mimeType")
		case "resource_link":
			b.text("uri")
			b.text("name")
		case "resource":
			b.object("resource")
		default:
			b.failf("type", "is %q: no content block of version 1", kind)
		}
	}
	parent.adopt(b)
}

func shapePermission(params json.RawMessage) error {
	s := shapeOf(params, "params")
	s.filled("sessionId")
	call := s.object("toolCall")
	if call.err == nil {
		shapeToolCall(call)
		s.adopt(call)
	}
	ids := map[string]bool{}
	s.each("options", true, func(o *shape) {
		id := o.filled("optionId")
		if ids[id] {
			o.failf("optionId", "is %q twice", id)
		}
		ids[id] = true
		o.text("name")
		o.oneOf("kind", permissionKinds)
	})
	if s.err == nil && len(ids) == 0 {
		s.failf("options", "is empty: nobody can answer")
	}
	return s.err
}

package pause

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

const (
	// ContextVar is the environment variable that carries the context to steps,
	// and to the runs that they start.
	ContextVar = "AGENT_COMPOSE_REQUEST_CONTEXT"
	// ContextPrefix begins the variables that carry one user key each.
	ContextPrefix = "CHANT_CONTEXT_"
	// ReservedPrefix begins the keys that only a run sets.
	ReservedPrefix = "ac__"
)

// A Context travels with a run: what the run is, and what users put with it. It
// belongs to one run; a nested run has a child of it.
type Context struct {
	reserved Reserved
	user     map[string]json.RawMessage
}

// Reserved says what a run is. Steps see it and nobody sets it.
type Reserved struct {
	TeamID       string   `json:"teamId"`
	RunID        string   `json:"runId"`
	WorkflowID   string   `json:"workflowId"`
	FactoryID    *string  `json:"factoryId"`
	APIKeyScopes []string `json:"apiKeyScopes"`
	ParentRunID  *string  `json:"parentRunId"`
}

// A ReservedKeyError says that a key is the run's own.
type ReservedKeyError struct{ Key string }

func (e *ReservedKeyError) Error() string {
	return fmt.Sprintf("the key %q begins with %s, which only a run sets; choose another name", e.Key, ReservedPrefix)
}

// NewContext makes the context of a run without a parent.
func NewContext(runID, workflowID string) *Context {
	return &Context{reserved: Reserved{RunID: runID, WorkflowID: workflowID, APIKeyScopes: []string{}}}
}

// Child makes the context of a run that a step of this one started: the user
// keys go along. A context that is of no run gives one to a run without a parent.
func (c *Context) Child(runID, workflowID string) *Context {
	child := NewContext(runID, workflowID)
	child.reserved.TeamID, child.reserved.FactoryID = c.reserved.TeamID, c.reserved.FactoryID
	if c.reserved.APIKeyScopes != nil {
		child.reserved.APIKeyScopes = slices.Clone(c.reserved.APIKeyScopes)
	}
	if parent := c.reserved.RunID; parent != "" {
		child.reserved.ParentRunID = &parent
	}
	child.user = maps.Clone(c.user)
	return child
}

// UserOnly is a context of no run with the same user keys.
func (c *Context) UserOnly() *Context {
	return &Context{reserved: Reserved{APIKeyScopes: []string{}}, user: maps.Clone(c.user)}
}

// Reserved is what the run is.
func (c *Context) Reserved() Reserved { return c.reserved }

// Keys are the user keys, sorted.
func (c *Context) Keys() []string { return slices.Sorted(maps.Keys(c.user)) }

// Get returns the value of a user key.
func (c *Context) Get(key string) (value json.RawMessage, found bool) {
	value, found = c.user[key]
	return value, found
}

// Set puts a value, which can be written as JSON, under a user key. Errors: a
// *ReservedKeyError; a key that can't be told from another as a variable.
func (c *Context) Set(key string, value any) error {
	if err := c.mayHold(key); err != nil {
		return err
	}
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("the value of %q in the context can't be written as JSON: %w", key, err)
	}
	if c.user == nil {
		c.user = make(map[string]json.RawMessage)
	}
	c.user[key] = text
	return nil
}

// Delete removes a user key. The error is a *ReservedKeyError.
func (c *Context) Delete(key string) error {
	if strings.HasPrefix(key, ReservedPrefix) {
		return &ReservedKeyError{key}
	}
	delete(c.user, key)
	return nil
}

func (c *Context) mayHold(key string) error {
	if strings.HasPrefix(key, ReservedPrefix) {
		return &ReservedKeyError{key}
	}
	if !validName(key) {
		return &NameError{"context", key}
	}
	for other := range c.user {
		if other != key && VariableName(other) == VariableName(key) {
			return fmt.Errorf("the keys %q and %q of the context would be one variable, %s%s; rename one", other, key, ContextPrefix, VariableName(key))
		}
	}
	return nil
}

// VariableName is a name as the end of a variable's: upper case, with _ for what
// a variable can't hold.
func VariableName(name string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case 'a' <= r && r <= 'z':
			return r - 'a' + 'A'
		case 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
			return r
		}
		return '_'
	}, name)
}

// Environ is the context as variables for a step: all of it in ContextVar, and
// each user key alone, text as it is and the rest as JSON. A value that holds a
// NUL, which no variable can, is in ContextVar only.
func (c *Context) Environ() ([]string, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, err
	}
	vars := []string{ContextVar + "=" + string(text)}
	for _, key := range c.Keys() {
		value := string(c.user[key])
		var s *string
		if json.Unmarshal(c.user[key], &s) == nil && s != nil {
			value = *s
		}
		if strings.IndexByte(value, 0) < 0 {
			vars = append(vars, ContextPrefix+VariableName(key)+"="+value)
		}
	}
	return vars, nil
}

type wireContext struct {
	Reserved Reserved                   `json:"reserved"`
	User     map[string]json.RawMessage `json:"user"`
}

// MarshalJSON writes the context as it goes over the wire.
func (c *Context) MarshalJSON() ([]byte, error) {
	wire := wireContext{c.reserved, c.user}
	if wire.User == nil {
		wire.User = map[string]json.RawMessage{}
	}
	if wire.Reserved.APIKeyScopes == nil {
		wire.Reserved.APIKeyScopes = []string{}
	}
	return json.Marshal(wire)
}

// ParseContext reads a context. Every reserved key has to be there, of its type,
// and no user key may be a reserved one.
func ParseContext(text []byte) (*Context, error) {
	var wire struct {
		Reserved map[string]json.RawMessage
		User     map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &wire); err != nil {
		return nil, fmt.Errorf("the request context can't be read: %s", plain(err))
	}
	if wire.Reserved == nil || wire.User == nil {
		return nil, errors.New("the request context can't be read: it needs the objects reserved and user")
	}
	c := &Context{}
	for _, field := range []struct {
		key      string
		into     any
		nullable bool
	}{
		{"teamId", &c.reserved.TeamID, false},
		{"runId", &c.reserved.RunID, false},
		{"workflowId", &c.reserved.WorkflowID, false},
		{"factoryId", &c.reserved.FactoryID, true},
		{"apiKeyScopes", &c.reserved.APIKeyScopes, false},
		{"parentRunId", &c.reserved.ParentRunID, true},
	} {
		value, found := wire.Reserved[field.key]
		null := string(bytes.TrimSpace(value)) == "null"
		if !found || null && !field.nullable || json.Unmarshal(value, field.into) != nil {
			return nil, fmt.Errorf("the request context can't be read: reserved.%s is missing or of the wrong type", field.key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(wire.User)) {
		if err := c.Set(key, wire.User[key]); err != nil {
			return nil, err
		}
	}
	return c, nil
}

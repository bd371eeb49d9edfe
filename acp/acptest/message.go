package acptest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/chant-acp/chant-acp/acp"
)

// Message is one line of the agent: a request, a notification or a response.
type Message struct {
	// Raw is the line as it came, without its newline.
	Raw []byte
	// ID is the id byte for byte, nil where the member is absent.
	ID json.RawMessage
	// Method is empty in a response.
	Method string
	// Params and Result are nil where absent.
	Params, Result json.RawMessage
	// Error is nil unless the message is an error response.
	Error *acp.Error
}

// IsResponse says whether the message answers a request.
func (m Message) IsResponse() bool { return m.Method == "" }

// parseMessage reads a line and holds it to JSON-RPC 2.0, sections 4 and 5.
func parseMessage(line []byte) (Message, error) {
	m := Message{Raw: line}
	if !utf8.Valid(line) {
		return m, errors.New("the line is not UTF-8")
	}
	if !json.Valid(line) {
		return m, errors.New("the line is not JSON")
	}
	if line[0] != '{' {
		return m, errors.New("the line is not a JSON object, or does not begin with one")
	}
	members, err := readMembers(line)
	if err != nil {
		return m, err
	}
	if v := members["jsonrpc"]; string(v) != `"2.0"` {
		return m, fmt.Errorf(`jsonrpc is %s, not "2.0"`, orAbsent(v))
	}
	m.ID, m.Params, m.Result = members["id"], members["params"], members["result"]
	if err := m.readID(); err != nil {
		return m, err
	}
	if raw, ok := members["method"]; ok {
		return m, m.readCall(raw, members)
	}
	return m, m.readResponse(members)
}

func (m *Message) readID() error {
	if m.ID == nil {
		return nil
	}
	if c := m.ID[0]; c != '"' && c != '-' && c != 'n' && (c < '0' || c > '9') {
		return fmt.Errorf("id is %s: neither a string nor a number", m.ID)
	}
	return nil
}

func (m *Message) readCall(method json.RawMessage, members map[string]json.RawMessage) error {
	if method[0] != '"' || json.Unmarshal(method, &m.Method) != nil || m.Method == "" {
		return fmt.Errorf("method is %s, not a name", method)
	}
	if members["result"] != nil || members["error"] != nil {
		return errors.New("the message has a method and a result or error")
	}
	if m.Params != nil && m.Params[0] != '{' && m.Params[0] != '[' {
		return fmt.Errorf("params of %s are neither an object nor an array", m.Method)
	}
	return nil
}

func (m *Message) readResponse(members map[string]json.RawMessage) error {
	fault := members["error"]
	switch {
	case m.ID == nil:
		return errors.New("the message has neither a method nor an id")
	case m.Result == nil && fault == nil:
		return errors.New("the response has neither a result nor an error")
	case m.Result != nil && fault != nil:
		return errors.New("the response has a result and an error")
	case fault == nil:
		return nil
	}
	e, err := readMembers(fault)
	if err != nil {
		return fmt.Errorf("error: %w", err)
	}
	if s := e["message"]; len(s) == 0 || s[0] != '"' {
		return fmt.Errorf("error.message is %s, not a string", orAbsent(s))
	}
	if code := string(e["code"]); code == "" || strings.Trim(code, "-0123456789") != "" {
		return fmt.Errorf("error.code is %s, not an integer", orAbsent(e["code"]))
	}
	m.Error = new(acp.Error)
	if err := json.Unmarshal(fault, m.Error); err != nil {
		return err
	}
	return nil
}

// readMembers reads an object by exact names, and refuses a name given twice:
// clients differ in which of the two they take.
func readMembers(raw []byte) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, fmt.Errorf("%s is not an object", orAbsent(raw))
	}
	members := map[string]json.RawMessage{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		var v json.RawMessage
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		name, _ := key.(string) // a key of a valid object is a string
		if _, twice := members[name]; twice {
			return nil, fmt.Errorf("member %q stands twice", name)
		}
		members[name] = v
	}
	return members, nil
}

// orAbsent shows a value in a failure message.
func orAbsent(raw []byte) string {
	if raw == nil {
		return "absent"
	}
	return clip(raw)
}

// clip shortens a value for a failure message.
func clip(raw []byte) string {
	const most = 300
	if len(raw) <= most {
		return string(raw)
	}
	return fmt.Sprintf("%s… (%d bytes)", raw[:most], len(raw))
}

package acp

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/chant-acp/chant-acp/internal/brief"
)

// Error codes of JSON-RPC 2.0 and of the protocol (schema type ErrorCode).
const (
	CodeParseError       = -32700 // not JSON, or not UTF-8
	CodeInvalidRequest   = -32600 // JSON, but not a request; or one that can't be taken now
	CodeMethodNotFound   = -32601 // unknown, or not advertised
	CodeInvalidParams    = -32602 // the params are not what the method takes
	CodeInternal         = -32603 // a fault of the answering side
	CodeAuthRequired     = -32000 // authenticate first
	CodeResourceNotFound = -32002 // an unknown session, file or other resource
	CodeRequestCancelled = -32800 // ended by $/cancel_request
)

// Error is a JSON-RPC error object (schema type Error). Message is a sentence
// for a person: what was wrong, where, and what to do.
type Error struct {
	Code    int
	Message string
	// Data holds further members. On the wire "details" is added and repeats
	// Message, because some clients show nothing else.
	Data map[string]any
}

// Errorf makes an Error with a formatted message. An operand wrapped by %w is
// not kept: what goes on the wire is text.
func Errorf(code int, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Errorf(format, args...).Error()}
}

// With returns e with one more member of data.
func (e *Error) With(key string, value any) *Error {
	data := map[string]any{key: value}
	for k, v := range e.Data {
		data[k] = v
	}
	return &Error{Code: e.Code, Message: e.Message, Data: data}
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Is reports whether target is an Error of the same code, so that a wrapped
// error keeps its meaning.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Code == e.Code
}

// MarshalJSON writes the error object with data.details.
func (e *Error) MarshalJSON() ([]byte, error) {
	message := brief.Bytes(e.Message, maxEcho)
	data := map[string]any{"details": message}
	for k, v := range e.Data {
		if s, ok := v.(string); ok {
			v = brief.Bytes(s, maxEcho)
		}
		data[k] = v
	}
	return AppendValue(nil, struct {
		Code    int            `json:"code"`
		Message string         `json:"message"`
		Data    map[string]any `json:"data"`
	}{e.Code, message, data})
}

// maxEcho bounds a text of an error object in bytes. Errors repeat what came
// in, and that may have been megabytes.
const maxEcho = 4 << 10

// UnmarshalJSON reads any error object; data that is not an object is kept
// under "data".
func (e *Error) UnmarshalJSON(raw []byte) error {
	var w struct {
		Code    json.Number     `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(raw, &w); err != nil {
		return fmt.Errorf("error object: %w", err)
	}
	n, err := w.Code.Int64()
	if err != nil {
		return fmt.Errorf("error object: code %q is not an integer", w.Code)
	}
	e.Code, e.Message, e.Data = int(n), w.Message, nil
	if len(w.Data) == 0 || string(w.Data) == "null" {
		return nil
	}
	if json.Unmarshal(w.Data, &e.Data) != nil {
		e.Data = map[string]any{"data": w.Data}
	}
	return nil
}

// asError finds the Error in err's tree; any other error becomes an internal
// one that says so.
func asError(err error) *Error {
	var e *Error
	if errors.As(err, &e) && e != nil {
		return e
	}
	return Errorf(CodeInternal, "internal error: %w", err)
}

// ErrClosed is returned by calls and notifications on a connection that has
// ended.
var ErrClosed = errors.New("acp: the connection is closed")

// ErrRequestCancelled is the cause of a request's context when the other side
// sent $/cancel_request for it.
var ErrRequestCancelled = errors.New("acp: the request was cancelled")

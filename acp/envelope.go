package acp

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

// maxID bounds the raw length of a request id: it is echoed byte for byte and
// kept while the request runs.
const maxID = 4 << 10

// envelope is the outer object of one JSON-RPC message; its members are slices
// of the line. A nil member is absent.
type envelope struct {
	id, method, params, result, fault json.RawMessage
}

func (e *envelope) isResponse() bool { return e.method == nil }

// parseEnvelope checks one line and finds the members of the message. It
// refuses what JSON-RPC 2.0 refuses, and batches, which the protocol does not
// have. Of what it refuses it returns the id alone, where that can be read and
// the message is no response.
func parseEnvelope(line []byte) (envelope, *Error) {
	if !utf8.Valid(line) {
		return envelope{}, Errorf(CodeParseError, "the line is not UTF-8: send each message as one line of UTF-8 JSON")
	}
	if !json.Valid(line) {
		return envelope{}, Errorf(CodeParseError, "the line is not JSON: send each message as one line, ended by a newline")
	}
	switch line[0] {
	case '{':
	case '[':
		return envelope{}, Errorf(CodeInvalidRequest, "batches are not part of the protocol: send one message a line")
	default:
		return envelope{}, Errorf(CodeInvalidRequest, "the line is not a JSON object: send a JSON-RPC 2.0 message")
	}
	var e envelope
	var version json.RawMessage
	twice, ids := false, 0
	eachMember(line, func(key string, value json.RawMessage) {
		slot := e.slot(key, &version)
		if slot == nil {
			return
		}
		twice = twice || *slot != nil
		*slot = value
		if slot == &e.id {
			ids++
		}
	})
	fault := e.check(version, twice)
	switch {
	case fault == nil:
		return e, nil
	case ids != 1 || e.checkID() != nil || e.result != nil || e.fault != nil:
		return envelope{}, fault
	}
	return envelope{id: e.id}, fault
}

func (e *envelope) slot(key string, version *json.RawMessage) *json.RawMessage {
	switch key {
	case "jsonrpc":
		return version
	case "id":
		return &e.id
	case "method":
		return &e.method
	case "params":
		return &e.params
	case "result":
		return &e.result
	case "error":
		return &e.fault
	}
	return nil
}

// check holds the rules of JSON-RPC 2.0, sections 4 and 5, that concern more
// than one member or a member's type.
func (e *envelope) check(version json.RawMessage, twice bool) *Error {
	if twice {
		return Errorf(CodeInvalidRequest, "a member of the message stands twice")
	}
	if string(version) != `"2.0"` {
		return Errorf(CodeInvalidRequest, `jsonrpc must be "2.0"`)
	}
	if fault := e.checkID(); fault != nil {
		return fault
	}
	isAnswer := e.result != nil || e.fault != nil
	switch {
	case e.method == nil && !isAnswer:
		return Errorf(CodeInvalidRequest, "the message has no method")
	case e.method != nil && e.method[0] != '"':
		return Errorf(CodeInvalidRequest, "method must be a string")
	case e.method != nil && isAnswer:
		return Errorf(CodeInvalidRequest, "the message is a request and a response at once")
	}
	return nil
}

func (e *envelope) checkID() *Error {
	if e.id == nil {
		return nil
	}
	if c := e.id[0]; c != '"' && c != '-' && (c < '0' || c > '9') && c != 'n' {
		return Errorf(CodeInvalidRequest, "id must be a string or a number")
	}
	if len(e.id) > maxID {
		return Errorf(CodeInvalidRequest, "id is longer than 4 KiB")
	}
	return nil
}

// eachMember calls f for every member of the object in line, which is known to
// be valid JSON. Values are slices of line.
func eachMember(line []byte, f func(key string, value json.RawMessage)) {
	i := skipSpace(line, 1)
	for i < len(line) && line[i] == '"' {
		end := skipString(line, i)
		key := line[i+1 : end-1]
		name := intern(key)
		if bytes.IndexByte(key, '\\') >= 0 {
			name = unquote(line[i:end])
		}
		i = skipSpace(line, skipSpace(line, end)+1) // the colon
		end = skipValue(line, i)
		f(name, line[i:end])
		i = skipSpace(line, end)
		if i < len(line) && line[i] == ',' {
			i = skipSpace(line, i+1)
		}
	}
}

// intern is string(key), for the names that every message has without a copy.
func intern(key []byte) string {
	switch string(key) {
	case "jsonrpc":
		return "jsonrpc"
	case "method":
		return "method"
	case "params":
		return "params"
	case "sessionId":
		return "sessionId"
	case "prompt":
		return "prompt"
	case "type":
		return "type"
	case "text":
		return "text"
	}
	return string(key)
}

// items are the values of an array, which is known to be valid JSON.
func items(array []byte) []json.RawMessage {
	var out []json.RawMessage
	for i := skipSpace(array, 1); i < len(array) && array[i] != ']'; {
		end := skipValue(array, i)
		out = append(out, array[i:end])
		if i = skipSpace(array, end); i < len(array) && array[i] == ',' {
			i = skipSpace(array, i+1)
		}
	}
	return out
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the string that begins at i.
func skipString(b []byte, i int) int {
	for i++; b[i] != '"'; i++ {
		if b[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// skipValue returns the index after the value that begins at i.
func skipValue(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			i = skipString(b, i)
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth == 0 {
				return i
			}
			if depth--; depth == 0 {
				return i + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return i
			}
		}
		i++
	}
	return i
}

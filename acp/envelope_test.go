package acp

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzEnvelope holds parseEnvelope to encoding/json: it takes an object that
// encoding/json takes, with the same members, and nothing else.
func FuzzEnvelope(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":[1,{"y":"}"}]}}`,
		` { "jsonrpc" : "2.0" , "id" : "\"" , "result" : [ ] } `,
		`{"jsonrpc":"2.0","\u006dethod":"a","id":-1.5e3}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x\\"}}`,
		`{}`, `[]`, `null`, `{"a":"\ud800"}`, "{\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}", `{"jsonrpc":"2.0","id":null,"method":"m","params":null}`,
		`{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}`, `{`, `{"jsonrpc":"2.0"`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		line = bytes.Trim(line, " \t\r\n")
		if len(line) == 0 {
			return // blank lines never get here
		}
		e, fault := parseEnvelope(line)
		var members map[string]json.RawMessage
		isObject := line[0] == '{' && utf8.Valid(line) && json.Unmarshal(line, &members) == nil
		if fault != nil {
			if valid := utf8.Valid(line) && json.Valid(line); valid != (fault.Code == CodeInvalidRequest) {
				t.Fatalf("%q: code %d, valid JSON: %v", line, fault.Code, valid)
			}
			return
		}
		if !isObject {
			t.Fatalf("%q was taken for a message", line)
		}
		for key, got := range map[string]json.RawMessage{"id": e.id, "method": e.method, "params": e.params, "result": e.result, "error": e.fault} {
			if want := members[key]; !bytes.Equal(got, want) {
				t.Fatalf("%q: %s is %q, want %q", line, key, got, want)
			}
		}
		if string(members["jsonrpc"]) != `"2.0"` || (e.method == nil) == (e.result == nil && e.fault == nil) {
			t.Fatalf("%q is neither a request nor a response", line)
		}
	})
}

// FuzzParams: whatever params are, decoding them ends in a value or in an
// invalid-params error, and what was decoded encodes to something that decodes
// to the same.
func FuzzParams(f *testing.F) {
	for _, seed := range []string{
		`{"sessionId":"s","prompt":[{"type":"text","text":"a"},{"type":"resource_link","name":"n","uri":"file:///x"}]}`,
		`{"sessionId":"s","prompt":[{"type":"resource","resource":{"uri":"u","text":"t"}},{"type":"image","data":"","mimeType":"m"}]}`,
		`{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":true},"_meta":{"terminal_output":true}},"clientInfo":{"name":"n","version":"1"}}`,
		`{"cwd":"/","mcpServers":[{"name":"a","command":"b","args":["c"],"env":[]},{"type":"http","name":"a","url":"u","headers":[]}]}`,
		`{"cwd":"/","mcpServers":[{"name":"a","command":""},{"type":"http","name":"a","url":""}]}`,
		`{"outcome":{"outcome":"selected","optionId":"x"}}`, `null`, `[]`, `5`, `"s"`, `{"prompt":null}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		raw = bytes.TrimSpace(raw)
		if !json.Valid(raw) || !utf8.Valid(raw) {
			return
		}
		for _, v := range []json.Unmarshaler{
			new(InitializeRequest), new(NewSessionRequest), new(LoadSessionRequest), new(ListSessionsRequest), new(SessionRequest),
			new(SetConfigOptionRequest), new(PromptRequest), new(ContentBlock), new(RequestPermissionResponse),
		} {
			err := v.UnmarshalJSON(raw)
			var e *Error
			if err != nil {
				if !errors.As(err, &e) || e.Code != CodeInvalidParams || e.Data["path"] == "" {
					t.Fatalf("%T from %q: %v is not an invalid-params error with a path", v, raw, err)
				}
				continue
			}
			once, err := AppendValue(nil, v)
			if err != nil {
				t.Fatalf("%T from %q does not encode: %v", v, raw, err)
			}
			if err := v.UnmarshalJSON(once); err != nil {
				t.Fatalf("%T from %q encodes to %q, which does not decode: %v", v, raw, once, err)
			}
			if twice, _ := AppendValue(nil, v); !bytes.Equal(once, twice) {
				t.Fatalf("%T from %q: %q, then %q", v, raw, once, twice)
			}
		}
	})
}

// FuzzLines holds ReadLine to a split at newlines, whatever the pieces in which
// the stream comes.
func FuzzLines(f *testing.F) {
	f.Add([]byte("a\nb\r\n\nc"), 1)
	f.Add([]byte(strings.Repeat("x", 200<<10)+"\ny\n"), 7)
	f.Fuzz(func(t *testing.T, stream []byte, chunk int) {
		chunk = 1 + (chunk&0x7fffffff)%8192
		tr := NewTransport(io.NopCloser(&chunked{stream, chunk}), nopWriter{})
		want := bytes.Split(stream, []byte("\n"))
		if len(want[len(want)-1]) == 0 {
			want = want[:len(want)-1]
		}
		for i, line := range want {
			got, err := tr.ReadLine()
			if err != nil || !bytes.Equal(got, line) {
				t.Fatalf("line %d: got %q, %v, want %q", i, got, err, line)
			}
		}
		if _, err := tr.ReadLine(); !errors.Is(err, io.EOF) {
			t.Fatalf("after the last line: %v", err)
		}
	})
}

type chunked struct {
	rest []byte
	size int
}

func (c *chunked) Read(p []byte) (int, error) {
	if len(c.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(p[:min(len(p), c.size)], c.rest)
	c.rest = c.rest[n:]
	return n, nil
}

type nopWriter struct{}

func (nopWriter) Write(p []byte) (int, error) { return len(p), nil }
func (nopWriter) Close() error                { return nil }

func TestALineOverTheLimitIsReadPastInBoundedMemory(t *testing.T) {
	endless := io.MultiReader(&repeat{[]byte("x"), 40 << 20}, strings.NewReader("\nnext\n"))
	tr := NewTransport(io.NopCloser(endless), nopWriter{})
	if _, err := tr.ReadLine(); !errors.Is(err, ErrLineTooLong) {
		t.Fatalf("40 MiB without a newline: %v", err)
	}
	if kept := cap(tr.(*streamTransport).long); kept > 2*MaxLine {
		t.Errorf("%d bytes are kept", kept)
	}
	if line, err := tr.ReadLine(); err != nil || string(line) != "next" {
		t.Errorf("the next line: %q, %v", line, err)
	}
	exact := NewTransport(io.NopCloser(io.MultiReader(&repeat{[]byte("y"), MaxLine}, strings.NewReader("\n"))), nopWriter{})
	if line, err := exact.ReadLine(); err != nil || len(line) != MaxLine {
		t.Errorf("a line of just the limit: %d bytes, %v", len(line), err)
	}
}

type repeat struct {
	what []byte
	n    int
}

func (r *repeat) Read(p []byte) (int, error) {
	if r.n == 0 {
		return 0, io.EOF
	}
	n := min(len(p), r.n)
	for i := range p[:n] {
		p[i] = r.what[0]
	}
	r.n -= n
	return n, nil
}

func TestUpdatesEncodeWithTheirDiscriminatorAndComeBack(t *testing.T) {
	for _, c := range []struct {
		update SessionUpdate
		want   string
	}{
		{AgentMessageChunk{Content: Text("<a> & \"b\"\n")}, `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"<a> & \"b\"\n"}}`},
		{AgentMessageChunk{Content: Text("plain"), Meta: Meta{"a": 1}}, `{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"plain"},"_meta":{"a":1}}`},
		{ToolCall{ToolCallID: "c", Title: "t", ToolKind: ToolExecute, Status: ToolInProgress, Content: []ToolCallContent{ToolTerminal("c")}},
			`{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","kind":"execute","status":"in_progress","content":[{"type":"terminal","terminalId":"c"}]}`},
		{ToolCallUpdate{ToolCallID: "c", Status: ToolFailed, Content: []ToolCallContent{ToolText("x")}},
			`{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"failed","content":[{"type":"content","content":{"type":"text","text":"x"}}]}`},
		{AvailableCommandsUpdate{AvailableCommands: []AvailableCommand{{Name: "a", Description: "d", Input: &CommandInput{Hint: "h"}}}},
			`{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"a","description":"d","input":{"hint":"h"}}]}`},
		{SessionInfoUpdate{}, `{"sessionUpdate":"session_info_update"}`},
		{OtherUpdate{SessionUpdate: "usage_update", Raw: json.RawMessage(`{"sessionUpdate":"usage_update","used":1,"size":2}`)}, `{"sessionUpdate":"usage_update","used":1,"size":2}`},
	} {
		raw, err := AppendValue(nil, SessionNotification{SessionID: "s", Update: c.update})
		if want := `{"sessionId":"s","update":` + c.want + `}`; err != nil || string(raw) != want {
			t.Errorf("got %s, %v, want %s", raw, err, want)
			continue
		}
		var back SessionNotification
		if err := json.Unmarshal(raw, &back); err != nil {
			t.Errorf("%s: %v", raw, err)
			continue
		}
		if again, err := AppendValue(nil, back); err != nil || string(again) != string(raw) {
			t.Errorf("came back as %s, %v, was %s", again, err, raw)
		}
	}
}

package acptest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What clients were seen to reject or to lose. Each is refused by the rules
// that are always on, and by the schema where it is present.
var badSamples = []struct{ name, def, method, value string }{
	{"a bare block in a tool call update", "SessionNotification", "session/update", `{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"c","content":[{"type":"text","text":"x"}]}}`},
	{"a bare block in a tool call", "SessionNotification", "session/update", `{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","content":[{"type":"text","text":"x"}]}}`},
	{"a bare block in a permission request", "RequestPermissionRequest", "session/request_permission", `{"sessionId":"s","toolCall":{"toolCallId":"c","content":[{"type":"text","text":"x"}]},"options":[{"optionId":"a","name":"A","kind":"allow_once"}]}`},
	{"an invented stop reason", "PromptResponse", "session/prompt", `{"stopReason":"waiting"}`},
	{"no stop reason", "PromptResponse", "session/prompt", `{}`},
	{"authMethods null", "InitializeResponse", "initialize", `{"protocolVersion":1,"authMethods":null}`},
	{"agentInfo without a version", "InitializeResponse", "initialize", `{"protocolVersion":1,"agentInfo":{"name":"x"}}`},
	{"a version that is a string", "InitializeResponse", "initialize", `{"protocolVersion":"1"}`},
	{"no version", "InitializeResponse", "initialize", `{"authMethods":[]}`},
	{"an invented tool status", "SessionNotification", "session/update", `{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"c","status":"waiting"}}`},
	{"an invented tool kind", "SessionNotification", "session/update", `{"sessionId":"s","update":{"sessionUpdate":"tool_call_update","toolCallId":"c","kind":"shell"}}`},
	{"an invented plan status", "SessionNotification", "session/update", `{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[{"content":"x","priority":"high","status":"waiting"}]}}`},
	{"a plan entry without a priority", "SessionNotification", "session/update", `{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[{"content":"x","status":"pending"}]}}`},
	{"a tool call without a title", "SessionNotification", "session/update", `{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c"}}`},
	{"a chunk whose content is a list", "SessionNotification", "session/update", `{"sessionId":"s","update":{"sessionUpdate":"agent_message_chunk","content":[{"type":"text","text":"x"}]}}`},
	{"a mode under the wrong name", "SessionNotification", "session/update", `{"sessionId":"s","update":{"sessionUpdate":"current_mode_update","modeId":"x"}}`},
	{"an unknown update", "SessionNotification", "session/update", `{"sessionId":"s","update":{"sessionUpdate":"_progress"}}`},
	{"a command without a description", "SessionNotification", "session/update", `{"sessionId":"s","update":{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"x"}]}}`},
	{"an option of no kind", "RequestPermissionRequest", "session/request_permission", `{"sessionId":"s","toolCall":{"toolCallId":"c"},"options":[{"optionId":"a","name":"A"}]}`},
	{"no session id", "NewSessionResponse", "session/new", `{}`},
	{"a load that is null", "LoadSessionResponse", "session/load", `null`},
	{"a result that is a number", "PromptResponse", "session/prompt", `5`},
}

var goodSamples = []struct{ def, method, value string }{
	{"InitializeResponse", "initialize", `{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"promptCapabilities":{}},"authMethods":[],"agentInfo":{"name":"x","title":"X","version":"1"}}`},
	{"InitializeResponse", "initialize", `{"protocolVersion":1}`},
	{"PromptResponse", "session/prompt", `{"stopReason":"end_turn","_meta":{"x":1}}`},
	{"NewSessionResponse", "session/new", `{"sessionId":"s"}`},
	{"LoadSessionResponse", "session/load", `{}`},
	{"SessionNotification", "session/update", `{"sessionId":"s","update":{"sessionUpdate":"tool_call","toolCallId":"c","title":"t","kind":"execute","status":"in_progress","content":[{"type":"content","content":{"type":"text","text":"x"}},{"type":"terminal","terminalId":"t"},{"type":"diff","path":"/x","newText":""}],"locations":[{"path":"/x"}]}}`},
	{"SessionNotification", "session/update", `{"sessionId":"s","update":{"sessionUpdate":"plan","entries":[]}}`},
	{"SessionNotification", "session/update", `{"sessionId":"s","update":{"sessionUpdate":"session_info_update","title":null}}`},
	{"RequestPermissionRequest", "session/request_permission", `{"sessionId":"s","toolCall":{"toolCallId":"c"},"options":[{"optionId":"a","name":"A","kind":"allow_once"}]}`},
}

func sampleMessage(method, value string) (Message, string) {
	m := Message{ID: []byte("1"), Result: []byte(value)}
	if method == methodUpdate || method == methodPermission {
		return Message{Method: method, Params: []byte(value)}, ""
	}
	return m, method
}

func TestShapes(t *testing.T) {
	for _, s := range badSamples {
		if err := checkShape(sampleMessage(s.method, s.value)); err == nil {
			t.Errorf("%s passes: %s", s.name, s.value)
		}
	}
	for _, s := range goodSamples {
		if err := checkShape(sampleMessage(s.method, s.value)); err != nil {
			t.Errorf("%s: %v", s.value, err)
		}
	}
}

func TestSchema(t *testing.T) {
	path := SchemaPath()
	if path == "" {
		t.Skip("the protocol's schema is not beside the repository")
	}
	schema, err := LoadSchema(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range badSamples {
		if err := schema.Validate(s.def, []byte(s.value)); err == nil {
			t.Errorf("%s is a %s by the schema: %s", s.name, s.def, s.value)
		}
		if err := schema.check(sampleMessage(s.method, s.value)); err == nil {
			t.Errorf("%s passes for %s: %s", s.name, s.method, s.value)
		}
	}
	for _, s := range goodSamples {
		if err := schema.check(sampleMessage(s.method, s.value)); err != nil {
			t.Errorf("%s: %v", s.value, err)
		}
	}
}

func TestLoadSchemaRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"other.json": `{"$defs":{"Error":{}}}`, "bad.json": `{`} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := LoadSchema(path); err == nil {
			t.Errorf("%s was loaded", text)
		}
	}
	if _, err := LoadSchema(filepath.Join(dir, "none")); err == nil {
		t.Error("a file that is not there was loaded")
	}
}

func TestSchemaPath(t *testing.T) {
	root := t.TempDir()
	sub := filepath.Join(root, "module", "a", "b")
	schema := filepath.Join(root, "shared", "acp-schema", "v1.json")
	for _, dir := range []string{sub, filepath.Dir(schema)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(sub)
	if got := SchemaPath(); got != "" {
		t.Errorf("outside a module: %q", got)
	}
	write := func(path string) {
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(root, "module", "go.mod"))
	if got := SchemaPath(); got != "" {
		t.Errorf("without a schema: %q", got)
	}
	write(schema)
	if got := SchemaPath(); got != schema {
		t.Errorf("got %q, want %q", got, schema)
	}
}

func TestParseMessage(t *testing.T) {
	bad := []string{
		``, `x`, `[]`, `"x"`, `1`, `{}`, ` {"jsonrpc":"2.0","id":1,"result":{}}`, `{"id":1,"result":{}}`, `{"jsonrpc":"1.0","id":1,"result":{}}`,
		`{"jsonrpc":"2.0","result":{}}`, `{"jsonrpc":"2.0","id":1}`, `{"jsonrpc":"2.0","id":true,"result":{}}`, `{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}`,
		`{"jsonrpc":"2.0","id":1,"error":{"code":"1","message":"x"}}`, `{"jsonrpc":"2.0","id":1,"error":{"code":1}}`, `{"jsonrpc":"2.0","id":1,"error":null}`,
		`{"jsonrpc":"2.0","method":5}`, `{"jsonrpc":"2.0","method":"x","result":{}}`, `{"jsonrpc":"2.0","method":"x","params":5}`,
		`{"jsonrpc":"2.0","id":1,"id":1,"result":{}}`, "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"result\":{}}", `{"jsonrpc":"2.0","id":1,"result":{}}{}`,
	}
	for _, text := range bad {
		if _, err := parseMessage([]byte(text)); err == nil {
			t.Errorf("accepted: %s", text)
		}
	}
	for _, text := range []string{
		`{"jsonrpc":"2.0","id":1,"result":null}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`,
		`{"jsonrpc":"2.0","id":"a","method":"x"}`, `{"jsonrpc":"2.0","method":"x","params":{}}`,
	} {
		if _, err := parseMessage([]byte(text)); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestMatchLine(t *testing.T) {
	for _, test := range []struct {
		pattern, line string
		want          string // the values of names, or "no: " and part of the error
	}{
		{`{"a":1}`, `{"a":1}`, ``},
		{`{"a":1}`, `{"a":1.0}`, `no: not 1`},
		{`{"a":1}`, `{"a":2}`, `no: not 1`},
		{`{"a":1}`, `{"a":1,"b":2}`, `no: member "b"`},
		{`{"a":1,"…":"…"}`, `{"a":1,"b":2}`, ``},
		{`{"a":1,"b":2}`, `{"a":1}`, `no: no member "b"`},
		{`{"a":"<any>"}`, `{"a":[null]}`, ``},
		{`{"a":"<x>","b":"<x>"}`, `{"a":{"y":1},"b":{"y":1}}`, `x={"y":1}`},
		{`{"a":"<x>","b":"<x>"}`, `{"a":1,"b":"1"}`, `no: `},
		{`{"a":"one…two…three"}`, `{"a":"one, two and three"}`, ``},
		{`{"a":"one…two…three"}`, `{"a":"one and three"}`, `no: `},
		{`{"a":"…"}`, `{"a":""}`, ``},
		{`{"a":"…"}`, `{"a":1}`, `no: no string`},
		{`{"a":"x…x"}`, `{"a":"x"}`, `no: `},
		{`[1,2]`, `[1,2,3]`, `no: 3 elements`},
		{`[2,"…"]`, `[1,2,3]`, ``},
		{`[2,1,"…"]`, `[1,2,3]`, `no: nothing that matches`},
		{`[{"a":"<x>","b":2},"…"]`, `[{"a":1,"b":1},{"a":2,"b":2}]`, `x=2`},
		{`null`, `null`, ``},
		{`true`, `false`, `no: `},
		{`{"a":}`, `{}`, `no: not JSON`},
	} {
		names := map[string]string{}
		err := matchLine(test.pattern, []byte(test.line), names)
		if part, no := strings.CutPrefix(test.want, "no: "); no {
			if err == nil || !strings.Contains(err.Error(), part) {
				t.Errorf("%s over %s: %v, want an error that says %q", test.pattern, test.line, err, part)
			}
			if len(names) > 0 {
				t.Errorf("%s over %s: no match, and yet %v", test.pattern, test.line, names)
			}
			continue
		}
		got := ""
		for name, value := range names {
			got += name + "=" + value
		}
		if err != nil || got != test.want {
			t.Errorf("%s over %s: %q, %v, want %q", test.pattern, test.line, got, err, test.want)
		}
	}
}

func TestParseTranscript(t *testing.T) {
	for text, want := range map[string]string{
		"-- client --\n{}\n":                "must say which rule",
		"A rule.\n":                         "no sections",
		"A rule.\n-- editor --\n{}\n":       "neither client nor agent",
		"A rule.\n-- client --\n{}\n\n{}\n": "",
	} {
		tr, err := parseTranscript([]byte(text))
		switch {
		case want == "" && (err != nil || len(tr.parts) != 1 || len(tr.parts[0].lines) != 2):
			t.Errorf("%q: %v, %v", text, tr, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

// Transcripts fail, too.
func TestTranscriptFails(t *testing.T) {
	for bug, name := range map[string]string{
		"version-2": "handshake", "silent-refusals": "refusal", "mute": "run", "failure-completes": "failure", "cancel-is-end-turn": "cancel",
		"internal-errors": "junk", "initialize-resets": "initialize-twice", "accepts-underscore": "unknown-methods",
		"never-allows": "permission-allowed", "allows-anything": "permission-rejected",
	} {
		t.Run(bug+"/"+name, func(t *testing.T) {
			t.Parallel()
			tr, err := ReadTranscript(filepath.Join(transcripts, name+".txtar"))
			if err != nil {
				t.Fatal(err)
			}
			s, err := scriptedHere(t, bug).withDefaults(t)
			if err != nil {
				t.Fatal(err)
			}
			if err := s.attempt(t, check{name, tr.Rule, tr.replay}); err == nil {
				t.Error("the transcript passed")
			}
		})
	}
}

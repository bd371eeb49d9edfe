package acptest

import (
	"encoding/json"
	"strings"
	"testing"
)

// What is accepted is JSON, an object, and either a call or a response.
func FuzzParseMessage(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","method":"x","params":[]}`, `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`,
		`[]`, `{"jsonrpc":"2.0","id":{},"method":""}`, "\xff", `{"a":{"a":`, ``,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		m, err := parseMessage(line)
		if err != nil {
			return
		}
		var members map[string]json.RawMessage
		if json.Unmarshal(line, &members) != nil || string(members["jsonrpc"]) != `"2.0"` {
			t.Fatalf("accepted: %q", line)
		}
		if m.IsResponse() == (m.Result == nil && m.Error == nil) {
			t.Fatalf("neither a call nor a response: %q", line)
		}
	})
}

// A line without patterns in it matches itself, and binds nothing.
func FuzzMatchLine(f *testing.F) {
	for _, seed := range []string{`{"a":[1,"x",null]}`, `5`, `"x"`, `[[],{}]`, `1e400`, `{"a":1,"a":2}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		if _, err := decodeExact(line); err != nil {
			return
		}
		names := map[string]string{}
		err := matchLine(string(line), line, names)
		if strings.ContainsAny(string(line), "<…\\") {
			return // only that it does not panic
		}
		if err != nil || len(names) > 0 {
			t.Fatalf("%q does not match itself: %v, %v", line, err, names)
		}
	})
}

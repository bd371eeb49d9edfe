package acp

import (
	"bytes"
	"encoding/json"
	"testing"
)

// likeEncodingJSON is what encoding/json makes of v without HTML escaping.
func likeEncodingJSON(t *testing.T, v any) string {
	t.Helper()
	var buf bytes.Buffer
	e := json.NewEncoder(&buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		t.Fatal(err)
	}
	return string(bytes.TrimSuffix(buf.Bytes(), []byte("\n")))
}

func FuzzAppendString(f *testing.F) {
	for c := range 0x100 {
		f.Add(string(rune(c)))
		f.Add("a" + string([]byte{byte(c)}) + "b")
	}
	for _, s := range []string{"", "plain", `"quoted" \ and back`, "<b>&</b>", "line\u2028par\u2029end", "naïve 日本 🎶", "\xff\xfe", "cut \xf0\x9f\x8e", "\ufffd kept", "\xed\xa0\x80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if got, want := string(AppendString(nil, s)), likeEncodingJSON(t, s); got != want {
			t.Errorf("%q\n got %s\nwant %s", s, got, want)
		}
	})
}

// FuzzItems holds the reading of arrays against encoding/json.
func FuzzItems(f *testing.F) {
	for _, s := range []string{`[]`, `[ ]`, `[1]`, `[ "a" , {"b":[1,2]} ,[],null , -1e3,true]`, `[[[",]"]],{"]":"}"}]`, "[\n1\t,\r2 ]"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var want []json.RawMessage
		if len(s) == 0 || s[0] != '[' || json.Unmarshal([]byte(s), &want) != nil {
			return
		}
		got := items([]byte(s))
		if len(got) != len(want) {
			t.Fatalf("%q: %d items, want %d", s, len(got), len(want))
		}
		for i := range got {
			if string(got[i]) != string(want[i]) {
				t.Errorf("%q: item %d is %q, want %q", s, i, got[i], want[i])
			}
		}
	})
}

type selfMade struct{}

func (selfMade) AppendJSON(b []byte) ([]byte, error) { return append(b, `{"self":"made"}`...), nil }

func TestAppendValue(t *testing.T) {
	for _, c := range []struct {
		v    any
		want string
	}{
		{selfMade{}, `{"self":"made"}`},
		{map[string]int{"a<": 1}, `{"a<":1}`},
		{json.RawMessage("{\n}"), `{}`}, // one line
		{PromptResponse{StopReason: StopEndTurn}, `{"stopReason":"end_turn"}`},
		{PromptResponse{StopReason: StopEndTurn, Meta: Meta{"b": 1, "a": selfMade{}}}, `{"stopReason":"end_turn","_meta":{"a":{"self":"made"},"b":1}}`},
		{Text("a"), `{"type":"text","text":"a"}`},
		{ContentBlock{Type: ContentText, Text: "a", Meta: Meta{"x": nil}}, `{"type":"text","text":"a","_meta":{"x":null}}`},
		{SessionNotification{SessionID: "s\n", Update: AgentMessageChunk{Content: Text("é")}, Meta: Meta{"m": true}}, `{"sessionId":"s\n","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"é"}},"_meta":{"m":true}}`},
	} {
		got, err := AppendValue([]byte("before "), c.v)
		if err != nil || string(got) != "before "+c.want {
			t.Errorf("%#v\n got %s %v\nwant %s", c.v, got, err, c.want)
		}
	}
	if _, err := AppendValue(nil, func() {}); err == nil {
		t.Error("a function was encoded")
	}
}

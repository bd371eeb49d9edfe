package remotecmd

import (
	"testing"

	"github.com/chant-acp/chant-acp/runtime/gateway/client"
	"github.com/chant-acp/chant-acp/runtime/session"
)

func TestShown(t *testing.T) {
	for text, want := range map[string]string{
		"shop":                         "shop",
		"größe 日本":                     "größe 日本",
		"\x1b[31mred\x1b[0m":           "red",
		"\x1b]0;title\x07x\x1b]52;c;x": "x",
		"real\rfake\b":                 "real fake ",
		"a\nb\tc\r\n":                  "a b c  ",
		"a\x00b\x7fc\u009b31md":        "abc31md",
		"\u202egnp.exe":                "\ufffdgnp.exe",
		"\xff":                         "\ufffd",
	} {
		if got := shown(text); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

func TestHandle(t *testing.T) {
	list := []session.Info{
		{ID: "1", Name: "shop"}, {ID: "2", Name: "twice"}, {ID: "3", Name: "twice"}, {ID: "4"}, {ID: "5", Name: "a b"},
		{ID: "6", Name: "-x"}, {ID: "7", Name: "1"}, {ID: "8", Name: "$(x)"},
	}
	want := []string{"shop", "2", "3", "4", "5", "6", "7", "8"}
	for i, s := range list {
		if got := handle(s, list); got != want[i] {
			t.Errorf("%+v is called %q, want %q", s, got, want[i])
		}
	}
}

func TestState(t *testing.T) {
	three := 3
	for want, s := range map[string]session.Info{
		"running":          {State: session.StateRunning},
		"waiting":          {State: session.StateRunning, Turn: session.TurnWaiting},
		"ended":            {State: session.StateEnded},
		"ended with 3":     {State: session.StateEnded, ExitCode: &three},
		"ended by SIGKILL": {State: session.StateEnded, ExitCode: &three, Signal: "SIGKILL"},
	} {
		if got := state(s); got != want {
			t.Errorf("%+v is %q, want %q", s, got, want)
		}
	}
}

func TestSummary(t *testing.T) {
	for _, c := range []struct{ kind, data, want string }{
		{"session.started", `{"session":{"id":"s1","name":"shell","kind":"terminal","argv":["sh","-c","a b"]}}`, "shell  sh -c 'a b'"},
		{"session.ended", `{"session":{"id":"s1","state":"ended","exitCode":3}}`, "s1  ended with 3"},
		{"turn.started", `{"session":{"id":"s1"},"data":{"turn":1,"text":"plan\nstaging"}}`, "s1  plan staging"},
		{"turn.ended", `{"session":{"id":"s1"},"data":{"turn":1,"stopReason":"end_turn"}}`, "s1  end_turn"},
		{"step", `{"session":{"id":"s1"},"data":{"id":"t1","title":"\u001b[31mls","status":"completed"}}`, "s1  ls  completed"},
		{"request.opened", `{"session":{"id":"s1"},"data":{"id":"r1","toolCall":{"title":"Run it?"}}}`, "s1  Run it?"},
		{"conversation.changed", `{"id":"c1"}`, "c1"},
		{"gap", `{"missed":2,"detail":"look"}`, "2 events missed:  look"},
		{"gap", `{"detail":"look"}`, "look"},
		{"other", `[1]`, ""},
		{"other", `{"session":7}`, ""},
	} {
		if got := summary(client.Event{Type: c.kind, Data: []byte(c.data)}); got != c.want {
			t.Errorf("%s %s is %q, want %q", c.kind, c.data, got, c.want)
		}
	}
}

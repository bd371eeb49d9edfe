package remotecmd

import (
	"testing"

	"github.com/chant-acp/chant-acp/runtime/gateway"
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

// Every type of event has a row here, and its line says what it means.
func TestSummary(t *testing.T) {
	rows := []struct{ kind, data, want string }{
		{"session.started", `{"session":{"id":"s1","name":"shell","kind":"terminal","argv":["sh","-c","a b"]}}`, "shell  sh -c 'a b'"},
		{"session.ended", `{"session":{"id":"s1","state":"ended","exitCode":3}}`, "s1  ended with 3"},
		{"session.ended", `{"session":{"id":"s1","state":"ended","signal":"SIGHUP","reason":"it was killed on request"}}`, "s1  ended by SIGHUP  it was killed on request"},
		{"session.renamed", `{"session":{"id":"s1","name":"shop"}}`, "shop"},
		{"session.forgotten", `{"session":{"id":"s1"}}`, "s1"},
		{"turn.started", `{"session":{"id":"s1"},"data":{"turn":1,"text":"plan\nstaging"}}`, "s1  plan staging"},
		{"turn.ended", `{"session":{"id":"s1"},"data":{"turn":1,"stopReason":"end_turn"}}`, "s1  end_turn"},
		{"turn.ended", `{"session":{"id":"s1"},"data":{"turn":1,"stopReason":"end_turn","meta":{"chant":{"outcome":"failed","exitCode":3}}}}`, "s1  failed, exit code 3"},
		{"turn.ended", `{"session":{"id":"s1"},"data":{"turn":1,"stopReason":"end_turn","meta":{"chant":{"outcome":"waiting","runId":"h7k2m9"}}}}`, "s1  waiting, run h7k2m9"},
		{"turn.ended", `{"session":{"id":"s1"},"data":{"turn":1,"error":"the agent ended"}}`, "s1  the agent ended"},
		{"step", `{"session":{"id":"s1"},"data":{"id":"t1","title":"\u001b[31mls","status":"completed"}}`, "s1  ls  completed"},
		{"gate", `{"session":{"id":"s1"},"data":{"turn":1,"runId":"h7k2m9","gate":"ship"}}`, "s1  waits for a person at gate ship of run h7k2m9"},
		{"gate", `{"session":{"id":"s1"},"data":{"turn":1,"confirm":"k4p"}}`, "s1  waits for a person: confirm k4p"},
		{"request.opened", `{"session":{"id":"s1"},"data":{"id":"r1","toolCall":{"title":"Run it?"}}}`, "s1  asks: Run it?  (request r1)"},
		{"request.closed", `{"session":{"id":"s1"},"data":{"id":"r1","optionId":"allow_once"}}`, "s1  request r1 was answered: allow_once"},
		{"request.closed", `{"session":{"id":"s1"},"data":{"id":"r1"}}`, "s1  request r1 was cancelled"},
		{"gate.resolved", `{"run":"h7k2m9","gate":{"name":"ship","status":"approved","by":"ann","note":"tested"}}`, "gate ship of run h7k2m9: approved by ann (tested)"},
		{"gate.resolved", `{"run":"h7k2m9","gate":{"name":"ship","status":"rejected"}}`, "gate ship of run h7k2m9: rejected"},
		{"conversation.changed", `{"id":"c1"}`, "c1"},
		{"config.broken", `{"detail":"config.json:3:7: a comma is missing"}`, "config.json:3:7: a comma is missing"},
		{"heartbeat.loaded", `{"text":"it holds 2 lines to run"}`, "it holds 2 lines to run"},
		{"heartbeat.stopped", `{"text":"nothing runs: it has changed"}`, "nothing runs: it has changed"},
		{"heartbeat.started", `{"text":"line 3 runs: plan","job":"x","command":"plan"}`, "line 3 runs: plan"},
		{"heartbeat.ended", `{"text":"line 3, plan: failed","outcome":{"state":"failed","exitCode":3,"text":"no such thing"}}`, "line 3, plan: failed  exit code 3: no such thing"},
		{"heartbeat.skipped", `{"text":"line 3, plan, is due and is skipped: it still runs"}`, "line 3, plan, is due and is skipped: it still runs"},
		{"heartbeat.waits", `{"text":"line 3, plan, waits for a person: ship","outcome":{"state":"waiting","text":"ship"}}`, "line 3, plan, waits for a person: ship"},
		{"heartbeat.problem", `{"text":"what ran cannot be kept"}`, "what ran cannot be kept"},
		{"gap", `{"missed":2,"detail":"look"}`, "2 events missed:  look"},
		{"gap", `{"detail":"look"}`, "look"},
		{"other", `[1]`, ""},
		{"other", `{"session":7}`, ""},
	}
	said := make(map[string]bool)
	for _, c := range rows {
		said[c.kind] = true
		if got := summary(client.Event{Type: c.kind, Data: []byte(c.data)}); got != c.want {
			t.Errorf("%s %s is %q, want %q", c.kind, c.data, got, c.want)
		}
	}
	for _, kind := range gateway.EventKinds() {
		if !said[kind] {
			t.Errorf("%s has no row", kind)
		}
	}
}

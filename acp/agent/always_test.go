package agent_test

import (
	"fmt"
	"testing"
)

const always = `"result":{"outcome":{"outcome":"selected","optionId":"allow_always"}}`

// allow_always is for the same line in the same session, and for nothing else.
func TestAllowAlways(t *testing.T) {
	w := dial(t, setup{client: "zed"})
	session := w.newSession()
	id := w.begin(session, "ask")
	w.send(answerLine(w.asked(), always))
	w.ended(id)
	if o, log := w.prompt(session, "ask"); o.String() != "end_turn/completed" || log.statuses() != "in_progress completed" {
		t.Errorf("the same line: %s, %s", o, log.statuses())
	}
	for _, other := range []struct{ session, line string }{{session, "ask me"}, {w.newSession(), "ask"}} {
		id := w.begin(other.session, other.line)
		w.send(answerLine(w.asked(), rejected))
		if o := w.ended(id); o.String() != "end_turn/refused" {
			t.Errorf("%s: %s", other.line, o)
		}
	}
	if got, want := fmt.Sprint(w.host.runs()), "[ask ask]"; got != want {
		t.Errorf("ran %s, want %s", got, want)
	}
}

// A gate asks where the client is known to ask a person, and else says what to type.
func TestGatesByClient(t *testing.T) {
	for client, asks := range map[string]bool{"zed": true, "agent-shell": true, "CodeCompanion.nvim": true, "acpx": false, "something-new": false, "chant-acp-prompt": false, "": false} {
		w := dialOps(t, setup{client: client})
		session := w.newSession()
		id := w.begin(session, "run gated")
		if asks {
			ask := w.asked()
			for _, o := range ask.Params.Options {
				if o.Kind == "allow_always" {
					t.Errorf("%s: a gate offers %+v", client, o)
				}
			}
			w.send(answerLine(ask, gateAllowed))
		}
		want := map[bool]string{true: "completed", false: "waiting"}[asks]
		if o := w.ended(id); o.Meta.Chant.Outcome != want {
			t.Errorf("%s: %s", client, o)
		}
	}
}

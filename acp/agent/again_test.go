package agent_test

import (
	"fmt"
	"testing"

	"github.com/chant-acp/chant-acp/acp/agent"
)

// A line that was stopped and comes again at once is not taken to be meant where
// it changes something: a client may have sent it by itself.
func TestAStoppedLineThatComesAgain(t *testing.T) {
	stop := func(w *wire, session, line string) {
		t.Helper()
		id := w.begin(session, line)
		w.begun()
		w.send(cancelLine(session))
		if o := w.ended(id); o.String() != "cancelled/cancelled" {
			t.Fatalf("%s ended %s", line, o)
		}
	}
	for _, c := range []struct {
		client, stopped string
		then            []string
		want            string
	}{
		{"", "slow write", []string{"slow write"}, "end_turn/waiting"},
		{"", "slow write", []string{"/slow  write"}, "end_turn/waiting"},
		{"", "slow write", []string{"write"}, "end_turn/completed"},
		{"", "slow", []string{"slow"}, ""},                     // it reads
		{"", "slow write", []string{"help", "slow write"}, ""}, // something else was asked
	} {
		t.Run(fmt.Sprint(c.stopped, " ", c.then), func(t *testing.T) {
			w := dial(t, setup{client: c.client})
			session := w.newSession()
			stop(w, session, c.stopped)
			for _, line := range c.then[:len(c.then)-1] {
				w.prompt(session, line)
			}
			last := c.then[len(c.then)-1]
			if c.want == "" { // it runs
				stop(w, session, last)
				return
			}
			o, _ := w.prompt(session, last)
			if o.String() != c.want {
				t.Fatalf("%s ended %s", last, o)
			}
			if o.Meta.Chant.Confirm != "" {
				stop(w, session, "confirm "+o.Meta.Chant.Confirm)
			}
		})
	}
	t.Run("asks", func(t *testing.T) {
		w := dial(t, setup{client: "CodeCompanion.nvim"})
		session := w.newSession()
		stop(w, session, "slow write")
		id := w.begin(session, "slow write")
		w.send(answerLine(w.asked(), rejected))
		if o := w.ended(id); o.String() != "end_turn/refused" {
			t.Errorf("it ended %s", o)
		}
	})
	t.Run("another process", func(t *testing.T) {
		root, h := t.TempDir(), newStub(t)
		w := process(t, root, h, setup{})
		session := w.newSession()
		stop(w, session, "slow write")
		later := process(t, root, h, setup{options: agent.Options{}})
		later.resumed(session)
		if o, _ := later.prompt(session, "slow write"); o.String() != "end_turn/waiting" {
			t.Errorf("it ended %s", o)
		}
	})
}

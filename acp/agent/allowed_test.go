package agent_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/host"
)

// A command that waited, for a person or for the place, is looked up again when
// it is about to start.
func TestWhatIsNotAllowedAnyMoreDoesNotStart(t *testing.T) {
	for _, change := range []struct {
		name, manifest, says string // "" for a command that runs
	}{
		{"gone", "version: 1\ncommands: {}\n", "here is no command"},
		{"broken", "version: 1\nnonsense: 1\n", "here is no command"},
		{"something else", strings.ReplaceAll(stubManifest, "exec: [ok]", "exec: [fail]"), "something else now"},
		{"only touched", stubManifest + "\n# a comment\n", ""},
	} {
		t.Run("asked for, then "+change.name, func(t *testing.T) {
			h := newStub(t)
			w := dial(t, setup{host: h, client: "zed"})
			id := w.begin(w.newSession(), "ask")
			question := w.asked()
			h.write(change.manifest)
			w.send(answerLine(question, allowed))
			checkStart(t, w, h, id, "ask", change.says)
		})
		t.Run("queued, then "+change.name, func(t *testing.T) {
			h := newStub(t)
			hold := make(chan struct{})
			h.program("slow", func(r *stubRun) host.Result {
				r.print("begun\n")
				<-hold
				return host.Result{}
			})
			w := dial(t, setup{host: h})
			first := w.begin(w.newSession(), "slow")
			w.begun()
			session := w.newSession()
			id := w.begin(session, "ok")
			w.said(session, "Waiting for")
			h.write(change.manifest)
			close(hold)
			w.ended(first)
			checkStart(t, w, h, id, "ok", change.says)
		})
	}
}

// What a person said yes to is looked at again when the program is about to start.
func TestWhatIsNotWhatItWasDoesNotStart(t *testing.T) {
	h := newStub(t)
	hold := make(chan struct{})
	h.program("slow", func(r *stubRun) host.Result {
		r.print("begun\n")
		<-hold
		return host.Result{}
	})
	w := dial(t, setup{host: h})
	session := w.newSession()
	key := w.code(session, "wipe")
	first := w.begin(w.newSession(), "slow")
	w.begun()
	id := w.begin(session, "confirm "+key)
	w.said(session, "Waiting for")
	h.file("changed")
	close(hold)
	w.ended(first)
	checkStart(t, w, h, id, "wipe", "something else now than when it was asked for: version is new")
}

// The same between a question of the client and its answer.
func TestWhatChangedWhileAPersonWasAskedDoesNotStart(t *testing.T) {
	h := newStub(t)
	w := dial(t, setup{host: h, client: "zed"})
	id := w.begin(w.newSession(), "ask")
	question := w.asked()
	h.file("changed")
	w.send(answerLine(question, allowed))
	checkStart(t, w, h, id, "ask", "something else now than when it was asked for: version is new")
}

func checkStart(t *testing.T, w *wire, h *stubHost, id int, line, says string) {
	t.Helper()
	o := w.ended(id)
	want := "end_turn/completed"
	if says != "" {
		want = "refused"
	}
	if !strings.HasSuffix(o.String(), want) {
		t.Errorf("ended %s, want %s", o, want)
	}
	if started := slices.Contains(h.runs(), line); started != (says == "") {
		t.Errorf("started: %v", started)
	}
	if text := turnLog(w.seen).text(); !strings.Contains(text, says) {
		t.Errorf("it said %q, want %q in it", text, says)
	}
}

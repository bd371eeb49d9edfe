package agent_test

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/host"
)

// A run is replayed as it was told, to the same kind of client to the letter.
func TestReplayOfRuns(t *testing.T) {
	for _, live := range clientKinds {
		t.Run(live.name, func(t *testing.T) {
			root, h := t.TempDir(), newStub(t)
			h.ops = newStubOps(opScripts)
			w := process(t, root, h, setup{terminal: live.terminal, options: agent.Options{Gates: "ask"}})
			id := w.newSession()
			var want []string
			for _, line := range []string{"run good", "run bad", "run again", "run side", "run nope", "run log good"} {
				_, log := w.prompt(id, line)
				want = append(want, log.shown()...)
			}
			for _, answer := range []string{gateDismissed, gateAllowed} {
				from := len(w.seen)
				p := w.begin(id, "run gated")
				w.send(answerLine(w.asked(), answer))
				w.ended(p)
				want = append(want, turnLog(w.seen[from:]).shown()...)
			}
			want = joinText(want)
			for _, later := range clientKinds {
				log, _ := process(t, root, h, setup{terminal: later.terminal}).load(id)
				if got := joinText(log.shown()); later == live && !slices.Equal(got, want) {
					for i := range max(len(got), len(want)) {
						if i >= len(got) || i >= len(want) || got[i] != want[i] {
							t.Errorf("update %d of %d, want %d: %.600s\nwant %.600s", i, len(got), len(want), append(got, "")[min(i, len(got))], append(want, "")[min(i, len(want))])
							break
						}
					}
				}
				for _, text := range []string{"made a", "no way", "second", "[right] two", "Work › `make a`", "what it printed"} {
					if !later.terminal && !strings.Contains(log.text(), text) {
						t.Errorf("%s, then %s: %q is not told again", live.name, later.name, text)
					}
				}
			}
		})
	}
}

// A run that was cut off is closed at the next load, and stands in the history.
func TestTornRun(t *testing.T) {
	root, h := t.TempDir(), newStub(t)
	h.ops = newStubOps(opScripts)
	id := process(t, root, h, setup{}).newSession()
	at := time.Now().UTC()
	call := func(id string) agent.Event {
		return agent.Event{Kind: agent.EventCall, Time: at, Turn: "gone.1", CallID: id, Call: &agent.CallEvent{Title: id, Status: acp.ToolPending, Cwd: h.root, RawInput: []byte(`{"cmd":"x"}`), Line: "run good --env dev"}}
	}
	err := disk(t, root).Append(context.Background(), id, true,
		agent.Event{Kind: agent.EventPrompt, Time: at, Turn: "gone.1", Client: "c", Prompt: []acp.ContentBlock{acp.Text("run good")}},
		agent.Event{Kind: agent.EventPlan, Time: at, Turn: "gone.1", Plan: []acp.PlanEntry{{Content: "Work", Priority: "medium", Status: "in_progress"}}},
		call("step_a"), call("step_b"),
		agent.Event{Kind: agent.EventStart, Time: at, Turn: "gone.1", CallID: "step_a", Text: "\nWork › `a`\n"},
		agent.Event{Kind: agent.EventOutput, Time: at, Turn: "gone.1", CallID: "step_a", Text: "\n````````\nbegun\n"},
	)
	if err != nil {
		t.Fatal(err)
	}
	w := process(t, root, h, setup{})
	log, _ := w.load(id)
	got := log.statuses()
	if got != "pending pending in_progress failed failed" || !strings.Contains(log.text(), "This turn was interrupted") {
		t.Errorf("%s, %q", got, log.text())
	}
	if _, log := w.prompt(id, "history"); !strings.Contains(log.text(), "run good --env dev") {
		t.Errorf("history %q", log.text())
	}
	if o, _ := w.prompt(id, "again"); o.String() != "end_turn/completed" || w.host.ops.started[0].Ref.Env != "dev" {
		t.Errorf("again: %v, %+v", o, w.host.ops.started)
	}
	if state := w.host.ops.state("good"); state != host.RunCompleted {
		t.Errorf("the run is %s", state)
	}
}

package agent_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/host"
)

// content is what the tool calls of a turn hold in the end, by id.
func (l turnLog) content() map[string]string {
	out := map[string]string{}
	for _, m := range l {
		if u := m.Params.Update; (u.Kind == "tool_call" || u.Kind == "tool_call_update") && u.text() != "" {
			out[u.ToolCallID] = u.text() // it replaces what was there
		}
	}
	return out
}

func (l turnLog) terminal() string {
	var b strings.Builder
	for _, u := range l.updates("tool_call_update") {
		data, _ := u.Meta.Output["data"].(string)
		b.WriteString(data)
	}
	return b.String()
}

var shownClients = []struct {
	name, client   string
	terminal, bare bool
	where          string
}{
	{"Zed", "zed", true, false, "terminal"},
	{"Zed without terminals", "zed", false, false, "tool"},
	{"agent-shell", "agent-shell", false, false, "tool"},
	{"unknown", "something-new", false, false, "tool"},
	{"fountain", "", false, true, "tool"},
	{"avante, marimo", "", false, false, "message"},
	{"codecompanion", "CodeCompanion.nvim", false, false, "message"},
	{"vscode-acp", "vscode-acp-client", false, false, "message"},
	{"acpx", "acpx", false, false, "message"},
	{"prompt", agent.PromptClient, false, false, "message"},
}

// Every line that a program prints reaches every client once, in the place where
// it shows such lines; and no code block is open after any message.
func TestEveryLineReachesEveryClientOnce(t *testing.T) {
	for _, c := range shownClients {
		for _, lines := range []int{1, 3000} {
			t.Run(fmt.Sprint(c.name, " ", lines), func(t *testing.T) {
				h := newStub(t)
				h.program("ok", func(r *stubRun) host.Result {
					for i := range lines {
						r.print(fmt.Sprintf("line %d of ```\n", i))
					}
					return host.Result{}
				})
				w := dial(t, setup{host: h, client: c.client, terminal: c.terminal, bare: c.bare})
				_, log := w.prompt(w.newSession(), "ok")
				places := map[string]string{"message": log.text(), "terminal": log.terminal()}
				for _, text := range log.content() {
					places["tool"] += text
				}
				for place, text := range places {
					want := 0
					if place == c.where {
						want = 1
					}
					for i := range lines {
						if n := strings.Count(text, fmt.Sprintf("line %d of", i)); n != want {
							t.Fatalf("line %d stands %d times in the %s, want %d", i, n, place, want)
						}
					}
				}
				for _, u := range log.updates("agent_message_chunk") {
					if fenceOpen(u.text()) {
						t.Errorf("a code block is open after %q", u.text())
					}
				}
			})
		}
	}
}

// What was shown live stands in a thread that is opened again, in every client.
func TestEveryClientFindsTheOutputAgain(t *testing.T) {
	for _, live := range shownClients {
		root, h := t.TempDir(), newStub(t)
		w := process(t, root, h, setup{client: live.client, terminal: live.terminal, bare: live.bare})
		id := w.newSession()
		w.prompt(id, "ok")
		w.prompt(id, "fail")
		for _, later := range shownClients {
			log, _ := process(t, root, h, setup{client: later.client, terminal: later.terminal, bare: later.bare}).load(id)
			shown := log.text() + log.terminal()
			for _, text := range log.content() {
				shown += text
			}
			for _, line := range []string{"done\n", "no such thing\n", "failed with exit code 1"} {
				if n := strings.Count(shown, line); n != 1 {
					t.Errorf("%s, then %s: %q stands %d times in %q", live.name, later.name, line, n, shown)
				}
			}
		}
	}
}

// A client that shows no updates that come after a cancel is left outside of any
// code block.
func TestNoCodeBlockIsOpenAtACancel(t *testing.T) {
	w := dial(t, setup{client: "CodeCompanion.nvim"})
	session := w.newSession()
	from := len(w.seen)
	id := w.begin(session, "slow")
	w.said(session, "begun")
	shown := turnLog(w.seen[from:]).text()
	w.send(cancelLine(session))
	w.ended(id)
	if shown != "    begun\n" {
		t.Errorf("until the cancel it showed %q", shown)
	}
}

// What a client takes for itself is told to be typed in a way that arrives, and what
// it adds is left out.
func TestWhatAgentShellDoesToLines(t *testing.T) {
	w := dial(t, setup{client: "agent-shell"})
	session := w.newSession()
	if _, log := w.prompt(session, "nonsense"); !strings.Contains(log.text(), "`/help` lists everything") {
		t.Errorf("it said %q", log.text())
	}
	o, log := w.prompt(session, "ok\n\n/home/me/a b.go:12-14\n\nfunc main() {\n")
	if o.String() != "end_turn/completed" || !strings.Contains(log.text(), "`agent-shell-context-sources`") {
		t.Errorf("%s, it said %q", o, log.text())
	}
	if got := w.host.last().inv.Line; got != "ok" {
		t.Errorf("ran %q", got)
	}
	for _, text := range []string{"ok\n\nok", "ok\n\na:1-\n\nx", "ok\nb\n\na:1-2"} {
		if o, _ := w.prompt(session, text); o.Meta.Chant.Outcome != "refused" {
			t.Errorf("%q: %s", text, o)
		}
	}
}

// The list of commands is sent once to a client that keeps the first one.
func TestCommandsAreSentOnce(t *testing.T) {
	for client, want := range map[string]int{"zed": 1, "acpx": 1, "CodeCompanion.nvim": 2} {
		w := dial(t, setup{client: client})
		w.prompt(w.newSession(), "ok")
		lists := turnLog(w.seen).updates("available_commands_update")
		if len(lists) != want {
			t.Errorf("%s is sent %d lists", client, len(lists))
		}
		if c := lists[0].Commands[0]; c.Name != "ok" || c.Description != "print a line" {
			t.Errorf("%s: %+v", client, c)
		}
	}
}

// Every exec of acpx is a session of its own: what it is told of a code works.
func TestCodesInAcpx(t *testing.T) {
	w := dial(t, setup{client: "acpx"})
	if _, log := w.prompt(w.newSession(), "wipe"); !strings.Contains(log.text(), "sessions new") {
		t.Errorf("it said %q", log.text())
	}
}

// What git diff prints is shown as such.
func TestLanguageOfOutput(t *testing.T) {
	h := newStub(t)
	h.program("ok", func(r *stubRun) host.Result {
		r.print("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n")
		return host.Result{}
	})
	w := dial(t, setup{host: h, client: "agent-shell"})
	_, log := w.prompt(w.newSession(), "ok")
	for _, text := range log.content() {
		if !strings.HasPrefix(text, "```diff\ndiff --git ") {
			t.Errorf("the content is %q", text)
		}
	}
}

// A client that shows markdown as it comes is sent no fence.
func TestNoFenceIsShownRaw(t *testing.T) {
	w := dial(t, setup{client: "acpx"})
	session := w.newSession()
	for _, line := range []string{"help", "explain ok", "wipe", "wherre", "ok", "fail"} {
		if _, log := w.prompt(session, line); strings.Contains(log.text(), "```") {
			t.Errorf("%s said %q", line, log.text())
		}
	}
}

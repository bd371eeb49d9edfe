package turn

import (
	"fmt"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent/view"
	"github.com/chant-acp/chant-acp/host"
)

// greet sends what a client should know before the turn and may have missed:
// the slash commands at the first prompt and after a change, the notice, and
// what is wrong with the manifest.
func (t *Turn) greet(allow host.AllowList) {
	s := t.session
	s.mu.Lock()
	news, changed := s.shown != allow.Version, s.listed != allow.Version
	if s.shown == 0 && !changed && t.client.KeepsCommands {
		news = false // the list that followed session/new was the same
	}
	s.shown = allow.Version
	problem := ""
	if allow.Problem != nil {
		problem = allow.Problem.Error()
	}
	tell := problem != s.problem && problem != ""
	s.problem = problem
	s.mu.Unlock()
	if news {
		t.Show(s.Commands())
	}
	if changed {
		t.Show(acp.ConfigOptionUpdate{ConfigOptions: s.ConfigOptions()})
	}
	noticed := t.notice()
	if tell {
		t.recorder.say("The project's commands are not available, because its manifest can't be used. The built-in commands still work.\n\n" + view.Fenced(problem) + "\n\n")
	}
	if news || changed || noticed || tell {
		t.Flush()
	}
}

// notice tells the client the agent's notice, if it was not told yet.
func (t *Turn) notice() bool {
	n := t.conn.Options.Notice
	if n.Text == "" || !t.conn.noticed.CompareAndSwap(false, true) {
		return false
	}
	text := n.Text + "\n\n"
	if n.Detail != "" {
		text += view.Fenced(n.Detail) + "\n\n"
	}
	t.recorder.say(text)
	return true
}

// withoutContext is the text of a prompt without the lines of a buffer that the
// client put below it, and says so once.
func (t *Turn) withoutContext(text string) string {
	if !t.client.AddsContext {
		return text
	}
	line, source, ok := view.CutContext(text)
	if !ok {
		return text
	}
	if !t.cutContext {
		t.cutContext = true
		t.recorder.say(fmt.Sprintf("What %s added of %s is left out: a prompt is one command line. The variable `agent-shell-context-sources` says what it adds.\n\n", t.client.Name, view.Code(source)))
	}
	return line
}

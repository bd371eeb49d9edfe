package agent_test

import (
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/host"
)

// Each client is told the notice once, at its first prompt, whatever becomes of
// that; the detail is shown as it is.
func TestNotice(t *testing.T) {
	h := newStub(t)
	a := agent.New(agent.Options{
		Version: "test", Log: zerolog.Nop(), Open: func(string) host.Host { return h },
		Notice: agent.Notice{Text: "The defaults count.", Detail: "c.json:1:2: *no* `key`"},
	})
	for _, first := range []string{"ok", "nonsense", "help"} {
		w := attach(t, a, setup{}, h)
		session := w.newSession()
		_, log := w.prompt(session, first)
		text := log.text()
		if !strings.HasPrefix(text, "The defaults count.\n\n") || strings.Count(text, "\nc.json:1:2: *no* `key`\n") != 1 {
			t.Errorf("%s: the first turn says %q", first, text)
		}
		for _, session := range []string{session, w.newSession()} {
			if _, log := w.prompt(session, "ok"); strings.Contains(log.text(), "defaults") {
				t.Errorf("%s: it was said again: %q", first, log.text())
			}
		}
	}
}

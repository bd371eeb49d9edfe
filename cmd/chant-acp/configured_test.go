package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// configure gives the commands over the state of s a configuration.
func (s *served) configure(text string) {
	s.t.Helper()
	path := filepath.Join(s.t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.t.Fatal(err)
	}
	s.cmd.Env = append(s.cmd.Env, "CHANT_ACP_CONFIG="+path, "EDITOR="+os.Getenv("EDITOR"), "VISUAL=")
}

// serveConfigured is an agent with a configuration, and a session in dir.
func serveConfigured(t *testing.T, dir, text string, args ...string) *served {
	t.Helper()
	c := program(t, args...)
	(&served{t: t, cmd: c}).configure(text)
	s := serveWith(t, c, dir)
	s.open("session/new", "")
	return s
}

// told is what the client was told in a turn.
func (s *served) told(line string) (text string, answer message) {
	s.t.Helper()
	s.prompt(line)
	var b strings.Builder
	for {
		m := s.next()
		if string(m.ID) == `"turn"` {
			return b.String(), m
		}
		b.WriteString(m.raw)
	}
}

// A broken configuration is told once, with its place; the turns go on.
func TestBrokenConfiguration(t *testing.T) {
	dir, _ := fixture(t)
	for text, says := range map[string][]string{
		"{\n  \"agent\": {,}\n}":               {"The configuration can't be used, so the defaults count", "config.json:2:13: a key in double quotation marks belongs here"},
		"[]":                                   {"config.json:1:1: the file has to hold an object"},
		"{\n  \"agent\": {\"output\": \"x\"}}": {"Some values of the configuration can't be used", "config.json:2:23: agent.output must be one of auto, full, plain, quiet"},
		`{"activeProfile": "gone"}`:            {"Some values of the configuration can't be used", `activeProfile is not used: there is no profile \"gone\"`},
	} {
		s := serveConfigured(t, dir, text)
		first, m := s.told("hello")
		if m.Result.StopReason != "end_turn" {
			t.Errorf("%s: %s", text, m.raw)
		}
		for _, want := range says {
			if strings.Count(first, want) != 1 {
				t.Errorf("%s: the first turn does not say once %q: %s", text, want, first)
			}
		}
		first, _, _ = strings.Cut(first, `"tool_call"`)
		if !strings.Contains(first, says[0]) {
			t.Errorf("%s: it was not said before the command ran", text)
		}
		id := s.session
		for range 2 {
			if again, _ := s.told("hello"); strings.Contains(again, says[0]) {
				t.Errorf("%s: it was said again: %s", text, again)
			}
			s.open("session/new", "")
		}
		s.in.Close()
		s.exit()
		if s.stderr.Len() > 0 {
			t.Errorf("%s: standard error has %s", text, &s.stderr)
		}
		if out, err := sessionsOf(s, "show", id); err != nil || !strings.Contains(out, says[0]) {
			t.Errorf("%s: it is not in the thread: %v, %s", text, err, out)
		}
	}
}

// A configuration without fault is not spoken of.
func TestQuietConfiguration(t *testing.T) {
	dir, _ := fixture(t)
	s := serveConfigured(t, dir, `{"unknown": 1, "log": {"max": "1 MiB"}}`)
	if text, _ := s.told("hello"); strings.Contains(text, "can't be used") {
		t.Error(text)
	}
	s.in.Close()
	s.exit()
}

// Flag, environment, profile, file, default: each in turn is taken away.
func TestConfigurationPrecedence(t *testing.T) {
	dir, _ := fixture(t)
	const all = `{"agent": {"refusal": "refusal"}, "profiles": {"p": {"agent": {"refusal": "end_turn"}}}}`
	for _, c := range []struct {
		config, env string
		args        []string
		want        string
	}{
		{all, "refusal", []string{"--refusal", "end_turn", "--profile", "p"}, "end_turn"},
		{all, "refusal", []string{"serve", "--profile", "p"}, "refusal"},
		{all, "", []string{"--profile", "p"}, "end_turn"},
		{all, "", nil, "refusal"},
		{`{"agent": {"refusal": "end_turn"}}`, "", nil, "end_turn"},
		{`{}`, "", nil, "refusal"}, // for a client of which nothing is known
		{`{"agent": {"refusal": "end_turn"}}`, "", []string{"--refusal", "auto"}, "refusal"},
	} {
		t.Setenv("CHANT_ACP_AGENT_REFUSAL", c.env)
		s := serveConfigured(t, dir, c.config, c.args...)
		if _, m := s.told("nope"); m.Result.StopReason != c.want {
			t.Errorf("%+v: %s", c, m.raw)
		}
		s.in.Close()
		s.exit()
	}
}

func TestConfiguredExitIdle(t *testing.T) {
	dir, _ := fixture(t)
	s := serveConfigured(t, dir, `{"agent": {"exitIdle": "1ms"}}`)
	s.running("wait", "started")
	s.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, s.session))
	s.answer("turn")
	s.exit() // by itself: its input is open
}

// The conversations of all workspaces go to one folder, which may be a link.
func TestConfiguredConversations(t *testing.T) {
	dir, _ := fixture(t)
	root := t.TempDir()
	link := filepath.Join(root, "link")
	if err := os.Mkdir(filepath.Join(root, "real"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("real", link); err != nil {
		t.Fatal(err)
	}
	for _, to := range []string{filepath.Join(root, "new", "folder"), link} {
		s := serveConfigured(t, dir, fmt.Sprintf(`{"conversations": {"dir": %q}}`, to))
		s.told("hello")
		s.in.Close()
		s.exit()
		text, err := os.ReadFile(filepath.Join(to, s.session+".md"))
		if err != nil || !strings.Contains(string(text), "## user") {
			t.Errorf("%v, %s", err, text)
		}
	}
}

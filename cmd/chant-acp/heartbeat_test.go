package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/host/process"
	"github.com/chant-acp/chant-acp/internal/origin"
)

// Trust is given by a person who has seen what it is about, and by nothing else
// that can be typed.
func TestHeartbeatTrustOnTerminal(t *testing.T) {
	for name, test := range map[string]struct {
		typed string
		code  int
		says  string
	}{
		"y":          {"y\n", console.OK, "Trusted."},
		"Yes":        {"Yes\n", console.OK, "Trusted."},
		"only enter": {"\n", console.Refused, "nothing was trusted"},
		"n":          {"n\n", console.Refused, "nothing was trusted"},
		"yep":        {"yep\n", console.Refused, "nothing was trusted"},
		"the end":    {"\x04", console.Refused, "nothing was trusted"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			heartbeat := func(name string) *exec.Cmd {
				c := program(t, "heartbeat", name, "--workspace", dir)
				c.Env = append(c.Env, "CHANT_ACP_STATE="+filepath.Join(dir, "state"))
				return c
			}
			file := filepath.Join(dir, "HEARTBEAT.md")
			if err := os.WriteFile(file, []byte("```chant\nevery: 10m\nplan dev\n```\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			x := onPTY(t, heartbeat("trust"))
			x.expect(`(?s)line 3: plan dev\n  every 10m; once trusted, due .* UTC\n  NOT ALLOWED: .*May these run by themselves, as you\? \[y/N\] `)
			x.typed(test.typed)
			if text := x.exit(test.code); !strings.Contains(text, test.says) {
				t.Errorf("%q is not said:\n%s", test.says, text)
			}
			out, err := heartbeat("status").Output()
			if trusted := strings.Contains(string(out), "Trusted since"); err != nil || trusted != (test.code == console.OK) {
				t.Errorf("trusted: %v %v", trusted, err)
			}
		})
	}
}

// A program that chant-acp runs, or what stands for no person, trusts nothing.
func TestHeartbeatTrustByProgram(t *testing.T) {
	for _, variable := range []string{process.TokenVar + "=somebody's", origin.Variable + "=mcp", origin.Variable + "=heartbeat"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "HEARTBEAT.md"), []byte("```chant\nevery: 10m\nplan dev\n```\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		state := "CHANT_ACP_STATE=" + filepath.Join(dir, "state")
		c := program(t, "heartbeat", "trust", "--yes", "--workspace", dir)
		c.Env = append(c.Env, state, variable)
		if out, err := c.CombinedOutput(); c.ProcessState.ExitCode() != console.Refused || !strings.Contains(string(out), "nothing was trusted: a person has to") {
			t.Errorf("%s: %v\n%s", variable, err, out)
		}
		c = program(t, "heartbeat", "status", "--workspace", dir)
		c.Env = append(c.Env, state)
		if out, err := c.CombinedOutput(); err != nil || !strings.Contains(string(out), "It is not trusted") {
			t.Errorf("%s: %v\n%s", variable, err, out)
		}
	}
}

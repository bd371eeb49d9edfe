package agentcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/cmd/internal/console/consoletest"
	"github.com/chant-acp/chant-acp/host/process"
)

func TestMain(m *testing.M) {
	process.GuardMain()
	goleak.VerifyTestMain(m)
}

func TestPrompt(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("CHANT_ACP_STATE", filepath.Join(dir, "state"))
	t.Setenv("CHANT_ACP_CONFIG", filepath.Join(dir, "none.json"))
	const manifest = `version: 1
commands:
  hello: {summary: Say hello, exec: [echo, hello], effect: read}
  fail: {summary: Fail, exec: [sh, -c, exit 3]}
  killed: {summary: Kill itself, exec: [sh, -c, kill -9 $$]}
  ask: {summary: Ask first, exec: [echo, allowed], confirm: ask}
`
	if err := os.WriteFile(filepath.Join(dir, "chant-acp.yaml"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args     []string
		code     int
		out, err string
	}{
		{[]string{"hello"}, console.OK, "> hello\nhello\n", ""},
		{[]string{"--json", "hello"}, console.OK, `"stopReason":"end_turn"`, ""},
		{[]string{"fail"}, console.Failed, "exit code 3", ""},
		{[]string{"--exit-code", "fail"}, 3, "exit code 3", ""},
		{[]string{"--exit-code", "killed"}, 128 + 9, "SIGKILL", ""},
		{[]string{"--exit-code", "hello"}, console.OK, "hello\n", ""},
		{[]string{"--exit-code", "helo"}, console.Refused, "here is no command", ""},
		{[]string{"helo"}, console.Refused, "here is no command", ""},
		{[]string{"ask"}, console.Refused, "", "there is no terminal to ask on"},
		{[]string{"--yes", "ask"}, console.OK, "allowed\n", ""},
		{nil, console.Usage, "", "prompt takes a command line"},
		{[]string{"--output", "loud", "hello"}, console.Usage, "", "--output takes auto"},
	} {
		r := consoletest.Run(t, NewPrompt, append([]string{"--cwd", dir}, c.args...)...)
		if r.Code != c.code || !strings.Contains(r.Out, c.out) || !strings.Contains(r.Err, c.err) {
			t.Errorf("prompt %q: %+v", c.args, r)
		}
	}
}

func TestVersion(t *testing.T) {
	if r := consoletest.Run(t, NewVersion); r.Code != console.OK || !strings.HasPrefix(r.Out, "chant-acp ") {
		t.Errorf("%+v", r)
	}
}

// Nothing that is no agent's client is spoken to.
func TestServeWithoutAnInput(t *testing.T) {
	if r := consoletest.Run(t, NewServe, "--log-level", "loud"); r.Code != console.Usage || !strings.Contains(r.Err, "--log-level takes debug") {
		t.Errorf("%+v", r)
	}
}

package configcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/cmd/internal/console/consoletest"
)

// configured makes a configuration count, and returns its path.
func configured(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CHANT_ACP_CONFIG", path)
	return path
}

func TestSetGetUnset(t *testing.T) {
	path := configured(t, `{"version": 1, "log": {"max": 5}}`)
	for _, c := range []struct {
		args     []string
		code     int
		out, err string
	}{
		{[]string{"path"}, console.OK, path, ""},
		{[]string{"get", "log.max"}, console.OK, "5", ""},
		{[]string{"set", "agent.output", "full"}, console.OK, "", ""},
		{[]string{"get", "agent.output"}, console.OK, "full", ""},
		{[]string{"list"}, console.OK, "full", ""},
		{[]string{"set", "agent.output", "loud"}, console.Failed, "", "agent.output"},
		{[]string{"set", "tunnel.host", "wss://relay.example"}, console.OK, "", "does nothing: nothing reads tunnel.host yet"},
		{[]string{"set", "daemon.label", "laptop"}, console.OK, "", "nothing reads daemon.label yet"},
		{[]string{"set", "agent.ouput", "full"}, console.OK, "", "did you mean agent.output?"},
		{[]string{"unset", "agent.output"}, console.OK, "", ""},
		{[]string{"get", "agent.output"}, console.Failed, "", "its default is auto"},
		{[]string{"get"}, console.Usage, "", "chant-acp --help"},
	} {
		r := consoletest.Run(t, NewConfig, c.args...)
		if r.Code != c.code || !strings.Contains(r.Out, c.out) || !strings.Contains(r.Err, c.err) {
			t.Errorf("config %q: %+v", c.args, r)
		}
	}
}

// Whatever the editor does, the file is changed to something that can be used, or
// not at all.
func TestEdit(t *testing.T) {
	const before = `{"version": 1}`
	for _, c := range []struct {
		editor, after, says string
		code                int
	}{
		{`sh -c 'printf "{\"version\": 1, \"log\": {\"max\": 7}}" >"$0"'`, `{"version": 1, "log": {"max": 7}}`, "Saved", console.OK},
		{`sh -c 'printf "{" >"$0"'`, before, "was not changed; the edit is in", console.Failed},
		{`sh -c 'printf "{\"log\": {\"max\": -7}}" >"$0"'`, before, "log.max", console.Failed},
		{`sh -c 'exit 3'`, before, "exit status 3\nNothing was changed", console.Failed},
		{`true`, before, "Nothing was changed.", console.OK},
		{`sh -c 'open`, before, "EDITOR can't be split", console.Usage},
	} {
		path := configured(t, before)
		t.Setenv("VISUAL", "")
		t.Setenv("EDITOR", c.editor)
		r := consoletest.Run(t, NewConfig, "edit")
		after, err := os.ReadFile(path)
		if err != nil || r.Code != c.code || string(after) != c.after || !strings.Contains(r.Out+r.Err, c.says) {
			t.Errorf("EDITOR=%s: %+v; the file is %s, %v", c.editor, r, after, err)
		}
	}
}

func TestSchema(t *testing.T) {
	if r := consoletest.Run(t, NewSchema, "config"); r.Code != console.OK || !strings.Contains(r.Out, `"https://json-schema.org/draft/2020-12/schema"`) {
		t.Errorf("%+v", r)
	}
	if r := consoletest.Run(t, NewSchema, "nothing"); r.Code != console.Usage || !strings.Contains(r.Err, "there is: config, manifest, op") {
		t.Errorf("%+v", r)
	}
}

func TestSetup(t *testing.T) {
	if r := consoletest.Run(t, NewSetup, "zed"); r.Code != console.OK || !strings.Contains(r.Out, `"agent_servers"`) || !strings.Contains(r.Err, "Where it goes: ") {
		t.Errorf("%+v", r)
	}
	if r := consoletest.Run(t, NewSetup, "ed"); r.Code != console.Usage {
		t.Errorf("%+v", r)
	}
}

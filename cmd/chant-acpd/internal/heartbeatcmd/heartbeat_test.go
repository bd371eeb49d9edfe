package heartbeatcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/cmd/internal/console/consoletest"
)

func TestHeartbeat(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("CHANT_ACP_STATE", filepath.Join(dir, ".state"))
	if err := os.WriteFile(filepath.Join(dir, "chant-acp.yaml"), []byte("version: 1\ncommands: {plan: {summary: Plan, exec: [echo], effect: read}}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	look := func(code int, says string, args ...string) {
		t.Helper()
		if r := consoletest.Run(t, New, append(args, "--workspace", dir)...); r.Code != code || !strings.Contains(r.Out+r.Err, says) {
			t.Errorf("heartbeat %q: %+v", args, r)
		}
	}
	look(console.OK, "HEARTBEAT.md", "status")
	if err := os.WriteFile(filepath.Join(dir, "HEARTBEAT.md"), []byte("```chant\nevery: 10m\nplan\n```\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	look(console.OK, "It is not trusted", "status")
	look(console.Refused, "there is no terminal to ask on", "trust")
	look(console.OK, "Trusted.", "trust", "--yes")
	look(console.OK, "Trusted since", "status")
	look(console.OK, "runs by itself any more", "untrust")
}

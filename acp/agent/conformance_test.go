package agent_test

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rs/zerolog"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/acptest"
	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/project"
	"github.com/chant-acp/chant-acp/runtime/thread"
)

const conformanceManifest = `version: 1
commands:
  hello: {summary: Say hello, exec: [echo, hello], effect: read}
  fail: {summary: Fail, exec: [sh, -c, 'echo no; exit 3'], effect: read}
  slow: {summary: Wait, exec: [sh, -c, 'echo waiting; exec sleep MARK'], effect: read}
  stubborn: {summary: Wait and ignore SIGTERM, exec: [sh, -c, 'trap "" TERM; echo waiting; sleep MARK'], grace: 200ms, effect: read}
  big: {summary: Print much, exec: [seq, "2000000"], effect: read}
  awkward: {summary: Print what is no text, exec: [sh, -c, 'printf "\377\376 a\rb\033[31mred\033[0m\033]0;title\007\n"; head -c 100000 /dev/zero | tr "\0" x; printf "\n\342\202"'], effect: read}
  ask: {summary: Make a file, exec: [touch, asked], confirm: ask}
`

// TestConformance puts the agent, within this process, under the suite that any
// agent of the protocol can be put under.
func TestConformance(t *testing.T) {
	t.Run("forgetful", func(t *testing.T) { t.Parallel(); conform(t, "") })
	t.Run("kept", func(t *testing.T) { t.Parallel(); conform(t, t.TempDir()) })
}

// conform runs the suite over an agent that keeps its sessions below root, where
// one is given. Each connection has an agent and a store of its own, as if it
// were another process.
func conform(t *testing.T, root string) {
	dir := t.TempDir()
	mark := "1" + strconv.Itoa(os.Getpid()) + ".25" + strconv.Itoa(len(root)) // seconds, and unlike those of anybody else
	text := strings.ReplaceAll(conformanceManifest, "MARK", mark)
	if err := os.WriteFile(filepath.Join(dir, "chant-acp.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	logs := filepath.Join(t.TempDir(), "state", "logs")
	serve := func(c acp.Transport) {
		o := agent.Options{Version: "test", Confirm: "ask", Log: zerolog.Nop(), Open: func(cwd string) host.Host {
			return project.New(cwd, project.Options{Env: os.Environ(), LogDir: logs})
		}}
		if root != "" {
			store := thread.New(root)
			defer func() { _ = store.Close() }() // an fsync that fails is no matter of the protocol
			o.Store = store
		}
		a := agent.New(o)
		_ = a.Serve(context.Background(), c) // a failed write is part of the suite
	}
	acptest.Run(t, acptest.Agent{
		Dial: acptest.Pipe(serve),
		Cwd:  dir,
		OK:   "hello", Hello: "hello", Fail: "fail", Refused: "no such command",
		Slow: "slow", Stubborn: "stubborn", Marker: mark,
		Big: "big", Awkward: "awkward",
		Ask: "ask", AskFile: filepath.Join(dir, "asked"),
		Schema:      acptest.SchemaPath(),
		Transcripts: "../../testdata/transcripts",
		Strict:      true,
		MaxWrite:    maxLine,
		Patience:    patience,
		Durable:     root != "",
	})
}

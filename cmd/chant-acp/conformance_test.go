package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/acp/acptest"
)

// raced says that the race detector watches.
var raced bool

// TestConformance puts the command, as a process, under the suite that any
// agent of the protocol can be put under.
func TestConformance(t *testing.T) {
	t.Parallel()
	dir, mark := fixture(t)
	text := strings.ReplaceAll(`version: 1
commands:
  hello: {summary: Say hello, exec: [echo, hello], effect: read}
  fail: {summary: Fail, exec: [sh, -c, 'echo no; exit 3'], effect: read}
  slow: {summary: Wait, exec: [sh, -c, 'echo waiting; exec sleep MARK'], effect: read}
  stubborn: {summary: Wait and ignore SIGTERM, exec: [sh, -c, 'trap "" TERM; echo waiting; sleep MARK'], grace: 200ms, effect: read}
  big: {summary: Print much, exec: [seq, "2000000"], effect: read}
  awkward: {summary: Print what is no text, exec: [sh, -c, 'printf "\377\376 a\rb\033[31mred\033[0m\033]0;title\007\n"; head -c 100000 /dev/zero | tr "\0" x; printf "\n\342\202"'], effect: read}
  ask: {summary: Make a file, exec: [touch, asked], confirm: ask}
`, "MARK", mark)
	if err := os.WriteFile(filepath.Join(dir, "chant-acp.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	longest := 32 << 20
	if raced { // each line of that size would take the detector most of a minute
		longest = 0
	}
	env := append(os.Environ(), "CHANT_ACP_STATE="+filepath.Join(t.TempDir(), "state"))
	acptest.Run(t, acptest.Agent{
		// The suite is no client that is known to ask a person.
		Dial:  acptest.Spawn([]string{binary(t), "--confirm", "ask"}, env, "/"),
		Cwd:   dir,
		OK:    "hello",
		Fail:  "fail",
		Hello: "hello",

		Refused:  "no such command",
		Slow:     "slow",
		Stubborn: "stubborn",
		Big:      "big",
		Awkward:  "awkward",
		Ask:      "ask",
		AskFile:  filepath.Join(dir, "asked"),
		Marker:   mark,

		Schema:      acptest.SchemaPath(),
		Transcripts: "../../testdata/transcripts",
		Strict:      true,
		Durable:     true,
		MaxRead:     longest,
		MaxWrite:    24 << 10,
		Patience:    patience,
	})
}

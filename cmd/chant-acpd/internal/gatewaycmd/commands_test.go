package gatewaycmd

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/chant-acp/chant-acp/internal/testenv"
	"github.com/chant-acp/chant-acp/runtime/gateway"
)

// heard passes on what a turn says.
type heard chan string

func (h heard) said(text string) { h <- text }

// until waits until a text was said.
func (h heard) until(t *testing.T, text string) {
	t.Helper()
	late := time.After(testenv.Hang)
	for all := ""; !strings.Contains(all, text); {
		select {
		case piece := <-h:
			all += piece
		case <-late:
			t.Fatalf("%q was not said, but %q", text, all)
		}
	}
}

// A cancelled call ends what it runs, one that waits for its turn starts nothing,
// and what only reads waits for neither.
func TestCommandsAreCancelled(t *testing.T) {
	isolated(t)
	dir := t.TempDir()
	manifest := "version: 1\ncommands:\n" +
		"  hold: {summary: Hold, exec: [./hold], effect: write}\n" +
		"  mark: {summary: Mark, exec: [touch, marked], effect: write}\n" +
		"  look: {summary: Look, exec: [echo, looked], effect: read}\n"
	hold := "#!/bin/sh\necho holding\ntrap 'touch ended; exit 0' TERM\nwhile :; do sleep 0.05; done\n"
	for name, text := range map[string]string{"chant-acp.yaml": manifest, "hold": hold} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	c := newGatewayCommands(zerolog.Nop(), "")
	defer c.close()
	type ended struct {
		outcome gateway.Outcome
		err     error
	}
	run := func(line string) (heard, context.CancelFunc, <-chan ended) {
		ctx, cancel := context.WithCancel(t.Context())
		said, over := make(heard, 1000), make(chan ended, 1)
		go func() {
			out, err := c.Run(ctx, dir, line, said.said)
			over <- ended{out, err}
		}()
		return said, cancel, over
	}
	holding, endHold, held := run("hold")
	holding.until(t, "holding")
	marking, endMark, marked := run("mark")
	marking.until(t, "Waiting for `hold`")
	looking, endLook, looked := run("look")
	defer endLook()
	looking.until(t, "looked")
	if l := <-looked; l.err != nil || l.outcome.Outcome != "completed" {
		t.Errorf("the look: %+v", l)
	}
	endMark()
	if m := <-marked; m.err != nil || m.outcome.Outcome != "cancelled" {
		t.Errorf("the one that waited: %+v", m)
	}
	endHold()
	if h := <-held; h.err != nil || h.outcome.Outcome != "cancelled" {
		t.Errorf("the one that ran: %+v", h)
	}
	for name, want := range map[string]bool{"ended": true, "marked": false} {
		if _, err := os.Stat(filepath.Join(dir, name)); (err == nil) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if out, err := c.Run(gone, dir, "mark", func(string) {}); !errors.Is(err, context.Canceled) {
		t.Errorf("for nobody: %+v %v", out, err)
	}
}

package main

import (
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/creack/pty"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/runtime/gateway"
	"github.com/chant-acp/chant-acp/runtime/gateway/client"
)

// TestAttachToGateway is a person at a terminal of a real gateway.
func TestAttachToGateway(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := serveWorkspace(t, dir)
	// Each line is answered with the size that the program sees; "end" ends it.
	script := `while read -r line; do test "$line" = end && exit 7; echo "[$line]"; stty size; done`
	if err := startTerminal(dir, "lines", []string{"sh", "-c", script}); err != nil {
		t.Fatal(err)
	}
	attached := func() *terminal {
		return onPTYOf(t, program(t, "attach", "--workspace", dir, "lines"), 100, 30)
	}
	x := attached()
	x.typed("größe\r")
	x.expect(`\[größe\]\n`)
	x.asks("30 100")
	if err := pty.Setsize(x.master, &pty.Winsize{Cols: 81, Rows: 25}); err != nil {
		t.Fatal(err)
	}
	x.asks("25 81")
	x.typed("\x1dd")
	if text := x.exit(console.OK); !strings.Contains(text, "[detached from lines, which runs on]") {
		t.Errorf("the terminal shows %q", text)
	}

	again := attached()
	again.expect(`\[größe\]\n`) // what was printed before
	again.asks("30 100")
	second := attached()
	second.expect(`\[größe\]\n`)
	second.typed("end\r")
	for _, x := range []*terminal{again, second} {
		if text := x.exit(7); !strings.Contains(text, "[lines has ended with the exit code 7]") {
			t.Errorf("the terminal shows %q", text)
		}
	}
	if err := g.end(syscall.SIGTERM, console.OK); err != nil {
		t.Error(err)
	}
}

// TestAttachStalled stops a client, as Ctrl-Z of another kind would, until the
// gateway has dropped it.
func TestAttachStalled(t *testing.T) {
	t.Parallel()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	g := serveWorkspace(t, dir)
	if err := startTerminal(dir, "yes", []string{"sh", "-c", "echo ready; read -r line; yes"}); err != nil {
		t.Fatal(err)
	}
	at, err := gateway.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	x := onPTYOf(t, program(t, "attach", "--workspace", dir, "yes"), 100, 30)
	x.expect("ready")
	x.signal(syscall.SIGSTOP)
	other := program(t, "attach", "--workspace", dir, "yes")
	other.Stdin = strings.NewReader("go\n") // its output is for nobody
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = other.Process.Kill() // most often it is gone by now
		_ = other.Wait()
	})
	asking := client.New(at)
	defer asking.Close()
	watchers := func() int {
		s, err := asking.Session(context.Background(), "yes")
		if err != nil {
			t.Fatal(err)
		}
		return s.Watchers
	}
	await(t, "the second one did not attach", func() bool { return watchers() == 2 })
	await(t, "the first one was not dropped", func() bool { return watchers() == 1 })
	x.signal(syscall.SIGCONT)
	if text := x.exit(console.Failed); !strings.Contains(text, "took nothing for too long") {
		t.Errorf("the terminal shows %q", text[max(0, len(text)-400):])
	}
	if err := g.end(syscall.SIGTERM, console.OK); err != nil {
		t.Error(err)
	}
}

// asks types lines until the program sees a size: when it hears of a new one is not
// ours to say.
func (x *terminal) asks(size string) {
	x.t.Helper()
	for {
		before, _ := x.look()
		x.typed("?\r")
		m := x.expectAfter(len(before), `\[\?\]\n(\d+ \d+)\n`)
		if m[1] == size {
			return
		}
	}
}

package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
)

func TestPsIsClean(t *testing.T) {
	a := act(t)
	out, err := program(t, "ps", "--workspace", a.dir).CombinedOutput()
	if lines := strings.Split(string(out), "\n"); err != nil || len(lines) != 3 || strings.Contains(string(out), "\x1b") ||
		!strings.HasPrefix(lines[0], "ID  NAME   KIND      STATE    STARTED           COMMAND") || !strings.HasPrefix(lines[1], "s1  shell  terminal  running  2026-01-0") || !strings.HasSuffix(lines[1], "  sh") {
		t.Errorf("%v\n%q", err, out)
	}
}

func TestCompletion(t *testing.T) {
	a := act(t)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"attach", ""}, "s1\tsh\n:4\n"}, // its name can't be typed
		{[]string{"attach", "s1", ""}, ":4\n"},
		{[]string{"kill", ""}, "s1\tsh\n:4\n"},
		{[]string{"kill", "s1", ""}, ":4\n"},
	} {
		line := append([]string{"__complete", c.args[0], "--workspace", a.dir}, c.args[1:]...)
		out, err := program(t, line...).Output()
		if err != nil || string(out) != c.want {
			t.Errorf("%q: %v, %q", c.args, err, out)
		}
	}
	none := t.TempDir()
	out, err := exec.Command(binary(t), "__complete", "kill", "--workspace", none, "").Output()
	if err != nil || string(out) != ":4\n" {
		t.Errorf("without a gateway: %v, %q", err, out)
	}
}

// TestNoGateway wants each command to say what to do, and where it looked.
func TestNoGateway(t *testing.T) {
	dir := t.TempDir()
	for _, args := range [][]string{{"ps"}, {"events"}, {"kill", "x"}, {"attach", "x"}} {
		c := program(t, append(args, "--workspace", dir)...)
		out, err := c.CombinedOutput()
		if err == nil || c.ProcessState.ExitCode() != console.Failed || !strings.Contains(string(out), `start one with "chant-acp gateway"`) || !strings.Contains(string(out), dir) {
			t.Errorf("%q: %v, %q", args, err, out)
		}
	}
}

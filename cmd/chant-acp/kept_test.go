package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// sessionsOf runs chant-acp sessions over the state of an agent.
func sessionsOf(s *served, args ...string) (string, error) {
	c := exec.Command(s.cmd.Path, append([]string{"sessions"}, args...)...)
	c.Env = s.cmd.Env
	out, err := c.CombinedOutput()
	return string(out), err
}

// A session whose command runs is neither deleted nor pruned, and can be
// looked at.
func TestSessionsOfRunning(t *testing.T) {
	t.Parallel()
	dir, mark := fixture(t)
	s := serveIn(t, dir)
	s.running("wait", "started")
	out, err := sessionsOf(s, "delete", s.session)
	if err == nil || !strings.Contains(out, fmt.Sprintf("process %d runs a command in it", s.cmd.Process.Pid)) {
		t.Errorf("delete: %v, %s", err, out)
	}
	out, err = sessionsOf(s, "prune", "--older-than", "1ns")
	if err != nil || out != "removed: 0 sessions, 0 logs\n" {
		t.Errorf("prune: %v, %q", err, out)
	}
	out, err = sessionsOf(s, "show", s.session)
	if err != nil || !strings.HasPrefix(out, "> wait\nstarted\n") || strings.Contains(out, "interrupted") {
		t.Errorf("show: %v, %q", err, out)
	}
	s.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, s.session))
	if m := s.answer("turn"); m.Result.StopReason != "cancelled" {
		t.Errorf("the turn ended with %s", m.raw)
	}
	s.in.Close()
	s.exit()
	out, err = sessionsOf(s, "delete", s.session)
	if err != nil || out != s.session+"\n" {
		t.Errorf("delete, once nothing runs: %v, %q", err, out)
	}
	noSurvivors(t, mark)
}

func stateOf(c *exec.Cmd) string {
	for _, v := range c.Env {
		if dir, ok := strings.CutPrefix(v, "CHANT_ACP_STATE="); ok {
			return dir
		}
	}
	return ""
}

// Before there is a session, nothing is looked for and nothing made.
func TestStartTouchesNoState(t *testing.T) {
	c := program(t)
	c.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}` + "\n")
	out, err := c.Output()
	if err != nil || !strings.Contains(string(out), `"loadSession":true`) {
		t.Errorf("%v, %s", err, out)
	}
	if _, err := os.Lstat(stateOf(c)); !os.IsNotExist(err) {
		t.Errorf("the state folder is there: %v", err)
	}
}

// What can't be read or locked stays and is named; the rest goes, with its
// logs, and the exit code says that not all did.
func TestPruneGoesOn(t *testing.T) {
	t.Parallel()
	dir, _ := fixture(t)
	s := serveIn(t, dir)
	ids := []string{s.session}
	for range 3 {
		s.open("session/new", "")
		ids = append(ids, s.session)
	}
	for _, id := range ids {
		s.session = id
		s.prompt("hello")
		s.answer("turn")
	}
	s.in.Close()
	s.exit()
	sessions := filepath.Join(stateOf(s.cmd), "sessions")
	damaged, locked := ids[0], ids[1]
	f, err := os.OpenFile(filepath.Join(sessions, damaged+".jsonl"), os.O_WRONLY|os.O_APPEND, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("garbage\n"); err != nil {
		t.Fatal(err)
	}
	f.Close()
	lock := filepath.Join(sessions, ".locks", locked)
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(lock, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	out, err := sessionsOf(s, "prune", "--older-than", "1ns")
	if err == nil {
		t.Error("prune exited with 0, though not all could go")
	}
	for _, want := range []string{"removed: 2 sessions, 2 logs", ids[2], ids[3], "the session " + damaged + " stays", "the session " + locked + " stays", lock + " is no lock but something else: remove it"} {
		if !strings.Contains(out, want) {
			t.Errorf("prune does not say %q: %s", want, out)
		}
	}
	if left, err := filepath.Glob(filepath.Join(sessions, "*.jsonl")); err != nil || len(left) != 2 {
		t.Errorf("left: %v (%v), want two", left, err)
	}
	if out, err := sessionsOf(s, "delete", damaged[:len(damaged)-1]); err != nil { // an id may be shortened here, too
		t.Errorf("delete: %v, %s", err, out)
	}
}

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// another starts one more agent over the same state and directory.
func (s *served) another() *served {
	s.t.Helper()
	c := exec.Command(s.cmd.Path, "serve")
	c.Env = s.cmd.Env
	return serveWith(s.t, c, s.dir)
}

// turn is a whole turn: all that was said, answer and all.
func (s *served) turn(line string) string {
	s.t.Helper()
	s.prompt(line)
	var said strings.Builder
	for {
		m := s.next()
		said.WriteString(m.raw)
		if string(m.ID) != `"turn"` {
			continue
		}
		if m.Error != nil {
			s.t.Fatalf("%q failed: %s", line, m.Error.Message)
		}
		return said.String()
	}
}

func (s *served) cancel() {
	s.t.Helper()
	s.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, s.session))
}

// wants checks what is said, and what is not.
func wants(t *testing.T, what, said string, want, not []string) {
	t.Helper()
	for _, text := range want {
		if !strings.Contains(said, text) {
			t.Errorf("%s does not say %q: %s", what, text, said)
		}
	}
	for _, text := range not {
		if strings.Contains(said, text) {
			t.Errorf("%s says %q: %s", what, text, said)
		}
	}
}

// TestProcessPerTurn drives the agent as fountain does: a process for each turn,
// which ends with its input. Where resume is hidden from such a client, it loads.
func TestProcessPerTurn(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"session/resume", "session/load"} {
		t.Run(method, func(t *testing.T) {
			dir, _ := fixture(t)
			s := serveIn(t, dir)
			id := s.session
			wants(t, "the first turn", s.turn("hello"), []string{`"stopReason":"end_turn"`, "`hello` completed"}, nil)
			s.in.Close()
			s.exit()
			for n := 2; n <= 4; n++ {
				s = s.another()
				said := s.open(method, id)
				if method == "session/resume" {
					wants(t, "resume", said, nil, []string{"message_chunk", "tool_call"})
				} else if got := strings.Count(said, "user_message_chunk"); got != n-1 {
					t.Errorf("load replayed %d prompts, want %d: %s", got, n-1, said)
				}
				wants(t, fmt.Sprint("turn ", n), s.turn("hello"), []string{`"stopReason":"end_turn"`, "`hello` completed"}, nil)
				s.in.Close()
				s.exit()
			}
			s = s.another()
			s.open(method, id)
			if said := s.turn("history"); strings.Count(said, "completed") != 5 { // four, and its own outcome
				t.Errorf("history: %s", said)
			}
		})
	}
}

// TestOldProcessLivesOn is fountain's interrupt: it cancels and goes away, and
// neither ends the process nor its input. While what ran there takes its time to
// end, the next process can open the thread, and is told who holds it; once that
// has ended it goes on with the thread, though the old process is still there.
func TestOldProcessLivesOn(t *testing.T) {
	t.Parallel()
	dir, mark := fixture(t)
	old := serveIn(t, dir)
	old.running("tidy", "started")
	old.cancel()

	s := old.another()
	said := s.open("session/resume", old.session)
	wants(t, "resume", said, nil, []string{"message_chunk", "tool_call"})
	wants(t, "a turn meanwhile", s.turn("hello"),
		[]string{fmt.Sprintf("process %d runs a command in this thread", old.cmd.Process.Pid), `"stopReason":"refusal"`}, []string{"`hello` completed"})
	wants(t, "a load meanwhile", s.open("session/load", old.session), []string{"started"}, []string{"This turn was interrupted"})

	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	wants(t, "the cancelled turn", old.answer("turn").raw, []string{`"stopReason":"cancelled"`}, nil)
	wants(t, "the next turn", s.turn("hello"), []string{`"stopReason":"end_turn"`, "`hello` completed"}, nil)
	wants(t, "history", s.turn("history"), []string{"cancelled", "tidy", "hello"}, nil)
	wants(t, "a load", s.open("session/load", old.session), []string{"started", "was cancelled after", "`hello` completed"}, []string{"This turn was interrupted"})
	old.in.Close()
	old.exit()
	noSurvivors(t, mark)
}

// A state folder that can't be one is not replaced by another: turns run, and
// the client is told once why nothing is kept.
func TestRelativeState(t *testing.T) {
	dir, _ := fixture(t)
	c := program(t)
	c.Dir = t.TempDir()
	home := t.TempDir()
	c.Env = append(c.Env, "CHANT_ACP_STATE=state", "HOME="+home, "XDG_STATE_HOME=")
	s := serveWith(t, c, dir)
	s.open("session/new", "")
	said := s.turn("hello") + s.turn("hello") + s.turn("history")
	wants(t, "the thread", said, []string{"`hello` completed"}, []string{"being kept again"})
	if n := strings.Count(said, "This thread is not being kept"); n != 1 || !strings.Contains(said, `CHANT_ACP_STATE is \"state\": give the state folder as an absolute path`) {
		t.Errorf("it was said %d times that nothing is kept, and why: %s", n, said)
	}
	s.in.Close()
	s.exit()
	for _, path := range []string{filepath.Join(c.Dir, "state"), filepath.Join(home, ".local/state/chant-acp/sessions")} {
		if _, err := os.Lstat(path); err == nil {
			t.Errorf("%s was made", path)
		}
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const gatedOp = `name: gated
phases:
  - name: Build
    steps: [{shell: echo built >>log.txt}]
  - name: Ship
    steps:
      - gate: ship
      - shell: echo shipped >>log.txt
onFailure:
  - name: Undo
    steps: [{shell: echo undone >>log.txt}]
`

const slowOp = `name: slow
phases:
  - name: Wait
    steps:
      - shell: echo begun >>log.txt; echo started; until test -e go; do sleep 0.01; done
`

// opProject is a project with Ops, and a state folder that several processes use.
func opProject(t *testing.T) (dir, state string) {
	t.Helper()
	dir, state = t.TempDir(), filepath.Join(t.TempDir(), "state")
	for name, text := range map[string]string{"gated.op.yaml": gatedOp, "slow.op.yaml": slowOp} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir, state
}

func serveOps(t *testing.T, dir, state string, args ...string) *served {
	t.Helper()
	c := program(t, append([]string{"serve"}, args...)...)
	c.Env = append(c.Env, "CHANT_ACP_STATE="+state)
	s := serveWith(t, c, dir)
	s.open("session/new", "")
	return s
}

func logOf(t *testing.T, dir string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "log.txt"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// askedLater reads up to the answer of a turn, and returns it with the id of the
// request that it left behind.
func (s *served) askedLater() (request string, answer message) {
	s.t.Helper()
	for {
		m := s.next()
		if m.Method == "session/request_permission" {
			var r struct {
				Params struct {
					Meta struct {
						Chant struct {
							RequestID string `json:"requestId"`
						} `json:"chant"`
					} `json:"_meta"`
				} `json:"params"`
			}
			if err := json.Unmarshal([]byte(m.raw), &r); err != nil {
				s.t.Fatal(err)
			}
			request = r.Params.Meta.Chant.RequestID
		}
		if string(m.ID) == `"turn"` && m.Method == "" {
			return request, m
		}
	}
}

// The process that asked is killed; the answer comes to another one, in a thread
// of its own, and the run goes on from its gate.
func TestDurableRequestInAnotherProcess(t *testing.T) {
	t.Parallel()
	for option, want := range map[string]struct{ outcome, log string }{
		"allow_once":  {"completed", "built\nshipped\n"},
		"reject_once": {"failed", "built\nundone\n"},
	} {
		t.Run(option, func(t *testing.T) {
			dir, state := opProject(t)
			first := serveOps(t, dir, state, "--durable-requests")
			first.prompt("run gated")
			request, m := first.askedLater()
			if m.Result.StopReason != "waiting" || request == "" {
				t.Fatalf("request %q, %s", request, m.raw)
			}
			if err := first.cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-first.ended
			second := serveOps(t, dir, state, "--gates", "durable")
			answer := func(request string) message {
				second.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"turn","method":"session/prompt","params":{"sessionId":%q,"prompt":[],"_meta":{"chant":{"permission":{"requestId":%q,"optionId":%q}}}}}`, second.session, request, option))
				return second.answer("turn")
			}
			if m := answer("r0.p1s1.0"); m.Result.Meta.Chant.Outcome != "refused" {
				t.Errorf("a request that nobody made: %s", m.raw)
			}
			if m := answer(request); m.Result.Meta.Chant.Outcome != want.outcome || m.Result.StopReason != "end_turn" {
				t.Errorf("%s", m.raw)
			}
			if got := logOf(t, dir); got != want.log {
				t.Errorf("it did %q, want %q", got, want.log)
			}
			if m := answer(request); m.Result.Meta.Chant.Outcome != "refused" {
				t.Errorf("a second answer: %s", m.raw)
			}
			second.in.Close()
			second.exit()
		})
	}
}

// A run that was left in mid-step is taken up by another process, when asked to.
func TestRunIsResumed(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"end of the input", "SIGKILL"} {
		t.Run(how, func(t *testing.T) {
			dir, state := opProject(t)
			first := serveOps(t, dir, state)
			first.running("run slow", `started\n`) // as it is printed, and not in the line that names the step
			if how == "SIGKILL" {
				if err := first.cmd.Process.Kill(); err != nil {
					t.Fatal(err)
				}
				<-first.ended
			} else {
				first.in.Close()
				if m := first.answer("turn"); m.Result.StopReason != "cancelled" || m.Result.Meta.Chant.Outcome != "interrupted" {
					t.Errorf("%s", m.raw)
				}
				first.exit()
			}
			if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o600); err != nil {
				t.Fatal(err)
			}
			second := serveOps(t, dir, state)
			var m message
			await(t, "the guard to let go of the run", func() bool {
				second.prompt("run slow")
				for m = second.next(); string(m.ID) != `"turn"`; m = second.next() {
					if strings.Contains(m.raw, "was interrupted in the step") {
						return true
					}
				}
				return false
			})
			if m := second.answer("turn"); m.Result.Meta.Chant.Outcome != "refused" {
				t.Errorf("%s", m.raw)
			}
			second.prompt("run slow --resume")
			if m := second.answer("turn"); m.Result.Meta.Chant.Outcome != "completed" {
				t.Errorf("%s", m.raw)
			}
			if got := logOf(t, dir); got != "begun\nbegun\n" {
				t.Errorf("it did %q", got)
			}
			second.in.Close()
			second.exit()
		})
	}
}

// What a step types is not said by a person: another run's gate stays as it is,
// and nothing is confirmed, whatever flags are given.
func TestAStepIsNoPerson(t *testing.T) {
	t.Parallel()
	dir, state := opProject(t)
	prompt := func(line string) string {
		c := program(t, "prompt", "--cwd", dir, line)
		c.Env = append(c.Env, "CHANT_ACP_STATE="+state)
		out, _ := c.CombinedOutput() // its exit code is that of the turn
		return string(out)
	}
	if out := prompt("run gated"); !strings.Contains(out, "approve gated ship") {
		t.Fatal(out)
	}
	if err := os.WriteFile(filepath.Join(dir, "chant-acp.yaml"), []byte(`version: 1
commands:
  wipe: {summary: wipes, exec: [touch, wiped], effect: destroy}
  ask: {summary: asks, exec: [touch, wiped], effect: write, confirm: ask}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	var steps strings.Builder
	for _, line := range []string{"approve gated ship", "reject gated ship", "signal paid", "wipe", "ask"} {
		for _, flags := range []string{"--yes", "--yes --gates ask --confirm ask"} {
			fmt.Fprintf(&steps, "      - shell: %q\n", fmt.Sprintf("%s prompt %s '%s' >>said.txt; test $? = 3", binary(t), flags, line))
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "sly.op.yaml"), []byte("name: sly\nphases:\n  - name: Try\n    steps:\n"+steps.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out := prompt("run sly")
	said, err := os.ReadFile(filepath.Join(dir, "said.txt"))
	if err != nil || !strings.Contains(out, "completed in") || strings.Count(string(said), "a program that chant-acp runs") != 10 {
		t.Errorf("%s\nthe steps were told %s, %v", out, said, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "wiped")); err == nil {
		t.Error("something was confirmed")
	}
	if out := prompt("run status gated"); !strings.Contains(out, "approve gated ship") {
		t.Errorf("the gate was decided: %s", out)
	}
	if out := prompt("approve gated ship"); !strings.Contains(out, "was approved by") {
		t.Errorf("a person: %s", out)
	}
}

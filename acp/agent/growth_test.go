package agent_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/acp/agent/view"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/project"
	"github.com/chant-acp/chant-acp/runtime/thread"
)

// oldTurns adds n turns to a session that is kept, each of which printed so many bytes.
func oldTurns(t testing.TB, s agent.Store, id string, n, printed int) {
	t.Helper()
	const piece = 64 << 10
	now := time.Now().UTC()
	text := strings.Repeat("one line of some output that a program prints\n", piece/46)
	for i := range n {
		turn, call := fmt.Sprint("old.", i), fmt.Sprint("call_", i)
		events := []agent.Event{
			{Kind: agent.EventPrompt, Time: now, Turn: turn, Prompt: []acp.ContentBlock{acp.Text("make")}},
			{Kind: agent.EventCall, Time: now, Turn: turn, CallID: call, Call: &agent.CallEvent{Title: "make", Status: acp.ToolInProgress, Cwd: "/"}},
		}
		for left := printed; left > 0; left -= piece {
			events = append(events, agent.Event{Kind: agent.EventOutput, Time: now, Turn: turn, CallID: call, Text: text[:min(len(text), left)], Plain: true})
		}
		events = append(events,
			agent.Event{Kind: agent.EventResult, Time: now, Turn: turn, CallID: call, Result: &agent.ResultEvent{Status: acp.ToolCompleted}},
			agent.Event{Kind: agent.EventEnd, Time: now, Turn: turn, End: &agent.EndEvent{Reason: acp.StopEndTurn, State: "completed", Line: fmt.Sprint("make ", i), Ran: true}})
		if err := s.Append(t.Context(), id, false, events...); err != nil {
			t.Fatal(err)
		}
	}
}

// A thread longer than what is replayed shows its last turns, says how many it leaves
// out, and lists all of them.
func TestALongThread(t *testing.T) {
	const turns, printed = 20, 1 << 20
	root, h := t.TempDir(), newStub(t)
	id := "long"
	store := disk(t, root)
	if err := store.Create(t.Context(), agent.SessionRecord{ID: id, Cwd: h.root, Title: "make", Created: time.Now().UTC()}); err != nil {
		t.Fatal(err)
	}
	oldTurns(t, store, id, turns, printed)
	w := process(t, root, h, setup{})
	log, _ := w.load(id)
	prompts := 0
	for _, m := range log {
		if m.Params.Update.Kind == "user_message_chunk" {
			prompts++
		}
	}
	if most := view.MaxReplay / printed; prompts < most-1 || prompts > most {
		t.Errorf("%d turns were replayed, and %d fit", prompts, most)
	}
	if want := fmt.Sprintf("The first %d turns of this thread are not shown again.", turns-prompts); !strings.Contains(log.text(), want) {
		t.Errorf("nothing says %q", want)
	}
	_, log = w.prompt(id, fmt.Sprint("history ", turns))
	for _, want := range []string{"make 0", fmt.Sprint("make ", turns-1)} {
		if !strings.Contains(log.text(), want) {
			t.Errorf("history lacks %s", want)
		}
	}
}

// What it costs, in a new process, to open a thread of many turns and to be told what
// was run in it. 10,000 turns are about 200 MiB.
func BenchmarkLongThread(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		root, cwd, id := b.TempDir(), b.TempDir(), "long"
		if err := os.WriteFile(filepath.Join(cwd, "chant-acp.yaml"), []byte(benchManifest), 0o600); err != nil {
			b.Fatal(err)
		}
		s := thread.New(root)
		if err := s.Create(b.Context(), agent.SessionRecord{ID: id, Cwd: cwd, Title: "make", Created: time.Now().UTC()}); err != nil {
			b.Fatal(err)
		}
		oldTurns(b, s, id, n, 20<<10)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		request := acp.LoadSessionRequest{SessionID: id, Cwd: cwd}
		for what, do := range map[string]func(c *acp.ClientConn) error{
			"load": func(c *acp.ClientConn) error {
				_, err := c.LoadSession(b.Context(), request)
				return err
			},
			"history": func(c *acp.ClientConn) error {
				if _, err := c.ResumeSession(b.Context(), request); err != nil {
					return err
				}
				_, err := c.Prompt(b.Context(), acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{acp.Text("history")}})
				return err
			},
		} {
			b.Run(fmt.Sprintf("%s/%d", what, n), func(b *testing.B) {
				for b.Loop() {
					s := thread.New(root)
					conn := connectTo(b, s)
					if err := do(conn); err != nil {
						b.Fatal(err)
					}
					conn.Close()
					_ = s.Close()
				}
			})
		}
	}
}

// connectTo is a client of an agent that keeps sessions in store.
func connectTo(b *testing.B, store agent.Store) *acp.ClientConn {
	b.Helper()
	here, there := acp.Pipe()
	a := agent.New(agent.Options{Version: "bench", Log: zerolog.Nop(), Store: store, Open: func(cwd string) host.Host {
		return project.New(cwd, project.Options{Env: os.Environ()})
	}})
	go func() { _ = a.Serve(b.Context(), there) }()
	conn := acp.Connect(here, silent{}, zerolog.Nop())
	if _, err := conn.Initialize(b.Context(), acp.InitializeRequest{ProtocolVersion: 1}); err != nil {
		b.Fatal(err)
	}
	return conn
}

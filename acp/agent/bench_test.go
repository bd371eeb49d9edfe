package agent_test

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/project"
	"github.com/chant-acp/chant-acp/runtime/thread"
)

const benchManifest = `version: 1
commands:
  "true": {summary: exit 0, exec: ["true"], effect: read}
  big: {summary: print 64 MiB, exec: [head, -c, "67108864", /dev/zero], effect: read}
`

type silent struct{}

func (silent) SessionUpdate(acp.SessionNotification) {}
func (silent) RequestPermission(context.Context, acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	return acp.RequestPermissionResponse{}, nil
}

// connectBench is a client and a session of an agent over a real project.
func connectBench(b *testing.B, store agent.Store) (*acp.ClientConn, string) {
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "chant-acp.yaml"), []byte(benchManifest), 0o644); err != nil {
		b.Fatal(err)
	}
	here, there := acp.Pipe()
	a := agent.New(agent.Options{Version: "bench", Log: zerolog.Nop(), Store: store, Open: func(cwd string) host.Host {
		return project.New(cwd, project.Options{Env: os.Environ(), LogDir: filepath.Join(dir, "logs")})
	}})
	ctx, leave := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { _ = a.Serve(ctx, there) })
	conn := acp.Connect(here, silent{}, zerolog.Nop())
	b.Cleanup(func() {
		leave()
		serving.Wait()
		conn.Close()
	})
	if _, err := conn.Initialize(ctx, acp.InitializeRequest{ProtocolVersion: 1}); err != nil {
		b.Fatal(err)
	}
	s, err := conn.NewSession(ctx, acp.NewSessionRequest{Cwd: dir})
	if err != nil {
		b.Fatal(err)
	}
	return conn, s.SessionID
}

// benchStore keeps sessions on disk.
func benchStore(b *testing.B) agent.Store {
	s := thread.New(b.TempDir())
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

func benchPrompt(b *testing.B, store agent.Store, line string, want acp.StopReason) {
	conn, id := connectBench(b, store)
	for b.Loop() {
		r, err := conn.Prompt(context.Background(), acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{acp.Text(line)}})
		if err != nil || r.StopReason != want {
			b.Fatalf("%v %v", r, err)
		}
	}
}

// BenchmarkRefusal measures the agent alone: its client is a raw wire.
func BenchmarkRefusal(b *testing.B) { benchRefusal(b, nil) }

// BenchmarkRefusalKept is BenchmarkRefusal in a session that is kept on disk.
func BenchmarkRefusalKept(b *testing.B) { benchRefusal(b, benchStore(b)) }

func benchRefusal(b *testing.B, store agent.Store) {
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "chant-acp.yaml"), []byte(benchManifest), 0o644); err != nil {
		b.Fatal(err)
	}
	here, there := acp.Pipe()
	a := agent.New(agent.Options{Version: "bench", Log: zerolog.Nop(), Store: store, Open: func(cwd string) host.Host {
		return project.New(cwd, project.Options{Env: os.Environ()})
	}})
	var serving sync.WaitGroup
	serving.Go(func() { _ = a.Serve(context.Background(), there) })
	b.Cleanup(func() {
		here.Close()
		serving.Wait()
	})
	ask := func(line string, answers int) (last []byte) {
		if err := here.WriteLines([]byte(line + "\n")); err != nil {
			b.Fatal(err)
		}
		for range answers {
			var err error
			if last, err = here.ReadLine(); err != nil {
				b.Fatal(err)
			}
		}
		return last
	}
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":1}}`, 1)
	created := ask(`{"jsonrpc":"2.0","id":2,"method":"session/new","params":{"cwd":"`+dir+`","mcpServers":[]}}`, 1)
	at := bytes.Index(created, []byte("sess_"))
	prompt := `{"jsonrpc":"2.0","id":3,"method":"session/prompt","params":{"sessionId":"` + string(created[at:at+41]) + `","prompt":[{"type":"text","text":"no-such-command"}]}}`
	ask(prompt, 4) // the commands twice, the refusal, the answer
	for b.Loop() {
		ask(prompt, 2)
	}
}

func BenchmarkTrue(b *testing.B) { benchPrompt(b, nil, "true", acp.StopEndTurn) }

// BenchmarkTrueKept is BenchmarkTrue in a session that is kept on disk.
func BenchmarkTrueKept(b *testing.B) { benchPrompt(b, benchStore(b), "true", acp.StopEndTurn) }

func BenchmarkOutput64MiB(b *testing.B) {
	b.SetBytes(64 << 20)
	benchPrompt(b, nil, "big", acp.StopEndTurn)
}

func BenchmarkNewSession(b *testing.B) {
	conn, _ := connectBench(b, nil)
	dir := b.TempDir()
	for b.Loop() {
		if _, err := conn.NewSession(context.Background(), acp.NewSessionRequest{Cwd: dir}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkReplay loads a thread of 5,000 updates.
func BenchmarkReplay(b *testing.B) {
	store := benchStore(b)
	conn, id := connectBench(b, store)
	now := time.Now().UTC()
	events := []agent.Event{
		{Kind: agent.EventPrompt, Time: now, Turn: "old.1", Prompt: []acp.ContentBlock{acp.Text("big")}},
		{Kind: agent.EventCall, Time: now, Turn: "old.1", CallID: "call_1", Call: &agent.CallEvent{Title: "big", Status: acp.ToolInProgress, Cwd: "/"}},
	}
	for range 4996 {
		events = append(events, agent.Event{Kind: agent.EventOutput, Time: now, Turn: "old.1", CallID: "call_1", Text: "one line of some output that a program prints\n"})
	}
	events = append(events,
		agent.Event{Kind: agent.EventResult, Time: now, Turn: "old.1", CallID: "call_1", Result: &agent.ResultEvent{Status: acp.ToolCompleted}},
		agent.Event{Kind: agent.EventEnd, Time: now, Turn: "old.1", End: &agent.EndEvent{Reason: acp.StopEndTurn, State: "completed", Line: "big"}})
	if err := store.Append(context.Background(), id, false, events...); err != nil {
		b.Fatal(err)
	}
	list, err := conn.ListSessions(context.Background(), acp.ListSessionsRequest{})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := conn.LoadSession(context.Background(), acp.LoadSessionRequest{SessionID: id, Cwd: list.Sessions[0].Cwd}); err != nil {
			b.Fatal(err)
		}
	}
}

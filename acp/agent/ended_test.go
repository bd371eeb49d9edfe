package agent_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/rs/zerolog"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/host"
)

// Who wants to know of turns hears of them in their order, however fast they
// follow each other.
func TestTurnsAreToldInOrder(t *testing.T) {
	h := newStub(t)
	var mu sync.Mutex
	var heard []string
	a := agent.New(agent.Options{
		Store: disk(t, t.TempDir()), Open: func(string) host.Host { return h }, Log: zerolog.Nop(),
		TurnEnded: func(_ agent.SessionRecord, turn []agent.Event) {
			mu.Lock()
			defer mu.Unlock()
			heard = append(heard, turn[0].Prompt[0].Text)
		},
	})
	here, there := acp.Pipe()
	ctx, leave := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { _ = a.Serve(ctx, there) })
	conn := acp.Connect(here, silent{}, zerolog.Nop())
	if _, err := conn.Initialize(ctx, acp.InitializeRequest{ProtocolVersion: 1}); err != nil {
		t.Fatal(err)
	}
	s, err := conn.NewSession(ctx, acp.NewSessionRequest{Cwd: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := range 200 {
		line := fmt.Sprintf("no-such-command-%d", i)
		if i%3 == 0 {
			line = fmt.Sprintf("ok %d", i)
		}
		want = append(want, line)
		if _, err := conn.Prompt(ctx, acp.PromptRequest{SessionID: s.SessionID, Prompt: []acp.ContentBlock{acp.Text(line)}}); err != nil {
			t.Fatal(err)
		}
	}
	leave()
	serving.Wait() // leaving waits for what is still to be told
	conn.Close()
	if !slices.Equal(heard, want) {
		t.Errorf("heard of %v", heard)
	}
}

// A session that its client closes or deletes has ended, after its last turn.
func TestSessionsEnd(t *testing.T) {
	h := newStub(t)
	var mu sync.Mutex
	var heard []string
	note := func(what string) {
		mu.Lock()
		defer mu.Unlock()
		heard = append(heard, what)
	}
	a := agent.New(agent.Options{
		Store: disk(t, t.TempDir()), Open: func(string) host.Host { return h }, Log: zerolog.Nop(),
		TurnEnded:    func(_ agent.SessionRecord, turn []agent.Event) { note(turn[0].Prompt[0].Text) },
		SessionEnded: func(s agent.SessionRecord) { note("end of " + s.ID) },
	})
	here, there := acp.Pipe()
	ctx, leave := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { _ = a.Serve(ctx, there) })
	conn := acp.Connect(here, silent{}, zerolog.Nop())
	if _, err := conn.Initialize(ctx, acp.InitializeRequest{ProtocolVersion: 1}); err != nil {
		t.Fatal(err)
	}
	var want []string
	for i, end := range []string{acp.MethodSessionClose, acp.MethodSessionDelete, ""} {
		s, err := conn.NewSession(ctx, acp.NewSessionRequest{Cwd: t.TempDir()})
		if err != nil {
			t.Fatal(err)
		}
		line := fmt.Sprintf("ok %d", i)
		want = append(want, line)
		if _, err := conn.Prompt(ctx, acp.PromptRequest{SessionID: s.SessionID, Prompt: []acp.ContentBlock{acp.Text(line)}}); err != nil {
			t.Fatal(err)
		}
		if end == "" {
			continue // leaving alone ends none: another process may go on
		}
		want = append(want, "end of "+s.SessionID)
		if err := conn.Call(ctx, end, acp.SessionRequest{SessionID: s.SessionID}, nil); err != nil {
			t.Fatal(err)
		}
	}
	leave()
	serving.Wait()
	conn.Close()
	if !slices.Equal(heard, want) {
		t.Errorf("heard of %q\nwant %q", heard, want)
	}
}

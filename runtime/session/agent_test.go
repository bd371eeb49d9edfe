package session

import (
	"context"
	"errors"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/host/process"
)

func agentSpec(t testing.TB, kind string) AgentSpec {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return AgentSpec{Adapter: "test", Command: []string{self, "--acp"}, Cwd: "/", Env: []string{agentVar + "=" + kind, "GORACE=atexit_sleep_ms=0"}}
}

func startAgent(t testing.TB, r *Registry, kind string) *Session {
	t.Helper()
	s, err := r.StartAgent(context.Background(), agentSpec(t, kind))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAgent(t *testing.T) {
	r, told := open(t, Options{})
	s := startAgent(t, r, "good")
	info := s.Info()
	if info.State != StateRunning || info.Turn != TurnIdle || info.AgentSession != "in the agent" || info.AgentName != "test" || info.AgentVersion != "3" || info.Adapter != "test" {
		t.Errorf("%+v", info)
	}
	turn, err := s.Prompt(t.Context(), "echo héllo", nil)
	if err != nil || turn.StopReason != acp.StopEndTurn || turn.Text != "héllo" || turn.Cut {
		t.Errorf("%+v, %v", turn, err)
	}
	turn, err = s.Prompt(t.Context(), "meta", acp.Meta{"origin": "mcp"})
	if err != nil || turn.Text != `{"origin":"mcp"}` {
		t.Errorf("%+v, %v", turn, err)
	}
	if _, err = s.Prompt(t.Context(), "meta", acp.Meta{"what": func() {}}); err == nil || errors.Is(err, ErrEnded) {
		t.Errorf("sent what can't be: %v", err)
	}
	if got := string(s.ReadTerminal(Replay)); got != "héllo\n{\"origin\":\"mcp\"}\n" {
		t.Errorf("said %q", got)
	}
	if err := s.WriteTerminal(t.Context(), []byte("x")); !errors.Is(err, ErrWrongKind) {
		t.Errorf("write: %v", err)
	}
	if err := s.Cancel(); err != nil {
		t.Errorf("a cancel of nothing: %v", err)
	}
	if err := s.Kill(t.Context()); err != nil {
		t.Error(err)
	}
	if i := s.Info(); i.ExitCode == nil || *i.ExitCode != 0 || i.Turn != "" {
		t.Errorf("an agent leaves at the end of its input: %+v", i)
	}
	if _, err := s.Prompt(t.Context(), "echo x", nil); !errors.Is(err, ErrEnded) {
		t.Errorf("prompt to the end: %v", err)
	}
	if got := told.String(); got != "session.started turn.started turn.ended turn.started turn.ended turn.started turn.ended session.ended" {
		t.Errorf("events %s", got)
	}
}

// Neither files nor terminals are offered.
func TestAgentIsOfferedNothing(t *testing.T) {
	r, _ := open(t, Options{})
	s := startAgent(t, r, "good")
	want := `capabilities {"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false}`
	if err := s.Kill(t.Context()); err != nil {
		t.Error(err)
	}
	if got := s.agent.stderr.String(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAgentTextIsBounded(t *testing.T) {
	r, _ := open(t, Options{})
	s := startAgent(t, r, "good")
	turn, err := s.Prompt(t.Context(), "much", nil)
	if err != nil || !turn.Cut || len(turn.Text) > TextLimit || len(turn.Text) < TextLimit-4 || !utf8.ValidString(turn.Text) {
		t.Errorf("%d bytes, cut %t, %v", len(turn.Text), turn.Cut, err)
	}
}

func TestAgentSteps(t *testing.T) {
	r, told := open(t, Options{})
	s := startAgent(t, r, "good")
	if _, err := s.Prompt(t.Context(), "steps", nil); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, e := range told.all {
		if step, ok := e.Data.(Step); ok {
			got = append(got, step.ID+" "+step.Title+" "+step.Status)
		}
	}
	want := []string{"plan/0 one in_progress", "plan/1 two pending", "t1 ls pending", "t1 ls in_progress", "t1 ls completed", "plan/0 one completed"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestAgentGate(t *testing.T) {
	r, told := open(t, Options{})
	s := startAgent(t, r, "good")
	if _, err := s.Prompt(t.Context(), "gate", nil); err != nil {
		t.Fatal(err)
	}
	if got := told.await(t, EventGate).Data; got != (Gate{Turn: 1, RunID: "run_1", Gate: "review"}) {
		t.Errorf("%+v", got)
	}
}

// promptLater prompts, and returns where the answer comes.
func promptLater(s *Session, text string) <-chan struct {
	Turn
	error
} {
	ch := make(chan struct {
		Turn
		error
	}, 1)
	go func() {
		turn, err := s.Prompt(context.Background(), text, nil)
		ch <- struct {
			Turn
			error
		}{turn, err}
	}()
	return ch
}

func TestAgentIsBusy(t *testing.T) {
	r, told := open(t, Options{})
	s := startAgent(t, r, "good")
	answer := promptLater(s, "wait")
	told.await(t, EventTurnStarted)
	if _, err := s.Prompt(t.Context(), "echo x", nil); !errors.Is(err, ErrBusy) {
		t.Errorf("%v", err)
	}
	if s.Info().Turn != TurnRunning {
		t.Errorf("%+v", s.Info())
	}
	if err := s.Cancel(); err != nil {
		t.Error(err)
	}
	if got := <-answer; got.StopReason != acp.StopCancelled || got.error != nil {
		t.Errorf("%+v", got)
	}
}

func TestAgentPermission(t *testing.T) {
	r, told := open(t, Options{})
	s := startAgent(t, r, "good")
	answer := promptLater(s, "ask")
	asked := told.await(t, EventRequestOpened).Data.(PermissionRequest)
	if open := s.Requests(); len(open) != 1 || open[0].ID != asked.ID || open[0].ToolCall.Title != "rm -rf" || len(open[0].Options) != 2 || open[0].Turn != 1 {
		t.Errorf("%+v", open)
	}
	if s.Info().Turn != TurnWaiting {
		t.Errorf("%+v", s.Info())
	}
	var bad *BadOptionError
	for _, option := range []string{"", "maybe"} {
		if err := s.Answer(asked.ID, option); !errors.As(err, &bad) || !strings.Contains(err.Error(), "yes, no") {
			t.Errorf("%q: %v", option, err)
		}
	}
	if err := s.Answer("r99", "yes"); !errors.Is(err, ErrNoSuchRequest) {
		t.Errorf("%v", err)
	}
	if err := s.Answer(asked.ID, "yes"); err != nil {
		t.Error(err)
	}
	if err := s.Answer(asked.ID, "yes"); !errors.Is(err, ErrNoSuchRequest) {
		t.Errorf("answered twice: %v", err)
	}
	if got := <-answer; got.Text != `{"outcome":{"outcome":"selected","optionId":"yes"}}` {
		t.Errorf("%+v", got)
	}
	if got := told.await(t, EventRequestClosed).Data; got != (RequestClosed{ID: asked.ID, OptionID: "yes"}) {
		t.Errorf("%+v", got)
	}
}

// A request is cancelled with its turn, and one that comes after the cancel at once.
func TestAgentPermissionIsCancelled(t *testing.T) {
	r, told := open(t, Options{})
	s := startAgent(t, r, "good")
	answer := promptLater(s, "twice")
	told.await(t, EventRequestOpened)
	if err := s.Cancel(); err != nil {
		t.Error(err)
	}
	const cancelled = `{"outcome":{"outcome":"cancelled"}}`
	if got := <-answer; got.StopReason != acp.StopCancelled || got.Text != cancelled+cancelled {
		t.Errorf("%+v", got)
	}
	if len(s.Requests()) != 0 || s.Info().Turn != TurnIdle {
		t.Errorf("%+v %+v", s.Requests(), s.Info())
	}
}

// A turn that ends without waiting for its request takes the request with it.
func TestAgentLeavesItsRequest(t *testing.T) {
	r, told := open(t, Options{})
	s := startAgent(t, r, "good")
	answer := promptLater(s, "leave")
	told.await(t, EventRequestOpened)
	s.agent.cancelTurnOnly(t)
	<-answer
	if got := told.await(t, EventRequestClosed).Data.(RequestClosed); got.OptionID != "" || len(s.Requests()) != 0 {
		t.Errorf("%+v %+v", got, s.Requests())
	}
}

// cancelTurnOnly tells the agent of a cancel that the session knows nothing of.
func (a *agentSide) cancelTurnOnly(t *testing.T) {
	if err := a.conn.Cancel(t.Context(), a.id); err != nil {
		t.Fatal(err)
	}
}

// A request that waits ends with the session.
func TestAgentIsKilledWhileItAsks(t *testing.T) {
	r, told := open(t, Options{})
	s := startAgent(t, r, "good")
	answer := promptLater(s, "ask")
	told.await(t, EventRequestOpened)
	if err := s.Kill(t.Context()); err != nil {
		t.Error(err)
	}
	if got := <-answer; got.error != nil && !errors.Is(got.error, ErrEnded) { // it may still answer that the request was cancelled
		t.Errorf("%v", got.error)
	}
	if got := told.String(); got != "session.started turn.started request.opened request.closed turn.ended session.ended" {
		t.Errorf("events %s", got)
	}
}

// A prompt whose context ends is cancelled, and the session is free when the agent has answered.
func TestAgentPromptIsGivenUp(t *testing.T) {
	r, told := open(t, Options{})
	s := startAgent(t, r, "good")
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the client is gone")
	go func() {
		told.await(t, EventTurnStarted)
		cancel(why)
	}()
	if _, err := s.Prompt(ctx, "wait", nil); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	told.await(t, EventTurnEnded)
	if turn, err := s.Prompt(t.Context(), "echo x", nil); turn.Text != "x" || err != nil {
		t.Errorf("%+v, %v", turn, err)
	}
}

func TestAgentPromptFails(t *testing.T) {
	for prompt, want := range map[string][]string{
		"error": {"session/prompt", "overloaded"},
		"die":   {"exit code 9", "out of memory"},
		"deaf":  {"session/prompt"},
	} {
		r, _ := open(t, Options{})
		s := startAgent(t, r, "good")
		if prompt == "deaf" {
			// An agent that closes its input is ended when something is to be said to it.
			answer := promptLater(s, prompt)
			go func() {
				for s.Cancel() == nil && s.Info().State == StateRunning {
					runtime.Gosched()
				}
			}()
			got := <-answer
			checkError(t, got.error, want)
			continue
		}
		_, err := s.Prompt(t.Context(), prompt, nil)
		checkError(t, err, want)
	}
}

func checkError(t *testing.T, err error, want []string) {
	t.Helper()
	for _, part := range want {
		if err == nil || !strings.Contains(err.Error(), part) {
			t.Errorf("the error does not say %q: %v", part, err)
		}
	}
}

func TestAgentStartFails(t *testing.T) {
	for kind, want := range map[string][]string{
		"silent":            {"it took too long", "ACP agent"},
		"noise":             {"Usage: agent [flags]", "ACP agent", "does not speak"},
		"noise and silence": {"Welcome!", "it took too long"},
		"dies":              {"exit code 7", "initialize", "no such model"},
		"closes":            {"initialize"},
		"half a line":       {"exit code 0", "initialize"},
		"other version":     {"version 99", "version 1"},
		"refuses":           {"initialize", "no license"},
		"nonsense":          {"initialize", "can't be understood"},
		"wants a login":     {"session/new", "Authentication required", "log in", "by key"},
		"no session":        {"sessionId"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			r, told := open(t, Options{})
			if strings.Contains(kind, "silen") {
				r.startLimit = 300 * time.Millisecond
			} else {
				r.startLimit = time.Hour
			}
			spec := agentSpec(t, kind)
			_, err := r.StartAgent(t.Context(), spec)
			var e *AgentError
			if !errors.As(err, &e) || len(e.Stderr) > stderrSize {
				t.Fatalf("%v", err)
			}
			checkError(t, err, append(want, spec.Command[0]))
			if len(r.List()) != 0 || told.String() != "" {
				t.Errorf("%+v; events %s", r.List(), told)
			}
		})
	}
}

func TestAgentThatGreets(t *testing.T) {
	r, _ := open(t, Options{})
	s := startAgent(t, r, "greets")
	if turn, err := s.Prompt(t.Context(), "echo x", nil); turn.Text != "x" || err != nil {
		t.Errorf("%+v, %v", turn, err)
	}
}

func TestAgentIsNotFound(t *testing.T) {
	r, _ := open(t, Options{})
	_, err := r.StartAgent(t.Context(), AgentSpec{Command: []string{"no-such-agent"}, Cwd: "/"})
	var e *process.NotFoundError
	if !errors.As(err, &e) {
		t.Errorf("%v", err)
	}
}

func TestAgentStartIsGivenUp(t *testing.T) {
	r, _ := open(t, Options{})
	ctx, cancel := context.WithCancelCause(t.Context())
	why := errors.New("the client is gone")
	go func() {
		for len(r.List()) == 0 {
			runtime.Gosched()
		}
		if i := r.List()[0]; i.State != StateStarting {
			t.Errorf("%+v", i)
		}
		cancel(why)
	}()
	if _, err := r.StartAgent(ctx, agentSpec(t, "silent")); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
}

// An agent can be killed while it starts.
func TestAgentIsKilledWhileItStarts(t *testing.T) {
	r, _ := open(t, Options{})
	go func() {
		for len(r.List()) == 0 {
			runtime.Gosched()
		}
		if s, err := r.Find(r.List()[0].ID); err == nil {
			_ = s.Kill(context.Background())
		}
	}()
	if _, err := r.StartAgent(t.Context(), agentSpec(t, "silent")); !errors.Is(err, ErrEnded) {
		t.Errorf("%v", err)
	}
}

// An agent that has not answered yet is no agent that has ended.
func TestPromptWhileStarting(t *testing.T) {
	r, _ := open(t, Options{})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = r.StartAgent(ctx, agentSpec(t, "silent"))
	}()
	for len(r.List()) == 0 {
		runtime.Gosched()
	}
	s, err := r.Find(r.List()[0].ID)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Begin("echo x", nil); !errors.Is(err, ErrStarting) {
		t.Errorf("a prompt: %v", err)
	}
	if err := s.Cancel(); err != nil {
		t.Errorf("a cancel: %v", err)
	}
	cancel()
	<-done
	if _, err := s.Begin("echo x", nil); !errors.Is(err, ErrEnded) {
		t.Errorf("a prompt after that: %v", err)
	}
}

package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chant-acp/chant-acp/host/subject"
	"github.com/chant-acp/chant-acp/runtime/session"
)

// runLine is a request of run_command.
func runLine(id, line, more string) string {
	return `{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"run_command","arguments":{"line":"` + line + `"` + more + `}}}`
}

// background sends a request whose answer comes later; stop closes its connection.
func (r *running) background(body string, headers ...string) (answered <-chan answer, stop func()) {
	ctx, cancel := context.WithCancel(r.t.Context())
	req, err := http.NewRequestWithContext(ctx, "POST", r.URL()+"/mcp", strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.Token())
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	back, done := make(chan answer, 1), make(chan struct{})
	r.t.Cleanup(func() { cancel(); <-done })
	go func() {
		defer close(done)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			return // it was stopped
		}
		defer resp.Body.Close()
		var text strings.Builder
		buf := make([]byte, 4096)
		for err == nil {
			var n int
			n, err = resp.Body.Read(buf)
			text.Write(buf[:n])
		}
		back <- answer{resp.StatusCode, resp.Header, text.String()}
	}()
	return back, cancel
}

func wait[T any](t *testing.T, c <-chan T, what string) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("%s did not come", what)
		panic("unreachable")
	}
}

// result is what a tool answered over plain HTTP.
func result(t *testing.T, a answer) (text string, isError bool) {
	t.Helper()
	var m struct {
		Result struct {
			IsError bool
			Content []struct{ Text string }
		}
	}
	decodeInto(t, a, http.StatusOK, &m)
	if len(m.Result.Content) != 1 {
		t.Fatalf("%s", a.body)
	}
	return m.Result.Content[0].Text, m.Result.IsError
}

// The three ways to end a call end what it runs: its client closes the connection,
// its client cancels it, and somebody ends it in the list of sessions.
func TestMCPCallsEnd(t *testing.T) {
	for name, end := range map[string]func(r *running, stop func(), id string){
		"closed": func(_ *running, stop func(), _ string) { stop() },
		"cancelled": func(r *running, _ func(), _ string) {
			a := r.request("POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, mcpSession, "mine")
			if a.status != http.StatusAccepted {
				r.t.Errorf("%d %s", a.status, a.body)
			}
		},
		"killed": func(r *running, _ func(), id string) {
			if a := r.request("POST", "/sessions/"+id+"/kill", ""); a.status != http.StatusOK {
				r.t.Errorf("%d %s", a.status, a.body)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			commands := &fakeCommands{begun: make(chan struct{}, 1)}
			r := start(t, func(o *Options) { o.Commands = commands })
			events := r.readEvents("/events")
			answered, stop := r.background(runLine("7", "wait", ""), mcpSession, "mine")
			wait(t, commands.begun, "the start")
			var list struct{ Sessions []session.Info }
			decodeInto(t, r.request("GET", "/sessions", ""), http.StatusOK, &list)
			if len(list.Sessions) != 1 || list.Sessions[0].Kind != session.KindCall || fmt.Sprint(list.Sessions[0].Argv) != "[wait]" || list.Sessions[0].State != session.StateRunning {
				t.Fatalf("%+v", list)
			}
			events.want("session.started")
			end(r, stop, list.Sessions[0].ID)
			if e := events.want("session.ended"); !strings.Contains(e.data, `"exitCode":1`) {
				t.Errorf("%s", e.data)
			}
			if name == "closed" {
				return // nobody is there to be answered
			}
			if text, isError := result(t, wait(t, answered, "the answer")); !isError || !strings.Contains(text, "cancelled") {
				t.Errorf("%v %s", isError, text)
			}
		})
	}
}

// A cancel ends nothing of other clients, and nothing where it is not clear whose
// request it is about.
func TestMCPCancelsOnlyItsOwn(t *testing.T) {
	for name, c := range map[string]struct{ a, b, from string }{
		"another client":      {"a", "b", "c"},
		"no session":          {"a", "b", ""},
		"two without session": {"", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			commands := &fakeCommands{begun: make(chan struct{}, 1)}
			r := start(t, func(o *Options) { o.Commands = commands })
			for _, client := range []string{c.a, c.b} {
				r.background(runLine("7", "wait", ""), mcpSession, client)
				wait(t, commands.begun, "the start")
			}
			r.request("POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`, mcpSession, c.from)
			for _, s := range r.Sessions().List() {
				if s.State != session.StateRunning {
					t.Errorf("%+v", s)
				}
			}
		})
	}
}

// Whoever has gone before the tool begins gets nothing started.
func TestMCPGoneBeforeTheStart(t *testing.T) {
	p := new(posts)
	gone, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(gone, "POST", "/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	ctx, leave := p.enter(req, readMessage([]byte(runLine("1", "hello", ""))))
	defer leave()
	cancel()
	post, ok := postOf(ctx)
	if !ok {
		t.Fatal("a tool can't know of its client")
	}
	wait(t, post.Done(), "the end of the request")
	if !errors.Is(context.Cause(post), errGone) {
		t.Error(context.Cause(post))
	}
}

func TestMCPSessionIsGivenOut(t *testing.T) {
	r := start(t, nil)
	const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`
	a, b := r.request("POST", "/mcp", initialize), r.request("POST", "/mcp", initialize)
	if a.status != http.StatusOK || len(a.header.Get(mcpSession)) != 43 || a.header.Get(mcpSession) == b.header.Get(mcpSession) {
		t.Errorf("%d %v\n%s", a.status, a.header, a.body)
	}
}

func TestMCPOnce(t *testing.T) {
	commands := &fakeCommands{begun: make(chan struct{}, 1)}
	r := start(t, func(o *Options) { o.Commands = commands })
	key := func(id, line, key string) (string, bool) {
		return result(t, r.request("POST", "/mcp", runLine(id, line, `,"idempotencyKey":"`+key+`"`)))
	}
	first, _ := key("1", "hello", "k")
	if again, isError := key("2", "hello", "k"); again != first || isError {
		t.Errorf("%q, and then %q", first, again)
	}
	if text, isError := key("3", "other", "k"); !isError || !strings.Contains(text, "idempotencyKey") {
		t.Errorf("another line: %q", text)
	}
	if text, isError := key("4", "hello", strings.Repeat("k", maxKey+1)); !isError || !strings.Contains(text, "idempotencyKey") {
		t.Errorf("a long key: %q", text)
	}
	key("5", "hello", "k2")
	key("6", "fail", "k3")
	if _, isError := key("7", "fail", "k3"); !isError {
		t.Error("the second answer of a failure is none")
	}
	key("8", "nonsense", "k4") // it ran nothing: the key is free
	key("9", "nonsense", "k4")
	if got, want := commands.ran(), "hello, hello, fail, nonsense, nonsense"; got != want {
		t.Errorf("ran %s, want %s", got, want)
	}
	// One that runs is joined, and a client that goes leaves it running.
	one, _ := r.background(runLine("10", "wait", `,"idempotencyKey":"k5"`), mcpSession, "mine")
	wait(t, commands.begun, "the start")
	_, stop := r.background(runLine("11", "wait", `,"idempotencyKey":"k5"`))
	stop()
	two, _ := r.background(runLine("12", "wait", `,"idempotencyKey":"k5"`))
	r.request("POST", "/mcp", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":10}}`, mcpSession, "mine")
	a, _ := result(t, wait(t, one, "the first answer"))
	if b, _ := result(t, wait(t, two, "the second answer")); a != b || strings.Count(commands.ran(), "wait") != 1 {
		t.Errorf("%s\n%s\n%s", a, b, commands.ran())
	}
}

// A key stands for what its line ran: where the line would run something else, the
// old result is no answer, and nothing runs.
func TestMCPOnceIsForWhatRan(t *testing.T) {
	commands := &fakeCommands{}
	r := start(t, func(o *Options) { o.Commands = commands })
	key := func(id string) (string, bool) {
		return result(t, r.request("POST", "/mcp", runLine(id, "hello", `,"idempotencyKey":"k"`)))
	}
	first, _ := key("1")
	commands.setForm(1)
	if text, isError := key("2"); !isError || !strings.Contains(text, "the entry changed, after the first call") || !strings.Contains(text, "idempotencyKey") {
		t.Errorf("of another command it says %q", text)
	}
	commands.setForm(-1)
	if text, isError := key("3"); !isError || !strings.Contains(text, "can't be read: no such command") {
		t.Errorf("of one that is gone it says %q", text)
	}
	commands.setForm(0)
	if text, isError := key("4"); isError || text != first {
		t.Errorf("of what was put back it says %q", text)
	}
	if got := commands.ran(); got != "hello" {
		t.Errorf("ran %s", got)
	}
}

func TestOnceIsBounded(t *testing.T) {
	o, runs := new(once), 0
	do := func(key string) {
		if _, err := o.do(t.Context(), key, "/", "line", lineWork{
			subject: func() (subject.Subject, error) { return subject.Subject{}, nil },
			run:     func() (Outcome, error) { runs++; return Outcome{Outcome: "completed"}, nil },
		}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range keptKeys + 1 {
		do(fmt.Sprint(i))
	}
	if do("1"); runs != keptKeys+1 || len(o.keys) != keptKeys {
		t.Errorf("%d ran, %d are kept", runs, len(o.keys))
	}
	if do("0"); runs != keptKeys+2 {
		t.Error("the oldest key was kept")
	}
}

// Refused and failed are errors to an MCP client; what waits for a person is none.
func TestMCPIsError(t *testing.T) {
	r := start(t, func(o *Options) { o.Commands = &fakeCommands{} })
	for line, want := range map[string]bool{"hello": false, "gate": false, "fail": true, "nonsense": true} {
		text, isError := result(t, r.request("POST", "/mcp", runLine("1", line, "")))
		var out Outcome
		if err := json.Unmarshal([]byte(text), &out); err != nil || isError != want {
			t.Errorf("%s: isError %v, want %v: %s", line, isError, want, text)
		}
	}
}

func TestMCPProgress(t *testing.T) {
	r := start(t, func(o *Options) { o.Commands = &fakeCommands{} })
	told := make(chan *mcp.ProgressNotificationParams, 10)
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, n *mcp.ProgressNotificationClientRequest) { told <- n.Params },
	})
	s, err := c.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: r.URL() + "/mcp", HTTPClient: &http.Client{Transport: bearer{r.Token()}}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	params := &mcp.CallToolParams{Name: "run_command", Arguments: map[string]any{"line": "hello"}}
	params.SetProgressToken("token")
	if _, err := s.CallTool(t.Context(), params); err != nil {
		t.Fatal(err)
	}
	if p := wait(t, told, "progress"); p.ProgressToken != "token" || p.Progress != float64(len("says hello\n")) || p.Message != "says hello\n" {
		t.Errorf("%+v", p)
	}
}

// RFC 9110, section 12.5.1.
func TestAccepts(t *testing.T) {
	for _, c := range []struct {
		header       []string
		json, stream bool
	}{
		{nil, true, true},
		{[]string{""}, true, true},
		{[]string{"*/*"}, true, true},
		{[]string{"application/json"}, true, false},
		{[]string{"Application/JSON; charset=utf-8"}, true, false},
		{[]string{"application/*"}, true, false},
		{[]string{"text/*;q=0.3"}, false, true},
		{[]string{"text/html, application/xhtml+xml"}, false, false},
		{[]string{"application/json", "text/event-stream"}, true, true},
		{[]string{"*/*, application/json;q=0"}, false, true},
		{[]string{"application/json;q=0, application/*"}, false, false},
		{[]string{"text/event-stream;q=0.000, */*;q=0.1"}, true, false},
		{[]string{"application/jsonx"}, false, false},
		{[]string{"*"}, false, false},
	} {
		if j, s := accepts(c.header, "application/json"), accepts(c.header, "text/event-stream"); j != c.json || s != c.stream {
			t.Errorf("%q: JSON %v, a stream %v", c.header, j, s)
		}
	}
}

func TestMCPAccept(t *testing.T) {
	r := start(t, nil)
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	for accept, want := range map[string]string{"": "application/json", "*/*": "application/json", "application/json": "application/json", "text/event-stream": "text/event-stream"} {
		a := r.request("POST", "/mcp", list, "Accept", accept)
		if media := a.header.Get("Content-Type"); a.status != http.StatusOK || media != want || !strings.Contains(a.body, "list_sessions") {
			t.Errorf("%q: %d %s\n%s", accept, a.status, media, a.body)
		}
	}
	wantProblem(t, r.request("POST", "/mcp", list, "Accept", "application/json;q=0, text/plain"), http.StatusNotAcceptable, "not-acceptable")
}

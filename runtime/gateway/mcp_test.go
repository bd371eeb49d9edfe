package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chant-acp/chant-acp/host/subject"
)

// fakeCommands are the commands of one folder.
type fakeCommands struct {
	cwd string

	mu    sync.Mutex
	form  int           // of what runs; negative where that can't be read
	lines []string      // that ran
	begun chan struct{} // gets an item when "wait" runs, where it is not nil
}

func (f *fakeCommands) List(_ context.Context, cwd string) ([]Command, error) {
	f.cwd = cwd
	return []Command{{"hello", "hello: Say hello"}}, nil
}

func (f *fakeCommands) Run(ctx context.Context, cwd, line string, said func(string)) (Outcome, error) {
	f.mu.Lock()
	f.cwd, f.lines = cwd, append(f.lines, line)
	f.mu.Unlock()
	said("says " + line + "\n")
	switch line {
	case "wait":
		if f.begun != nil {
			f.begun <- struct{}{}
		}
		<-ctx.Done()
		return Outcome{Outcome: "cancelled", Text: context.Cause(ctx).Error()}, nil
	case "nonsense":
		return Outcome{Outcome: "refused", Text: "no such command"}, nil
	case "fail":
		one := 1
		return Outcome{Outcome: "failed", ExitCode: &one}, nil
	case "gate":
		return Outcome{Outcome: "waiting"}, nil
	}
	return Outcome{Outcome: "completed", Text: "ran " + line}, nil
}

// Subject has the number of form for what counts.
func (f *fakeCommands) Subject(_ context.Context, cwd, line string) (subject.Subject, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if line == "nonsense" || f.form < 0 {
		return subject.Subject{}, errors.New("no such command")
	}
	return subject.Of(subject.Work{Root: cwd, Texts: []subject.Text{{Name: "the line", Value: line}, {Name: "the entry", Value: strconv.Itoa(f.form)}}})
}

// setForm changes what all lines run.
func (f *fakeCommands) setForm(form int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.form = form
}

func (f *fakeCommands) ran() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return strings.Join(f.lines, ", ")
}

// bearer adds the token to what a client sends.
type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return http.DefaultTransport.RoundTrip(r)
}

// client connects the SDK's client.
func (r *running) client() *mcp.ClientSession {
	r.t.Helper()
	c := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := c.Connect(r.t.Context(), &mcp.StreamableClientTransport{
		Endpoint: r.URL() + "/mcp", HTTPClient: &http.Client{Transport: bearer{r.Token()}}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { s.Close() })
	return s
}

// call calls a tool; out is filled where it is no error, whose text is returned.
func call(t *testing.T, s *mcp.ClientSession, name string, in map[string]any, out any) (problem string) {
	t.Helper()
	result, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: name, Arguments: in})
	if err != nil {
		return err.Error()
	}
	if result.IsError {
		return result.Content[0].(*mcp.TextContent).Text
	}
	raw, err := json.Marshal(result.StructuredContent)
	if err == nil && out != nil {
		err = json.Unmarshal(raw, out)
	}
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return ""
}

func TestMCPTools(t *testing.T) {
	for _, with := range []bool{true, false} {
		r := start(t, func(o *Options) {
			if with {
				o.Commands = &fakeCommands{}
			}
		})
		list, err := r.client().ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
			if tool.Description == "" {
				t.Errorf("%s has no description", tool.Name)
			}
		}
		slices.Sort(names)
		want := []string{"list_commands", "list_runs", "list_sessions", "prompt_agent_session", "read_terminal", "run_command", "start_agent_session", "write_terminal"}
		if !with {
			want = slices.DeleteFunc(want, func(n string) bool { return strings.HasSuffix(n, "command") || strings.HasSuffix(n, "commands") })
		}
		if !slices.Equal(names, want) {
			t.Errorf("%q, want %q", names, want)
		}
	}
}

func TestMCPCommands(t *testing.T) {
	commands := &fakeCommands{}
	r := start(t, func(o *Options) { o.Commands = commands })
	s := r.client()
	var list struct{ Commands []Command }
	if p := call(t, s, "list_commands", nil, &list); p != "" || len(list.Commands) != 1 || list.Commands[0].Name != "hello" || commands.cwd != r.Workspace() {
		t.Errorf("%s %+v in %s", p, list, commands.cwd)
	}
	var out Outcome
	write(t, filepath.Join(r.Workspace(), "sub", "x"), "", 0o600)
	if p := call(t, s, "run_command", map[string]any{"line": "hello", "cwd": filepath.Join(r.Workspace(), "sub")}, &out); p != "" || out.Text != "ran hello" || commands.cwd != filepath.Join(r.Workspace(), "sub") {
		t.Errorf("%s %+v in %s", p, out, commands.cwd)
	}
	// An allow-list outside of the workspace is none.
	outside := t.TempDir()
	link(t, outside, filepath.Join(r.Workspace(), "out"))
	for _, cwd := range []string{outside, filepath.Join(r.Workspace(), "out"), "sub", r.Workspace() + "/..", r.Workspace() + "x"} {
		if p := call(t, s, "run_command", map[string]any{"line": "hello", "cwd": cwd}, nil); !strings.Contains(p, "workspace") {
			t.Errorf("%s: %q", cwd, p)
		}
	}
	if p := call(t, s, "run_command", map[string]any{"line": 5}, nil); p == "" {
		t.Error("a number was taken for a line")
	}
	if p := call(t, s, "list_runs", nil, nil); !strings.Contains(p, "no runs") {
		t.Errorf("%q", p)
	}
}

func TestMCPRuns(t *testing.T) {
	r := start(t, func(o *Options) { o.Runs = &fakeRuns{} })
	var out struct{ Runs []Run }
	if p := call(t, r.client(), "list_runs", nil, &out); p != "" || len(out.Runs) != 2 || out.Runs[0].Gates[0].Status != "waiting" {
		t.Errorf("%s %+v", p, out)
	}
}

// TestMCPAgents: over MCP nothing that needs a person is done, and no session is
// used that a person started.
func TestMCPAgents(t *testing.T) {
	r := start(t, func(o *Options) { withAgent(t, o) })
	s := r.client()
	var info sessionOut
	if p := call(t, s, "start_agent_session", map[string]any{"adapter": "chant-acp", "name": "mine"}, &info); p != "" || !info.MCP || info.Turn != "idle" {
		t.Fatalf("%s %+v", p, info)
	}
	var turn promptOut
	if p := call(t, s, "prompt_agent_session", map[string]any{"session": "mine", "prompt": "hello"}, &turn); p != "" || turn.StopReason != "end_turn" || !strings.Contains(turn.Text, "hello") {
		t.Errorf("%s %+v", p, turn)
	}
	if p := call(t, s, "prompt_agent_session", map[string]any{"session": "mine", "prompt": "deploy"}, nil); !strings.Contains(p, "over MCP") || strings.Contains(p, "deployed") {
		t.Errorf("%s", p)
	}
	if p := call(t, s, "start_agent_session", map[string]any{"adapter": "foreign"}, nil); !strings.Contains(p, "not open to MCP") {
		t.Errorf("%q", p)
	}
	r.agentSession(`{"adapter":"chant-acp","name":"theirs"}`)
	if p := call(t, s, "prompt_agent_session", map[string]any{"session": "theirs", "prompt": "hello"}, nil); !strings.Contains(p, "belongs to a person") {
		t.Errorf("%q", p)
	}
	var list listSessionsOut
	if p := call(t, s, "list_sessions", nil, &list); p != "" || len(list.Sessions) != 2 || list.Sessions[1].MCP {
		t.Errorf("%s %+v", p, list)
	}
}

func TestMCPTerminals(t *testing.T) {
	r := start(t, nil)
	s := r.client()
	r.terminal(`{"argv":["sh","-c","printf '\\033[31mred\\033[0m\\n'; exec cat"],"name":"shared","mcp":true}`)
	r.terminal(`{"argv":["cat"],"name":"private"}`)
	watch := r.attach("/sessions/shared/pty")
	watch.shows("red")
	if p := call(t, s, "write_terminal", map[string]any{"session": "shared", "text": "typed\r"}, nil); p != "" {
		t.Error(p)
	}
	watch.shows("typed\r\ntyped")
	var out readTerminalOut
	if p := call(t, s, "read_terminal", map[string]any{"session": "shared"}, &out); p != "" || out.Text != "red\ntyped\ntyped\n" || out.State != "running" {
		t.Errorf("%s %+v", p, out)
	}
	for _, tool := range []string{"read_terminal", "write_terminal"} {
		if p := call(t, s, tool, map[string]any{"session": "private", "text": "x"}, nil); tool == "write_terminal" && !strings.Contains(p, "not open to MCP") || p == "" {
			t.Errorf("%s: %q", tool, p)
		}
	}
	if p := call(t, s, "read_terminal", map[string]any{"session": "private"}, nil); !strings.Contains(p, "not open to MCP") {
		t.Errorf("%q", p)
	}
	if p := call(t, s, "read_terminal", map[string]any{"session": "shared", "bytes": 1 << 30}, nil); !strings.Contains(p, "bytes") {
		t.Errorf("%q", p)
	}
}

// TestMCPOverHTTP: what the protocol's library refuses is a problem document too.
func TestMCPOverHTTP(t *testing.T) {
	r := start(t, nil)
	const list = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	both := []string{"Accept", "application/json, text/event-stream", "Mcp-Protocol-Version", "2025-06-18"}
	var answer struct {
		Result struct{ Tools []struct{ Name string } }
	}
	decodeInto(t, r.request("POST", "/mcp", list, both...), http.StatusOK, &answer)
	if len(answer.Result.Tools) == 0 {
		t.Errorf("%+v", answer)
	}
	wantProblem(t, r.request("POST", "/mcp", list, append(both, "Authorization", "")...), http.StatusUnauthorized, "unauthorized")
	wantProblem(t, r.request("POST", "/mcp", list, append(both, "Content-Type", "text/plain")...), http.StatusUnsupportedMediaType, "wrong-media-type")
	wantProblem(t, r.request("POST", "/mcp", list, "Accept", "text/html"), http.StatusNotAcceptable, "not-acceptable")
	wantProblem(t, r.request("POST", "/mcp", `{`, both...), http.StatusBadRequest, "bad-request")
	wantProblem(t, r.request("POST", "/mcp", list, append(both, "Mcp-Protocol-Version", "1999-01-01")...), http.StatusBadRequest, "bad-request")
	wantProblem(t, r.request("POST", "/mcp", list, append(both, "Origin", "http://evil.example")...), http.StatusForbidden, "foreign-origin")
	wantProblem(t, r.request("POST", "/mcp", list, append(both, "Sec-Fetch-Site", "cross-site")...), http.StatusForbidden, "foreign-origin")
}

// TestStopEndsTools: a tool that runs does not hold the stop up.
func TestStopEndsTools(t *testing.T) {
	r := start(t, func(o *Options) { o.Commands = &fakeCommands{} })
	s := r.client()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = s.CallTool(context.Background(), &mcp.CallToolParams{Name: "run_command", Arguments: map[string]any{"line": "wait"}})
	}()
	if err := r.Stop(context.Background()); err != nil {
		t.Error(err)
	}
	<-done
}

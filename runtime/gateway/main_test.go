package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/process"
	"github.com/chant-acp/chant-acp/host/project"
	"github.com/chant-acp/chant-acp/internal/origin"
	"github.com/chant-acp/chant-acp/internal/testenv"
	"github.com/chant-acp/chant-acp/runtime/session"
)

// agentVariable makes the test binary an agent, the one that all this is about.
const agentVariable = "GATEWAY_TEST_AGENT"

func TestMain(m *testing.M) {
	process.GuardMain()
	if os.Getenv(agentVariable) != "" {
		serveAgent()
		return
	}
	goleak.VerifyTestMain(m)
}

func serveAgent() {
	behind := agent.OriginClient
	if os.Getenv(origin.Variable) == "mcp" {
		behind = agent.OriginMCP
	}
	a := agent.New(agent.Options{Version: "test", Confirm: "ask", Open: func(cwd string) host.Host {
		return project.New(cwd, project.Options{Env: os.Environ(), LogDir: os.Getenv(agentVariable)})
	}})
	if err := a.ServeAs(context.Background(), acp.NewTransport(os.Stdin, os.Stdout), behind); err != nil {
		os.Exit(1)
	}
}

// manifest is the allow-list of the workspaces of tests.
const manifest = `version: 1
commands:
  hello: {summary: Say hello, exec: [echo, hello], effect: read}
  fail: {summary: Fail, exec: ["false"], effect: read}
  wait: {summary: Wait until cancelled, exec: [sleep, "1000"], effect: read}
  deploy: {summary: Deploy, exec: [echo, deployed], effect: write, confirm: ask}
`

// withAgent gives a gateway a manifest and the adapter "chant-acp".
func withAgent(t *testing.T, o *Options) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(o.Workspace, "chant-acp.yaml"), manifest, 0o600)
	own := Adapter{Slug: "chant-acp", Command: []string{self}, Env: []string{agentVariable + "=" + t.TempDir()}, MCP: true}
	foreign := own
	foreign.Slug, foreign.MCP = "foreign", false
	silent := Adapter{Slug: "silent", Command: []string{"true"}}
	missing := Adapter{Slug: "missing", Command: []string{"no-such-program-anywhere"}}
	o.Adapters = func() ([]Adapter, error) { return []Adapter{own, foreign, silent, missing}, nil }
}

// patience is how long a test waits for what has to happen.
const patience = testenv.Hang

// logs collects what is logged.
type logs struct {
	mu   sync.Mutex
	b    bytes.Buffer
	more chan struct{} // closed at the next line
}

func (l *logs) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.more != nil {
		close(l.more)
		l.more = nil
	}
	return l.b.Write(p)
}

// wait waits until a text has been logged n times.
func (l *logs) wait(t *testing.T, text string, n int) {
	t.Helper()
	late := time.After(patience)
	for {
		l.mu.Lock()
		if l.more == nil {
			l.more = make(chan struct{})
		}
		more, have := l.more, strings.Count(l.b.String(), text)
		l.mu.Unlock()
		if have >= n {
			return
		}
		select {
		case <-more:
		case <-late:
			t.Fatalf("the log has %q %d times, not %d:\n%s", text, have, n, l)
		}
	}
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// running is a gateway under test.
type running struct {
	*Gateway
	t    *testing.T
	logs *logs
}

// start starts a gateway in a workspace of its own.
func start(t *testing.T, change func(*Options)) *running {
	t.Helper()
	return startWith(t, usualTimes, change)
}

func startWith(t *testing.T, times times, change func(*Options)) *running {
	t.Helper()
	l := &logs{}
	log := zerolog.New(l)
	o := Options{
		Workspace: t.TempDir(), Version: "1.2.3", Log: log, Requests: log,
		Sessions: session.Options{Log: log},
	}
	if change != nil {
		change(&o)
	}
	g, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	g.times = times
	if err := g.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	r := &running{g, t, l}
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		if err := g.Stop(context.Background()); err != nil {
			t.Error(err)
		}
		if token := g.Token(); strings.Contains(l.String(), token) {
			t.Errorf("the token is in the log:\n%s", l)
		}
	})
	return r
}

// answer is what came back.
type answer struct {
	status int
	header http.Header
	body   string
}

// person is the header of a person's request.
func (r *running) person() []string {
	capability, _ := r.access.people.Grant(time.Now())
	return []string{"Authorization", "Bearer " + capability}
}

// request asks with the token; headers are given as name, value, and override.
func (r *running) request(method, path, body string, headers ...string) answer {
	r.t.Helper()
	var content io.Reader
	if body != "" {
		content = strings.NewReader(body)
	}
	req, err := http.NewRequestWithContext(r.t.Context(), method, r.URL()+path, content)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.Token())
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i < len(headers); i += 2 {
		switch {
		case headers[i] == "Host":
			req.Host = headers[i+1]
		case headers[i+1] == "":
			req.Header.Del(headers[i])
		default:
			req.Header.Set(headers[i], headers[i+1])
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, string(text)}
}

// wantProblem checks that an answer is a whole problem document.
func wantProblem(t *testing.T, a answer, status int, kind string) map[string]any {
	t.Helper()
	var p map[string]any
	if err := json.Unmarshal([]byte(a.body), &p); err != nil {
		t.Errorf("status %d, and not a problem document: %v\n%s", a.status, err, a.body)
		return nil
	}
	detail, _ := p["detail"].(string)
	title, _ := p["title"].(string)
	if a.status != status || p["type"] != problemDocs+kind || p["status"] != float64(status) || detail == "" || title == "" ||
		a.header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("got %d %s\n%s\nwant %d of the type %s", a.status, a.header.Get("Content-Type"), a.body, status, kind)
	}
	return p
}

// decodeInto reads the JSON of an answer with a status.
func decodeInto(t *testing.T, a answer, status int, v any) {
	t.Helper()
	if a.status != status || a.header.Get("Content-Type") != "application/json" {
		t.Fatalf("got %d %s, want %d\n%s", a.status, a.header.Get("Content-Type"), status, a.body)
	}
	if err := json.Unmarshal([]byte(a.body), v); err != nil {
		t.Fatalf("%v\n%s", err, a.body)
	}
}

func write(t *testing.T, path, text string, mode os.FileMode) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// Token is the bearer token of a gateway under test.
func (g *Gateway) Token() string { return g.token }

package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chant-acp/chant-acp/internal/origin"
	"github.com/chant-acp/chant-acp/runtime/gateway"
)

// daemon is a gateway as a process.
type daemon struct {
	*exec.Cmd
	workspace string
	stderr    *strings.Builder
	first     string // line of standard output
}

// startGateway starts one in a workspace and waits until it listens.
func startGateway(t *testing.T, workspace string, args ...string) *daemon {
	t.Helper()
	return startGatewayProcess(t, program(t, append([]string{"gateway", "--workspace", workspace, "--port", "0"}, args...)...), workspace)
}

// startGatewayProcess starts one that is made already.
func startGatewayProcess(t *testing.T, c *exec.Cmd, workspace string) *daemon {
	t.Helper()
	d := &daemon{Cmd: c, workspace: workspace, stderr: &strings.Builder{}}
	d.Stderr = d.stderr
	out, err := d.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // by itself, or what it started would still write when its folders go
		late := time.AfterFunc(patience, func() { _ = d.Process.Kill() })
		defer late.Stop()
		_ = d.Process.Signal(syscall.SIGTERM)
		_ = d.Wait()
	})
	d.first, err = bufio.NewReader(out).ReadString('\n')
	if err != nil {
		_ = d.Wait()
		t.Fatalf("%v\n%s", err, d.stderr)
	}
	return d
}

// ends waits for the end of the process.
func (d *daemon) ends(t *testing.T) error {
	t.Helper()
	late := time.AfterFunc(patience, func() { _ = d.Process.Kill() })
	defer late.Stop()
	return d.Wait()
}

func (d *daemon) find(t *testing.T) gateway.Running {
	t.Helper()
	at, err := gateway.Find(d.workspace)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func TestGatewayProcess(t *testing.T) {
	t.Parallel()
	workspace, _ := fixture(t)
	d := startGateway(t, workspace, "--json-log")
	at := d.find(t)
	if !strings.HasPrefix(d.first, at.URL+" serves ") || at.PID != d.Process.Pid {
		t.Errorf("%q and %+v", d.first, at)
	}
	second := program(t, "gateway", "--workspace", workspace, "--port", "0")
	if out, err := second.CombinedOutput(); err == nil || !strings.Contains(string(out), at.URL) || strings.Contains(string(out), at.Token) {
		t.Errorf("a second start: %v\n%s", err, out)
	}
	resp, err := http.Get(at.URL + "/health?secret=query")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if err := d.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := d.ends(t); err != nil {
		t.Errorf("%v\n%s", err, d.stderr)
	}
	if _, err := os.Lstat(filepath.Join(workspace, ".chant-acp", "runtime.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("runtime.json stays: %v", err)
	}
	for line := range strings.Lines(d.stderr.String()) {
		if !json.Valid([]byte(line)) || strings.Contains(line, "secret") || strings.Contains(line, at.Token) {
			t.Errorf("the log says %s", line)
		}
	}
	if !strings.Contains(d.stderr.String(), `"route":"/health"`) {
		t.Errorf("no request in the log:\n%s", d.stderr)
	}
}

// TestGatewayKilled: what is left of a killed gateway is in nobody's way.
func TestGatewayKilled(t *testing.T) {
	t.Parallel()
	workspace, _ := fixture(t)
	d := startGateway(t, workspace)
	old := d.find(t)
	if err := d.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = d.ends(t)
	if _, err := gateway.Find(workspace); !errors.Is(err, gateway.ErrNoGateway) {
		t.Errorf("%v", err)
	}
	if at := startGateway(t, workspace).find(t); at.Token == old.Token {
		t.Error("it has the token of an earlier start")
	}
}

// TestGatewayConfig: what it says counts, and one that is broken is no start.
func TestGatewayConfig(t *testing.T) {
	workspace, _ := fixture(t)
	file := filepath.Join(t.TempDir(), "config.json")
	t.Setenv("CHANT_ACP_CONFIG", file)
	set := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	set(`{"daemon": {"openReads": true}, "adapters": {"other": {"command": ["no-such-program"], "description": "Another"}}}`)
	at := startGateway(t, workspace).find(t)
	get := func(path string) (int, string) {
		t.Helper()
		resp, err := http.Get(at.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		var body json.RawMessage
		if err := json.NewDecoder(resp.Body).Decode(&body); err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(body)
	}
	if status, _ := get("/conversations"); status != http.StatusOK {
		t.Errorf("reads are not open: %d", status)
	}
	if _, body := get("/adapters"); !strings.Contains(body, `"slug":"other","description":"Another","program":"no-such-program","installed":false`) || !strings.Contains(body, `"slug":"chant-acp"`) {
		t.Errorf("%s", body)
	}
	set(`{"adapters": {`)
	if _, body := get("/adapters"); !strings.Contains(body, `"slug":"other"`) || !strings.Contains(body, "warning") || !strings.Contains(body, filepath.Base(file)) {
		t.Errorf("broken in mid-run: %s", body)
	}
	elsewhere, _ := fixture(t)
	for _, broken := range []string{`{"adapters": {`, `{"daemon": {"openReads": "yes"}}`} {
		set(broken)
		if out, err := program(t, "gateway", "--workspace", elsewhere, "--port", "0").CombinedOutput(); err == nil || !strings.Contains(string(out), filepath.Base(file)) {
			t.Errorf("%s: %v\n%s", broken, err, out)
		}
	}
}

// TestGatewayMCP runs the allow-list as an MCP client does.
func TestGatewayMCP(t *testing.T) {
	t.Parallel()
	workspace, _ := fixture(t)
	at := startGateway(t, workspace).find(t)
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	s, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: at.URL + "/mcp", HTTPClient: &http.Client{Transport: withToken(at.Token)}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	call := func(tool string, arguments map[string]any) string {
		t.Helper()
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
		if err != nil {
			t.Fatalf("%s %v: %v", tool, arguments, err)
		}
		return r.Content[0].(*mcp.TextContent).Text
	}
	if text := call("list_commands", nil); !strings.Contains(text, `"hello"`) || !strings.Contains(text, "Say hello") {
		t.Errorf("%s", text)
	}
	start := map[string]any{"adapter": "chant-acp", "name": "mine"}
	if text := call("start_agent_session", start); !strings.Contains(text, `"mcp":true`) {
		t.Fatalf("%s", text)
	}
	for line, want := range map[string]string{
		"hello":      `"exitCode":0,"outcome":"completed"`,
		"fail":       `"exitCode":1,"outcome":"failed"`,
		"echo hello": `"outcome":"refused"`,
		"ask":        "came over MCP",
		"destroy":    "came over MCP",
		"confirm x":  "refused",
	} {
		if text := call("run_command", map[string]any{"line": line}); !strings.Contains(text, want) || strings.Contains(text, "it was allowed") || strings.Contains(text, "it is gone\n") {
			t.Errorf("%s: %s", line, text)
		}
	}
	for _, line := range []string{"ask", "destroy"} { // and in a session of its own
		if text := call("prompt_agent_session", map[string]any{"session": "mine", "prompt": line}); !strings.Contains(text, "came over MCP") {
			t.Errorf("%s: %s", line, text)
		}
	}
}

type withToken string

func (w withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(w))
	return http.DefaultTransport.RoundTrip(r)
}

func TestOrigin(t *testing.T) {
	workspace, _ := fixture(t)
	for said, want := range map[string]string{"mcp": "came over MCP", "heartbeat": "HEARTBEAT.md", "nonsense": "came over MCP"} {
		c := program(t, "prompt", "--cwd", workspace, "--yes", "destroy")
		c.Env = append(c.Env, fmt.Sprintf("%s=%s", origin.Variable, said))
		if out, err := c.CombinedOutput(); err == nil || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v\n%s", said, err, out)
		}
	}
}

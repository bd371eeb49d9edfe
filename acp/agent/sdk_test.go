package agent_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	sdk "github.com/coder/acp-go-sdk"
	"github.com/rs/zerolog"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/project"
)

const sdkManifest = `version: 1
commands:
  hello: {summary: Say hello, exec: [echo, hello], effect: read, rest: {pattern: '[a-z ;$&|<>*()]*'}}
  fail:  {summary: Fail, exec: [sh, -c, 'echo no; exit 3'], effect: read}
  slow:  {summary: Wait, exec: [sh, -c, 'echo begun; exec sleep 600'], effect: read}
  big:   {summary: Print much, exec: [seq, "1000000"], effect: read}
  touch: {summary: Make a file, exec: [touch, made], confirm: ask}
`

// sdkClient is a client of the Go SDK. The SDK calls SessionUpdate in order and
// before the answer that follows.
type sdkClient struct {
	t      *testing.T
	option sdk.PermissionOptionId // of the answer to a question
	begun  chan struct{}          // closed when slow has begun

	mu       sync.Mutex
	text     strings.Builder
	once     sync.Once
	printed  map[string]string // by tool call
	statuses []string
	titles   []string
}

func (c *sdkClient) SessionUpdate(_ context.Context, n sdk.SessionNotification) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	u := n.Update
	switch {
	case u.AgentMessageChunk != nil:
		c.text.WriteString(u.AgentMessageChunk.Content.Text.Text)
	case u.ToolCall != nil:
		if strings.Contains(string(u.ToolCall.ToolCallId), "/") { // it only holds output
			return nil
		}
		c.statuses = append(c.statuses, string(u.ToolCall.Status))
		c.titles = append(c.titles, u.ToolCall.Title)
	case u.ToolCallUpdate != nil:
		if u.ToolCallUpdate.Status == nil {
			c.t.Error("an update without a status")
			return nil
		}
		status := string(*u.ToolCallUpdate.Status)
		for _, content := range u.ToolCallUpdate.Content {
			if content.Content == nil || content.Content.Content.Text == nil {
				continue
			}
			text := content.Content.Content.Text.Text
			c.printed[string(u.ToolCallUpdate.ToolCallId)] = text // all so far, again
			if status == "in_progress" {
				status = ""
			}
			if strings.Contains(text, "begun") {
				c.once.Do(func() { close(c.begun) })
			}
		}
		if status != "" && !strings.Contains(string(u.ToolCallUpdate.ToolCallId), "/") {
			c.statuses = append(c.statuses, status)
		}
	}
	return nil
}

// taken returns what was told since the last call.
func (c *sdkClient) taken() (text, statuses string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range slices.Sorted(maps.Keys(c.printed)) {
		text += c.printed[id]
	}
	clear(c.printed)
	text, statuses = text+c.text.String(), strings.Join(c.statuses, " ")
	c.text.Reset()
	c.statuses = nil
	return text, statuses
}

func (c *sdkClient) RequestPermission(_ context.Context, r sdk.RequestPermissionRequest) (sdk.RequestPermissionResponse, error) {
	if len(r.Options) != 3 {
		c.t.Errorf("options %v", r.Options)
	}
	return sdk.RequestPermissionResponse{Outcome: sdk.NewRequestPermissionOutcomeSelected(c.option)}, nil
}

// Nothing else was offered.
func (c *sdkClient) ReadTextFile(context.Context, sdk.ReadTextFileRequest) (sdk.ReadTextFileResponse, error) {
	c.t.Error("fs/read_text_file was called")
	return sdk.ReadTextFileResponse{}, nil
}

func (c *sdkClient) WriteTextFile(context.Context, sdk.WriteTextFileRequest) (sdk.WriteTextFileResponse, error) {
	c.t.Error("fs/write_text_file was called")
	return sdk.WriteTextFileResponse{}, nil
}

func (c *sdkClient) CreateTerminal(context.Context, sdk.CreateTerminalRequest) (sdk.CreateTerminalResponse, error) {
	c.t.Error("terminal/create was called")
	return sdk.CreateTerminalResponse{}, nil
}

func (c *sdkClient) KillTerminal(context.Context, sdk.KillTerminalRequest) (sdk.KillTerminalResponse, error) {
	c.t.Error("terminal/kill was called")
	return sdk.KillTerminalResponse{}, nil
}

func (c *sdkClient) TerminalOutput(context.Context, sdk.TerminalOutputRequest) (sdk.TerminalOutputResponse, error) {
	c.t.Error("terminal/output was called")
	return sdk.TerminalOutputResponse{}, nil
}

func (c *sdkClient) ReleaseTerminal(context.Context, sdk.ReleaseTerminalRequest) (sdk.ReleaseTerminalResponse, error) {
	c.t.Error("terminal/release was called")
	return sdk.ReleaseTerminalResponse{}, nil
}

func (c *sdkClient) WaitForTerminalExit(context.Context, sdk.WaitForTerminalExitRequest) (sdk.WaitForTerminalExitResponse, error) {
	c.t.Error("terminal/wait_for_exit was called")
	return sdk.WaitForTerminalExitResponse{}, nil
}

// TestTheGoSDK drives the agent, over a real project, with a client of
// github.com/coder/acp-go-sdk.
func TestTheGoSDK(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "chant-acp.yaml"), []byte(sdkManifest), 0o600); err != nil {
		t.Fatal(err)
	}
	logs := filepath.Join(t.TempDir(), "state", "logs")
	a := agent.New(agent.Options{Version: "test", Confirm: "ask", Log: zerolog.Nop(), Open: func(cwd string) host.Host {
		return project.New(cwd, project.Options{Env: os.Environ(), LogDir: logs})
	}})
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	served := make(chan error, 1)
	go func() { served <- a.Serve(context.Background(), acp.NewTransport(inRead, outWrite)) }() // waited for below

	client := &sdkClient{t: t, option: "allow", begun: make(chan struct{}), printed: map[string]string{}}
	conn := sdk.NewClientSideConnection(client, inWrite, outRead)
	var complaints bytes.Buffer
	conn.SetLogger(slog.New(slog.NewTextHandler(&complaints, &slog.HandlerOptions{Level: slog.LevelWarn})))

	hello, err := conn.Initialize(ctx, sdk.InitializeRequest{ClientInfo: &sdk.Implementation{Name: "gosdk"}, ProtocolVersion: sdk.ProtocolVersionNumber})
	if err != nil || hello.ProtocolVersion != 1 || hello.AgentInfo == nil || hello.AgentInfo.Name != "chant-acp" {
		t.Fatalf("initialize: %+v, %v", hello, err)
	}
	session, err := conn.NewSession(ctx, sdk.NewSessionRequest{Cwd: dir, McpServers: []sdk.McpServer{}})
	if err != nil {
		t.Fatal(err)
	}
	prompt := func(line string) sdk.StopReason {
		t.Helper()
		r, err := conn.Prompt(ctx, sdk.PromptRequest{SessionId: session.SessionId, Prompt: []sdk.ContentBlock{sdk.TextBlock(line)}})
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		return r.StopReason
	}
	expect := func(line string, reason sdk.StopReason, statuses, says string) {
		t.Helper()
		got := prompt(line)
		text, all := client.taken()
		if got != reason || all != statuses || !strings.Contains(text, says) {
			t.Errorf("%s ended %s with %q and said %.300q", line, got, all, text)
		}
	}
	expect("hello '$(x)' ';' '*'", sdk.StopReasonEndTurn, "in_progress completed", "hello $(x) ; *\n")
	expect("fail", sdk.StopReasonEndTurn, "in_progress failed", "exit code 3")
	expect("nonsense", sdk.StopReasonRefusal, "", "no command")
	expect("big", sdk.StopReasonEndTurn, "in_progress completed", "left out here")
	made := filepath.Join(dir, "made")
	client.option = "reject"
	expect("touch", sdk.StopReasonEndTurn, "pending failed", "was rejected")
	if _, err := os.Stat(made); err == nil {
		t.Error("what was rejected ran")
	}
	client.option = "allow"
	expect("touch", sdk.StopReasonEndTurn, "pending in_progress completed", "completed in")
	if _, err := os.Stat(made); err != nil {
		t.Error(err)
	}

	go func() { // ends with the turn, which ends by it
		<-client.begun
		if err := conn.Cancel(ctx, sdk.CancelNotification{SessionId: session.SessionId}); err != nil {
			t.Error(err)
		}
	}()
	expect("slow", sdk.StopReasonCancelled, "in_progress failed", "was cancelled after")

	_, err = conn.Prompt(ctx, sdk.PromptRequest{SessionId: "sess_unknown", Prompt: []sdk.ContentBlock{sdk.TextBlock("hello")}})
	if err == nil || !strings.Contains(err.Error(), "-32002") {
		t.Errorf("an unknown session: %v", err)
	}
	inWrite.Close()
	if err := <-served; err != nil {
		t.Error(err)
	}
	<-conn.Done()
	if complaints.Len() > 0 {
		t.Errorf("the client complained:\n%s", complaints.String())
	}
}

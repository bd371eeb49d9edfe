package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/host"
	hostprocess "github.com/chant-acp/chant-acp/host/process"
	"github.com/chant-acp/chant-acp/internal/testenv"
)

func TestMain(m *testing.M) {
	hostprocess.GuardMain()
	goleak.VerifyTestMain(m)
}

// maxLine is what a line of the agent may have: 24 KiB and its newline.
const maxLine = 24 << 10

// patience bounds a wait for the agent; it is no measure of anything.
const patience = testenv.Hang

// message is one line of the agent.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		SessionID string          `json:"sessionId"`
		Update    update          `json:"update"`
		ToolCall  update          `json:"toolCall"`
		Options   []permission    `json:"options"`
		RequestID json.RawMessage `json:"requestId"`
		Meta      struct {
			Chant struct {
				RequestID string `json:"requestId"`
			} `json:"chant"`
		} `json:"_meta"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *acp.Error      `json:"error"`
	raw    string
}

type permission struct {
	OptionID string `json:"optionId"`
	Kind     string `json:"kind"`
}

type update struct {
	Kind       string `json:"sessionUpdate"`
	ToolCallID string `json:"toolCallId"`
	Title      string `json:"title"`
	ToolKind   string `json:"kind"`
	Status     string `json:"status"`
	UpdatedAt  string `json:"updatedAt"`
	// Content is an object in a chunk and a list in a tool call.
	Content   json.RawMessage        `json:"content"`
	RawInput  *rawInput              `json:"rawInput"`
	RawOutput map[string]any         `json:"rawOutput"`
	Locations []acp.ToolCallLocation `json:"locations"`
	Commands  []acp.AvailableCommand `json:"availableCommands"`
	Entries   []acp.PlanEntry        `json:"entries"`
	Options   []acp.ConfigOption     `json:"configOptions"`
	Meta      struct {
		Info   map[string]any `json:"terminal_info"`
		Output map[string]any `json:"terminal_output"`
		Exit   map[string]any `json:"terminal_exit"`
	} `json:"_meta"`
}

type rawInput struct {
	Command string   `json:"command"`
	Argv    []string `json:"argv"`
	Cwd     string   `json:"cwd"`
}

// text of a chunk, or of all text items of a tool call.
func (u update) text() string {
	var block struct {
		Text string `json:"text"`
	}
	if len(u.Content) > 0 && u.Content[0] == '{' {
		_ = json.Unmarshal(u.Content, &block)
		return block.Text
	}
	var list []struct {
		Content struct {
			Text string `json:"text"`
		} `json:"content"`
	}
	_ = json.Unmarshal(u.Content, &list)
	var b strings.Builder
	for _, c := range list {
		b.WriteString(c.Content.Text)
	}
	return b.String()
}

// outcome is the answer to a prompt.
type outcome struct {
	StopReason string `json:"stopReason"`
	Meta       struct {
		Chant struct {
			Outcome  string `json:"outcome"`
			ExitCode *int   `json:"exitCode"`
			Confirm  string `json:"confirm"`
			RunID    string `json:"runId"`
			Gate     string `json:"gate"`
		} `json:"chant"`
	} `json:"_meta"`
}

func (o outcome) String() string { return o.StopReason + "/" + o.Meta.Chant.Outcome }

// wire is a client that speaks raw lines and holds whatever the agent writes to
// the rules of a turn.
type wire struct {
	t      *testing.T
	host   *stubHost
	conn   acp.Transport
	in     io.Closer // what the agent reads
	out    io.Closer // what it writes
	leave  context.CancelFunc
	served chan error // what Serve returned
	got    chan message
	paused gate
	held   bool // paused, by the test
	// stalled says that it was paused: the agent may leave it in the middle of a
	// line.
	stalled atomic.Bool
	rules   *rules
	id      int
	seen    []message // taken out of got so far
}

type setup struct {
	options     agent.Options
	origin      agent.Origin
	client      string // clientInfo.name
	terminal    bool
	bare        bool // it takes no part in files
	host        *stubHost
	noHandshake bool
}

// dial starts an agent and initializes the connection.
func dial(t *testing.T, s setup) *wire {
	t.Helper()
	h := s.host
	if h == nil {
		h = newStub(t)
	}
	o := s.options
	o.Version, o.Log = "test", zerolog.Nop()
	o.Open = func(string) host.Host { return h }
	return attach(t, agent.New(o), s, h)
}

// dialTwo connects two clients to one agent.
func dialTwo(t *testing.T) (*wire, *wire) {
	t.Helper()
	h := newStub(t)
	a := agent.New(agent.Options{Version: "test", Log: zerolog.Nop(), Open: func(string) host.Host { return h }})
	var both [2]*wire
	for i := range both {
		both[i] = attach(t, a, setup{}, h)
	}
	return both[0], both[1]
}

// attach connects one more client to an agent, by pipes that can be closed one
// by one.
func attach(t *testing.T, a *agent.Agent, s setup, h *stubHost) *wire {
	t.Helper()
	inRead, inWrite := io.Pipe()
	outRead, outWrite := io.Pipe()
	here, there := acp.NewTransport(outRead, inWrite), acp.NewTransport(inRead, outWrite)
	ctx, leave := context.WithCancel(context.Background())
	w := &wire{
		t: t, host: h, conn: here, in: inWrite, out: outRead, leave: leave, served: make(chan error, 1),
		got: make(chan message, 1<<16), paused: make(gate, 1), rules: newRules(t),
	}
	var running sync.WaitGroup
	running.Go(func() { w.served <- a.ServeAs(ctx, there, s.origin) })
	running.Go(w.reading)
	t.Cleanup(func() {
		if w.held { // a test that paused and never went on
			w.resume()
		}
		leave()
		running.Wait()
		here.Close()
	})
	if s.noHandshake {
		return w
	}
	// Without a name it is one of those that show message text for certain.
	files := map[string]any{"readTextFile": !s.bare}
	params := map[string]any{"protocolVersion": 1, "clientCapabilities": map[string]any{"fs": files}}
	if s.client != "" {
		params["clientInfo"] = map[string]any{"name": s.client, "version": "1"}
	}
	if s.terminal {
		params["clientCapabilities"] = map[string]any{"fs": files, "_meta": map[string]any{"terminal_output": true}}
	}
	id := w.request("initialize", params)
	w.answer(id)
	return w
}

// pause stops reading once the next line was read; resume goes on.
func (w *wire) pause() {
	w.paused.Lock()
	w.held = true
	w.stalled.Store(true)
}

func (w *wire) resume() {
	w.held = false
	w.paused.Unlock()
}

func (w *wire) reading() {
	defer close(w.got)
	for {
		w.paused.pass()
		line, err := w.conn.ReadLine()
		if err != nil {
			return
		}
		var m message
		if err := json.Unmarshal(line, &m); err != nil {
			if _, end := w.conn.ReadLine(); end == nil || !w.stalled.Load() {
				w.t.Errorf("the agent wrote %s: %v", line, err)
			}
			continue
		}
		m.raw = string(line)
		w.rules.check(m)
		w.got <- m
	}
}

// send writes lines in one packet.
func (w *wire) send(lines ...string) {
	w.t.Helper()
	if err := w.conn.WriteLines([]byte(strings.Join(lines, "\n") + "\n")); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wire) line(method string, params any) (id int, line string) {
	w.id++
	if p, ok := params.(acp.PromptRequest); ok {
		w.rules.sent(fmt.Sprint(w.id), p.SessionID)
	}
	if p, ok := params.(acp.LoadSessionRequest); ok {
		w.rules.opening(fmt.Sprint(w.id), p.SessionID)
	}
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": w.id, "method": method, "params": params})
	if err != nil {
		w.t.Fatal(err)
	}
	return w.id, string(raw)
}

func (w *wire) request(method string, params any) int {
	w.t.Helper()
	id, line := w.line(method, params)
	w.send(line)
	return id
}

func notification(method string, params any) string {
	raw, _ := json.Marshal(map[string]any{"jsonrpc": "2.0", "method": method, "params": params})
	return string(raw)
}

func cancelLine(session string) string {
	return notification("session/cancel", map[string]any{"sessionId": session})
}

func promptParams(session string, blocks ...acp.ContentBlock) acp.PromptRequest {
	return acp.PromptRequest{SessionID: session, Prompt: append([]acp.ContentBlock{}, blocks...)}
}

// await takes messages until one fits.
func (w *wire) await(what string, fits func(message) bool) message {
	w.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		select {
		case m, ok := <-w.got:
			if !ok {
				w.t.Fatalf("the connection ended before %s; the last lines: %s", what, w.lastLines())
			}
			w.seen = append(w.seen, m)
			if fits(m) {
				return m
			}
		case <-late.C:
			w.t.Fatalf("no %s; the last lines: %s", what, w.lastLines())
		}
	}
}

func (w *wire) lastLines() string {
	var b strings.Builder
	for _, m := range w.seen[max(0, len(w.seen)-5):] {
		b.WriteString("\n  " + m.raw[:min(len(m.raw), 400)])
	}
	return b.String()
}

func (w *wire) answer(id int) message {
	w.t.Helper()
	want := fmt.Sprint(id)
	for _, m := range w.seen {
		if m.Method == "" && string(m.ID) == want {
			return m
		}
	}
	return w.await("answer to "+want, func(m message) bool { return m.Method == "" && string(m.ID) == want })
}

// result of a request that has to succeed.
func (w *wire) result(id int, into any) {
	w.t.Helper()
	m := w.answer(id)
	if m.Error != nil {
		w.t.Fatalf("request %d failed: %v", id, m.Error)
	}
	if err := json.Unmarshal(m.Result, into); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wire) fault(id int) *acp.Error {
	w.t.Helper()
	m := w.answer(id)
	if m.Error == nil {
		w.t.Fatalf("request %d was answered with %s, want an error", id, m.Result)
	}
	return m.Error
}

func (w *wire) newSession() string {
	w.t.Helper()
	var r acp.NewSessionResponse
	w.result(w.request("session/new", map[string]any{"cwd": w.host.root, "mcpServers": []any{}}), &r)
	return r.SessionID
}

// begin sends a prompt of one text.
func (w *wire) begin(session, text string) int {
	w.t.Helper()
	return w.request("session/prompt", promptParams(session, acp.Text(text)))
}

func (w *wire) ended(id int) outcome {
	w.t.Helper()
	var o outcome
	w.result(id, &o)
	return o
}

// prompt runs a whole turn and returns its updates as well.
func (w *wire) prompt(session, text string) (outcome, turnLog) {
	w.t.Helper()
	from := len(w.seen)
	o := w.ended(w.begin(session, text))
	return o, turnLog(w.seen[from:])
}

func (w *wire) setOption(session, id, value string) int {
	w.t.Helper()
	return w.request("session/set_config_option", map[string]any{"sessionId": session, "configId": id, "value": value})
}

func isUpdate(kind string) func(message) bool {
	return func(m message) bool { return m.Params.Update.Kind == kind }
}

// said waits for a text, of a message or a tool call.
func (w *wire) said(session, text string) message {
	w.t.Helper()
	return w.await("text "+text, func(m message) bool {
		u := m.Params.Update
		return m.Params.SessionID == session && strings.Contains(u.text(), text)
	})
}

func (w *wire) asked() message {
	w.t.Helper()
	return w.await("a permission request", func(m message) bool { return m.Method == "session/request_permission" })
}

func answerLine(ask message, result string) string {
	return `{"jsonrpc":"2.0","id":` + string(ask.ID) + `,` + result + `}`
}

const (
	allowed  = `"result":{"outcome":{"outcome":"selected","optionId":"allow"}}`
	rejected = `"result":{"outcome":{"outcome":"selected","optionId":"reject"}}`
)

// hangUp ends the agent's input and waits for Serve.
func (w *wire) hangUp() error {
	w.t.Helper()
	w.in.Close()
	return <-w.served
}

// turnLog is what came between a prompt and its answer.
type turnLog []message

func (l turnLog) text() string {
	var b strings.Builder
	for _, m := range l {
		if m.Params.Update.Kind == "agent_message_chunk" {
			b.WriteString(m.Params.Update.text())
		}
	}
	return b.String()
}

func (l turnLog) updates(kind string) []update {
	var list []update
	for _, m := range l {
		if m.Params.Update.Kind == kind {
			list = append(list, m.Params.Update)
		}
	}
	return list
}

// statuses of the tool calls, in order.
func (l turnLog) statuses() string {
	var list []string
	for _, m := range l {
		// What is printed comes with the status that the call has.
		if u := m.Params.Update; u.Status != "" && u.Meta.Output == nil && !(u.Kind == "tool_call_update" && u.Status == "in_progress" && u.text() != "") {
			list = append(list, u.Status)
		}
	}
	return strings.Join(list, " ")
}

// kinds of the updates, in order, several of one kind as one.
func (l turnLog) kinds() string {
	var list []string
	for _, m := range l {
		if k := m.Params.Update.Kind; k != "" {
			list = append(list, k)
		}
	}
	return strings.Join(slices.Compact(list), " ")
}

// gate is a mutex that testing/synctest sees through.
type gate chan struct{}

func (g gate) Lock()   { g <- struct{}{} }
func (g gate) Unlock() { <-g }

// pass waits while the gate is locked.
func (g gate) pass() {
	g.Lock()
	defer g.Unlock()
}

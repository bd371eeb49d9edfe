package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/coder/websocket"
)

// busy is a gateway that does all that it can at once.
type busy struct {
	*daemon
	mark, state string
	events      *stream
	output      *stream
	calls       chan string // answers to what was still asked
}

// newBusy starts one: turns, a question, a run of an Op, a compensation, a line of
// HEARTBEAT.md, a call over MCP, terminals with watchers that do and don't read, and
// streams.
func newBusy(t *testing.T) *busy {
	t.Helper()
	workspace, mark := fixture(t)
	state := filepath.Join(t.TempDir(), "state")
	b := &beating{t, workspace, state}
	b.write("slow.op.yaml", "name: slow\nphases:\n  - name: Wait\n    steps: [{shell: echo begun; exec sleep "+mark+"}]\n")
	b.write("revert.op.yaml", "name: revert\nphases:\n  - name: Ship\n    steps: [{gate: ship}]\nonFailure:\n  - name: Undo\n    steps: [{shell: touch undoing; exec sleep "+mark+"}]\n")
	b.beats("wait")
	b.heartbeat("trust", "--yes")
	undone := runOf(t, workspace, state, "revert")
	d := startGatewayIn(t, workspace, state, "--heartbeat")
	p := d.person(t)
	busy := &busy{daemon: d, mark: mark, state: state, events: p.follow("/events"), calls: make(chan string, 10)}
	busy.events.beat("skipped", "still runs")
	for name, line := range map[string]string{"tree": "tree", "ask": "ask", "op": "run slow", "asked": "wait"} {
		agent := fmt.Sprintf(`{"adapter": "chant-acp", "name": %q`, name)
		if name != "asked" {
			p.want(http.StatusCreated, "POST", "/sessions/agent", fmt.Sprintf(`%s, "prompt": %q}`, agent, line))
			continue
		}
		p.want(http.StatusCreated, "POST", "/sessions/agent", agent+"}")
		busy.call(p, "/sessions/asked/prompt", fmt.Sprintf(`{"prompt": %q}`, line))
	}
	await(t, "a question is asked", func() bool { return len(p.asked("ask")) == 1 })
	p.want(http.StatusOK, "POST", "/runs/"+undone+"/gates/ship", `{"decision": "reject"}`)
	busy.call(p, "/mcp", `{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "run_command", "arguments": {"line": "tree"}}}`)
	for _, name := range []string{"flood", "stalled"} {
		p.want(http.StatusCreated, "POST", "/sessions/terminal", fmt.Sprintf(`{"argv": ["sh", "-c", "trap '' HUP TERM; while :; do echo %s; done", %q], "name": %q}`, mark, mark, name))
		conn, _, err := websocket.Dial(t.Context(), p.at.URL+"/sessions/"+name+"/pty", &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + p.at.Token}}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.CloseNow() })
		if name == "flood" {
			done := make(chan struct{})
			go func() { // until the connection ends
				defer close(done)
				for err := error(nil); err == nil; _, _, err = conn.Read(t.Context()) {
				}
			}()
			t.Cleanup(func() { conn.CloseNow(); <-done })
		}
	}
	busy.output = p.follow("/sessions/op/stream")
	busy.output.await("", "begun")
	await(t, "the compensation runs", func() bool { _, err := os.Stat(filepath.Join(workspace, "undoing")); return err == nil })
	// Three of each tree, and one each of the turn, the heartbeat, the Op, the
	// compensation and the two terminals.
	await(t, "all of it runs", func() bool { return len(withArgument(mark)) >= 12 })
	return busy
}

// call asks in the background.
func (b *busy) call(p *person, path, body string) {
	go func() { // answered at the latest when the gateway ends
		req, _ := http.NewRequest("POST", p.at.URL+path, strings.NewReader(body))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		resp, err := (&http.Client{Transport: withToken(p.bearer)}).Do(req)
		if err != nil {
			b.calls <- err.Error()
			return
		}
		resp.Body.Close()
		b.calls <- resp.Status
	}()
}

// All that runs ends with the gateway, in time, and streams are told why.
func TestGatewayStopsBusy(t *testing.T) {
	t.Parallel()
	b := newBusy(t)
	if err := b.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	b.events.await("closed", `"reason":"stopping"`)
	b.output.await("closed", `"reason":"stopping"`)
	if err := b.ends(t); err != nil { // it says so where its time was not enough
		t.Errorf("%v\n%s", err, b.stderr)
	}
	for range 2 {
		if answer := <-b.calls; !strings.HasPrefix(answer, "503") && !strings.HasPrefix(answer, "200") { // MCP tells errors in an answer
			t.Errorf("an open call was answered with %s", answer)
		}
	}
	noSurvivors(t, b.mark)
	if _, err := os.Lstat(filepath.Join(b.workspace, ".chant-acp", "runtime.json")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("runtime.json stays: %v", err)
	}
	// What the next one shows: all sessions have ended, and the runs can go on.
	p := startGatewayIn(t, b.workspace, b.state).person(t)
	var list struct {
		Sessions []struct{ Name, State string }
	}
	p.read("/sessions", &list)
	for _, s := range list.Sessions {
		if s.State != "ended" {
			t.Errorf("%+v", s)
		}
	}
	if len(list.Sessions) != 8 { // with the call over MCP
		t.Errorf("%+v", list)
	}
	for _, r := range p.runs() {
		if r.Status != "interrupted" {
			t.Errorf("%+v", r)
		}
	}
}

// So it does with a gateway that is killed.
func TestGatewayKilledBusy(t *testing.T) {
	t.Parallel()
	b := newBusy(t)
	if err := b.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = b.ends(t)
	noSurvivors(t, b.mark)
	for range 2 {
		<-b.calls
	}
	d := startGatewayIn(t, b.workspace, b.state, "--heartbeat")
	p := d.person(t)
	p.follow("/events").beat("loaded", "1 line")
	var list struct {
		Sessions []struct{ Name, State, Reason string }
	}
	p.read("/sessions", &list)
	ended := 0
	for _, s := range list.Sessions {
		if s.State == "ended" && s.Reason != "" {
			ended++
		}
	}
	if ended != 8 { // with the call over MCP
		raw, _ := json.Marshal(list)
		t.Errorf("%s", raw)
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
)

// beating is a workspace with a HEARTBEAT.md and all that keeps its state.
type beating struct {
	t          *testing.T
	dir, state string
}

func newBeating(t *testing.T) *beating {
	t.Helper()
	dir, state := opProject(t)
	manifest := "version: 1\ncommands:\n  note: {summary: Note, exec: [sh, -c, 'echo noted >>notes.txt'], effect: write}\n" +
		"  linger: {summary: Linger, exec: [sh, -c, 'echo lingers >>notes.txt; trap \"exit 0\" TERM; while :; do sleep 0.01; done'], effect: write}\n" +
		"  ask: {summary: Ask first, exec: [sh, -c, 'echo asked >>notes.txt'], confirm: ask}\n"
	b := &beating{t, dir, state}
	b.write("chant-acp.yaml", manifest)
	return b
}

func (b *beating) write(name, text string) {
	b.t.Helper()
	if err := os.WriteFile(filepath.Join(b.dir, name), []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
}

// beats writes what runs each second.
func (b *beating) beats(lines ...string) {
	b.t.Helper()
	b.write("HEARTBEAT.md", "```chant\nevery: 1s\n"+strings.Join(lines, "\n")+"\n```\n")
}

// heartbeat runs `chant-acp heartbeat`.
func (b *beating) heartbeat(args ...string) string {
	b.t.Helper()
	c := program(b.t, append(append([]string{"heartbeat"}, args...), "--workspace", b.dir)...)
	c.Env = append(c.Env, "CHANT_ACP_STATE="+b.state)
	out, err := c.CombinedOutput()
	if err != nil {
		b.t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// beat is what an event of a heartbeat tells.
type beatData struct {
	Data struct {
		Command, Text string
		Outcome       struct{ State, Text, Ref string }
	}
}

func (s *stream) beat(kind, holds string) beatData {
	s.t.Helper()
	var b beatData
	if err := json.Unmarshal([]byte(s.await("heartbeat."+kind, holds)), &b); err != nil {
		s.t.Fatal(err)
	}
	return b
}

// Nothing runs that nobody trusted, nor what has changed since.
func TestGatewayHeartbeatTrust(t *testing.T) {
	t.Parallel()
	b := newBeating(t)
	b.beats("note", "ask", "nope")
	p := startGatewayIn(t, b.dir, b.state, "--heartbeat").person(t)
	events := p.follow("/events")
	events.beat("stopped", "is not trusted")
	if _, err := os.Stat(filepath.Join(b.dir, "notes.txt")); err == nil {
		t.Error("something ran")
	}
	b.heartbeat("trust", "--yes")
	events.beat("loaded", "3 lines")
	events.await("session.started", `"name":"heartbeat"`)
	for line, state := range map[string]string{"note": "completed", "ask": "refused", "nope": "refused"} {
		events := p.follow("/events")
		if e := events.beat("ended", `"command":"`+line+`"`); e.Data.Outcome.State != state {
			t.Errorf("%+v", e)
		}
	}
	b.beats("note") // which takes lines away, and is a change
	events.beat("stopped", "changed")
	if out := b.heartbeat("status"); !strings.Contains(out, "It has changed since it was trusted") || !strings.Contains(out, "a gateway runs it") {
		t.Errorf("%s", out)
	}
	b.heartbeat("trust", "--yes")
	events.beat("loaded", "1 line")
	events.beat("ended", `"command":"note"`)
	b.heartbeat("untrust")
	events.beat("stopped", "is not trusted")
	if notes, err := os.ReadFile(filepath.Join(b.dir, "notes.txt")); err != nil || strings.Contains(string(notes), "asked") {
		t.Errorf("%v %s", err, notes)
	}
	var sessions struct{ Sessions []struct{ Name string } }
	if p.read("/sessions", &sessions); len(sessions.Sessions) != 1 || sessions.Sessions[0].Name != "heartbeat" {
		t.Errorf("%+v", sessions)
	}
}

// A gate stops a line, over restarts too, until a person has decided and the run
// is over.
func TestGatewayHeartbeatGate(t *testing.T) {
	t.Parallel()
	b := newBeating(t)
	b.beats("run gated")
	b.heartbeat("trust", "--yes")
	first := startGatewayIn(t, b.dir, b.state, "--heartbeat")
	events := first.person(t).follow("/events")
	waits := events.beat("waits", "run gated")
	run := waits.Data.Outcome.Ref
	if run == "" || !strings.Contains(waits.Data.Text, "approve gated ship --run "+run) || strings.Contains(waits.Data.Text, "\n") {
		t.Errorf("%+v", waits)
	}
	events.beat("skipped", "waits for a person")
	if out := b.heartbeat("status"); !strings.Contains(out, "approve gated ship --run "+run) {
		t.Errorf("%s", out)
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.ends(t)
	p := startGatewayIn(t, b.dir, b.state, "--heartbeat").person(t)
	events = p.follow("/events")
	events.beat("loaded", "1 line")
	// Nobody is asked in the session, and neither it nor MCP may decide.
	p.want(http.StatusOK, "POST", "/runs/"+run+"/gates/ship", `{"decision": "reject", "note": "not today"}`)
	if e := events.beat("ended", "run gated"); e.Data.Outcome.State != "failed" || !strings.Contains(e.Data.Outcome.Text, run) {
		t.Errorf("%+v", e)
	}
	again := events.beat("waits", "run gated") // another run, which waits in its turn
	if again.Data.Outcome.Ref == run || again.Data.Outcome.Ref == "" {
		t.Errorf("%+v", again)
	}
	if ids := p.asked("heartbeat"); len(ids) != 0 {
		t.Errorf("%q are asked", ids)
	}
	for _, line := range []string{"approve gated ship", "reject gated ship"} { // typed by a person, into the session of the heartbeat
		if answer := p.want(http.StatusOK, "POST", "/sessions/heartbeat/prompt", fmt.Sprintf(`{"prompt": %q}`, line)); !strings.Contains(answer, "HEARTBEAT.md") {
			t.Errorf("%s", answer)
		}
	}
	if log := logOf(t, b.dir); log != "built\nundone\nbuilt\n" {
		t.Errorf("it did %q", log)
	}
}

// A line that runs when the gateway ends is ended with it, and is not run again
// for the same tick. Two gateways do not run one file.
func TestGatewayHeartbeatStops(t *testing.T) {
	t.Parallel()
	b := newBeating(t)
	b.beats("linger")
	b.heartbeat("trust", "--yes")
	d := startGatewayIn(t, b.dir, b.state, "--heartbeat")
	events := d.person(t).follow("/events")
	events.beat("started", "linger")
	events.beat("skipped", "still runs")
	second := program(t, "gateway", "--workspace", b.dir, "--port", "0", "--heartbeat")
	second.Env = append(second.Env, "CHANT_ACP_STATE="+b.state)
	if out, err := second.CombinedOutput(); second.ProcessState.ExitCode() != console.Failed {
		t.Errorf("%v\n%s", err, out)
	}
	if err := d.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	if err := d.ends(t); err != nil {
		t.Errorf("%v\n%s", err, d.stderr)
	}
	if out := b.heartbeat("status"); !strings.Contains(out, "interrupted") || !strings.Contains(out, "No gateway runs it now") {
		t.Errorf("%s", out)
	}
	if notes, err := os.ReadFile(filepath.Join(b.dir, "notes.txt")); err != nil || string(notes) != "lingers\n" {
		t.Errorf("%v %q", err, notes)
	}
}

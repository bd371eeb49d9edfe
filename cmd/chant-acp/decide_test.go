package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/command"
)

// decisions are lines that decide something, by the built-in that they begin with;
// $RUN is a run that waits at the gate ship of the Op release. Each built-in that
// decides has one.
var decisions = map[string]string{
	"approve": "approve release ship --run $RUN", "reject": "reject release ship --run $RUN", "signal": "signal ship", "confirm": "confirm abcdef",
	"allow": "allow abcdef", "run cancel": "run cancel --run $RUN", "run undo": "run undo release --run $RUN",
	// and those that decide by what follows
	"destroy": "destroy", "restart": "run release --restart", "no-depends": "run release --no-depends", "protected": "run release --env prod",
	"a command in it": "where prod", "tasks": "allow make all",
}

// commands of chant-acp by whether they decide: those that do stand in attempts.
const (
	decidingCommands = "allow config-set config-unset gateway-capability heartbeat-trust prompt serve"
	otherCommands    = "attach check completion completion-bash completion-fish completion-powershell completion-zsh config config-edit config-get " +
		"config-list config-path events gateway heartbeat heartbeat-status heartbeat-untrust help init kill ops ps schema " +
		"sessions sessions-delete sessions-export sessions-list sessions-prune sessions-show setup version"
)

// A route that decides and is not in the corpus fails this: of each command and
// each built-in it has to be said.
func TestTheCorpusIsWhole(t *testing.T) {
	help, err := filepath.Glob("testdata/help/chant-acp-*.txt")
	if err != nil || len(help) == 0 {
		t.Fatal(err, help)
	}
	known := strings.Fields(decidingCommands + " " + otherCommands)
	for _, path := range help {
		name := strings.TrimSuffix(strings.TrimPrefix(filepath.Base(path), "chant-acp-"), ".txt")
		if !slices.Contains(known, name) {
			t.Errorf("does chant-acp %s decide something? If so, attempts need it", name)
		}
	}
	all := strings.Join(slices.Collect(maps.Values(attempts)), "\n")
	for _, name := range strings.Fields(decidingCommands) {
		if words := strings.ReplaceAll(name, "-", " "); name != "serve" && !strings.Contains(all, "$CHANT "+words) { // serve takes lines as prompt does
			t.Errorf("no attempt uses chant-acp %s", words)
		}
	}
	for _, b := range command.DefaultBuiltins() {
		switch b.Name {
		case "help", "explain", "history", "again", "run", "run list", "run status", "run log", "run verify", "ops": // decide nothing by themselves
		default:
			if decisions[b.Name] == "" {
				t.Errorf("does %s decide something? If so, decisions need it", b.Name)
			}
		}
	}
}

// TestNobodyElseDecides is TestProgramsDecideNothing for MCP clients and for
// HEARTBEAT.md: their own lines, the programs that these start, and what an agent
// and a terminal of theirs do. All goes over the real gateway.
func TestNobodyElseDecides(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	dir, state := t.TempDir(), t.TempDir()
	var beats strings.Builder
	files := map[string]string{
		"chant-acp.yaml": "version: 1\nenvironments: {dev: {}, prod: {protected: true}}\ncommands:\n" +
			"  try: {summary: Try, exec: [sh, -c, '. ./attempts']}\n  where: {summary: Where, exec: [touch, destroyed], params: {env: {position: 1}}}\n" +
			"  destroy: {summary: Destroy, exec: [touch, destroyed], effect: destroy}\n",
		"release.op.yaml":      "name: release\nphases:\n  - name: Ship\n    steps: [{shell: echo}, {gate: ship}, {shell: touch shipped}]\nonFailure: [{name: U, steps: [{shell: touch undone}]}]\n",
		"other/chant-acp.yaml": "version: 1\ncommands: {x: {summary: X, exec: [echo]}}\n",
	}
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	run := func(args ...string) string {
		c := program(t, args...)
		c.Env = append(c.Env, "CHANT_ACP_STATE="+state, "CHANT_ACP_TOKEN=")
		c.Dir = dir
		out, _ := c.CombinedOutput()
		return string(out)
	}
	run("allow", "--yes", dir)
	_, stopped, _ := strings.Cut(run("prompt", "run release --env dev"), "--run ")
	stopped, _, _ = strings.Cut(stopped, "\n")
	if text := run("prompt", "run cancel --run "+stopped); !strings.Contains(text, "cancelled") {
		t.Fatal(text)
	}
	text := run("prompt", "run release")
	_, id, found := strings.Cut(text, "--run ")
	if id, _, _ = strings.Cut(id, "\n"); !found {
		t.Fatalf("the run does not wait:\n%s", text)
	}
	waits := func(after string) {
		t.Helper()
		if status := run("prompt", "run status release --run "+id); !strings.Contains(status, "waiting") && !strings.Contains(status, "waits") {
			t.Fatalf("%s: a gate was decided:\n%s", after, status)
		}
	}
	for name, line := range decisions {
		fmt.Fprintf(&beats, "# %s\n%s\n", name, strings.ReplaceAll(line, "$RUN", id))
	}
	write(t, filepath.Join(dir, "HEARTBEAT.md"), "```chant\nevery: 1s\n"+beats.String()+"try\n```\n")
	run("heartbeat", "trust", "--yes")

	d := startGatewayIn(t, dir, state, "--heartbeat")
	p, token := d.person(t), d.client(t)
	p.want(http.StatusCreated, "POST", "/sessions/agent", `{"adapter":"chant-acp","name":"theirs"}`)
	tool := func(name string, in map[string]any) string {
		t.Helper()
		request, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": map[string]any{"name": name, "arguments": in}})
		if err != nil {
			t.Fatal(err)
		}
		return token.want(http.StatusOK, "POST", "/mcp", string(request))
	}

	// Attempts are one script, which runs once for each origin.
	script := fmt.Sprintf("[ -e finished ] && exit\nCHANT=%s RUN=%s STOPPED=%s URL=%s TOKEN=%s\nexport CHANT RUN STOPPED\nmkdir -p said\n", binary(t), id, stopped, p.at.URL, p.at.Token)
	names := slices.Sorted(maps.Keys(attempts))
	for i, name := range names {
		if !tried(name) {
			continue
		}
		script += fmt.Sprintf("rm -f terminal daemon; (%s) >said/%d 2>&1\n", attempts[name], i)
	}
	attempted := func(origin string) {
		t.Helper()
		for i, name := range names {
			if !tried(name) {
				continue
			}
			said, err := os.ReadFile(filepath.Join(dir, "said", fmt.Sprint(i)))
			if err != nil || !slices.ContainsFunc(refusals, func(r string) bool { return strings.Contains(string(said), r) }) {
				t.Errorf("%s, %s: nothing says that it was refused: %v\n%s", origin, name, err, said)
			}
		}
		if err := os.RemoveAll(filepath.Join(dir, "said")); err != nil {
			t.Fatal(err)
		}
		waits("programs of " + origin)
	}

	// HEARTBEAT.md, whose lines end in the order of the file.
	write(t, filepath.Join(dir, "attempts"), script+"touch finished\n")
	events := p.follow("/events")
	for _, line := range decisions {
		line = strings.ReplaceAll(line, "$RUN", id)
		quoted, err := json.Marshal(line)
		if err != nil {
			t.Fatal(err)
		}
		if e := p.follow("/events").beat("ended", `"command":`+string(quoted)); e.Data.Outcome.State != "refused" {
			t.Errorf("HEARTBEAT.md, %s: %+v", line, e.Data.Outcome)
		}
	}
	if e := events.beat("ended", `"command":"try"`); e.Data.Outcome.State != "completed" {
		t.Fatalf("%+v", e)
	}
	run("heartbeat", "untrust")
	events.beat("stopped", "is not trusted")
	attempted("HEARTBEAT.md")

	// MCP.
	if err := os.Remove(filepath.Join(dir, "finished")); err != nil {
		t.Fatal(err)
	}
	for _, line := range decisions {
		line = strings.ReplaceAll(line, "$RUN", id)
		for _, key := range []string{"", "k"} {
			if answer := tool("run_command", map[string]any{"line": line, "idempotencyKey": key}); !strings.Contains(answer, `\"outcome\":\"refused\"`) || !strings.Contains(answer, "MCP") {
				t.Errorf("MCP, %s: %s", line, answer)
			}
		}
	}
	if answer := tool("run_command", map[string]any{"line": "try"}); !strings.Contains(answer, `\"outcome\":\"completed\"`) {
		t.Fatalf("the attempts did not run: %s", answer)
	}
	attempted("MCP")
	tool("start_agent_session", map[string]any{"adapter": "chant-acp", "name": "agent"})
	p.want(http.StatusCreated, "POST", "/sessions/terminal", fmt.Sprintf(`{"name":"shell","mcp":true,"argv":["sh"],"env":{"CHANT":%q}}`, binary(t)))
	for _, line := range decisions {
		line = strings.ReplaceAll(line, "$RUN", id)
		if answer := tool("prompt_agent_session", map[string]any{"session": "agent", "prompt": line}); !strings.Contains(answer, `\"outcome\":\"refused\"`) {
			t.Errorf("an agent over MCP, %s: %s", line, answer)
		}
		if answer := tool("prompt_agent_session", map[string]any{"session": "theirs", "prompt": line}); !strings.Contains(answer, "belongs to a person") {
			t.Errorf("a person's agent over MCP, %s: %s", line, answer)
		}
		tool("write_terminal", map[string]any{"session": "shell", "text": "$CHANT prompt --yes '" + line + "' >>typed 2>&1; echo ended >>typed\r"})
	}
	await(t, "the end of what was typed", func() bool {
		typed, err := os.ReadFile(filepath.Join(dir, "typed"))
		return err == nil && strings.Count(string(typed), "ended\n") == len(decisions)
	})
	waits("what MCP typed into a terminal")

	for _, file := range []string{"destroyed", "shipped"} {
		if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
			t.Errorf("%s is there", file)
		}
	}
	p.want(http.StatusOK, "POST", "/runs/"+id+"/gates/ship", `{"decision":"approve"}`) // a person can
}

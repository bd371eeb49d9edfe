package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/host/process"
)

// runOf runs the Op of a gate on the command line, and returns the id of the run,
// which waits there.
func runOf(t *testing.T, dir, state, op string) string {
	t.Helper()
	c := program(t, "prompt", "--cwd", dir, "run", op)
	c.Env = append(c.Env, "CHANT_ACP_STATE="+state)
	out, err := c.CombinedOutput()
	_, rest, ok := strings.Cut(string(out), "--run ")
	id, _, _ := strings.Cut(rest, "\n")
	if c.ProcessState.ExitCode() != console.Waiting || !ok {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.Trim(id, "` ")
}

// Gates are decided over HTTP as they are on the command line: once, by the first.
func TestGatewayDecidesGates(t *testing.T) {
	for decision, want := range map[string]struct{ status, state, log string }{
		"approve": {"approved", "waiting", "built\n"}, // it runs nothing
		"reject":  {"rejected", "failed", "built\nundone\n"},
	} {
		t.Run(decision, func(t *testing.T) {
			t.Parallel()
			dir, state := opProject(t)
			run := runOf(t, dir, state, "gated")
			p := startGatewayIn(t, dir, state).person(t)
			events := p.follow("/events")
			list := p.runs()
			if len(list) != 1 || list[0].ID != run || list[0].Op != "gated" || list[0].Status != "waiting" ||
				len(list[0].Gates) != 1 || list[0].Gates[0].Name != "ship" || list[0].Gates[0].Status != "waiting" {
				t.Fatalf("%+v", list)
			}
			gate := "/runs/" + run + "/gates/ship"
			body := fmt.Sprintf(`{"decision": %q, "note": "seen"}`, decision)
			p.want(http.StatusNotFound, "POST", "/runs/zzzzzz/gates/ship", body)
			p.want(http.StatusNotFound, "POST", "/runs/"+run+"/gates/other", body)
			p.want(http.StatusConflict, "POST", gate+"@00000000", body)
			answer := p.want(http.StatusOK, "POST", gate+"@"+list[0].Gates[0].Digest, body)
			if !strings.Contains(answer, `"status":"`+want.status+`"`) || !strings.Contains(answer, `"note":"seen"`) {
				t.Errorf("%s", answer)
			}
			events.await("gate.resolved", run)
			for _, again := range []string{"approve", "reject"} { // soon, and late
				p.want(http.StatusConflict, "POST", gate, fmt.Sprintf(`{"decision": %q}`, again))
			}
			await(t, "the run is "+want.state, func() bool { return p.runs()[0].Status == want.state })
			for _, again := range []string{"approve", "reject"} {
				p.want(http.StatusConflict, "POST", gate, fmt.Sprintf(`{"decision": %q}`, again))
			}
			if got := logOf(t, dir); got != want.log {
				t.Errorf("it did %q, want %q", got, want.log)
			}
		})
	}
}

// A gate that a run has passed is decided, and not one that there is not.
func TestGatewayDecidesLate(t *testing.T) {
	t.Parallel()
	dir, state := opProject(t)
	if err := os.WriteFile(filepath.Join(dir, "two.op.yaml"), []byte("name: two\nphases:\n  - name: Both\n    steps: [{gate: first}, {gate: second}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := runOf(t, dir, state, "two")
	p := startGatewayIn(t, dir, state).person(t)
	p.want(http.StatusCreated, "POST", "/sessions/agent", `{"adapter": "chant-acp", "name": "mine"}`)
	approve := func(want int, gate string) {
		t.Helper()
		p.want(want, "POST", "/runs/"+run+"/gates/"+gate, `{"decision": "approve"}`)
	}
	approve(http.StatusNotFound, "second") // which it has not reached
	approve(http.StatusOK, "first")
	events := p.follow("/events")
	p.want(http.StatusAccepted, "POST", "/sessions/mine/prompt", fmt.Sprintf(`{"prompt": "run two --run %s", "wait": false}`, run))
	events.await("request.opened", `"gate":"second"`)
	approve(http.StatusConflict, "first")
	approve(http.StatusNotFound, "third")
	approve(http.StatusOK, "second")
	events.await("turn.ended", `"outcome":"completed"`)
	approve(http.StatusConflict, "second")
	approve(http.StatusConflict, "third") // the run is over
}

// The agent that the gateway starts asks the person who speaks to the gateway, and
// somebody else may decide meanwhile.
func TestGatewayAsks(t *testing.T) {
	for how, want := range map[string]struct{ outcome, log string }{
		"allow_once":  {"completed", "built\nshipped\n"},
		"reject_once": {"failed", "built\nundone\n"},
		"approve":     {"completed", "built\nshipped\n"},
		"reject":      {"failed", "built\nundone\n"},
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			dir, state := opProject(t)
			p := startGatewayIn(t, dir, state).person(t)
			events := p.follow("/events")
			p.want(http.StatusCreated, "POST", "/sessions/agent", `{"adapter": "chant-acp", "name": "mine", "prompt": "run gated"}`)
			events.await("turn.started", "run gated")
			events.await("step", "echo built")
			events.await("request.opened", `"gate":"ship"`)
			ids := p.asked("mine")
			if len(ids) != 1 {
				t.Fatalf("%q are asked", ids)
			}
			if info := p.want(http.StatusOK, "GET", "/sessions/mine", ""); !strings.Contains(info, `"turn":"waiting"`) {
				t.Errorf("%s", info)
			}
			request := "/sessions/mine/requests/" + ids[0]
			p.want(http.StatusUnprocessableEntity, "POST", request, `{"optionId": "allow_always"}`)
			if strings.HasSuffix(how, "_once") {
				p.want(http.StatusOK, "POST", request, fmt.Sprintf(`{"optionId": %q}`, how))
			} else {
				p.want(http.StatusOK, "POST", "/runs/"+p.runs()[0].ID+"/gates/ship", fmt.Sprintf(`{"decision": %q}`, how))
			}
			events.await("request.closed", ids[0])
			events.await("turn.ended", `"outcome":"`+want.outcome+`"`)
			if status := p.runs()[0].Status; status != want.outcome {
				t.Errorf("the run is %s", status)
			}
			if got := logOf(t, dir); got != want.log {
				t.Errorf("it did %q, want %q", got, want.log)
			}
			p.want(http.StatusNotFound, "POST", request, `{"optionId": "allow_once"}`)
		})
	}
}

// What a person has to confirm is asked in the same way.
func TestGatewayConfirms(t *testing.T) {
	t.Parallel()
	workspace, _ := fixture(t)
	p := startGateway(t, workspace).person(t)
	events := p.follow("/events")
	p.want(http.StatusCreated, "POST", "/sessions/agent", `{"adapter": "chant-acp", "name": "mine"}`)
	for option, says := range map[string]string{"allow": "it was allowed\\n", "reject": "was not run: it was rejected"} {
		answered := make(chan string, 1)
		go func() {
			_, answer := p.do("POST", "/sessions/mine/prompt", `{"prompt": "ask"}`)
			answered <- answer
		}()
		events.await("request.opened", "it was allowed")
		p.want(http.StatusOK, "POST", "/sessions/mine/requests/"+p.asked("mine")[0], fmt.Sprintf(`{"optionId": %q}`, option))
		if answer := <-answered; !strings.Contains(answer, says) {
			t.Errorf("%s: %s", option, answer)
		}
	}
	// And what has to be typed is typed.
	answer := p.want(http.StatusOK, "POST", "/sessions/mine/prompt", `{"prompt": "destroy"}`)
	_, code, ok := strings.Cut(answer, `"confirm":"`)
	if code, _, _ = strings.Cut(code, `"`); !ok {
		t.Fatalf("%s", answer)
	}
	if answer := p.want(http.StatusOK, "POST", "/sessions/mine/prompt", fmt.Sprintf(`{"prompt": "confirm %s"}`, code)); !strings.Contains(answer, "it is gone") {
		t.Errorf("%s", answer)
	}
}

// A turn that was taken shows at once, and a second is refused however soon it
// comes: a client that does not wait is told nothing else.
func TestGatewayTurnBegins(t *testing.T) {
	workspace, _ := fixture(t)
	p := startGateway(t, workspace).person(t)
	if info := p.want(http.StatusCreated, "POST", "/sessions/agent", `{"adapter": "chant-acp", "name": "mine", "prompt": "wait"}`); !strings.Contains(info, `"turn":"running"`) {
		t.Errorf("%s", info)
	}
	p.want(http.StatusConflict, "POST", "/sessions/mine/prompt", `{"prompt": "wait", "wait": false}`)
	p.want(http.StatusCreated, "POST", "/sessions/agent", `{"adapter": "chant-acp", "name": "other"}`)
	const several = 8
	taken := make(chan int, several)
	for range several {
		go func() {
			status, _ := p.do("POST", "/sessions/other/prompt", `{"prompt": "wait", "wait": false}`)
			taken <- status
		}()
	}
	counts := map[int]int{}
	for range several {
		counts[<-taken]++
	}
	if counts[http.StatusAccepted] != 1 || counts[http.StatusConflict] != several-1 {
		t.Errorf("%v", counts)
	}
}

// A program that a step runs stands for no person, whatever way it takes.
func TestGatewayDecidesForPeopleOnly(t *testing.T) {
	dir, state := opProject(t)
	chant := binary(t)
	manifest := fmt.Sprintf("version: 1\ncommands:\n  sneak: {summary: Approve, exec: [%s, prompt, 'approve gated ship'], effect: read}\n", chant)
	if err := os.WriteFile(filepath.Join(dir, "chant-acp.yaml"), []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	run := runOf(t, dir, state, "gated")
	config := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(config, fmt.Appendf(nil, `{"adapters": {"foreign": {"command": [%q, "serve", "--gates", "ask"]}}}`, chant), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CHANT_ACP_CONFIG", config)
	d := startGatewayIn(t, dir, state)
	p := d.person(t)
	p.want(http.StatusCreated, "POST", "/sessions/agent", `{"adapter": "chant-acp", "name": "own"}`)
	p.want(http.StatusCreated, "POST", "/sessions/agent", `{"adapter": "foreign", "name": "foreign"}`)
	for session, prompt := range map[string]string{
		"own":     "sneak",              // a program of our own agent
		"foreign": "approve gated ship", // an agent of somebody else, which is one of our programs
	} {
		if answer := p.want(http.StatusOK, "POST", "/sessions/"+session+"/prompt", fmt.Sprintf(`{"prompt": %q}`, prompt)); !strings.Contains(answer, "a program that chant-acp runs") {
			t.Errorf("%s: %s", session, answer)
		}
	}
	p.want(http.StatusCreated, "POST", "/sessions/terminal", fmt.Sprintf(`{"argv": [%q, "prompt", "approve gated ship"], "name": "terminal"}`, chant))
	output := p.follow("/sessions/terminal/stream")
	output.await("", "a program that chant-acp runs")
	output.await("exit", "")
	s, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: p.at.URL + "/mcp", HTTPClient: &http.Client{Transport: withToken(p.at.Token)}, DisableStandaloneSSE: true,
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, line := range []string{"approve gated ship", "reject gated ship", "approve gated ship --run " + run, "signal gated ship"} {
		r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "run_command", Arguments: map[string]any{"line": line}})
		if err != nil || !strings.Contains(r.Content[0].(*mcp.TextContent).Text, `"outcome":"refused"`) {
			t.Errorf("%s over MCP: %v %+v", line, err, r)
		}
	}
	r, err := s.CallTool(t.Context(), &mcp.CallToolParams{Name: "list_runs"})
	if err != nil || !strings.Contains(r.Content[0].(*mcp.TextContent).Text, run) {
		t.Errorf("%v %+v", err, r)
	}
	if err := d.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = d.ends(t)

	// A gateway of its own gives such a program no more.
	for variable, value := range map[string]string{process.TokenVar: "somebody's", "CHANT_ACP_ORIGIN": "heartbeat"} {
		c := program(t, "gateway", "--workspace", dir, "--port", "0")
		c.Env = append(c.Env, "CHANT_ACP_STATE="+state, variable+"="+value)
		d := startGatewayProcess(t, c, dir)
		p := d.client(t)
		for _, decision := range []string{"approve", "reject"} {
			if answer := p.want(http.StatusForbidden, "POST", "/runs/"+run+"/gates/ship", fmt.Sprintf(`{"decision": %q}`, decision)); !strings.Contains(answer, "person") {
				t.Errorf("%s", answer)
			}
		}
		if err := d.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = d.ends(t)
	}
	if got := logOf(t, dir); got != "built\n" {
		t.Errorf("it did %q", got)
	}
}

// Agents that the gateway starts have the profile that it has.
func TestGatewayProfile(t *testing.T) {
	workspace, _ := fixture(t)
	config := filepath.Join(t.TempDir(), "config.json")
	if err := os.WriteFile(config, []byte(`{"profiles": {"hushed": {"agent": {"output": "quiet"}}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CHANT_ACP_CONFIG", config)
	p := startGateway(t, workspace, "--profile", "hushed").person(t)
	p.want(http.StatusCreated, "POST", "/sessions/agent", `{"adapter": "chant-acp", "name": "mine"}`)
	if answer := p.want(http.StatusOK, "POST", "/sessions/mine/prompt", `{"prompt": "hello"}`); strings.Contains(answer, "hello\\n") {
		t.Errorf("%s", answer)
	}
}

package gateway

import (
	"context"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/runtime/session"
)

// agentSession starts an agent over HTTP.
func (r *running) agentSession(body string) session.Info {
	r.t.Helper()
	var info session.Info
	decodeInto(r.t, r.request("POST", "/sessions/agent", body), http.StatusCreated, &info)
	return info
}

func TestAgentOverHTTP(t *testing.T) {
	r := start(t, func(o *Options) { withAgent(t, o) })
	info := r.agentSession(`{"adapter":"chant-acp","name":"shop"}`)
	if info.Kind != session.KindAgent || info.Adapter != "chant-acp" || info.AgentSession == "" || info.Turn != session.TurnIdle || info.MCP || info.Cwd != r.Workspace() {
		t.Errorf("%+v", info)
	}
	s := r.readEvents("/events")
	var turn session.Turn
	decodeInto(t, r.request("POST", "/sessions/shop/prompt", `{"prompt":"hello"}`), http.StatusOK, &turn)
	if turn.StopReason != acp.StopEndTurn || !strings.Contains(turn.Text, "hello") || turn.Meta["chant"] == nil {
		t.Errorf("%+v", turn)
	}
	s.want("turn.started")
	for e := s.want("step"); !strings.Contains(e.data, `"completed"`); e = s.want("step") {
	}
	if e := s.want("turn.ended"); !strings.Contains(e.data, `"end_turn"`) {
		t.Errorf("%+v", e)
	}

	decodeInto(t, r.request("POST", "/sessions/shop/prompt", `{"prompt":"rm -rf /"}`), http.StatusOK, &turn)
	if turn.StopReason != acp.StopRefusal {
		t.Errorf("%+v", turn)
	}
	for body, pointer := range map[string]string{`{}`: "/prompt", `{"prompt":" "}`: "/prompt", `{"prompt":["a"]}`: "/prompt"} {
		if p := wantProblem(t, r.request("POST", "/sessions/shop/prompt", body), http.StatusUnprocessableEntity, "invalid"); p["pointer"] != pointer {
			t.Errorf("%s: %v", body, p)
		}
	}
}

func TestTurnIsCancelled(t *testing.T) {
	r := start(t, func(o *Options) { withAgent(t, o) })
	r.agentSession(`{"adapter":"chant-acp","name":"shop"}`)
	s := r.readEvents("/events")
	var info session.Info
	decodeInto(t, r.request("POST", "/sessions/shop/prompt", `{"prompt":"wait","wait":false}`), http.StatusAccepted, &info)
	s.want("turn.started")
	wantProblem(t, r.request("POST", "/sessions/shop/prompt", `{"prompt":"hello"}`), http.StatusConflict, "conflict")
	decodeInto(t, r.request("POST", "/sessions/shop/cancel", ""), http.StatusOK, &info)
	for {
		e, err := s.next()
		if err != nil {
			t.Fatal(err)
		}
		if e.kind == "turn.ended" {
			if !strings.Contains(e.data, `"cancelled"`) {
				t.Errorf("%+v", e)
			}
			break
		}
	}
}

func TestPermissionOverHTTP(t *testing.T) {
	for _, c := range []struct {
		kind string
		want string
	}{{acp.AllowOnce, "deployed"}, {acp.RejectOnce, "not run"}} {
		r := start(t, func(o *Options) { withAgent(t, o) })
		r.agentSession(`{"adapter":"foreign","name":"shop","prompt":"deploy"}`)
		s := r.readEvents("/events", "Last-Event-ID", r.hub.id(0))
		opened := s.want("session.started")
		for opened.kind != session.EventRequestOpened {
			var err error
			if opened, err = s.next(); err != nil {
				t.Fatal(err)
			}
		}
		wantProblem(t, r.request("GET", "/sessions/shop/requests", "", "Authorization", ""), http.StatusUnauthorized, "unauthorized")
		var list struct{ Requests []session.PermissionRequest }
		decodeInto(t, r.request("GET", "/sessions/shop/requests", ""), http.StatusOK, &list)
		if len(list.Requests) != 1 || len(list.Requests[0].Options) < 2 {
			t.Fatalf("%+v", list)
		}
		open := list.Requests[0]
		path := "/sessions/shop/requests/" + open.ID
		wantProblem(t, r.request("POST", path, `{"optionId":"`+open.Options[0].OptionID+`"}`), http.StatusForbidden, "no-person")
		person := r.person()
		wantProblem(t, r.request("POST", path, `{}`, person...), http.StatusUnprocessableEntity, "invalid")
		if p := wantProblem(t, r.request("POST", path, `{"optionId":"no such"}`, person...), http.StatusUnprocessableEntity, "invalid"); p["options"] == nil {
			t.Errorf("%v", p)
		}
		wantProblem(t, r.request("POST", "/sessions/shop/requests/none", `{"optionId":"x"}`, person...), http.StatusNotFound, "not-found")
		for _, o := range open.Options {
			if o.Kind == c.kind {
				a := r.request("POST", path, `{"optionId":"`+o.OptionID+`"}`, person...)
				decodeInto(t, a, http.StatusOK, &struct{}{})
			}
		}
		ended, err := s.next()
		for err == nil && ended.kind != session.EventTurnEnded {
			ended, err = s.next()
		}
		if err != nil {
			t.Fatal(err)
		}
		found, err := r.Sessions().Find("shop")
		if err != nil {
			t.Fatal(err)
		}
		if text := string(found.ReadTerminal(1 << 16)); !strings.Contains(text, c.want) {
			t.Errorf("%s: the agent said %q", c.kind, text)
		}
		wantProblem(t, r.request("POST", path, `{"optionId":"`+open.Options[0].OptionID+`"}`, r.person()...), http.StatusNotFound, "not-found")
	}
}

func TestBadAgents(t *testing.T) {
	r := start(t, func(o *Options) { withAgent(t, o) })
	for _, c := range []struct {
		body   string
		status int
		kind   string
	}{
		{`{"adapter":"none"}`, http.StatusUnprocessableEntity, "invalid"},
		{`{}`, http.StatusUnprocessableEntity, "invalid"},
		{`{"adapter":"chant-acp","cwd":"relative"}`, http.StatusUnprocessableEntity, "invalid"},
		{`{"adapter":"missing"}`, http.StatusUnprocessableEntity, "invalid"},
		{`{"adapter":"silent"}`, http.StatusBadGateway, "agent-failed"},
	} {
		wantProblem(t, r.request("POST", "/sessions/agent", c.body), c.status, c.kind)
	}
	term := r.terminal(`{"argv":["cat"]}`)
	for _, route := range []string{"POST /sessions/%s/prompt", "POST /sessions/%s/cancel", "GET /sessions/%s/requests"} {
		method, path, _ := strings.Cut(strings.Replace(route, "%s", term.ID, 1), " ")
		body := ""
		if strings.HasSuffix(path, "prompt") {
			body = `{"prompt":"hello"}`
		}
		wantProblem(t, r.request(method, path, body), http.StatusConflict, "conflict")
	}
}

// fakeRuns are two runs, one of which waits at a gate.
type fakeRuns struct{ decided map[string]Decision }

func (f *fakeRuns) List(context.Context) ([]Run, error) {
	return []Run{{ID: "run_1", Op: "ship", Status: "waiting", Gates: []Gate{{Name: "go", Status: "waiting", Digest: "abc"}}}, {ID: "run_2", Op: "ship", Status: "completed"}}, nil
}

func (f *fakeRuns) Resolve(_ context.Context, run, gate string, d Decision) (Gate, error) {
	switch {
	case run != "run_1":
		return Gate{}, ErrNoRun
	case gate != "go" && gate != "go@abc":
		return Gate{}, ErrNoGate
	case f.decided[gate].By != "":
		return Gate{}, ErrDecided
	}
	f.decided[gate] = d
	return Gate{Name: "go", Status: "approved", By: d.By}, nil
}

func TestRuns(t *testing.T) {
	without := start(t, nil)
	wantProblem(t, without.request("GET", "/runs", ""), http.StatusNotImplemented, "not-here")
	wantProblem(t, without.request("POST", "/runs/run_1/gates/go", `{"decision":"approve"}`, without.person()...), http.StatusNotImplemented, "not-here")

	runs := &fakeRuns{map[string]Decision{}}
	r := start(t, func(o *Options) { o.Runs = runs })
	var list struct{ Runs []Run }
	decodeInto(t, r.request("GET", "/runs", ""), http.StatusOK, &list)
	if len(list.Runs) != 2 || list.Runs[0].Gates[0].Name != "go" {
		t.Errorf("%+v", list)
	}
	s := r.readEvents("/events")
	for _, c := range []struct {
		path, body string
		status     int
		kind       string
	}{
		{"/runs/run_1/gates/go", `{"decision":"maybe"}`, http.StatusUnprocessableEntity, "invalid"},
		{"/runs/run_1/gates/go", ``, http.StatusUnprocessableEntity, "invalid"},
		{"/runs/run_3/gates/go", `{"decision":"approve"}`, http.StatusNotFound, "not-found"},
		{"/runs/run_1/gates/stop", `{"decision":"approve"}`, http.StatusNotFound, "not-found"},
		{"/runs/run_1/gates/go", `{"decision":"approve","note":"fine"}`, http.StatusOK, ""},
		{"/runs/run_1/gates/go", `{"decision":"reject"}`, http.StatusConflict, "conflict"},
		{"/runs/run_1/gates/go@abc", `{"decision":"reject"}`, http.StatusOK, ""},
	} {
		a := r.request("POST", c.path, c.body, r.person()...)
		if c.kind != "" {
			wantProblem(t, a, c.status, c.kind)
			continue
		}
		var gate Gate
		decodeInto(t, a, c.status, &gate)
		if e := s.want("gate.resolved"); !strings.Contains(e.data, "run_1") {
			t.Errorf("%+v", e)
		}
	}
	want := map[string]Decision{"go": {Approve: true, By: "gateway", Note: "fine"}, "go@abc": {By: "gateway"}}
	if !reflect.DeepEqual(runs.decided, want) {
		t.Errorf("%+v", runs.decided)
	}
}

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/runtime/gateway"
	"github.com/chant-acp/chant-acp/runtime/person/door"
)

// startGatewayIn is startGateway with a state folder that others use, too.
func startGatewayIn(t *testing.T, workspace, state string, args ...string) *daemon {
	t.Helper()
	c := program(t, append([]string{"gateway", "--workspace", workspace, "--port", "0"}, args...)...)
	c.Env = append(c.Env, "CHANT_ACP_STATE="+state)
	return startGatewayProcess(t, c, workspace)
}

// person is somebody with the capability that a gateway gives to people.
type person struct {
	t      *testing.T
	at     gateway.Running
	bearer string
}

func (d *daemon) person(t *testing.T) *person {
	t.Helper()
	at := d.find(t)
	g, err := door.Ask(t.Context(), at.Person)
	if err != nil {
		t.Fatal(err)
	}
	return &person{t, at, g.Capability}
}

// client is a program that has read the token.
func (d *daemon) client(t *testing.T) *person {
	t.Helper()
	at := d.find(t)
	return &person{t, at, at.Token}
}

// do asks, and returns the status and the body. body "": none.
func (p *person) do(method, path, body string) (int, string) {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), method, p.at.URL+path, strings.NewReader(body))
	if err != nil {
		p.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := (&http.Client{Transport: withToken(p.bearer), Timeout: patience}).Do(req)
	if err != nil {
		p.t.Fatalf("%s %s: %v", method, path, err)
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	if err != nil {
		p.t.Fatalf("%s %s: %v", method, path, err)
	}
	return resp.StatusCode, string(raw)
}

// want asks, and wants a status.
func (p *person) want(status int, method, path, body string) string {
	p.t.Helper()
	got, answer := p.do(method, path, body)
	if got != status {
		p.t.Fatalf("%s %s %s: %d, not %d\n%s", method, path, body, got, status, answer)
	}
	return answer
}

// read asks, and decodes the answer into v.
func (p *person) read(path string, v any) {
	p.t.Helper()
	if err := json.Unmarshal([]byte(p.want(http.StatusOK, "GET", path, "")), v); err != nil {
		p.t.Fatalf("%s: %v", path, err)
	}
}

// runs are what GET /runs shows.
func (p *person) runs() []gateway.Run {
	p.t.Helper()
	var list struct{ Runs []gateway.Run }
	p.read("/runs", &list)
	return list.Runs
}

// asked are the ids of the open permission requests of a session.
func (p *person) asked(session string) (ids []string) {
	p.t.Helper()
	var list struct{ Requests []struct{ ID string } }
	p.read("/sessions/"+session+"/requests", &list)
	for _, r := range list.Requests {
		ids = append(ids, r.ID)
	}
	return ids
}

// occurrence is one event, with its data as text.
type occurrence struct{ kind, data string }

// stream is a stream of server-sent events.
type stream struct {
	t      *testing.T
	events <-chan occurrence // closed at the end of the stream
}

// follow reads the events of a path, those of before included.
func (p *person) follow(path string) *stream {
	p.t.Helper()
	req, err := http.NewRequestWithContext(p.t.Context(), "GET", p.at.URL+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	req.Header.Set("Last-Event-ID", "none")
	resp, err := (&http.Client{Transport: withToken(p.at.Token)}).Do(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		p.t.Fatalf("%s: %v %+v", path, err, resp)
	}
	events, done := make(chan occurrence, 10_000), make(chan struct{})
	go func() { // ends with the body, and is waited for below
		defer close(done)
		defer close(events)
		var e occurrence
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			switch name, value, _ := strings.Cut(lines.Text(), ": "); name {
			case "event":
				e.kind = value
			case "data":
				e.data += value
			case "":
				events <- e
				e = occurrence{}
			}
		}
	}()
	p.t.Cleanup(func() { resp.Body.Close(); <-done })
	return &stream{p.t, events}
}

// await returns the data of the next event of a type that holds a text.
func (s *stream) await(kind, holds string) string {
	s.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	var before []string
	for {
		select {
		case e, ok := <-s.events:
			if !ok {
				s.t.Fatalf("the stream ended without %s that holds %q, after %q", kind, holds, before)
			}
			if e.kind == kind && strings.Contains(e.data, holds) {
				return e.data
			}
			before = append(before, e.kind)
		case <-late.C:
			s.t.Fatalf("no %s that holds %q, after %q", kind, holds, before)
		}
	}
}

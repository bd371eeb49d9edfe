package gateway

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/runtime/session"
)

// terminal starts a terminal over HTTP.
func (r *running) terminal(body string) session.Info {
	r.t.Helper()
	var info session.Info
	a := r.request("POST", "/sessions/terminal", body)
	decodeInto(r.t, a, http.StatusCreated, &info)
	if a.header.Get("Location") != "/sessions/"+info.ID {
		r.t.Errorf("Location: %q", a.header.Get("Location"))
	}
	return info
}

// TestSessionsWithoutToken: whoever reaches the port learns what kind of sessions
// there are and whether they run. No page may read it.
func TestSessionsWithoutToken(t *testing.T) {
	r := start(t, nil)
	info := r.terminal(`{"argv":["sh","-c","exec sleep 999 # secret"],"name":"secret"}`)
	bare := fmt.Sprintf(`{"id":%q,"kind":"terminal","state":"running"}`, info.ID)
	for path, want := range map[string]string{"/sessions": `{"sessions":[` + bare + "]}\n", "/sessions/" + info.ID: bare + "\n"} {
		for _, token := range []string{"", "Bearer " + newToken()} {
			if a := r.request("GET", path, "", "Authorization", token); a.body != want {
				t.Errorf("%s: %s\nwant %s", path, a.body, want)
			}
		}
		page := []string{"Origin", "http://localhost:3000"}
		if a := r.request("GET", path, "", append(page, "Authorization", "")...); a.header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("%s: a page may read it: %v", path, a.header)
		}
		if a := r.request("GET", path, "", page...); a.header.Get("Access-Control-Allow-Origin") == "" || !strings.Contains(a.body, "secret") {
			t.Errorf("%s, with the token: %v\n%s", path, a.header, a.body)
		}
	}
}

func TestNoTerminals(t *testing.T) {
	r := start(t, func(o *Options) { o.NoTerminals = true })
	p := wantProblem(t, r.request("POST", "/sessions/terminal", `{"argv":["cat"]}`), http.StatusNotImplemented, "not-here")
	if detail, _ := p["detail"].(string); !strings.Contains(detail, "features.pty") {
		t.Errorf("%s", detail)
	}
}

func TestTerminalOverHTTP(t *testing.T) {
	r := start(t, nil)
	s := r.readEvents("/events")
	dir := t.TempDir()
	info := r.terminal(fmt.Sprintf(`{"argv":["sh","-c","echo $GREETING; pwd; exec cat"],"cwd":%q,"cols":100,"rows":30,"name":"term","env":{"GREETING":"good day"}}`, dir))
	if info.Kind != session.KindTerminal || info.Name != "term" || info.Cols != 100 || info.Rows != 30 || info.State != session.StateRunning || info.PID == 0 || info.Cwd != dir {
		t.Errorf("%+v", info)
	}
	if e := s.want("session.started"); !strings.Contains(e.data, info.ID) {
		t.Errorf("%+v", e)
	}
	var list struct{ Sessions []session.Info }
	decodeInto(t, r.request("GET", "/sessions", ""), http.StatusOK, &list)
	if len(list.Sessions) != 1 || list.Sessions[0].ID != info.ID {
		t.Errorf("%+v", list)
	}
	for _, id := range []string{info.ID, "term"} {
		var one session.Info
		decodeInto(t, r.request("GET", "/sessions/"+id, ""), http.StatusOK, &one)
		if one.ID != info.ID {
			t.Errorf("%s: %+v", id, one)
		}
	}
	lines := r.readEvents("/sessions/term/stream")
	if a, b := lines.want(""), lines.want(""); a.data != "good day" || b.data != dir {
		t.Errorf("%q and %q", a.data, b.data)
	}

	wantProblem(t, r.request("DELETE", "/sessions/term", ""), http.StatusConflict, "conflict")
	var ended session.Info
	decodeInto(t, r.request("POST", "/sessions/term/kill", ""), http.StatusOK, &ended)
	if ended.State != session.StateEnded || ended.Signal == "" {
		t.Errorf("%+v", ended)
	}
	if e := lines.want("exit"); !strings.Contains(e.data, ended.Signal) {
		t.Errorf("%+v", e)
	}
	if e := s.want("session.ended"); !strings.Contains(e.data, info.ID) {
		t.Errorf("%+v", e)
	}
	if a := r.request("DELETE", "/sessions/term", ""); a.status != http.StatusNoContent || a.body != "" {
		t.Errorf("%+v", a)
	}
	s.want("session.forgotten")
	for _, route := range []string{"GET /sessions/term", "DELETE /sessions/term", "POST /sessions/term/kill", "GET /sessions/term/stream", "GET /sessions/term/pty"} {
		method, path, _ := strings.Cut(route, " ")
		wantProblem(t, r.request(method, path, ""), http.StatusNotFound, "not-found")
	}
}

func TestAmbiguousName(t *testing.T) {
	r := start(t, nil)
	a, b := r.terminal(`{"argv":["cat"],"name":"twin"}`), r.terminal(`{"argv":["cat"],"name":"twin"}`)
	p := wantProblem(t, r.request("GET", "/sessions/twin", ""), http.StatusConflict, "ambiguous")
	if !reflect.DeepEqual(p["ids"], []any{a.ID, b.ID}) {
		t.Errorf("%v", p["ids"])
	}
	wantProblem(t, r.request("POST", "/sessions/twin/kill", ""), http.StatusConflict, "ambiguous")
	if x := r.request("GET", "/sessions/"+a.ID, ""); x.status != http.StatusOK {
		t.Error(x.status)
	}
}

func TestBadTerminals(t *testing.T) {
	r := start(t, nil)
	file := filepath.Join(t.TempDir(), "file")
	write(t, file, "not a program", 0o600)
	for _, c := range []struct {
		body    string
		pointer string
	}{
		{`{}`, "/argv"},
		{`{"argv":[]}`, "/argv"},
		{`{"argv":[""]}`, "/argv"},
		{`{"argv":"cat"}`, "/argv"},
		{`{"argv":["cat"],"cwd":"relative"}`, "/cwd"},
		{`{"argv":["cat"],"cwd":"/no/such/folder"}`, "/cwd"},
		{`{"argv":["cat"],"cols":100000,"rows":100000}`, "/cols"},
		{`{"argv":["cat"],"cols":-1,"rows":1}`, "/cols"},
		{`{"argv":["cat"],"env":{"A=B":"c"}}`, "/env"},
		{`{"argv":["cat"],"env":{"":"c"}}`, "/env"},
		{`{"argv":["cat"],"shell":true}`, "/shell"},
		{`{"argv":["no-such-program-anywhere"]}`, ""},
		{`{"argv":["` + file + `"]}`, ""},
	} {
		p := wantProblem(t, r.request("POST", "/sessions/terminal", c.body), http.StatusUnprocessableEntity, "invalid")
		if c.pointer != "" && p["pointer"] != c.pointer {
			t.Errorf("%s: at %v, want %s", c.body, p["pointer"], c.pointer)
		}
	}
	if list := r.Sessions().List(); len(list) != 0 {
		t.Errorf("%+v", list)
	}
	wantProblem(t, r.request("POST", "/sessions/terminal", `{"argv":["cat"]}`, "Content-Type", "text/plain"), http.StatusUnsupportedMediaType, "wrong-media-type")
}

func TestListIsFresh(t *testing.T) {
	r := start(t, nil)
	if a := r.request("GET", "/sessions", ""); a.body != "{\"sessions\":[]}\n" {
		t.Errorf("%q", a.body)
	}
	for n := 1; n <= 3; n++ {
		info := r.terminal(`{"argv":["cat"]}`)
		for range 2 {
			var list struct{ Sessions []session.Info }
			decodeInto(t, r.request("GET", "/sessions", ""), http.StatusOK, &list)
			if len(list.Sessions) != n || list.Sessions[n-1].ID != info.ID {
				t.Fatalf("%d: %+v", n, list)
			}
		}
	}
}

// BenchmarkListSessions: 10,000 a second with 100 sessions on two cores is the aim,
// client and all.
func BenchmarkListSessions(b *testing.B) {
	g, err := New(Options{Workspace: b.TempDir()})
	if err != nil {
		b.Fatal(err)
	}
	if err := g.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	defer func() { _ = g.Stop(b.Context()) }()
	for n := range 100 {
		spec := session.TerminalSpec{Argv: []string{"cat"}, Cwd: g.Workspace(), Name: fmt.Sprintf("terminal-%d", n)}
		if _, err := g.Sessions().StartTerminal(b.Context(), spec); err != nil {
			b.Fatal(err)
		}
	}
	address := strings.TrimPrefix(g.URL(), "http://")
	request := []byte("GET /sessions HTTP/1.1\r\nHost: " + address + "\r\n\r\n")
	b.SetParallelism(8)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		// net/http's client takes as long as the gateway, which is not what is measured.
		conn, err := net.Dial("tcp", address)
		if err != nil {
			b.Error(err)
			return
		}
		defer conn.Close()
		in := bufio.NewReaderSize(conn, 64<<10)
		for pb.Next() {
			if _, err := conn.Write(request); err != nil {
				b.Error(err)
				return
			}
			if err := discardAnswer(in); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "req/s")
}

// discardAnswer reads one response, whose length its header says.
func discardAnswer(in *bufio.Reader) error {
	length := -1
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return err
		}
		name, value, _ := strings.Cut(string(line), ": ")
		switch {
		case strings.HasPrefix(name, "HTTP/1.1 ") && !strings.HasPrefix(name, "HTTP/1.1 200"):
			return errors.New(name)
		case name == "Content-Length":
			if length, err = strconv.Atoi(strings.TrimSpace(value)); err != nil {
				return err
			}
		case name == "\r\n":
			if length <= 0 {
				return errors.New("the answer does not say how long it is")
			}
			_, err = in.Discard(length)
			return err
		}
	}
}

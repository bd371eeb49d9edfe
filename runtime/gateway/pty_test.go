package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/internal/testenv"
	"github.com/chant-acp/chant-acp/runtime/session"
)

// screen is a client of a terminal.
type screen struct {
	t    *testing.T
	conn *websocket.Conn
}

// attach opens the WebSocket of a session.
func (r *running) attach(path string) *screen {
	r.t.Helper()
	conn, _, err := websocket.Dial(r.t.Context(), r.URL()+path, &websocket.DialOptions{HTTPHeader: http.Header{"Authorization": {"Bearer " + r.Token()}}})
	if err != nil {
		r.t.Fatal(err)
	}
	conn.SetReadLimit(1 << 20)
	r.t.Cleanup(func() { conn.CloseNow() })
	return &screen{r.t, conn}
}

type ptyFrame struct {
	Kind, Data, Detail, Signal string
	ExitCode                   *int
}

func (s *screen) next() (ptyFrame, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	kind, raw, err := s.conn.Read(ctx)
	if err != nil {
		return ptyFrame{}, err
	}
	var f ptyFrame
	if err := json.Unmarshal(raw, &f); err != nil || kind != websocket.MessageText {
		s.t.Fatalf("%v: %s", err, raw)
	}
	return f, nil
}

// shows reads until the terminal has printed text.
func (s *screen) shows(text string) {
	s.t.Helper()
	var all string
	for !strings.Contains(all, text) {
		f, err := s.next()
		if err != nil || f.Kind != "data" {
			s.t.Fatalf("%+v %v, after %q; want %q", f, err, all, text)
		}
		all += f.Data
	}
}

func (s *screen) want(kind string) ptyFrame {
	s.t.Helper()
	for {
		f, err := s.next()
		if err != nil {
			s.t.Fatalf("waiting for %s: %v", kind, err)
		}
		if f.Kind == kind {
			return f
		}
	}
}

func (s *screen) send(text string) {
	s.t.Helper()
	if err := s.conn.Write(s.t.Context(), websocket.MessageText, []byte(text)); err != nil {
		s.t.Fatal(err)
	}
}

// closed reads until the connection is closed, and wants this reason.
func (s *screen) closed(code websocket.StatusCode, reason string) {
	s.t.Helper()
	for {
		_, err := s.next()
		var end websocket.CloseError
		if err == nil {
			continue
		}
		if !errors.As(err, &end) || end.Code != code || !strings.Contains(end.Reason, reason) {
			s.t.Errorf("%v, want %d %q", err, code, reason)
		}
		return
	}
}

func TestPTY(t *testing.T) {
	r := start(t, nil)
	r.terminal(`{"argv":["sh","-c","stty -echo; echo ready; while read -r line; do case $line in size) stty size;; leave) exit 3;; *) echo got \"$line\";; esac; done"],"name":"term"}`)
	first := r.attach("/sessions/term/pty?cols=100&rows=40")
	first.shows("ready")
	first.send(`{"kind":"input","data":"grüß dich\n"}`)
	first.shows("got grüß dich")
	second := r.attach("/sessions/term/pty") // sees what was there before it
	second.shows("got grüß dich")

	// The smallest size wins, and grows back.
	second.send(`{"kind":"resize","cols":80,"rows":50}`)
	second.send(`{"kind":"ping"}`)
	second.want("pong") // frames are taken in order
	second.send(`{"kind":"input","data":"size\n"}`)
	first.shows("40 80")
	second.shows("40 80")
	if err := second.conn.Close(websocket.StatusNormalClosure, ""); err != nil {
		t.Error(err)
	}
	for info := (session.Info{Watchers: 2}); info.Watchers > 1; {
		decodeInto(t, r.request("GET", "/sessions/term", ""), http.StatusOK, &info)
	}
	first.send(`{"kind":"input","data":"size\n"}`)
	first.shows("40 100")

	// What can't be is said, and disturbs nothing.
	for _, bad := range []string{`{"kind":"resize","cols":0,"rows":0}`, `{"kind":"resize","cols":100000,"rows":100000}`, `{"kind":"resize"}`, `{"kind":"resize","cols":-1,"rows":5}`} {
		first.send(bad)
		if f := first.want("error"); f.Detail == "" {
			t.Errorf("%s: %+v", bad, f)
		}
	}
	first.send(`{"kind":"pong"}`)
	first.send(`{"kind":"input","data":"leave\n"}`)
	if f := first.want("exit"); f.ExitCode == nil || *f.ExitCode != 3 || f.Signal != "" {
		t.Errorf("%+v", f)
	}
	first.closed(websocket.StatusNormalClosure, "ended")

	// One that has ended still shows what is left.
	late := r.attach("/sessions/term/pty")
	late.shows("40 100")
	if f := late.want("exit"); f.ExitCode == nil || *f.ExitCode != 3 {
		t.Errorf("%+v", f)
	}
}

func TestPTYSignal(t *testing.T) {
	r := start(t, nil)
	r.terminal(`{"argv":["cat"],"name":"term"}`)
	s := r.attach("/sessions/term/pty")
	decodeInto(t, r.request("POST", "/sessions/term/kill", ""), http.StatusOK, &struct{}{})
	if f := s.want("exit"); f.Signal == "" {
		t.Errorf("%+v", f)
	}
}

func TestPTYBadFrames(t *testing.T) {
	r := start(t, nil)
	r.terminal(`{"argv":["cat"],"name":"term"}`)
	for _, bad := range []string{`no json`, `[]`, `{"kind":"shout"}`, `{}`, `{"kind":"input","data":5}`} {
		s := r.attach("/sessions/term/pty")
		s.send(bad)
		if f := s.want("error"); !strings.Contains(f.Detail, "frame") {
			t.Errorf("%s: %+v", bad, f)
		}
		s.send(`{"kind":"ping"}`) // and nothing else has changed
		s.want("pong")
	}
	s := r.attach("/sessions/term/pty")
	if err := s.conn.Write(t.Context(), websocket.MessageBinary, []byte(`{"kind":"ping"}`)); err != nil {
		t.Fatal(err)
	}
	s.want("error")
	s = r.attach("/sessions/term/pty")
	s.send(fmt.Sprintf(`{"kind":"input","data":"%s"}`, strings.Repeat("x", maxFrame)))
	s.closed(websocket.StatusMessageTooBig, "")
	if a := r.request("GET", "/sessions/term", ""); !strings.Contains(a.body, `"running"`) {
		t.Errorf("%s", a.body)
	}
}

// TestPTYUpgrade: what is wrong is said before there is a WebSocket.
func TestPTYUpgrade(t *testing.T) {
	r := start(t, nil)
	term := r.terminal(`{"argv":["cat"],"name":"term"}`)
	ws := []string{"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="}
	path := "/sessions/" + term.ID + "/pty"
	wantProblem(t, r.request("GET", path, ""), http.StatusUpgradeRequired, "upgrade-required")
	wantProblem(t, r.request("GET", path, "", append(ws, "Authorization", "")...), http.StatusUnauthorized, "unauthorized")
	wantProblem(t, r.request("GET", path, "", append(ws, "Origin", "http://evil.example")...), http.StatusForbidden, "foreign-origin")
	wantProblem(t, r.request("GET", path, "", append(ws, "Host", "evil.example")...), http.StatusForbidden, "foreign-host")
	wantProblem(t, r.request("GET", path, "", append(ws, "Sec-WebSocket-Version", "8")...), http.StatusBadRequest, "bad-request")
	wantProblem(t, r.request("GET", path, "", append(ws, "Sec-WebSocket-Key", "short")...), http.StatusBadRequest, "bad-request")
	for _, size := range []string{"?cols=0&rows=0", "?cols=80", "?cols=a&rows=b", "?cols=100000&rows=100000", "?cols=-1&rows=5"} {
		wantProblem(t, r.request("GET", path+size, "", ws...), http.StatusUnprocessableEntity, "invalid")
	}
	wantProblem(t, r.request("GET", "/sessions/none/pty", "", ws...), http.StatusNotFound, "not-found")
	if n := r.Sessions().List()[0].Watchers; n != 0 {
		t.Errorf("%d watchers stay", n)
	}
}

// TestPTYStalled: a watcher that takes nothing is closed with a reason, and the
// terminal goes on.
func TestPTYStalled(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	r.terminal(`{"argv":["yes"],"name":"term"}`)
	stalled, other := r.attach("/sessions/term/pty"), r.attach("/sessions/term/pty")
	goesOn := func() {
		for range 50 {
			if f, err := other.next(); err != nil || f.Kind != "data" {
				t.Fatalf("%+v %v", f, err)
			}
		}
	}
	for info := (session.Info{Watchers: 2}); info.Watchers > 1; {
		goesOn()
		decodeInto(t, r.request("GET", "/sessions/term", ""), http.StatusOK, &info)
	}
	stalled.closed(websocket.StatusPolicyViolation, "slow")
	r.logs.wait(t, "a slow watcher was closed", 1)
	goesOn()
}

// slowConn reads 64 KiB every 250 ms at most, and never stops.
type slowConn struct{ net.Conn }

func (s slowConn) Read(p []byte) (int, error) {
	time.Sleep(time.Duration(len(p[:min(len(p), 16<<10)])) * 250 * time.Millisecond / (64 << 10))
	return s.Conn.Read(p[:min(len(p), 16<<10)])
}

// TestPTYSlow: a watcher that reads slowly, and goes on, is not dropped.
func TestPTYSlow(t *testing.T) {
	if !testenv.Long() {
		t.Skip("it takes as long as a watcher may take nothing; CHANT_ACP_TEST_LONG=1 runs it")
	}
	t.Parallel()
	r := start(t, nil)
	r.terminal(`{"argv":["yes"],"name":"term"}`)
	transport := &http.Transport{DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		return slowConn{conn}, err
	}}
	defer transport.CloseIdleConnections()
	conn, _, err := websocket.Dial(t.Context(), r.URL()+"/sessions/term/pty", &websocket.DialOptions{
		HTTPClient: &http.Client{Transport: transport}, HTTPHeader: http.Header{"Authorization": {"Bearer " + r.Token()}},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer conn.CloseNow()
	conn.SetReadLimit(1 << 20)
	s := &screen{t, conn}
	for enough := time.After(2 * session.StallLimit); ; {
		select {
		case <-enough:
			return
		default:
		}
		if f, err := s.next(); err != nil || f.Kind != "data" {
			t.Fatalf("%+v %v", f, err)
		}
	}
}

// TestPTYOfAPage: a page can't send headers with a WebSocket, and gives the token as
// a subprotocol, which is not answered with. RFC 6455, section 4.2.2.
func TestPTYOfAPage(t *testing.T) {
	r := start(t, func(o *Options) { o.AllowedOrigins = []string{"https://panel.example"} })
	r.terminal(`{"argv":["cat"],"name":"term"}`)
	dial := func(origin string, protocols ...string) (*websocket.Conn, *http.Response, error) {
		header := http.Header{}
		if origin != "" {
			header.Set("Origin", origin)
		}
		return websocket.Dial(t.Context(), r.URL()+"/sessions/term/pty", &websocket.DialOptions{HTTPHeader: header, Subprotocols: protocols})
	}
	for _, origin := range []string{"https://panel.example", "http://localhost:3000"} {
		capability, _ := r.access.people.Grant(time.Now())
		for _, secret := range []string{capability, r.Token()} {
			conn, resp, err := dial(origin, "bearer."+secret, ptyProtocol)
			if err != nil {
				t.Fatalf("%s: %v", origin, err)
			}
			if got := resp.Header.Values("Sec-WebSocket-Protocol"); len(got) != 1 || got[0] != ptyProtocol {
				t.Errorf("%q was answered", got)
			}
			conn.CloseNow()
		}
	}
	for _, c := range []struct {
		origin   string
		protocol []string
		status   int
	}{
		{"", []string{"bearer." + r.Token(), ptyProtocol}, http.StatusUnauthorized}, // no page, and programs can send headers
		{"http://localhost:3000", []string{"bearer." + newToken(), ptyProtocol}, http.StatusUnauthorized},
		{"http://localhost:3000", []string{"bearer.", ptyProtocol}, http.StatusUnauthorized},
		{"http://localhost:3000", []string{r.Token()}, http.StatusUnauthorized},
		{"http://evil.example", []string{"bearer." + r.Token(), ptyProtocol}, http.StatusForbidden},
	} {
		_, resp, err := dial(c.origin, c.protocol...)
		if err == nil || resp == nil || resp.StatusCode != c.status {
			t.Errorf("%q %q: %v %+v", c.origin, c.protocol, err, resp)
		}
	}
	page := []string{"Authorization", "", "Origin", "http://localhost:3000", "Sec-WebSocket-Protocol", "bearer." + r.Token()}
	wantProblem(t, r.request("GET", "/sessions/term/stream", "", page...), http.StatusUnauthorized, "unauthorized") // nor elsewhere
}

// TestPTYInputThatWaits: a client whose input waits for its program is there,
// although what it answers lies behind that input; one that answers nothing is not.
func TestPTYInputThatWaits(t *testing.T) {
	t.Parallel()
	impatient := usualTimes
	impatient.ask, impatient.pong = time.Millisecond, 2*time.Second // a busy client is there, and input waits for 5 s
	r := startWith(t, impatient, nil)
	r.terminal(`{"argv":["sh","-c","stty raw -echo; echo ready; exec sleep 999"],"name":"term"}`)
	s := r.attach("/sessions/term/pty")
	s.shows("ready")
	typed := string(acp.AppendString([]byte(`{"kind":"input","data":`), strings.Repeat("x", 256<<10))) + "}"
	s.send(typed)
	if f := s.want("error"); !strings.Contains(f.Detail, "does not read") {
		t.Errorf("%+v", f)
	}
	s.send(`{"kind":"ping"}`)
	s.want("pong")

	gone := r.attach("/sessions/term/pty") // and reads nothing, as the other one does from here on
	for watchers := 2; watchers > 0; {
		var info session.Info
		decodeInto(t, r.request("GET", "/sessions/term", ""), http.StatusOK, &info)
		watchers = info.Watchers
	}
	for {
		if _, err := gone.next(); err != nil {
			break
		}
	}
}

func TestStopEndsTerminals(t *testing.T) {
	r := start(t, nil)
	r.terminal(`{"argv":["cat"],"name":"term"}`)
	s := r.attach("/sessions/term/pty")
	if err := r.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	s.closed(websocket.StatusGoingAway, "stops")
	for _, i := range r.Sessions().List() {
		if i.State != session.StateEnded {
			t.Errorf("%+v", i)
		}
	}
}

// A client that is there no more, or takes nothing, holds nothing up.
func TestStopIsNotHeldUp(t *testing.T) {
	for name, program := range map[string]string{"quiet": "cat", "flood": "yes"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, nil)
			r.terminal(fmt.Sprintf(`{"argv":[%q],"name":"term"}`, program))
			r.attach("/sessions/term/pty") // and never read, so that no goodbye is answered
			if err := r.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}

package gateway

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"

	"github.com/chant-acp/chant-acp/runtime/conversation"
)

func TestNoSuchRoute(t *testing.T) {
	r := start(t, nil)
	for _, path := range []string{"/", "/nothing", "/sessions/a/b/c", "/healthy", "/health/"} {
		wantProblem(t, r.request("GET", path, ""), http.StatusNotFound, "not-found")
	}
}

func TestWrongMethod(t *testing.T) {
	r := start(t, nil)
	for _, c := range []struct{ method, path, allow string }{
		{"DELETE", "/health", "GET, HEAD, OPTIONS"},
		{"POST", "/sessions", "GET, HEAD, OPTIONS"},
		{"PATCH", "/sessions/x", "DELETE, GET, HEAD, OPTIONS"},
		{"GET", "/sessions/x/kill", "OPTIONS, POST"},
		{"GET", "/mcp", "OPTIONS, POST"},
		{"DELETE", "/mcp", "OPTIONS, POST"},
		{"BREW", "/events", "GET, OPTIONS"},
		{"HEAD", "/events", "GET, OPTIONS"},
	} {
		a := r.request(c.method, c.path, "")
		got := strings.Split(a.header.Get("Allow"), ", ")
		if len(got) != len(strings.Split(c.allow, ", ")) {
			t.Errorf("%s %s: Allow: %q", c.method, c.path, got)
		}
		for _, m := range got {
			if !strings.Contains(c.allow, m) {
				t.Errorf("%s %s: Allow: %q, want %q", c.method, c.path, got, c.allow)
			}
		}
		if c.method != "HEAD" {
			wantProblem(t, a, http.StatusMethodNotAllowed, "wrong-method")
		}
	}
	if a := r.request("HEAD", "/health", ""); a.status != http.StatusOK || a.body != "" || a.header.Get("Content-Length") == "" {
		t.Errorf("HEAD: %+v", a)
	}
}

func TestHealth(t *testing.T) {
	r := start(t, nil)
	var got struct {
		Status, Version, Workspace string
		PID                        int
		StartedAt                  time.Time
		Uptime                     *float64
	}
	a := r.request("GET", "/health", "")
	decodeInto(t, a, http.StatusOK, &got)
	if got.Status != "ok" || got.Version != "1.2.3" || got.Workspace != r.Workspace() || got.PID != os.Getpid() || got.StartedAt.IsZero() || got.Uptime == nil {
		t.Errorf("%+v", got)
	}
	if bare := r.request("GET", "/health", "", "Authorization", ""); bare.status != http.StatusOK || bare.body != "{\"status\":\"ok\"}\n" {
		t.Errorf("without the token: %d %s", bare.status, bare.body)
	}
	if a.header.Get("X-Content-Type-Options") != "nosniff" || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("%v", a.header)
	}
}

func TestConversations(t *testing.T) {
	r := start(t, nil)
	var got struct {
		Conversations []struct {
			ID   string
			Meta struct {
				Agent, Status string
				Started       time.Time
			}
		}
	}
	decodeInto(t, r.request("GET", "/conversations", ""), http.StatusOK, &got)
	if got.Conversations == nil || len(got.Conversations) != 0 {
		t.Errorf("%+v", got)
	}
	dir := filepath.Join(r.Workspace(), ".chant-acp", "conversations")
	at := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	if err := conversation.Create(dir, conversation.Meta{ID: "sess_1", Agent: "chant-acp", Started: at, Status: conversation.Open}); err != nil {
		t.Fatal(err)
	}
	if err := conversation.Append(dir, "sess_1", conversation.Turn{Role: conversation.User, At: at, Content: "plan <dev>"}); err != nil {
		t.Fatal(err)
	}
	decodeInto(t, r.request("GET", "/conversations", ""), http.StatusOK, &got)
	if len(got.Conversations) != 1 || got.Conversations[0].ID != "sess_1" || got.Conversations[0].Meta.Agent != "chant-acp" ||
		got.Conversations[0].Meta.Status != "open" || !got.Conversations[0].Meta.Started.Equal(at) {
		t.Errorf("%+v", got)
	}
	a := r.request("GET", "/conversations/sess_1", "")
	const want = "---\nschema: conversation/v1\nid: sess_1\nagent: chant-acp\nstarted: 2026-11-01T12:00:00.000Z\nstatus: open\n---\n\n## user — 2026-11-01T12:00:00.000Z\n\nplan <dev>\n\n"
	if a.status != http.StatusOK || a.body != want || a.header.Get("Content-Type") != "text/markdown; charset=utf-8" {
		t.Errorf("%d %v\n%s", a.status, a.header, a.body)
	}
	// What a person wrote is served as they wrote it, whatever it is.
	for id, text := range map[string]string{
		"notes":   "# My notes\r\n\r\nno front matter, and a byte that is no text: \xff\n",
		"edited":  want + "text of mine  \n## user - no heading\n\n## assistant — 2026-11-01T12:00:01.000Z  \nx\n\n\n",
		"strange": "---\nid: other\nunfinished: front matter\n",
		"empty":   "",
	} {
		write(t, filepath.Join(dir, id+".md"), text, 0o600)
		if a := r.request("GET", "/conversations/"+id, ""); a.status != http.StatusOK || a.body != text {
			t.Errorf("%s: %d %q\nwant %q", id, a.status, a.body, text)
		}
	}
	decodeInto(t, r.request("GET", "/conversations", ""), http.StatusOK, &got)
	if len(got.Conversations) != 5 {
		t.Errorf("%+v", got)
	}
	write(t, filepath.Join(r.Workspace(), "secret.md"), "secret", 0o600)
	for _, id := range []string{"sess_2", "..%2F..%2Fsecret", ".hidden", "%00", "a%2Fb", strings.Repeat("a", 300)} {
		wantProblem(t, r.request("GET", "/conversations/"+id, ""), http.StatusNotFound, "not-found")
	}
	link(t, filepath.Join(r.Workspace(), "secret.md"), filepath.Join(dir, "linked.md"))
	wantProblem(t, r.request("GET", "/conversations/linked", ""), http.StatusConflict, "conflict")
}

func TestRequestLog(t *testing.T) {
	l := &logs{}
	r := start(t, func(o *Options) { o.Requests = zerolog.New(l) })
	r.request("GET", "/sessions/some-name?secret=query", "", "Cookie", "secret=cookie", "Referer", "http://localhost/secret-referer")
	r.request("POST", "/sessions/agent", `{"adapter":"secret-body"}`)
	r.request("GET", "/secret-path", "")
	r.request("GET", "/health", "")
	l.wait(t, "\n", 4) // a line is written after its answer
	for line := range strings.Lines(l.String()) {
		var e struct {
			Route, Method, From string
			Status              int
			Bytes               int64
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil || e.Method == "" || e.Status == 0 || e.Bytes == 0 || e.From == "" {
			t.Errorf("%v: %s", err, line)
		}
	}
	if text := l.String(); strings.Contains(text, "secret") || strings.Contains(text, r.Token()) || !strings.Contains(text, `"route":"/sessions/{id}"`) {
		t.Errorf("the log says\n%s", text)
	}
}

// TestPanicIsOneRequests: a handler that panics is one failed request.
func TestPanicIsOneRequests(t *testing.T) {
	r := start(t, func(o *Options) { o.Adapters = func() ([]Adapter, error) { panic("secret detail") } })
	a := r.request("GET", "/adapters", "")
	wantProblem(t, a, http.StatusInternalServerError, "internal")
	if strings.Contains(a.body, "secret") || !strings.Contains(r.logs.String(), "secret detail") {
		t.Errorf("%s\n%s", a.body, r.logs)
	}
	if a := r.request("GET", "/health", ""); a.status != http.StatusOK {
		t.Error(a.status)
	}
}

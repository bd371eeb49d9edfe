package gateway

import (
	"encoding/base64"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
)

// open are the routes that show no content, read those that the original left
// open, and closed all others.
var (
	openRoutes   = []string{"GET /health", "GET /adapters", "GET /sessions", "GET /sessions/x"}
	readRoutes   = []string{"GET /events", "GET /conversations", "GET /conversations/x", "GET /sessions/x/stream"}
	closedRoutes = []string{
		"POST /sessions/agent", "POST /sessions/terminal", "DELETE /sessions/x", "GET /sessions/x/pty", "POST /sessions/x/kill",
		"POST /sessions/x/prompt", "POST /sessions/x/cancel", "GET /sessions/x/requests", "POST /sessions/x/requests/y",
		"GET /runs", "POST /runs/x/gates/y", "POST /mcp",
	}
)

// TestEveryRouteIsListed: the lists above are what the tests of access go by.
func TestEveryRouteIsListed(t *testing.T) {
	table := start(t, nil).routes(time.Now(), conversationRoutes{})
	listed := make(map[string]bool)
	for _, l := range [][]string{openRoutes, readRoutes, closedRoutes} {
		for _, r := range l {
			listed[r] = true
		}
	}
	placeholders := strings.NewReplacer("{id}", "x", "{request}", "y", "{gate}", "y")
	for _, r := range table {
		if name := r.method + " " + placeholders.Replace(r.pattern); !listed[name] {
			t.Errorf("%s is not in the lists", name)
		}
	}
	if len(table) != len(listed) {
		t.Errorf("%d routes, %d listed", len(table), len(listed))
	}
}

// refused says whether a route wants the token of a request without one.
func refused(r *running, route string, headers ...string) answer {
	method, path, _ := strings.Cut(route, " ")
	if path == "/events" {
		path += "?" // the answer of a stream ends with it, below
	}
	return r.request(method, path, "", headers...)
}

func TestToken(t *testing.T) {
	r := start(t, nil)
	earlier := newToken()
	for _, bad := range []string{"", "Bearer", "Bearer ", "Bearer " + earlier, "Basic " + r.Token(), r.Token(), "Bearer " + r.Token()[:20], "Bearer " + r.Token() + "x", "Bearer x " + r.Token()} {
		for _, route := range append(closedRoutes, readRoutes...) {
			a := refused(r, route, "Authorization", bad)
			p := wantProblem(t, a, http.StatusUnauthorized, "unauthorized")
			if a.header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s: no WWW-Authenticate", route)
			}
			if detail, _ := p["detail"].(string); strings.Contains(detail, r.Token()) || strings.Contains(detail, earlier) {
				t.Errorf("%s: a token is in the answer: %s", route, detail)
			}
		}
	}
	for _, route := range openRoutes {
		if a := refused(r, route, "Authorization", ""); a.status == http.StatusUnauthorized {
			t.Errorf("%s wants a token on loopback", route)
		}
	}
	for _, good := range []string{"Bearer " + r.Token(), "bearer " + r.Token()} {
		if a := r.request("GET", "/conversations", "", "Authorization", good); a.status != http.StatusOK {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	// A token in the query is none, and is not logged either.
	wantProblem(t, r.request("GET", "/runs?token="+r.Token(), "", "Authorization", ""), http.StatusUnauthorized, "unauthorized")
	if strings.Contains(r.logs.String(), earlier) || strings.Contains(r.logs.String(), "token=") {
		t.Errorf("the log has what was sent:\n%s", r.logs)
	}
}

func TestTokenIsNewEachTime(t *testing.T) {
	a, b := newToken(), newToken()
	raw, err := base64.RawURLEncoding.DecodeString(a)
	if err != nil || len(raw) != 32 || a == b {
		t.Errorf("%q and %q: %v", a, b, err)
	}
}

func TestOpenReads(t *testing.T) {
	r := start(t, func(o *Options) { o.OpenReads = true })
	for _, route := range []string{"GET /conversations", "GET /conversations/x", "GET /sessions/x/stream"} {
		if a := refused(r, route, "Authorization", ""); a.status == http.StatusUnauthorized {
			t.Errorf("%s wants a token although reads are open", route)
		}
	}
	for _, route := range closedRoutes {
		wantProblem(t, refused(r, route, "Authorization", ""), http.StatusUnauthorized, "unauthorized")
	}
}

// TestBeyondLoopback: there everything wants the token, whatever is configured.
func TestBeyondLoopback(t *testing.T) {
	r := start(t, func(o *Options) { o.Bind, o.OpenReads = "0.0.0.0", true })
	for _, l := range [][]string{openRoutes[1:], readRoutes, closedRoutes} { // health is open everywhere
		for _, route := range l {
			wantProblem(t, refused(r, route, "Authorization", ""), http.StatusUnauthorized, "unauthorized")
		}
	}
	if !strings.HasPrefix(r.URL(), "http://127.0.0.1:") {
		t.Errorf("it listens at %s, and was told a wildcard of IPv4", r.URL())
	}
	if a := r.request("GET", "/health", ""); a.status != http.StatusOK {
		t.Errorf("%d %s", a.status, a.body)
	}
	wantProblem(t, r.request("GET", "/health", "", "Host", "evil.example"), http.StatusForbidden, "foreign-host")
}

func TestHost(t *testing.T) {
	r := start(t, nil)
	for _, host := range []string{"localhost", "localhost:1", "LOCALHOST:18790", "127.0.0.1", "127.0.0.1:99", "[::1]:18790"} {
		if a := r.request("GET", "/health", "", "Host", host); a.status != http.StatusOK {
			t.Errorf("%s: %d %s", host, a.status, a.body)
		}
	}
	for _, host := range []string{"evil.example", "evil.example:18790", "localhost.evil.example", "127.0.0.1.evil.example", "192.0.2.1:18790", "localhost@evil.example", "0.0.0.0"} {
		a := r.request("GET", "/health", "", "Host", host)
		wantProblem(t, a, http.StatusForbidden, "foreign-host")
		if strings.Contains(a.body, "evil") {
			t.Errorf("%s is said back: %s", host, a.body)
		}
	}
}

// TestAllowedHosts: what a proxy asks for by its own name has passed another
// machine, so that nothing is open any more.
func TestAllowedHosts(t *testing.T) {
	r := start(t, func(o *Options) { o.AllowedHosts, o.OpenReads = []string{"Panel.example"}, true })
	for _, host := range []string{"panel.example", "PANEL.example:443", "localhost"} {
		if a := r.request("GET", "/sessions", "", "Host", host); a.status != http.StatusOK {
			t.Errorf("%s: %d %s", host, a.status, a.body)
		}
		for _, l := range [][]string{openRoutes[1:], readRoutes, closedRoutes} {
			for _, route := range l {
				wantProblem(t, refused(r, route, "Authorization", "", "Host", host), http.StatusUnauthorized, "unauthorized")
			}
		}
	}
	wantProblem(t, r.request("GET", "/health", "", "Host", "other.example"), http.StatusForbidden, "foreign-host")
	for _, bad := range []string{"", "panel.example:443", "https://panel.example", "*.example", "a b"} {
		if _, err := New(Options{Workspace: "/", AllowedHosts: []string{bad}}); err == nil {
			t.Errorf("%q was taken for a host", bad)
		}
	}
}

func TestOrigin(t *testing.T) {
	lax := start(t, func(o *Options) { o.AllowedOrigins = []string{"https://Trusted.example", "http://dev.example:3000/"} })
	strict := start(t, func(o *Options) {
		o.AllowedOrigins, o.StrictOrigins = []string{"https://trusted.example"}, true
	})
	for _, c := range []struct {
		origin, site string
		lax, strict  bool
	}{
		{"", "", true, true},
		{"", "none", true, true},
		{"", "same-origin", true, true},
		{"", "same-site", true, false},
		{"", "cross-site", false, false},
		{"", "anything", false, false},
		{"https://trusted.example", "cross-site", true, true},
		{"http://dev.example:3000", "cross-site", true, false},
		{"http://localhost:3000", "same-site", true, false},
		{"https://127.0.0.1", "", true, false},
		{"http://[::1]:8080", "", true, false},
		{"http://trusted.example", "", false, false},
		{"https://trusted.example:444", "", false, false},
		{"https://trusted.example.evil.example", "", false, false},
		{"http://localhost.evil.example", "", false, false},
		{"http://localhost@evil.example", "", false, false},
		{"null", "", false, false},
		{"file://", "", false, false},
		{"http://evil.example", "", false, false},
		{"http://localhost:3000/path", "", false, false},
		{"chrome-extension://abc", "", false, false},
	} {
		for _, g := range []struct {
			r    *running
			want bool
		}{{lax, c.lax}, {strict, c.strict}} {
			for _, route := range []string{"GET /health", "POST /mcp", "DELETE /sessions/x", "OPTIONS /sessions/agent", "GET /nothing"} {
				method, path, _ := strings.Cut(route, " ")
				a := g.r.request(method, path, "", "Origin", c.origin, "Sec-Fetch-Site", c.site)
				if refused := a.status == http.StatusForbidden; refused == g.want {
					t.Errorf("%s from %q (%s): %d, want it taken: %v", route, c.origin, c.site, a.status, g.want)
				} else if refused {
					wantProblem(t, a, http.StatusForbidden, "foreign-origin")
				}
				if got := a.header.Get("Access-Control-Allow-Origin"); g.want && got != c.origin || !g.want && got != "" {
					t.Errorf("%s from %q: may be read by %q", route, c.origin, got)
				}
			}
		}
	}
}

// TestTwoOrigins: a request of two pages is nobody's, also where each of them is
// trusted. Browsers send one Origin (RFC 6454, section 7.3).
func TestTwoOrigins(t *testing.T) {
	r := start(t, nil)
	req, err := http.NewRequestWithContext(t.Context(), "GET", r.URL()+"/health", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header["Origin"] = []string{"http://localhost:3000", "http://localhost:3000"}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	wantProblem(t, answer{resp.StatusCode, resp.Header, string(body)}, http.StatusForbidden, "foreign-origin")
}

func TestPreflight(t *testing.T) {
	r := start(t, nil)
	a := r.request("OPTIONS", "/sessions/agent", "", "Authorization", "", "Origin", "http://localhost:3000", "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "authorization")
	if a.status != http.StatusNoContent || !strings.Contains(a.header.Get("Access-Control-Allow-Methods"), "POST") ||
		!strings.Contains(a.header.Get("Access-Control-Allow-Headers"), "Authorization") || a.header.Get("Vary") != "Origin" {
		t.Errorf("%d %v", a.status, a.header)
	}
}

func TestBadOptions(t *testing.T) {
	for _, o := range []Options{
		{},
		{Workspace: "/", Port: -1},
		{Workspace: "/", Port: 65536},
		{Workspace: "/", Token: "with space"},
		{Workspace: "/", AllowedOrigins: []string{"trusted.example"}},
		{Workspace: "/", AllowedOrigins: []string{"https://trusted.example/path"}},
	} {
		if _, err := New(o); err == nil {
			t.Errorf("%+v was taken", o)
		}
	}
}

// TestOnlyPeopleDecide asks, of every route that decides, with the token that
// programs can read: none takes it. A route that decides and is not here has to be
// added, with needPerson.
func TestOnlyPeopleDecide(t *testing.T) {
	decide := map[string]string{
		"/runs/{id}/gates/{gate}":           `{"decision":"approve"}`,
		"/sessions/{id}/requests/{request}": `{"optionId":"x"}`,
	}
	r := start(t, func(o *Options) { o.Runs = &fakeRuns{map[string]Decision{}} })
	for _, rt := range r.routes(time.Now(), conversationRoutes{}) {
		body, decides := decide[rt.pattern]
		if decides = decides && rt.method == "POST"; decides != (rt.need == needPerson) {
			t.Errorf("%s %s: decides %t, wants a person %t", rt.method, rt.pattern, decides, rt.need == needPerson)
		}
		if !decides {
			continue
		}
		path := strings.NewReplacer("{id}", "run_1", "{gate}", "go", "{request}", "x").Replace(rt.pattern)
		wantProblem(t, r.request(rt.method, path, body), http.StatusForbidden, "no-person")
		wantProblem(t, r.request(rt.method, path, body, "Authorization", "Bearer "+newToken()), http.StatusUnauthorized, "unauthorized")
		if a := r.request(rt.method, path, body, r.person()...); a.status == http.StatusForbidden || a.status == http.StatusUnauthorized {
			t.Errorf("%s: a person got %d", path, a.status)
		}
	}
}

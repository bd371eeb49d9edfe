package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-acp/chant-acp/internal/testenv"
	"github.com/chant-acp/chant-acp/runtime/gateway"
	"github.com/chant-acp/chant-acp/runtime/gateway/client"
)

const token = "the-token"

// served is a client of a server of the test's own, which wants the token.
func served(t *testing.T, h http.HandlerFunc) *client.Client {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+token {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		h(w, r)
	}))
	t.Cleanup(s.Close)
	c := client.New(gateway.Running{URL: s.URL, Token: token, Workspace: "/shop"})
	t.Cleanup(c.Close)
	return c
}

// bounded is a context for what must not hang.
func bounded(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testenv.Hang)
	t.Cleanup(cancel)
	return ctx
}

const stopping = "event: closed\ndata: {\"reason\":\"stopping\",\"detail\":\"the gateway stops\"}\n\n"

func event(id int) string {
	return fmt.Sprintf("id: b.%d\nevent: step\ndata: {\"id\":\"b.%[1]d\",\"type\":\"step\",\"time\":\"2026-01-02T03:04:05Z\",\"data\":{\"n\":%[1]d}}\n\n", id)
}

// script answers each try with the next text, and remembers what was asked.
type script struct {
	mu    sync.Mutex
	texts []string
	asked []string
}

func (s *script) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, r.URL.Path+" "+r.Header.Get("Last-Event-ID"))
	text := s.texts[0]
	s.texts = s.texts[1:]
	if status, rest, _ := strings.Cut(text, " "); status == "503" {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusServiceUnavailable)
		_, _ = io.WriteString(w, rest)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, ": here\n\n"+text)
}

func TestFollow(t *testing.T) {
	busy := `503 {"type":"https://example.org/x#unavailable","detail":"busy"}`
	gap := "event: gap\ndata: {\"missed\":2,\"detail\":\"more happened than is kept\"}\n\n"
	slow := "event: closed\ndata: {\"reason\":\"slow\",\"detail\":\"too far behind\"}\n\n"
	for name, c := range map[string]struct {
		since string
		texts []string
		asked []string // the Last-Event-ID of each try
		got   []string
		lost  int
	}{
		"to the stop":               {"", []string{event(1) + event(2) + stopping}, []string{""}, []string{"b.1", "b.2"}, 0},
		"since":                     {"b.7", []string{event(8) + stopping}, []string{"b.7"}, []string{"b.8"}, 0},
		"broken":                    {"", []string{event(1), event(2), stopping}, []string{"", "b.1", "b.2"}, []string{"b.1", "b.2"}, 2},
		"broken within an event":    {"", []string{event(1) + "id: b.2\ndata: {", event(2) + stopping}, []string{"", "b.1"}, []string{"b.1", "b.2"}, 1},
		"broken before any, since":  {"b.7", []string{"", event(8) + stopping}, []string{"b.7", "b.7"}, []string{"b.8"}, 1},
		"broken before any":         {"", []string{"", event(8) + stopping}, []string{"", ""}, []string{"gap", "b.8"}, 1},
		"the place is told at once": {"", []string{"id: b.3\n\n", event(4) + stopping}, []string{"", "b.3"}, []string{"b.4"}, 1},
		"a gap":                     {"a.1", []string{gap + event(5) + stopping}, []string{"a.1"}, []string{"gap", "b.5"}, 0},
		"too slow":                  {"", []string{event(1) + slow, gap + event(9) + stopping}, []string{"", "b.1"}, []string{"b.1", "gap", "b.9"}, 1},
		"busy for a while":          {"", []string{event(1), busy, busy, event(2) + stopping}, []string{"", "b.1", "b.1", "b.1"}, []string{"b.1", "b.2"}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &script{texts: c.texts}
			g := served(t, s.ServeHTTP)
			var got []string
			lost := 0
			err := g.Follow(bounded(t), c.since, func(e client.Event) error {
				if e.Type == client.EventGap {
					e.ID = "gap"
				} else if e.Type != "step" || e.Time.Year() != 2026 || !strings.HasPrefix(string(e.Data), `{"n":`) {
					t.Errorf("an event arrived as %+v", e)
				}
				got = append(got, e.ID)
				return nil
			}, func(error) { lost++ })
			if err != nil || lost != c.lost {
				t.Errorf("it ended with %v after %d breaks, want %d", err, lost, c.lost)
			}
			if diff := cmp.Diff(c.got, got); diff != "" {
				t.Error(diff)
			}
			for i, id := range c.asked {
				c.asked[i] = "/events " + id
			}
			if diff := cmp.Diff(c.asked, s.asked); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestFollowGivesUp wants an end, and a sentence, where no try can help.
func TestFollowGivesUp(t *testing.T) {
	nothing := func(client.Event) error { return nil }
	t.Run("do", func(t *testing.T) {
		s := &script{texts: []string{event(1) + event(2)}}
		enough := errors.New("enough")
		err := served(t, s.ServeHTTP).Follow(bounded(t), "", func(client.Event) error { return enough }, func(error) { t.Error("it was said to be lost") })
		if err != enough {
			t.Errorf("it ended with %v", err)
		}
	})
	t.Run("ctx", func(t *testing.T) {
		ctx, cancel := context.WithCancel(bounded(t))
		err := served(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/event-stream")
			_ = http.NewResponseController(w).Flush()
			cancel()
			<-r.Context().Done()
		}).Follow(ctx, "", nothing, func(error) {})
		if !errors.Is(err, context.Canceled) {
			t.Errorf("it ended with %v", err)
		}
	})
	t.Run("another token", func(t *testing.T) {
		tries := 0
		g := served(t, func(w http.ResponseWriter, _ *http.Request) {
			if tries++; tries > 1 {
				w.WriteHeader(http.StatusUnauthorized) // another start of the gateway
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = io.WriteString(w, event(1))
		})
		err := g.Follow(bounded(t), "", nothing, func(error) {})
		if !errors.Is(err, client.ErrRefused) || tries != 2 {
			t.Errorf("it ended with %v after %d tries", err, tries)
		}
	})
	for name, h := range map[string]http.HandlerFunc{
		"no events": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") },
		"no gateway": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, "404 page not found\n")
		},
	} {
		t.Run(name, func(t *testing.T) {
			err := served(t, h).Follow(bounded(t), "", nothing, func(error) {})
			if err == nil || !strings.Contains(err.Error(), "is no gateway") {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

func TestErrorsSayWhatToDo(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	elsewhere := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere = true }))
	defer other.Close()
	answers := func(status int, text string) func(t *testing.T) *client.Client {
		return func(t *testing.T) *client.Client {
			return served(t, func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Location", other.URL)
				w.WriteHeader(status)
				_, _ = io.WriteString(w, text)
			})
		}
	}
	at := func(url, token string) func(*testing.T) *client.Client {
		return func(t *testing.T) *client.Client {
			c := client.New(gateway.Running{URL: url, Token: token, Workspace: "/shop"})
			t.Cleanup(c.Close)
			return c
		}
	}
	for name, c := range map[string]struct {
		client func(*testing.T) *client.Client
		says   []string
	}{
		"nobody listens":  {at(gone.URL, token), []string{"nobody listens", gone.URL, "/shop", "chant-acp gateway"}},
		"another token":   {answers(401, "{}"), []string{"another token", "runtime.json of /shop", "try again"}},
		"a problem":       {answers(404, `{"type":"https://example.org/#not-found","detail":"list them"}`), []string{"list them"}},
		"a bare problem":  {answers(500, `{"type":"about:blank","title":"Broken"}`), []string{"Broken"}},
		"another program": {answers(200, "<html>"), []string{"no gateway"}},
		"another's error": {answers(500, "oops"), []string{"no gateway", "500"}},
		"a redirect":      {answers(307, ""), []string{"no gateway", "307"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := c.client(t)
			for route, ask := range map[string]func() error{
				"sessions": func() error { _, err := g.Sessions(bounded(t)); return err },
				"session":  func() error { _, err := g.Session(bounded(t), "s"); return err },
				"kill":     func() error { _, err := g.Kill(bounded(t), "s"); return err },
				"events":   func() error { _, err := g.Events(bounded(t), ""); return err },
				"attach":   func() error { _, err := g.Attach(bounded(t), "s", 0, 0); return err },
			} {
				if name == "another program" && (route == "events" || route == "attach") {
					continue // one expects another type, the other another status
				}
				err := ask()
				if err == nil {
					t.Errorf("%s: no error", route)
					continue
				}
				for _, want := range c.says {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%s says %q, and not %q", route, err, want)
					}
				}
				if strings.Contains(err.Error(), token) {
					t.Errorf("%s tells the token: %q", route, err)
				}
			}
		})
	}
	if elsewhere {
		t.Error("a redirect was followed")
	}
}

func TestRequests(t *testing.T) {
	var mu sync.Mutex
	var asked []string
	g := served(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.Method+" "+r.URL.EscapedPath())
		_, _ = io.WriteString(w, `{"id":"s1","name":"shell","kind":"terminal","state":"ended","exitCode":3,"started":"2026-01-02T03:04:05Z"}`)
	})
	s, err := g.Session(bounded(t), "a/b c?")
	if err != nil || s.ID != "s1" || s.ExitCode == nil || *s.ExitCode != 3 {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err = g.Kill(bounded(t), "ü"); err != nil || s.Name != "shell" {
		t.Errorf("%+v, %v", s, err)
	}
	for _, name := range []string{"", ".", ".."} { // a server takes them for steps in the path
		var p *client.Problem
		if _, err := g.Kill(bounded(t), name); !errors.As(err, &p) || p.Type != "not-found" {
			t.Errorf("%q: %v", name, err)
		}
	}
	if want := []string{"GET /sessions/a%2Fb%20c%3F", "POST /sessions/%C3%BC/kill"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
}

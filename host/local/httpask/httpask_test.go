package httpask_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/chant-acp/chant-acp/host/local/httpask"
	"github.com/chant-acp/chant-acp/host/local/httpask/client"
	"github.com/chant-acp/chant-acp/internal/acpd"
)

// TestMain makes this test binary chant-acpd where it is started as that.
func TestMain(m *testing.M) {
	if call, err := acpd.Called(os.Args[1:]); err == nil && call.Is(acpd.Request) {
		os.Exit(client.Main())
	}
	_ = os.Setenv(acpd.Variable, "/proc/self/exe")
	goleak.VerifyTestMain(m)
}

func TestDo(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/teapot":
			w.WriteHeader(http.StatusTeapot)
		case "/far": // each time to a longer address
			http.Redirect(w, r, "/far?"+strings.Repeat("x", 200<<10), http.StatusFound)
		case "/long": // what is looked for lies across pieces that are read
			fmt.Fprint(w, strings.Repeat("x", 64<<10-3)+"needle"+strings.Repeat("x", 100<<10))
		default:
			fmt.Fprintf(w, "%s %s", r.Method, r.URL.Path)
		}
	}))
	defer server.Close()
	text := func(s string) *string { return &s }
	for _, c := range []struct {
		request httpask.Request
		status  int
		says    string
	}{
		{request: httpask.Request{URL: "/a", Contains: text("GET /a")}, status: 200},
		{request: httpask.Request{URL: "/a", Method: "PUT", Contains: text("PUT /a")}, status: 200},
		{request: httpask.Request{URL: "/teapot"}, says: "status 418 (want 2xx)"},
		{request: httpask.Request{URL: "/teapot", Status: 418}, status: 418},
		{request: httpask.Request{URL: "/a", Status: 204}, says: "status 200 (want 204)"},
		{request: httpask.Request{URL: "/long", Contains: text("needle")}, status: 200},
		{request: httpask.Request{URL: "/long", Contains: text("needles")}, says: `the body lacks "needles"`},
		{request: httpask.Request{URL: "/far"}, says: "stopped after 10 redirects"},
		{request: httpask.Request{URL: "/a", Method: "NO GOOD"}, says: "invalid method"},
	} {
		c.request.URL = server.URL + c.request.URL
		status, err := httpask.Do(context.Background(), c.request)
		if status != c.status || (err == nil) != (c.says == "") || err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %s gives %d, %v; want %d, %s", c.request.Method, c.request.URL, status, err, c.status, c.says)
		}
	}
	server.Close()
	if _, err := httpask.Do(context.Background(), httpask.Request{URL: server.URL}); err == nil || !strings.Contains(err.Error(), "refused") {
		t.Errorf("nobody there: %v", err)
	}
}

// Who does not wait any more waits for no server either.
func TestDoEndsWithItsContext(t *testing.T) {
	asked, done := make(chan struct{}), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(asked)
		<-r.Context().Done() // the process is gone
		close(done)
	}))
	defer server.Close()
	why := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	go func() {
		<-asked
		cancel(why)
	}()
	if _, err := httpask.Do(ctx, httpask.Request{URL: server.URL}); !errors.Is(err, why) {
		t.Errorf("%v", err)
	}
	<-done
}

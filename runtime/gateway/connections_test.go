package gateway

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

func dial(t *testing.T, r *running) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// TestIdleConnections: those who open many connections and ask nothing shut nobody
// out, and what is in use stays.
func TestIdleConnections(t *testing.T) {
	many := 10_000
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	many = min(many, int(files.Cur)/2)
	r := start(t, func(o *Options) { o.MaxConnections = 100 })
	s := r.readEvents("/events")
	if _, err := s.next(); err != nil {
		t.Fatal(err)
	}
	for range many {
		dial(t, r)
	}
	for range 3 {
		http.DefaultClient.CloseIdleConnections()
		if a := r.request("GET", "/health", ""); a.status != http.StatusOK {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	r.Publish("still", nil)
	s.want("still")
}

// TestMostConnections: connections leave half of the descriptors to children and
// files, and are never more than 4,096.
func TestMostConnections(t *testing.T) {
	var files syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &files); err != nil {
			t.Error(err)
		}
	})
	for soft, want := range map[uint64]int{600: 300, 601: 300, 10_000: 4096} {
		if soft > files.Max {
			continue // it can't be tried here
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: soft, Max: files.Max}); err != nil {
			t.Fatal(err)
		}
		if got := maxConnections(0); got != want {
			t.Errorf("%d descriptors: %d connections, want %d", soft, got, want)
		}
	}
	if got := maxConnections(7); got != 7 {
		t.Errorf("7 configured: %d", got)
	}
}

// TestAllBusy: where every connection is in use, a new one is told so.
func TestAllBusy(t *testing.T) {
	r := start(t, func(o *Options) { o.MaxConnections = 3 })
	for range 3 {
		if _, err := r.readEvents("/events").next(); err != nil {
			t.Fatal(err)
		}
	}
	conn := dial(t, r)
	fmt.Fprintf(conn, "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil && !errors.Is(err, syscall.ECONNRESET) { // it was closed with our request unread
		t.Fatal(err)
	}
	wantProblem(t, answer{resp.StatusCode, resp.Header, string(body)}, http.StatusServiceUnavailable, "unavailable")
}

// TestSlowHeaders: they are not waited for.
func TestSlowHeaders(t *testing.T) {
	quick := usualTimes
	quick.header = 50 * time.Millisecond
	r := startWith(t, quick, nil)
	for _, sent := range []string{"", "G", "GET /health HTTP/1.1\r\nHost: localhost\r\nX-Slow: "} {
		conn := dial(t, r)
		fmt.Fprint(conn, sent)
		text, err := io.ReadAll(conn)
		if errors.Is(err, os.ErrDeadlineExceeded) || strings.HasPrefix(string(text), "HTTP/1.1 200") {
			t.Errorf("%q: %q %v", sent, text, err)
		}
	}
}

func TestLongHeaders(t *testing.T) {
	r := start(t, nil)
	conn := dial(t, r)
	fmt.Fprintf(conn, "GET /health HTTP/1.1\r\nHost: localhost\r\nX-Long: %s\r\n\r\n", strings.Repeat("secret", 20<<10))
	status, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil || !strings.Contains(status, " 431 ") {
		t.Errorf("%q %v", status, err)
	}
	if strings.Contains(r.logs.String(), "secret") {
		t.Error("the headers are in the log")
	}
}

// gibibyte is a body of 1 GiB that counts what was taken of it.
type gibibyte struct {
	left  int64
	taken atomic.Int64
}

func (g *gibibyte) Read(p []byte) (int, error) {
	if g.left == 0 {
		return 0, io.EOF
	}
	n := min(int64(len(p)), g.left)
	for i := range p[:n] {
		p[i] = ' '
	}
	g.left -= n
	g.taken.Add(n)
	return int(n), nil
}

// TestLargeBody: none is taken for long, whoever sends it and wherever.
func TestLargeBody(t *testing.T) {
	r := start(t, nil)
	const whole, most = 1 << 30, 64 << 20 // the most is what buffers on the way hold
	for _, c := range []struct {
		route, token string
		known        bool
		status       int
	}{
		{"POST /sessions/terminal", r.Token(), true, http.StatusRequestEntityTooLarge},
		{"POST /sessions/terminal", r.Token(), false, http.StatusRequestEntityTooLarge},
		{"POST /sessions/x/kill", r.Token(), false, http.StatusRequestEntityTooLarge},
		{"POST /mcp", r.Token(), true, http.StatusRequestEntityTooLarge},
		{"POST /mcp", r.Token(), false, http.StatusRequestEntityTooLarge},
		{"POST /sessions/terminal", "wrong", false, http.StatusUnauthorized},
		{"GET /health", "", false, http.StatusOK},
		{"POST /nothing", "", false, http.StatusNotFound},
	} {
		method, path, _ := strings.Cut(c.route, " ")
		body := &gibibyte{left: whole}
		req, err := http.NewRequestWithContext(t.Context(), method, r.URL()+path, body)
		if err != nil {
			t.Fatal(err)
		}
		if c.known {
			req.ContentLength = whole
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+c.token)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			// The answer was there, and lost to the reset of a connection whose
			// other direction was still in use: RFC 9112, section 9.6.
			if !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, syscall.EPIPE) {
				t.Errorf("%s: %v", c.route, err)
			}
		} else {
			if resp.StatusCode != c.status {
				t.Errorf("%s: %d, want %d", c.route, resp.StatusCode, c.status)
			}
			resp.Body.Close()
		}
		if taken := body.taken.Load(); taken > most {
			t.Errorf("%s: %d bytes were taken", c.route, taken)
		}
	}
}

package gateway

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/internal/testenv"
)

// event is what a reader was sent.
type event struct {
	id, kind, data string
	comment        bool
}

// reader reads server-sent events, by the rules of the HTML standard.
type reader struct {
	t    *testing.T
	body io.ReadCloser
	scan *bufio.Scanner
}

// readEvents opens a stream.
func (r *running) readEvents(path string, headers ...string) *reader {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	r.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", r.URL()+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+r.Token())
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { resp.Body.Close() })
	if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "text/event-stream" {
		r.t.Fatalf("%d %v", resp.StatusCode, resp.Header)
	}
	scan := bufio.NewScanner(resp.Body)
	scan.Buffer(nil, 1<<20)
	return &reader{r.t, resp.Body, scan}
}

// next returns the next event or comment, or io.EOF.
func (r *reader) next() (event, error) {
	var e event
	var data []string
	for r.scan.Scan() {
		name, value, _ := strings.Cut(r.scan.Text(), ":")
		value = strings.TrimPrefix(value, " ")
		switch {
		case r.scan.Text() == "":
			e.data = strings.Join(data, "\n")
			return e, nil
		case name == "":
			e.comment, e.data = true, value
			data = append(data, value)
		case name == "id":
			e.id = value
		case name == "event":
			e.kind = value
		case name == "data":
			data = append(data, value)
		}
	}
	if err := r.scan.Err(); err != nil {
		return e, err
	}
	return e, io.EOF
}

// want returns the next event that is no comment.
func (r *reader) want(kind string) event {
	r.t.Helper()
	for {
		e, err := r.next()
		if err != nil {
			r.t.Fatalf("waiting for %s: %v", kind, err)
		}
		if !e.comment {
			if e.kind != kind {
				r.t.Fatalf("got %+v, want %s", e, kind)
			}
			return e
		}
	}
}

func TestEvents(t *testing.T) {
	r := start(t, nil)
	r.Publish("before", nil)
	s := r.readEvents("/events")
	r.Publish("first", map[string]string{"text": "a\nb\r\n<c>"})
	r.Publish("second", 2)
	first, second := s.want("first"), s.want("second")
	var got struct {
		ID, Type string
		Time     time.Time
		Data     struct{ Text string }
	}
	if err := json.Unmarshal([]byte(first.data), &got); err != nil || got.ID != first.id || got.Type != "first" || got.Time.IsZero() || got.Data.Text != "a\nb\r\n<c>" {
		t.Errorf("%+v %v", first, err)
	}

	// Who comes back is told what it has missed, and only that.
	r.Publish("third", nil)
	back := r.readEvents("/events", "Last-Event-ID", first.id)
	if e := back.want("second"); e != second {
		t.Errorf("%+v, want %+v", e, second)
	}
	back.want("third")
	r.Publish("fourth", nil)
	back.want("fourth")
}

func TestReplay(t *testing.T) {
	r := start(t, nil)
	const published = replayEvents + 100
	for i := 1; i <= published; i++ {
		r.Publish("n", i)
	}
	id := func(n int) string { return r.hub.id(uint64(n)) }
	for _, c := range []struct {
		last   string
		first  int
		missed any // nil: no gap; -1: nobody knows
	}{
		{id(published - 1), published, nil},
		{id(published - replayEvents), published - replayEvents + 1, nil},
		{id(published - replayEvents - 1), published - replayEvents + 1, 1.0},
		{id(1), published - replayEvents + 1, 99.0},
		{id(published + 1), published - replayEvents + 1, -1},
		{"otherboot.5", published - replayEvents + 1, -1},
		{"garbage", published - replayEvents + 1, -1},
		{r.hub.boot + ".-1", published - replayEvents + 1, -1},
	} {
		s := r.readEvents("/events", "Last-Event-ID", c.last)
		if c.missed != nil {
			var gap struct {
				Missed any
				Detail string
			}
			if err := json.Unmarshal([]byte(s.want("gap").data), &gap); err != nil || gap.Detail == "" || c.missed != -1 && gap.Missed != c.missed || c.missed == -1 && gap.Missed != nil {
				t.Errorf("%s: %+v %v, want %v missed", c.last, gap, err, c.missed)
			}
		}
		for n := c.first; n <= published; n++ {
			if e := s.want("n"); e.id != id(n) {
				t.Fatalf("%s: got %s, want %s", c.last, e.id, id(n))
			}
		}
		s.body.Close()
	}
}

func TestEventTooLarge(t *testing.T) {
	r := start(t, nil)
	s := r.readEvents("/events")
	r.Publish("large", strings.Repeat("x", maxEvent))
	if e := s.want("large"); len(e.data) > 1000 || !strings.Contains(e.data, "tooLarge") {
		t.Errorf("%d bytes", len(e.data))
	}
	r.Publish("unspeakable", func() {})
	r.Publish("next", nil)
	s.want("next")
	if !strings.Contains(r.logs.String(), "unspeakable") {
		t.Error("nobody was told")
	}
}

func TestComments(t *testing.T) {
	if usualTimes.keepAlive != 15*time.Second {
		t.Error(usualTimes.keepAlive)
	}
	quick := usualTimes
	quick.keepAlive = time.Millisecond
	s := startWith(t, quick, nil).readEvents("/events")
	for range 4 { // the first says that it is there
		if e, err := s.next(); err != nil || !e.comment {
			t.Fatalf("%+v %v", e, err)
		}
	}
}

// unread opens a stream and does not read it.
func (r *running) unread(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.URL(), "http://"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	fmt.Fprintf(conn, "GET /events HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nAuthorization: Bearer %s\r\n\r\n", r.Token())
	return conn
}

// TestSlowReaderIsToldWhy: one that is too far behind gets a last event.
func TestSlowReaderIsToldWhy(t *testing.T) {
	patient := usualTimes
	patient.write = patience
	r := startWith(t, patient, nil)
	conn := r.unread(t)
	head := make([]byte, 15)
	if _, err := io.ReadFull(conn, head); err != nil || string(head) != "HTTP/1.1 200 OK" {
		t.Fatalf("%q %v", head, err)
	}
	large := strings.Repeat("x", 200<<10)
	for range 3 * keptBytes / len(large) { // more than is kept and sockets hold
		r.Publish("large", large)
	}
	rest, err := io.ReadAll(conn)
	if err != nil || !strings.Contains(string(rest), "event: closed\ndata: {") || !strings.Contains(string(rest), `"reason":"slow"`) {
		t.Errorf("%v: %d bytes, the last: %q", err, len(rest), rest[max(0, len(rest)-300):])
	}
	if !strings.Contains(r.logs.String(), "slow reader") {
		t.Errorf("the log does not say so:\n%s", r.logs)
	}
}

// TestStalledReader: one that takes nothing is cut off, and the others go on.
func TestStalledReader(t *testing.T) {
	quick := usualTimes
	quick.write = 2 * time.Second
	r := startWith(t, quick, nil)
	conn := r.unread(t)
	head := make([]byte, 15)
	if _, err := io.ReadFull(conn, head); err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("x", 200<<10)
	for range 100 { // more than sockets hold
		r.Publish("large", large)
	}
	r.logs.wait(t, "slow reader", 1)
	s := r.readEvents("/events")
	r.Publish("next", nil)
	s.want("next")
}

func TestStopEndsStreams(t *testing.T) {
	r := start(t, nil)
	s := r.readEvents("/events")
	if err := r.Stop(context.Background()); err != nil {
		t.Fatal(err)
	}
	if e := s.want("closed"); !strings.Contains(e.data, `"reason":"stopping"`) {
		t.Errorf("%+v", e)
	}
	if _, err := s.next(); !errors.Is(err, io.EOF) {
		t.Errorf("%v", err)
	}
}

// TestManyReaders: all get every event, in order and once. The publisher waits
// where the machine is too slow for all, so that it is about what is lost and not
// about how fast it is.
func TestManyReaders(t *testing.T) {
	readers, events := 50, 500 // BenchmarkReaders has a thousand
	if testenv.Long() {
		readers, events = 100, 2000
	}
	r := start(t, nil)
	seen := make([]atomic.Int64, readers)
	var all sync.WaitGroup
	var ready sync.WaitGroup
	ready.Add(readers)
	for i := range readers {
		s := r.readEvents("/events")
		all.Go(func() {
			ready.Done()
			for n := 1; n <= events; n++ {
				e, err := s.next()
				for err == nil && e.comment {
					e, err = s.next()
				}
				if err != nil || e.id != r.hub.id(uint64(n)) {
					t.Errorf("reader %d: %+v %v, want event %d", i, e, err, n)
					return
				}
				seen[i].Store(int64(n))
			}
		})
	}
	ready.Wait()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for n := 1; n <= events && !t.Failed(); n++ {
		r.Publish("tick", n)
		for slowest(seen) < int64(n-keptEvents/2) && !t.Failed() {
			<-tick.C
		}
	}
	all.Wait()
}

func slowest(seen []atomic.Int64) int64 {
	least := seen[0].Load()
	for i := range seen {
		least = min(least, seen[i].Load())
	}
	return least
}

// BenchmarkReaders: a thousand readers, one event a millisecond. It reports how
// far behind the slowest was at the end, in events, and how many were closed.
func BenchmarkReaders(b *testing.B) {
	const readers = 1000
	g, err := New(Options{Workspace: b.TempDir(), OpenReads: true})
	if err != nil {
		b.Fatal(err)
	}
	if err := g.Start(b.Context()); err != nil {
		b.Fatal(err)
	}
	seen := make([]atomic.Int64, readers)
	var closed atomic.Int64
	var all sync.WaitGroup
	for i := range readers {
		conn, err := net.Dial("tcp", strings.TrimPrefix(g.URL(), "http://"))
		if err != nil {
			b.Fatal(err)
		}
		fmt.Fprintf(conn, "GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil || resp.StatusCode != http.StatusOK {
			b.Fatalf("%+v %v", resp, err)
		}
		in := bufio.NewReaderSize(resp.Body, 16<<10)
		all.Go(func() {
			defer conn.Close()
			for {
				line, err := in.ReadSlice('\n')
				switch {
				case err != nil:
					return
				case bytes.HasPrefix(line, []byte("event: tick")):
					seen[i].Add(1)
				case bytes.HasPrefix(line, []byte("event: closed")):
					if seen[i].Load() < int64(b.N) {
						closed.Add(1)
					}
					return
				}
			}
		})
	}
	b.ResetTimer()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	began := time.Now()
	for n := 0; n < b.N; <-tick.C {
		for due := int(time.Since(began) / time.Millisecond); n <= due && n < b.N; n++ { // ticks that were late
			g.Publish("tick", n)
		}
	}
	b.ReportMetric(float64(int64(b.N)-slowest(seen)), "behind")
	b.StopTimer()
	for slowest(seen) < int64(b.N) && closed.Load() == 0 {
		<-tick.C
	}
	b.ReportMetric(float64(closed.Load()), "closed")
	if err := g.Stop(b.Context()); err != nil {
		b.Error(err)
	}
	all.Wait()
}

// docs/gateway.md has a row for each type of event, and for no other.
func TestEventsAreExplained(t *testing.T) {
	text, err := os.ReadFile("../../docs/gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "| type | `data` |\n| --- | --- |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var listed []string
	for row := range strings.Lines(table) {
		types := strings.Split(row, "|")[1]
		for i, part := range strings.Split(types, "`") {
			if i%2 == 1 {
				listed = append(listed, part)
			}
		}
	}
	slices.Sort(listed)
	if want := EventKinds(); !slices.Equal(listed, want) {
		t.Errorf("the page has %q\nwant %q", listed, want)
	}
}

package thread

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent"
)

func benchStore(b *testing.B) *Store {
	b.Helper()
	s := New(b.TempDir())
	b.Cleanup(func() { _ = s.Close() })
	return s
}

func line(i int) Event {
	return Event{Kind: EventOutput, Time: t0.Add(time.Duration(i) * time.Millisecond), Turn: "0198c2f0-7d1c-7000-8000-000000000000",
		CallID: "call_0198c2f0-7d1c-7000-8000-000000000000", Text: strings.Repeat("some output of a program\n", 8)}
}

// turn is what a command's turn appends.
func turn() []Event {
	code := 0
	return []Event{
		{Kind: EventPrompt, Time: t0, Turn: "t", Client: "zed", Prompt: []acp.ContentBlock{acp.Text("make all")}},
		{Kind: EventCall, Time: t0, Turn: "t", CallID: "c", Call: &agent.CallEvent{Title: "make all", Status: acp.ToolInProgress, Cwd: "/w", RawInput: json.RawMessage(`{"command":"make"}`)}},
		line(0),
		{Kind: EventResult, Time: t0, Turn: "t", CallID: "c", Result: &agent.ResultEvent{Status: acp.ToolCompleted, ExitCode: &code, RawOutput: json.RawMessage(`{"exitCode":0}`)}},
		{Kind: EventSay, Time: t0, Turn: "t", Text: "make all: exit 0 in 0.1 s"},
		{Kind: EventEnd, Time: t0, Turn: "t", End: &agent.EndEvent{Reason: acp.StopEndTurn, State: "completed", Line: "make all", Ran: true, Took: time.Second}},
	}
}

func benchAppend(b *testing.B, durable bool) {
	s := benchStore(b)
	create(b, s, "s1")
	e := line(0)
	s.max = 1 << 40 // as long as it takes
	for b.Loop() {
		if err := s.Append(b.Context(), "s1", durable, e); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAppend(b *testing.B)        { benchAppend(b, false) }
func BenchmarkAppendDurable(b *testing.B) { benchAppend(b, true) }

// All a turn does here: lock, reread, six appends; and for a refusal three.
func benchTurn(b *testing.B, events []Event) {
	s := benchStore(b)
	create(b, s, "s1")
	s.max = 1 << 40
	var at int64
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		release, err := s.Lock(b.Context(), "s1")
		if err != nil {
			b.Fatal(err)
		}
		for _, e := range events {
			if err := s.Append(b.Context(), "s1", false, e); err != nil {
				b.Fatal(err)
			}
		}
		if at, err = s.Read(b.Context(), "s1", at, func(Event) error { return nil }); err != nil {
			b.Fatal(err)
		}
		release()
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2]), "median-ns/op")
}

func BenchmarkTurn(b *testing.B) { benchTurn(b, turn()) }

// A refusal's events are known before any is shown, and go in one append.
func BenchmarkRefusal(b *testing.B) {
	s := benchStore(b)
	s.max = 1 << 40
	create(b, s, "s1")
	all := turn()
	events := []Event{all[0], all[4], all[5]}
	var took []time.Duration
	for b.Loop() {
		start := time.Now()
		release, err := s.Lock(b.Context(), "s1")
		if err != nil {
			b.Fatal(err)
		}
		if err := s.Append(b.Context(), "s1", false, events...); err != nil {
			b.Fatal(err)
		}
		release()
		took = append(took, time.Since(start))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2]), "median-ns/op")
}

func BenchmarkLock(b *testing.B) {
	s := benchStore(b)
	create(b, s, "s1")
	for b.Loop() {
		release, err := s.Lock(b.Context(), "s1")
		if err != nil {
			b.Fatal(err)
		}
		release()
	}
}

func BenchmarkCreate(b *testing.B) {
	s := benchStore(b)
	for n := 0; b.Loop(); n++ {
		if err := s.Create(b.Context(), Record{ID: fmt.Sprint("s", n), Cwd: "/work", Created: t0}); err != nil {
			b.Fatal(err)
		}
	}
}

// What session/resume does in a new process.
func BenchmarkGetCold(b *testing.B) {
	root := b.TempDir()
	s := New(root)
	create(b, s, "s1")
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		s := New(root)
		if _, err := s.Get(b.Context(), "s1"); err != nil {
			b.Fatal(err)
		}
		_ = s.Close()
	}
}

// manySessions is a store of n sessions.
func manySessions(b *testing.B, n int) *Store {
	b.Helper()
	root := os.Getenv("THREAD_BENCH_ROOT") // kept between runs, to empty the system's caches
	if root == "" {
		root = b.TempDir()
	}
	s := New(root)
	if _, err := os.Stat(s.path(fmt.Sprint("s", n-1))); err != nil {
		for i := range n {
			r := Record{ID: fmt.Sprintf("s%d", i), Cwd: fmt.Sprint("/work/", i%20), Title: "make all", Created: t0, Updated: t0.Add(time.Duration(i*7919%10_000) * time.Second)}
			if err := s.Create(b.Context(), r); err != nil {
				b.Fatal(err)
			}
			if err := s.Update(b.Context(), r); err != nil {
				b.Fatal(err)
			}
		}
	}
	if err := s.Close(); err != nil {
		b.Fatal(err)
	}
	s = New(root)
	b.Cleanup(func() { _ = s.Close() })
	return s
}

// The first page in a process that has seen nothing yet.
func BenchmarkList10000(b *testing.B) {
	root := manySessions(b, 10_000).root
	for name, cwd := range map[string]string{"all": "", "folder": "/work/7", "none": "/nowhere"} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				s := New(root)
				if _, _, err := s.List(b.Context(), cwd, ""); err != nil {
					b.Fatal(err)
				}
				_ = s.Close()
			}
		})
	}
}

// All pages, one after the other: twice as many sessions take twice as long.
func BenchmarkPages(b *testing.B) {
	for _, n := range []int{10, 1000, 10_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := manySessions(b, n)
			for b.Loop() {
				for cursor, more := "", true; more; more = cursor != "" {
					var err error
					if _, cursor, err = s.List(b.Context(), "", cursor); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/session")
		})
	}
}

// All sessions, as "chant-acp sessions list" prints them, and an id's beginning.
func BenchmarkWalk10000(b *testing.B) {
	s := manySessions(b, 10_000)
	for b.Loop() {
		n := 0
		for _, err := range s.Walk(b.Context(), "") {
			if n++; err != nil {
				b.Fatal(err)
			}
		}
		if n != 10_000 {
			b.Fatal(n)
		}
	}
}

func BenchmarkFind10000(b *testing.B) {
	s := manySessions(b, 10_000)
	for b.Loop() {
		if ids, err := s.Find("s9999"); err != nil || len(ids) != 1 {
			b.Fatal(ids, err)
		}
	}
}

func BenchmarkReplay5000(b *testing.B) {
	s := benchStore(b)
	create(b, s, "s1")
	for i := range 5000 / 10 {
		events := turn()
		for range 4 {
			events = append(events, line(i))
		}
		if err := s.Append(b.Context(), "s1", false, events...); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		n := 0
		if _, err := s.Read(b.Context(), "s1", 0, func(Event) error { n++; return nil }); err != nil || n != 5000 {
			b.Fatal(n, err)
		}
	}
}

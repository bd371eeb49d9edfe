package session

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// loadVar is how many seconds the whole load takes; without it a short one is run.
const loadVar = "SESSION_TEST_LOAD"

// Terminals with three watchers each print as fast as they are read. Nobody misses a byte, and
// memory stays bounded.
func TestManyTerminals(t *testing.T) {
	terminals, length := 20, 2*time.Second
	if text := os.Getenv(loadVar); text != "" {
		seconds, err := strconv.Atoi(text)
		if err != nil {
			t.Fatal(err)
		}
		terminals, length = 200, time.Duration(seconds)*time.Second
	}
	files := countFiles(t)
	r, _ := open(t, Options{})
	var all sync.WaitGroup
	var total atomic.Int64
	over := time.After(length)
	stop := make(chan struct{})
	for i := range terminals {
		s, err := r.StartTerminal(t.Context(), TerminalSpec{Argv: []string{"seq", "100000000000"}, Cwd: "/"})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			w := attach(t, s, 80, 24)
			all.Go(func() {
				n := numberReader{}
				for {
					p, err := w.Read(context.Background())
					if err != nil {
						select {
						case <-stop:
						default:
							t.Errorf("terminal %d after %d: %v", i, n.next-1, err)
						}
						break
					}
					if err := n.take(p); err != nil {
						t.Errorf("terminal %d: %v", i, err)
						break
					}
				}
				total.Add(n.bytes)
			})
		}
	}
	most := peakMemory(t, over)
	close(stop)
	if err := r.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	all.Wait()
	t.Logf("%d terminals with 3 watchers: %d MB read in %v, at most %d MiB", terminals, total.Load()/1e6, length, most>>20)
	if most > 300<<20 && !raceEnabled {
		t.Errorf("%d MiB", most>>20)
	}
	if left := countFiles(t); left > files+4 { // the guard and the poller come with the first
		t.Errorf("%d descriptors, %d before", left, files)
	}
}

// peakMemory looks at what this process has in memory until over.
func peakMemory(t *testing.T, over <-chan time.Time) (most int64) {
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		most = max(most, residentMemory(t))
		select {
		case <-tick.C:
		case <-over:
			return most
		}
	}
}

func residentMemory(t *testing.T) int64 {
	t.Helper()
	raw, err := os.ReadFile("/proc/self/statm")
	if err != nil {
		t.Fatal(err)
	}
	var size, resident int64
	if _, err := fmt.Sscan(string(raw), &size, &resident); err != nil {
		t.Fatal(err)
	}
	return resident * int64(os.Getpagesize())
}

func countFiles(t *testing.T) int {
	t.Helper()
	files, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// A terminal whose watcher reads nothing goes on for the others, with real programs and the real
// clock.
func TestStalledWatcherOfATerminal(t *testing.T) {
	t.Parallel()
	r, _ := open(t, Options{})
	s := terminal(t, r, "stty cols 1; seq 300000; echo end")
	attach(t, s, 80, 24) // reads nothing
	good := attach(t, s, 100, 30)
	n := numberReader{}
	for n.next <= 300000 {
		p, err := good.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		line, _, _ := strings.Cut(string(p), "e")
		if err := n.take([]byte(line)); err != nil {
			t.Fatal(err)
		}
	}
	if i := s.Info(); i.Watchers != 1 || i.State != StateEnded && (i.Cols != 100 || i.Rows != 30) {
		t.Errorf("%+v", i)
	}
}

// A session leaves nothing behind: no goroutine, no descriptor, no process.
func TestNothingIsLeft(t *testing.T) {
	r, _ := open(t, Options{})
	turn := func() {
		s := terminal(t, r, "trap '' HUP; sleep 999 & echo pid $! ready; read -r x")
		w, err := s.Attach(80, 24)
		if err != nil {
			t.Fatal(err)
		}
		child, err := strconv.Atoi(strings.Fields(expect(t, w, "ready"))[1])
		if err != nil {
			t.Fatal(err)
		}
		w.Close()
		p, err := r.StartProcess(t.Context(), ProcessSpec{Argv: []string{"cat"}, Cwd: "/"})
		if err != nil {
			t.Fatal(err)
		}
		a := startAgent(t, r, "good")
		for _, s := range []*Session{s, p, a} {
			if err := s.Kill(t.Context()); err != nil {
				t.Error(err)
			}
			for _, pid := range []int{s.Info().PID, child} {
				if runs(pid) {
					t.Errorf("%+v has left the process %d", s.Info(), pid)
				}
			}
		}
	}
	turn()
	files, goroutines := countFiles(t), runtime.NumGoroutine()
	for range 5 {
		turn()
	}
	if got := countFiles(t); got > files {
		t.Errorf("%d descriptors, %d before", got, files)
	}
	if got := runtime.NumGoroutine(); got > goroutines+2 { // one may be on its last instruction
		t.Errorf("%d goroutines, %d before", got, goroutines)
	}
}

// runs is false for a zombie, which somebody else has to reap.
func runs(pid int) bool {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, state, _ := strings.Cut(string(raw), ") ")
	return err == nil && state != "" && state[0] != 'Z'
}

// BenchmarkEcho is the time from a byte typed to its echo.
func BenchmarkEcho(b *testing.B) {
	r, _ := open(b, Options{})
	s := terminal(b, r, "stty raw; echo ready; exec cat >/dev/null")
	w := attach(b, s, 80, 24)
	expect(b, w, "ready")
	times := make([]time.Duration, 0, b.N)
	for w.reader.pos < w.reader.feed.end { // the rest of the line
		if _, err := w.Read(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		began := time.Now()
		if err := w.Write(context.Background(), []byte("x")); err != nil {
			b.Fatal(err)
		}
		if _, err := w.Read(context.Background()); err != nil {
			b.Fatal(err)
		}
		times = append(times, time.Since(began))
	}
	b.ReportMetric(float64(median(times).Microseconds()), "µs/median")
}

func median(times []time.Duration) time.Duration {
	slices.Sort(times)
	return times[len(times)/2]
}

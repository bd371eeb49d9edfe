package heartbeat_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-acp/chant-acp/host/subject"
	"github.com/chant-acp/chant-acp/runtime/heartbeat"
)

// rig is a workspace and a loop in a bubble of synctest, whose clock begins at
// 2000-01-01 00:00 UTC.
type rig struct {
	t             *testing.T
	dir, stateDir string
	o             heartbeat.Options
	commands      map[string]subject.Subject // that are trusted with the file

	mu   sync.Mutex
	seen []string // kind, tick and text of events, in short
	end  func() error
}

// bubble runs a test in one. Work that a run does is a function of the test.
func bubble(t *testing.T, file string, test func(*rig)) {
	t.Helper()
	dir := t.TempDir()
	r := &rig{dir: filepath.Join(dir, "ws"), stateDir: filepath.Join(dir, "state")}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		r.t = t
		r.o = heartbeat.Options{
			Workspace: r.dir, StateDir: r.stateDir, Notify: r.notify,
			Run: func(context.Context, heartbeat.Job, func(string)) heartbeat.Outcome {
				return heartbeat.Outcome{State: heartbeat.Completed}
			},
		}
		if file != "" {
			r.write(file)
			r.trust()
		}
		test(r)
		if r.end != nil {
			r.stop()
		}
	})
}

func (r *rig) write(text string) {
	r.t.Helper()
	if err := os.WriteFile(filepath.Join(r.dir, heartbeat.FileName), []byte(text), 0o644); err != nil {
		r.t.Fatal(err)
	}
}

func (r *rig) trust() {
	r.t.Helper()
	f, err := heartbeat.Read(r.dir)
	if err == nil {
		err = heartbeat.Trust(r.stateDir, f, r.commands, time.Now())
	}
	if err != nil {
		r.t.Fatal(err)
	}
}

// notify notes what happens, but for how runs without trouble begin and end.
func (r *rig) notify(e heartbeat.Event) {
	text := string(e.Kind)
	if e.Job != nil {
		text += " " + e.Job.Command
	}
	switch e.Kind {
	case heartbeat.Started, heartbeat.Skipped:
		text += " for " + e.Tick.Format("15:04:05")
		if late := e.Time.Sub(e.Tick); late > 0 {
			text += " late " + late.String()
		}
	case heartbeat.Ended, heartbeat.Waits:
		text += " " + string(e.Outcome.State)
	case heartbeat.Stopped:
		_, text, _ = strings.Cut(e.Text, r.dir)
		text = "stopped " + text
	case heartbeat.Problem:
		text = "problem"
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seen = append(r.seen, text)
}

// want compares what has happened since the last time.
func (r *rig) want(events ...string) {
	r.t.Helper()
	synctest.Wait()
	if diff := cmp.Diff(events, r.forget()); diff != "" {
		r.t.Errorf("at %s (-want +got)\n%s", time.Now().UTC().Format(time.TimeOnly), diff)
	}
}

// forget returns what has happened, of which no more is said.
func (r *rig) forget() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	seen := r.seen
	r.seen = nil
	return seen
}

func (r *rig) start() {
	r.t.Helper()
	h, err := heartbeat.New(r.o)
	if err != nil {
		r.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	r.end = func() error { cancel(); return <-ended }
	synctest.Wait()
}

func (r *rig) stop() {
	r.t.Helper()
	if err := r.end(); err != nil {
		r.t.Error(err)
	}
	r.end = nil
}

// pass lets time pass, to the second.
func (r *rig) pass(d time.Duration) {
	time.Sleep(d) // the bubble's
	synctest.Wait()
}

func (r *rig) look() *heartbeat.Status {
	r.t.Helper()
	s, err := heartbeat.Look(r.stateDir, r.dir, time.Now())
	if err != nil {
		r.t.Fatal(err)
	}
	return s
}

// kept is the one file of the heartbeat's folder whose name ends like this.
func (r *rig) kept(suffix string) string {
	r.t.Helper()
	found, err := filepath.Glob(filepath.Join(r.stateDir, "heartbeat", "*"+suffix))
	if err != nil || len(found) != 1 {
		r.t.Fatalf("files %s: %q %v", suffix, found, err)
	}
	return found[0]
}

// chant is a file of one block.
func chant(lines ...string) string {
	return "# Heartbeat\n\n```chant\n" + strings.Join(lines, "\n") + "\n```\n"
}

// taking makes runs take so long, or until they are told to end.
func taking(d time.Duration) func(context.Context, heartbeat.Job, func(string)) heartbeat.Outcome {
	return func(ctx context.Context, j heartbeat.Job, _ func(string)) heartbeat.Outcome {
		select {
		case <-time.After(d):
			return heartbeat.Outcome{State: heartbeat.Completed, Text: fmt.Sprintf("%s took %s", j.Command, d)}
		case <-ctx.Done():
			return heartbeat.Outcome{State: heartbeat.Cancelled}
		}
	}
}

package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/host"
)

// flaky is a store whose disk may be full, or whose locks may fail, for a while.
type flaky struct {
	agent.Store
	full, lockless atomic.Bool
}

func (f *flaky) write() error {
	if f.full.Load() {
		return fmt.Errorf("writing to a session: %w", syscall.ENOSPC)
	}
	return nil
}

func (f *flaky) Create(ctx context.Context, r agent.SessionRecord) error {
	return errors.Join(f.write(), onlyIf(f.write() == nil, func() error { return f.Store.Create(ctx, r) }))
}

func (f *flaky) Append(ctx context.Context, id string, durable bool, events ...agent.Event) error {
	return errors.Join(f.write(), onlyIf(f.write() == nil, func() error { return f.Store.Append(ctx, id, durable, events...) }))
}

func (f *flaky) Lock(ctx context.Context, id string) (func(), error) {
	if f.lockless.Load() {
		return nil, fmt.Errorf("locking the session: %w", syscall.ENOLCK)
	}
	return f.Store.Lock(ctx, id)
}

func onlyIf(ok bool, f func() error) error {
	if !ok {
		return nil
	}
	return f()
}

const (
	saysLost  = "This thread is not being kept"
	saysAgain = "This thread is being kept again"
	saysGap   = "Some of what happened here was not kept."
	saysTorn  = "This turn was interrupted"
)

// counts wants each text so many times.
func counts(t *testing.T, what, text string, want map[string]int) {
	t.Helper()
	for s, n := range want {
		if got := strings.Count(text, s); got != n {
			t.Errorf("%s: %q %d times, want %d; all of it: %q", what, s, got, n, text)
		}
	}
}

// A disk that is full for a part of a thread: the client is told of both ends of
// that, once, and the thread shows where something is missing.
func TestFullForAWhile(t *testing.T) {
	for _, kind := range clientKinds {
		t.Run(kind.name, func(t *testing.T) {
			f, h := &flaky{Store: disk(t, t.TempDir())}, newStub(t)
			h.program("loud", func(r *stubRun) host.Result { // the disk fills up while it runs
				r.print("before\n")
				f.full.Store(true)
				return host.Result{}
			})
			s := setup{host: h, terminal: kind.terminal, options: agent.Options{Store: f}}
			w := dial(t, s)
			id := w.newSession()
			w.prompt(id, "ok 1")
			from := len(w.seen)
			w.prompt(id, "loud")
			w.prompt(id, "ok 2")
			counts(t, "full", turnLog(w.seen[from:]).text(), map[string]int{saysLost: 1, saysAgain: 0})
			f.full.Store(false)
			w.prompt(id, "ok 3")
			w.prompt(id, "ok 4")
			counts(t, "all", turnLog(w.seen[from:]).text(), map[string]int{saysLost: 1, saysAgain: 1})

			again := dial(t, s)
			for range 2 {
				log, _ := again.load(id)
				counts(t, "replay", log.text(), map[string]int{saysGap: 1, saysTorn: 0, saysLost: 0, "How this turn ended was not kept.": 1})
				var asked []string
				for _, u := range log.updates("user_message_chunk") {
					asked = append(asked, u.text())
				}
				if want := []string{"ok 1", "loud", "ok 3", "ok 4"}; !slices.Equal(asked, want) {
					t.Errorf("replayed %q, want %q", asked, want)
				}
			}
		})
	}
}

// A disk that is full for a part of one turn.
func TestFullWithinATurn(t *testing.T) {
	for _, kind := range clientKinds {
		t.Run(kind.name, func(t *testing.T) {
			f, h := &flaky{Store: disk(t, t.TempDir())}, newStub(t)
			begun, free := make(chan struct{}), make(chan struct{})
			h.program("loud", func(r *stubRun) host.Result {
				f.full.Store(true)
				r.print("lost\n")
				close(begun)
				<-free
				f.full.Store(false)
				return host.Result{}
			})
			s := setup{host: h, terminal: kind.terminal, options: agent.Options{Store: f}}
			w := dial(t, s)
			id := w.newSession()
			p := w.begin(id, "loud")
			<-begun
			close(free)
			w.ended(p)
			w.prompt(id, "ok")
			again := dial(t, s)
			log, _ := again.load(id)
			counts(t, "replay", log.text(), map[string]int{saysTorn: 0, "`loud` completed": 1})
			if _, log := again.prompt(id, "history"); !strings.Contains(log.text(), "completed") {
				t.Errorf("history: %q", log.text())
			}
		})
	}
}

// A session that could not be made is made once that is possible.
func TestMadeLater(t *testing.T) {
	f := &flaky{Store: disk(t, t.TempDir())}
	f.full.Store(true)
	s := setup{host: newStub(t), options: agent.Options{Store: f}}
	w := dial(t, s)
	id := w.newSession()
	w.prompt(id, "ok 1")
	counts(t, "full", turnLog(w.seen).text(), map[string]int{saysLost: 1})
	f.full.Store(false)
	w.prompt(id, "ok 2")
	counts(t, "later", turnLog(w.seen).text(), map[string]int{saysLost: 1, saysAgain: 1})
	log, _ := dial(t, s).load(id)
	counts(t, "replay", log.text(), map[string]int{saysGap: 1, saysTorn: 0, "`ok 2` completed": 1})
}

// Turns run where the thread can't be locked, but nothing is written to it that
// could meet another process's turn, and no code is good.
func TestLockFails(t *testing.T) {
	f, h := &flaky{Store: disk(t, t.TempDir())}, newStub(t)
	s := setup{host: h, options: agent.Options{Store: f}}
	w := dial(t, s)
	id := w.newSession()
	w.prompt(id, "ok 1")
	wipe, _ := w.prompt(id, "wipe it")
	f.lockless.Store(true)
	for _, line := range []string{"ok 2", "nothing", "ok 3", "help", "history"} {
		w.prompt(id, line)
	}
	if o, _ := w.prompt(id, "confirm "+wipe.Meta.Chant.Confirm); o.StopReason != "refusal" {
		t.Errorf("a code that others may use too was good: %v", o)
	}
	if runs := h.runs(); !slices.Equal(runs, []string{"ok 1", "ok 2", "ok 3"}) {
		t.Errorf("%q", runs)
	}
	counts(t, "lockless", turnLog(w.seen).text(), map[string]int{saysLost: 1, saysAgain: 0, "shown again later: Locking the session: no locks available": 1})
	log, _ := dial(t, s).load(id)
	counts(t, "replay", log.text(), map[string]int{"`ok 1` completed": 1, "`ok 3` completed": 0})
	f.lockless.Store(false)
	w.prompt(id, "ok 4")
	counts(t, "locked again", turnLog(w.seen).text(), map[string]int{saysLost: 1, saysAgain: 1})
	log, _ = dial(t, s).load(id)
	counts(t, "replay", log.text(), map[string]int{"`ok 4` completed": 1, saysGap: 1})
}

// A thread that is damaged while it is open is left as it is, and the client is
// told which file that is.
func TestDamagedWhileOpen(t *testing.T) {
	root, h := t.TempDir(), newStub(t)
	w := process(t, root, h, setup{})
	id := w.newSession()
	w.prompt(id, "ok 1")
	file := filepath.Join(root, "sessions", id+".jsonl")
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	raw = append(raw, "garbage\n"...)
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"ok 2", "history", "ok 3"} {
		w.prompt(id, line)
	}
	counts(t, "damaged", turnLog(w.seen).text(), map[string]int{saysLost: 1, file: 1, "`ok 3` completed": 1})
	if now, err := os.ReadFile(file); err != nil || string(now) != string(raw) {
		t.Errorf("the thread was changed (%v)", err)
	}
}

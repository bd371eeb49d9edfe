package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/host/process"
	"github.com/chant-acp/chant-acp/host/process/hopper"
	"github.com/chant-acp/chant-acp/internal/testenv"
)

func TestFind(t *testing.T) {
	r, told := open(t, Options{})
	var all []*Session
	for _, name := range []string{"one", "two", "two", ""} {
		s, err := r.StartTerminal(t.Context(), TerminalSpec{Argv: []string{"sleep", "999"}, Cwd: "/", Name: name})
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, s)
	}
	for _, key := range []string{"one", all[0].ID()} {
		if s, err := r.Find(key); s != all[0] || err != nil {
			t.Errorf("%s: %v", key, err)
		}
	}
	var ambiguous *AmbiguousError
	if _, err := r.Find("two"); !errors.As(err, &ambiguous) || !slices.Equal(ambiguous.IDs, []string{all[1].ID(), all[2].ID()}) {
		t.Errorf("%v", err)
	}
	for _, key := range []string{"", "three", "t-"} {
		if _, err := r.Find(key); !errors.Is(err, ErrNotFound) {
			t.Errorf("%q: %v", key, err)
		}
	}
	if err := all[1].Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if s, err := r.Find("two"); s != all[2] || err != nil {
		t.Errorf("one of the name runs, one has ended: %v", err)
	}
	if err := all[2].Rename("three"); err != nil {
		t.Error(err)
	}
	if s, err := r.Find("two"); s != all[1] || err != nil {
		t.Errorf("the name is of one that has ended: %v", err)
	}
	if err := r.Forget("three"); !errors.Is(err, ErrRunning) {
		t.Errorf("%v", err)
	}
	if err := r.Forget("two"); err != nil {
		t.Error(err)
	}
	if err := r.Forget("two"); !errors.Is(err, ErrNotFound) {
		t.Errorf("%v", err)
	}
	if len(r.List()) != 3 {
		t.Errorf("%+v", r.List())
	}
	if got := told.String(); !strings.HasSuffix(got, "session.ended session.renamed session.forgotten") {
		t.Errorf("events %s", got)
	}
}

func TestNames(t *testing.T) {
	r, _ := open(t, Options{})
	for name, good := range map[string]bool{
		"": true, "build": true, "é 日": true, "a/b": false, "a\n": false, "\x1b[1m": false, " a": false, "\xff": false,
		strings.Repeat("a", MaxName): true, strings.Repeat("a", MaxName+1): false, "a\u202eb": false,
	} {
		s, err := r.StartProcess(t.Context(), ProcessSpec{Argv: []string{"true"}, Cwd: "/", Name: name})
		var bad *BadNameError
		if good != (err == nil) || !good && !errors.As(err, &bad) {
			t.Errorf("%q: %v", name, err)
		}
		if good && s.Rename("\n") == nil {
			t.Error("renamed to a newline")
		}
	}
}

func TestStartFails(t *testing.T) {
	r, told := open(t, Options{})
	dir := t.TempDir()
	for name, spec := range map[string]TerminalSpec{
		"nothing":      {Cwd: "/"},
		"no name":      {Argv: []string{""}, Cwd: "/"},
		"not there":    {Argv: []string{"no-such-program"}, Cwd: "/"},
		"no folder":    {Argv: []string{"true"}, Cwd: dir + "/none"},
		"relative":     {Argv: []string{"true"}, Cwd: "."},
		"a folder":     {Argv: []string{dir}, Cwd: "/"},
		"NUL":          {Argv: []string{"true", "a\x00b"}, Cwd: "/"},
		"NUL in env":   {Argv: []string{"true"}, Cwd: "/", Env: []string{"A=\x00"}},
		"only columns": {Argv: []string{"true"}, Cwd: "/", Cols: 80},
	} {
		if s, err := r.StartTerminal(t.Context(), spec); err == nil || s != nil {
			t.Errorf("%s: %v", name, err)
		}
		if name == "only columns" {
			continue
		}
		if s, err := r.StartProcess(t.Context(), ProcessSpec{Argv: spec.Argv, Cwd: spec.Cwd, Env: spec.Env}); err == nil || s != nil {
			t.Errorf("%s: %v", name, err)
		}
		if s, err := r.StartAgent(t.Context(), AgentSpec{Command: spec.Argv, Cwd: spec.Cwd, Env: spec.Env}); err == nil || s != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	var missing *process.NotFoundError
	if _, err := r.StartTerminal(t.Context(), TerminalSpec{Argv: []string{"no-such-program"}, Cwd: "/"}); !errors.As(err, &missing) {
		t.Errorf("%v", err)
	}
	if len(r.List()) != 0 || told.String() != "" {
		t.Errorf("%+v; events %s", r.List(), told)
	}
}

func TestShutdown(t *testing.T) {
	r, told := open(t, Options{})
	agent := startAgent(t, r, "good")
	stubborn := terminal(t, r, "trap '' HUP TERM; stty -echo; echo ready; while :; do read -r x; done")
	w := attach(t, stubborn, 80, 24)
	expect(t, w, "ready")
	flood := terminal(t, r, "yes")
	stalled := attach(t, flood, 80, 24)
	for full := false; !full; runtime.Gosched() { // it never reads
		flood.feed.mu.Lock()
		full = flood.feed.free() == 0
		flood.feed.mu.Unlock()
	}
	answer := promptLater(agent, "wait")
	told.await(t, EventTurnStarted)

	ctx, cancel := context.WithTimeout(t.Context(), testenv.Hang)
	defer cancel()
	if err := r.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	if got := <-answer; !errors.Is(got.error, ErrEnded) {
		t.Errorf("%+v", got)
	}
	for _, i := range r.List() {
		if i.State != StateEnded || i.Reason == "" || i.ExitCode == nil {
			t.Errorf("%+v", i)
		}
	}
	if i := stubborn.Info(); i.Signal != "SIGKILL" {
		t.Errorf("%+v", i)
	}
	if first := told.await(t, EventEnded); first.Session.ID != agent.ID() {
		t.Errorf("the first to end was %+v", first.Session)
	}
	if _, err := stalled.Read(t.Context()); !errors.Is(err, ErrStalled) {
		t.Errorf("%v", err)
	}
	if _, err := r.StartProcess(t.Context(), ProcessSpec{Argv: []string{"true"}, Cwd: "/"}); !errors.Is(err, ErrShutdown) {
		t.Errorf("%v", err)
	}
	if _, err := r.StartAgent(t.Context(), agentSpec(t, "good")); !errors.Is(err, ErrShutdown) {
		t.Errorf("%v", err)
	}
	if err := r.Shutdown(ctx); err != nil {
		t.Errorf("a second time: %v", err)
	}
}

// Whatever is being started when everything is shut down ends too.
func TestShutdownWhileStarting(t *testing.T) {
	for range 20 {
		r, _ := open(t, Options{})
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for {
					if _, err := r.StartProcess(context.Background(), ProcessSpec{Argv: []string{"sleep", "999"}, Cwd: "/"}); err != nil {
						if !errors.Is(err, ErrShutdown) {
							t.Error(err)
						}
						return
					}
				}
			})
		}
		for len(r.List()) < 3 {
			runtime.Gosched()
		}
		if err := r.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		all.Wait()
		for _, i := range r.List() {
			if i.State != StateEnded {
				t.Errorf("%+v", i)
			}
		}
	}
}

func TestKillTwice(t *testing.T) {
	r, _ := open(t, Options{})
	s := terminal(t, r, "trap '' HUP TERM; stty -echo; echo ready; while :; do read -r x; done")
	w := attach(t, s, 80, 24)
	expect(t, w, "ready")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Kill(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	if err := s.Kill(t.Context()); err != nil {
		t.Error(err)
	}
	if err := s.Kill(t.Context()); err != nil {
		t.Errorf("after the end: %v", err)
	}
	if i := s.Info(); i.Signal != "SIGKILL" || i.Reason != "it was killed on request" {
		t.Errorf("%+v", i)
	}
}

// What starts a copy of itself and ends, over and over, is ended all the same.
func TestKillEndsHoppers(t *testing.T) {
	for _, period := range []time.Duration{300 * time.Microsecond, 2 * time.Millisecond, 20 * time.Millisecond} {
		t.Run(period.String(), func(t *testing.T) {
			r, _ := open(t, Options{})
			survived := filepath.Join(t.TempDir(), "survived")
			s := terminal(t, r, fmt.Sprintf("(export '%s'; exec /proc/%d/exe) & exec sleep 999", hopper.Env(period, false, survived), os.Getpid()))
			w := attach(t, s, 80, 24)
			expect(t, w, "up")
			if err := s.Kill(t.Context()); err != nil {
				t.Error(err)
			}
			if _, err := os.Stat(survived); err == nil || hopper.Lives(survived) {
				t.Error("it hopped on")
			}
		})
	}
}

func TestRegister(t *testing.T) {
	r, told := open(t, Options{})
	out, print := io.Pipe()
	read, in := io.Pipe()
	stop := make(chan struct{})
	var once sync.Once
	s, err := r.Register(Adopted{
		Name: "theirs", Argv: []string{"x"}, Cwd: "/", PID: 4711, Output: out, Input: in,
		Wait: func() (int, string) { <-stop; return 130, "SIGINT" },
		Stop: func() { once.Do(func() { close(stop) }) },
	})
	if err != nil {
		t.Fatal(err)
	}
	lines, err := s.Lines(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer lines.Close()
	if err := s.WriteTerminal(t.Context(), []byte("hello\n")); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 6)
	if _, err := io.ReadFull(read, got); err != nil || string(got) != "hello\n" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := print.Write(got); err != nil {
		t.Error(err)
	}
	if line, err := lines.Next(t.Context()); line != "hello" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
	if err := s.Kill(t.Context()); err != nil { // although its output is never closed by its writer
		t.Error(err)
	}
	if i := s.Info(); i.PID != 4711 || *i.ExitCode != 130 || i.Signal != "SIGINT" || i.Kind != KindProcess {
		t.Errorf("%+v", i)
	}
	if got := told.String(); got != "session.started session.ended" {
		t.Errorf("events %s", got)
	}
	if _, err := r.Register(Adopted{}); err == nil {
		t.Error("registered nothing")
	}
}

// An adopted child that does not end holds up nobody for ever, and is named.
func TestShutdownGivesUp(t *testing.T) {
	r, err := Open(Options{})
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	s, err := r.Register(Adopted{Wait: func() (int, string) { <-stop; return 0, "" }, Stop: func() {}})
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Shutdown(t.Context()); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), s.ID()) {
		t.Errorf("%v", err)
	}
	close(stop)
	<-s.Done()
}

// What ran when the process that kept it died is listed as ended after the next start.
func TestRestart(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sessions.json")
	r, _ := open(t, Options{StateFile: path})
	ended, err := r.StartProcess(t.Context(), ProcessSpec{Argv: []string{"sh", "-c", "exit 4"}, Cwd: "/", Name: "done", Env: []string{"SECRET=xyzzy"}})
	if err != nil {
		t.Fatal(err)
	}
	<-ended.Done()
	running, err := r.StartTerminal(t.Context(), TerminalSpec{Argv: []string{"sleep", "999"}, Cwd: "/", Name: "still"})
	if err != nil {
		t.Fatal(err)
	}
	var raw []byte
	for !strings.Contains(string(raw), "still") { // written by a goroutine of the registry's
		if raw, err = os.ReadFile(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
		runtime.Gosched()
	}
	crashed := filepath.Join(t.TempDir(), "sessions.json")
	if err := os.WriteFile(crashed, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st.Mode(), err)
	}
	if strings.Contains(string(raw), "xyzzy") {
		t.Error("the environment is written down")
	}

	next, _ := open(t, Options{StateFile: crashed})
	if len(next.List()) != 2 {
		t.Fatalf("%+v", next.List())
	}
	if i := next.List()[0]; i.Name != "done" || *i.ExitCode != 4 || i.Reason != "" || i.ID != ended.ID() {
		t.Errorf("%+v", i)
	}
	s, err := next.Find("still")
	if err != nil {
		t.Fatal(err)
	}
	if i := s.Info(); i.State != StateEnded || i.ExitCode != nil || i.Reason == "" || i.Ended.IsZero() || i.ID != running.ID() || i.PID == 0 || !i.Started.Equal(running.Info().Started) {
		t.Errorf("%+v", i)
	}
	<-s.Done()
	if _, err := s.Attach(80, 24); !errors.Is(err, ErrEnded) {
		t.Errorf("%v", err)
	}
	if _, err := s.Lines(t.Context()); !errors.Is(err, ErrEnded) {
		t.Errorf("%v", err)
	}
	if err := s.WriteTerminal(t.Context(), nil); !errors.Is(err, ErrEnded) {
		t.Errorf("%v", err)
	}
	if err := s.Kill(t.Context()); err != nil || s.ReadTerminal(10) != nil || len(s.Requests()) != 0 {
		t.Errorf("%v", err)
	}
	if err := next.Forget("still"); err != nil {
		t.Error(err)
	}
	if err := next.Shutdown(t.Context()); err != nil {
		t.Error(err)
	}
	third, _ := open(t, Options{StateFile: crashed})
	if l := third.List(); len(l) != 1 || l[0].Name != "done" {
		t.Errorf("%+v", l)
	}
}

func TestBrokenStateFile(t *testing.T) {
	twice, err := json.Marshal(stateFile{1, []Info{{ID: "a"}, {ID: "a"}}})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"empty": "", "torn": `{"version":1,"sessions":[{"id":"t-`, "no object": "[]", "newer": `{"version":2,"sessions":[]}`,
		"twice": string(twice), "no id": `{"version":1,"sessions":[{}]}`, "trailing": `{"version":1}x`, "binary": "\x00\xff",
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			path := filepath.Join(dir, "sessions.json")
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			r, _ := open(t, Options{StateFile: path})
			if len(r.List()) != 0 {
				t.Errorf("%+v", r.List())
			}
			aside, err := filepath.Glob(path + ".corrupt-*")
			if err != nil || len(aside) != 1 {
				t.Fatalf("%q, %v", aside, err)
			}
			if got, err := os.ReadFile(aside[0]); string(got) != text || err != nil {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

func TestStateFileThatIsNone(t *testing.T) {
	dir := t.TempDir()
	if _, err := Open(Options{StateFile: dir}); err == nil {
		t.Error("a folder was taken for a state file")
	}
}

// A state file that can't be written ends nothing.
func TestStateFileCantBeWritten(t *testing.T) {
	r, _ := open(t, Options{StateFile: filepath.Join(t.TempDir(), "none", "sessions.json")})
	s, err := r.StartProcess(t.Context(), ProcessSpec{Argv: []string{"true"}, Cwd: "/"})
	if err != nil {
		t.Fatal(err)
	}
	<-s.Done()
}

// The list of what has ended does not grow for ever, and neither does what is kept of it.
func TestEndedAreForgotten(t *testing.T) {
	r, told := open(t, Options{})
	now := time.Now()
	for i := range KeptEnded {
		info := Info{ID: "past-" + string(rune('0'+i%10)) + string(rune('a'+i/10)), State: StateEnded, Ended: now.Add(time.Duration(i-1000) * time.Second)}
		r.sessions = append(r.sessions, pastSession(r, info))
	}
	oldest := r.sessions[0].ID()
	s := terminal(t, r, "echo x")
	<-s.Done()
	if got := told.await(t, EventForgotten); got.Session.ID != oldest || len(r.List()) != KeptEnded {
		t.Errorf("%+v, %d are left", got, len(r.List()))
	}
	for range keptOutput {
		<-terminal(t, r, "echo y").Done()
	}
	told.await(t, EventForgotten)
	r.dropEnded()
	if got := s.ReadTerminal(10); len(got) != 0 {
		t.Errorf("%q is kept", got)
	}
}

func FuzzParseState(f *testing.F) {
	f.Add([]byte(`{"version":1,"sessions":[{"id":"t-1","kind":"terminal","state":"running","started":"2026-01-02T03:04:05Z"}]}`))
	f.Add([]byte(`{"version":1}`))
	f.Add([]byte(`[`))
	f.Fuzz(func(t *testing.T, raw []byte) {
		past, err := parseState(raw)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		for _, i := range past {
			if i.ID == "" || seen[i.ID] || i.State != StateEnded || i.Turn != "" {
				t.Errorf("%+v", i)
			}
			seen[i.ID] = true
		}
	})
}

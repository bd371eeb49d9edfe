package agent_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/subject"
)

// stubManifest allows one command for each way in which a program may behave;
// see programs.
const stubManifest = `version: 1
environments: {dev: {}, staging: {}, prod: {protected: true}}
commands:
  ok:     {summary: print a line, exec: [ok], effect: read, rest: {pattern: '(?s).*'}}
  within: {summary: run in a folder, exec: [ok], effect: read, cwd: sub, rest: {pattern: '.*'}}
  odd:    {summary: exit 1 and be content, exec: [fail], effect: read, success: [0, 1]}
  fail:   {summary: print and exit 1, exec: [fail], effect: read}
  loud:   {summary: print much, exec: [loud], effect: read}
  slow:   {summary: run until stopped, exec: [slow], effect: read, rest: {pattern: '.*'}}
  deaf:   {summary: run until stopped twice, exec: [deaf], effect: read}
  write:  {summary: change something, exec: [ok], effect: write, rest: {pattern: '.*'}}
  slow write: {summary: change something for long, exec: [slow], effect: write}
  brief:  {summary: run into its time limit, exec: [slow], effect: read, timeout: 10s}
  ask:    {summary: ask first, exec: [ok], effect: write, confirm: ask, rest: {pattern: '(?s).*'}}
  wipe:   {summary: type a code first, exec: [ok, "--force"], effect: destroy, rest: {pattern: '.*'}}
  vanish: {summary: can not be started, exec: [vanish], effect: write}
  crash:  {summary: panic in Start, exec: [crash], effect: read}
  burst:  {summary: panic in Wait, exec: [burst], effect: read}
  where:
    summary: take an environment
    exec: [ok, "{env}"]
    params: {env: {position: 1, required: true, enum: [dev, staging, prod]}}
    effect: write
  wipe env:
    summary: take an environment, and a code
    exec: [ok, "{env}"]
    params: {env: {position: 1, required: true, enum: [dev, staging, prod]}}
    effect: destroy
`

// programs are what the stub runs, by argv[0].
var programs = map[string]func(*stubRun) host.Result{
	"ok": func(r *stubRun) host.Result {
		r.print("done\n")
		return host.Result{}
	},
	"fail": func(r *stubRun) host.Result {
		r.print("no such thing\n")
		return host.Result{ExitCode: 1}
	},
	"loud": func(r *stubRun) host.Result {
		for i := range 20000 {
			r.print(fmt.Sprintf("%07d \\ \" ``` some text that a program prints\n", i))
		}
		return host.Result{}
	},
	"slow": func(r *stubRun) host.Result {
		r.print("begun\n")
		var limit <-chan time.Time
		if r.inv.Timeout < time.Minute {
			timer := time.NewTimer(r.inv.Timeout)
			defer timer.Stop()
			limit = timer.C
		}
		select {
		case why := <-r.stops:
			r.print("last words\n")
			return host.Result{ExitCode: 143, Signal: "SIGTERM", Stopped: why}
		case <-limit:
			return host.Result{ExitCode: 143, Signal: "SIGTERM", Stopped: host.StopTimeout}
		}
	},
	"deaf": func(r *stubRun) host.Result {
		r.print("begun\n")
		why := <-r.stops
		<-r.stops
		return host.Result{ExitCode: 137, Signal: "SIGKILL", Stopped: why, Killed: true}
	},
}

// stubHost runs the functions of programs instead of programs.
type stubHost struct {
	t    *testing.T
	root string

	mu      sync.Mutex
	allow   host.AllowList
	started []*stubRun
	extra   map[string]func(*stubRun) host.Result
	// hold, where set, is waited for by Start, which otherwise ends with ctx.
	hold chan struct{}
	// starting, where set, is called by Start and may wait.
	starting  func()
	dirPanics bool
	// ops, where set, runs Ops.
	ops *stubOps
}

func (h *stubHost) Ops() (host.Runtime, error) {
	if h.ops == nil {
		return nil, errors.New("runs of Ops can't be kept here")
	}
	return h.ops, nil
}

func (h *stubHost) OpSet(context.Context) (host.OpSet, error) { return stubSet{}, nil }

// Subject is made of the words and of the file version in the root, which stands for
// all files that a command is made of.
func (h *stubHost) Subject(_ context.Context, inv *command.Invocation) (subject.Subject, error) {
	return subject.Of(subject.Work{
		Root: h.root, Texts: []subject.Text{{Name: "the entry of " + inv.Name, Value: inv.Entry()}}, Evidence: []string{"version"},
		Commands: []subject.Command{{Shown: command.Quote(inv.Argv), Argv: inv.Argv, Dir: inv.Dir, Look: func(string) (string, error) { return "/bin/sh", nil }}},
	})
}

// Commit is always the same.
func (h *stubHost) Commit(context.Context) (string, *bool) {
	clean := true
	return "4f5e6d", &clean
}

// Offer is the entry of a command, with the file version of the root.
func (h *stubHost) Offer(_ context.Context, inv *command.Invocation) (host.Offer, bool, error) {
	o, ok := h.AllowList().Registry.OfferedBy(inv)
	if !ok {
		return host.Offer{}, false, nil
	}
	offer, err := h.offer(o)
	return offer, true, err
}

func (h *stubHost) offer(o command.Offered) (host.Offer, error) {
	s, err := subject.Of(subject.Work{Root: h.root, Texts: []subject.Text{{Name: "the entry of " + o.Name, Value: o.Entry}}, Evidence: []string{"version"}})
	return host.Offer{Name: o.Name, Effect: o.Effect, Runs: o.Runs, Text: o.Entry, Subject: s}, err
}

func (h *stubHost) Offers(context.Context) ([]host.Offer, error) {
	var list []host.Offer
	for _, o := range h.AllowList().Registry.Offered() {
		offer, err := h.offer(o)
		if err != nil {
			return nil, err
		}
		list = append(list, offer)
	}
	return list, nil
}

// file writes the file that stands for all files of a command.
func (h *stubHost) file(text string) {
	if err := os.WriteFile(filepath.Join(h.root, "version"), []byte(text), 0o600); err != nil {
		h.t.Fatal(err)
	}
}

func newStub(t *testing.T) *stubHost {
	h := &stubHost{t: t, root: t.TempDir()}
	h.write(stubManifest)
	return h
}

// write replaces the manifest.
func (h *stubHost) write(text string) {
	m, err := command.ParseManifest("chant-acp.yaml", []byte(text))
	h.mu.Lock()
	defer h.mu.Unlock()
	h.allow = host.AllowList{
		Version:      h.allow.Version + 1,
		Registry:     command.NewRegistry(command.RegistryOptions{Root: h.root, Manifest: m}),
		Environments: m.Environments(),
	}
	if err != nil {
		h.allow.Problem = err
	}
}

// program adds or replaces one; only before it runs.
func (h *stubHost) program(name string, f func(*stubRun) host.Result) {
	if h.extra == nil {
		h.extra = map[string]func(*stubRun) host.Result{}
	}
	h.extra[name] = f
}

func (h *stubHost) Dir() string {
	if h.dirPanics {
		panic("a fault of the host")
	}
	return h.root
}

func (h *stubHost) AllowList() host.AllowList {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.allow
}

func (h *stubHost) Start(ctx context.Context, inv *command.Invocation, o host.StartOptions) (host.Run, error) {
	if h.hold != nil {
		select {
		case <-h.hold:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	if h.starting != nil {
		h.starting()
	}
	r := &stubRun{inv: inv, o: o, stops: make(chan host.Stop, 64), ended: make(chan struct{})}
	f := programs[inv.Argv[0]]
	if g := h.extra[inv.Argv[0]]; g != nil {
		f = g
	}
	switch inv.Argv[0] {
	case "vanish":
		return nil, fmt.Errorf("vanish was not found in PATH (/bin); install it, or correct the manifest")
	case "crash":
		panic("a fault of the host")
	case "burst":
		r.panics = true
		f = func(r *stubRun) host.Result {
			r.print("half a line")
			return host.Result{}
		}
	}
	h.mu.Lock()
	h.started = append(h.started, r)
	h.mu.Unlock()
	go func() { // its end is what Wait waits for
		defer close(r.ended)
		r.result = f(r)
	}()
	return r, nil
}

// runs lists what was started so far, as command lines.
func (h *stubHost) runs() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	lines := []string{}
	for _, r := range h.started {
		lines = append(lines, r.inv.Line)
	}
	return lines
}

func (h *stubHost) last() *stubRun {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.started[len(h.started)-1]
}

type stubRun struct {
	inv    *command.Invocation
	o      host.StartOptions
	stops  chan host.Stop
	ended  chan struct{}
	result host.Result
	panics bool
}

func (r *stubRun) print(s string) { r.o.Output([]byte(s)) }

func (r *stubRun) Stop(why host.Stop) { r.stops <- why }

func (r *stubRun) Wait() host.Result {
	<-r.ended
	if r.panics {
		panic("a fault of the host")
	}
	return r.result
}

func (r *stubRun) Log() string { return "/logs/" + r.o.Name + ".log" }

// env is the value of a variable that the program was given.
func (r *stubRun) env(name string) string {
	for _, kv := range slices.Backward(r.inv.Env) {
		if len(kv) > len(name) && kv[:len(name)+1] == name+"=" {
			return kv[len(name)+1:]
		}
	}
	return ""
}

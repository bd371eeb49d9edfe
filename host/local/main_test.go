package local

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/local/httpask/client"
	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/host/process"
	"github.com/chant-acp/chant-acp/internal/acpd"
)

func TestMain(m *testing.M) {
	process.GuardMain()
	if call, err := acpd.Called(os.Args[1:]); err == nil && call.Is(acpd.Request) {
		os.Exit(client.Main()) // which httpCheck asks
	}
	_ = os.Setenv(acpd.Variable, "/proc/self/exe")
	if dir := os.Getenv(walkerVar); dir != "" {
		walkerMain(dir)
	}
	if dir := os.Getenv(stubbornVar); dir != "" {
		stubbornMain(dir)
	}
	goleak.VerifyTestMain(m)
}

// rig is a project with Ops, and what is needed to run them.
type rig struct {
	t     testing.TB
	root  string
	state string
	env   []string
	chant string

	mu  sync.Mutex
	ops map[string]string // YAML by name
	// reads are variables that all Ops count as having read, as TypeScript can.
	reads []string
	now   time.Time // zero for the real time
	rt    *Runtime
}

func newRig(t testing.TB, ops ...string) *rig {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{
		t: t, root: root, state: filepath.Join(t.TempDir(), "runs"), ops: make(map[string]string),
		env: []string{"PATH=" + filepath.Join(root, "bin") + ":" + os.Getenv("PATH"), "HOME=" + root},
	}
	for _, text := range ops {
		r.op(text)
	}
	r.open()
	return r
}

// open makes a runtime as a new process would.
func (r *rig) open() *Runtime {
	r.t.Helper()
	rt, err := New(Options{
		Root: r.root, State: r.state, Env: r.env, Find: r.find, Now: r.clock, Chant: func() string { return r.chant },
		ManifestDigest: func() string { return "manifest" },
	})
	if err != nil {
		r.t.Fatal(err)
	}
	r.rt = rt
	return rt
}

func (r *rig) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.now.IsZero() {
		return time.Now()
	}
	return r.now
}

// op adds an Op, or changes it.
func (r *rig) op(text string) {
	r.t.Helper()
	c, err := op.Decode("x.op.yaml", []byte(text))
	if err != nil {
		r.t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ops[c.Name] = text
}

func (r *rig) find(_ context.Context, name string, vars []string) (*op.Op, error) {
	r.mu.Lock()
	text, ok := r.ops[name]
	r.mu.Unlock()
	if !ok {
		return nil, &op.NotFoundError{Name: name, Set: &op.Set{Root: r.root}}
	}
	for _, v := range vars { // as a file that reads its environment does
		if variable, value, ok := strings.Cut(v, "="); ok {
			text = strings.ReplaceAll(text, "$("+variable+")", value)
		}
	}
	c, err := op.Decode(name+".op.yaml", []byte(text))
	if err != nil {
		return nil, err
	}
	return &op.Op{File: name + ".op.yaml", Config: c, Reads: r.reads}, nil
}

// file writes a file below the project.
func (r *rig) file(name, text string, mode os.FileMode) {
	r.t.Helper()
	path := filepath.Join(r.root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		r.t.Fatal(err)
	}
}

// read reads a file below the project; "" where it is not there.
func (r *rig) read(name string) string {
	text, err := os.ReadFile(filepath.Join(r.root, name))
	if err != nil {
		return ""
	}
	return string(text)
}

// told records the events of a leg.
type told struct {
	mu     sync.Mutex
	events []host.OpEvent
	out    strings.Builder
	on     func(host.OpEvent)
}

func (e *told) take(ev host.OpEvent) {
	e.mu.Lock()
	if o, ok := ev.(*host.StepOutput); ok {
		e.out.Write(o.Data)
	} else {
		e.events = append(e.events, ev)
	}
	on := e.on
	e.mu.Unlock()
	if on != nil {
		on(ev)
	}
}

// lines are the events as short lines, without plans.
func (e *told) lines() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var lines []string
	for _, ev := range e.events {
		switch ev := ev.(type) {
		case *host.StepStarted:
			lines = append(lines, fmt.Sprintf("start %s %d/%d", ev.Step.Title, ev.Attempt, ev.Of))
		case *host.StepRetry:
			lines = append(lines, fmt.Sprintf("retry after %s: %s", ev.Wait, ev.Err))
		case *host.StepResult:
			line := fmt.Sprintf("%s %s", ev.State, ev.Step.Title)
			if ev.Err != "" {
				line += ": " + ev.Err
			}
			if ev.Outcome != nil {
				line += fmt.Sprintf(" [%s=%s]", ev.Outcome.Name, ev.Outcome.Value)
			}
			lines = append(lines, line)
		case *host.OpNotice:
			lines = append(lines, "notice "+ev.Text)
		}
	}
	return lines
}

// plan is the last plan, as "phase=state" words.
func (e *told) plan() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, ev := range slices.Backward(e.events) {
		if p, ok := ev.(*host.OpPlan); ok {
			var words []string
			for _, ph := range p.Phases {
				words = append(words, ph.Name+"="+string(ph.State))
			}
			return strings.Join(words, " ")
		}
	}
	return ""
}

// start starts a run; the error is the test's.
func (r *rig) start(req host.OpRequest) (host.OpRun, *told, error) {
	events := &told{}
	if req.Events == nil {
		req.Events = events.take
	}
	run, err := r.rt.StartOp(r.t.Context(), req)
	return run, events, err
}

// run runs an Op as far as it goes.
func (r *rig) run(req host.OpRequest) (host.OpResult, *told) {
	r.t.Helper()
	run, events, err := r.start(req)
	if err != nil {
		r.t.Fatal(err)
	}
	res := run.Wait()
	if res.Err != nil {
		r.t.Fatal(res.Err)
	}
	return res, events
}

func named(op string) host.OpRequest { return host.OpRequest{Ref: host.RunRef{Op: op}} }

func on(res host.OpResult) host.OpRequest {
	return host.OpRequest{Ref: host.RunRef{Op: res.Run.Op, ID: res.Run.ID}}
}

func (r *rig) stateOf(id string) host.RunState {
	r.t.Helper()
	i, err := r.rt.RunInfo(r.t.Context(), host.RunRef{ID: id})
	if err != nil {
		r.t.Fatal(err)
	}
	return i.State
}

// same compares lists of lines.
func same(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n  got  %s\n  want %s", what, strings.Join(got, "\n       "), strings.Join(want, "\n       "))
	}
}

package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/local/activity"
	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/host/process"
)

func TestOneOfManyBegins(t *testing.T) {
	r := newRig(t, gated)
	var all sync.WaitGroup
	var mu sync.Mutex
	var runs []host.OpRun
	for range 8 {
		all.Go(func() {
			rt, err := New(r.rt.o) // as many processes would
			if err != nil {
				t.Error(err)
				return
			}
			run, err := rt.StartOp(context.Background(), named("deploy"))
			switch {
			case err == nil:
				run.Wait()
				mu.Lock()
				runs = append(runs, run)
				mu.Unlock()
			case !isRefusal(err, "running") && !isRefusal(err, "is beginning this very run"):
				t.Error(err)
			}
		})
	}
	all.Wait()
	for _, run := range runs { // some may have found it waiting
		if run.ID() != runs[0].ID() {
			t.Errorf("%s and %s were begun", run.ID(), runs[0].ID())
		}
	}
	if len(runs) == 0 || r.read("log") != "build\n" {
		t.Errorf("%d legs, log %q", len(runs), r.read("log"))
	}
}

func TestAStartThatFailsLeavesNothing(t *testing.T) {
	r := newRig(t, gated)
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := r.rt.StartOp(gone, named("deploy")); err == nil {
		t.Error("a start that was given up succeeded")
	}
	if _, _, err := r.start(named("nope")); !errors.As(err, new(*op.NotFoundError)) {
		t.Errorf("no such Op: %v", err)
	}
	if runs, err := r.rt.Runs(t.Context(), host.RunQuery{}); len(runs) != 0 || err != nil {
		t.Errorf("%+v, %v", runs, err)
	}
	if res := r.waiting("deploy"); res.Run.State != host.RunWaiting {
		t.Errorf("%+v", res)
	}
}

func TestLinesThatAreRefused(t *testing.T) {
	r := newRig(t, gated)
	for _, c := range []struct {
		name string
		req  host.OpRequest
		want string
	}{
		{"no Op", host.OpRequest{}, "names no Op"},
		{"nothing to resume", host.OpRequest{Ref: host.RunRef{Op: "deploy"}, Mode: host.RunResume}, "no run to resume"},
		{"no such run", host.OpRequest{Ref: host.RunRef{Op: "deploy", ID: "zzzzzz"}}, "There is no run zzzzzz"},
		{"a path for a run", host.OpRequest{Ref: host.RunRef{Op: "deploy", ID: "../.."}}, "There is no run"},
		{"a bad parameter", host.OpRequest{Ref: host.RunRef{Op: "deploy", Params: map[string]string{"a b": ""}}}, "a parameter's name"},
		{"two for one variable", host.OpRequest{Ref: host.RunRef{Op: "deploy", Params: map[string]string{"a-b": "", "a_b": ""}}}, "would be one variable"},
		{"a NUL", host.OpRequest{Ref: host.RunRef{Op: "deploy", Params: map[string]string{"a": "\x00"}}}, "holds a NUL"},
	} {
		if _, _, err := r.start(c.req); !isRefusal(err, c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	res := r.waiting("deploy")
	other := on(res)
	other.Ref.Params = map[string]string{"a": "1"}
	if _, _, err := r.start(other); !isRefusal(err, "is another one than the line says") {
		t.Errorf("other parameters: %v", err)
	}
}

func TestARestartThatCannotBeginGivesNothingUp(t *testing.T) {
	r := newRig(t, gated)
	res := r.waiting("deploy")
	r.op(strings.Replace(gated, "{shell: echo build >> log}", "{kind: activity, fn: nope}", 1))
	again := on(res)
	again.Mode = host.RunRestart
	if _, _, err := r.start(again); !isRefusal(err, "no activity") {
		t.Errorf("got %v", err)
	}
	if r.stateOf(res.Run.ID) != host.RunWaiting {
		t.Error("the old run was given up")
	}
}

func TestWhatIsRecordedOfARun(t *testing.T) {
	r := newRig(t, gated)
	git := func(args ...string) {
		t.Helper()
		r.rt.o.Env = append(r.env, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if _, err := runProgram(t, r, append([]string{"git", "-c", "user.name=n", "-c", "user.email=e@example.com", "-c", "init.defaultBranch=main"}, args...)); err != nil {
			t.Skipf("git %v: %v", args, err)
		}
	}
	git("init", "-q")
	r.file("x", "1", 0o600)
	git("add", "x")
	git("commit", "-q", "-m", "one")
	req := named("deploy")
	req.Ref.Env, req.Ref.Params, req.Actor.Client = "prod", map[string]string{"tag": "v1"}, "zed"
	res, _ := r.run(req)
	i := res.Run
	if i.Op != "deploy" || i.Env != "prod" || i.Params["tag"] != "v1" || i.Client != "zed" || i.User == "" || len(i.Commit) != 40 || i.Clean == nil || !*i.Clean || i.Began.IsZero() {
		t.Errorf("%+v", i)
	}
	k, err := r.rt.load(i.ID)
	if err != nil || k.Root != r.root || k.Manifest != "manifest" || k.Config == "" || k.File != "deploy.op.yaml" {
		t.Errorf("%+v, %v", k, err)
	}
	r.file("y", "2", 0o600)
	req.Ref.Env = "dev"
	dirty, _ := r.run(req)
	if dirty.Run.Clean == nil || *dirty.Run.Clean || dirty.Run.Digest == i.Digest {
		t.Errorf("%+v", dirty.Run)
	}
}

// git would start what a repository configures.
func TestTheRepositoryOfARunStartsNothing(t *testing.T) {
	r := newRig(t, gated)
	git := func(args ...string) {
		t.Helper()
		r.rt.o.Env = append(r.env, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if _, err := runProgram(t, r, append([]string{"git", "-c", "user.name=n", "-c", "user.email=e@example.com"}, args...)); err != nil {
			t.Skipf("git %v: %v", args, err)
		}
	}
	git("init", "-q")
	r.file("x", "1", 0o600)
	r.file(".gitattributes", "* filter=x", 0o600)
	git("add", "x", ".gitattributes")
	git("commit", "-q", "-m", "one")
	git("config", "core.fsmonitor", "touch "+filepath.Join(r.root, "watched")+" #")
	git("config", "filter.x.clean", "touch "+filepath.Join(r.root, "filtered")+"; cat")
	r.file("x", "2", 0o600)
	res, _ := r.run(named("deploy"))
	if res.Run.Commit == "" {
		t.Errorf("%+v", res.Run)
	}
	for _, name := range []string{"watched", "filtered"} {
		if _, err := os.Stat(filepath.Join(r.root, name)); err == nil {
			t.Errorf("the repository started a program: %s", name)
		}
	}
}

// runProgram runs a program in the project as a step does.
func runProgram(t *testing.T, r *rig, argv []string) (string, error) {
	t.Helper()
	l := &segment{rt: r.rt, folder: folder{t.TempDir()}, record: record{Root: r.root}, history: newHistory()}
	l.log = l.openLog()
	c := &call{segment: l, ctx: t.Context(), out: &stepOutput{segment: l}}
	l.req.Events, l.programs = func(host.OpEvent) {}, make(map[*process.Process]struct{})
	var out strings.Builder
	err := c.Run(activity.Program{Argv: argv, Value: &out, Quiet: true})
	return strings.TrimSpace(out.String()), err
}

func TestKeysInOrder(t *testing.T) {
	keys := []string{"c1s1", "p10s1", "p2s10", "p2s9", "c10s1", "c2s1"}
	slices.SortFunc(keys, compareKeys)
	same(t, "keys", keys, []string{"p2s9", "p2s10", "p10s1", "c1s1", "c2s1", "c10s1"})
}

func TestQuote(t *testing.T) {
	for word, want := range map[string]string{"a": "a", "": "''", "a b": "'a b'", "it's": `'it'\''s'`, `a\b`: `'a\b'`, "$x;": "$x;"} {
		if got := quote(word); got != want {
			t.Errorf("%q: got %s, want %s", word, got, want)
		}
	}
}

func TestRunsOfAnotherProjectAreNotSeen(t *testing.T) {
	r := newRig(t, gated)
	res := r.waiting("deploy")
	other := newRig(t, gated)
	other.state = r.state
	other.open()
	if runs, err := other.rt.Runs(t.Context(), host.RunQuery{}); len(runs) != 0 || err != nil {
		t.Errorf("%+v, %v", runs, err)
	}
	if _, err := other.rt.Decide(t.Context(), approve(res.Run.ID, "go")); !isRefusal(err, "There is no run") {
		t.Errorf("got %v", err)
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(r.root, link); err != nil {
		t.Fatal(err)
	}
	r.root = link
	r.open()
	if runs, err := r.rt.Runs(t.Context(), host.RunQuery{}); len(runs) != 1 || err != nil {
		t.Errorf("through a link: %+v, %v", runs, err)
	}
}

func TestARunThatIsOverIsBegunAnewOnlyAlone(t *testing.T) {
	r := newRig(t, gated)
	first := r.waiting("deploy")
	if _, err := r.rt.CancelRun(t.Context(), host.RunRef{ID: first.Run.ID}, host.Actor{}); err != nil {
		t.Fatal(err)
	}
	again := on(first)
	again.Mode = host.RunRestart
	second, _ := r.run(again)
	if second.Run.ID == first.Run.ID || second.Run.State != host.RunWaiting {
		t.Fatalf("%+v", second)
	}
	if _, _, err := r.start(again); !isRefusal(err, "run deploy --run "+second.Run.ID) {
		t.Errorf("while another one is open: %v", err)
	}
	if open, err := r.rt.Runs(t.Context(), host.RunQuery{Open: true}); err != nil || len(open) != 1 {
		t.Errorf("%+v, %v", open, err)
	}
}

package local

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/internal/flock"
	"github.com/chant-acp/chant-acp/internal/testenv"
)

// A walk is a gated run, which is approved, rejected, or cancelled and undone. It ends
// in the middle, once at every point where the
// runtime reads its clock, which it does before each entry of the journal, and
// where it tells of something, which it does after.

// walkerVar makes the test binary walk in the folder named in it and kill itself
// at the point that walkAtVar counts.
const (
	walkerVar = "LOCAL_TEST_WALKER"
	walkAtVar = "LOCAL_TEST_WALK_AT"
)

const walked = `
name: walk
overview: Passes a gate
phases:
  - name: Build
    steps: [{shell: "echo b1 >> log; echo b1"}]
  - name: Both
    parallel: true
    steps: [{shell: "echo p1 >> log; echo p1"}, {exec: [sh, -c, "echo p2 >> log; echo p2"]}]
  - name: Approve
    steps: [{gate: go}, {sleep: 1ms}]
  - name: Apply
    steps: [{shell: "echo apply >> log; echo apply"}]
onFailure:
  - name: Undo
    steps: [{shell: "echo undo >> log; echo undo"}, {shell: "echo undo2 >> log; echo undo2"}]
`

// walkSteps are the steps of the walk by the word that each writes to the log.
var walkSteps = map[string]string{"b1": "p1s1", "p1": "p2s1", "p2": "p2s2", "apply": "p4s1", "undo": "c1s1", "undo2": "c1s2"}

// walk is one process's way through the run. point is called at every point.
type walk struct {
	dir     string
	approve bool
	undo    bool // in the place of a decision
	point   func()
	rt      *Runtime
}

func (w *walk) path(name string) string { return filepath.Join(w.dir, name) }

func openWalk(dir string, approve bool, point func()) (*walk, error) {
	w := &walk{dir: dir, approve: approve, point: point}
	var err error
	w.rt, err = New(Options{
		Root: w.path("project"), State: w.path("runs"), Env: os.Environ(),
		Find: func(_ context.Context, name string, _ []string) (*op.Op, error) {
			c, err := op.Decode("walk.op.yaml", []byte(walked))
			return &op.Op{File: "walk.op.yaml", Config: c}, err
		},
		Now: func() time.Time { point(); return time.Now() },
	})
	return w, err
}

// leg takes the run as far as it goes; started hears of the run.
func (w *walk) leg(mode host.RunMode, started func(host.OpRun)) (host.OpResult, error) {
	run, err := w.rt.StartOp(context.Background(), host.OpRequest{
		Ref: host.RunRef{Op: "walk"}, Mode: mode, Events: func(host.OpEvent) { w.point() }, Actor: host.Actor{Person: true},
	})
	if err != nil {
		return host.OpResult{}, err
	}
	started(run)
	return run.Wait(), nil
}

// decide leaves a mark before the decision and one after it: what is marked after
// must not be lost, and what is not marked before must not have been decided.
func (w *walk) decide() error {
	if err := os.WriteFile(w.path("deciding"), nil, 0o600); err != nil {
		return err
	}
	w.point()
	if _, err := w.rt.Decide(context.Background(), host.GateAnswer{Ref: host.RunRef{Op: "walk"}, Gate: "go", Approve: w.approve}); err != nil {
		return err
	}
	return os.WriteFile(w.path("decided"), nil, 0o600)
}

// all goes the whole way.
func (w *walk) all(started func(host.OpRun)) error {
	res, err := w.leg(host.RunOn, started)
	if err != nil || res.Run.State != host.RunWaiting {
		return err
	}
	if w.undo {
		if _, err := w.rt.CancelRun(context.Background(), host.RunRef{Op: "walk"}, host.Actor{}); err != nil {
			return err
		}
		_, err = w.leg(host.RunUndo, started)
		return err
	}
	if err := w.decide(); err != nil {
		return err
	}
	_, err = w.leg(host.RunOn, started)
	return err
}

// walkerMain is the process that kills itself.
func walkerMain(dir string) {
	at, _ := strconv.Atoi(os.Getenv(walkAtVar))
	var points atomic.Int64
	w, err := openWalk(dir, strings.HasSuffix(dir, "approve"), func() {
		if points.Add(1) == int64(at) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {} // nothing more happens
		}
	})
	if err == nil {
		w.undo = strings.HasSuffix(dir, "undo")
		err = w.all(func(host.OpRun) {})
	}
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	os.Exit(0)
}

// marked says whether a mark was left.
func (w *walk) marked(name string) bool {
	_, err := os.Stat(w.path(name))
	return err == nil
}

// counts are how often each step wrote to the log.
func (w *walk) counts() map[string]int {
	text, _ := os.ReadFile(w.path("project/log"))
	n := make(map[string]int)
	for word := range strings.FieldsSeq(string(text)) {
		n[word]++
	}
	return n
}

// settled waits until no process holds the run, and returns it; nil where none
// was begun.
func (w *walk) settled(t *testing.T) *kept {
	t.Helper()
	for {
		runs, err := w.rt.all()
		if err != nil {
			t.Fatal(err)
		}
		if len(runs) > 1 {
			t.Fatalf("there are %d runs of one identity", len(runs))
		}
		if len(runs) == 0 {
			return nil
		}
		switch s := runs[0].state(); {
		case s == host.RunUnreadable:
			t.Fatalf("unreadable: %s", runs[0].problem)
		case s != host.RunRunning:
			return runs[0]
		}
		lock, err := flock.Take(t.Context(), runs[0].lockFile(), testenv.Hang)
		if err != nil {
			t.Fatalf("the run never settles: %v", err)
		}
		lock.Release()
	}
}

// recover goes on with what was left, as a person would, and checks what must
// hold on the way.
func (w *walk) recover(t *testing.T) {
	k := w.settled(t)
	w.forge(t, k)
	before := w.counts()
	done := make(map[string]bool)
	if k != nil {
		for word, key := range walkSteps {
			done[word] = k.history.ended(key) == host.StepCompleted
			if s := k.history.steps[key]; before[word] > 0 && (s == nil || !s.begun) {
				t.Errorf("%s ran, and the journal does not say that it began", word)
			}
		}
		if s := k.history.steps["p3s1"]; s != nil && (s.end != nil || s.decision != nil) && !w.marked("deciding") {
			t.Error("the gate was passed and nobody decided")
		}
	}
	for range 10 {
		k := w.settled(t)
		if k != nil && !k.state().Open() && k.state() != host.RunCancelled {
			break
		}
		mode := host.RunOn
		if k != nil && k.state() != host.RunWaiting {
			mode = w.takeUp(t, k)
		}
		if k != nil && k.state() == host.RunWaiting {
			w.checkGate(t)
			if err := w.decide(); err != nil && !isRefusal(err, "before, by") {
				t.Fatal(err)
			}
		}
		if _, err := w.leg(mode, func(host.OpRun) {}); err != nil {
			t.Fatal(err)
		}
	}
	want := host.RunFailed
	if w.approve {
		want = host.RunCompleted
	}
	k = w.settled(t)
	if k == nil || k.state() != want {
		t.Fatalf("in the end it is not %s: %+v", want, k)
	}
	if n := countState(k, host.StepCompleted); want == host.RunFailed && n != 2 {
		t.Errorf("%d steps of the compensation completed", n)
	}
	w.compare(t, before, done)
	if k.history.failing == nil || k.history.failing.Kind != entrySegment {
		w.countDecisions(t)
	}
}

func countState(k *kept, state host.StepState) (n int) {
	for _, s := range k.history.compensation(false) {
		if s.State == state {
			n++
		}
	}
	return n
}

// takeUp is how a run that has stopped is taken up: it is resumed, or undone where it
// is not to be approved and can be. What may not be without a person is tried first.
func (w *walk) takeUp(t *testing.T, k *kept) host.RunMode {
	before := w.counts()
	tries := map[host.RunMode]bool{host.RunUndo: true}
	if k.state() == host.RunCancelled || k.history.failing != nil && len(k.history.interrupted()) > 0 {
		tries[host.RunResume] = true
	}
	if k.state() == host.RunInterrupted {
		tries[host.RunOn] = true
	}
	for mode := range tries {
		if _, err := w.rt.StartOp(t.Context(), host.OpRequest{Ref: host.RunRef{Op: "walk"}, Mode: mode}); err == nil {
			t.Fatalf("nobody asked for it, and it is taken up with %v", mode)
		}
	}
	if k.history.failing != nil {
		_, err := w.rt.StartOp(t.Context(), host.OpRequest{Ref: host.RunRef{Op: "walk"}, Mode: host.RunUndo, Actor: host.Actor{Person: true}})
		if !isRefusal(err, "ran before, and is not run again") {
			t.Fatalf("it is undone twice: %v", err)
		}
	}
	if after := w.counts(); !maps.Equal(before, after) {
		t.Fatalf("refused, steps ran: %v, then %v", before, after)
	}
	if !w.approve && k.history.undoable() {
		return host.RunUndo
	}
	return host.RunResume
}

// forge decides the gate in the copy of its question, as a step might.
func (w *walk) forge(t *testing.T, k *kept) {
	if k == nil {
		return
	}
	path := filepath.Join(k.pauses().Root(), "pauses", "p3s1.json")
	text, err := os.ReadFile(path)
	if err != nil {
		return // not asked yet
	}
	option := optionApprove
	if w.approve {
		option = optionReject
	}
	if err := os.WriteFile(path, forge(t, text, option, false), 0o600); err != nil {
		t.Fatal(err)
	}
}

// countDecisions looks whether the gate was asked, decided and passed once.
func (w *walk) countDecisions(t *testing.T) {
	text, err := os.ReadFile(w.settled(t).journal())
	if err != nil {
		t.Fatal(err)
	}
	for _, kind := range []string{entryAsk, entryDecide, entryEnd} {
		if n := strings.Count(string(text), fmt.Sprintf(`"kind":%q,"step":"p3s1"`, kind)); n != 1 {
			t.Errorf("there are %d entries %q of the gate", n, kind)
		}
	}
}

// checkGate looks whether what was decided is what is kept.
func (w *walk) checkGate(t *testing.T) {
	i, err := w.rt.RunInfo(t.Context(), host.RunRef{Op: "walk"})
	if err != nil || len(i.Waits) != 1 {
		t.Fatalf("%+v, %v", i, err)
	}
	decided := i.Waits[0].State != host.WaitOpen
	if decided && !w.marked("deciding") {
		t.Error("the gate is decided and nobody decided")
	}
	if !decided && w.marked("decided") {
		t.Error("the decision is lost")
	}
}

// compare holds the log against what was recorded when the run was left.
func (w *walk) compare(t *testing.T, before map[string]int, done map[string]bool) {
	after := w.counts()
	for word := range walkSteps {
		switch {
		case done[word] && after[word] != before[word]:
			t.Errorf("%s was recorded as complete after %d times, and ran %d times", word, before[word], after[word])
		case after[word] > 2:
			t.Errorf("%s ran %d times", word, after[word])
		}
	}
	if after["apply"] > 0 && !(w.approve && w.marked("deciding")) {
		t.Error("what lies behind the gate ran without its approval")
	}
}

func newWalk(t *testing.T, name string, approve bool, point func()) *walk {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if approve {
		dir += "-approve"
	}
	if err := os.MkdirAll(filepath.Join(dir, "project"), 0o755); err != nil {
		t.Fatal(err)
	}
	w, err := openWalk(dir, approve, point)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// maxPoints is more than a walk has.
const maxPoints = 200

// walkEnd is how one walk went: whether it came to its point, and to the decision.
type walkEnd struct{ reached, decided bool }

// everyPoint calls try for each point of a walk until one reaches no point more, or
// for each third one where tests are to be quick.
// Up to the decision one that is rejected is as one that is approved, so that is
// walked once.
func everyPoint(t *testing.T, try func(t *testing.T, at int, approve bool) walkEnd) {
	from, step := 1, testenv.Stride(3)
	for _, approve := range []bool{true, false} {
		decision := 0
		t.Run(fmt.Sprintf("approve=%t", approve), func(t *testing.T) {
			for at := from; at <= maxPoints; at += step {
				var end walkEnd
				t.Run(strconv.Itoa(at), func(t *testing.T) { end = try(t, at, approve) })
				if end.decided && decision == 0 {
					decision = at
				}
				if !end.reached {
					if at < 20 {
						t.Fatalf("the walk has %d points only", at)
					}
					return
				}
			}
			t.Fatal("the walk never ends")
		})
		from = max(1, decision-step)
	}
}

// kill walks in another process, which kills itself at a point; false where it came
// to its end before.
func (w *walk) kill(t *testing.T, at int) bool {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), walkerVar+"="+w.dir, fmt.Sprintf("%s=%d", walkAtVar, at), "GORACE=atexit_sleep_ms=0")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	killed := errors.As(err, &exit) && exit.Sys().(syscall.WaitStatus).Signal() == syscall.SIGKILL
	if err != nil && !killed {
		t.Fatalf("%v: %s", err, out)
	}
	return killed
}

func TestKilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	everyPoint(t, func(t *testing.T, at int, approve bool) walkEnd {
		w := newWalk(t, "kill", approve, func() {})
		killed := w.kill(t, at)
		decided := w.marked("deciding")
		w.recover(t)
		return walkEnd{killed, decided}
	})
}

// A run that was cancelled is undone once, wherever the process that does it dies.
func TestKilledAtEveryPointOfAnUndo(t *testing.T) {
	t.Parallel()
	for at := undoFrom; at <= maxPoints; at += testenv.Stride(3) {
		var killed bool
		t.Run(strconv.Itoa(at), func(t *testing.T) {
			w := newWalk(t, "kill-undo", false, func() {})
			killed = w.kill(t, at)
			w.undo = true
			w.recover(t)
		})
		if !killed {
			if at < undoFrom+10 {
				t.Fatalf("the walk has %d points only", at)
			}
			return
		}
	}
	t.Fatal("the walk never ends")
}

// undoFrom is about where the cancel of a walk is: what comes before is as in any.
const undoFrom = 30

func TestStoppedAtEveryPoint(t *testing.T) {
	for _, why := range []host.Stop{host.StopLeaving, host.StopCancelled} {
		t.Run(map[host.Stop]string{host.StopLeaving: "leaving", host.StopCancelled: "cancelled"}[why], func(t *testing.T) {
			t.Parallel()
			everyPoint(t, func(t *testing.T, at int, approve bool) walkEnd { return stopAt(t, why, at, approve) })
		})
	}
}

// stopAt stops the run that is under way when a point is reached. Between two legs
// there is none; the next one is stopped then.
func stopAt(t *testing.T, why host.Stop, at int, approve bool) walkEnd {
	var points atomic.Int64
	var stops sync.WaitGroup
	stopped := make(chan struct{})
	w := newWalk(t, "stop", approve, func() {
		if points.Add(1) == int64(at) {
			close(stopped)
		}
	})
	_ = w.all(func(run host.OpRun) {
		ended := make(chan struct{})
		stops.Go(func() { run.Wait(); close(ended) })
		stops.Go(func() {
			select {
			case <-stopped:
				run.Stop(why)
			case <-ended:
			}
		})
	})
	stops.Wait()
	w.point = func() {}
	end := walkEnd{points.Load() >= int64(at), w.marked("deciding")}
	w.recover(t)
	return end
}

package local

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/internal/flock"
	"github.com/chant-acp/chant-acp/internal/testenv"
)

// stubbornVar makes the test binary run, in the folder named in it, an Op whose
// step takes no hint.
const stubbornVar = "LOCAL_TEST_STUBBORN"

func stubbornRuntime(dir string) (*Runtime, error) {
	return New(Options{
		Root: dir, State: filepath.Join(dir, "runs"), Env: os.Environ(),
		Find: func(context.Context, string, []string) (*op.Op, error) {
			c, err := op.Decode("x.op.yaml", []byte(`
name: stubborn
overview: x
phases: [{name: P, steps: [{shell: "trap '' TERM HUP INT; setsid sleep 999 & echo $$ > up; while :; do sleep 999; done"}]}]
`))
			return &op.Op{File: "x.op.yaml", Config: c}, err
		},
	})
}

func stubbornMain(dir string) {
	rt, err := stubbornRuntime(dir)
	if err == nil {
		var run host.OpRun
		if run, err = rt.StartOp(context.Background(), named("stubborn")); err == nil {
			run.Wait()
		}
	}
	fmt.Println(err)
	os.Exit(1)
}

// A run whose process was killed is live until its last step's process is gone.
func TestTheLockOutlivesTheProcess(t *testing.T) {
	dir := t.TempDir()
	if err := unix.Mkfifo(filepath.Join(dir, "up"), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), stubbornVar+"="+dir)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	text, err := os.ReadFile(filepath.Join(dir, "up")) // waits for the step
	if err != nil {
		t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	rt, err := stubbornRuntime(dir)
	if err != nil {
		t.Fatal(err)
	}
	runs, err := rt.all()
	if err != nil || len(runs) != 1 || runs[0].state() != host.RunRunning {
		t.Fatalf("%+v, %v", runs, err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	lock, err := flock.Take(t.Context(), runs[0].lockFile(), testenv.Hang)
	if err != nil {
		t.Fatal(err)
	}
	lock.Release()
	if err := syscall.Kill(pid, 0); err == nil && !zombie(pid) {
		t.Error("the lock is free, and the step runs")
	}
	if i, err := rt.RunInfo(t.Context(), host.RunRef{Op: "stubborn"}); err != nil || i.State != host.RunInterrupted || !strings.Contains(i.Step, "trap") {
		t.Errorf("%+v, %v", i, err)
	}
}

// zombie says whether only the number of a process is left.
func zombie(pid int) bool {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return true
	}
	_, rest, _ := strings.Cut(string(text), ") ")
	return strings.HasPrefix(rest, "Z") || strings.HasPrefix(rest, "X")
}

// What can't be recorded is not done.
func TestNothingRunsWithoutItsEntry(t *testing.T) {
	r := newRig(t, "name: two\noverview: x\nphases: [{name: P, steps: [{shell: echo one >> log}, {shell: echo two >> log}]}]\n")
	started := make(chan *segment, 1)
	first := true
	run, _, err := r.start(host.OpRequest{Ref: host.RunRef{Op: "two"}, Events: func(ev host.OpEvent) {
		if _, ok := ev.(*host.StepResult); ok && first {
			first = false
			_ = (<-started).journal.f.Close() // as a disk that is gone
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	started <- run.(*segment)
	res := run.Wait()
	if res.Err == nil || res.Run.State != host.RunInterrupted || r.read("log") != "one\n" {
		t.Errorf("%+v, log %q", res, r.read("log"))
	}
	if r.stateOf(res.Run.ID) != host.RunInterrupted {
		t.Error("it is not kept as interrupted")
	}
	again := on(res)
	again.Mode = host.RunResume
	if done, _ := r.run(again); done.Run.State != host.RunCompleted || r.read("log") != "one\ntwo\n" {
		t.Errorf("%+v, log %q", done, r.read("log"))
	}
}

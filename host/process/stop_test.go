package process

import (
	"os"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// deaf ignores the polite signals, and so do its children. It says "up" when it is.
	deaf = `trap '' TERM HUP INT; sleep 999 & echo up; sleep 998`
	// deafLeftover starts a deaf member of the group; see daemon.
	deafLeftover = "x=$( (trap '' TERM; exec sleep 999 >/dev/null 2>&1) & ); echo up; "
	brief        = 50 * time.Millisecond
)

// inTree runs a script whose processes can be found, and waits until it has printed "up".
func inTree(t *testing.T, spec Spec) (*Process, string) {
	t.Helper()
	mark := tree(t)
	spec.Env = append(spec.Env, mark)
	out := new(printed)
	spec.Output = out.take
	p, _ := launch(t, spec)
	out.await(t, "up")
	return p, mark
}

func TestStop(t *testing.T) {
	tests := []struct {
		name   string
		script string
		tty    bool
		grace  time.Duration
		stops  []Cause
		want   Exit // Duration and Leftovers aside
		strays bool // of which Leftovers tells
	}{
		{name: "obeying tree", script: "sleep 999 & sleep 998 & echo up; wait",
			want: Exit{Code: 143, Signal: "SIGTERM"}},
		{name: "exit code of its own", script: "trap 'exit 9' TERM; echo up; while :; do sleep 0.01; done",
			want: Exit{Code: 9}},
		{name: "deaf tree", script: deaf, grace: brief,
			want: Exit{Code: 137, Signal: "SIGKILL", Killed: true}},
		{name: "second cancel", script: deaf, grace: time.Hour, stops: []Cause{Cancelled, Cancelled},
			want: Exit{Code: 137, Signal: "SIGKILL", Killed: true}},
		{name: "deaf member, obeying leader", script: "(trap '' TERM; echo up; sleep 999) & wait", grace: brief,
			want: Exit{Code: 143, Signal: "SIGTERM", Killed: true}},
		{name: "worker that finishes after its wrapper died", grace: time.Hour,
			script: "(trap 'sleep 0.05; exit' TERM; echo up; while :; do sleep 0.01; done) & wait",
			want:   Exit{Code: 143, Signal: "SIGTERM"}},
		{name: "stopped tree", script: "sleep 999 & kill -STOP $!; echo up; kill -STOP $$", grace: time.Hour,
			want: Exit{Code: 143, Signal: "SIGTERM"}},
		{name: "member that left the group", script: "setsid sh -c 'echo up; exec sleep 999' & wait",
			want: Exit{Code: 143, Signal: "SIGTERM"}, strays: true},
		{name: "deaf member that left the group", script: "setsid sh -c 'trap \"\" TERM; echo up; exec sleep 999' & wait", grace: brief,
			want: Exit{Code: 143, Signal: "SIGTERM", Killed: true}, strays: true},
		{name: "second cancel, deaf member that left the group", script: "setsid sh -c 'trap \"\" TERM; echo up; exec sleep 999' & wait", grace: time.Hour,
			stops: []Cause{Cancelled, Cancelled}, want: Exit{Code: 143, Signal: "SIGTERM", Killed: true}, strays: true},
		{name: "daemon", script: daemon + "sleep 998",
			want: Exit{Code: 143, Signal: "SIGTERM"}, strays: true},
		{name: "terminal", script: "sleep 999 & echo up; wait", tty: true,
			want: Exit{Code: 129, Signal: "SIGHUP"}},
		{name: "terminal, deaf to SIGTERM", script: "trap '' TERM; sleep 999 & echo up; wait", tty: true, grace: time.Hour,
			want: Exit{Code: 129, Signal: "SIGHUP"}},
		{name: "terminal, deaf tree", script: deaf, tty: true, grace: brief,
			want: Exit{Code: 137, Signal: "SIGKILL", Killed: true}},
		{name: "leaving", script: "sleep 999 & echo up; wait", stops: []Cause{Leaving},
			want: Exit{Code: 143, Signal: "SIGTERM", Cause: Leaving}},
		{name: "leaving, deaf tree", script: deaf, stops: []Cause{Leaving},
			want: Exit{Code: 137, Signal: "SIGKILL", Cause: Leaving, Killed: true}},
		{name: "cancel, then leaving", script: deaf, stops: []Cause{Cancelled, Leaving},
			want: Exit{Code: 137, Signal: "SIGKILL", Killed: true}},
		{name: "leaving, then a cancel and another", script: deaf, grace: time.Hour, stops: []Cause{Leaving, Cancelled, Cancelled},
			want: Exit{Code: 137, Signal: "SIGKILL", Cause: Leaving, Killed: true}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spec := shell(test.script)
			spec.TTY, spec.Grace = test.tty, test.grace
			p, mark := inTree(t, spec)
			if len(test.stops) == 0 {
				test.stops = []Cause{Cancelled}
			}
			for _, why := range test.stops {
				p.Stop(why)
			}
			if test.want.Cause == Finished {
				test.want.Cause = Cancelled
			}
			got := p.Wait()
			if strays := got.Leftovers > 0; strays != test.strays {
				t.Errorf("%d leftovers", got.Leftovers)
			}
			got.Duration, got.Leftovers = 0, 0
			if got != test.want {
				t.Errorf("exit %+v, want %+v", got, test.want)
			}
			if test.want.Cause == Leaving {
				awaitNone(t, mark) // a busy machine may need longer than there is time to wait
			} else if left := alive(mark); len(left) > 0 {
				left.release()
				t.Errorf("%d processes are left", len(left))
			}
		})
	}
}

// A program that ended by itself leaves a deaf member: it gets the same ladder, and a cancel during
// it is heard.
func TestLeftoverLadder(t *testing.T) {
	spec := shell(deafLeftover + "exit 3")
	spec.Grace = brief
	p, mark := inTree(t, spec)
	x := p.Wait()
	if x.Code != 3 || x.Leftovers != 1 || !x.Killed || x.Cause != Finished {
		t.Errorf("exit %+v", x)
	}
	awaitNone(t, mark)
}

func TestCancelDuringLeftoverLadder(t *testing.T) {
	spec := shell(deafLeftover + "exit 3")
	spec.Grace = time.Hour
	p, _ := inTree(t, spec)
	for unix.Kill(p.PID(), 0) != unix.ESRCH { // until it is reaped
		runtime.Gosched()
	}
	p.Stop(Cancelled)
	p.Stop(Cancelled)
	if x := p.Wait(); x.Cause != Cancelled || !x.Killed {
		t.Errorf("exit %+v", x)
	}
}

// A receiver that is stuck delays neither the signals nor the end of the group.
func TestStuckOutput(t *testing.T) {
	stuck, release := make(chan struct{}), make(chan struct{})
	spec := shell("yes & yes")
	first := true
	spec.Output = func([]byte) {
		if first {
			first = false
			close(stuck)
			<-release
		}
	}
	p, _ := launch(t, spec)
	<-stuck
	p.Stop(Cancelled)
	<-p.settled
	rest := (&group{id: p.PID(), reaped: true}).look()
	if rest.release(); len(rest) > 0 {
		t.Errorf("%d members of the group are still there", len(rest))
	}
	close(release)
	if x := p.Wait(); x.Signal != "SIGTERM" || x.HeldOutput {
		t.Errorf("exit %+v", x)
	}
}

// A group with more time of its own than we have when we leave stays with the guard, and may go on
// printing.
func TestHandOver(t *testing.T) {
	file := t.TempDir() + "/finished"
	spec := shell("trap 'done=1' TERM; echo up; while [ ! $done ]; do sleep 0.01; done; while [ ! -e " + file + ".go ]; do echo still here; sleep 0.01; done; echo end; echo ok >" + file)
	spec.Grace = time.Minute
	p, mark := inTree(t, spec)
	p.Stop(Leaving)
	x := p.Wait()
	if !x.Handed || x.Cause != Leaving || x.Code != -1 || x.Killed || x.Err != nil {
		t.Errorf("exit %+v", x)
	}
	if err := os.WriteFile(file+".go", nil, 0o600); err != nil {
		t.Fatal(err)
	}
	awaitNone(t, mark)
	if got, err := os.ReadFile(file); string(got) != "ok\n" {
		t.Errorf("the program did not finish: %q, %v", got, err)
	}
	ourGuard.forget(p.PID())
}

func TestStopBeforeAnything(t *testing.T) {
	for range 50 {
		p, _ := launch(t, shell("sleep 999"))
		p.Stop(Cancelled)
		if x := p.Wait(); x.Cause != Cancelled || x.Signal != "SIGTERM" {
			t.Fatalf("exit %+v", x)
		}
	}
}

func TestCauseString(t *testing.T) {
	for c, want := range map[Cause]string{Finished: "finished", Cancelled: "cancelled", TimedOut: "timed out", Leaving: "leaving", Aborted: "aborted", 99: "unknown"} {
		if got := c.String(); got != want || strings.TrimSpace(got) == "" {
			t.Errorf("%d is %q, want %q", int(c), got, want)
		}
	}
}

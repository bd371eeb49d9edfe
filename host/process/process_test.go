package process

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestPrograms(t *testing.T) {
	tests := []struct {
		name   string
		script string
		tty    bool
		want   Exit // Duration aside
		out    string
	}{
		{name: "exit code", script: "exit 3", want: Exit{Code: 3}},
		{name: "killed by a signal", script: "kill -SEGV $$", want: Exit{Code: 128 + 11, Signal: "SIGSEGV"}},
		{name: "order of stdout and stderr", script: "echo a; echo b >&2; echo c; echo d >&2", out: "a\nb\nc\nd\n"},
		{name: "stdin is empty", script: "cat; read x; echo $?", out: "1\n"},
		{name: "no controlling terminal", script: "(: </dev/tty) 2>/dev/null || echo none", out: "none\n"},
		{name: "descriptors", script: "exec ls /proc/self/fd", out: "0\n1\n2\n3\n"}, // 3 is the directory that ls reads
		{name: "leader of its group and session", script: `read -r _ _ _ _ g s _ </proc/$$/stat; [ $g = $$ ] && [ $s = $$ ] && echo yes`, out: "yes\n"},
		{name: "leftovers of the group", script: "sleep 999 & sleep 998 & echo hi", want: Exit{Leftovers: 2}, out: "hi\n"},
		{name: "leftovers of a leader that a signal ended", script: "sleep 999 & kill -KILL $$", want: Exit{Code: 137, Signal: "SIGKILL", Leftovers: 1}},
		{name: "terminal", script: "stty size; tty | grep -c pts; echo x >/dev/tty", tty: true, out: "24 80\r\n1\r\nx\r\n"},
		{name: "terminal, exit code", script: "exit 7", tty: true, want: Exit{Code: 7}},
		{name: "terminal, descriptors", script: "ls /proc/self/fd | wc -w", tty: true, out: "4\r\n"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			spec := shell(test.script)
			spec.TTY = test.tty
			p, out := launch(t, spec)
			got := p.Wait()
			if got.Duration <= 0 {
				t.Error("no duration")
			}
			got.Duration = 0
			if got != test.want {
				t.Errorf("exit %+v, want %+v", got, test.want)
			}
			if out.String() != test.out {
				t.Errorf("output %q, want %q", out, test.out)
			}
		})
	}
}

func TestTerminalSize(t *testing.T) {
	spec := shell("stty size")
	spec.TTY, spec.Cols, spec.Rows = true, 100, 30
	p, out := launch(t, spec)
	if p.Wait(); out.String() != "30 100\r\n" {
		t.Errorf("size %q", out)
	}
}

// A terminal's output is complete although the leader is gone before it is read.
func TestTerminalTail(t *testing.T) {
	spec := shell("seq 20000")
	spec.TTY = true
	var total int
	spec.Output = func(p []byte) { total += len(p) }
	p, _ := launch(t, spec)
	x := p.Wait()
	want := 0
	for i := 1; i <= 20000; i++ {
		want += len(strconv.Itoa(i)) + len("\r\n")
	}
	if total != want || x.HeldOutput {
		t.Errorf("%d bytes, want %d; exit %+v", total, want, x)
	}
}

func TestArgvDirEnv(t *testing.T) {
	dir := t.TempDir()
	p, out := launch(t, Spec{
		Path: "/bin/sh", Argv: []string{"odd name", "-c", `printf '%s|' "$0" "$@"; pwd; env | sort`, "zero", "a b", "$HOME;*", ""},
		Dir: dir, Env: []string{"A=1", TokenVar + "=old"},
	})
	p.Wait()
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	want := "zero|a b|$HOME;*||" + real + "\nA=1\n" + TokenVar + "=" + p.token() + "\nPWD=" + real + "\n"
	if out.String() != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

func TestTokensDiffer(t *testing.T) {
	a, _ := launch(t, shell(""))
	b, _ := launch(t, shell(""))
	a.Wait()
	b.Wait()
	prefixA, _, _ := strings.Cut(a.token(), ".")
	prefixB, _, _ := strings.Cut(b.token(), ".")
	if a.token() == b.token() || prefixA != prefixB || len(prefixA) != 32 {
		t.Errorf("tokens %s and %s", a.token(), b.token())
	}
}

// A process that left the group keeps running after its program ended by itself, and its hold on
// the output delays nothing.
func TestHeldOutput(t *testing.T) {
	mark := tree(t)
	// The shell goes only when its child has left the group.
	spec := shell(`setsid sleep 999 & while read -r _ _ _ _ g _ </proc/$!/stat && [ $g = $$ ]; do :; done; echo hi`)
	spec.Env = append(spec.Env, mark)
	p, out := launch(t, spec)
	x := p.Wait()
	if !x.HeldOutput || x.Leftovers != 0 || x.Code != 0 || x.Err != nil {
		t.Errorf("exit %+v", x)
	}
	if !strings.Contains(out.String(), "hi\n") {
		t.Errorf("output %q", out)
	}
	daemon := awaitSome(t, mark)
	defer daemon.release()
	daemon.signal(9)
	awaitNone(t, mark)
}

// A flood from outside the group is not read for ever.
func TestHeldOutputFlood(t *testing.T) {
	mark := tree(t)
	spec := shell(`setsid yes & while read -r _ _ _ _ g _ </proc/$!/stat && [ $g = $$ ]; do :; done`)
	spec.Env = append(spec.Env, mark)
	spec.Output = func([]byte) {}
	p, _ := launch(t, spec)
	if x := p.Wait(); !x.HeldOutput {
		t.Errorf("exit %+v", x)
	}
	awaitNone(t, mark) // yes is ended by SIGPIPE
}

func TestLargeOutput(t *testing.T) {
	const size = 64 << 20
	total := 0
	spec := shell("head -c 67108864 /dev/zero")
	spec.Output = func(p []byte) { total += len(p) }
	p, _ := launch(t, spec)
	if x := p.Wait(); total != size || x.Code != 0 || x.HeldOutput {
		t.Errorf("%d bytes, exit %+v", total, x)
	}
}

// What is in the pipe when the program ends is delivered, however late it is read.
func TestSlowReaderGetsAll(t *testing.T) {
	var total int
	first := make(chan struct{})
	spec := shell("head -c 900000 /dev/zero")
	spec.Output = func(p []byte) {
		if total == 0 {
			<-first
		}
		total += len(p)
	}
	p, _ := launch(t, spec)
	<-p.settled // the group is gone while the receiver is stuck
	close(first)
	if x := p.Wait(); total != 900000 || x.HeldOutput {
		t.Errorf("%d bytes, exit %+v", total, x)
	}
}

func TestOutputPanics(t *testing.T) {
	mark := tree(t)
	spec := shell("sleep 999 & echo hi; wait")
	spec.Env = append(spec.Env, mark)
	spec.Output = func([]byte) { panic("receiver is broken") }
	p, _ := launch(t, spec)
	x := p.Wait()
	if x.Cause != Aborted || x.Err == nil || !strings.Contains(x.Err.Error(), "receiver is broken") {
		t.Errorf("exit %+v", x)
	}
	awaitNone(t, mark)
}

func TestWaitByMany(t *testing.T) {
	p, _ := launch(t, shell("exit 4"))
	codes := make(chan int)
	for range 5 {
		go func() { codes <- p.Wait().Code }()
	}
	for range 5 {
		if code := <-codes; code != 4 {
			t.Errorf("code %d", code)
		}
	}
	p.Stop(Cancelled) // after the end: nothing happens
	if x := p.Wait(); x.Cause != Finished {
		t.Errorf("cause %v after the end", x.Cause)
	}
}

func TestStartTakesNoCancelledContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Start(ctx, shell("")); err != context.Canceled {
		t.Errorf("error %v", err)
	}
}

// The context of the start ends nothing later.
func TestContextBoundsOnlyTheStart(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	spec := shell("cat; exit 5")
	spec.TTY = true // cat waits
	up := new(printed)
	spec.Argv[2] = "echo up; cat"
	spec.Output = up.take
	p, err := Start(ctx, spec)
	if err != nil {
		t.Fatal(err)
	}
	up.await(t, "up")
	cancel()
	p.Stop(Cancelled)
	if x := p.Wait(); x.Cause != Cancelled {
		t.Errorf("exit %+v", x)
	}
}

func descriptors(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}

func TestNoDescriptorLeaks(t *testing.T) {
	run := func(spec Spec) {
		p, _ := launch(t, spec)
		p.Wait()
	}
	terminal := shell("")
	terminal.TTY = true
	run(shell(""))
	before := descriptors(t)
	for range 500 {
		run(Spec{Path: "/bin/true", Dir: "/"})
	}
	for range 10 {
		run(terminal)
		run(shell("sleep 999 & exit"))
		if _, err := Start(t.Context(), Spec{Path: "/nope", Dir: "/"}); err == nil {
			t.Fatal("a missing program was started")
		}
	}
	if after := descriptors(t); after != before {
		t.Errorf("%d descriptors, %d before", after, before)
	}
}

func TestTimeout(t *testing.T) {
	spec := shell("sleep 999 & sleep 998")
	spec.Timeout = 20 * time.Millisecond
	p, _ := launch(t, spec)
	if x := p.Wait(); x.Cause != TimedOut || x.Signal != "SIGTERM" || x.Code != 143 || x.Killed {
		t.Errorf("exit %+v", x)
	}
}

// A time limit that the program keeps leaves no trace.
func TestTimeoutKept(t *testing.T) {
	spec := shell("exit 1")
	spec.Timeout = time.Hour
	p, _ := launch(t, spec)
	if x := p.Wait(); x.Cause != Finished || x.Code != 1 {
		t.Errorf("exit %+v", x)
	}
}

package process

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/internal/testenv"
)

func interactive(t *testing.T, script string, tty bool) (*Process, *printed) {
	t.Helper()
	spec := shell(script)
	spec.Input, spec.TTY = true, tty
	p, out := launch(t, spec)
	t.Cleanup(func() { p.Stop(Cancelled); p.Wait() })
	return p, out
}

func typeIn(t *testing.T, p *Process, text string) {
	t.Helper()
	if _, err := p.Input().Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
}

func TestInputPipe(t *testing.T) {
	p, out := interactive(t, "cat; echo end", false)
	typeIn(t, p, "a\n")
	out.await(t, "a\n")
	typeIn(t, p, "b\n")
	if err := p.Input().Close(); err != nil {
		t.Error(err)
	}
	if x := p.Wait(); x.Code != 0 || x.Err != nil || x.HeldOutput {
		t.Errorf("exit %+v", x)
	}
	if out.String() != "a\nb\nend\n" {
		t.Errorf("output %q", out)
	}
}

func TestInputTerminal(t *testing.T) {
	p, out := interactive(t, "stty -echo; echo ready; cat; echo end", true)
	out.await(t, "ready\r\n")
	typeIn(t, p, "a\n")
	out.await(t, "a\r\n")
	typeIn(t, p, "\x04")
	if x := p.Wait(); x.Code != 0 || x.Err != nil || x.HeldOutput {
		t.Errorf("exit %+v", x)
	}
	if out.String() != "ready\r\na\r\nend\r\n" {
		t.Errorf("output %q", out)
	}
}

func TestNoInput(t *testing.T) {
	p, _ := launch(t, shell(""))
	defer p.Wait()
	if p.Input() != nil {
		t.Error("there is an input although none was asked for")
	}
	if err := p.Resize(80, 24); !errors.Is(err, ErrNoTerminal) {
		t.Errorf("resize: %v", err)
	}
}

// Input to a program that has ended fails, and neither blocks nor raises a signal.
func TestInputAfterTheEnd(t *testing.T) {
	for _, tty := range []bool{false, true} {
		p, _ := interactive(t, "exit", tty)
		p.Wait()
		if _, err := p.Input().Write([]byte("x")); err == nil {
			t.Errorf("tty %t: no error", tty)
		}
		if tty {
			if err := p.Resize(80, 24); err == nil {
				t.Error("a terminal that is gone was resized")
			}
		}
	}
}

// A program that does not read its input blocks a Write, and the Write ends with the program, or
// with Close.
func TestInputIsNotRead(t *testing.T) {
	for _, tty := range []bool{false, true} {
		for _, end := range []string{"stop", "close"} {
			p, out := interactive(t, "stty raw -echo 2>/dev/null; echo ready; exec sleep 999", tty)
			out.await(t, "ready")
			got := make(chan error)
			go func() {
				_, err := p.Input().Write(bytes.Repeat([]byte("x"), 1<<20))
				got <- err
			}()
			if end == "stop" {
				p.Stop(Cancelled)
			} else {
				p.Input().Close()
			}
			if err := <-got; err == nil {
				t.Errorf("tty %t, %s: all was written", tty, end)
			}
		}
	}
}

func TestResize(t *testing.T) {
	p, out := interactive(t, `trap 'stty size' WINCH; echo ready; while :; do read -r x; done`, true)
	out.await(t, "ready\r\n")
	if err := p.Resize(132, 50); err != nil {
		t.Fatal(err)
	}
	typeIn(t, p, "\n") // a shell that was told just before it reads runs its trap after that
	out.await(t, "50 132\r\n")
	// A deadline still ends a read after a resize: the master is non-blocking.
	if err := p.out.file.SetWriteDeadline(time.Now()); err != nil {
		t.Error(err)
	}
	if _, err := p.Input().Write([]byte("x")); !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("write after the deadline: %v", err)
	}
}

func TestLineMode(t *testing.T) {
	for script, want := range map[string]struct {
		eof      byte
		collects bool
	}{
		"echo ready; exec sleep 999":                         {4, true},
		"stty eof ^X; echo ready; exec sleep 999":            {24, true},
		"stty -icanon; echo ready; exec sleep 999":           {0, false},
		"stty raw; echo ready; exec sleep 999":               {0, false},
		"stty eof '^-' icanon; echo ready; exec sleep 999":   {0, true},
		"stty raw; stty cooked; echo ready; exec sleep 9999": {4, true},
	} {
		p, out := interactive(t, script, true)
		out.await(t, "ready")
		if eof, collects := p.Input().LineMode(); eof != want.eof || collects != want.collects {
			t.Errorf("%s: %d %t, want %+v", script, eof, collects, want)
		}
	}
	p, _ := interactive(t, "exec sleep 999", false)
	if _, collects := p.Input().LineMode(); collects {
		t.Error("a pipe collects lines")
	}
}

func TestErrorsApart(t *testing.T) {
	spec := shell("echo a; echo b >&2; echo c; echo d >&2")
	var errs printed
	ended := make(chan struct{})
	spec.Errors = errs.take
	spec.OutputEnd = func() { close(ended) }
	p, out := launch(t, spec)
	if x := p.Wait(); x.Code != 0 || x.Err != nil || x.HeldOutput {
		t.Errorf("exit %+v", x)
	}
	<-ended
	if out.String() != "a\nc\n" || errs.String() != "b\nd\n" {
		t.Errorf("output %q, errors %q", out, &errs)
	}
}

// The end of the output is told when the program closes it, not only when it ends.
func TestOutputEndBeforeTheEnd(t *testing.T) {
	spec := shell("exec >&- 2>&-; exec sleep 999")
	ended := make(chan struct{})
	spec.OutputEnd = func() { close(ended) }
	p, _ := launch(t, spec)
	<-ended
	p.Stop(Cancelled)
	p.Wait()
}

func TestReceiverOfErrorsPanics(t *testing.T) {
	spec := shell("echo x >&2; echo y; exec sleep 999")
	spec.Errors = func([]byte) { panic("no") }
	p, _ := launch(t, spec)
	if x := p.Wait(); x.Cause != Aborted || x.Err == nil || !strings.Contains(x.Err.Error(), "no") {
		t.Errorf("exit %+v", x)
	}
}

// Both outputs of a program that is left to the guard are read on: nothing ends it by SIGPIPE.
func TestErrorsAreHandedOver(t *testing.T) {
	done := t.TempDir() + "/done"
	spec := shell(`trap 'for i in $(seq 20); do echo out; echo err >&2 || exit 1; sleep 0.1; done; echo fine >` + done + `; exit' TERM; echo ready; while :; do sleep 0.05; done`)
	spec.Grace = time.Minute
	spec.Errors = func([]byte) {}
	p, out := launch(t, spec)
	out.await(t, "ready")
	p.Stop(Leaving)
	if x := p.Wait(); x.Handed {
		awaitGone(t, p.PID())
	}
	if text, err := os.ReadFile(done); err != nil || string(text) != "fine\n" {
		t.Errorf("%q, %v", text, err)
	}
}

// awaitGone waits until a group is empty.
func awaitGone(t *testing.T, id int) {
	t.Helper()
	g := group{id: id}
	for deadline := time.Now().Add(testenv.Hang); time.Now().Before(deadline); {
		left := g.look()
		if len(left) == 0 {
			return
		}
		left.await(deadline, nil)
		left.release()
	}
	t.Fatal("the group is still there")
}

package process

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/host/process/hopper"
	"github.com/chant-acp/chant-acp/internal/testenv"
	"go.uber.org/goleak"
	"golang.org/x/sys/unix"
)

// agentVar makes the test binary start the programs named in it, one shell script a line, and wait
// for their end and that of stdin. A line may begin with "tty:", with "grace:" (a minute of grace,
// and the agent leaves at EOF), with "leave:" (the agent leaves at EOF, with the usual grace), with
// "few:" (the agent has no descriptor left), with "later:" (a byte on stdin comes first), or with
// "limited:" (the agent has a hard limit on file locks).
const agentVar = "PROCESS_TEST_AGENT"

// holdVar names a file that the agent locks and gives to the guard.
const holdVar = "PROCESS_TEST_HOLD"

// treeVar marks all processes of one test, so that its survivors can be found.
const treeVar = "PROCESS_TEST_TREE"

// lowLimit is a limit on file locks that leaves no room for a mark.
const lowLimit = 100

func TestMain(m *testing.M) {
	GuardMain()
	hopper.Main()
	if scripts := os.Getenv(agentVar); scripts != "" {
		runAgent(scripts)
	}
	goleak.VerifyTestMain(m)
}

// runAgent is the process that tests kill.
func runAgent(scripts string) {
	if path := os.Getenv(holdVar); path != "" {
		if err := lockAndHold(path); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
	}
	var all sync.WaitGroup
	for script := range strings.Lines(scripts) {
		script, tty := strings.CutPrefix(strings.TrimSpace(script), "tty:")
		script, later := strings.CutPrefix(script, "later:")
		if later {
			_, _ = os.Stdin.Read(make([]byte, 1))
		}
		script, graceful := strings.CutPrefix(script, "grace:")
		script, leaving := strings.CutPrefix(script, "leave:")
		script, limited := strings.CutPrefix(script, "limited:")
		script, few := strings.CutPrefix(script, "few:")
		if few {
			limitDescriptors()
		}
		if limited {
			_ = unix.Prlimit(0, unix.RLIMIT_LOCKS, &unix.Rlimit{Cur: lowLimit, Max: lowLimit}, nil)
		}
		spec := shell(script)
		spec.TTY = tty
		if graceful {
			spec.Grace = time.Minute
		}
		spec.Output = func(p []byte) { _, _ = os.Stdout.Write(p) }
		p, err := Start(context.Background(), spec)
		if err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		all.Go(func() { p.Wait() })
		if leaving {
			all.Go(func() {
				_, _ = io.Copy(io.Discard, os.Stdin)
				p.Stop(Leaving)
			})
		}
		if graceful {
			all.Go(func() {
				_, _ = io.Copy(io.Discard, os.Stdin)
				p.Stop(Leaving)
				fmt.Printf("handed %t\n", p.Wait().Handed)
			})
		}
	}
	all.Wait()
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

// limitDescriptors lets this process open no further one.
func limitDescriptors() {
	f, err := os.Open(os.DevNull)
	if err != nil {
		return
	}
	limit := unix.Rlimit{Cur: uint64(f.Fd()), Max: uint64(f.Fd())}
	f.Close()
	_ = unix.Setrlimit(unix.RLIMIT_NOFILE, &limit)
}

// lockAndHold leaves the file open, as whoever holds a lock does.
func lockAndHold(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return err
	}
	_, err = Hold(context.Background(), f)
	return err
}

func shell(script string) Spec {
	return Spec{Path: "/bin/sh", Argv: []string{"sh", "-c", script}, Dir: "/", Env: os.Environ()}
}

// printed collects what a program prints and lets a test wait for a part of it.
type printed struct {
	mu    sync.Mutex
	text  bytes.Buffer
	wants map[string]chan struct{}
}

func (p *printed) take(b []byte) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text.Write(b)
	for want, ch := range p.wants {
		if strings.Contains(p.text.String(), want) {
			close(ch)
			delete(p.wants, want)
		}
	}
}

func (p *printed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.text.String()
}

// await waits until want was printed.
func (p *printed) await(t *testing.T, want string) {
	t.Helper()
	ch := make(chan struct{})
	p.mu.Lock()
	if p.wants == nil {
		p.wants = make(map[string]chan struct{})
	}
	p.wants[want] = ch
	p.mu.Unlock()
	p.take(nil)
	select {
	case <-ch:
	case <-time.After(testenv.Hang):
		t.Fatalf("%q was not printed; there is %q", want, p)
	}
}

// launch starts a program and collects its output.
func launch(t *testing.T, spec Spec) (*Process, *printed) {
	t.Helper()
	out := new(printed)
	if spec.Output == nil {
		spec.Output = out.take
	}
	p, err := Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	return p, out
}

// tree returns an environment entry that marks the processes of one test.
func tree(t *testing.T) string { return treeVar + "=" + t.Name() + "-" + fmt.Sprint(os.Getpid()) }

// alive returns the live processes that carry the mark, held.
func alive(mark string) members {
	var s scanner
	var found members
	s.each(func(pid, _ int) {
		buf := make([]byte, 128<<10)
		marked := func() bool {
			n := readProc(pid, "environ", buf)
			return bytes.Contains(buf[:n], []byte(mark+"\x00"))
		}
		if !marked() {
			return
		}
		if m, ok := hold(pid, marked); ok {
			found = append(found, m)
		}
	})
	return found
}

// awaitNone waits until no process carries the mark.
func awaitNone(t *testing.T, mark string) {
	t.Helper()
	deadline := time.Now().Add(testenv.Hang)
	for {
		left := alive(mark)
		if len(left) == 0 {
			return
		}
		left.await(deadline, nil)
		left.release()
		if time.Now().After(deadline) {
			t.Fatalf("%d processes are left", len(left))
		}
	}
}

// awaitSome looks until a process carries the mark: one that executes a program at the moment of a
// look shows none.
func awaitSome(t *testing.T, mark string) members {
	t.Helper()
	for range 10000 {
		if found := alive(mark); len(found) > 0 {
			return found
		}
	}
	t.Fatal("no process is left")
	return nil
}

package acptest

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/chant-acp/chant-acp/acp"
	hostprocess "github.com/chant-acp/chant-acp/host/process"
	"github.com/chant-acp/chant-acp/internal/stdio"
	"github.com/chant-acp/chant-acp/internal/testenv"
	"go.uber.org/goleak"
)

// The test binary is also the scripted agent as a process, and its program.
const (
	envBug    = "ACPTEST_SCRIPTED" // "ok" or a bug
	envStore  = "ACPTEST_STORE"
	envAsk    = "ACPTEST_ASK_FILE"
	envMarker = "ACPTEST_MARKER"
	envChild  = "ACPTEST_CHILD" // "obey": ends with its standard input; "stay": does not end
)

func TestMain(m *testing.M) {
	hostprocess.GuardMain()
	if mode := os.Getenv(envChild); mode != "" {
		beChild(mode)
	}
	if bug := os.Getenv(envBug); bug != "" {
		os.Exit(beAgent(bug))
	}
	testenv.SideBySide(12) // most of what is tried here waits for a hang
	goleak.VerifyTestMain(m)
}

func beChild(mode string) {
	if mode == "stay" {
		c := make(chan os.Signal, 1)
		signal.Notify(c, syscall.SIGTERM)
		<-c
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}

func beAgent(bug string) int {
	in, out, _, err := stdio.Takeover()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 2
	}
	a := newScripted(bug)
	a.store.dir = os.Getenv(envStore)
	a.askFile = os.Getenv(envAsk)
	a.slow = func(ctx context.Context) error { return runChild(ctx, bug) }
	a.release = make(chan struct{})
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	stop := make(chan struct{})
	go func() { // ends with the process
		for range signals {
			if bug != "ignores-signals" {
				close(stop)
				return
			}
		}
	}()
	switch bug {
	case "talks-on-stderr":
		fmt.Fprintln(os.Stderr, "starting up")
	case "leaks-stdout":
		c := childCommand("stay")
		c.Stdout = out
		c.SysProcAttr = ownGroup() // out of reach of a kill of the agent's group
		_ = c.Start()
	case "hog":
		hog := make([]byte, 160<<20)
		for i := 0; i < len(hog); i += 4096 {
			hog[i] = 1
		}
	}
	a.serve(acp.NewTransport(in, out), stop)
	if bug == "exits-3" {
		return 3
	}
	return 0
}

func childCommand(mode string) *exec.Cmd {
	c := exec.Command(os.Args[0], os.Getenv(envMarker))
	c.Env = append(os.Environ(), envChild+"="+mode)
	return c
}

// runChild runs the program of slow, which ends with its standard input, so
// that no death of the agent leaves it behind.
func runChild(ctx context.Context, bug string) error {
	mode := "obey"
	if bug == "leaves-programs" {
		mode = "stay"
	}
	c := childCommand(mode)
	c.SysProcAttr = ownGroup()
	end, err := c.StdinPipe()
	if err != nil {
		return err
	}
	if err := c.Start(); err != nil {
		return err
	}
	<-ctx.Done()
	end.Close()
	if bug == "leaves-programs" {
		return nil
	}
	return c.Wait()
}

var markers atomic.Int64

// scriptedProcess is the scripted agent as a process.
func scriptedProcess(t *testing.T, bug string) Agent {
	marker := fmt.Sprintf("acptest-%d-%d", os.Getpid(), markers.Add(1))
	t.Cleanup(func() { // what a bug has left behind
		for _, pid := range withArgument(marker) {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	a := scriptedPrompts(t)
	a.Marker, a.Durable = marker, true
	a.MaxMemory = 512 << 20
	a.Dial = Spawn([]string{os.Args[0]}, append(os.Environ(),
		"GORACE=atexit_sleep_ms=0", // else each process of a -race build takes a second to end
		envBug+"="+bug, envStore+"="+t.TempDir(), envAsk+"="+a.AskFile, envMarker+"="+marker), "/")
	return a
}

// scriptedHere is the scripted agent within the test process.
func scriptedHere(t *testing.T, bug string) Agent {
	a := scriptedPrompts(t)
	shared := &store{sessions: map[string]*past{}}
	a.Durable = true
	a.Dial = func(t *testing.T) *Wire {
		release := make(chan struct{})
		w := Pipe(func(transport acp.Transport) {
			s := newScripted(bug)
			s.askFile, s.release = a.AskFile, release
			if bug != "forgets" {
				s.store = shared
			}
			s.serve(transport, nil)
		})(t)
		t.Cleanup(func() { close(release) }) // before Pipe's own
		return w
	}
	return a
}

func scriptedPrompts(t *testing.T) Agent {
	return Agent{
		Cwd: t.TempDir(), OK: "true", Fail: "false", Hello: "hello", Refused: "nonsense", Slow: "slow", Stubborn: "stubborn", Big: "big", Awkward: "awkward", Ask: "ask",
		AskFile: filepath.Join(t.TempDir(), "asked"), Schema: SchemaPath(), Strict: true, MaxWrite: 32 << 10,
		Rounds: 30,
	}
}

package acptest

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"sync"
	"testing"
	"time"
)

// process is the agent's process behind a Wire.
type process struct {
	cmd    *exec.Cmd
	stderr lockedBuffer
}

// Spawn returns a Dial for an agent that is a process of its own, leader of a
// process group. env nil is the environment of the test; dir "" is its working
// directory. Its group is killed at the end of the test.
func Spawn(argv []string, env []string, dir string) func(*testing.T) *Wire {
	return func(t *testing.T) *Wire {
		t.Helper()
		w, err := spawn(argv, env, dir)
		if err != nil {
			t.Fatalf("the agent %q can't be started: %v", argv, err)
		}
		t.Cleanup(func() {
			_ = w.SignalGroup(os.Kill) // most often it is gone by now
			if err := w.shutdown(); err != nil {
				t.Errorf("the agent %q could not be reaped: %v", argv, err)
			}
		})
		return w
	}
}

func spawn(argv, env []string, dir string) (*Wire, error) {
	agentIn, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, agentOut, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	p := &process{cmd: exec.Command(argv[0], argv[1:]...)}
	p.cmd.Env, p.cmd.Dir = env, dir
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = agentIn, agentOut, &p.stderr
	p.cmd.SysProcAttr = ownGroup()
	p.cmd.WaitDelay = time.Second // a survivor may hold stderr open
	err = p.cmd.Start()
	agentIn.Close()
	agentOut.Close()
	if err != nil {
		in.Close()
		out.Close()
		return nil, err
	}
	gone := make(chan struct{})
	go func() { // waited for by Wire.shutdown
		defer close(gone)
		_ = p.cmd.Wait() // how it ended stands in ProcessState
	}()
	w := newWire(in, out, gone)
	w.proc = p
	return w, nil
}

// Pid is the process id of the agent, 0 for one within the test process.
func (w *Wire) Pid() int {
	if w.proc == nil {
		return 0
	}
	return w.proc.cmd.Process.Pid
}

// Signal signals the agent's process.
func (w *Wire) Signal(s os.Signal) error {
	if w.proc == nil {
		return errNoProcess
	}
	return w.proc.cmd.Process.Signal(s)
}

// SignalGroup signals the process group of the agent.
func (w *Wire) SignalGroup(s os.Signal) error {
	if w.proc == nil {
		return errNoProcess
	}
	return signalGroup(w.Pid(), s)
}

// ExitCode waits for the process to end; -1 is a death by signal.
func (w *Wire) ExitCode(ctx context.Context) (int, error) {
	if w.proc == nil {
		return 0, errNoProcess
	}
	if err := w.Wait(ctx); err != nil {
		return 0, err
	}
	return w.proc.cmd.ProcessState.ExitCode(), nil
}

// Stderr is what the process has written to standard error so far.
func (w *Wire) Stderr() string {
	if w.proc == nil {
		return ""
	}
	return w.proc.stderr.String()
}

type lockedBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

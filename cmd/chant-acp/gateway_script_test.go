package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/chant-acp/chant-acp/runtime/gateway"
)

// background is a process whose output is waited for.
type background struct {
	cmd  *exec.Cmd
	read sync.WaitGroup

	mu    sync.Mutex
	text  bytes.Buffer
	moved chan struct{} // closed and replaced when text has grown, closed for good at its end
	over  bool
}

// inBackground starts a process; both outputs are one. end must be called.
func inBackground(c *exec.Cmd) (*background, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	b := &background{cmd: c, moved: make(chan struct{})}
	c.Stdout, c.Stderr = write, write
	err = c.Start()
	write.Close()
	if err != nil {
		read.Close()
		return nil, err
	}
	b.read.Go(func() {
		defer read.Close()
		b.collect(bufio.NewReader(read))
	})
	return b, nil
}

func (b *background) collect(r *bufio.Reader) {
	for {
		line, err := r.ReadString('\n')
		b.mu.Lock()
		b.text.WriteString(line)
		b.over = err != nil
		close(b.moved)
		if !b.over {
			b.moved = make(chan struct{})
		}
		b.mu.Unlock()
		if err != nil {
			return
		}
	}
}

// expect waits for a line.
func (b *background) expect(pattern string) error {
	re, err := regexp.Compile("(?m)" + pattern)
	if err != nil {
		return err
	}
	late := time.After(patience)
	for {
		b.mu.Lock()
		found, over, moved, text := re.Match(b.text.Bytes()), b.over, b.moved, b.text.String()
		b.mu.Unlock()
		if found {
			return nil
		}
		if over {
			return fmt.Errorf("it ended without %s:\n%s", pattern, text)
		}
		select {
		case <-moved:
		case <-late:
			return fmt.Errorf("%s did not come:\n%s", pattern, text)
		}
	}
}

// end sends a signal, waits for the end, and wants an exit code. A signal of 0 is
// none.
func (b *background) end(sig syscall.Signal, code int) error {
	_ = b.cmd.Process.Signal(sig) // it may have ended
	kill := time.AfterFunc(patience, func() { _ = b.cmd.Process.Kill() })
	defer kill.Stop()
	b.read.Wait()
	_ = b.cmd.Wait() // how it ended is looked at
	if got := b.cmd.ProcessState.ExitCode(); got != code {
		return fmt.Errorf("it exited with %d, not %d:\n%s", got, code, b.text.String())
	}
	return nil
}

// serveWorkspace is a gateway for a folder, which is ended with the test.
func serveWorkspace(t *testing.T, dir string) *background {
	t.Helper()
	b, err := inBackground(program(t, "gateway", "--workspace", dir, "--port", "0"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.end(syscall.SIGKILL, -1) }) // most often it is gone by now
	if err := b.expect("serves"); err != nil {
		t.Fatal(err)
	}
	return b
}

// startTerminal starts a terminal at the gateway of a folder.
func startTerminal(dir, name string, argv []string) error {
	at, err := gateway.Find(dir)
	if err != nil {
		return err
	}
	body, err := json.Marshal(map[string]any{"name": name, "argv": argv})
	if err != nil {
		return err
	}
	r, err := http.NewRequest(http.MethodPost, at.URL+"/sessions/terminal", bytes.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+at.Token)
	r.Header.Set("Content-Type", "application/json")
	r.Close = true
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if answer.StatusCode != http.StatusCreated {
		return errors.Join(fmt.Errorf("status %d: %s", answer.StatusCode, text), err)
	}
	return nil
}

// scriptProcesses are the processes of one script, by name.
type scriptProcesses map[string]*background

// processesKey is where a script keeps them.
type processesKey struct{}

// begin starts a process and waits for a line of its output: begin NAME PATTERN
// chant-acp ...
func begin(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: begin name pattern program [argument ...]")
	}
	path, err := exec.LookPath(args[2])
	ts.Check(err)
	c := exec.Command(path, args[3:]...)
	c.Dir, c.Env = ts.MkAbs("."), []string{}
	for _, name := range []string{"HOME", "PATH", "TMPDIR", raceOptions} {
		c.Env = append(c.Env, name+"="+ts.Getenv(name))
	}
	b, err := inBackground(c)
	ts.Check(err)
	ts.Defer(func() { _ = b.end(syscall.SIGKILL, -1) }) // most often it is gone by now
	ts.Value(processesKey{}).(scriptProcesses)[args[0]] = b
	ts.Check(b.expect(args[1]))
}

// prints waits for a line of what begin started: prints NAME PATTERN.
func prints(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: prints name pattern")
	}
	ts.Check(ts.Value(processesKey{}).(scriptProcesses)[args[0]].expect(args[1]))
}

// end ends what begin started and wants an exit code of 0: end NAME [SIGNAL].
func end(ts *testscript.TestScript, neg bool, args []string) {
	signals := map[string]syscall.Signal{"INT": syscall.SIGINT, "TERM": syscall.SIGTERM}
	if neg || len(args) == 0 || len(args) > 2 {
		ts.Fatalf("usage: end name [INT|TERM]")
	}
	var sig syscall.Signal
	if len(args) == 2 {
		sig = signals[args[1]]
	}
	ts.Check(ts.Value(processesKey{}).(scriptProcesses)[args[0]].end(sig, 0))
}

// startSession starts a terminal: start DIR NAME PROGRAM [ARGUMENT ...].
func startSession(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: start folder name program [argument ...]")
	}
	dir, err := filepath.EvalSymlinks(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Check(startTerminal(dir, args[1], args[2:]))
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/internal/testenv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait of these tests; a wait that long is a hang.
const patience = testenv.Hang

// manifest is what the processes of these tests run. MARK is an argument that
// no other process on the machine has.
const manifest = `version: 1
commands:
  hello: {summary: Say hello, exec: [echo, hello], effect: read}
  fail: {summary: Fail, exec: ["false"], effect: read}
  wait: {summary: Wait, exec: [sh, -c, 'echo started; exec sleep MARK'], effect: read}
  tree: {summary: 'Wait, with helpers that do not go', exec: [sh, -c, 'trap "" TERM HUP INT; setsid sleep MARK & sleep MARK & echo started; sleep MARK; sleep MARK'], effect: read}
  stream: {summary: Print for ever, exec: [yes, MARK], effect: read}
  fds: {summary: List what is open, exec: [ls, -l, /proc/self/fd], effect: read}
  stubborn: {summary: End only when killed, exec: [sh, -c, 'trap "touch asked" TERM; echo started; while :; do sleep MARK & wait; done'], grace: 5m, effect: read}
  tidy: {summary: Take time to end, exec: [sh, -c, 'trap "until test -e go; do sleep 0.01; done; touch finished; exit" TERM; echo started; while :; do sleep 0.01; done', MARK], grace: 1m, effect: read}
  destroy: {summary: Destroy, exec: [echo, it is gone], effect: destroy}
  ask: {summary: Ask first, exec: [echo, it was allowed], confirm: ask}
  screen: {summary: Ask the terminal, exec: [sh, -c, 'tty; echo started; read -r line'], effect: read, tty: true}
`

// fixture makes a directory with the manifest.
func fixture(t *testing.T) (dir, mark string) {
	t.Helper()
	dir, mark = t.TempDir(), fmt.Sprintf("36%05d.%09d", rand.N(100_000), rand.N(1_000_000_000))
	text := strings.ReplaceAll(manifest, "MARK", mark)
	if err := os.WriteFile(filepath.Join(dir, "chant-acp.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return dir, mark
}

// program is chant-acp as a process, with a state folder of its own.
func program(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	c := exec.Command(binary(t), args...)
	c.Env = append(os.Environ(), "CHANT_ACP_STATE="+filepath.Join(t.TempDir(), "state"), "CHANT_ACP_TOKEN=") // a person's, whoever runs the tests
	return c
}

// served is an agent that serves over pipes.
type served struct {
	t       *testing.T
	cmd     *exec.Cmd
	in, out *os.File
	lines   *bufio.Reader
	stderr  bytes.Buffer
	ended   chan error
	dir     string
	session string
}

// message is a line of the agent, as far as these tests look at it.
type message struct {
	ID     json.RawMessage
	Method string
	Params struct {
		Update struct{ SessionUpdate, Status string }
	}
	Result struct {
		SessionID  string `json:"sessionId"`
		StopReason string `json:"stopReason"`
		Meta       struct{ Chant struct{ Outcome string } }
	}
	Error *struct{ Message string }
	raw   string
}

// UnmarshalJSON reads _meta under its own name.
func (m *message) UnmarshalJSON(raw []byte) error {
	type plain message
	var meta struct {
		Result struct {
			Meta struct{ Chant struct{ Outcome string } } `json:"_meta"`
		}
	}
	if err := json.Unmarshal(raw, (*plain)(m)); err != nil {
		return err
	}
	err := json.Unmarshal(raw, &meta)
	m.Result.Meta = meta.Result.Meta
	return err
}

// serveIn starts an agent and opens a session in dir. files are handed down as
// descriptors 3 and up.
func serveIn(t *testing.T, dir string, files ...*os.File) *served {
	t.Helper()
	s := serveWith(t, program(t), dir, files...)
	s.open("session/new", "")
	return s
}

// serveWith starts an agent for dir.
func serveWith(t *testing.T, cmd *exec.Cmd, dir string, files ...*os.File) *served {
	t.Helper()
	s := &served{t: t, dir: dir, cmd: cmd, ended: make(chan error, 1)}
	agentIn, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, agentOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	s.in, s.out, s.lines = in, out, bufio.NewReader(out)
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr, s.cmd.ExtraFiles = agentIn, agentOut, &s.stderr, files
	s.cmd.WaitDelay = patience
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	agentIn.Close()
	agentOut.Close()
	go func() { s.ended <- s.cmd.Wait() }() // waited for by exit, or ended by the clean-up
	t.Cleanup(func() {
		_ = s.cmd.Process.Kill() // most often it is gone by now
		in.Close()
		out.Close()
	})
	s.send(`{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":1,"clientInfo":{"name":"test","version":"1"}}}`)
	s.answer("init")
	return s
}

// open is session/new, session/load or session/resume. It returns all that was
// said, answer and all.
func (s *served) open(method, id string) string {
	s.t.Helper()
	s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"open","method":%q,"params":{"sessionId":%q,"cwd":%q,"mcpServers":[]}}`, method, id, s.dir))
	var said strings.Builder
	for {
		m := s.next()
		said.WriteString(m.raw)
		if string(m.ID) != `"open"` {
			continue
		}
		if m.Error != nil {
			s.t.Fatalf("%s failed: %s", method, m.Error.Message)
		}
		if s.session = id; id == "" {
			s.session = m.Result.SessionID
		}
		return said.String()
	}
}

func (s *served) send(line string) {
	s.t.Helper()
	if _, err := s.in.WriteString(line + "\n"); err != nil {
		s.t.Fatal(err)
	}
}

func (s *served) prompt(line string) {
	s.t.Helper()
	s.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":"turn","method":"session/prompt","params":{"sessionId":%q,"prompt":[{"type":"text","text":%q}]}}`, s.session, line))
}

// next reads one line.
func (s *served) next() message {
	s.t.Helper()
	if err := s.out.SetReadDeadline(time.Now().Add(patience)); err != nil {
		s.t.Fatal(err)
	}
	line, err := s.lines.ReadString('\n')
	if err != nil {
		s.t.Fatalf("reading what the agent says: %v; standard error: %s", err, s.stderr.String())
	}
	var m message
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		s.t.Fatalf("the line %q: %v", line, err)
	}
	m.raw = line
	return m
}

// answer reads up to the response to id.
func (s *served) answer(id string) message {
	s.t.Helper()
	for {
		m := s.next()
		if string(m.ID) == `"`+id+`"` {
			if m.Error != nil {
				s.t.Fatalf("%s failed: %s", id, m.Error.Message)
			}
			return m
		}
	}
}

// running starts a prompt and reads until its program has printed something.
func (s *served) running(line, printed string) {
	s.t.Helper()
	s.prompt(line)
	for {
		m := s.next()
		if m.Method == "" {
			s.t.Fatalf("%q should be running, and ended: %s", line, m.raw)
		}
		if strings.HasPrefix(m.Params.Update.SessionUpdate, "tool_call_update") && strings.Contains(m.raw, printed) {
			return
		}
	}
}

// exit waits for the end of the process and wants its exit code to be 0 and its
// standard error empty.
func (s *served) exit() {
	s.t.Helper()
	select {
	case err := <-s.ended:
		if err != nil {
			s.t.Errorf("the agent ended with: %v", err)
		}
		if s.stderr.Len() > 0 {
			s.t.Errorf("standard error holds %q, which clients show to people", s.stderr.String())
		}
	case <-time.After(patience):
		s.t.Fatal("the agent is still there")
	}
}

// withArgument lists the processes that have the argument.
func withArgument(arg string) []string {
	paths, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is valid
	return slices.DeleteFunc(paths, func(path string) bool {
		raw, err := os.ReadFile(path) // an error means that it ended meanwhile
		return err != nil || !slices.Contains(strings.Split(string(raw), "\x00"), arg)
	})
}

// await looks until done says so. What is waited for here are processes that
// are not our children and files: nothing tells when they come and go.
func await(t *testing.T, what string, done func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !done() {
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("gave up waiting: %s", what)
		}
	}
}

func noSurvivors(t *testing.T, mark string) {
	t.Helper()
	await(t, "processes of the turn are still there", func() bool { return len(withArgument(mark)) == 0 })
}

func TestNullInput(t *testing.T) {
	c := program(t)
	var out, errs bytes.Buffer
	c.Stdout, c.Stderr = &out, &errs // standard input is the null device
	if err := c.Run(); err != nil {
		t.Errorf("chant-acp </dev/null: %v", err)
	}
	if out.Len()+errs.Len() > 0 {
		t.Errorf("it said %q and %q, and should say nothing", out.String(), errs.String())
	}
}

func TestLeaving(t *testing.T) {
	signal := func(sig syscall.Signal) func(*served) error {
		return func(s *served) error { return s.cmd.Process.Signal(sig) }
	}
	for name, leave := range map[string]func(*served) error{
		"end of input": func(s *served) error { return s.in.Close() },
		"SIGTERM":      signal(syscall.SIGTERM),
		"SIGHUP":       signal(syscall.SIGHUP),
		"SIGINT":       signal(syscall.SIGINT),
	} {
		t.Run(name+", idle", func(t *testing.T) {
			t.Parallel()
			dir, _ := fixture(t)
			s := serveIn(t, dir)
			if err := leave(s); err != nil {
				t.Fatal(err)
			}
			s.exit()
		})
		t.Run(name+", busy", func(t *testing.T) {
			t.Parallel()
			dir, mark := fixture(t)
			s := serveIn(t, dir)
			s.running("tree", "started")
			if err := leave(s); err != nil {
				t.Fatal(err)
			}
			r := s.answer("turn").Result
			if r.StopReason != "cancelled" || r.Meta.Chant.Outcome != "interrupted" {
				t.Errorf("the open turn ended %q (%q), want cancelled (interrupted)", r.StopReason, r.Meta.Chant.Outcome)
			}
			s.exit()
			noSurvivors(t, mark)
		})
	}
}

// TestClosedOutputWhileIdle closes what the client reads, and not what it writes.
func TestClosedOutputWhileIdle(t *testing.T) {
	dir, _ := fixture(t)
	s := serveIn(t, dir)
	if err := s.out.Close(); err != nil {
		t.Fatal(err)
	}
	s.exit()
}

func TestClosedOutput(t *testing.T) {
	dir, mark := fixture(t)
	s := serveIn(t, dir)
	s.running("stream", mark)
	if err := s.out.Close(); err != nil {
		t.Fatal(err)
	}
	s.exit()
	noSurvivors(t, mark)
}

// TestGraceOutlivesAgent leaves with a command whose manifest gives it time to
// end, which it then has, under the guard.
func TestGraceOutlivesAgent(t *testing.T) {
	t.Parallel()
	dir, mark := fixture(t)
	s := serveIn(t, dir)
	s.running("tidy", "started")
	if err := s.in.Close(); err != nil {
		t.Fatal(err)
	}
	if r := s.answer("turn").Result; r.Meta.Chant.Outcome != "interrupted" {
		t.Errorf("the open turn's outcome is %q, want interrupted", r.Meta.Chant.Outcome)
	}
	s.exit()
	if len(withArgument(mark)) == 0 {
		t.Fatal("the command was ended before its grace was over")
	}
	if err := os.WriteFile(filepath.Join(dir, "go"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	await(t, "the command did not come to its end", func() bool {
		_, err := os.Stat(filepath.Join(dir, "finished"))
		return err == nil
	})
	noSurvivors(t, mark)
}

func TestKilledAgent(t *testing.T) {
	dir, mark := fixture(t)
	s := serveIn(t, dir)
	s.running("tree", "started")
	await(t, "three programs with the mark", func() bool { return len(withArgument(mark)) >= 3 })
	if err := s.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	noSurvivors(t, mark)
}

func TestDescriptors(t *testing.T) {
	stray, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer stray.Close()
	dir, _ := fixture(t)
	s := serveIn(t, dir, stray, stray, stray)
	s.prompt("fds")
	var text strings.Builder
	for {
		m := s.next()
		if m.Method == "" {
			break
		}
		if m.Params.Update.SessionUpdate == "tool_call_update" {
			text.WriteString(m.raw)
		}
	}
	var open []string
	for entry := range strings.SplitSeq(text.String(), `\n`) {
		fd, target, ok := strings.Cut(entry, " -> ")
		if !ok || strings.HasSuffix(target, "/fd") { // the listing's own
			continue
		}
		open = append(open, fd[strings.LastIndexByte(fd, ' ')+1:])
	}
	if !slices.Equal(open, []string{"0", "1", "2"}) {
		t.Errorf("a program has the descriptors %q open, want 0, 1 and 2: %s", open, text.String())
	}
	s.in.Close()
	s.exit()
}

func TestSilentInNormalUse(t *testing.T) {
	dir, _ := fixture(t)
	s := serveIn(t, dir)
	for _, line := range []string{"hello", "fail", "nope", "help", "destroy", "explain hello", `open "`} {
		s.prompt(line)
		s.answer("turn")
	}
	s.running("wait", "started")
	s.send(fmt.Sprintf(`{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":%q}}`, s.session))
	if r := s.answer("turn").Result; r.StopReason != "cancelled" {
		t.Errorf("a cancelled turn ended %q", r.StopReason)
	}
	s.in.Close()
	s.exit()
}

// prompting is a running chant-acp prompt without a terminal.
func prompting(t *testing.T, dir, line string) (c *exec.Cmd, out *bufio.Reader) {
	t.Helper()
	c = program(t, "prompt", "--cwd", dir, line)
	pipe, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() }) // most often it is gone by now
	if err := pipe.(*os.File).SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	return c, bufio.NewReader(pipe)
}

func readUntil(t *testing.T, r *bufio.Reader, want string) {
	t.Helper()
	for {
		line, err := r.ReadString('\n')
		if line == want+"\n" {
			return
		}
		if err != nil {
			t.Fatalf("%q did not come: %v", want, err)
		}
	}
}

func finish(t *testing.T, c *exec.Cmd, r *bufio.Reader, code int, want string) {
	t.Helper()
	var rest strings.Builder
	if _, err := r.WriteTo(&rest); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // how it ended is looked at
	if got := c.ProcessState.ExitCode(); got != code {
		t.Errorf("the exit code is %d, want %d", got, code)
	}
	if !strings.Contains(rest.String(), want) {
		t.Errorf("the end is %q, want it to say %q", rest.String(), want)
	}
}

func TestPromptInterrupted(t *testing.T) {
	t.Parallel()
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		t.Run(fmt.Sprint(sig), func(t *testing.T) {
			dir, mark := fixture(t)
			c, out := prompting(t, dir, "wait")
			readUntil(t, out, "started")
			if err := c.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			finish(t, c, out, console.Cancelled, "`wait` was cancelled after ")
			noSurvivors(t, mark)
		})
	}
	t.Run("twice", func(t *testing.T) {
		dir, mark := fixture(t)
		c, out := prompting(t, dir, "stubborn")
		readUntil(t, out, "started")
		if err := c.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		await(t, "the program was not asked to end", func() bool {
			_, err := os.Stat(filepath.Join(dir, "asked"))
			return err == nil
		})
		if err := c.Process.Signal(os.Interrupt); err != nil {
			t.Fatal(err)
		}
		finish(t, c, out, console.Cancelled, "It did not end when asked, so it was killed.")
		noSurvivors(t, mark)
	})
}

// TestPromptOutputClosed is chant-acp prompt LINE | head: it ends, and what it
// started too.
func TestPromptOutputClosed(t *testing.T) {
	dir, mark := fixture(t)
	c := program(t, "prompt", "--cwd", dir, "--output", "full", "stream")
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.Stdout = in
	err = c.Start()
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Process.Kill() }) // most often it is gone by now
	readUntil(t, bufio.NewReader(out), mark)
	out.Close()
	_ = c.Wait() // SIGPIPE ends it, as it ends any program there
	noSurvivors(t, mark)
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/creack/pty"
	"golang.org/x/sys/unix"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/runtime/gateway"
)

// actor plays a gateway with one terminal, as a test wants it. What a real one
// does is tested by scripts; this is for what a real one does seldom.
type actor struct {
	t       *testing.T
	dir     string
	query   string // of the WebSocket
	conn    *websocket.Conn
	frames  chan map[string]any // from the client, closed when it is gone
	joined  chan struct{}       // closed when there is one
	playing sync.WaitGroup

	mu   sync.Mutex
	info string // of the session, as JSON
}

const shell = `{"id":"s1","name":"she\u001b[31mll","kind":"terminal","state":"running","argv":["sh"],"started":"2026-01-02T03:04:05Z"}`

// refusedInput is input that the actor does not take.
const refusedInput = "refuse"

func act(t *testing.T) *actor {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	a := &actor{t: t, dir: dir, info: shell, frames: make(chan map[string]any, 100), joined: make(chan struct{})}
	s := httptest.NewServer(a)
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
		a.playing.Wait()
	})
	folder := filepath.Join(dir, ".chant-acp")
	if err := os.Mkdir(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	lock, err := os.OpenFile(filepath.Join(folder, "gateway.lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { lock.Close() })
	if err := unix.Flock(int(lock.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(gateway.Running{Version: 1, URL: s.URL, Token: "secret", PID: os.Getpid(), Workspace: dir, Started: time.Now()})
	if err == nil {
		err = os.WriteFile(filepath.Join(folder, "runtime.json"), raw, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func (a *actor) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	a.playing.Add(1)
	defer a.playing.Done()
	switch r.URL.Path {
	case "/sessions/s1", "/sessions/shell":
		a.mu.Lock()
		defer a.mu.Unlock()
		_, _ = io.WriteString(w, a.info)
	case "/sessions":
		a.mu.Lock()
		defer a.mu.Unlock()
		fmt.Fprintf(w, `{"sessions":[%s]}`, a.info)
	case "/sessions/s1/pty":
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			a.t.Error(err)
			return
		}
		defer conn.CloseNow()
		conn.SetReadLimit(1 << 20)
		a.conn, a.query = conn, r.URL.RawQuery
		close(a.joined)
		a.read()
	default:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"type":"x#not-found","detail":"there is no session of that id or name\u001b]0;x\u0007"}`)
	}
}

// is says what the session is from now on.
func (a *actor) is(info string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.info = info
}

// read takes frames, and answers pings, until the client is gone.
func (a *actor) read() {
	defer close(a.frames)
	for {
		_, raw, err := a.conn.Read(context.Background())
		if err != nil {
			return
		}
		var f map[string]any
		if err := json.Unmarshal(raw, &f); err != nil {
			a.t.Errorf("a frame is no JSON: %v", err)
		}
		if f["kind"] == "ping" {
			a.send(`{"kind":"pong"}`)
			continue
		}
		if f["data"] == refusedInput {
			a.send(`{"kind":"error","detail":"it does not read"}`)
		}
		a.frames <- f
	}
}

func (a *actor) send(text string) {
	if err := a.conn.Write(context.Background(), websocket.MessageText, []byte(text)); err != nil {
		a.t.Logf("sending %s: %v", text, err)
	}
}

// next returns the next frame, nil when the client is gone.
func (a *actor) next() map[string]any {
	a.t.Helper()
	select {
	case f := <-a.frames:
		return f
	case <-time.After(patience):
		a.t.Fatal("no frame came")
		return nil
	}
}

// input collects input until all of want is there.
func (a *actor) input(want string) {
	a.t.Helper()
	got := ""
	for got != want {
		f := a.next()
		if f == nil || len(got) > len(want) {
			a.t.Fatalf("the input is %q, want %q", got, want)
		}
		if f["kind"] == "input" {
			got += f["data"].(string)
		}
	}
}

// size waits for a size.
func (a *actor) size(cols, rows int) {
	a.t.Helper()
	for {
		f := a.next()
		if f == nil {
			a.t.Fatalf("the size %d x %d did not come", cols, rows)
		}
		if f["kind"] == "resize" && f["cols"] == float64(cols) && f["rows"] == float64(rows) {
			return
		}
	}
}

// gone waits for the client to leave.
func (a *actor) gone() {
	a.t.Helper()
	for a.next() != nil {
	}
}

func (a *actor) join() {
	a.t.Helper()
	select {
	case <-a.joined:
	case <-time.After(patience):
		a.t.Fatal("nobody attached")
	}
}

// attachOn attaches on a terminal of 100 by 30, and returns how that was before.
func (a *actor) attachOn() (*terminal, *unix.Termios) {
	a.t.Helper()
	master, tty, err := pty.Open() // one like that which it gets
	if err != nil {
		a.t.Fatal(err)
	}
	defer master.Close()
	defer tty.Close()
	x := onPTYOf(a.t, program(a.t, "attach", "--workspace", a.dir, "shell"), 100, 30)
	a.join()
	return x, termios(a.t, tty)
}

func termios(t *testing.T, f *os.File) *unix.Termios {
	t.Helper()
	state, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return state
}

// restored wants a terminal to be as it was.
func (x *terminal) restored(was *unix.Termios) {
	x.t.Helper()
	if now := termios(x.t, x.master); *now != *was {
		x.t.Errorf("the terminal was left as %+v, and was %+v", *now, *was)
	}
}

func TestAttachOnTerminal(t *testing.T) {
	a := act(t)
	x, was := a.attachOn()
	if a.query != "cols=100&rows=30" {
		t.Errorf("the size was told as %q", a.query)
	}
	a.send(`{"kind":"data","data":"\u001b[?1049h\u001b[?25lready"}`)
	x.expect("ready")
	if now := termios(t, x.master); now.Lflag&(unix.ICANON|unix.ECHO|unix.ISIG) != 0 {
		t.Error("the terminal is not in raw mode")
	}
	x.typed("é\x03\x1a\x1d\x1d")
	a.input("é\x03\x1a\x1d")
	if err := pty.Setsize(x.master, &pty.Winsize{Cols: 81, Rows: 25}); err != nil {
		t.Fatal(err)
	}
	a.size(81, 25)
	x.typed("last\x1dd")
	a.input("last")
	a.gone()
	text := x.exit(console.OK)
	x.restored(was)
	if want := "\x1b[?25h\x1b[?1049l\x1b[0m\x1b>"; !strings.Contains(text, want) {
		t.Errorf("the terminal was not set back: %q", text)
	}
	if want := "[detached from shell, which runs on]"; !strings.Contains(text, want) {
		t.Errorf("it does not say %q: %q", want, text)
	}
}

func TestAttachEnds(t *testing.T) {
	for name, c := range map[string]struct {
		do   func(*actor)
		code int
		says string
	}{
		"exit":             {func(a *actor) { a.send(`{"kind":"exit","exitCode":0}`) }, 0, "[shell has ended with the exit code 0]"},
		"exit code":        {func(a *actor) { a.send(`{"kind":"exit","exitCode":7}`) }, 7, "[shell has ended with the exit code 7]"},
		"signal":           {func(a *actor) { a.send(`{"kind":"exit","exitCode":137,"signal":"SIGKILL"}`) }, 137, "[shell was ended by SIGKILL]"},
		"not seen":         {func(a *actor) { a.send(`{"kind":"exit","exitCode":null}`) }, 1, "nobody saw how"},
		"dropped":          {func(a *actor) { _ = a.conn.Close(websocket.StatusPolicyViolation, "slow: took nothing for 5s") }, 1, "took nothing for too long"},
		"cut, and runs on": {func(a *actor) { _ = a.conn.CloseNow() }, 1, "took nothing for too long"},
		"cut": {func(a *actor) {
			a.is(strings.Replace(shell, "running", "ended", 1))
			_ = a.conn.CloseNow()
		}, 1, "the connection to the gateway broke"},
		"gateway stops": {func(a *actor) { _ = a.conn.Close(websocket.StatusGoingAway, "the gateway stops") }, 1, "the gateway stops"},
	} {
		t.Run(name, func(t *testing.T) {
			a := act(t)
			x, was := a.attachOn()
			a.send(`{"kind":"data","data":"ready"}`)
			x.expect("ready")
			c.do(a)
			if text := x.exit(c.code); !strings.Contains(text, c.says) {
				t.Errorf("it does not say %q: %q", c.says, text)
			}
			x.restored(was)
		})
	}
}

func TestAttachSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT, syscall.SIGQUIT} {
		t.Run(fmt.Sprint(sig), func(t *testing.T) {
			a := act(t)
			x, was := a.attachOn()
			a.send(`{"kind":"data","data":"ready"}`)
			x.expect("ready")
			x.signal(sig)
			a.gone()
			if text := x.exit(console.Cancelled); !strings.Contains(text, "shell runs on") {
				t.Errorf("it does not say that the session runs on: %q", text)
			}
			x.restored(was)
		})
	}
}

// TestAttachSuspended stops it, as a shell would, and lets it go on.
func TestAttachSuspended(t *testing.T) {
	a := act(t)
	x, was := a.attachOn()
	a.send(`{"kind":"data","data":"\u001b[?2004hready"}`)
	x.expect("ready")
	x.signal(syscall.SIGTSTP)
	await(t, "it did not stop", func() bool {
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", x.pid()))
		_, state, _ := strings.Cut(string(raw), ") ")
		return err == nil && strings.HasPrefix(state, "T")
	})
	x.restored(was)
	x.signal(syscall.SIGCONT)
	x.expect(`ready\x1b\[\?2004l\x1b\[0m\x1b>\x1b\[\?2004h`)
	await(t, "it is not in raw mode again", func() bool { return termios(t, x.master).Lflag&unix.ICANON == 0 })
	x.typed("on\x1dd")
	a.input("on")
	x.exit(console.OK)
	x.restored(was)
}

// TestAttachRefusedInput says what a program does not take, and goes on.
func TestAttachRefusedInput(t *testing.T) {
	a := act(t)
	x, _ := a.attachOn()
	x.typed(refusedInput)
	x.expect(`\[it does not read\]`)
	x.typed("x\x1dd")
	a.input(refusedInput + "x")
	x.exit(console.OK)

	a = act(t)
	c, out, errs := a.piped(strings.NewReader(refusedInput))
	a.input(refusedInput)
	a.send(`{"kind":"data","data":"on"}`)
	a.send(`{"kind":"exit","exitCode":0}`)
	text, _ := io.ReadAll(out)
	if err := c.Wait(); err != nil || string(text) != "on" || errs.String() != "chant-acp: it does not read\n" {
		t.Errorf("%v, %q, %q", err, text, errs)
	}
}

// piped attaches without a terminal.
func (a *actor) piped(in io.Reader) (c *exec.Cmd, out *os.File, errs *strings.Builder) {
	a.t.Helper()
	c = program(a.t, "attach", "--workspace", a.dir, "shell")
	read, write, err := os.Pipe()
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { read.Close() })
	errs = &strings.Builder{}
	c.Stdin, c.Stdout, c.Stderr = in, write, errs
	c.WaitDelay = patience
	err = c.Start()
	write.Close()
	if err != nil {
		a.t.Fatal(err)
	}
	a.t.Cleanup(func() { _ = c.Process.Kill() }) // most often it is gone by now
	if err := read.SetReadDeadline(time.Now().Add(patience)); err != nil {
		a.t.Fatal(err)
	}
	a.join()
	return c, read, errs
}

func TestAttachPiped(t *testing.T) {
	a := act(t)
	in := strings.Repeat("é€😀\x1dd\n", 5000) // runes lie across all borders, and no key detaches
	c, out, errs := a.piped(strings.NewReader(in))
	if a.query != "" {
		t.Errorf("without a terminal the size was told as %q", a.query)
	}
	a.input(in)
	a.send(`{"kind":"data","data":"\u001b[31mout\r\n"}`)
	a.send(`{"kind":"exit","exitCode":5}`)
	text, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Wait() // how it ended is looked at
	if string(text) != "\x1b[31mout\r\n" || c.ProcessState.ExitCode() != 5 || errs.Len() > 0 {
		t.Errorf("%q, exit code %d, %q", text, c.ProcessState.ExitCode(), errs)
	}
}

// TestAttachOutputStuck wants a signal to end it even where nobody reads what it
// prints.
func TestAttachOutputStuck(t *testing.T) {
	a := act(t)
	c, out, errs := a.piped(nil)
	a.send(`{"kind":"data","data":"` + strings.Repeat("x", 1<<20) + `"}`)
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil { // it has begun, and minds signals
		t.Fatal(err)
	}
	if err := c.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	a.gone()
	_ = c.Wait() // how it ended is looked at
	if c.ProcessState.ExitCode() != console.Cancelled {
		t.Errorf("exit code %d, %q", c.ProcessState.ExitCode(), errs)
	}
}

// TestAttachOutputClosed is chant-acp attach SESSION | head.
func TestAttachOutputClosed(t *testing.T) {
	a := act(t)
	c, out, errs := a.piped(nil)
	out.Close()
	a.send(`{"kind":"data","data":"x"}`)
	a.gone()
	_ = c.Wait() // how it ended is looked at
	if c.ProcessState.ExitCode() != console.Failed || errs.Len() > 0 {
		t.Errorf("exit code %d, %q", c.ProcessState.ExitCode(), errs)
	}
}

func TestAttachRefuses(t *testing.T) {
	for name, c := range map[string]struct{ info, session, says string }{
		"no terminal": {strings.Replace(shell, "terminal", "agent", 1), "shell", "shell is no terminal, but of the kind agent"},
		"not there":   {shell, "nope", "there is no session of that id or name"},
	} {
		t.Run(name, func(t *testing.T) {
			a := act(t)
			a.is(c.info)
			out, err := program(t, "attach", "--workspace", a.dir, c.session).CombinedOutput()
			if err == nil || !strings.Contains(string(out), c.says) || strings.ContainsAny(string(out), "\x1b\x07") {
				t.Errorf("%v: %q", err, out)
			}
		})
	}
}

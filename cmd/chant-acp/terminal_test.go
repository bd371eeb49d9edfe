package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/creack/pty"
)

// terminal is a process on a terminal. The leader of its session is a shell, as
// where people type, and stays when the process is gone: the kernel drops what was
// printed just before the end of a leader.
type terminal struct {
	t      *testing.T
	leader *os.Process
	master *os.File
	done   chan struct{} // closed when nothing more is printed
	code   int           // the exit code; -1 where none was seen

	mu    sync.Mutex
	text  []byte
	moved chan struct{} // closed and replaced when text has grown
}

const leader = `trap : INT; "$@"; printf '\001%d\001' $?; exec sleep 999`

// ending is what the leader prints of the exit code.
var ending = regexp.MustCompile("\x01(\\d+)\x01$")

func onPTY(t *testing.T, c *exec.Cmd) *terminal {
	t.Helper()
	return onPTYOf(t, c, 0, 0)
}

// onPTYOf is onPTY with a size.
func onPTYOf(t *testing.T, c *exec.Cmd, cols, rows uint16) *terminal {
	t.Helper()
	sh := exec.Command("/bin/sh", append([]string{"-c", leader, "sh"}, c.Args...)...)
	sh.Args[4], sh.Env, sh.Dir = c.Path, c.Env, c.Dir
	master, err := pty.StartWithSize(sh, &pty.Winsize{Cols: cols, Rows: rows})
	if err != nil {
		t.Fatal(err)
	}
	x := &terminal{t: t, leader: sh.Process, master: master, done: make(chan struct{}), code: -1, moved: make(chan struct{})}
	go x.read() // ends with the leader, at the latest
	t.Cleanup(func() {
		_ = sh.Process.Kill() // which hangs up
		_ = sh.Wait()
		<-x.done
		master.Close()
	})
	return x
}

// read collects until the process has ended.
func (x *terminal) read() {
	defer close(x.done)
	buf := make([]byte, 4096)
	for {
		n, err := x.master.Read(buf)
		x.mu.Lock()
		x.text = append(x.text, bytes.ReplaceAll(buf[:n], []byte("\r\n"), []byte("\n"))...)
		if m := ending.FindSubmatch(x.text[max(0, len(x.text)-len("\x01255\x01")):]); m != nil {
			x.text = bytes.TrimSuffix(x.text, m[0])
			x.code, _ = strconv.Atoi(string(m[1])) // digits
			err = io.EOF
		}
		close(x.moved)
		x.moved = make(chan struct{})
		x.mu.Unlock()
		if err != nil {
			return
		}
	}
}

func (x *terminal) look() (string, <-chan struct{}) {
	x.mu.Lock()
	defer x.mu.Unlock()
	return string(x.text), x.moved
}

// expect waits for text and returns the submatches.
func (x *terminal) expect(pattern string) []string {
	x.t.Helper()
	return x.expectAfter(0, pattern)
}

// expectAfter is expect for what comes after the first n bytes.
func (x *terminal) expectAfter(n int, pattern string) []string {
	x.t.Helper()
	re := regexp.MustCompile(pattern)
	late := time.After(patience)
	for {
		text, moved := x.look()
		if m := re.FindStringSubmatch(text[n:]); m != nil {
			return m
		}
		select {
		case <-moved:
		case <-x.done:
			if text, _ := x.look(); !re.MatchString(text[n:]) {
				x.t.Fatalf("%s did not come; the terminal shows:\n%s", pattern, text)
			}
		case <-late:
			x.t.Fatalf("%s did not come; the terminal shows:\n%s", pattern, text)
		}
	}
}

func (x *terminal) typed(s string) {
	x.t.Helper()
	if _, err := x.master.WriteString(s); err != nil {
		x.t.Fatal(err)
	}
}

// pid is the process's id.
func (x *terminal) pid() int {
	x.t.Helper()
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%[1]d/task/%[1]d/children", x.leader.Pid))
	if err != nil {
		x.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(raw)))
	if err != nil {
		x.t.Fatalf("the leader has not one child, but %q", raw)
	}
	return pid
}

func (x *terminal) signal(sig syscall.Signal) {
	x.t.Helper()
	if err := syscall.Kill(x.pid(), sig); err != nil {
		x.t.Fatal(err)
	}
}

// exit waits for the end and wants its code.
func (x *terminal) exit(code int) string {
	x.t.Helper()
	select {
	case <-x.done:
	case <-time.After(patience):
		text, _ := x.look()
		x.t.Fatalf("it is still there; the terminal shows:\n%s", text)
	}
	text, _ := x.look()
	if got := x.code; got != code {
		x.t.Errorf("the exit code is %d, want %d; the terminal shows:\n%s", got, code, text)
	}
	return text
}

// On a terminal nobody speaks the protocol: it says what it is and what to do.
func TestServeOnTerminal(t *testing.T) {
	for _, args := range [][]string{nil, {"serve"}, {"--output", "full"}} {
		x := onPTY(t, program(t, args...))
		text := x.exit(console.Usage)
		for _, want := range []string{"an agent for editors", "chant-acp prompt --cwd", "chant-acp setup", "chant-acp check", "chant-acp --help"} {
			if !strings.Contains(text, want) {
				t.Errorf("chant-acp %q on a terminal does not mention %q:\n%s", args, want, text)
			}
		}
	}
}

func TestPromptOnTerminal(t *testing.T) {
	t.Parallel()
	const ctrlC = "\x03"
	for name, test := range map[string]struct {
		line, question string
		typed          func(m []string) string
		code           int
		says           string
		not            string
	}{
		"the code":          {"destroy", `Type confirm (\w{6}) to run it: `, func(m []string) string { return "confirm " + m[1] + "\n" }, console.OK, "it is gone", ""},
		"another code":      {"destroy", `Type confirm (\w{6}) to run it: `, func([]string) string { return "confirm aaaaaa\n" }, console.Waiting, "", "it is gone"},
		"only enter":        {"destroy", `Type confirm (\w{6}) to run it: `, func([]string) string { return "\n" }, console.Waiting, "", "it is gone"},
		"Ctrl-C at a code":  {"destroy", `Type confirm (\w{6}) to run it: `, func([]string) string { return ctrlC }, console.Cancelled, "", "it is gone"},
		"yes":               {"ask", `Run it\? \[y/N\] `, func([]string) string { return "y\n" }, console.OK, "it was allowed", ""},
		"Yes":               {"ask", `Run it\? \[y/N\] `, func([]string) string { return "Yes\n" }, console.OK, "it was allowed", ""},
		"no":                {"ask", `Run it\? \[y/N\] `, func([]string) string { return "n\n" }, console.Refused, "was not run: it was rejected", "it was allowed\n"},
		"nothing":           {"ask", `Run it\? \[y/N\] `, func([]string) string { return "\n" }, console.Refused, "was not run: it was rejected", "it was allowed\n"},
		"end of input":      {"ask", `Run it\? \[y/N\] `, func([]string) string { return "\x04" }, console.Refused, "was not run: it was rejected", "it was allowed\n"},
		"Ctrl-C at yes":     {"ask", `Run it\? \[y/N\] `, func([]string) string { return ctrlC }, console.Cancelled, "", "it was allowed\n"},
		"Ctrl-C at a run":   {"wait", `started`, func([]string) string { return ctrlC }, console.Cancelled, "`wait` was cancelled after", ""},
		"Ctrl-C at a tty":   {"screen", `/dev/pts/\d+\s+started`, func([]string) string { return ctrlC }, console.Cancelled, "`screen` was cancelled after", ""},
		"nothing to answer": {"hello", `hello\n`, func([]string) string { return "" }, console.OK, "`hello` completed in", ""},
	} {
		t.Run(name, func(t *testing.T) {
			dir, mark := fixture(t)
			x := onPTY(t, program(t, "prompt", "--cwd", dir, test.line))
			x.typed(test.typed(x.expect(test.question)))
			text := x.exit(test.code)
			if !strings.Contains(text, test.says) {
				t.Errorf("the terminal does not show %q:\n%s", test.says, text)
			}
			if _, after, _ := strings.Cut(text, "confirm"); test.not != "" && strings.Contains(after, "\n"+test.not) {
				t.Errorf("it ran:\n%s", text)
			}
			noSurvivors(t, mark)
		})
	}
}

package main

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/spf13/cobra"
)

// printing says for each command how to make it print. What serve writes is a
// protocol: there a client that is gone is an end like others.
var printing = map[string][][]string{
	"chant-acp":                    {{"--help"}, {"-h"}},
	"chant-acp serve":              {{"--help"}},
	"chant-acp gateway":            {{"--workspace", "DIR", "--port", "0"}},
	"chant-acp gateway capability": {{"--help"}},
	"chant-acp heartbeat":          {nil},
	"chant-acp heartbeat status":   {{"--workspace", "DIR"}},
	"chant-acp heartbeat trust":    {{"--workspace", "DIR", "--yes"}},
	"chant-acp heartbeat untrust":  {{"--workspace", "DIR"}},
	"chant-acp prompt":             {{"--cwd", "DIR", "hello"}, {"--json", "--cwd", "DIR", "hello"}, {"--cwd", "DIR", "help"}},
	"chant-acp allow":              {{"--yes", "DIR"}, {"--forget", "DIR"}},
	"chant-acp check":              {{"DIR"}},
	"chant-acp init":               {{"--help"}},
	"chant-acp ops":                {{"DIR"}, {"../../testdata/project"}, {"--json", "../../testdata/project"}},
	"chant-acp version":            {nil},
	"chant-acp setup":              {{"zed"}, {"jetbrains"}},
	"chant-acp sessions":           {nil},
	"chant-acp sessions list":      {nil, {"--json"}},
	"chant-acp sessions show":      {{"ID"}, {"--json", "ID"}},
	"chant-acp sessions export":    {{"ID"}, {"--output", "/dev/full", "ID"}},
	"chant-acp config":             {nil},
	"chant-acp config path":        {nil},
	"chant-acp config list":        {nil, {"--json"}},
	"chant-acp config get":         {{"log.max"}, {"--profile", "p", "agent"}},
	"chant-acp config set":         {{"--help"}},
	"chant-acp config unset":       {{"--help"}},
	"chant-acp config edit":        {{"--help"}, nil},
	"chant-acp schema":             {{"config"}, {"manifest"}},
	"chant-acp attach":             {{"--help"}},
	"chant-acp events":             {{"--help"}},
	"chant-acp kill":               {{"--help"}},
	"chant-acp ps":                 {{"--workspace", "GATEWAY"}, {"--workspace", "GATEWAY", "--json"}},
	// These two remove what they name, and so come last.
	"chant-acp sessions prune":  {{"--older-than", "1ns", "--dry-run"}, {"--older-than", "1ns"}},
	"chant-acp sessions delete": {{"ID"}},

	"chant-acp help":                  {nil, {"sessions", "list"}},
	"chant-acp completion":            {nil},
	"chant-acp completion bash":       {nil, {"--no-descriptions"}},
	"chant-acp completion zsh":        {nil},
	"chant-acp completion fish":       {nil},
	"chant-acp completion powershell": {nil},
}

// commandPaths are those of all commands. What is below a command of chant-acpd, its
// help says.
func commandPaths(t *testing.T) []string {
	t.Helper()
	paths := pathsOf(newRoot(console.NewStreams(os.Stdin, os.Stdout, os.Stderr), nil))
	for _, c := range daemonCommands {
		help, err := exec.Command(binary(t), c.name, "-h").Output()
		if err != nil {
			t.Fatal(err)
		}
		_, below, _ := strings.Cut(string(help), "\nAvailable Commands:\n")
		below, _, _ = strings.Cut(below, "\n\n")
		for line := range strings.Lines(below) {
			paths = append(paths, "chant-acp "+c.name+" "+strings.Fields(line)[0])
		}
	}
	return paths
}

func pathsOf(c *cobra.Command) []string {
	paths := []string{c.CommandPath()}
	for _, sub := range c.Commands() {
		paths = append(paths, pathsOf(sub)...)
	}
	return paths
}

// keptSession is an agent that has left, and kept a session with one turn.
func keptSession(t *testing.T) (s *served, dir, mark string) {
	t.Helper()
	dir, mark = fixture(t)
	text := "```chant\nevery: 1h\nhello\n```\n"
	if err := os.WriteFile(filepath.Join(dir, "HEARTBEAT.md"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s = serveIn(t, dir)
	s.turn("hello")
	s.in.Close()
	s.exit()
	return s, dir, mark
}

// unwritable are standard outputs that can't be written, and why.
func unwritable(t *testing.T) map[string]*os.File {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip(err)
	}
	readOnly, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		full.Close()
		readOnly.Close()
	})
	return map[string]*os.File{"no space left on device": full, "bad file descriptor": readOnly}
}

// What was to be printed and could not be is never exit code 0, whatever the
// command.
func TestLostOutput(t *testing.T) {
	paths := commandPaths(t)
	if want := slices.Sorted(maps.Keys(printing)); !slices.Equal(slices.Sorted(slices.Values(paths)), want) {
		t.Fatalf("the commands are\n%q, this test knows\n%q", paths, want)
	}
	removing := func(path string) int { return strings.Count(path, "prune") + 2*strings.Count(path, "delete") }
	slices.SortStableFunc(paths, func(a, b string) int { return removing(a) - removing(b) })
	for why, out := range unwritable(t) {
		t.Run(why, func(t *testing.T) {
			s, dir, _ := keptSession(t)
			played := act(t)
			t.Setenv("EDITOR", "true")
			t.Setenv("VISUAL", "")
			s.configure(`{"log": {"max": 5}, "profiles": {"p": {"agent": {}}}}`)
			for _, path := range paths {
				if strings.HasSuffix(path, "delete") { // prune has removed it
					s, dir, _ = keptSession(t)
					s.configure(`{}`)
				}
				for _, args := range printing[path] {
					args = append(strings.Fields(path)[1:], args...)
					for i, arg := range args {
						args[i] = strings.NewReplacer("DIR", dir, "GATEWAY", played.dir, "ID", s.session).Replace(arg)
					}
					want := why
					if slices.Contains(args, "--output") {
						want = "no space left on device"
					}
					code, said := printTo(t, s, out, args)
					if code != console.Failed || strings.Count(said, want) != 1 || strings.Contains(said, "chant-acp --help") {
						t.Errorf("chant-acp %q exited with %d, want 1, and says %s, want once %q", args, code, said, want)
					}
				}
			}
		})
	}
}

// printTo runs a command over the state of s with a standard output.
func printTo(t *testing.T, s *served, out *os.File, args []string) (code int, said string) {
	t.Helper()
	var text bytes.Buffer
	c := exec.Command(binary(t), args...)
	c.Env, c.Stdout, c.Stderr = s.cmd.Env, out, &text
	_ = c.Run() // how it ended is looked at
	return c.ProcessState.ExitCode(), text.String()
}

// A turn's own exit code says more than that its output was lost.
func TestLostOutputKeepsTheCode(t *testing.T) {
	dir, _ := fixture(t)
	for line, code := range map[string]int{"nope": console.Refused, "destroy": console.Waiting, "fail": console.Failed} {
		for why, out := range unwritable(t) {
			var said bytes.Buffer
			c := program(t, "prompt", "--cwd", dir, line)
			c.Stdout, c.Stderr = out, &said
			_ = c.Run() // how it ended is looked at
			if got := c.ProcessState.ExitCode(); got != code || !strings.Contains(said.String(), why) {
				t.Errorf("prompt %s exited with %d, want %d, and said %s", line, got, code, &said)
			}
		}
	}
	var said bytes.Buffer
	c := program(t, "check", t.TempDir())
	c.Stderr = &said
	if err := c.Run(); err == nil || strings.Contains(said.String(), "standard output") {
		t.Errorf("nothing was printed, so nothing is lost: %s", &said)
	}
}

// Who reads no further, as head does, needs no words about it.
func TestOutputNobodyReads(t *testing.T) {
	s, dir, mark := keptSession(t)
	for _, args := range [][]string{
		{"version"}, {"help"}, {"check", dir}, {"sessions", "list"}, {"sessions", "show", s.session}, {"sessions", "export", s.session},
		{"completion", "zsh"}, {"prompt", "--cwd", dir, "hello"}, {"prompt", "--cwd", dir, "--output", "full", "stream"},
	} {
		out, in, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		out.Close()
		var said bytes.Buffer
		c := exec.Command(binary(t), args...)
		c.Env, c.Stdout, c.Stderr = s.cmd.Env, in, &said
		err = c.Run()
		in.Close()
		if status := c.ProcessState.Sys().(syscall.WaitStatus); err == nil || !status.Signaled() || status.Signal() != syscall.SIGPIPE {
			t.Errorf("chant-acp %q ended with %v, want SIGPIPE", args, err)
		}
		if said.Len() > 0 {
			t.Errorf("chant-acp %q says %s", args, &said)
		}
	}
	noSurvivors(t, mark)
}

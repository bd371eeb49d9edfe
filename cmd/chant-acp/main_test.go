package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/chant-acp/chant-acp/internal/testenv"
)

var update = flag.Bool("update", false, "write the golden files anew")

const raceOptions = "GORACE"

// TestMain builds both executables, once, and puts them first on PATH.
func TestMain(m *testing.M) {
	if os.Getenv(raceOptions) == "" {
		_ = os.Setenv(raceOptions, "atexit_sleep_ms=0") // else each process stays a second longer under -race
	}
	// What the person who runs the tests has configured is not theirs.
	_ = os.Setenv("CHANT_ACP_CONFIG", filepath.Join(os.TempDir(), "chant-acp-none", "config.json"))
	// Their projects are their own: what is allowed is tested where it is not so.
	_ = os.Setenv("CHANT_ACP_AGENT_ALLOW", "always")
	_ = os.Setenv("CHANT_ACP_CONVERSATIONS_WORKSPACE", "true")
	testenv.SideBySide(6) // most of them wait for a process
	bin, err := build()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	_ = os.Setenv("PATH", bin+string(filepath.ListSeparator)+os.Getenv("PATH"))
	code := m.Run()
	_ = os.RemoveAll(bin)
	os.Exit(code)
}

// build builds both executables as this test was built, race detector and all.
func build() (dir string, err error) {
	dir, err = os.MkdirTemp("", "chant-acp-bin-")
	if err != nil {
		return "", err
	}
	args := []string{"build", "-ldflags=-w", "-o", dir}
	if raced {
		args = append(args, "-race")
	}
	out, err := exec.Command("go", append(args, ".", "../chant-acpd")...).CombinedOutput()
	if err != nil {
		_ = os.RemoveAll(dir)
		return "", fmt.Errorf("building the executables: %w\n%s", err, out)
	}
	return dir, nil
}

// binary is the path under which the command is found.
func binary(t *testing.T) string {
	t.Helper()
	path, err := exec.LookPath("chant-acp")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func TestScripts(t *testing.T) {
	chant := binary(t)
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       *update,
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, "home")
			e.Setenv("HOME", home)
			e.Setenv("CHANT_ACP_AGENT_ALLOW", "always")
			e.Setenv("CHANT", chant)
			e.Setenv("CHANTD", filepath.Join(filepath.Dir(chant), "chant-acpd"))
			e.Setenv(raceOptions, os.Getenv(raceOptions))
			e.Values[processesKey{}] = scriptProcesses{}
			return os.Mkdir(home, 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"exits": exits, "jsonlines": jsonLines, "speak": speak, "logs": logs,
			"begin": begin, "prints": prints, "end": end, "start": startSession},
	})
}

// exits runs a program and wants one exit code: exits 3 chant-acp prompt nope.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits code program [argument ...]")
	}
	want, err := strconv.Atoi(args[0])
	if err != nil {
		ts.Fatalf("%q is no exit code", args[0])
	}
	got := 0
	err = ts.Exec(args[1], args[2:]...)
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		got, err = exit.ExitCode(), nil
	}
	if err != nil {
		ts.Fatalf("%v", err)
	}
	if got != want {
		ts.Fatalf("%s exited with %d, not %d", strings.Join(args[1:], " "), got, want)
	}
}

// jsonLines wants each line of the last standard output to be one JSON object.
func jsonLines(ts *testscript.TestScript, _ bool, _ []string) {
	for line := range strings.Lines(ts.ReadFile("stdout")) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			ts.Fatalf("%q is no JSON object: %v", line, err)
		}
	}
}

// TestHelp holds the help of every command: it is documentation, and changes
// on purpose only.
func TestHelp(t *testing.T) {
	for _, path := range commandPaths(t) {
		t.Run(path, func(t *testing.T) {
			got, err := exec.Command(binary(t), append(strings.Fields(path)[1:], "-h")...).Output()
			if err != nil {
				t.Fatal(err)
			}
			golden(t, filepath.Join("testdata", "help", strings.ReplaceAll(path, " ", "-")+".txt"), got)
		})
	}
}

// golden compares with a file, or writes it with -update.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("%s differs; got:\n%s\nwant:\n%s\nIf it is meant to, run: go test ./cmd/chant-acp -run TestHelp -update", file, got, want)
	}
}

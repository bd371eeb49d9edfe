package main

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/cmd/chant-acp/internal/console"
	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write the golden files anew")

const raceOptions = "GORACE"

// TestMain makes this test binary the command itself where it is started under
// the command's name: scripts and processes of these tests run the real main,
// race detector and all.
func TestMain(m *testing.M) {
	if os.Getenv(raceOptions) == "" {
		_ = os.Setenv(raceOptions, "atexit_sleep_ms=0") // else each process stays a second longer under -race
	}
	if filepath.Base(os.Args[0]) != "chant-acp" { // what the person who runs the tests has configured is not theirs
		_ = os.Setenv("CHANT_ACP_CONFIG", filepath.Join(os.TempDir(), "chant-acp-none", "config.json"))
	}
	testscript.Main(m, map[string]func(){"chant-acp": main})
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
			e.Setenv("CHANT", chant)
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
	for _, path := range commandPaths(newRoot(console.NewStreams(os.Stdin, os.Stdout, os.Stderr))) {
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

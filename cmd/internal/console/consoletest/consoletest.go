// Package consoletest runs commands in the process of a test: with streams of its
// own, and without building the program.
//
// [Run] takes a command and its arguments, and gives a [Result].
package consoletest

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
)

// Result is how a command ended.
type Result struct {
	Code     int // the exit code
	Out, Err string
}

// Run runs a command line of the command that is made of streams. Its standard
// input is empty, and nothing is a terminal.
func Run(t testing.TB, command func(console.Streams) *cobra.Command, args ...string) Result {
	t.Helper()
	dir := t.TempDir()
	in, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	var files [2]*os.File
	for i, name := range []string{"out", "err"} {
		if files[i], err = os.Create(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
		defer files[i].Close()
	}
	std := console.NewStreams(in, files[0], files[1])
	c := command(std)
	c.SilenceUsage, c.SilenceErrors = true, true // as the root of the program has it
	c.SetIn(std.In)
	c.SetOut(std.Out)
	c.SetErr(std.Err)
	c.SetArgs(append([]string{}, args...)) // nil would be those of the test
	r := Result{Code: std.End(c.Execute())}
	for i, text := range []*string{&r.Out, &r.Err} {
		raw, err := os.ReadFile(files[i].Name())
		if err != nil {
			t.Fatal(err)
		}
		*text = string(raw)
	}
	return r
}

package main

import (
	"bytes"
	"context"
	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// An input that can't be read is no end of input.
func TestUnreadableInput(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	for name, in := range map[string]struct {
		path string
		flag int
		says string
	}{
		"a folder":                   {t.TempDir(), os.O_RDONLY, "is a directory"},
		"a file only to write":       {file, os.O_WRONLY | os.O_CREATE, "bad file descriptor"},
		"a null device only written": {os.DevNull, os.O_WRONLY, "bad file descriptor"},
	} {
		f, err := os.OpenFile(in.path, in.flag, 0o600)
		if err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{nil, {"serve"}, {"serve", "--no-store"}} {
			var out, said bytes.Buffer
			c := program(t, args...)
			c.Stdin, c.Stdout, c.Stderr = f, &out, &said
			_ = c.Run() // how it ended is looked at
			if code := c.ProcessState.ExitCode(); code != console.Failed {
				t.Errorf("%s: chant-acp %q exited with %d, want 1", name, args, code)
			}
			for _, want := range []string{"standard input can't be read", in.says, "chant-acp prompt"} {
				if strings.Count(said.String(), want) != 1 {
					t.Errorf("%s: chant-acp %q does not say once %q: %s", name, args, want, &said)
				}
			}
			if out.Len() > 0 {
				t.Errorf("%s: chant-acp %q wrote %s", name, args, &out)
			}
		}
		f.Close()
	}
}

// Of a pipe that is only written to, a reader would wait for ever.
func TestInputThatIsOnlyWritten(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	defer write.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, binary(t))
	var said bytes.Buffer
	c.Stdin, c.Stderr = write, &said
	if err := c.Run(); c.ProcessState.ExitCode() != console.Failed || !strings.Contains(said.String(), "standard input can't be read") {
		t.Errorf("the writing end of a pipe: %v, %s", err, &said)
	}
}

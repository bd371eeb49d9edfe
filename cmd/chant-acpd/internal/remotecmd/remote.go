package remotecmd

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/internal/termtext"
	"github.com/chant-acp/chant-acp/runtime/gateway"
	"github.com/chant-acp/chant-acp/runtime/gateway/client"
	"github.com/chant-acp/chant-acp/runtime/session"
)

// whereGateway explains how the commands that ask a gateway find it.
const whereGateway = `
The gateway is found through .chant-acp/runtime.json of the folder that --workspace
names, else of the current directory or the nearest above it, up to the root of the
project. The file must be yours alone and name an address of this machine.`

// remote are the flags of the commands that ask a gateway.
type remote struct{ workspace string }

func (r *remote) register(c *cobra.Command) {
	c.Flags().StringVar(&r.workspace, "workspace", "", "the `folder` that the gateway serves")
	_ = c.MarkFlagDirname("workspace") // fails only for a flag that does not exist
}

// open finds the gateway.
func (r *remote) open() (*client.Client, error) {
	at, err := r.find()
	if err != nil {
		return nil, console.Exit(console.Failed, err)
	}
	return client.New(at), nil
}

func (r *remote) find() (gateway.Running, error) {
	dir, err := filepath.Abs(r.workspace)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return gateway.Running{}, fmt.Errorf("the workspace can't be found: %w", err)
	}
	root := dir
	if r.workspace == "" {
		_, root, _ = command.FindManifest(dir) // the root is what counts here, whatever the manifest is like
	}
	return client.Find(dir, root)
}

// completionTime is how long a shell is kept waiting for names.
const completionTime = time.Second

// complete offers the running sessions that a command line may name next.
func (r *remote) complete(most int, fits func(session.Info) bool) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		const directive = cobra.ShellCompDirectiveNoFileComp
		at, err := r.find()
		if err != nil || most > 0 && len(args) >= most {
			return nil, directive
		}
		g := client.New(at)
		defer g.Close()
		ctx, cancel := context.WithTimeout(c.Context(), completionTime)
		defer cancel()
		list, err := g.Sessions(ctx)
		if err != nil {
			return nil, directive
		}
		var words []cobra.Completion
		for _, s := range list {
			word := handle(s, list)
			if s.State != session.StateEnded && fits(s) && !slices.Contains(args, word) {
				words = append(words, cobra.CompletionWithDesc(word, what(s)))
			}
		}
		return words, directive
	}
}

// handle is what a session is best called by: its name, where it has one that is
// easy to type and nobody else's.
func handle(s session.Info, all []session.Info) string {
	same := 0
	for _, other := range all {
		if other.Name == s.Name || other.ID == s.Name {
			same++
		}
	}
	plain := !strings.ContainsFunc(s.Name, func(r rune) bool {
		return !strings.ContainsRune("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-", r)
	})
	if s.Name == "" || s.Name[0] == '-' || same > 1 || !plain {
		return s.ID
	}
	return s.Name
}

// label is what a session is called in a sentence.
func label(s session.Info) string {
	if s.Name == "" {
		return shown(s.ID)
	}
	return shown(s.Name)
}

// what is what a session runs.
func what(s session.Info) string {
	switch {
	case len(s.Argv) > 0:
		return shown(command.Quote(s.Argv))
	case s.Adapter != "":
		return shown(s.Adapter)
	}
	return string(s.Kind)
}

// state is how far a session is, and how it ended.
func state(s session.Info) string {
	switch {
	case s.State == session.StateEnded && s.Signal != "":
		return "ended by " + shown(s.Signal)
	case s.State == session.StateEnded && s.ExitCode != nil:
		return fmt.Sprintf("ended with %d", *s.ExitCode)
	case s.State == session.StateRunning && s.Turn != "":
		return shown(s.Turn)
	}
	return shown(string(s.State))
}

// shown is text that others wrote as it may stand in a line on a terminal. Escape
// sequences are removed. Nothing is taken back, as a carriage return would: what is
// there is seen.
func shown(s string) string {
	var dec termtext.Decoder
	var b strings.Builder
	for p := []byte(s); len(p) > 0; {
		t, n := dec.Next(p)
		p = p[n:]
		if t.Kind == termtext.Text {
			b.Write(t.Bytes)
		} else if t.Kind == termtext.Control {
			b.WriteByte(' ')
		}
	}
	b.Write(dec.Flush().Bytes)
	return console.Printable(strings.ReplaceAll(b.String(), "\t", " "))
}

// remoteError is an error of a request, as it may be printed: what a gateway
// passes on was written by agents and programs, too.
func remoteError(err error) error {
	return console.Exit(console.Failed, shownError{err})
}

type shownError struct{ err error }

func (e shownError) Error() string { return shown(e.err.Error()) }
func (e shownError) Unwrap() error { return e.err }

// say prints a note for a person at the terminal, on a line of its own.
func say(f *os.File, format string, args ...any) {
	fmt.Fprintf(f, "["+format+"]\n", args...)
}

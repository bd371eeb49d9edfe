package serve

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/internal/stateroot"
	"github.com/chant-acp/chant-acp/internal/stdio"
	"github.com/chant-acp/chant-acp/runtime/thread"
)

const onTerminal = `this is an agent for editors, and nobody on a terminal can speak its protocol.

To try it here:            chant-acp prompt --cwd DIR help
To add it to an editor:    chant-acp setup zed        (or jetbrains, emacs, neovim, vscode, acpx, fountain)
To check a project:        chant-acp check DIR
Everything else:           chant-acp --help`

// Run is the agent on the process's standard input and output. It returns when it
// has left, with the error that [console.Streams.End] is for.
func Run(std console.Streams, f *Flags) error {
	if err := f.Check(); err != nil {
		return err
	}
	if err := f.Configure(); err != nil {
		return err
	}
	if console.IsTerminal(std.In) {
		return console.Exit(console.Usage, errors.New(onTerminal))
	}
	if onlyWritten(std.In) {
		return unreadableInput(syscall.EBADF)
	}
	in, out, restore, err := stdio.Takeover()
	if err != nil {
		return console.Exit(console.Failed, fmt.Errorf("taking over standard input and output: %w", err))
	}
	defer restore()
	writer, err := stdio.NewWriter(out)
	if err != nil {
		return console.Exit(console.Failed, fmt.Errorf("preparing standard output: %w", err))
	}
	reader, err := stdio.NewReader(in, writer)
	if err != nil {
		return console.Exit(console.Failed, fmt.Errorf("preparing standard input: %w", err))
	}
	log, closer, err := f.Logger(std.Err)
	if err != nil {
		return console.Exit(console.Failed, err)
	}
	defer closer.Close()

	// The heap is a few MiB: collecting it half as often costs little memory
	// and shows in how many prompts a second are answered.
	debug.SetGCPercent(200)
	// A client that is gone shows as a failed write. Caught and not ignored:
	// programs would inherit that, and "yes | head" would complain.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGHUP, syscall.SIGINT)
	defer stop()
	var store agent.Store
	if err := stateroot.Check(os.Getenv); err != nil && !f.NoStore {
		store = unusable{err}
	} else if !f.NoStore {
		kept := thread.New(stateroot.Dir(os.Getenv))
		defer kept.Leave()
		store = kept
	}
	err = f.Agent(log, store).ServeAs(ctx, acp.NewTransport(reader, writer), Origin(os.Getenv))
	if unreadable(err) {
		return unreadableInput(err)
	}
	if err != nil {
		log.Info().Err(err).Msg("the connection ended")
	}
	return nil
}

func unreadableInput(why error) error {
	return console.Exit(console.Failed, fmt.Errorf(`standard input can't be read: %w
An editor speaks the Agent Client Protocol there, and starts this with a pipe of its own.
To try it here: chant-acp prompt --cwd DIR help`, why))
}

// onlyWritten says whether f was opened only to be written. Of the writing end
// of a pipe, nothing else would ever tell.
func onlyWritten(f *os.File) bool {
	flags, err := unix.FcntlInt(f.Fd(), unix.F_GETFL, 0)
	return err == nil && flags&unix.O_ACCMODE == unix.O_WRONLY
}

// unreadable says whether a connection ended with an input that was none, such
// as a folder. A client that is gone is an end like others, also where a socket
// calls it an error; so is an output that is closed.
func unreadable(err error) bool {
	var call *os.SyscallError
	return errors.As(err, &call) && call.Syscall == "read" && !errors.Is(err, syscall.ECONNRESET)
}

// unusable is the store where there can be none: sessions work, and say why they
// are not kept.
type unusable struct{ err error }

func (u unusable) Create(context.Context, agent.SessionRecord) error { return u.err }
func (u unusable) Update(context.Context, agent.SessionRecord) error { return u.err }
func (u unusable) Delete(context.Context, string) error              { return u.err }

func (u unusable) Get(context.Context, string) (agent.SessionRecord, error) {
	return agent.SessionRecord{}, u.err
}

func (u unusable) Lock(context.Context, string) (func(), error) { return nil, u.err }

func (u unusable) Append(context.Context, string, bool, ...agent.Event) error { return u.err }

func (u unusable) Read(_ context.Context, _ string, from int64, _ func(agent.Event) error, _ ...agent.EventKind) (int64, error) {
	return from, u.err
}

func (u unusable) List(context.Context, string, string) ([]agent.SessionRecord, string, error) {
	return nil, "", u.err
}

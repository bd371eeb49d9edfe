package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/project"
	"github.com/chant-acp/chant-acp/internal/stateroot"
	"github.com/chant-acp/chant-acp/internal/stdio"
	"github.com/chant-acp/chant-acp/runtime/thread"
)

// agentFlags are the flags of an agent, wherever it runs.
type agentFlags struct {
	output, confirm, refusal string
	exitIdle                 time.Duration
	logFile, logLevel        string
	profile                  string
	noStore                  bool // of serve alone

	given func(flag string) bool // whether the command line has it; nil: none
	configured
}

// defaultFlags are the flags of an agent that was given none.
func defaultFlags() agentFlags {
	return agentFlags{output: "auto", confirm: "auto", refusal: "auto", logLevel: "error"}
}

func (f *agentFlags) register(c *cobra.Command) {
	*f = defaultFlags()
	fs := c.Flags()
	f.given = fs.Changed
	fs.StringVar(&f.profile, "profile", "", "the profile of the configuration that counts")
	fs.StringVar(&f.output, "output", f.output, "how much output is shown: auto, full, plain or quiet")
	fs.StringVar(&f.confirm, "confirm", f.confirm, "how commands with 'confirm: ask' are asked for: auto, ask (through the client) or retype (a line to type)")
	fs.StringVar(&f.refusal, "refusal", f.refusal, "the stop reason of a refused prompt: auto, refusal or end_turn")
	fs.DurationVar(&f.exitIdle, "exit-idle", f.exitIdle, "also leave when, after a cancel, nothing runs and nothing arrives for this long (0: never)")
	fs.StringVar(&f.logFile, "log-file", f.logFile, "append the program's own log to this file instead of standard error")
	fs.StringVar(&f.logLevel, "log-level", f.logLevel, "how much is logged: debug, info, warn, error or disabled")
}

// check finds a flag whose value is none of those it takes.
func (f *agentFlags) check() error {
	for _, c := range []struct {
		flag, value string
		allowed     []string
	}{
		{"output", f.output, []string{"auto", "full", "plain", "quiet"}},
		{"confirm", f.confirm, []string{"auto", "ask", "retype"}},
		{"refusal", f.refusal, []string{"auto", "refusal", "end_turn"}},
		{"log-level", f.logLevel, []string{"debug", "info", "warn", "error", "disabled"}},
	} {
		if !slices.Contains(c.allowed, c.value) {
			return fmt.Errorf("--%s takes %s, not %q", c.flag, strings.Join(c.allowed, ", "), c.value)
		}
	}
	if f.exitIdle < 0 {
		return fmt.Errorf("--exit-idle takes a duration such as 30s, not %s", f.exitIdle)
	}
	return nil
}

// logger opens the log. The caller closes it.
func (f *agentFlags) logger(stderr *os.File) (zerolog.Logger, io.Closer, error) {
	level, err := zerolog.ParseLevel(f.logLevel)
	if err != nil {
		return zerolog.Logger{}, nil, err
	}
	var to io.WriteCloser = keepOpen{stderr}
	if f.logFile != "" {
		to, err = os.OpenFile(f.logFile, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
		if err != nil {
			return zerolog.Logger{}, nil, fmt.Errorf("opening the log file: %w", err)
		}
	}
	return zerolog.New(to).Level(level).With().Timestamp().Logger(), to, nil
}

// keepOpen keeps a stream that belongs to the process from being closed.
type keepOpen struct{ io.Writer }

func (keepOpen) Close() error { return nil }

// agent makes the agent of this process. store nil: sessions end with it.
func (f *agentFlags) agent(log zerolog.Logger, store agent.Store) *agent.Agent {
	return f.agentIn(os.Environ(), log, store)
}

// agentIn is agent whose programs have another environment.
func (f *agentFlags) agentIn(env []string, log zerolog.Logger, store agent.Store) *agent.Agent {
	logs := filepath.Join(stateroot.Dir(os.Getenv), "logs")
	o := agent.Options{
		Version:  version(),
		Log:      log,
		Store:    store,
		Notice:   f.notice,
		ExitIdle: f.exitIdle,
		Output:   f.output,
		Confirm:  f.confirm,
		Refusal:  f.refusal,
		Open: func(cwd string) host.Host {
			return project.New(cwd, project.Options{Env: env, LogDir: logs, LogMax: f.settings.Log.Max, Chant: f.settings.Chant.Command})
		},
	}
	if store != nil {
		c := newConversations(log, f.settings.Conversations.Dir)
		o.TurnEnded, o.TurnsWanted = c.turnEnded, c.wanted
	}
	return agent.New(o)
}

func newServe(std streams) *cobra.Command {
	var f agentFlags
	c := &cobra.Command{
		Use:   "serve",
		Short: "Speak the Agent Client Protocol on standard input and output (also without any command)",
		Long: `Serve is what an editor starts: an agent of the Agent Client Protocol, version 1,
on standard input and output. It is what chant-acp does without any command, too.

It leaves with exit code 0 when its input ends, when its output is closed, or at
SIGTERM, SIGHUP or SIGINT. What still runs is ended first. On a terminal it only
says how to use it.

Sessions are kept, so that a client can open them again later: see
"chant-acp sessions". With --no-store they end with the process.

What flags do not say, the configuration does: see "chant-acp config".`,
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return serve(std, &f) },
	}
	f.register(c)
	c.Flags().BoolVar(&f.noStore, "no-store", false, "keep no sessions: they end with the process")
	return c
}

const onTerminal = `this is an agent for editors, and nobody on a terminal can speak its protocol.

To try it here:            chant-acp prompt --cwd DIR help
To add it to an editor:    chant-acp setup zed        (or jetbrains, emacs, neovim, vscode, acpx, fountain)
To check a project:        chant-acp check DIR
Everything else:           chant-acp --help`

func serve(std streams, f *agentFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	if err := f.configure(); err != nil {
		return err
	}
	if isTerminal(std.in) {
		return &exitError{exitUsage, errors.New(onTerminal)}
	}
	if onlyWritten(std.in) {
		return unreadableInput(syscall.EBADF)
	}
	in, out, restore, err := stdio.Takeover()
	if err != nil {
		return &exitError{exitFailed, fmt.Errorf("taking over standard input and output: %w", err)}
	}
	defer restore()
	reader, err := stdio.NewReader(in)
	if err != nil {
		return &exitError{exitFailed, fmt.Errorf("preparing standard input: %w", err)}
	}
	writer, err := stdio.NewWriter(out)
	if err != nil {
		return &exitError{exitFailed, fmt.Errorf("preparing standard output: %w", err)}
	}
	log, closer, err := f.logger(std.err)
	if err != nil {
		return &exitError{exitFailed, err}
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
	if err := checkState(); err != nil && !f.noStore {
		store = unusable{err}
	} else if !f.noStore {
		kept := thread.New(stateroot.Dir(os.Getenv))
		defer closeStore(kept, log)
		store = kept
	}
	err = f.agent(log, store).ServeAs(ctx, acp.NewTransport(reader, writer), originOf(os.Getenv))
	if unreadable(err) {
		return unreadableInput(err)
	}
	if err != nil {
		log.Info().Err(err).Msg("the connection ended")
	}
	return nil
}

func unreadableInput(why error) error {
	return &exitError{exitFailed, fmt.Errorf(`standard input can't be read: %w
An editor speaks the Agent Client Protocol there, and starts this with a pipe of its own.
To try it here: chant-acp prompt --cwd DIR help`, why)}
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

func (u unusable) Read(_ context.Context, _ string, from int64, _ func(agent.Event) error) (int64, error) {
	return from, u.err
}

func (u unusable) List(context.Context, string, string) ([]agent.SessionRecord, string, error) {
	return nil, "", u.err
}

// closeBudget is how long the last fsync may hold up the exit: the agent leaves
// within 1.4 s, and clients send SIGKILL 1.5 s after they closed the input.
const closeBudget = 50 * time.Millisecond

// closeStore closes the store, but does not wait for a slow disk: what was
// appended survives the process all the same.
func closeStore(s *thread.Store, log zerolog.Logger) {
	closed := make(chan error, 1)
	go func() { closed <- s.Close() }() // on a slow disk it ends with the process
	late := time.NewTimer(closeBudget)
	defer late.Stop()
	select {
	case err := <-closed:
		if err != nil {
			log.Warn().Err(err).Msg("not all of the threads is on disk yet")
		}
	case <-late.C:
	}
}

package session

import (
	"context"

	"github.com/chant-acp/chant-acp/acp"
)

// Session is one of a Registry.
type Session struct{}

// Info describes it now.
func (s *Session) Info() Info { return Info{} }

// Done is closed when it has ended and its output is complete.
func (s *Session) Done() <-chan struct{} { return nil }

// Kill ends it: SIGHUP to a terminal's programs, SIGTERM, and SIGKILL after a grace. It returns when it has ended, or ctx.
func (s *Session) Kill(ctx context.Context) error { return nil }

// Rename gives it another name; empty takes its name away. The error is a *BadNameError.
func (s *Session) Rename(name string) error { return nil }

// Attach makes a watcher of a terminal: what is there and what comes are taken under one lock, so that nothing is missed or doubled. The terminal takes the smallest size of its
// watchers. Both 0: the watcher has no size of its own. A terminal that has ended can be watched too: what is left, then the end.
func (s *Session) Attach(cols, rows int) (*Watcher, error) { return nil, errSkeleton }

// ReadTerminal returns at most the last limit bytes of the output of a session of any kind, cut at a rune.
func (s *Session) ReadTerminal(limit int) []byte { return nil }

// WriteTerminal writes to a terminal, or to the standard input of a process. It returns when the bytes are queued: ErrInputFull when they don't fit, ErrEnded.
func (s *Session) WriteTerminal(ctx context.Context, p []byte) error { return errSkeleton }

// Lines subscribes to the output of a session of any kind as lines of text without escape sequences: those that are there, and those that come. The lines of an agent are what it says.
func (s *Session) Lines(ctx context.Context) (*Lines, error) { return nil, errSkeleton }

// Watcher is one who watches a terminal.
type Watcher struct{}

// Read returns the next bytes, at least one, valid until the next Read. A rune is never split, as far as the output is UTF-8. The error is io.EOF after the
// end of the terminal and its output, ErrStalled when the watcher was dropped, or the cause of ctx. One goroutine reads.
func (w *Watcher) Read(ctx context.Context) ([]byte, error) { return nil, errSkeleton }

// Write is WriteTerminal.
func (w *Watcher) Write(ctx context.Context, p []byte) error { return errSkeleton }

// Resize changes the watcher's size. The error is a *BadSizeError or ErrEnded.
func (w *Watcher) Resize(cols, rows int) error { return errSkeleton }

// Exit tells how the terminal's program ended. ok is false while it runs, and when the end was not seen.
func (w *Watcher) Exit() (code int, signal string, ok bool) { return 0, "", false }

// Close ends the watch, and a Read under way with it. It may be called more than once.
func (w *Watcher) Close() {}

// Lines is a subscription to lines of text.
type Lines struct{}

// Next returns the next line, without its end. The error is that of [Watcher.Read].
func (l *Lines) Next(ctx context.Context) (string, error) { return "", errSkeleton }

// Close ends the subscription, and a Next under way with it.
func (l *Lines) Close() {}

// Prompt runs a turn and returns when it has ended. When ctx ends first the turn is cancelled, and Prompt returns the cause of ctx without waiting for the agent.
// The error is ErrBusy, ErrEnded, ErrWrongKind, or what the agent answered.
func (s *Session) Prompt(ctx context.Context, text string, meta acp.Meta) (Turn, error) {
	return Turn{}, errSkeleton
}

// Cancel asks the agent to end its turn, and cancels the requests that are open. Without a turn it does nothing.
func (s *Session) Cancel() error { return errSkeleton }

// Requests returns the open permission requests, the oldest first.
func (s *Session) Requests() []PermissionRequest { return nil }

// Answer answers an open permission request. The error is ErrNoSuchRequest or a *BadOptionError.
func (s *Session) Answer(id, optionID string) error { return ErrNoSuchRequest }

// Package sessionscmd is the command sessions: it lists, shows, exports and removes
// the sessions that were kept.
package sessionscmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/internal/stateroot"
	"github.com/chant-acp/chant-acp/runtime/conversation"
	"github.com/chant-acp/chant-acp/runtime/thread"
)

// New is the command, with those below it.
func New(std console.Streams) *cobra.Command {
	c := &cobra.Command{
		Use:   "sessions",
		Short: "List, read, export and remove the sessions that were kept",
		Long: `Sessions are kept below the state folder ($CHANT_ACP_STATE, else
$XDG_STATE_HOME/chant-acp, else ~/.local/state/chant-acp), so that a client can
open them again. An ID may be shortened as long as it names one session only.`,
	}
	c.AddCommand(newList(std), newShow(std), newExport(std), newDelete(std), newPrune(std))
	return c
}

// kept is the store of this user's sessions.
type kept struct {
	*thread.Store
	logs string // the folder of the logs of commands
}

// withKept gives do the store, closes it, and makes errors those of a command
// that failed.
func withKept(do func(kept) error) error {
	if err := stateroot.Check(os.Getenv); err != nil {
		return console.Exit(console.Usage, err)
	}
	root := stateroot.Dir(os.Getenv)
	k := kept{thread.New(root), filepath.Join(root, "logs")}
	err := errors.Join(do(k), k.Close())
	if err != nil {
		return console.Exit(console.Failed, err)
	}
	return nil
}

// resolve finds the session that an id, or the beginning of one, names.
func (k kept) resolve(ctx context.Context, name string) (string, error) {
	if _, err := k.Get(ctx, name); err == nil || !errors.Is(err, agent.ErrUnknownSession) {
		return name, nil
	}
	found, err := k.Find(name)
	switch {
	case err != nil:
		return "", err
	case len(found) == 0 || name == "":
		return "", fmt.Errorf(`there is no session %q; "chant-acp sessions list" shows those there are`, name)
	case len(found) > 1:
		return "", fmt.Errorf("%q is the beginning of %d sessions, %s and %s among them: say more of it", name, len(found), found[0], found[1])
	}
	return found[0], nil
}

// session finds a session by its id, or the beginning of one. Its events are read
// anew each time they are ranged over.
func (k kept) session(ctx context.Context, name string) (agent.SessionRecord, iter.Seq2[agent.Event, error], error) {
	id, err := k.resolve(ctx, name)
	if err != nil {
		return agent.SessionRecord{}, nil, err
	}
	r, err := k.Get(ctx, id)
	if err != nil {
		return r, nil, fmt.Errorf("session %s: %w", id, err)
	}
	return r, k.events(ctx, id), nil
}

func (k kept) events(ctx context.Context, id string) iter.Seq2[agent.Event, error] {
	return func(yield func(agent.Event, error) bool) {
		enough := errors.New("enough")
		_, err := k.Read(ctx, id, 0, func(e agent.Event) error {
			if !yield(e, nil) {
				return enough
			}
			return nil
		})
		if err != nil && !errors.Is(err, enough) {
			yield(agent.Event{}, fmt.Errorf("session %s: %w", id, err))
		}
	}
}

func newList(std console.Streams) *cobra.Command {
	var cwd string
	var asJSON bool
	c := &cobra.Command{
		Use:   "list [flags]",
		Short: "List the sessions, newest first",
		Args:  cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			return withKept(func(k kept) error {
				if c.Flags().Changed("cwd") {
					abs, err := filepath.Abs(cwd)
					if err != nil {
						return err
					}
					cwd = abs
				}
				out := bufio.NewWriter(std.Out)
				for r, err := range k.Walk(context.Background(), cwd) {
					if err != nil {
						return errors.Join(err, out.Flush())
					}
					printRecord(out, r, asJSON)
				}
				return out.Flush()
			})
		},
	}
	c.Flags().StringVar(&cwd, "cwd", "", "only the sessions of this directory")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, one object a line")
	return c
}

func printRecord(out io.Writer, r agent.SessionRecord, asJSON bool) {
	if asJSON {
		console.PrintJSON(out, r)
		return
	}
	title := console.Printable(r.Title)
	if title == "" {
		title = "(nothing run yet)"
	}
	fmt.Fprintf(out, "%s  %s  %-40s  %s\n", r.ID, r.Updated.Local().Format("2006-01-02 15:04"), title, console.Printable(r.Cwd))
}

func newExport(std console.Streams) *cobra.Command {
	var file string
	c := &cobra.Command{
		Use:   "export ID [flags]",
		Short: "Write a session as markdown",
		Args:  cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return withKept(func(k kept) error {
				r, events, err := k.session(context.Background(), args[0])
				if err != nil {
					return err
				}
				doc, err := conversation.NewDocument(r, events)
				if err != nil {
					return err
				}
				if file == "" {
					return doc.Write(std.Out)
				}
				if err := writeTo(file, doc); err != nil {
					return fmt.Errorf("writing the markdown: %w", err)
				}
				return nil
			})
		},
	}
	c.Flags().StringVar(&file, "output", "", "write to this file instead of standard output, over what it holds")
	return c
}

func writeTo(file string, doc *conversation.Document) error {
	f, err := os.OpenFile(file, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	return errors.Join(doc.Write(f), f.Close())
}

func newDelete(std console.Streams) *cobra.Command {
	return &cobra.Command{
		Use:   "delete ID...",
		Short: "Remove sessions and the logs of their commands",
		Args:  cobra.MinimumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return withKept(func(k kept) error {
				ctx := context.Background()
				var ids []string
				for _, name := range args { // nothing goes where one is misspelt
					id, err := k.resolve(ctx, name)
					if err != nil {
						return err
					}
					ids = append(ids, id)
				}
				for _, id := range ids {
					if err := k.remove(ctx, id); err != nil {
						return err
					}
					fmt.Fprintln(std.Out, id)
				}
				return nil
			})
		},
	}
}

// remove removes a session and its logs.
func (k kept) remove(ctx context.Context, id string) error {
	calls, _ := k.calls(ctx, id) // of a thread that can't be read, those that can
	err := k.Delete(ctx, id)
	var held *agent.SessionHeldError
	if errors.As(err, &held) {
		return fmt.Errorf("session %s was not removed: process %d runs a command in it. Wait for it to end, or cancel it there", id, held.PID)
	}
	if err != nil {
		return fmt.Errorf("session %s was not removed: %w", id, err)
	}
	_, err = k.removeLogs(calls)
	return err
}

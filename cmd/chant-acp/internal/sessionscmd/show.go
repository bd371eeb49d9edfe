package sessionscmd

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/cmd/chant-acp/internal/printer"
	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/cmd/internal/serve"
	"github.com/chant-acp/chant-acp/internal/acpd"
)

func newShow(std console.Streams) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "show ID [flags]",
		Short: "Print a session as its prompts printed it",
		Long: `Show prints a session as "chant-acp prompt" printed its turns. Of a long one it
prints the end, as much as a client is shown of it; export writes all.`,
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			return withKept(func(k kept) error {
				if asJSON {
					r, events, err := k.session(context.Background(), args[0])
					if err != nil {
						return err
					}
					out := bufio.NewWriter(std.Out)
					console.PrintJSON(out, r)
					for e, err := range events {
						if err != nil {
							return errors.Join(err, out.Flush())
						}
						console.PrintJSON(out, e)
						if std.Out.Lost() != nil {
							break
						}
					}
					return out.Flush()
				}
				id, err := k.resolve(context.Background(), args[0])
				if err != nil {
					return err
				}
				return show(std, k, id)
			})
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print the session and all of its events as JSON, one object a line")
	return c
}

// show loads the session as a client does, in this process.
func show(std console.Streams, k kept, id string) error {
	here, there := acp.Pipe()
	ctx, leave := context.WithCancel(context.Background())
	f := serve.DefaultFlags()
	var serving sync.WaitGroup
	serving.Go(func() { _ = f.Agent(zerolog.Nop(), lookOnly{k}).Serve(ctx, there) }) // ends with the pipe, which is closed below
	defer serving.Wait()
	defer leave()

	v := &viewer{printer: printer.New(std.Out, false)}
	conn := acp.Connect(here, v, zerolog.Nop())
	defer conn.Close()
	caps := acp.ClientCapabilities{}
	if console.IsTerminal(std.Out.File) {
		caps.Meta = acp.Meta{"terminal_output": true}
	}
	if _, err := conn.Initialize(ctx, acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersion, ClientCapabilities: caps,
		ClientInfo: &acp.Implementation{Name: agent.PromptClient, Version: acpd.Version},
	}); err != nil {
		return err
	}
	_, err := conn.LoadSession(ctx, acp.LoadSessionRequest{SessionID: id, Cwd: nowhere})
	var e *acp.Error
	if errors.As(err, &e) {
		return fmt.Errorf("session %s: %s", id, e.Message)
	}
	v.endTurn()
	return err
}

// nowhere stands for the directory of a session that is only looked at: its own
// may be gone.
const nowhere = "/"

// lookOnly is a store that changes nothing.
type lookOnly struct{ kept }

func (s lookOnly) Get(ctx context.Context, id string) (agent.SessionRecord, error) {
	r, err := s.kept.Get(ctx, id)
	r.Cwd = nowhere
	return r, err
}

func (lookOnly) Create(context.Context, agent.SessionRecord) error { return nil }
func (lookOnly) Update(context.Context, agent.SessionRecord) error { return nil }
func (lookOnly) Append(context.Context, string, bool, ...agent.Event) error {
	return nil
}

// viewer is a client that prints what is replayed.
type viewer struct {
	printer *printer.Printer
	line    string // the prompt so far: it may come in several blocks
	asked   bool   // blocks of a prompt came last
	begun   bool
}

// SessionUpdate prints. Updates come one at a time.
func (v *viewer) SessionUpdate(n acp.SessionNotification) {
	switch u := n.Update.(type) {
	case acp.UserMessageChunk:
		if v.asked {
			v.line += " "
		} else {
			v.endTurn()
		}
		v.line += console.Printable(blockText(u.Content))
		v.asked = true
		return
	case acp.AvailableCommandsUpdate:
		return
	}
	if v.asked {
		v.ask()
	}
	v.begun = true
	v.printer.Update(n)
}

func (v *viewer) ask() {
	v.printer.Prompt(v.line)
	v.line, v.asked, v.begun = "", false, true
}

// endTurn ends what is printed of a turn, and leaves a line before the next.
func (v *viewer) endTurn() {
	if v.asked {
		v.ask()
	}
	if !v.begun {
		return
	}
	v.printer.Result(acp.PromptResponse{})
	v.begun = false
}

func blockText(b acp.ContentBlock) string {
	for _, s := range []string{b.Text, b.URI, b.Name} {
		if s != "" {
			return s
		}
	}
	return ""
}

// RequestPermission is never called: nothing runs.
func (v *viewer) RequestPermission(context.Context, acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	return acp.RequestPermissionResponse{Outcome: acp.PermissionOutcome{Outcome: acp.OutcomeCancelled}}, nil
}

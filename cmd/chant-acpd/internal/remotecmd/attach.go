package remotecmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/cmd/chant-acpd/internal/attach"
	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/internal/stdio"
	"github.com/chant-acp/chant-acp/runtime/gateway/client"
	"github.com/chant-acp/chant-acp/runtime/session"
)

// NewAttach is the command attach.
func NewAttach(std console.Streams) *cobra.Command {
	var r remote
	isTerminal := func(s session.Info) bool { return s.Kind == session.KindTerminal }
	c := &cobra.Command{
		Use:   "attach SESSION",
		Short: "Take a place at a terminal of a gateway",
		Long: `Attach shows a terminal of the gateway that runs here, by id or name, and sends it
what is typed. What was printed last is shown first. Its size is that of the
smallest terminal attached to it.

Ctrl-] d detaches, and the program runs on; Ctrl-] twice sends one. When the
program ends, attach exits with its exit code (128 and the signal's number, where
one ended it). It exits with 0 after Ctrl-] d, with 130 after a signal, and with 1
when it can't attach or is cut off.

Where standard input is not a terminal, all of it is sent, as text, and the end of
it is not told: the output is shown until the program ends.
` + whereGateway,
		Args: cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			g, err := r.open()
			if err != nil {
				return err
			}
			defer g.Close()
			return attachTo(c.Context(), std, g, args[0])
		},
	}
	r.register(c)
	c.ValidArgsFunction = r.complete(1, isTerminal)
	return c
}

func attachTo(ctx context.Context, std console.Streams, g *client.Client, name string) error {
	s, err := g.Session(ctx, name)
	if err != nil {
		return remoteError(err)
	}
	if s.Kind != session.KindTerminal {
		return console.Exit(console.Failed, fmt.Errorf("%s is no terminal, but of the kind %s: it has nothing to attach to", label(s), shown(string(s.Kind))))
	}
	in, out, restore, err := stdio.Takeover()
	if err != nil {
		return console.Exit(console.Failed, fmt.Errorf("taking over standard input and output: %w", err))
	}
	defer restore()
	defer in.Close()
	defer out.Close()
	place := attach.Place{In: in, Out: out, Err: std.Err}
	cols, rows := place.Size()
	at, err := g.Attach(ctx, s.ID, cols, rows)
	var p *client.Problem
	if errors.As(err, &p) && p.Type == "conflict" && s.State == session.StateEnded {
		return console.Exit(console.Failed, fmt.Errorf("%s has ended before (%s), and nothing of it is left to show", label(s), state(s)))
	} else if err != nil {
		return remoteError(err)
	}
	err = attach.Run(ctx, place, at)
	if place.Shown() {
		fmt.Fprintln(std.Err)
	}
	return attachEnd(ctx, std, g, s, at, err)
}

// attachEnd says how it ended, where that is not plain to see, and with which exit
// code.
func attachEnd(ctx context.Context, std console.Streams, g *client.Client, s session.Info, at *client.Terminal, why error) error {
	person := console.IsTerminal(std.Err)
	var sig *attach.SignalError
	switch {
	case errors.Is(why, io.EOF):
		return exitOf(std, s, at.Exit(), person)
	case errors.Is(why, attach.ErrDetached):
		if person {
			say(std.Err, "detached from %s, which runs on", label(s))
		}
		return nil
	case errors.As(why, &sig), errors.Is(why, attach.ErrHungUp):
		return console.Exit(console.Cancelled, fmt.Errorf("%w; %s runs on", why, label(s)))
	case errors.Is(why, syscall.EPIPE):
		return console.Exit(console.Failed, nil) // a reader such as head closed the pipe: no message
	case errors.Is(why, client.ErrCut):
		// A reason can't be told to one who takes nothing. That the session runs on is
		// a sign of it.
		if now, err := g.Session(ctx, s.ID); err == nil && now.State != session.StateEnded {
			why = client.ErrDropped
		}
	}
	return remoteError(why)
}

// exitOf passes on how the program ended.
func exitOf(std console.Streams, s session.Info, end client.Exit, person bool) error {
	already := ""
	if s.State == session.StateEnded {
		already = " before"
	}
	switch {
	case end.Code == nil:
		return console.Exit(console.Failed, fmt.Errorf("%s has ended%s, and nobody saw how", label(s), already))
	case end.Signal != "":
		say(std.Err, "%s was ended%s by %s", label(s), already, shown(end.Signal))
	case person || already != "":
		say(std.Err, "%s has ended%s with the exit code %d", label(s), already, *end.Code)
	}
	if *end.Code == 0 {
		return nil
	}
	return console.Exit(*end.Code, nil)
}

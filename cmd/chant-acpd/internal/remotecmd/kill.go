package remotecmd

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/runtime/gateway/client"
	"github.com/chant-acp/chant-acp/runtime/session"
)

// NewKill is the command kill.
func NewKill(std console.Streams) *cobra.Command {
	var r remote
	c := &cobra.Command{
		Use:   "kill SESSION...",
		Short: "End sessions of a gateway",
		Long: `Kill ends sessions of the gateway that runs here, by id or name, and all that they
started: they are asked to end first. It prints each one with how it ended, and
exits with 1 when there is one that could not be ended. The others are.
` + whereGateway,
		Args: cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			g, err := r.open()
			if err != nil {
				return err
			}
			defer g.Close()
			var failed []error
			for _, name := range args {
				if err := kill(c.Context(), std, g, name); err != nil {
					failed = append(failed, err)
				}
			}
			if err := errors.Join(failed...); err != nil {
				return console.Exit(console.Failed, err)
			}
			return nil
		},
	}
	r.register(c)
	c.ValidArgsFunction = r.complete(0, func(session.Info) bool { return true })
	return c
}

// kill ends one session.
func kill(ctx context.Context, std console.Streams, g *client.Client, name string) error {
	s, err := g.Kill(ctx, name)
	if err != nil {
		return fmt.Errorf("%s: %w", shown(name), shownError{err})
	}
	if s.State != session.StateEnded {
		return fmt.Errorf("%s was told to end, and has not yet; ask again, or look with: chant-acp ps", label(s))
	}
	fmt.Fprintf(std.Out, "%s  %s\n", shown(s.ID), state(s))
	return nil
}

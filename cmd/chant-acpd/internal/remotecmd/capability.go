package remotecmd

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/runtime/person/door"
)

// NewCapability is the command gateway capability.
func NewCapability(std console.Streams) *cobra.Command {
	var r remote
	c := &cobra.Command{
		Use:   "capability",
		Short: "Print what lets a person decide over HTTP",
		Long: `Capability prints a word that a gateway takes in the place of its token, for ten
minutes, also for what only a person may do: decide gates, answer what an agent
asks, and speak to an agent that a person started. A process that chant-acp started,
or one below it, gets none. Keep it out of command lines: every program reads those.
` + whereGateway,
		Example: `  chant-acp gateway capability | sed 's/^/Authorization: Bearer /' | curl -H @- …`,
		Args:    cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			at, err := r.find()
			if err != nil {
				return console.Exit(console.Failed, err)
			}
			if at.Person == "" {
				return console.Exit(console.Failed, errors.New("this gateway gives out no capability: a program that chant-acp runs started it, or its version is older"))
			}
			g, err := door.Ask(c.Context(), at.Person)
			if err != nil {
				return console.Exit(console.Refused, err)
			}
			fmt.Fprintln(std.Out, g.Capability)
			return nil
		},
	}
	r.register(c)
	return c
}

package remotecmd

import (
	"fmt"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/runtime/session"
)

// NewPs is the command ps.
func NewPs(std console.Streams) *cobra.Command {
	var r remote
	var asJSON bool
	c := &cobra.Command{
		Use:   "ps",
		Short: "List the sessions of a gateway",
		Long: `Ps lists the sessions of the gateway that runs here, the oldest first: agents,
terminals and processes, and those that have ended and were not forgotten.
` + whereGateway,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			g, err := r.open()
			if err != nil {
				return err
			}
			defer g.Close()
			list, err := g.Sessions(c.Context())
			if err != nil {
				return remoteError(err)
			}
			if !asJSON {
				return printSessions(std, list)
			}
			for _, s := range list {
				console.PrintJSON(std.Out, s)
			}
			return nil
		},
	}
	r.register(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, one object a line")
	return c
}

// printSessions prints a table, the command last because it may be long. That
// there are none is no output of the table.
func printSessions(std console.Streams, list []session.Info) error {
	if len(list) == 0 {
		fmt.Fprintln(std.Err, "There are no sessions.")
		return nil
	}
	t := tabwriter.NewWriter(std.Out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ID\tNAME\tKIND\tSTATE\tSTARTED\tCOMMAND")
	for _, s := range list {
		name := shown(s.Name)
		if name == "" {
			name = "-"
		}
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\n", shown(s.ID), name, shown(string(s.Kind)), state(s), s.Started.Local().Format("2006-01-02 15:04"), what(s))
	}
	return t.Flush()
}

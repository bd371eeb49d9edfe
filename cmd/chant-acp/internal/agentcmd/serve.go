package agentcmd

import (
	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/cmd/internal/serve"
)

// Serve is the command serve without flags.
func Serve(std console.Streams) error {
	f := serve.DefaultFlags()
	return serve.Run(std, &f)
}

// NewServe is the command serve.
func NewServe(std console.Streams) *cobra.Command {
	var f serve.Flags
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
		RunE: func(*cobra.Command, []string) error { return serve.Run(std, &f) },
	}
	f.Register(c.Flags())
	c.Flags().BoolVar(&f.Durable, "durable-requests", false, "the same as --gates durable")
	c.Flags().BoolVar(&f.NoStore, "no-store", false, "keep no sessions: they end with the process")
	return c
}

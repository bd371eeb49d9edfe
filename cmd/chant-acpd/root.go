package main

import (
	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/cmd/chant-acpd/internal/gatewaycmd"
	"github.com/chant-acp/chant-acp/cmd/chant-acpd/internal/heartbeatcmd"
	"github.com/chant-acp/chant-acp/cmd/chant-acpd/internal/remotecmd"
	"github.com/chant-acp/chant-acp/cmd/internal/cli"
	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/internal/acpd"
)

// run carries out one command line and returns the exit code.
func run(call acpd.Call, std console.Streams) int {
	root := newRoot(std, call)
	root.SetArgs(call.Args)
	return std.End(root.Execute())
}

func newRoot(std console.Streams, call acpd.Call) *cobra.Command {
	root := &cobra.Command{
		Use:   "chant-acpd",
		Short: "What stands beside chant-acp and speaks HTTP",
		Long: `chant-acpd holds what chant-acp does not, because it needs a network or JavaScript:
the gateway and its heartbeat, the commands that ask one, the evaluator of *.op.ts,
and the requests of HTTP steps. chant-acp finds it beside itself, else in CHANT_ACPD, else on PATH,
and starts it; "chant-acp gateway" and "chant-acpd gateway" are the same.`,
		Args:              cli.KnownCommand,
		SilenceUsage:      true,
		SilenceErrors:     true,
		RunE:              func(c *cobra.Command, _ []string) error { return c.Help() },
		CompletionOptions: cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	if call.ByAgent() {
		root.Use = "chant-acp"
	}
	serving := gatewaycmd.New(std, call.Agent)
	serving.AddCommand(remotecmd.NewCapability(std))
	root.AddCommand(serving, heartbeatcmd.New(std), remotecmd.NewAttach(std), remotecmd.NewPs(std), remotecmd.NewEvents(std), remotecmd.NewKill(std))
	root.SetIn(std.In)
	root.SetOut(std.Out)
	root.SetErr(std.Err)
	root.InitDefaultHelpCmd()
	cli.RefuseUnknown(root)
	return root
}

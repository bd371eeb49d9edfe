package main

import (
	"github.com/chant-acp/chant-acp/cmd/chant-acp/internal/console"
	"github.com/spf13/cobra"
)

// run carries out one command line and returns the exit code.
func run(args []string, std console.Streams) int {
	root := newRoot(std)
	root.SetArgs(args)
	return std.End(root.Execute())
}

func newRoot(std console.Streams) *cobra.Command {
	agent := newServe(std)
	root := &cobra.Command{
		Use:   "chant-acp",
		Short: "An Agent Client Protocol agent without a model",
		Long: `chant-acp runs a project's allow-listed commands as the prompts of an editor's
agent panel. An editor starts it without arguments and speaks to it on standard
input and output; chant-acp.yaml in the project says what may run.

To begin, write a chant-acp.yaml and look at it with "chant-acp check". Try it with
"chant-acp prompt help". Add it to an editor with "chant-acp setup CLIENT".`,
		Args:          knownCommand,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          agent.RunE,
	}
	root.Flags().AddFlagSet(agent.Flags())
	root.AddCommand(agent, newPrompt(std), newCheck(std), newOps(std), newGateway(std), newHeartbeat(std), newSessions(std), newConfig(std), newSchema(std), newSetup(std), newVersion(std),
		newAttach(std), newPs(std), newEvents(std), newKill(std))
	root.SetIn(std.In)
	root.SetOut(std.Out)
	root.SetErr(std.Err)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	refuseUnknown(root)
	return root
}

package main

import (
	"github.com/chant-acp/chant-acp/cmd/chant-acp/internal/agentcmd"
	"github.com/chant-acp/chant-acp/cmd/chant-acp/internal/configcmd"
	"github.com/chant-acp/chant-acp/cmd/chant-acp/internal/projectcmd"
	"github.com/chant-acp/chant-acp/cmd/chant-acp/internal/sessionscmd"
	"github.com/chant-acp/chant-acp/cmd/internal/cli"
	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/internal/acpd"
	"github.com/spf13/cobra"
)

// run carries out one command line and returns the exit code.
func run(args []string, std console.Streams) int {
	if len(args) == 0 || len(args) == 1 && args[0] == "serve" {
		return std.End(agentcmd.Serve(std)) // an editor waits for it, and not for the list of commands
	}
	root := newRoot(std, args)
	root.SetArgs(args)
	return std.End(root.Execute())
}

func newRoot(std console.Streams, args []string) *cobra.Command {
	agent := agentcmd.NewServe(std)
	root := &cobra.Command{
		Use:   "chant-acp",
		Short: "An Agent Client Protocol agent without a model",
		Long: `chant-acp runs a project's allow-listed commands as the prompts of an editor's
agent panel. An editor starts it without arguments and speaks to it on standard
input and output; chant-acp.yaml in the project says what may run.

To begin, write a chant-acp.yaml and look at it with "chant-acp check". Try it with
"chant-acp prompt help". Add it to an editor with "chant-acp setup CLIENT".`,
		Args:          cli.KnownCommand,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          agent.RunE,
	}
	root.Flags().AddFlagSet(agent.Flags())
	root.AddCommand(agent, agentcmd.NewPrompt(std), agentcmd.NewVersion(std),
		projectcmd.NewAllow(std), projectcmd.NewCheck(std), projectcmd.NewInit(std), projectcmd.NewOps(std), sessionscmd.New(std),
		configcmd.NewConfig(std), configcmd.NewSchema(std), configcmd.NewSetup(std))
	for _, c := range daemonCommands {
		root.AddCommand(newDaemonCommand(c.name, c.short, args))
	}
	root.SetIn(std.In)
	root.SetOut(std.Out)
	root.SetErr(std.Err)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	cli.RefuseUnknown(root)
	return root
}

// daemonCommands are the commands of chant-acpd, for the list in our help: all else
// about them is there.
var daemonCommands = []struct{ name, short string }{
	{"attach", "Take a place at a terminal of a gateway"},
	{"events", "Follow what happens at a gateway"},
	{"gateway", "Serve a workspace's sessions, terminals and commands over HTTP on this machine"},
	{"heartbeat", "See what a workspace's HEARTBEAT.md would run, and allow it"},
	{"kill", "End sessions of a gateway"},
	{"ps", "List the sessions of a gateway"},
}

// newDaemonCommand stands for a command of chant-acpd, which takes over this
// process with the whole command line: to run it, for its help, and to complete it.
func newDaemonCommand(name, short string, line []string) *cobra.Command {
	become := func() error { return console.Exit(console.Failed, acpd.Become(name, line)) }
	return &cobra.Command{
		Use:                name,
		Short:              short,
		DisableFlagParsing: true,
		RunE:               func(*cobra.Command, []string) error { return become() },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			_ = become() // without chant-acpd there is nothing to complete
			return nil, cobra.ShellCompDirectiveNoFileComp
		},
	}
}

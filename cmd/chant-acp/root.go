package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// Exit codes, all of them.
const (
	exitOK        = 0
	exitFailed    = 1   // the command failed, or a check found errors
	exitUsage     = 2   // the command line of chant-acp itself is wrong
	exitRefused   = 3   // the prompt is not a command, or was not confirmed
	exitWaiting   = 4   // the prompt waits for a confirmation
	exitCancelled = 130 // the turn was cancelled
)

// streams are the process's standard streams. Nothing else in this command
// reads or writes them.
type streams struct {
	in, err *os.File
	out     *output
}

// exitError carries an exit code; its text, if any, is printed.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// run carries out one command line and returns the exit code.
func run(args []string, std streams) int {
	err := execute(args, std)
	err = withLost(err, std.out.lost())
	if err == nil {
		return exitOK
	}
	var exit *exitError
	if !errors.As(err, &exit) {
		exit = &exitError{exitUsage, fmt.Errorf("%w\nRun %q for the ways to use it", err, "chant-acp --help")}
	}
	if text := exit.Error(); text != "" {
		fmt.Fprintln(std.err, "chant-acp:", text)
	}
	return exit.code
}

// execute is what an editor waits for at each start where there is nothing to
// read in the command line: then no command tree is built.
func execute(args []string, std streams) error {
	if len(args) == 0 || len(args) == 1 && args[0] == "serve" {
		f := defaultFlags()
		return serve(std, &f)
	}
	root := newRoot(std)
	root.SetArgs(args)
	return root.Execute()
}

func newRoot(std streams) *cobra.Command {
	serve := newServe(std)
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
		RunE:          serve.RunE,
	}
	root.Flags().AddFlagSet(serve.Flags())
	root.AddCommand(serve, newPrompt(std), newCheck(std), newSessions(std), newConfig(std), newGateway(std), newSchema(std), newSetup(std), newVersion(std))
	root.SetIn(std.in)
	root.SetOut(std.out)
	root.SetErr(std.err)
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	refuseUnknown(root)
	return root
}

// isTerminal says whether a person is at the other end of f.
func isTerminal(f *os.File) bool { return term.IsTerminal(int(f.Fd())) }

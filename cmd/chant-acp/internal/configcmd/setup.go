package configcmd

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/cmd/chant-acp/internal/setup"
	"github.com/chant-acp/chant-acp/cmd/internal/console"
)

// NewSetup is the command setup.
func NewSetup(std console.Streams) *cobra.Command {
	var write bool
	c := &cobra.Command{
		Use:   "setup CLIENT",
		Short: "Print the configuration that adds this binary to a client, or write it",
		Long: "Setup prints the exact configuration with which a client starts this binary.\n" +
			"With --write it edits the client's settings in place: comments are kept, a copy\n" +
			"of the file is left beside it, and what changed is said. Where it cannot, it\n" +
			"prints the configuration all the same, says why, and exits with 1.\n\nClients: " + strings.Join(setup.Clients(), ", ") + ".",
		Example: "  chant-acp setup zed\n  chant-acp setup zed --write",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("setup takes one client: %s", strings.Join(setup.Clients(), ", "))
			}
			return nil
		},
		ValidArgsFunction: cobra.FixedCompletions(setup.Clients(), cobra.ShellCompDirectiveNoFileComp),
		RunE:              func(_ *cobra.Command, args []string) error { return runSetup(std, args[0], write) },
	}
	c.Flags().BoolVar(&write, "write", false, "edit the client's settings file in place")
	return c
}

func runSetup(std console.Streams, client string, write bool) error {
	target, err := setup.Lookup(client)
	if err != nil {
		return console.Exit(console.Usage, err)
	}
	o, err := setupOptions()
	if err != nil {
		return console.Exit(console.Failed, err)
	}
	var failed error
	if write {
		change, err := target.Write(o)
		if err == nil {
			printChange(std.Out, change)
			return nil
		}
		failed = console.Exit(console.Failed, fmt.Errorf("nothing was written: %w", err))
	}
	fmt.Fprintf(std.Err, "Where it goes: %s\n", target.Where(o))
	fmt.Fprint(std.Out, target.Snippet(o))
	return failed
}

func printChange(out io.Writer, c setup.Change) {
	fmt.Fprintln(out, c.Summary)
	if c.Backup != "" {
		fmt.Fprintln(out, "The file as it was:", c.Backup)
	}
	if c.Diff != "" {
		fmt.Fprintf(out, "\n%s\n", strings.TrimRight(c.Diff, "\n"))
	}
}

// setupOptions describe this binary and this user. The path is the one the
// binary was found under, so that an upgrade in place keeps working.
func setupOptions() (setup.Options, error) {
	binary, err := os.Executable()
	if err != nil {
		return setup.Options{}, fmt.Errorf("finding this binary: %w", err)
	}
	dir, err := os.Getwd()
	if err != nil {
		dir = "/"
	}
	home, _ := os.UserHomeDir() // "" is handled where a home is needed
	return setup.Options{Binary: filepath.Clean(binary), Env: os.Getenv, Home: home, Dir: dir, GOOS: runtime.GOOS}, nil
}

package projectcmd

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host/op/eval"
	"github.com/chant-acp/chant-acp/host/project"
)

// NewCheck is the command check.
func NewCheck(std console.Streams) *cobra.Command {
	var strict, verbose bool
	c := &cobra.Command{
		Use:   "check [DIR]",
		Short: "Check a project's manifest and print its allow-list",
		Long: `Check finds the manifest as a session in DIR would (default: the current
directory), prints every error and warning with file, line and column, and the
allow-list. It warns where the allow-list lets through more than it seems to,
and of programs and folders that this machine does not have; programs are looked
for with the PATH that check itself is started with.

It exits with 1 when there are errors or no manifest. Warnings are advice, or
errors too with --strict.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			if verbose {
				fmt.Fprintf(std.Out, "*.op.ts are evaluated behind walls. %s\n\n", eval.Walls())
			}
			return check(std, dir, strict)
		},
	}
	c.Flags().BoolVar(&strict, "strict", false, "exit with 1 when there are warnings, too")
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "say what of the kernel keeps the evaluator of *.op.ts to the project")
	return c
}

func check(std console.Streams, dir string, strict bool) error {
	path, root, err := findManifest(dir)
	if err != nil {
		return err
	}
	m, err := command.ReadManifest(path)
	var bad *command.ManifestError
	if errors.As(err, &bad) {
		for _, d := range bad.Diagnostics {
			fmt.Fprintln(std.Out, d)
		}
		return console.Exit(console.Failed, fmt.Errorf("%s: %s", path, console.Plural(len(bad.Diagnostics), "error")))
	}
	if err != nil {
		return console.Exit(console.Failed, err)
	}
	warnings := slices.Concat(m.Warnings(), project.Lacking(m, root, os.Environ()))
	slices.SortStableFunc(warnings, func(a, b command.Diagnostic) int {
		return cmp.Or(a.Line-b.Line, a.Column-b.Column)
	})
	for _, d := range warnings {
		fmt.Fprintf(std.Out, "%s:%d:%d: warning: %s\n", d.File, d.Line, d.Column, d.Message)
	}
	if len(warnings) > 0 {
		fmt.Fprintln(std.Out)
	}
	fmt.Fprint(std.Out, command.NewRegistry(command.RegistryOptions{Root: root, Manifest: m}).Help(nil))
	sum := console.Plural(len(warnings), "warning")
	fmt.Fprintf(std.Out, "\n%s: %s, %s\n", path, console.Plural(len(m.Commands()), "command"), sum)
	if strict && len(warnings) > 0 {
		return console.Exit(console.Failed, fmt.Errorf("%s: %s, and --strict takes none", path, sum))
	}
	return nil
}

// findManifest finds what a session in dir would use, or says why there is none.
func findManifest(dir string) (path, root string, err error) {
	dir, err = filepath.Abs(dir)
	if err != nil {
		return "", "", console.Exit(console.Failed, err)
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return "", "", console.Exit(console.Usage, fmt.Errorf("%s is not a directory that can be checked", dir))
	}
	path, root, err = command.FindManifest(dir)
	if err == nil && path == "" {
		why := "; write one at the root of the project to allow more"
		if reason := command.WhyNoManifest(dir); reason != "" {
			why = "\n" + reason
		}
		err = fmt.Errorf("there is no %s for %s: nothing but the built-in commands, and the verbs of a chant program, may run there%s", command.ManifestName, dir, why)
	}
	if err != nil {
		return "", "", console.Exit(console.Failed, err)
	}
	return path, root, nil
}

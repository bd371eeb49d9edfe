package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/command"
)

func newCheck(std streams) *cobra.Command {
	return &cobra.Command{
		Use:   "check [DIR]",
		Short: "Check a project's manifest and print its allow-list",
		Long: `Check finds the manifest as a session in DIR would (default: the current
directory), prints every error and warning with file, line and column, and the
allow-list. It exits with 1 when there are errors or no manifest; warnings are
advice.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			return check(std, dir)
		},
	}
}

func check(std streams, dir string) error {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return &exitError{exitFailed, err}
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return &exitError{exitUsage, fmt.Errorf("%s is not a directory that can be checked", dir)}
	}
	path, root, err := command.FindManifest(dir)
	if err != nil {
		return &exitError{exitFailed, err}
	}
	if path == "" {
		return &exitError{exitFailed, fmt.Errorf("there is no %s for %s: nothing but the built-in commands, and the verbs of a chant program, may run there", command.ManifestName, dir)}
	}
	m, err := command.ReadManifest(path)
	var bad *command.ManifestError
	if errors.As(err, &bad) {
		for _, d := range bad.Diagnostics {
			fmt.Fprintln(std.out, d)
		}
		return &exitError{exitFailed, fmt.Errorf("%s: %s", path, plural(len(bad.Diagnostics), "error"))}
	}
	if err != nil {
		return &exitError{exitFailed, err}
	}
	warnings := m.Warnings()
	for _, d := range warnings {
		fmt.Fprintf(std.out, "%s:%d:%d: warning: %s\n", d.File, d.Line, d.Column, d.Message)
	}
	if len(warnings) > 0 {
		fmt.Fprintln(std.out)
	}
	fmt.Fprint(std.out, command.NewRegistry(command.RegistryOptions{Root: root, Manifest: m}).Help(nil))
	fmt.Fprintf(std.out, "\n%s: %s, %s\n", path, plural(len(m.Commands()), "command"), plural(len(warnings), "warning"))
	return nil
}

func plural(n int, what string) string {
	if n == 1 {
		return fmt.Sprintf("1 %s", what)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

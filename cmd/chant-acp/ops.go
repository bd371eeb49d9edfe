package main

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/host/op/eval"
	"github.com/chant-acp/chant-acp/host/project"
	"github.com/chant-acp/chant-acp/internal/stateroot"
)

func newOps(std streams) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use:   "ops [DIR]",
		Short: "List a project's Ops",
		Long: `Ops reads every Op of the project that DIR belongs to (default: the current
directory) and prints its file, overview, phases and gates. Ops are files whose
names end in .op.ts, .op.yaml or .op.json, below the folder of the manifest, else
below the repository's root.

With --json it prints one object a line: name, file and config of an Op, or file
and error of a file that cannot be read as one. It exits with 1 when there are
such files.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			set, err := loadOps(c, dir)
			if err != nil {
				return err
			}
			if asJSON {
				err = project.WriteOps(std.out, set)
			} else {
				_, err = fmt.Fprint(std.out, set.List(nil, nil))
			}
			if err == nil && (len(set.Failed) > 0 || set.Incomplete != nil) {
				err = fmt.Errorf("not all of %s could be read; %s failed", set.Root, plural(len(set.Failed), "file"))
			}
			if err != nil {
				return &exitError{exitFailed, err}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return c
}

// opsCache is where what was evaluated is kept, below the state root.
func opsCache() string { return filepath.Join(stateroot.Dir(os.Getenv), "ops") }

func loadOps(c *cobra.Command, dir string) (*op.Set, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, &exitError{exitFailed, err}
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return nil, &exitError{exitUsage, fmt.Errorf("%s is not a directory that can hold Ops", dir)}
	}
	_, root, _ := command.FindManifest(dir) // the root is what counts here, whatever the manifest is like
	set, err := eval.Load(c.Context(), root, eval.Options{Cache: opsCache()})
	if err != nil {
		return nil, &exitError{exitFailed, err}
	}
	return set, nil
}

package projectcmd

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/cmd/internal/serve"
	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/host/op/eval"
	"github.com/chant-acp/chant-acp/host/project"
	"github.com/chant-acp/chant-acp/internal/brief"
)

// NewOps is the command ops.
func NewOps(std console.Streams) *cobra.Command {
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
				err = project.WriteOps(std.Out, set)
			} else {
				_, err = fmt.Fprint(std.Out, set.List(nil, nil))
			}
			if err == nil && (len(set.Failed) > 0 || set.Incomplete != nil) {
				err = fmt.Errorf("not all of %s could be read; %s failed", set.Root, brief.Plural(len(set.Failed), "file"))
			}
			if err != nil {
				return console.Exit(console.Failed, err)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print one JSON object a line")
	return c
}

func loadOps(c *cobra.Command, dir string) (*op.Set, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, console.Exit(console.Failed, err)
	}
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return nil, console.Exit(console.Usage, fmt.Errorf("%s is not a directory that can hold Ops", dir))
	}
	_, root, _ := command.FindManifest(dir) // the root is what counts here, whatever the manifest is like
	set, err := eval.Load(c.Context(), root, eval.Options{Cache: serve.OpsCache()})
	if err != nil {
		return nil, console.Exit(console.Failed, err)
	}
	return set, nil
}

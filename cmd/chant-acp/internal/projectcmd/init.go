package projectcmd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/command/source"
	"github.com/chant-acp/chant-acp/host/tasks"
)

// NewInit is the command init.
func NewInit(std console.Streams) *cobra.Command {
	var write bool
	var targets []string
	c := &cobra.Command{
		Use:   "init [flags] [DIR]",
		Short: "Draft a manifest from what a repository's task runner has",
		Long: `Init reads the justfile, the Taskfile, the package.json and the makefile in DIR
(default: the current directory) and prints a chant-acp.yaml with their recipes,
tasks, scripts and targets as commands. Of a makefile it takes the targets that
--make names. Nothing of the project runs: a justfile is read by "just --dump",
which runs nothing.

A parameter that a recipe splices into a shell's text takes words that no shell
changes; where even those could do more, the parameter is left out, or the recipe,
and standard error says why. Look at the draft: effects, confirmations and
environments are yours to say.

With --write it is written to DIR, where there is none yet.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			dir := "."
			if len(args) == 1 {
				dir = args[0]
			}
			if st, err := os.Stat(dir); err != nil || !st.IsDir() {
				return console.Exit(console.Usage, fmt.Errorf("%s is no folder", dir))
			}
			if err := draft(c.Context(), std, dir, targets, write); err != nil {
				return console.Exit(console.Failed, err)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&write, "write", false, "write the draft to "+command.ManifestName+", which must not be there")
	c.Flags().StringSliceVar(&targets, "make", nil, "the `targets` of the makefile to take, separated by commas")
	return c
}

// draft prints or writes a manifest of what the folder's task runners have.
func draft(ctx context.Context, std console.Streams, dir string, targets []string, write bool) error {
	listings, missing, err := listTasks(ctx, dir, targets)
	for _, m := range missing {
		fmt.Fprintln(std.Err, "chant-acp: "+console.OneLine(m))
	}
	if err != nil {
		return err
	}
	var files []string
	for _, l := range listings {
		if len(l.Tasks) > 0 {
			files = append(files, l.File)
		}
	}
	if len(files) == 0 {
		return fmt.Errorf("there is no justfile, Taskfile, package.json with scripts, or makefile with targets named by --make in %s: write %s by hand, as docs/manifest.md shows", dir, command.ManifestName)
	}
	text, _, notes, err := tasks.Commands(listings, command.NameError)
	if err != nil {
		return err
	}
	for _, n := range notes {
		fmt.Fprintln(std.Err, "chant-acp: "+console.OneLine(n))
	}
	text = append([]byte("# Drafted by chant-acp init from "+strings.Join(files, ", ")+". Say what each command does: effect, confirm.\n"), text...)
	if _, err := command.ParseManifest(command.ManifestName, text); err != nil {
		return fmt.Errorf("the draft can't be used: %w", err)
	}
	if !write {
		_, err := std.Out.Write(text)
		return err
	}
	path := filepath.Join(dir, command.ManifestName)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s is there already; without --write the draft is printed", path)
	}
	if err == nil {
		_, err = f.Write(text)
		err = errors.Join(err, f.Close())
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(std.Out, "%s is written; look at it with: chant-acp check %s\n", path, dir)
	return nil
}

// listTasks reads what there is. missing says, for people, what could not be.
func listTasks(ctx context.Context, dir string, targets []string) (listings []*source.Listing, missing []string, err error) {
	found := tasks.Find(dir)
	if len(targets) > 0 && !slices.ContainsFunc(found, func(f tasks.Found) bool { return f.Tool == "make" }) {
		return nil, nil, fmt.Errorf("there is no makefile in %s for --make", dir)
	}
	for _, f := range found {
		var names []string
		if f.Tool == "make" {
			names = targets
		}
		l, _, err := tasks.List(ctx, dir, command.Source{Tool: f.Tool, Names: names}, os.Environ())
		switch {
		case err == nil:
			listings = append(listings, l)
		case f.Tool == "make" && len(names) == 0:
			missing = append(missing, err.Error()+" (--make takes them)")
		case f.Tool == "make":
			return nil, missing, err
		default:
			missing = append(missing, err.Error())
		}
	}
	return listings, missing, nil
}

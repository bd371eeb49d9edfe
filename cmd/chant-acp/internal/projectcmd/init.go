package projectcmd

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/command/source"
	"github.com/chant-acp/chant-acp/command/source/gnumake"
	"github.com/chant-acp/chant-acp/command/source/just"
	"github.com/chant-acp/chant-acp/command/source/npm"
	"github.com/chant-acp/chant-acp/internal/durable"
)

const (
	// maxTaskFile is the largest file of tasks that is read, in bytes.
	maxTaskFile = 1 << 20
	// dumpTime is how long just may take to print what is in its file.
	dumpTime = 10 * time.Second
)

// NewInit is the command init.
func NewInit(std console.Streams) *cobra.Command {
	var write bool
	var targets []string
	c := &cobra.Command{
		Use:   "init [flags] [DIR]",
		Short: "Draft a manifest from what a repository's task runner has",
		Long: `Init reads the justfile, the package.json and the makefile in DIR (default: the
current directory) and prints a chant-acp.yaml with their recipes, scripts and
targets as commands. Of a makefile it takes the targets that --make names. Nothing
of the project runs: a justfile is read by "just --dump", which runs nothing.

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
		return fmt.Errorf("there is no justfile, package.json with scripts, or makefile with targets named by --make in %s: write %s by hand, as docs/manifest.md shows", dir, command.ManifestName)
	}
	text, notes, err := source.Manifest(listings, command.NameError)
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
	if file := present(dir, just.Files); file != "" {
		l, err := dumpJust(ctx, dir, file)
		if err != nil {
			missing = append(missing, fmt.Sprintf("%s is not taken: %v", file, err))
		} else {
			listings = append(listings, l)
		}
	}
	if file := present(dir, npm.Files); file != "" {
		text, err := durable.Read(filepath.Join(dir, file), maxTaskFile)
		if err != nil {
			return nil, missing, err
		}
		npmrc, err := durable.Read(filepath.Join(dir, ".npmrc"), maxTaskFile)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, missing, err
		}
		l, err := npm.Parse(text, npmrc, file)
		if err != nil {
			return nil, missing, err
		}
		listings = append(listings, l)
	}
	file := present(dir, gnumake.Files)
	switch {
	case file == "" && len(targets) > 0:
		return nil, missing, fmt.Errorf("there is no makefile in %s for --make", dir)
	case file == "":
		return listings, missing, nil
	}
	text, err := durable.Read(filepath.Join(dir, file), maxTaskFile)
	if err != nil {
		return nil, missing, err
	}
	if known := gnumake.Targets(text); len(targets) == 0 && len(known) > 0 {
		missing = append(missing, fmt.Sprintf("%s is not taken: name the targets to take, such as --make %s", file, strings.Join(known[:min(len(known), 8)], ",")))
		return listings, missing, nil
	}
	l, err := gnumake.Parse(text, file, targets)
	if err != nil {
		return nil, missing, err
	}
	return append(listings, l), missing, nil
}

// present returns the first of the names that is a file of the folder, whatever
// its case; "" for none.
func present(dir string, names []string) string {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return ""
	}
	for _, name := range names {
		for _, e := range entries {
			if e.Type().IsRegular() && (e.Name() == name || name == "justfile" && strings.EqualFold(e.Name(), name)) {
				return e.Name()
			}
		}
	}
	return ""
}

// dumpJust asks just what is in its file.
func dumpJust(ctx context.Context, dir, file string) (*source.Listing, error) {
	program, err := exec.LookPath("just")
	if err != nil {
		return nil, errors.New("just, which reads it, is not installed")
	}
	ctx, cancel := context.WithTimeout(ctx, dumpTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, just.DumpArgs...)
	cmd.Dir = dir
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	dump, err := cmd.Output()
	if err != nil {
		first, _, _ := strings.Cut(strings.TrimSpace(stderr.String()), "\n")
		return nil, fmt.Errorf("just can't read it (%w): %s", err, first)
	}
	return just.Parse(dump, file)
}

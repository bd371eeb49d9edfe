package projectcmd

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host/op/eval"
	"github.com/chant-acp/chant-acp/host/project"
	"github.com/chant-acp/chant-acp/internal/brief"
)

// NewCheck is the command check.
func NewCheck(std console.Streams) *cobra.Command {
	var strict, verbose, asJSON bool
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
			if verbose && !asJSON {
				fmt.Fprintf(std.Out, "*.op.ts are evaluated behind walls. %s\n\n", eval.Walls())
			}
			return check(std, dir, strict, asJSON)
		},
	}
	c.Flags().BoolVar(&strict, "strict", false, "exit with 1 when there are warnings, too")
	c.Flags().BoolVar(&asJSON, "json", false, "print what was found, and the commands, as one JSON object")
	c.Flags().BoolVarP(&verbose, "verbose", "v", false, "say what of the kernel keeps the evaluator of *.op.ts to the project")
	return c
}

func check(std console.Streams, dir string, strict, asJSON bool) error {
	path, root, err := findManifest(dir)
	if err != nil {
		return err
	}
	r := checked{File: path, Errors: []finding{}, Warnings: []finding{}, Commands: []command.Listed{}}
	m, err := command.ReadManifest(path)
	var bad *command.ManifestError
	switch {
	case errors.As(err, &bad):
		r.Errors = findings(bad.Diagnostics)
	case err != nil:
		return console.Exit(console.Failed, err)
	default:
		listed, notes := project.Tasks(root, m, os.Environ())
		warnings := slices.Concat(m.Warnings(), project.Lacking(m, root, os.Environ()), notes)
		slices.SortStableFunc(warnings, func(a, b command.Diagnostic) int {
			return cmp.Or(a.Line-b.Line, a.Column-b.Column)
		})
		r.Warnings = findings(warnings)
		r.registry = command.NewRegistry(command.RegistryOptions{Root: root, Manifest: m, Listed: listed})
		r.Commands = r.registry.List()
	}
	if asJSON {
		if err := json.NewEncoder(std.Out).Encode(r); err != nil {
			return err
		}
	} else {
		r.print(std.Out)
	}
	switch sum := brief.Plural(len(r.Warnings), "warning"); {
	case len(r.Errors) > 0:
		return console.Exit(console.Failed, fmt.Errorf("%s: %s", path, brief.Plural(len(r.Errors), "error")))
	case strict && len(r.Warnings) > 0:
		return console.Exit(console.Failed, fmt.Errorf("%s: %s, and --strict takes none", path, sum))
	}
	return nil
}

// checked is what check found: the document that check --json prints.
type checked struct {
	File     string           `json:"file"`
	Errors   []finding        `json:"errors"`
	Warnings []finding        `json:"warnings"`
	Commands []command.Listed `json:"commands"` // of the manifest; none where it has errors

	registry *command.Registry
}

// A finding is an error or a warning. Lines and columns start at 1.
type finding struct {
	File    string `json:"file"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Message string `json:"message"`
}

func findings(list []command.Diagnostic) []finding {
	found := make([]finding, len(list))
	for i, d := range list {
		found[i] = finding(d)
	}
	return found
}

// print writes it for a person.
func (r *checked) print(w io.Writer) {
	for _, f := range r.Errors {
		fmt.Fprintf(w, "%s:%d:%d: %s\n", console.Printable(f.File), f.Line, f.Column, console.Printable(f.Message))
	}
	if len(r.Errors) > 0 {
		return
	}
	for _, f := range r.Warnings {
		fmt.Fprintf(w, "%s:%d:%d: warning: %s\n", console.Printable(f.File), f.Line, f.Column, console.Printable(f.Message))
	}
	if len(r.Warnings) > 0 {
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, console.PrintableText(r.registry.Help(nil, command.ParseOptions{})))
	fmt.Fprintf(w, "\n%s: %s, %s\n", r.File, brief.Plural(len(r.Commands), "command"), brief.Plural(len(r.Warnings), "warning"))
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
		if reason := project.New(dir, project.Options{}).AllowList().Registry.Lacking(); reason != "" {
			why = "\n" + reason
		}
		err = fmt.Errorf("there is no %s for %s: nothing but the built-in commands, and the verbs of a chant program, may run there%s", command.ManifestName, dir, why)
	}
	if err != nil {
		return "", "", console.Exit(console.Failed, err)
	}
	return path, root, nil
}

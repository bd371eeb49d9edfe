package projectcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/cmd/internal/serve"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/internal/stateroot"
	"github.com/chant-acp/chant-acp/runtime/allow"
)

// NewAllow makes the command allow.
func NewAllow(std console.Streams) *cobra.Command {
	var yes, forget bool
	c := &cobra.Command{
		Use:   "allow [flags] [DIR]",
		Short: "Show what a project would run, and allow it",
		Long: `Allow shows the commands and Ops of the project in DIR, the current directory
where there is none: their names, effects and programs, and what is new or has
changed since they were allowed. On yes, or with --yes, each is allowed as it is
now: its entry in the manifest or its Op's sources, and the programs and files of
the project that it names. What changes later is shown when it is first used.

A project has to be allowed before an editor, an MCP client or HEARTBEAT.md can
run anything of it. A line that you type with chant-acp prompt allows its command
by itself. It exits with 1 when the manifest can't be used, and with 3 when
nobody said yes.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			dir := "."
			if len(args) > 0 {
				dir = args[0]
			}
			if err := stateroot.Check(os.Getenv); err != nil {
				return console.Exit(console.Usage, err)
			}
			if st, err := os.Stat(dir); err != nil || !st.IsDir() {
				return console.Exit(console.Usage, fmt.Errorf("%s is no folder", dir))
			}
			dir, err := filepath.Abs(dir)
			if err != nil {
				return console.Exit(console.Failed, err)
			}
			err = allowProject(std, dir, yes, forget)
			var exit *console.ExitError
			if err != nil && !errors.As(err, &exit) {
				err = console.Exit(console.Failed, err)
			}
			return err
		},
	}
	c.Flags().BoolVar(&yes, "yes", false, "do not ask")
	c.Flags().BoolVar(&forget, "forget", false, "take back all that was allowed")
	return c
}

func allowProject(std console.Streams, dir string, yes, forget bool) error {
	f := serve.DefaultFlags()
	_ = f.Configure() // the command config reports what can't be used
	h := f.Projects(os.Environ())(dir)
	store := allow.Open(stateroot.Dir(os.Getenv))
	if forget {
		was, err := store.Forget(h.Dir())
		text := "Nothing of %s is allowed any more.\n"
		if !was {
			text = "Nothing of %s was allowed.\n"
		}
		if err == nil {
			fmt.Fprintf(std.Out, text, console.Printable(h.Dir()))
		}
		return err
	}
	if err := h.AllowList().Problem; err != nil {
		return err
	}
	offers, err := h.Offers(context.Background())
	if err != nil {
		return err
	}
	if len(offers) == 0 {
		fmt.Fprintf(std.Out, "%s offers nothing to run.\n", console.Printable(h.Dir()))
		return nil
	}
	fmt.Fprintf(std.Out, "%s offers\n\n", console.Printable(h.Dir()))
	open, err := printOffers(std, store, h.Dir(), offers)
	if err != nil {
		return err
	}
	if !open {
		fmt.Fprintln(std.Out, "\nAll of it is allowed already.")
		return nil
	}
	if err := serve.Consent(std, yes, "May these run here, as you?", "nothing was allowed"); err != nil {
		return err
	}
	if err := store.Allow(h.Dir(), offers, true); err != nil {
		return err
	}
	fmt.Fprintln(std.Out, "\nAllowed, as it is now.")
	return nil
}

// printOffers prints what a project offers, and says whether anything of it is not
// allowed yet.
func printOffers(std console.Streams, store *allow.Store, root string, offers []host.Offer) (open bool, err error) {
	width := 4
	for _, o := range offers {
		width = max(width, min(len(o.Name), 30))
	}
	for _, o := range offers {
		a, err := store.Look(root, o)
		if err != nil {
			return false, err
		}
		open = open || !a.Allowed || !a.Project
		fmt.Fprintf(std.Out, "%-*s  %-7s  %s\n", width, console.Printable(o.Name), o.Effect, console.Printable(strings.Join(strings.Fields(o.Runs), " ")))
		switch {
		case a.Allowed:
		case a.Before.IsZero():
			fmt.Fprintf(std.Out, "%-*s  new\n", width, "")
		default:
			fmt.Fprintf(std.Out, "%-*s  changed since %s: %s\n", width, "", a.Before.UTC().Format(time.DateTime+" UTC"), console.OneLine(a.Changed))
			for line := range strings.Lines(a.Difference) {
				fmt.Fprintf(std.Out, "%-*s    %s\n", width, "", console.Printable(strings.TrimRight(line, "\n")))
			}
		}
	}
	return open, nil
}

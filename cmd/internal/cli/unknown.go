// Package cli is what the command lines of both executables share, on top of cobra:
// names that nobody knows are refused, with what was meant.
//
// [RefuseUnknown] is put into a root command.
package cli

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// RefuseUnknown makes each command that only holds others, and help, refuse a
// name that none of them has. By itself cobra shows help there and reports
// success.
func RefuseUnknown(c *cobra.Command) {
	for _, sub := range c.Commands() {
		RefuseUnknown(sub)
		if sub.HasSubCommands() && !sub.Runnable() {
			sub.Args = KnownCommand
			sub.DisableFlagsInUseLine = true
			sub.RunE = func(c *cobra.Command, _ []string) error { return c.Help() }
		}
	}
	if c.HasParent() {
		return
	}
	if help, _, err := c.Find([]string{"help"}); err == nil {
		help.Run = nil
		help.RunE = func(_ *cobra.Command, args []string) error { return helpFor(c, args) }
	}
}

// helpFor prints the help of the command that args name.
func helpFor(root *cobra.Command, args []string) error {
	c := root
	for _, name := range args {
		i := slices.IndexFunc(c.Commands(), func(sub *cobra.Command) bool { return sub.Name() == name })
		if i < 0 {
			return unknownCommand(c, name)
		}
		c = c.Commands()[i]
	}
	if c.DisableFlagParsing { // it takes the whole command line, and shows its own help
		return c.RunE(c, args)
	}
	c.InitDefaultHelpFlag() // to be shown, too
	return c.Help()
}

// KnownCommand is for commands whose arguments can only be names of others.
func KnownCommand(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	if c.ArgsLenAtDash() == 0 && slices.ContainsFunc(c.Commands(), func(sub *cobra.Command) bool { return sub.Name() == args[0] }) {
		return fmt.Errorf("no command can stand behind \"--\", so %q is none there; write %q", args[0], c.CommandPath()+" "+args[0])
	}
	return unknownCommand(c, args[0])
}

// unknownCommand says what was meant, and what there is.
func unknownCommand(c *cobra.Command, name string) error {
	var names []string
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() || sub.Name() == "help" {
			names = append(names, sub.Name())
		}
	}
	if len(names) == 0 {
		return fmt.Errorf("unknown command %q: %q holds no others", name, c.CommandPath())
	}
	meant := ""
	c.SuggestionsMinimumDistance = 2 // letters, at most
	if near := c.SuggestionsFor(name); name != "" && len(near) > 0 {
		meant = "; did you mean " + strings.Join(near, " or ") + "?"
	}
	return fmt.Errorf("unknown command %q for %q%s\nThere is: %s", name, c.CommandPath(), meant, strings.Join(names, ", "))
}

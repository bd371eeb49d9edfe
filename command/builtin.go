package command

import (
	"fmt"
	"strconv"
	"strings"
)

// A Builtin is a command that the agent itself carries out.
type Builtin struct {
	Name      string // one word or more: "history", "run list"
	Signature string // the name and its arguments: "history [n]"
	Summary   string // one line
	Effect    Effect

	MinArgs int // at least so many words after the name
	MaxArgs int // at most so many; negative for no limit

	// Check, where set, refuses arguments for another reason than their number;
	// its answer is a clause such as `n must be a number`, "" when all is well.
	Check func(args []string) string

	// params, where set, are the arguments in place of all of the above; see
	// [OpLine].
	params func() []*param
}

// DefaultBuiltins are all built-in commands.
func DefaultBuiltins() []Builtin {
	return append([]Builtin{
		{Name: "help", Signature: "help [command]", Summary: "Show what can be run here, or one command in full", Effect: Read, MaxArgs: -1},
		{Name: "explain", Signature: "explain <command line>", Summary: "Show what a command line would run, without running it", Effect: Read, MinArgs: 1, MaxArgs: -1},
		{Name: "history", Signature: "history [n]", Summary: "List the last commands of this session", Effect: Read, MaxArgs: 1, Check: checkCount},
		{Name: "again", Signature: "again [n]", Summary: "Run the last command again, or the nth last", Effect: Read, MaxArgs: 1, Check: checkCount},
		{Name: "confirm", Signature: "confirm <code>", Summary: "Run the command that waits for this code", Effect: Read, MinArgs: 1, MaxArgs: 1},
		{Name: "allow", Signature: "allow <code> | [--off] " + strings.Join(SourceTools, "|") + " [name…]", Summary: "Allow what the project offers, and run the line that waits for this code; or take the tasks of a task runner as commands", Effect: Read, MinArgs: 1, MaxArgs: -1},
	}, opBuiltins()...)
}

func checkCount(args []string) string {
	if len(args) == 0 {
		return ""
	}
	if n, err := strconv.Atoi(args[0]); err != nil || n < 1 || strings.HasPrefix(args[0], "+") {
		return fmt.Sprintf("n must be a number from 1 up, and %q is not", args[0])
	}
	return ""
}

// reserved says whether w is the first word of a built-in command, offered here
// or not. No other source of the allow-list may begin a name with it.
func reserved(w string) bool {
	switch w {
	case "run", "approve", "reject", "confirm", "allow", "signal", "ops", "help", "explain", "history", "again":
		return true
	}
	return false
}

// checkArgs refuses a wrong number of arguments, and wrong ones.
func (b *Builtin) checkArgs(args []string) string {
	switch {
	case len(args) < b.MinArgs:
		return "something is missing after it"
	case b.MaxArgs >= 0 && len(args) > b.MaxArgs && b.MaxArgs == 0:
		return fmt.Sprintf("it takes no arguments, and %q is one", args[0])
	case b.MaxArgs >= 0 && len(args) > b.MaxArgs:
		return fmt.Sprintf("%q is one argument too many", args[b.MaxArgs])
	case b.Check != nil:
		return b.Check(args)
	}
	return ""
}

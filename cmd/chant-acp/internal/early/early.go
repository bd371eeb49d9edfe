// Package early starts the agent before the program is initialised.
//
// An editor waits for the agent at each start, and what evaluates Ops, or speaks
// HTTP, takes longer to initialise than the agent takes to answer, although the
// agent's process never uses it. Go initialises a package as soon as all that it
// imports is, and of those that can be, the first in the order of their paths
// (https://go.dev/ref/spec#Program_initialization): this package, which imports
// the agent and neither of these, comes before them. So it runs the agent in its
// init function. All that it uses is initialised by then, whatever the order; were
// this package to come later, the start would take longer, and nothing else.
package early

import (
	"os"

	"github.com/chant-acp/chant-acp/cmd/chant-acp/internal/console"
	"github.com/chant-acp/chant-acp/cmd/chant-acp/internal/serve"
	"github.com/chant-acp/chant-acp/internal/selfcopy"
)

func init() {
	args := os.Args[1:]
	if selfcopy.Any() || len(args) > 1 || len(args) == 1 && args[0] != "serve" {
		return // a command line that has to be read
	}
	// While packages are initialised, the goroutine that does so is bound to its
	// thread, which makes each of its waits a change of threads.
	code := make(chan int)
	go func() {
		std := console.NewStreams(os.Stdin, os.Stdout, os.Stderr)
		f := serve.DefaultFlags()
		code <- std.End(serve.Run(std, &f))
	}()
	os.Exit(<-code)
}

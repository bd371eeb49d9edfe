// Command chant-acp is an Agent Client Protocol agent without a model: an
// editor starts it, and each prompt runs one command of the project's
// allow-list.
package main

import (
	"os"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/host/process"
)

func main() {
	process.GuardMain()
	process.Conceal()
	os.Exit(run(os.Args[1:], console.NewStreams(os.Stdin, os.Stdout, os.Stderr)))
}

// Command chant-acp is an Agent Client Protocol agent without a model: an
// editor starts it, and each prompt runs one command of the project's
// allow-list.
package main

import (
	"os"

	"github.com/chant-acp/chant-acp/cmd/chant-acp/internal/console"
	_ "github.com/chant-acp/chant-acp/cmd/chant-acp/internal/early" // the agent
	_ "github.com/chant-acp/chant-acp/host/local/httpask/client"    // copies that speak HTTP
	_ "github.com/chant-acp/chant-acp/host/op/eval/engine"          // copies that evaluate Ops
)

func main() {
	os.Exit(run(os.Args[1:], console.NewStreams(os.Stdin, os.Stdout, os.Stderr)))
}

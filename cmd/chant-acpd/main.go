// Command chant-acpd is what stands beside chant-acp, and needs a network or
// JavaScript: the gateway and the commands that ask one, the evaluator of *.op.ts,
// and the requests of HTTP steps. chant-acp starts it.
package main

import (
	"fmt"
	"os"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/host/local/httpask/client"
	"github.com/chant-acp/chant-acp/host/op/eval/engine"
	"github.com/chant-acp/chant-acp/host/process"
	"github.com/chant-acp/chant-acp/internal/acpd"
)

func main() {
	process.GuardMain()
	call, err := acpd.Called(os.Args[1:])
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(acpd.WrongVersion)
	case call.Is(acpd.Evaluate):
		os.Exit(engine.Main())
	case call.Is(acpd.Request):
		os.Exit(client.Main())
	}
	os.Exit(run(call, console.NewStreams(os.Stdin, os.Stdout, os.Stderr)))
}

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
	"github.com/chant-acp/chant-acp/runtime/person"
)

func main() {
	process.GuardMain()
	process.Conceal()
	call, err := acpd.Called(os.Args[1:])
	switch {
	case err != nil:
		fmt.Fprintln(os.Stderr, err)
		os.Exit(acpd.WrongVersion)
	case call.Is(acpd.Evaluate):
		os.Exit(engine.Main())
	case call.Is(acpd.Request):
		os.Exit(client.Main())
	case call.Is(acpd.Vouch):
		os.Exit(person.VoucherMain())
	}
	os.Exit(run(call, console.NewStreams(os.Stdin, os.Stdout, os.Stderr)))
}

package local

import (
	"context"
	"time"

	"github.com/chant-acp/chant-acp/host/gitstate"
)

// treeWait bounds how long the work tree may be looked at: what is found is
// recorded and decides nothing.
const treeWait = 2 * time.Second

// lookAtTree begins to look at which commit the project is at, and whether its work
// tree holds more than that. The function that it returns waits for the answer.
func (rt *Runtime) lookAtTree(ctx context.Context) func() gitstate.State {
	ctx, cancel := context.WithTimeout(ctx, treeWait)
	found := make(chan gitstate.State, 1)
	go func() { found <- gitstate.Read(ctx, rt.o.Root) }()
	return func() gitstate.State {
		defer cancel()
		return <-found
	}
}

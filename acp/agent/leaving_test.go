package agent

import (
	"context"
	"testing"

	"github.com/rs/zerolog"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/host"
)

// lastRun is a program that looks around when it is told to stop.
type lastRun struct {
	host.Run
	stopped func()
}

func (r lastRun) Stop(host.Stop) { r.stopped() }

// A program that ends when the agent leaves gives its place to the next turn at
// once. By then that turn knows that it must start nothing.
func TestLeavingDoomsAllBeforeOneEnds(t *testing.T) {
	for range 20 { // the turns are stopped in no order
		ours, theirs := acp.Pipe()
		c := newConn(New(Options{}), OriginClient)
		c.AgentConn = acp.AgentConn{Peer: acp.NewPeer(ours, c, zerolog.Nop())}
		c.Start()
		s := &session{conn: c, id: "sess_1"}
		running := newTurn(s, &acp.Request{}, nil)
		c.open[running] = true
		for range 10 {
			c.open[newTurn(s, &acp.Request{}, nil)] = true
		}
		asked := false
		running.program = lastRun{stopped: func() {
			asked = true
			for other := range c.open {
				if other != running && other.reason() != host.StopLeaving {
					t.Error("a turn that waits could still start its program")
				}
			}
		}}
		theirs.Close()
		if err := c.leave(); err != nil {
			t.Fatal(err)
		}
		if !asked {
			t.Fatal("the program was not stopped")
		}
		if err := context.Cause(running.context()); err != errStopped {
			t.Errorf("its context ended with %v", err)
		}
	}
}

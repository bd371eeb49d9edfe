package turn

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

type nobody struct{ acp.Handler }

// A program that ends when the agent leaves gives its slot to the next turn at
// once. By then that turn knows that it must start nothing.
func TestStopAllDoomsAllBeforeOneEnds(t *testing.T) {
	ours, theirs := acp.Pipe()
	defer theirs.Close()
	c := NewConn(Options{}, new(Slot), OriginClient, nil)
	c.AgentConn = acp.AgentConn{Peer: acp.NewPeer(ours, nobody{}, zerolog.Nop())}
	c.Start()
	defer c.Close()
	s := NewThread(c, "sess_1", "", nil, "")
	var all []*Turn
	for range 11 {
		all = append(all, New(s, &acp.Request{}, acp.PromptRequest{}, nil))
	}
	asked := false
	running := all[5]
	running.runs(lastRun{stopped: func() {
		asked = true
		for _, other := range all {
			if other != running && other.reason() != host.StopLeaving {
				t.Error("a turn that waits could still start its program")
			}
		}
	}})
	StopAll(all, host.StopLeaving)
	if !asked {
		t.Fatal("the program was not stopped")
	}
	if err := context.Cause(running.context()); err != errStopped {
		t.Errorf("its context ended with %v", err)
	}
}

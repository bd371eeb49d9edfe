package agent_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/chant-acp/chant-acp/acp/agent"
)

// picky is a store that can't keep events of some kinds.
type picky struct {
	agent.Store
	refuses []agent.EventKind
}

func (p *picky) Append(ctx context.Context, id string, durable bool, events ...agent.Event) error {
	for _, e := range events {
		if slices.Contains(p.refuses, e.Kind) {
			return errors.New("no space left")
		}
	}
	return p.Store.Append(ctx, id, durable, events...)
}

// A code that another process may know is not used where that can't be kept;
// one that only this process can know is.
func TestACodeThatCanNotBeUsedUpIsNotUsed(t *testing.T) {
	for _, c := range []struct {
		name    string
		refuses []agent.EventKind
		want    string
		ran     bool
	}{
		{"kept", nil, "end_turn/completed", true},
		{"its use is not kept", []agent.EventKind{agent.EventUsed}, "refusal/refused", false},
		{"nothing is kept of it", []agent.EventKind{agent.EventUsed, agent.EventCode}, "end_turn/completed", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := dial(t, setup{options: agent.Options{Store: &picky{disk(t, t.TempDir()), c.refuses}}})
			s := w.newSession()
			key := w.code(s, "wipe")
			if o, _ := w.prompt(s, "confirm "+key); o.String() != c.want {
				t.Errorf("ended %s, want %s", o, c.want)
			}
			if ran := len(w.host.runs()) > 0; ran != c.ran {
				t.Errorf("ran: %v", ran)
			}
		})
	}
}

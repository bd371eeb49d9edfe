package heartbeat

import (
	"errors"
	"fmt"
	"slices"

	"github.com/chant-acp/chant-acp/internal/durable"
)

// restore reads what is kept of earlier runs. What was under way when its process
// ended, however it did, is over.
func (h *Heartbeat) restore() error {
	durable.Sweep(h.store.state()) // who has the lock is the only one that writes it
	states, err := h.store.readState(h.o.Workspace)
	if errors.Is(err, errBroken) {
		err = h.quarantine(h.store.state(), err, "runs begin with the next tick of each line")
	}
	if err != nil {
		return err
	}
	h.states = states
	for _, st := range states {
		if !st.Last.Open() || st.Last.outlives() && h.o.Settled != nil {
			continue
		}
		st.Last.Outcome = interrupted()
		st.Last.Ended = h.o.Now().UTC()
		h.dirty = true
	}
	return nil
}

// quarantine makes room for a broken file of ours and says so.
func (h *Heartbeat) quarantine(path string, why error, follows string) error {
	quarantined, err := durable.SetAside(path)
	if err != nil {
		return errors.Join(why, err)
	}
	h.report(Event{Kind: Problem, Text: fmt.Sprintf("%v; it was set aside as %s, and %s", why, quarantined, follows)})
	return nil
}

// persist writes the states where they have changed.
func (h *Heartbeat) persist() error {
	if !h.dirty {
		return nil
	}
	err := h.store.writeState(h.o.Workspace, h.states)
	if err == nil {
		h.dirty, h.trouble = false, ""
		return nil
	}
	err = fmt.Errorf("what ran cannot be kept, so nothing is started: %w", err)
	if h.trouble == "" {
		h.trouble = err.Error()
		h.report(Event{Kind: Problem, Text: h.trouble})
	}
	return err
}

// look reads the file and its grant, and takes or drops what is to run. The file
// is read as a whole each time: it is small, and no times and sizes have to be
// believed.
func (h *Heartbeat) look() {
	f, grant, halt := h.trusted()
	if f == nil {
		h.stop(halt)
		return
	}
	if h.loaded != nil && h.loaded.Digest == f.Digest && h.grant.At.Equal(grant.At) && h.grant.Digest == grant.Digest {
		return
	}
	h.loaded, h.grant, h.halts, h.queue = f, *grant, nil, nil
	h.prune()
	h.report(Event{Kind: Loaded, Text: fmt.Sprintf("%s is trusted; it holds %d lines to run", f.Path, len(f.Plan.Jobs))})
}

// A halt is why nothing runs: in short, to know whether it was said, and in a
// sentence.
type halt struct{ short, text string }

// stop drops what is to run. What runs already goes on.
func (h *Heartbeat) stop(why halt) {
	h.loaded, h.queue = nil, nil
	if !slices.Contains(h.halts, why.short) {
		h.halts = append(h.halts, why.short)
		h.report(Event{Kind: Stopped, Text: "nothing runs: " + why.text})
	}
}

// trusted returns the file where it is trusted; else nil and why nothing runs.
func (h *Heartbeat) trusted() (*File, *Grant, halt) {
	f, err := Read(h.o.Workspace)
	switch {
	case errors.Is(err, ErrNoFile):
		return nil, nil, halt{"missing", err.Error()}
	case err != nil:
		return nil, nil, halt{"unusable", err.Error()}
	}
	grant, err := h.store.readGrant(h.o.Workspace)
	if errors.Is(err, errBroken) {
		err = h.quarantine(h.store.grant(), err, "nothing is trusted now")
	}
	const trust = `look at it and trust it with "chant-acp heartbeat trust"`
	switch {
	case err != nil:
		return nil, nil, halt{"trust", err.Error()}
	case f.Err != nil:
		return nil, nil, halt{"errors", fmt.Sprintf("%s has errors: %v", f.Path, f.Err)}
	case grant == nil:
		return nil, nil, halt{"untrusted", fmt.Sprintf("%s is not trusted; %s", f.Path, trust)}
	case grant.Digest != f.Digest:
		return nil, nil, halt{"changed", fmt.Sprintf("%s has changed since it was trusted; %s", f.Path, trust)}
	}
	return f, grant, halt{}
}

// prune forgets jobs that the file does not hold any more.
func (h *Heartbeat) prune() {
	known := map[string]bool{}
	for _, j := range h.loaded.Plan.Jobs {
		known[j.ID] = true
	}
	if h.current != nil {
		known[h.current.job.ID] = true
	}
	for id := range h.states {
		if !known[id] {
			delete(h.states, id)
			h.dirty = true
		}
	}
}

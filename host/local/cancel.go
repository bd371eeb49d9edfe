package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/internal/flock"
)

// CancelRun implements host.Runtime.
func (rt *Runtime) CancelRun(ctx context.Context, ref host.RunRef, by host.Actor) (host.RunInfo, error) {
	k, err := rt.resolve(ref)
	if err != nil {
		return host.RunInfo{}, err
	}
	if !k.state().Open() {
		return host.RunInfo{}, rt.over(k)
	}
	if k.live {
		if err := rt.askForEnd(ctx, k, by); err != nil {
			return host.RunInfo{}, err
		}
		if k, err = rt.load(k.id()); err != nil {
			return host.RunInfo{}, err
		}
	}
	if k.state().Open() { // also where the process stopped before it came to the end that was asked for
		if err := rt.end(ctx, k, "", by); err != nil {
			return host.RunInfo{}, err
		}
	}
	return rt.RunInfo(ctx, host.RunRef{ID: k.id()})
}

// end records the end of a run that is at rest.
func (rt *Runtime) end(ctx context.Context, k *kept, why string, by host.Actor) error {
	lock, err := flock.Take(ctx, k.lockFile(), runWait)
	if errors.Is(err, flock.ErrHeld) {
		return &host.OpRefusal{Reason: fmt.Sprintf("The run %s of %s is running.", k.id(), k.Op), Lines: []string{"run cancel --run " + k.id()}}
	}
	if err != nil {
		return err
	}
	defer lock.Release()
	j, err := openJournal(k.journal(), rt.o.Now)
	if err != nil {
		return err
	}
	defer j.close()
	return j.locked(ctx, func() error { // a rejection comes before or after it, and not beside it
		return rt.endNow(k, j, why, by)
	})
}

// endNow records the end, while nobody else can run the run or decide about it.
func (rt *Runtime) endNow(k *kept, j *openEntries, why string, by host.Actor) error {
	h := j.history
	if h.over() {
		return rt.over(&kept{folder: k.folder, record: k.record, history: h})
	}
	if why != "" && h.wasRejected() {
		return &host.OpRefusal{
			Reason: fmt.Sprintf("The run %s of %s was rejected, and fails before anything begins anew.", k.id(), k.Op),
			Lines:  []string{"run " + quote(k.Op) + " --run " + k.id()},
		}
	}
	if err := j.write(entry{Kind: entrySegment, Segment: h.segments + 1, PID: os.Getpid(), User: osUser(), Client: by.Client, Steps: h.segment.Steps, Op: k.Op, Env: k.Env}); err != nil {
		return err
	}
	return j.write(entry{Kind: entryStatus, State: string(host.RunCancelled), Error: why})
}

// wasRejected says whether somebody rejected a gate that the run still waits at.
func (h *history) wasRejected() bool {
	for _, s := range h.steps {
		if s.end == nil && s.decided() == optionReject {
			return true
		}
	}
	return false
}

// askForEnd asks the process that runs it, and waits until none does. One that has
// stopped by now is not asked.
func (rt *Runtime) askForEnd(ctx context.Context, k *kept, by host.Actor) error {
	j, err := openJournal(k.journal(), rt.o.Now)
	if err != nil {
		return err
	}
	defer j.close()
	err = j.locked(ctx, func() error {
		if j.history.status != nil || j.history.cancel != nil {
			return nil
		}
		return j.write(entry{Kind: entryCancel, User: osUser(), Client: by.Client})
	})
	if err != nil {
		return fmt.Errorf("asking for the end of the run %s: %w", k.id(), err)
	}
	again := time.NewTicker(cancelPoll)
	defer again.Stop()
	for {
		live, err := flock.Held(k.lockFile())
		if err != nil || !live {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the run %s was asked to end and has not yet: %w", k.id(), context.Cause(ctx))
		case <-again.C:
		}
	}
}

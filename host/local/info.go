package local

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/internal/flock"
)

// Runs implements host.Runtime.
func (q *queries) Runs(ctx context.Context, want host.RunQuery) ([]host.RunInfo, error) {
	limit := want.Limit
	if limit <= 0 {
		limit = 50
	}
	var runs []*kept
	err := q.each(func(k *kept) bool {
		if (want.Op == "" || want.Op == k.Op) && (!want.Open || k.state().Open()) {
			runs = append(runs, k)
		}
		return len(runs) < limit
	})
	if err != nil {
		return nil, err
	}
	return q.infos(runs), nil
}

// RunInfo implements host.Runtime. Without an id, and with no run open, it is the
// newest one that fits.
func (rt *Runtime) RunInfo(ctx context.Context, ref host.RunRef) (host.RunInfo, error) {
	k, err := rt.lookUp(ref)
	if err != nil {
		return host.RunInfo{}, err
	}
	i := rt.info(k)
	switch i.State {
	case host.RunWaiting, host.RunInterrupted, host.RunCancelled:
		i.Changed, err = rt.changed(ctx, k)
	}
	if i.State == host.RunCancelled && (i.Changed != "" || rt.isLast(k) != nil) {
		i.Changed, i.Resume, i.Undo = "", "", ""
	}
	if err == nil && i.Changed == "" {
		err = rt.lookForVoid(ctx, k, i.Waits)
	}
	if err == nil && len(i.Compensation) > 0 {
		if found, steps, err := rt.find(ctx, host.RunRef{Op: k.Op, Env: k.Env, Params: k.Params}); err == nil && found.Config.Digest() == k.Config {
			nameSteps(i.Compensation, steps)
		}
	}
	return i, err
}

// nameSteps fills in the titles of the steps of a compensation that did not begin.
func nameSteps(steps []host.UndoStep, p plan) {
	var titles []string
	for _, ph := range p.undo {
		for _, s := range ph.steps {
			titles = append(titles, s.title)
		}
	}
	for i := range min(len(steps), len(titles)) {
		if steps[i].Title == "" {
			steps[i].Title = titles[i]
		}
	}
}

// lookForVoid says of each gate that waits, or was approved and not taken up yet,
// what of that which it asked about is not what it was.
func (rt *Runtime) lookForVoid(ctx context.Context, k *kept, waits []host.OpWait) (err error) {
	for i := range waits {
		if w := &waits[i]; w.Kind == host.WaitGate && (w.State == host.WaitOpen || w.State == host.WaitApproved) {
			if w.Void, err = rt.voids(ctx, k, *w); err != nil {
				return err
			}
		}
	}
	return nil
}

// voids says what voids an approval of a gate; "" where nothing does.
func (rt *Runtime) voids(ctx context.Context, k *kept, w host.OpWait) (string, error) {
	_, steps, err := rt.find(ctx, host.RunRef{Op: k.Op, Env: k.Env, Params: k.Params})
	if err != nil {
		return "", err
	}
	gate := steps.gate(pauseOf(w.RequestID))
	if gate == nil {
		return "", fmt.Errorf("the Op %s has no gate %s any more", quote(k.Op), quote(w.Name))
	}
	return rt.differs(k.folder, k.record, k.history, gate)
}

// changed says why a run can't go on with its Op as that is now, "" where it can.
func (rt *Runtime) changed(ctx context.Context, k *kept) (string, error) {
	found, _, err := rt.find(ctx, host.RunRef{Op: k.Op, Env: k.Env, Params: k.Params})
	return rt.change(ctx, k, found, err)
}

// change is changed, of what was found.
func (rt *Runtime) change(ctx context.Context, k *kept, found *op.Op, err error) (string, error) {
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		why, _, _ := strings.Cut(err.Error(), "\n")
		return fmt.Sprintf("the Op of the run %s can't be run any more: %s", k.id(), strings.TrimRight(why, ".:")), nil
	}
	if now := runDigest(k.Root, k.Op, k.Env, k.Params, found.Config.Digest()); now != k.Digest {
		return fmt.Sprintf("the Op %s is not what it was when the run %s began: it was %s and is %s now", quote(k.Op), k.id(), short(k.Digest), short(now)), nil
	}
	return "", nil
}

func (q *queries) infos(runs []*kept) []host.RunInfo {
	infos := make([]host.RunInfo, len(runs))
	for i, k := range runs {
		infos[i] = q.info(k)
	}
	return infos
}

// info is a run as others see it.
func (q *queries) info(k *kept) host.RunInfo {
	i := host.RunInfo{
		ID: k.id(), Op: k.Op, Env: k.Env, Params: k.Params, State: k.state(),
		Digest: k.Digest, Short: short(k.Digest), Began: k.Created, Commit: k.Commit, Clean: k.Clean,
		User: k.User, Client: k.Client, Problem: k.problem,
	}
	if _, err := os.Lstat(k.output()); err == nil {
		i.Log = k.output()
	}
	if k.Context != nil {
		if parent := k.Context.Reserved().ParentRunID; parent != nil {
			i.Parent = *parent
		}
	}
	if k.history == nil {
		return i
	}
	h := k.history
	i.Began, i.LogLacks = h.began, h.lacks
	if h.status != nil && !host.RunState(h.status.State).Open() {
		i.Ended = h.last
	}
	if h.failing != nil {
		i.Step, i.Failure = h.failing.Title, h.failing.Error
		i.Compensation = h.compensation(k.live)
		if h.failing.Kind == entrySegment {
			i.UndoneBy = h.failing.User
		}
	} else {
		i.Step = strings.Join(h.stopped(), ", ")
	}
	i.Steps = h.segment.Steps
	for key := range h.steps {
		if !undoes(key) && h.ended(key) == host.StepCompleted {
			i.Done++
		}
	}
	if i.State == host.RunInterrupted || i.State == host.RunCancelled {
		i.Resume = runLine(k.Op, k.id()) + " --resume"
		if h.failing == nil {
			i.NotUndone = h.ran()
		}
		if h.undoable() {
			i.Undo = undoLine(k.Op, k.id())
		}
	}
	if i.State.Open() {
		i.Waits = q.waits(k)
	}
	return i
}

// followPoll is how often the log of a run that goes on is looked at.
const followPoll = 200 * time.Millisecond

// RunLog implements host.Runtime.
func (q *queries) RunLog(ctx context.Context, ref host.RunRef, follow bool, w io.Writer) error {
	k, err := q.lookUp(ref)
	if err != nil {
		return err
	}
	f, err := os.OpenFile(k.output(), os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the log of the run %s: %w", k.id(), err)
	}
	defer f.Close()
	again := time.NewTicker(followPoll)
	defer again.Stop()
	for {
		live, err := flock.Held(k.lockFile()) // first, so that what comes before the end is copied
		if err != nil {
			return err
		}
		if _, err := io.Copy(w, f); err != nil {
			return fmt.Errorf("copying the log of the run %s: %w", k.id(), err)
		}
		if !follow || !live {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-again.C:
		}
	}
}

package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/pause"
	"github.com/chant-acp/chant-acp/internal/flock"
)

// Runs implements host.Runtime.
func (rt *Runtime) Runs(ctx context.Context, q host.RunQuery) ([]host.RunInfo, error) {
	limit := q.Limit
	if limit <= 0 {
		limit = 50
	}
	var runs []*kept
	err := rt.each(func(k *kept) bool {
		if (q.Op == "" || q.Op == k.Op) && (!q.Open || k.state().Open()) {
			runs = append(runs, k)
		}
		return len(runs) < limit
	})
	if err != nil {
		return nil, err
	}
	return rt.infos(ctx, runs), nil
}

// RunInfo implements host.Runtime. Without an id, and with no run open, it is the
// newest one that fits.
func (rt *Runtime) RunInfo(ctx context.Context, ref host.RunRef) (host.RunInfo, error) {
	k, err := rt.lookUp(ctx, ref)
	if err != nil {
		return host.RunInfo{}, err
	}
	return rt.info(ctx, k), nil
}

// lookUp is resolve for those who only look.
func (rt *Runtime) lookUp(ctx context.Context, ref host.RunRef) (*kept, error) {
	k, err := rt.resolve(ctx, ref)
	var refusal *host.OpRefusal
	if err == nil || ref.ID != "" || !errors.As(err, &refusal) {
		return k, err
	}
	if len(refusal.Runs) > 0 {
		return nil, err
	}
	listErr := rt.each(func(last *kept) bool {
		if k == nil && last.fits(ref) {
			k = last
		}
		return k == nil
	})
	if k == nil {
		return nil, errors.Join(err, listErr)
	}
	return k, nil
}

func (rt *Runtime) infos(ctx context.Context, runs []*kept) []host.RunInfo {
	infos := make([]host.RunInfo, len(runs))
	for i, k := range runs {
		infos[i] = rt.info(ctx, k)
	}
	return infos
}

// info is a run as others see it. What can't be read of its waits makes it
// unreadable.
func (rt *Runtime) info(ctx context.Context, k *kept) host.RunInfo {
	i := host.RunInfo{
		ID: k.id(), Op: k.Op, Env: k.Env, Params: k.Params, State: k.state(),
		Digest: k.Digest, Short: short(k.Digest), Began: k.Created, Commit: k.Commit, Clean: k.Clean,
		User: k.User, Client: k.Client, Problem: k.problem,
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
	i.Began = h.began
	if !i.State.Open() {
		i.Ended = h.last
	}
	if h.failing != nil {
		i.Step, i.Failure = h.failing.Title, h.failing.Error
	} else {
		i.Step = strings.Join(h.interrupted(), ", ")
	}
	i.Steps = h.leg.Steps
	for key := range h.steps {
		if !undoes(key) && h.ended(key) == host.StepCompleted {
			i.Done++
		}
	}
	if i.State.Open() {
		waits, err := rt.waits(ctx, k)
		i.Waits = waits
		if err != nil {
			i.State, i.Problem = host.RunUnreadable, err.Error()
		}
	}
	return i
}

// waits are what an open run waits for, in the order of its steps.
func (rt *Runtime) waits(ctx context.Context, k *kept) ([]host.OpWait, error) {
	var keys []string
	for key, s := range k.history.steps {
		if s.pause != "" && s.end == nil {
			keys = append(keys, key)
		}
	}
	slices.SortFunc(keys, compareKeys)
	var waits []host.OpWait
	for _, key := range keys {
		w, err := rt.wait(ctx, k.folder, k.record, k.history.steps[key].pause)
		if err != nil {
			return waits, err
		}
		waits = append(waits, w)
	}
	return waits, nil
}

// wait reads one pause record. A damaged one is set aside.
func (rt *Runtime) wait(ctx context.Context, f folder, r record, id string) (host.OpWait, error) {
	rec, found, err := f.pauses().Look(ctx, id, rt.o.Now())
	var corrupt *pause.CorruptError
	switch {
	case errors.As(err, &corrupt):
		return host.OpWait{}, &damageError{path: corrupt.Path, problem: "can't be read (" + corrupt.Err.Error() + ")" + asideOf(corrupt.Path)}
	case err != nil:
		return host.OpWait{}, err
	case !found:
		return host.OpWait{}, &damageError{path: f.pauses().Root() + "/pauses/" + id + ".json", problem: "is gone, and with it what the run waits for"}
	}
	w, err := describe(f, r, rec)
	if err != nil {
		return w, &damageError{path: f.pauses().Root() + "/pauses/" + id + ".json", problem: "can't be read: " + err.Error()}
	}
	return w, nil
}

// question is the payload of a request: what a gate or event is about.
type question struct {
	Run         string `json:"run"`
	Op          string `json:"op"`
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Digest      string `json:"digest"`
	RequestID   string `json:"requestId"`
}

// describe turns a record into what others see.
func describe(f folder, r record, rec pause.Record) (host.OpWait, error) {
	q, err := rec.Asked()
	if err != nil {
		return host.OpWait{}, err
	}
	var about question
	if len(q.Payload) > 0 {
		if err := json.Unmarshal(q.Payload, &about); err != nil {
			return host.OpWait{}, err
		}
	}
	w := host.OpWait{
		RunID: f.id(), Op: r.Op, Name: about.Name, Description: about.Description, Digest: short(about.Digest),
		RequestID: about.RequestID, Since: q.CreatedAt, State: host.WaitOpen,
	}
	w.Until, _ = q.Deadline()
	if s := string(q.Schema); s != "true" && s != "" {
		w.Schema = q.Schema
	}
	tail := " --run " + f.id()
	w.Continue = "run " + quote(r.Op) + tail
	switch q.Kind {
	case pause.KindDecision:
		w.Kind = host.WaitGate
		w.Approve = "approve " + quote(r.Op) + " " + quote(about.Name) + tail
		w.Reject = "reject " + quote(r.Op) + " " + quote(about.Name) + tail
	case pause.KindEvent:
		w.Kind = host.WaitEvent
		w.Signal = "signal " + quote(about.Name) + tail
	case pause.KindSleep:
		w.Kind = host.WaitSleep
	default:
		return w, fmt.Errorf("it asks for %q", q.Kind)
	}
	if rec.Resolved {
		resolved(&w, rec)
	}
	return w, nil
}

// decision is the answer to a gate or event, as it is kept.
type decision struct {
	Option string          `json:"optionId"` // approve, reject, signal
	By     string          `json:"resolvedBy"`
	Client string          `json:"client,omitempty"`
	At     time.Time       `json:"at"`
	Note   string          `json:"note,omitempty"`
	Digest string          `json:"digest,omitempty"` // of the run that was decided on
	Answer json.RawMessage `json:"answer,omitempty"`
}

const (
	optionApprove = "approve"
	optionReject  = "reject"
	optionSignal  = "signal"
)

func resolved(w *host.OpWait, rec pause.Record) {
	if rec.Expired {
		w.State, w.At = host.WaitExpired, w.Until
		return
	}
	var d decision
	_ = json.Unmarshal(rec.Payload, &d) // another runner's answer is no approval
	w.By, w.Client, w.At, w.Note = d.By, d.Client, d.At, d.Note
	switch {
	case w.Kind == host.WaitEvent:
		w.State = host.WaitSignaled
	case d.Option == optionApprove:
		w.State = host.WaitApproved
	default:
		w.State = host.WaitRejected
	}
}

// followPoll is how often the log of a run that goes on is looked at.
const followPoll = 200 * time.Millisecond

// RunLog implements host.Runtime.
func (rt *Runtime) RunLog(ctx context.Context, ref host.RunRef, follow bool, w io.Writer) error {
	k, err := rt.lookUp(ctx, ref)
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

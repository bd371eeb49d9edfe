package local

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chant-acp/chant-acp/host"
)

// goOn takes up a run that waits or has stopped, or undoes it.
func (rt *Runtime) goOn(ctx context.Context, req host.OpRequest, k *kept) (host.OpRun, error) {
	if err := rt.mayGoOn(req, k); err != nil {
		return nil, err
	}
	if err := k.hasContext(req.Context); err != nil {
		return nil, err
	}
	waits := rt.waits(k)
	found, steps, findErr := rt.find(ctx, req.Ref)
	why, err := rt.change(ctx, k, found, findErr)
	if no := rejectedGates(waits); err == nil && why != "" && len(no) > 0 && req.Mode != host.RunUndo {
		return rt.take(ctx, req, &segment{folder: k.folder, record: k.record, rejected: no, notices: fmt.Sprintf(
			"The compensation of the run %s can't be run, and what the run did is not undone: %s.", k.id(), why)})
	}
	switch {
	case err != nil:
		return nil, err
	case findErr != nil:
		return nil, findErr
	case why != "":
		return nil, rt.changedSince(req, k, why, waits)
	}
	return rt.take(ctx, req, &segment{folder: k.folder, record: k.record, config: found.Config, plan: steps})
}

// changedSince refuses to go on with a run whose Op is not what it was.
func (rt *Runtime) changedSince(req host.OpRequest, k *kept, why string, waits []host.OpWait) error {
	restart := runLine(k.Op, k.id()) + " --restart"
	if req.Mode == host.RunUndo || k.history.cancelled() {
		what := "resumed"
		if req.Mode == host.RunUndo {
			what = "undone"
		}
		return &host.OpRefusal{
			Reason: fmt.Sprintf("The run can't be %s: %s. Put back what was changed, and type the line again; or begin anew.", what, why),
			Lines:  []string{restart}, Runs: rt.infos([]*kept{k}),
		}
	}
	return &host.OpRefusal{
		Reason: fmt.Sprintf("The run can't go on: %s.%s It can only be begun anew, or given up.", why, voided(waits)),
		Lines:  []string{restart, "run cancel --run " + k.id()}, Runs: rt.infos([]*kept{k}),
	}
}

// mayGoOn refuses what a run is not to be taken up for. It is asked before a run is
// locked, for the sake of the answer, and again once it is.
func (rt *Runtime) mayGoOn(req host.OpRequest, k *kept) error {
	refuse := func(lines []string, reason string, args ...any) error {
		return &host.OpRefusal{Reason: fmt.Sprintf(reason, args...), Lines: lines, Runs: rt.infos([]*kept{k})}
	}
	line, h, state := runLine(k.Op, k.id()), k.history, k.state()
	of := fmt.Sprintf("The run %s of %s", k.id(), k.Op)
	switch {
	case state == host.RunUnreadable:
		return rt.over(k)
	case state == host.RunRunning:
		return refuse([]string{"run log --run " + k.id() + " --follow", "run cancel --run " + k.id()}, "%s is running.", of)
	case state == host.RunInterrupted && req.Mode == host.RunOn:
		lines := []string{line + " --resume", line + " --restart"}
		if h.undoable() {
			lines = append(lines, undoLine(k.Op, k.id()))
		}
		return refuse(lines, "%s was interrupted %s.", of, whereStopped(h))
	}
	if req.Mode == host.RunUndo {
		if err := rt.mayUndo(k, refuse); err != nil {
			return err
		}
	}
	if !state.Open() && state != host.RunCancelled || state == host.RunCancelled && req.Mode != host.RunResume && req.Mode != host.RunUndo {
		return rt.overNow(k)
	}
	if state == host.RunCancelled || req.Mode == host.RunUndo {
		if !req.Actor.Person {
			return refuse(nil, "Only a person may resume or undo a run that has stopped, and there is none behind this line.")
		}
		return rt.isLast(k)
	}
	if req.Mode == host.RunResume && h.failing != nil && len(h.interrupted()) > 0 && !req.Actor.Person {
		return refuse(nil, "%s was interrupted %s. Only a person may have a step repeated that undoes, and there is none behind this line.", of, whereStopped(h))
	}
	return nil
}

// mayUndo refuses to begin a compensation that there is not, that was begun before,
// or that would be of a run which can still come to its end.
func (rt *Runtime) mayUndo(k *kept, refuse func(lines []string, reason string, args ...any) error) error {
	h, state := k.history, k.state()
	switch {
	case state == host.RunWaiting:
		var lines []string
		for _, w := range rt.waits(k) {
			if w.Kind == host.WaitGate && w.State == host.WaitOpen {
				lines = append(lines, w.Reject)
			}
		}
		return refuse(append(lines, "run cancel --run "+k.id(), undoLine(k.Op, k.id())),
			"The run %s of %s waits. Reject its gate, which undoes what the run did; or cancel the run, and undo it then.", k.id(), k.Op)
	case state == host.RunCompleted:
		return refuse(nil, "The run %s of %s is completed: what it did stays. A compensation is for a run that came to no end.", k.id(), k.Op)
	case state == host.RunFailed && h.failing == nil:
		return rt.over(k)
	case h.failing != nil:
		done, all := 0, h.compensation(false)
		for _, s := range all {
			if s.State == host.StepCompleted {
				done++
			}
		}
		reason := fmt.Sprintf("The compensation of the run %s of %s ran before, and is not run again: %d of its %d steps completed.", k.id(), k.Op, done, len(all))
		if state == host.RunFailed {
			return refuse([]string{"run status --run " + k.id()}, "%s", reason)
		}
		return refuse([]string{runLine(k.Op, k.id()) + " --resume"}, "%s It stopped %s.", reason, whereStopped(h))
	case len(h.undo) == 0:
		return refuse(nil, "The Op %s has no compensation (onFailure), so nothing undoes what the run %s did.", quote(k.Op), k.id())
	case len(h.ran()) == 0:
		return refuse(nil, "No step of the run %s of %s began, so there is nothing to undo.", k.id(), k.Op)
	}
	return nil
}

// overNow is over, of a run that may be one that was cancelled: with what can still
// be done about it.
func (rt *Runtime) overNow(k *kept) error {
	err := rt.over(k)
	var refusal *host.OpRefusal
	if errors.As(err, &refusal) && k.state() == host.RunCancelled && rt.isLast(k) == nil {
		refusal.Lines = append(refusal.Lines, runLine(k.Op, k.id())+" --resume")
		if k.history.undoable() {
			refusal.Lines = append(refusal.Lines, undoLine(k.Op, k.id()))
		}
	}
	return err
}

func runLine(op, id string) string  { return "run " + quote(op) + " --run " + id }
func undoLine(op, id string) string { return "run undo " + quote(op) + " --run " + id }

// whereStopped says which step a run was in when it was interrupted or cancelled.
func whereStopped(h *history) string {
	switch titles := h.stopped(); {
	case len(titles) > 0 && h.failing != nil:
		return "in the step " + strings.Join(titles, ", and in ") + " of its compensation. --resume does that step again, and then goes on"
	case len(titles) > 0:
		return "in the step " + strings.Join(titles, ", and in ") + ". --resume does that step again, and then goes on"
	case h.failing != nil:
		return "in its compensation, between two steps. --resume goes on with it"
	}
	return "between two steps. --resume goes on with the next one"
}

// voided says which approvals count no more.
func voided(waits []host.OpWait) (text string) {
	for _, w := range waits {
		if w.State == host.WaitApproved {
			text += fmt.Sprintf(" The approval of %s by %s is void: it was for %s.", quote(w.Name), w.By, w.Digest)
		}
	}
	return text
}

// rejectedGates are those that somebody rejected.
func rejectedGates(waits []host.OpWait) []host.OpWait {
	return slices.DeleteFunc(slices.Clone(waits), func(w host.OpWait) bool { return w.Kind != host.WaitGate || w.State != host.WaitRejected })
}

package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/host/pause"
	"github.com/chant-acp/chant-acp/internal/journal"
)

const maxNote = 4 << 10

// Decide implements host.Runtime.
func (rt *Runtime) Decide(ctx context.Context, d host.GateAnswer) (host.OpWait, error) {
	k, w, err := rt.gate(d)
	if err != nil {
		return w, err
	}
	if len(d.Note) > maxNote {
		return w, &host.OpRefusal{Reason: fmt.Sprintf("The note has more than %d bytes.", maxNote)}
	}
	option := optionReject
	if d.Approve {
		option = optionApprove
		if err := rt.mayApprove(ctx, k, w); err != nil {
			return w, err
		}
	}
	return rt.answer(ctx, k, w, decision{
		Option: option, By: osUser(), Client: d.Actor.Client, At: rt.o.Now().UTC(), Note: d.Note, Answer: d.Answer,
		Digest: k.history.steps[pauseOf(w.RequestID)].digest,
	})
}

// mayApprove refuses an approval that would be void from the start.
func (rt *Runtime) mayApprove(ctx context.Context, k *kept, w host.OpWait) error {
	if w.State != host.WaitOpen {
		return nil // which the record says
	}
	why, err := rt.changed(ctx, k)
	if err != nil {
		return err
	}
	if why == "" {
		if w.Void, err = rt.voids(ctx, k, w); err != nil || w.Void == "" {
			return err
		}
		return &host.OpRefusal{
			Reason: fmt.Sprintf("An approval would be void: %s. The gate can be asked anew, with what would run now, or be rejected.", w.Void),
			Lines:  []string{w.Continue, w.Reject},
		}
	}
	return &host.OpRefusal{
		Reason: fmt.Sprintf("An approval would be void: %s. The run can be rejected, given up, or begun anew.", why),
		Lines:  []string{w.Reject, "run cancel --run " + k.id(), w.Continue + " --restart"},
	}
}

// gate finds the gate that an answer is for. The run need not be at rest: a gate
// of a parallel phase may be asked while the process that asked still leaves.
func (rt *Runtime) gate(d host.GateAnswer) (*kept, host.OpWait, error) {
	if d.Request != "" {
		k, w, err := rt.request(d.Request)
		if err == nil && !k.state().Open() {
			err = rt.over(k)
		}
		return k, w, err
	}
	name, digestPrefix, pinned := cutDigest(d.Gate)
	k, err := rt.resolve(d.Ref)
	if err != nil {
		return nil, host.OpWait{}, err
	}
	if !k.state().Open() {
		return nil, host.OpWait{}, rt.over(k)
	}
	waits := rt.waits(k)
	var gates []string
	for _, w := range waits {
		if w.Kind == host.WaitGate && w.Name == name {
			if digest := k.history.steps[pauseOf(w.RequestID)].digest; pinned && !strings.HasPrefix(digest, digestPrefix) {
				return nil, host.OpWait{}, &host.OpRefusal{
					Reason: fmt.Sprintf("The gate %s asks about %s, and not about %s.", quote(name), short(digest), digestPrefix), Runs: rt.infos([]*kept{k}),
				}
			}
			return k, w, nil
		}
		if w.Kind == host.WaitGate && w.State == host.WaitOpen {
			gates = append(gates, w.Approve)
		}
	}
	if passed := passedGate(k, name); passed != nil {
		return nil, host.OpWait{}, &host.OpRefusal{Reason: fmt.Sprintf("The gate %s of the run %s was decided before, by %s at %s.",
			quote(name), k.id(), passed.By, passed.At.Format(time.RFC3339))}
	}
	return nil, host.OpWait{}, &host.OpRefusal{
		Reason: fmt.Sprintf("The run %s of %s does not wait at a gate %s.", k.id(), k.Op, quote(name)), Lines: gates, Missing: true,
	}
}

// cutDigest parts <gate>@<short digest>. A gate's own @ is no digest's.
func cutDigest(gate string) (name, digest string, pinned bool) {
	i := strings.LastIndexByte(gate, '@')
	if i < 0 || len(gate)-i-1 < 4 || strings.Trim(gate[i+1:], "0123456789abcdef") != "" {
		return gate, "", false
	}
	return gate[:i], gate[i+1:], true
}

// passedGate is the decision on a gate that the run left behind.
func passedGate(k *kept, name string) *decision {
	for _, s := range k.history.steps {
		if s.end != nil && s.decision != nil && s.about.Name == name && s.waits == op.Gate {
			return s.decision
		}
	}
	return nil
}

// answer writes a decision into the run's journal, if it is the first, in time, and
// meets the schema.
func (rt *Runtime) answer(ctx context.Context, k *kept, w host.OpWait, d decision) (host.OpWait, error) {
	j, err := openJournal(k.journal(), rt.o.Now)
	if err != nil {
		return w, err
	}
	defer j.close()
	counts := false
	err = j.locked(ctx, func() error {
		s := j.history.steps[pauseOf(w.RequestID)]
		if s == nil || s.asked != w.RequestID {
			return &host.OpRefusal{Reason: fmt.Sprintf("%s was asked anew meanwhile.", subjectOf(w)), Lines: []string{"run status --run " + w.RunID}}
		}
		if s.decision == nil {
			if j.history.over() { // since it was looked at
				return rt.over(&kept{folder: k.folder, record: k.record, history: j.history})
			}
			now := d
			if s.late(d.At) {
				now = decision{Option: optionExpire, At: d.At} // a fact from when it is seen
			} else if err := mayAnswer(s, w, d); err != nil {
				return err
			}
			if err := j.write(entry{Kind: entryDecide, Step: s.pause, Request: s.asked, Decision: &now}); err != nil {
				return err
			}
			counts = now.Option == d.Option
		}
		w = k.folder.wait(k.record, s, d.At)
		_, _ = k.publish(s, w) // whoever goes on with the run does it again, and tells what fails
		return nil
	})
	switch {
	case errors.Is(err, journal.ErrTooLarge):
		return w, &host.OpRefusal{Reason: fmt.Sprintf("%s: the answer is too large to be kept in the run's journal, whose lines have at most %d bytes.", subjectOf(w), maxEntry)}
	case err != nil || counts:
		return w, err
	}
	return w, countsNot(w, d)
}

// mayAnswer refuses what is no answer to a question.
func mayAnswer(s *stepHistory, w host.OpWait, d decision) error {
	if d.At.Before(s.asks.CreatedAt) {
		return &host.OpRefusal{Reason: fmt.Sprintf("%s was asked at %s, and the clock says that it is %s: a decision from before its question counts for nothing. Set the clock right, and decide again.",
			subjectOf(w), s.asks.CreatedAt.UTC().Format(time.RFC3339), d.At.Format(time.RFC3339))}
	}
	if d.Option == optionReject {
		return nil
	}
	err := meets(s.asks, d.Answer)
	var wrong *pause.AnswerError
	if errors.As(err, &wrong) {
		return &host.OpRefusal{Reason: fmt.Sprintf("%s: %v.", subjectOf(w), wrong)}
	}
	return err
}

// countsNot says why a decision that came second, or too late, does not count.
func countsNot(w host.OpWait, d decision) error {
	refusal := &host.OpRefusal{Lines: []string{w.Continue}}
	switch {
	case w.State == host.WaitExpired && d.Option == optionReject:
		return nil // as which it counts
	case w.Kind == host.WaitEvent:
		return signalled(w)
	case w.State == host.WaitExpired:
		refusal.Reason = fmt.Sprintf("%s: its time ran out at %s; that counts as a rejection.", subjectOf(w), w.Until.UTC().Format(time.RFC3339))
	default:
		refusal.Reason = fmt.Sprintf("%s was %s before, by %s at %s.", subjectOf(w), w.State, w.By, w.At.Format(time.RFC3339))
	}
	return refusal
}

// meets checks an answer. One that was not given meets what takes anything.
func meets(q pause.Request, answer json.RawMessage) error {
	s := string(q.Schema)
	if answer == nil {
		if s == "true" || s == "" {
			return nil
		}
		return &pause.AnswerError{Message: fmt.Sprintf("none was given, and the schema is %s", s)}
	}
	return q.Meets(answer)
}

func subjectOf(w host.OpWait) string {
	if w.Kind == host.WaitEvent {
		return fmt.Sprintf("The event %s of the run %s", quote(w.Name), w.RunID)
	}
	return fmt.Sprintf("The gate %s of the run %s", quote(w.Name), w.RunID)
}

// A request id names its run and its pause, so that it is found without a search:
// <run>.<pause>.<random>.
func requestID(run, pauseID string) string { return run + "." + pauseID + "." + newID() + newID() }

func pauseOf(requestID string) string {
	_, rest, _ := strings.Cut(requestID, ".")
	id, _, _ := strings.Cut(rest, ".")
	return id
}

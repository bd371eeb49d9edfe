package agent

import (
	"slices"
	"strings"
	"sync/atomic"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/internal/brief"
)

// opView shows the client what happens in a run: its plan, a tool call for each
// step, and what the steps print.
//
// Steps are announced when their phase begins, up to the next gate: what lies
// behind one may be another day's. A gate or event is announced once it is
// decided, or asked for.
type opView struct {
	run   *opTurn
	turn  *turn
	runID string
	plan  []acp.PlanEntry // as it was shown last
	steps map[string]*opStep
	// text is where output goes that is shown as text: that of the step that
	// runs, or of all steps of a parallel phase. nil while nothing is shown.
	text    *toolCall
	running int // steps under way
	closed  atomic.Bool
}

func newOpView(r *opTurn) *opView {
	return &opView{run: r, turn: r.turn, steps: map[string]*opStep{}}
}

// take takes one event. The runtime calls it for one after the other.
func (v *opView) take(e host.OpEvent) {
	if v.closed.Load() || v.turn.isOver() { // the agent left without waiting for the run
		return
	}
	switch e := e.(type) {
	case *host.OpPlan:
		v.showPlan(e)
	case *host.OpNotice:
		v.say(cutBytes(strings.TrimSpace(e.Text), pieceBytes))
	case *host.StepStarted:
		v.started(e)
	case *host.StepOutput:
		if s := v.steps[e.StepID]; s != nil && s.shaper != nil {
			s.shaper.Write(e.Data)
		}
	case *host.StepRetry:
		v.retry(e)
	case *host.StepResult:
		v.ended(e)
	}
}

// close ends what is still open, once all events were taken.
func (v *opView) close() {
	v.closed.Store(true)
	v.endText()
	for _, s := range v.steps {
		if s.shaper != nil {
			s.endOutput()
		}
		s.fail("it was not seen to end")
	}
	v.turn.flush()
}

// say tells a paragraph of its own.
func (v *opView) say(text string) {
	v.pause()
	v.turn.say("\n" + text + "\n\n")
}

// pause ends the code block of text that is shown, so that something else can
// follow.
func (v *opView) pause() {
	if v.text != nil {
		_ = v.text.shaper.Break() // the client is gone: the turn will see it
	}
}

// endText shows the rest of the output that is shown as text.
func (v *opView) endText() {
	if v.text == nil {
		return
	}
	v.text.endOutput()
	v.text = nil
}

// showPlan shows the plan where it changed, and announces the steps of phases that
// began.
func (v *opView) showPlan(p *host.OpPlan) {
	v.runID = p.RunID
	entries := planEntries(p.Phases)
	if !slices.Equal(entries, v.plan) {
		v.plan = entries
		v.pause()
		v.turn.keep(Event{Kind: EventPlan, Plan: entries})
		v.turn.session.notify(v.turn.tail, acp.Plan{Entries: entries})
		v.turn.flush()
	}
	for _, ph := range p.Phases {
		if ph.State != host.StepPending && ph.State != host.StepSkipped {
			v.announce(ph)
		}
	}
}

// announce shows the steps of a phase that come next.
func (v *opView) announce(ph host.PlanPhase) {
	for _, s := range ph.Steps {
		switch {
		case s.State != host.StepPending && s.State != host.StepRunning || v.steps[s.ID] != nil:
			if isWait(s.Kind) && s.State == host.StepWaiting && !ph.Parallel {
				return
			}
		case isWait(s.Kind) && !ph.Parallel:
			return
		case isWait(s.Kind):
		default:
			v.pause()
			v.steps[s.ID] = v.newStep(s.StepInfo)
		}
	}
}

// isWait says whether a kind of steps waits for somebody.
func isWait(kind string) bool { return kind == "gate" || kind == "waitForEvent" }

// maxPlanEntries bounds a plan that is shown.
const maxPlanEntries = 100

// planEntries are the phases. A plan knows no failure: what is no plain state is
// said in words.
func planEntries(phases []host.PlanPhase) []acp.PlanEntry {
	var entries []acp.PlanEntry
	room := pieceBytes
	for i, ph := range phases {
		content := cutBytes(brief.Runes(visible(oneLine(ph.Name)), titleRunes), fieldBytes)
		if ph.Compensation {
			content = "Undo: " + content
		}
		e := acp.PlanEntry{Content: content, Priority: "medium", Status: "pending"}
		switch ph.State {
		case host.StepRunning:
			e.Status = "in_progress"
		case host.StepCompleted:
			e.Status = "completed"
		case host.StepFailed:
			e.Status, e.Content = "completed", content+" (failed)"
		case host.StepWaiting:
			e.Status, e.Content = "in_progress", content+" (waiting)"
		case host.StepSkipped, host.StepCancelled, host.StepInterrupted:
			e.Content = content + " (" + string(ph.State) + ")"
		}
		if room -= jsonLen(e.Content) + 60; i == maxPlanEntries || room < 200 {
			return append(entries, acp.PlanEntry{Content: more(len(phases) - i), Priority: "low", Status: "pending"})
		}
		entries = append(entries, e)
	}
	return entries
}

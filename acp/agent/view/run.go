package view

import (
	"context"
	"slices"
	"sync/atomic"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/internal/brief"
)

// Run shows what happens in a run of an Op: its plan, a tool call for each step,
// and what the steps print. A Run is for one go, up to where the run stops.
//
// Steps are announced when their phase begins, up to the next gate: what lies
// behind one may be another day's. A gate or event is announced once it is
// decided, or asked for.
type Run struct {
	RunOptions
	stage *Stage
	runID string
	plan  []acp.PlanEntry // as it was shown last
	steps map[string]*runStep
	// text is where output goes that is shown as text: that of the step that
	// runs, or of all steps of a parallel phase. nil while nothing is shown.
	text    *Call
	running int // steps under way
	closed  atomic.Bool
}

// RunOptions is what a Run has to know beside the events.
type RunOptions struct {
	// Context bounds how long output waits for the client.
	Context context.Context
	// Mark is what titles begin with, of a protected environment.
	Mark string
	// Line and Cwd are of the command line that takes the run on.
	Line, Cwd string
	// LogPath says where all is kept that the steps of a run print, "" for nowhere.
	LogPath func(run string) string
	// Over says whether the turn was answered without waiting for the run.
	Over func() bool
	// Waits are the gates and events that the run has come to, by the ids of their
	// requests; Decided those whose tool call has ended already.
	Waits   map[string]host.StepInfo
	Decided map[string]bool
}

// NewRun makes the Run of what the run does next.
func NewRun(s *Stage, o RunOptions) *Run {
	return &Run{RunOptions: o, stage: s, steps: map[string]*runStep{}}
}

// Stop makes nothing more be shown: what comes late is nobody's.
func (v *Run) Stop() { v.closed.Store(true) }

// Take takes one event. The runtime calls it for one after the other.
func (v *Run) Take(e host.OpEvent) {
	if v.closed.Load() || v.Over() { // the agent left without waiting for the run
		return
	}
	switch e := e.(type) {
	case *host.OpPlan:
		v.showPlan(e)
	case *host.OpNotice:
		v.say(Cut(Prose(e.Text), PieceBytes))
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

// Close ends what is still open, once all events were taken.
func (v *Run) Close() {
	v.closed.Store(true)
	v.endText()
	for _, s := range v.steps {
		if s.shaper != nil {
			s.EndOutput()
		}
		s.Fail("it was not seen to end")
	}
	v.stage.Flush()
}

// say tells a paragraph of its own.
func (v *Run) say(text string) {
	v.pause()
	v.add("\n" + text + "\n\n")
	v.stage.Flush()
}

// add tells text, with the next flush.
func (v *Run) add(text string) {
	for _, piece := range Pieces(text) {
		v.stage.Add(Event{Kind: EventSay, Text: piece})
	}
}

// pause ends the code block of text that is shown, so that something else can
// follow.
func (v *Run) pause() {
	if v.text != nil {
		_ = v.text.shaper.Break() // the client is gone: the turn will see it
	}
}

// endText shows the rest of the output that is shown as text.
func (v *Run) endText() {
	if v.text == nil {
		return
	}
	v.text.EndOutput()
	v.text = nil
}

// showPlan shows the plan where it changed, and announces the steps of phases that
// began.
func (v *Run) showPlan(p *host.OpPlan) {
	v.runID = p.RunID
	entries := planEntries(p.Phases)
	if !slices.Equal(entries, v.plan) {
		v.plan = entries
		v.pause()
		v.stage.Add(Event{Kind: EventPlan, Plan: entries})
		v.stage.Flush()
	}
	for _, ph := range p.Phases {
		if ph.State != host.StepPending && ph.State != host.StepSkipped {
			v.announce(ph)
		}
	}
}

// announce shows the steps of a phase that come next.
func (v *Run) announce(ph host.PlanPhase) {
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
	room := PieceBytes
	for i, ph := range phases {
		content := Cut(Prose(brief.Runes(OneLine(ph.Name), TitleRunes)), FieldBytes)
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
		if room -= JSONLen(e.Content) + 60; i == maxPlanEntries || room < 200 {
			return append(entries, acp.PlanEntry{Content: more(len(phases) - i), Priority: "low", Status: "pending"})
		}
		entries = append(entries, e)
	}
	return entries
}

package view

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent/view/shape"
	"github.com/chant-acp/chant-acp/command/problem"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/internal/brief"
)

// runStep is one step of a run as the client sees it.
type runStep struct {
	Call
	info host.StepInfo
}

// newStep announces a step.
func (v *Run) newStep(info host.StepInfo) *runStep {
	s := &runStep{info: info, Call: Call{
		Stage: v.stage, ID: "step_" + info.ID, Title: StepTitle(v.Mark, info), Line: v.Line, Cwd: v.Cwd,
		Problems: problem.Usual(),
		Silent:   info.Kind != "activity" && info.Kind != "exec",
	}}
	s.Announce(acp.ToolPending, stepInput(info), "")
	return s
}

func StepTitle(mark string, info host.StepInfo) string {
	if info.Compensation {
		mark += "Undo: "
	}
	first, rest, _ := strings.Cut(strings.TrimSpace(info.Title), "\n")
	if strings.TrimSpace(rest) != "" {
		first += " …"
	}
	return mark + brief.Runes(Visible(OneLine(first)), stepTitleRunes)
}

// stepInput is what the step is given, as far as it fits.
func stepInput(info host.StepInfo) any {
	in := struct {
		Command string `json:"command"` // clients show it as what runs
		Phase   string `json:"phase,omitempty"`
		Args    any    `json:"args,omitempty"`
	}{Command: Cut(Visible(info.Title), FieldBytes), Phase: Cut(info.Phase, FieldBytes)}
	switch {
	case JSONLen(string(info.Args)) > FieldBytes || !json.Valid(info.Args) && len(info.Args) > 0:
		in.Args = Cut(string(info.Args), FieldBytes)
	case len(info.Args) > 0:
		in.Args = info.Args
	}
	return in
}

// stepTitleRunes bounds the title of a step: a shell step's is its script.
const stepTitleRunes = 80

// started tells that a step begins, or begins again.
func (v *Run) started(e *host.StepStarted) {
	if isWait(e.Step.Kind) {
		return
	}
	s := v.steps[e.Step.ID]
	if s == nil {
		v.pause()
		s = v.newStep(e.Step)
		v.steps[e.Step.ID] = s
	}
	if s.started { // another attempt: told of by the retry
		return
	}
	v.running++
	v.begin(s)
	if !s.Silent {
		v.openOutput(s)
	}
}

// begin tells that a step is under way, and names it where what it prints is
// shown as text.
func (v *Run) begin(s *runStep) {
	v.pause()
	if !s.info.Parallel {
		v.endText()
	}
	s.Begun()
	s.Start(stepHeader(v.Mark, s.info))
}

// stepHeader is the line that names a step.
func stepHeader(mark string, info host.StepInfo) string {
	undo := ""
	if info.Compensation {
		undo = "Undo: "
	}
	phase := Prose(brief.Runes(OneLine(info.Phase), TitleRunes))
	return fmt.Sprintf("\n%s%s%s › %s\n", mark, undo, phase, Code(brief.Runes(OneLine(info.Title), TitleRunes)))
}

// openOutput prepares the way of what a step prints: into its own terminal, or as
// text, in which the steps of a parallel phase take turns by whole lines.
func (v *Run) openOutput(s *runStep) {
	switch {
	case s.ownOutput():
		s.OpenOutput(v.Context, v.logPath)
	case v.text != nil:
		s.shareOutput(v.text.shaper)
	default:
		s.OpenOutput(v.Context, v.logPath)
		v.text = &s.Call
	}
}

// logPath is the file that holds all of what the steps of the run print.
func (v *Run) logPath() string { return v.LogPath(v.runID) }

// WholeLog is the log of a run, "" where that lacks something.
func WholeLog(info host.RunInfo) string {
	if info.LogLacks != "" {
		return ""
	}
	return info.Log
}

// retry tells of an attempt that failed.
func (v *Run) retry(e *host.StepRetry) {
	s := v.steps[e.StepID]
	if s == nil {
		return
	}
	text := fmt.Sprintf("Attempt %d of %d of %s failed: %s The next one follows", e.Attempt, e.Of, Code(brief.Runes(OneLine(s.info.Title), TitleRunes)), SentenceEnd(Cut(OneLine(e.Err), FieldBytes)))
	if e.Wait > 0 {
		text += " in " + Span(e.Wait)
	}
	v.say(text + ".")
}

// ended tells how a step ended.
func (v *Run) ended(e *host.StepResult) {
	s := v.steps[e.Step.ID]
	if s == nil {
		if isWait(e.Step.Kind) && e.State == host.StepWaiting && e.Wait != nil {
			v.Waits[e.Wait.RequestID] = e.Step
		}
		if !isWait(e.Step.Kind) || e.State == host.StepWaiting || e.State == host.StepPending || e.State == host.StepSkipped {
			return // not announced, because it is not this turn's
		}
		if e.Wait != nil && v.Decided[e.Wait.RequestID] {
			return // its call ended when it was asked for
		}
		v.pause()
		s = v.newStep(e.Step)
		v.steps[e.Step.ID] = s
	}
	v.endStep(s, e)
}

// endStep ends the tool call of a step, and says in text what failed.
func (v *Run) endStep(s *runStep, e *host.StepResult) {
	shown := v.endStepOutput(s)
	r := ResultEvent{Status: acp.ToolFailed, RawOutput: RawJSON(stepOutput(e)), ExitCode: e.ExitCode}
	if !s.Silent {
		r.ExitCode = exitOf(e)
	}
	switch {
	case e.State == host.StepCompleted, e.State == host.StepWaiting: // a sleep: there is nothing more to do
		r.Status = acp.ToolCompleted
	}
	if !s.terminal() {
		r.Content = stepText(e)
	}
	shared := s.info.Parallel && !s.ownOutput() // with steps that run beside it
	if e.State == host.StepFailed && s.finder != nil && !shared {
		r.Locations = s.Printed()
	}
	s.End(r)
	if e.State == host.StepFailed {
		v.add(failureText(v.Mark, e, !shown))
	}
	for _, w := range e.Warnings {
		v.add("\n" + Sentence(Cut(w, FieldBytes)) + "\n")
	}
	v.stage.Flush()
}

// endStepOutput shows the rest of what a step printed, and says whether its end
// stands in the text right before what follows.
func (v *Run) endStepOutput(s *runStep) (shown bool) {
	if s.started {
		v.running--
	}
	switch {
	case s.shaper == nil:
		v.pause()
		return false
	case s.ownOutput():
		stats := s.EndOutput()
		return !s.terminal() && !s.shaper.Quiet() && stats.Bytes > 0
	case s.info.Parallel && v.running > 0:
		v.pause()
		return false
	}
	stats := s.shaper.Stats()
	v.endText()
	return !s.info.Parallel && !s.shaper.Quiet() && stats.Bytes > 0
}

// exitOf is the exit code that a terminal shows: 0 of what did its work without a
// program.
func exitOf(e *host.StepResult) *int {
	if e.ExitCode == nil && e.State == host.StepCompleted {
		return new(int)
	}
	return e.ExitCode
}

// stepRawOutput is the machine's account of a step.
type stepRawOutput struct {
	Attempts   int            `json:"attempts"`
	DurationMS int64          `json:"durationMs"`
	Outcome    *stepOutcome   `json:"outcome,omitempty"`
	ExitCode   *int           `json:"exitCode,omitempty"`
	State      host.StepState `json:"state,omitempty"` // where it did not complete
	Error      string         `json:"error,omitempty"`
}

// stepOutcome is a value that a step leaves to those who look at the run.
type stepOutcome struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

func stepOutput(e *host.StepResult) stepRawOutput {
	out := stepRawOutput{Attempts: e.Attempts, DurationMS: e.Duration.Milliseconds(), ExitCode: e.ExitCode, Error: Cut(e.Err, FieldBytes)}
	if e.State != host.StepCompleted {
		out.State = e.State
	}
	if e.Outcome != nil {
		out.Outcome = &stepOutcome{Cut(e.Outcome.Name, FieldBytes), e.Outcome.Value}
		if JSONLen(string(e.Outcome.Value)) > FieldBytes || !json.Valid(e.Outcome.Value) {
			out.Outcome.Value = RawJSON(Cut(string(e.Outcome.Value), FieldBytes))
		}
	}
	return out
}

// stepText is what a client shows of a step that has no terminal.
func stepText(e *host.StepResult) string {
	var parts []string
	switch {
	case e.State == host.StepWaiting && e.Wait != nil:
		parts = append(parts, Sentence(waitsFor(*e.Wait)))
	case e.State == host.StepSkipped, e.State == host.StepPending:
		parts = append(parts, "It was not run.")
	case e.Err != "":
		parts = append(parts, SentenceEnd(Cut(e.Err, FieldBytes))) // it may begin with a program's name
	}
	if e.Outcome != nil {
		parts = append(parts, Code(Cut(e.Outcome.Name+" = "+string(e.Outcome.Value), FieldBytes)))
	}
	return strings.Join(parts, "\n\n")
}

// tailText is the end of what a step printed, as plain text.
func tailText(lines []string) string {
	return shape.LastLines([]byte(strings.Join(lines, "\n")+"\n"), TailLines)
}

// failureText says in the thread's text that a step failed, with the end of what
// it printed where that does not stand there.
func failureText(mark string, e *host.StepResult, withTail bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s%s failed", mark, Code(brief.Runes(OneLine(e.Step.Title), TitleRunes)))
	if e.ExitCode != nil {
		fmt.Fprintf(&b, " with exit code %d", *e.ExitCode)
	}
	if e.Attempts > 1 {
		fmt.Fprintf(&b, " in %d attempts", e.Attempts)
	}
	fmt.Fprintf(&b, " after %s", Span(e.Duration))
	if e.Err != "" {
		b.WriteString(": " + Cut(OneLine(e.Err), FieldBytes))
	}
	text := SentenceEnd(b.String()) + "\n\n"
	if withTail && len(e.Tail) > 0 {
		text += Fenced(tailText(e.Tail)) + "\n\n"
	}
	return text
}

package agent

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent/view/shape"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/internal/brief"
)

// opStep is one step of a run as the client sees it.
type opStep struct {
	toolCall
	info host.StepInfo
}

// newStep announces a step.
func (v *opView) newStep(info host.StepInfo) *opStep {
	s := &opStep{info: info, toolCall: toolCall{
		turn: v.turn, id: "step_" + info.ID, title: stepTitle(v.run.mark, info), line: v.run.inv.Line, cwd: v.run.inv.Dir,
		silent: info.Kind != "activity" && info.Kind != "exec",
	}}
	s.announce(acp.ToolPending, stepInput(info), "")
	return s
}

func stepTitle(mark string, info host.StepInfo) string {
	if info.Compensation {
		mark += "Undo: "
	}
	return brief.Runes(mark+visible(info.Title), titleRunes)
}

// stepInput is what the step is given, as far as it fits.
func stepInput(info host.StepInfo) any {
	if jsonLen(string(info.Args)) > fieldBytes {
		return map[string]string{"phase": cutBytes(info.Phase, fieldBytes), "args": cutBytes(string(info.Args), fieldBytes)}
	}
	if len(info.Args) == 0 {
		return map[string]string{}
	}
	return info.Args
}

// started tells that a step begins, or begins again.
func (v *opView) started(e *host.StepStarted) {
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
	if !s.silent {
		v.openOutput(s)
	}
}

// begin tells that a step is under way, and names it where what it prints is
// shown as text.
func (v *opView) begin(s *opStep) {
	t := v.turn
	v.pause()
	if !s.info.Parallel {
		v.endText()
	}
	t.mu.Lock()
	s.started = true
	t.mu.Unlock()
	header := stepHeader(v.run.mark, s.info)
	t.keep(Event{Kind: EventStart, CallID: s.id, Text: header, Terminal: t.terminal})
	if !t.terminal {
		t.said = true
		t.session.notify(t.tail, acp.AgentMessageChunk{Content: acp.Text(header)})
	}
	s.goesOn(acp.ToolInProgress)
}

// stepHeader is the line that names a step.
func stepHeader(mark string, info host.StepInfo) string {
	undo := ""
	if info.Compensation {
		undo = "Undo: "
	}
	phase := brief.Runes(oneLine(visible(info.Phase)), titleRunes)
	return fmt.Sprintf("\n%s%s%s › %s\n", mark, undo, phase, code(brief.Runes(oneLine(info.Title), titleRunes)))
}

// openOutput prepares the way of what a step prints: into its own terminal, or as
// text, in which the steps of a parallel phase take turns by whole lines.
func (v *opView) openOutput(s *opStep) {
	switch {
	case s.terminal():
		s.newShaper(v.turn.context(), v.logPath)
	case v.text != nil:
		s.shareShaper(v.text.shaper)
	default:
		s.newShaper(v.turn.context(), v.logPath)
		v.text = &s.toolCall
	}
}

// logPath is the file that holds all of what the steps of the run print.
func (v *opView) logPath() string {
	info, err := v.run.rt.RunInfo(v.turn.context(), host.RunRef{ID: v.runID})
	if err != nil {
		return ""
	}
	return wholeLog(info)
}

// wholeLog is the log of a run, "" where that lacks something.
func wholeLog(info host.RunInfo) string {
	if info.LogLacks != "" {
		return ""
	}
	return info.Log
}

// retry tells of an attempt that failed.
func (v *opView) retry(e *host.StepRetry) {
	s := v.steps[e.StepID]
	if s == nil {
		return
	}
	text := fmt.Sprintf("Attempt %d of %d of %s failed: %s The next one follows", e.Attempt, e.Of, code(brief.Runes(oneLine(s.info.Title), titleRunes)), sentenceEnd(cutBytes(oneLine(e.Err), fieldBytes)))
	if e.Wait > 0 {
		text += " in " + span(e.Wait)
	}
	v.say(text + ".")
}

// ended tells how a step ended.
func (v *opView) ended(e *host.StepResult) {
	s := v.steps[e.Step.ID]
	if s == nil {
		if isWait(e.Step.Kind) && e.State == host.StepWaiting && e.Wait != nil {
			v.run.waits[e.Wait.RequestID] = e.Step
		}
		if !isWait(e.Step.Kind) || e.State == host.StepWaiting || e.State == host.StepPending || e.State == host.StepSkipped {
			return // not announced, because it is not this turn's
		}
		if e.Wait != nil && v.run.decided[e.Wait.RequestID] {
			return // its call ended when it was asked for
		}
		v.pause()
		s = v.newStep(e.Step)
		v.steps[e.Step.ID] = s
	}
	v.endStep(s, e)
}

func (v *opView) endStep(s *opStep, e *host.StepResult) {
	shown := v.endStepOutput(s)
	u := acp.ToolCallUpdate{ToolCallID: s.id, Status: acp.ToolFailed, RawOutput: stepOutput(e)}
	switch {
	case e.State == host.StepCompleted, e.State == host.StepWaiting: // a sleep: there is nothing more to do
		u.Status = acp.ToolCompleted
	}
	code := exitOf(e)
	if s.terminal() {
		u.Meta = terminalExit(s.id, exitCode(code), "")
	} else if text := stepText(e); text != "" {
		u.Content = []acp.ToolCallContent{acp.ToolText(text)}
	}
	s.end(u, code, "")
	if e.State == host.StepFailed {
		v.turn.close(failureText(v.run.mark, e, !shown))
	}
	for _, w := range e.Warnings {
		v.turn.close("\n" + sentence(cutBytes(w, fieldBytes)) + "\n")
	}
	v.turn.flush()
}

// endStepOutput shows the rest of what a step printed, and says whether its end
// stands in the text right before what follows.
func (v *opView) endStepOutput(s *opStep) (shown bool) {
	if s.started {
		v.running--
	}
	switch {
	case s.shaper == nil:
		v.pause()
		return false
	case s.terminal():
		s.endOutput()
		return false
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

type stepOutcome struct {
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

func stepOutput(e *host.StepResult) stepRawOutput {
	out := stepRawOutput{Attempts: e.Attempts, DurationMS: e.Duration.Milliseconds(), ExitCode: e.ExitCode, Error: cutBytes(e.Err, fieldBytes)}
	if e.State != host.StepCompleted {
		out.State = e.State
	}
	if e.Outcome != nil {
		out.Outcome = &stepOutcome{cutBytes(e.Outcome.Name, fieldBytes), e.Outcome.Value}
		if jsonLen(string(e.Outcome.Value)) > fieldBytes || !json.Valid(e.Outcome.Value) {
			out.Outcome.Value = rawJSON(cutBytes(string(e.Outcome.Value), fieldBytes))
		}
	}
	return out
}

// stepText is what a client shows of a step that has no terminal.
func stepText(e *host.StepResult) string {
	var parts []string
	switch {
	case e.State == host.StepWaiting && e.Wait != nil:
		parts = append(parts, sentence(waitsFor(*e.Wait)))
	case e.State == host.StepSkipped, e.State == host.StepPending:
		parts = append(parts, "It was not run.")
	case e.Err != "":
		parts = append(parts, sentenceEnd(cutBytes(e.Err, fieldBytes))) // it may begin with a program's name
	}
	if e.Outcome != nil {
		parts = append(parts, code(cutBytes(e.Outcome.Name+" = "+string(e.Outcome.Value), fieldBytes)))
	}
	if len(e.Tail) > 0 {
		parts = append(parts, fenced(tailText(e.Tail)))
	}
	return strings.Join(parts, "\n\n")
}

// tailText is the end of what a step printed, as plain text.
func tailText(lines []string) string {
	return shape.LastLines([]byte(strings.Join(lines, "\n")+"\n"), tailLines)
}

// failureText says in the thread's text that a step failed, with the end of what
// it printed where that does not stand there.
func failureText(mark string, e *host.StepResult, withTail bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n%s%s failed", mark, code(brief.Runes(oneLine(e.Step.Title), titleRunes)))
	if e.ExitCode != nil {
		fmt.Fprintf(&b, " with exit code %d", *e.ExitCode)
	}
	if e.Attempts > 1 {
		fmt.Fprintf(&b, " in %d attempts", e.Attempts)
	}
	fmt.Fprintf(&b, " after %s", span(e.Duration))
	if e.Err != "" {
		b.WriteString(": " + cutBytes(oneLine(e.Err), fieldBytes))
	}
	text := sentenceEnd(b.String()) + "\n\n"
	if withTail && len(e.Tail) > 0 {
		text += fenced(tailText(e.Tail)) + "\n\n"
	}
	return text
}

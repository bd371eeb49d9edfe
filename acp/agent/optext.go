package agent

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/internal/brief"
)

// closing is the line that says where the run stopped, and why.
func (r *opTurn) closing(res host.OpResult) string {
	var b strings.Builder
	if r.turn.said {
		b.WriteString("\n")
	}
	line := r.inv.Line
	if r.inv.Name != "run" { // a rejection did its work
		line = runLine(res.Run)
	}
	fmt.Fprintf(&b, "%s%s %s (run %s).", r.mark, code(cutBytes(line, fieldBytes)), runVerdict(res), res.Run.ID)
	if res.Failed != nil {
		b.WriteString(" " + failedStep(res.Failed))
	}
	if n := len(res.Compensation); n > 0 {
		failed := 0
		for _, s := range res.Compensation {
			if s.State != host.StepCompleted {
				failed++
			}
		}
		fmt.Fprintf(&b, " Compensation: %d of %d steps completed.", n-failed, n)
	}
	if res.Err != nil {
		b.WriteString(" " + sentence(oneLine(res.Err.Error())))
	}
	if res.Run.LogLacks != "" {
		b.WriteString(" " + logLackText(res.Run))
	}
	if res.Run.State == host.RunInterrupted {
		b.WriteString(" To do that step again and go on, or to begin anew, type\n\n" +
			fenced(resumeLine(res.Run, "--resume")+"\n"+resumeLine(res.Run, "--restart")))
	}
	b.WriteString("\n")
	return b.String()
}

// logLackText says that not all that the steps of a run printed was kept.
func logLackText(run host.RunInfo) string {
	return "Not all that its steps printed was kept: " + sentenceEnd(oneLine(run.LogLacks))
}

func runVerdict(res host.OpResult) string {
	after := span(res.Duration)
	switch res.Run.State {
	case host.RunCompleted:
		return "completed in " + after
	case host.RunFailed:
		return "failed after " + after
	case host.RunWaiting:
		return "waits, after " + after
	case host.RunCancelled:
		return "was cancelled after " + after
	case host.RunInterrupted:
		if res.Run.Step != "" {
			return "was interrupted after " + after + ", in the step " + code(oneLine(res.Run.Step))
		}
		return "was interrupted after " + after
	}
	return "is " + string(res.Run.State)
}

func failedStep(s *host.StepResult) string {
	text := "The step " + code(brief.Runes(oneLine(s.Step.Title), titleRunes)) + " failed"
	if s.ExitCode != nil {
		text += fmt.Sprintf(" with exit code %d", *s.ExitCode)
	}
	if s.Err != "" {
		text += ": " + brief.Runes(oneLine(s.Err), titleRunes)
	}
	return sentenceEnd(text)
}

func resumeLine(run host.RunInfo, flag string) string {
	return runLine(run) + " " + flag
}

func runLine(run host.RunInfo) string {
	return command.Quote([]string{"run", run.Op, "--run", run.ID})
}

// waitingText says of all that a run waits for what to type.
func waitingText(run host.RunInfo) string {
	var b strings.Builder
	for _, w := range run.Waits {
		b.WriteString("\n" + waitText(w))
	}
	return b.String()
}

// waitText says what a wait is for, and the lines to type.
func waitText(w host.OpWait) string {
	text := sentence(waitsFor(w))
	switch {
	case w.State != host.WaitOpen && w.Kind == host.WaitGate:
		text += " " + sentence(decisionText(w))
	case w.State != host.WaitOpen:
	case w.Kind == host.WaitGate:
		lines := w.Approve + "\n" + w.Reject
		if len(w.Schema) > 0 {
			text += " Its answer is JSON that meets the schema\n\n" + fenced(cutBytes(string(w.Schema), fieldBytes)) + "\n\n"
			lines = w.Approve + " --answer '…'\n" + w.Reject
		}
		if !strings.HasSuffix(text, "\n") {
			text += " "
		}
		text += "To decide, type one of\n\n" + fenced(lines) + "\n\nand then"
		return text + ", to go on,\n\n" + fenced(w.Continue) + "\n"
	case w.Kind == host.WaitEvent:
		return text + " Once it happened, type\n\n" + fenced(w.Signal+"\n"+w.Continue) + "\n"
	}
	return text + " To go on, type\n\n" + fenced(w.Continue) + "\n"
}

// waitsFor is the clause that says what a run waits for.
func waitsFor(w host.OpWait) string {
	var text string
	switch w.Kind {
	case host.WaitGate:
		text = fmt.Sprintf("the run %s of %s waits at the gate %s", w.RunID, code(w.Op), code(w.Name+"@"+w.Digest))
	case host.WaitEvent:
		text = fmt.Sprintf("the run %s of %s waits for the event %s", w.RunID, code(w.Op), code(w.Name))
	default:
		return fmt.Sprintf("the run %s of %s sleeps until %s", w.RunID, code(w.Op), moment(w.Until))
	}
	if w.Description != "" {
		text += " (" + visible(oneLine(w.Description)) + ")"
	}
	if !w.Until.IsZero() {
		text += ", until " + moment(w.Until)
	}
	return cutBytes(text, fieldBytes)
}

// gateText is what a person is asked about.
func gateText(w host.OpWait) string {
	text := sentence(waitsFor(w))
	if len(w.Schema) > 0 {
		text += " Its answer is JSON, which can't be given here: type " + code(w.Approve+" --answer '…'") + " instead."
	}
	return text
}

// decisionText is the clause that says what came of a wait.
func decisionText(w host.OpWait) string {
	subject := "the gate " + code(w.Name)
	if w.Kind == host.WaitEvent {
		subject = "the event " + code(w.Name)
	}
	text := fmt.Sprintf("%s of the run %s was %s", subject, w.RunID, w.State)
	if w.State == host.WaitExpired {
		return text[:len(text)-len("was expired")] + "was not decided in time, which counts as a rejection"
	}
	if w.By != "" {
		text += " by " + visible(oneLine(w.By))
	}
	if !w.At.IsZero() {
		text += " at " + moment(w.At)
	}
	if w.Note != "" {
		text += ": " + visible(brief.Runes(oneLine(w.Note), titleRunes))
	}
	return text
}

func moment(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 MST") }

// opRefusalText is the refusal of a line about a run.
func opRefusalText(e *host.OpRefusal) string {
	reason, rest, _ := strings.Cut(e.Reason, "\n")
	text := sentence(reason)
	if rest != "" {
		text += "\n\n" + fenced(rest)
	}
	if len(e.Runs) > 0 {
		text += "\n\n" + fenced(runTable(e.Runs))
	}
	if len(e.Lines) > 0 {
		text += "\n\nWhat would work:\n\n" + fenced(strings.Join(e.Lines, "\n"))
	}
	return text
}

// runTable lists runs, a line each.
func runTable(runs []host.RunInfo) string {
	var b strings.Builder
	for _, r := range runs {
		began := ""
		if !r.Began.IsZero() {
			began = r.Began.Local().Format("2006-01-02 15:04:05")
		}
		what := r.Op
		if r.Env != "" {
			what = "[" + r.Env + "] " + what
		}
		for _, name := range sortedKeys(r.Params) {
			what += " " + name + "=" + r.Params[name]
		}
		fmt.Fprintf(&b, "%-8s  %-11s  %-19s  %-5s  %s\n", r.ID, r.State, began, fmt.Sprintf("%d/%d", r.Done, r.Steps), brief.Runes(visible(oneLine(what)), titleRunes))
	}
	return b.String()
}

// runText tells of one run in full.
func runText(r host.RunInfo) string {
	var b strings.Builder
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-12s %s\n", name, cutBytes(visible(oneLine(value)), fieldBytes))
		}
	}
	row("run", r.ID)
	row("op", r.Op)
	row("state", string(r.State))
	row("environment", r.Env)
	for _, name := range sortedKeys(r.Params) {
		row("parameter", name+"="+r.Params[name])
	}
	row("digest", r.Short)
	row("commit", commitText(r))
	row("began", spanOf(r))
	row("by", strings.TrimSpace(r.User+" "+r.Client))
	row("started by", r.Parent)
	row("steps", fmt.Sprintf("%d of %d completed", r.Done, r.Steps))
	row("step", r.Step)
	row("failure", r.Failure)
	row("problem", r.Problem)
	row("log", r.LogLacks)
	text := fenced(b.String()) + "\n"
	if r.State == host.RunInterrupted && r.Changed == "" {
		text += "\nTo go on, or to begin anew, type\n\n" + fenced(resumeLine(r, "--resume")+"\n"+resumeLine(r, "--restart")) + "\n"
	}
	if r.Changed != "" {
		return text + changedText(r)
	}
	return text + waitingText(r)
}

// changedText says why an open run can't go on, and what is left of it: no line
// that would be refused.
func changedText(r host.RunInfo) string {
	text := "\n" + sentence(visible(oneLine(r.Changed))) + " The run can't go on as it is."
	var lines []string
	for _, w := range r.Waits {
		switch {
		case w.Kind != host.WaitGate:
		case w.State == host.WaitApproved:
			text += " The approval of the gate " + code(w.Name) + " is void."
		case w.State == host.WaitOpen:
			text += " An approval of the gate " + code(w.Name) + " would be void."
			lines = append(lines, w.Reject)
		case w.State == host.WaitRejected:
			text += " " + sentence(decisionText(w))
			return text + " To let the run fail, type\n\n" + fenced(w.Continue) + "\n"
		}
	}
	lines = append(lines, command.Quote([]string{"run", "cancel", "--run", r.ID}), resumeLine(r, "--restart"))
	return text + " To end it, or to begin anew, type one of\n\n" + fenced(strings.Join(lines, "\n")) + "\n"
}

func commitText(r host.RunInfo) string {
	if r.Commit == "" || r.Clean == nil || *r.Clean {
		return r.Commit
	}
	return r.Commit + ", with changes"
}

func spanOf(r host.RunInfo) string {
	if r.Began.IsZero() {
		return ""
	}
	if r.Ended.IsZero() {
		return moment(r.Began)
	}
	return moment(r.Began) + ", ended " + moment(r.Ended)
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// more stands for what does not fit.
func more(n int) string { return fmt.Sprintf("… and %d more", n) }

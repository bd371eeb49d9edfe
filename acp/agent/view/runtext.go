package view

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

// RunClosing is the line that says where a run stopped, and why. line is the
// command line that took it on, mark that of a protected environment; textShown says
// whether text stands before it, and person whether a person can type what is suggested.
func RunClosing(mark, line string, res host.OpResult, textShown, person bool) string {
	var b strings.Builder
	if textShown {
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s%s %s (run %s).", mark, Code(Cut(line, FieldBytes)), runVerdict(res), res.Run.ID)
	if res.Failed != nil {
		b.WriteString(" " + failedStep(res.Failed))
	}
	b.WriteString(compensationText(res.Run))
	if res.Err != nil {
		b.WriteString(" " + Sentence(Said(OneLine(res.Err.Error()))))
	}
	if res.Run.LogLacks != "" {
		b.WriteString(" " + LogLack(res.Run))
	}
	b.WriteString(StoppedText(res.Run, person) + "\n")
	return b.String()
}

// LogLack says that not all that the steps of a run printed was kept.
func LogLack(run host.RunInfo) string {
	return "Not all that its steps printed was kept: " + SentenceEnd(Said(OneLine(run.LogLacks)))
}

func runVerdict(res host.OpResult) string {
	after := Span(res.Duration)
	switch res.Run.State {
	case host.RunCompleted:
		return "completed in " + after
	case host.RunFailed:
		switch {
		case res.Run.UndoneBy == "":
			return "failed after " + after
		case Undone(res.Run):
			return "undid the run in " + after
		}
		return "did not undo all of the run, after " + after
	case host.RunWaiting:
		return "waits, after " + after
	case host.RunCancelled:
		return "was cancelled after " + after + inStep(res.Run)
	case host.RunInterrupted:
		return "was interrupted after " + after + inStep(res.Run)
	}
	return "is " + string(res.Run.State)
}

func failedStep(s *host.StepResult) string {
	text := "The step " + Code(brief.Runes(OneLine(s.Step.Title), TitleRunes)) + " failed"
	if s.ExitCode != nil {
		text += fmt.Sprintf(" with exit code %d", *s.ExitCode)
	}
	if s.Err != "" {
		text += ": " + Prose(brief.Runes(OneLine(s.Err), TitleRunes))
	}
	return SentenceEnd(text)
}

func resumeLine(run host.RunInfo, flag string) string {
	return RunLine(run) + " " + flag
}

func RunLine(run host.RunInfo) string {
	return command.Quote([]string{"run", run.Op, "--run", run.ID})
}

func Moment(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05 MST") }

// opRefusalText is the refusal of a line about a run.
func opRefusalText(e *host.OpRefusal) string {
	reason, rest, _ := strings.Cut(e.Reason, "\n")
	text := Sentence(Said(reason))
	if rest != "" {
		text += "\n\n" + Fenced(rest)
	}
	if len(e.Runs) > 0 {
		text += "\n\n" + Fenced(RunTable(e.Runs))
	}
	if len(e.Lines) > 0 {
		text += "\n\nWhat would work:\n\n" + Fenced(strings.Join(e.Lines, "\n"))
	}
	return text
}

// ChecksText is what came of verifying runs; whole says that nothing is wrong.
func ChecksText(checks []host.RunCheck) (text string, whole bool) {
	var b strings.Builder
	bad := 0
	for _, c := range checks {
		if len(c.Bad) == 0 {
			continue
		}
		bad++
		op := "an unknown Op"
		if c.Op != "" {
			op = Code(c.Op)
		}
		var files strings.Builder
		for _, f := range c.Bad {
			fmt.Fprintf(&files, "%s %s\n", f.Path, f.Problem)
		}
		fmt.Fprintf(&b, "The run %s of %s:\n\n%s\n\n", c.ID, op, Fenced(files.String()))
	}
	switch {
	case len(checks) == 0:
		return "There are no such runs in this project.", true
	case bad == 0 && len(checks) == 1:
		return "The run is what was written.", true
	case bad == 0:
		return fmt.Sprintf("All %d runs are what was written.", len(checks)), true
	}
	fmt.Fprintf(&b, "Of %d runs, %d can't be trusted. What lies before the first bad line is still told by `run status`.", len(checks), bad)
	return b.String(), false
}

// RunTable lists runs, a line each.
func RunTable(runs []host.RunInfo) string {
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
		fmt.Fprintf(&b, "%-8s  %-11s  %-19s  %-5s  %s\n", r.ID, r.State, began, fmt.Sprintf("%d/%d", r.Done, r.Steps), brief.Runes(Visible(OneLine(what)), TitleRunes))
	}
	return b.String()
}

// RunText tells of one run in full. person says whether who reads it may decide
// about it: else nothing is suggested that only a person may do.
func RunText(r host.RunInfo, person bool) string {
	var b strings.Builder
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-12s %s\n", name, Cut(Visible(OneLine(value)), FieldBytes))
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
	row("commit", CommitText(r.Commit, r.Clean))
	row("began", spanOf(r))
	row("by", strings.TrimSpace(r.User+" "+r.Client))
	row("started by", r.Parent)
	row("steps", fmt.Sprintf("%d of %d completed", r.Done, r.Steps))
	row("step", r.Step)
	row("failure", r.Failure)
	row("problem", r.Problem)
	row("log", r.LogLacks)
	compensationRows(r, row)
	text := Fenced(b.String()) + "\n"
	if r.Changed != "" {
		return text + changedText(r, person)
	}
	if stopped := StoppedText(r, person); stopped != "" {
		text += "\n" + strings.TrimSpace(stopped) + "\n"
	}
	return text + WaitingText(r)
}

// changedText says why an open run can't go on, and what is left of it: no line
// that would be refused.
func changedText(r host.RunInfo, person bool) string {
	text := "\n" + Sentence(Prose(r.Changed)) + " The run can't go on as it is."
	var lines []string
	for _, w := range r.Waits {
		switch {
		case w.Kind != host.WaitGate:
		case w.State == host.WaitApproved:
			text += " The approval of the gate " + Code(w.Name) + " is void."
		case w.State == host.WaitOpen:
			text += " An approval of the gate " + Code(w.Name) + " would be void."
			lines = append(lines, w.Reject)
		case w.State == host.WaitRejected:
			text += " " + Sentence(DecisionText(w))
			return text + " To let the run fail, type\n\n" + Fenced(w.Continue) + "\n"
		}
	}
	if !person {
		return text + " What becomes of it is for a person to decide.\n"
	}
	lines = append(lines, command.Quote([]string{"run", "cancel", "--run", r.ID}), resumeLine(r, "--restart"))
	return text + " To end it, or to begin anew, type one of\n\n" + Fenced(strings.Join(lines, "\n")) + "\n"
}

// CommitText is a commit and whether the tree held nothing but that, in git's words.
func CommitText(commit string, clean *bool) string {
	switch {
	case commit == "" || clean == nil:
		return commit
	case *clean:
		return commit + ", clean"
	}
	return commit + ", dirty"
}

func spanOf(r host.RunInfo) string {
	if r.Began.IsZero() {
		return ""
	}
	if r.Ended.IsZero() {
		return Moment(r.Began)
	}
	return Moment(r.Began) + ", ended " + Moment(r.Ended)
}

func sortedKeys(m map[string]string) []string { return slices.Sorted(maps.Keys(m)) }

// more stands for what does not fit.
func more(n int) string { return fmt.Sprintf("… and %d more", n) }

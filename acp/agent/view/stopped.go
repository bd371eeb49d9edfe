package view

import (
	"fmt"
	"strings"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/internal/brief"
)

// Undone says whether all of what a run did was undone.
func Undone(run host.RunInfo) bool {
	return run.State == host.RunFailed && len(run.Compensation) > 0 && undoneSteps(run) == len(run.Compensation)
}

// undoneSteps is how many steps of the compensation completed.
func undoneSteps(run host.RunInfo) (n int) {
	for _, s := range run.Compensation {
		if s.State == host.StepCompleted {
			n++
		}
	}
	return n
}

// inStep names the step in which a run stopped, "" where its compensation did.
func inStep(run host.RunInfo) string {
	if run.Step == "" || len(run.Compensation) > 0 {
		return ""
	}
	return ", in the step " + Code(brief.Runes(OneLine(run.Step), TitleRunes))
}

// compensationText counts the steps of a compensation, all of them, and names those
// that did not complete.
func compensationText(run host.RunInfo) string {
	if len(run.Compensation) == 0 {
		return ""
	}
	var left []string
	for _, s := range run.Compensation {
		if s.State != host.StepCompleted {
			left = append(left, undoTitle(s)+" ("+string(s.State)+")")
		}
	}
	text := fmt.Sprintf(" Compensation: %d of %d steps completed.", undoneSteps(run), len(run.Compensation))
	if len(left) > 0 {
		text += " Not completed: " + someOf(left) + "."
	}
	return text
}

func undoTitle(s host.UndoStep) string {
	if s.Title == "" {
		return "a step that is not known"
	}
	return Code(brief.Runes(OneLine(s.Title), TitleRunes/2))
}

// maxNamed is how many of several things a sentence names.
const maxNamed = 5

func someOf(list []string) string {
	if n := len(list) - maxNamed; n > 0 {
		list = append(list[:maxNamed:maxNamed], more(n))
	}
	return strings.Join(list, ", ")
}

// StoppedText says of a run that was cancelled or interrupted what is not undone,
// and what to type; "" of any other. person says whether who reads it may decide.
func StoppedText(run host.RunInfo, person bool) string {
	interrupted := run.State == host.RunInterrupted
	if !interrupted && run.State != host.RunCancelled {
		return ""
	}
	text := ""
	if n := len(run.NotUndone); n > 0 {
		var titles []string
		for _, title := range run.NotUndone[:min(n, maxNamed)] {
			titles = append(titles, Code(brief.Runes(OneLine(title), TitleRunes/2)))
		}
		if n > maxNamed {
			titles = append(titles, more(n-maxNamed))
		}
		text = " What it did is not undone: " + strings.Join(titles, ", ") + "."
		if run.Resume != "" && run.Undo == "" {
			text += " Its Op has no compensation."
		}
	}
	goOn := "to go on"
	if run.Step != "" {
		goOn = "to do that step again and go on"
	}
	var ways, lines []string
	add := func(way, line string) {
		if line != "" {
			ways, lines = append(ways, way), append(lines, line)
		}
	}
	switch {
	case person:
		add(goOn, run.Resume)
		add("to undo what it did", run.Undo)
		if interrupted {
			add("to begin anew", resumeLine(run, "--restart"))
		}
	case interrupted && len(run.Compensation) == 0:
		add(goOn, run.Resume)
	}
	n := len(ways)
	if n == 0 {
		return text
	}
	way, typing := ways[0], ", type"
	if n > 1 {
		way, typing = strings.Join(ways[:n-1], ", ")+", or "+ways[n-1], ", type one of"
	}
	return text + " " + strings.ToUpper(way[:1]) + way[1:] + typing + "\n\n" + Fenced(strings.Join(lines, "\n"))
}

// maxUndoRows bounds how many steps of a compensation are listed.
const maxUndoRows = 100

// compensationRows lists the steps of a compensation, and how far each is.
func compensationRows(run host.RunInfo, row func(name, value string)) {
	if len(run.Compensation) == 0 {
		return
	}
	row("undone by", run.UndoneBy)
	row("compensation", fmt.Sprintf("%d of %d completed", undoneSteps(run), len(run.Compensation)))
	for i, s := range run.Compensation {
		if i == maxUndoRows {
			row("", more(len(run.Compensation)-i))
			return
		}
		title := s.Title
		if title == "" {
			title = "(not known)"
		}
		row("", fmt.Sprintf("%-11s  %s", s.State, title))
	}
}

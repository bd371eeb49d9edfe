package view

import (
	"fmt"
	"strings"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/internal/brief"
)

// WaitingText says of all that a run waits for what to type.
func WaitingText(run host.RunInfo) string {
	var b strings.Builder
	for _, w := range run.Waits {
		b.WriteString("\n" + WaitText(w))
	}
	return b.String()
}

// WaitText says what a wait is for, and the lines to type.
func WaitText(w host.OpWait) string {
	text := Sentence(waitsFor(w))
	switch {
	case w.State == host.WaitApproved && w.Void != "":
		return text + " " + Sentence(DecisionText(w)) + " That is void: " + SentenceEnd(Prose(w.Void)) +
			" To be asked anew, type\n\n" + Fenced(w.Continue) + "\n"
	case w.State != host.WaitOpen && w.Kind == host.WaitGate:
		text += " " + Sentence(DecisionText(w))
	case w.State != host.WaitOpen:
	case w.Kind == host.WaitGate && w.Void != "":
		return text + " An approval would be void: " + SentenceEnd(Prose(w.Void)) +
			" To be asked anew, or to decline, type one of\n\n" + Fenced(w.Continue+"\n"+w.Reject) + "\n"
	case w.Kind == host.WaitGate:
		text += gateAbout(w)
		lines := w.Approve + "\n" + w.Reject
		if len(w.Schema) > 0 {
			text += " Its answer is JSON that meets the schema\n\n" + Fenced(Cut(string(w.Schema), FieldBytes)) + "\n\n"
			lines = w.Approve + " --answer '…'\n" + w.Reject
		}
		if !strings.HasSuffix(text, "\n") {
			text += " "
		}
		text += "To decide, type one of\n\n" + Fenced(lines) + "\n\nand then"
		return text + ", to go on,\n\n" + Fenced(w.Continue) + "\n"
	case w.Kind == host.WaitEvent:
		return text + " Once it happened, type\n\n" + Fenced(w.Signal+"\n"+w.Continue) + "\n"
	}
	return text + " To go on, type\n\n" + Fenced(w.Continue) + "\n"
}

// waitsFor is the clause that says what a run waits for.
func waitsFor(w host.OpWait) string {
	var text string
	switch w.Kind {
	case host.WaitGate:
		text = fmt.Sprintf("the run %s of %s waits at the gate %s", w.RunID, Code(w.Op), Code(w.Name+"@"+w.Digest))
	case host.WaitEvent:
		text = fmt.Sprintf("the run %s of %s waits for the event %s", w.RunID, Code(w.Op), Code(w.Name))
	default:
		return fmt.Sprintf("the run %s of %s sleeps until %s", w.RunID, Code(w.Op), Moment(w.Until))
	}
	if w.Description != "" {
		text += " (" + Prose(w.Description) + ")"
	}
	if !w.Until.IsZero() {
		text += ", until " + Moment(w.Until)
	}
	return Cut(text, FieldBytes)
}

// maxSteps and maxEvidence bound what is shown of each with a gate.
const (
	maxSteps    = 30
	maxEvidence = 20
)

// gateAbout shows what a gate lets run, and what there is to look at; "" where
// nothing is known of it.
func gateAbout(w host.OpWait) string {
	var b strings.Builder
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(&b, "%-9s %s\n", name, Cut(Visible(OneLine(value)), FieldBytes/8))
		}
	}
	if len(w.Steps)+len(w.Evidence) > 0 {
		row("digest", w.Digest)
	}
	row("commit", CommitText(w.Commit, w.Clean))
	for i, step := range w.Steps {
		if i == maxSteps {
			row("runs", more(len(w.Steps)-i))
			break
		}
		row("runs", step)
	}
	for i, e := range w.Evidence {
		if i == maxEvidence {
			row("look at", more(len(w.Evidence)-i))
			break
		}
		row("look at", evidenceText(e))
	}
	if b.Len() == 0 {
		return ""
	}
	return "\n\n" + Fenced(Cut(b.String(), FieldBytes)) + "\n\n"
}

func evidenceText(e host.Evidence) string {
	if e.Lacks != "" {
		return e.Path + ", which is " + e.Lacks
	}
	return fmt.Sprintf("%s (%d bytes, SHA-256 %s)", e.Path, e.Size, e.SHA256)
}

// GateMeta is _meta.chant of a question: what it is about.
func GateMeta(w host.OpWait) map[string]any {
	m := map[string]any{"requestId": w.RequestID, "runId": w.RunID, "gate": w.Name, "digest": w.Digest}
	if len(w.Steps) > 0 {
		m["steps"] = Lines(w.Steps)
	}
	if w.Commit != "" {
		m["commit"] = w.Commit
	}
	if w.Clean != nil {
		m["clean"] = *w.Clean
	}
	var evidence []any
	for _, e := range w.Evidence[:min(len(w.Evidence), maxEvidence)] {
		if e.Lacks != "" {
			evidence = append(evidence, map[string]any{"path": Cut(e.Path, FieldBytes/8), "lacks": e.Lacks})
			continue
		}
		evidence = append(evidence, map[string]any{"path": Cut(e.Path, FieldBytes/8), "size": e.Size, "sha256": e.SHA256})
	}
	if evidence != nil {
		m["evidence"] = evidence
	}
	return m
}

// GateText is what a person is asked about.
func GateText(w host.OpWait) string {
	text := Sentence(waitsFor(w)) + gateAbout(w)
	if len(w.Schema) > 0 {
		text += " Its answer is JSON, which can't be given here: type " + Code(w.Approve+" --answer '…'") + " instead."
	}
	return strings.TrimRight(text, "\n")
}

// DecisionText is the clause that says what came of a wait.
func DecisionText(w host.OpWait) string {
	subject := "the gate " + Code(w.Name)
	if w.Kind == host.WaitEvent {
		subject = "the event " + Code(w.Name)
	}
	text := fmt.Sprintf("%s of the run %s was %s", subject, w.RunID, w.State)
	if w.State == host.WaitExpired {
		return text[:len(text)-len("was expired")] + "was not decided in time, which counts as a rejection"
	}
	if w.By != "" {
		text += " by " + Prose(w.By)
	}
	if !w.At.IsZero() {
		text += " at " + Moment(w.At)
	}
	if w.Note != "" {
		text += ": " + Prose(brief.Runes(OneLine(w.Note), TitleRunes))
	}
	return text
}

package view

import (
	"fmt"
	"strings"

	"github.com/chant-acp/chant-acp/acp/agent/view/shape"
	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/internal/brief"
)

// Closing is the one line that says what ended, how, and how long it took, because
// half of the clients show nothing else of a tool call. state is that of the turn,
// and textShown says whether text stands before it. A failure that nothing was shown of has
// the end of what the program printed.
func Closing(inv *command.Invocation, state string, res host.Result, output *shape.Shaper, textShown bool) string {
	var b strings.Builder
	if textShown {
		b.WriteString("\n")
	}
	if state == StateFailed && output.Quiet() {
		if tail := output.Tail(TailLines); tail != "" {
			b.WriteString(Fenced(tail) + "\n\n")
		}
	}
	fmt.Fprintf(&b, "%s%s %s.", ProtectedMark(inv), Code(Cut(inv.Line, FieldBytes)), verdict(inv, state, res))
	for _, note := range notes(res, output.Stats()) {
		b.WriteString(" " + note)
	}
	b.WriteString("\n")
	return b.String()
}

// verdict is how the program ended, as the end of a sentence.
func verdict(inv *command.Invocation, state string, res host.Result) string {
	after := Span(res.Duration)
	switch {
	case state == StateCompleted && res.ExitCode == 0:
		return "completed in " + after
	case state == StateCompleted:
		return fmt.Sprintf("completed with exit code %d in %s", res.ExitCode, after)
	case state == StateCancelled && res.Stopped == host.StopNone:
		return fmt.Sprintf("was cancelled, but had ended by itself with exit code %d after %s", res.ExitCode, after)
	case state == StateCancelled:
		return "was cancelled after " + after
	case state == StateInterrupted:
		return "was interrupted after " + after + ", because the client left"
	case res.Stopped == host.StopTimeout:
		return fmt.Sprintf("failed: it ran longer than its time limit of %s and was ended", brief.Duration(inv.Timeout))
	case res.Err != nil:
		return fmt.Sprintf("failed after %s: %v", after, res.Err)
	case res.Signal != "":
		return fmt.Sprintf("failed: it was ended by %s after %s", res.Signal, after)
	}
	return fmt.Sprintf("failed with exit code %d after %s", res.ExitCode, after)
}

// notes are what else a person should know about the end.
func notes(res host.Result, stats shape.Stats) []string {
	var out []string
	if res.Killed {
		out = append(out, "It did not end when asked, so it was killed.")
	}
	switch {
	case res.Leftovers == 1:
		out = append(out, "One process that it left behind was ended.")
	case res.Leftovers > 1:
		out = append(out, fmt.Sprintf("%d processes that it left behind were ended.", res.Leftovers))
	}
	if res.HeldOutput {
		out = append(out, "A process that it started in the background goes on, and its output is not shown any more.")
	}
	if res.Handed {
		out = append(out, "It is given the rest of its grace to end.")
	}
	if lacks := LogLacks(stats, res); lacks != "" && stats.Truncated {
		out = append(out, Sentence(lacks))
	}
	return out
}

// SentenceEnd is s, ended by a full stop.
func SentenceEnd(s string) string {
	if isSentence(s) {
		return s
	}
	return s + "."
}

// isSentence says whether a text has an end of its own.
func isSentence(s string) bool {
	for _, end := range []string{".", "…", "!", "?"} {
		if strings.HasSuffix(s, end) {
			return true
		}
	}
	return false
}

// LogLacks says why the log is short, where there was output to keep.
func LogLacks(stats shape.Stats, res host.Result) string {
	if stats.Bytes == 0 {
		return ""
	}
	return res.LogLacks
}

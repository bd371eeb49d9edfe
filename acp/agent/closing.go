package agent

import (
	"fmt"
	"strings"

	"github.com/chant-acp/chant-acp/acp/agent/view/shape"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/internal/brief"
)

// closing is the one line that says what ended, how, and how long it took,
// because half of the clients show nothing else of a tool call.
func (x *execution) closing(e end, res host.Result, stats shape.Stats) string {
	var b strings.Builder
	if x.turn.said {
		b.WriteString("\n")
	}
	if e.state == stateFailed && x.quiet() {
		if tail := x.shaper.Tail(tailLines); tail != "" {
			b.WriteString(fenced(tail) + "\n\n")
		}
	}
	fmt.Fprintf(&b, "%s%s %s.", protectedMark(x.inv), code(cutBytes(x.inv.Line, fieldBytes)), x.verdict(e, res))
	for _, note := range notes(res, stats) {
		b.WriteString(" " + note)
	}
	b.WriteString("\n")
	return b.String()
}

func (x *execution) quiet() bool { return x.shaper.Quiet() }

func (x *execution) verdict(e end, res host.Result) string {
	after := span(res.Duration)
	switch {
	case e.state == stateCompleted && res.ExitCode == 0:
		return "completed in " + after
	case e.state == stateCompleted:
		return fmt.Sprintf("completed with exit code %d in %s", res.ExitCode, after)
	case e.state == stateCancelled && res.Stopped == host.StopNone:
		return fmt.Sprintf("was cancelled, but had ended by itself with exit code %d after %s", res.ExitCode, after)
	case e.state == stateCancelled:
		return "was cancelled after " + after
	case e.state == stateInterrupted:
		return "was interrupted after " + after + ", because the client left"
	case res.Stopped == host.StopTimeout:
		return fmt.Sprintf("failed: it ran longer than its time limit of %s and was ended", brief.Duration(x.inv.Timeout))
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
	if lacks := logLacks(stats, res); lacks != "" && stats.Truncated {
		out = append(out, sentence(lacks))
	}
	return out
}

// sentenceEnd is s, ended by a full stop.
func sentenceEnd(s string) string {
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

package turn

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent/view"
	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/internal/brief"
)

// maxHistory is how many command lines a session remembers.
const maxHistory = 1000

// entry is one command line of a session's history.
type entry struct {
	line  string
	state string
	ran   bool
	at    time.Time
	took  time.Duration
	// client is who prompted, by clientInfo.name.
	client string
}

// remember adds an entry; the caller holds the session's lock.
func (s *Thread) remember(e entry) {
	s.history = append(s.history, e)
	if len(s.history) > maxHistory {
		s.history = append([]entry(nil), s.history[len(s.history)-maxHistory:]...)
	}
}

// sortHistory puts what several processes ran in the order of time, and forgets
// the oldest; the caller holds the session's lock.
func (s *Thread) sortHistory() {
	slices.SortStableFunc(s.history, func(a, b entry) int { return a.at.Compare(b.at) })
	s.history = s.history[max(0, len(s.history)-maxHistory):]
}

// builtin carries out a built-in command. Those that look or decide hold
// nothing and wait for nothing.
func (t *Turn) builtin(allow host.AllowList, inv *command.Invocation) outcome {
	switch inv.Name {
	case "help":
		return t.sayText(view.Fenced(allow.Registry.Help(inv.Args, t.parseOptions())))
	case "explain":
		text, err := allow.Registry.Explain(inv.Args, t.parseOptions())
		if err != nil {
			return t.sayText(view.Refusal(err))
		}
		return t.sayText(view.Fenced(text))
	case "history":
		return t.deferred(func() outcome {
			t.session.catchUp(t.context())
			if t.stopped() {
				return t.stoppedBeforeStart("")
			}
			return t.sayText(t.session.historyText(count(inv.Args, 20)))
		})
	case "again":
		return t.later(nil, func() outcome { return t.again(allow, count(inv.Args, 1)) })
	case "confirm":
		return t.later(nil, func() outcome { return t.confirm(allow, inv.Args[0]) })
	case "allow":
		return t.later(nil, func() outcome { return t.allow(allow, inv.Args) })
	}
	if inv.Op != nil {
		return t.opBuiltin(inv)
	}
	return t.refuse(fmt.Errorf("%s is not part of this version", view.Code(inv.Name)))
}

// sayText ends a turn that only shows a text.
func (t *Turn) sayText(text string) outcome {
	t.recorder.say(text)
	return outcome{reason: acp.StopEndTurn, state: view.StateCompleted}
}

// count is the number in a built-in's first argument, which was checked.
func count(args []string, otherwise int) int {
	if len(args) > 0 {
		if n, err := strconv.Atoi(args[0]); err == nil {
			return n
		}
	}
	return otherwise
}

// again runs the nth last command line once more, confirmed anew where it has
// to be.
func (t *Turn) again(allow host.AllowList, n int) outcome {
	t.session.catchUp(t.context())
	line, ok := t.session.nthLast(n)
	if !ok {
		return t.refuse(fmt.Errorf("there is no command to run again: %s shows what was run in this session", view.Code("history")))
	}
	words, err := command.Split(line)
	if err != nil {
		return t.refuse(err)
	}
	inv, err := allow.Registry.Parse(words, t.parseOptions())
	if err != nil {
		return t.refuse(err)
	}
	if inv.Kind == command.KindBuiltin { // only those that run something are remembered
		return t.opAgain(inv)
	}
	return t.command(inv)
}

func (s *Thread) nthLast(n int) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if n < 1 || n > len(s.history) {
		return "", false
	}
	return s.history[len(s.history)-n].line, true
}

// historyText shows the last n command lines, oldest first, with the number
// that again takes.
func (s *Thread) historyText(n int) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.history) == 0 {
		return "Nothing was run in this session yet."
	}
	var b strings.Builder
	for i := max(0, len(s.history)-n); i < len(s.history); i++ {
		e := s.history[i]
		took := ""
		if e.ran {
			took = view.Span(e.took)
		}
		fmt.Fprintf(&b, "%4d  %s  %-11s  %8s  %-12s  %s\n", len(s.history)-i, e.at.Local().Format("2006-01-02 15:04:05"), e.state, took, brief.Runes(e.client, 12), brief.Runes(e.line, view.TitleRunes))
	}
	return view.Fenced(b.String())
}

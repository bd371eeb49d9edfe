package conversation

import (
	"cmp"
	"strings"
	"time"

	"github.com/chant-acp/chant-acp/internal/termtext"
	"github.com/chant-acp/chant-acp/runtime/thread"
)

// AgentName is the agent of conversations that are made of threads.
const AgentName = "chant-acp"

func metaOf(r thread.Record) Meta {
	return Meta{ID: r.ID, Agent: AgentName, Started: r.Created, Status: Open}
}

// Turns are the turns of a thread, or of the part that events are: for each what
// the user asked and what came of it, in the order in which they began.
func Turns(events []thread.Event) []Turn {
	var out []Turn
	answers := map[string]*answer{}
	var order []string
	for _, e := range events {
		if !isShown(e) {
			continue
		}
		a := answers[e.Turn]
		if a == nil {
			a = &answer{}
			a.put = a.join
			answers[e.Turn] = a
			order = append(order, e.Turn)
		}
		a.add(e)
	}
	for _, id := range order {
		a := answers[id]
		if a.prompt != nil {
			out = append(out, *a.prompt)
		}
		if content := a.content(); content != "" {
			out = append(out, Turn{Role: Assistant, At: a.at, Content: content}.canonical())
		}
	}
	return out
}

// answer is what a turn's events become.
type answer struct {
	prompt *Turn
	at     time.Time
	parts  []part
	put    func(part)      // takes the pieces of the answer as they come
	begun  bool            // there was a piece
	shown  map[string]bool // calls whose output was shown, or that have not begun
	ended  bool

	planned bool   // a plan was shown
	plan    string // as it came last
	final   string // as it will come last, where that is known
}

// part is markdown, or output as it was printed, or the next piece of either.
type part struct {
	text   string
	output bool
	call   string
	whole  bool // it goes on nothing, and nothing goes on it
	plan   bool // the plan of an Op
}

// continues says whether p goes on what ended with last.
func (p part) continues(last part) bool {
	return !p.whole && !last.whole && p.output == last.output && p.call == last.call
}

// isShown says whether an event is of interest to a reader.
func isShown(e thread.Event) bool {
	switch e.Kind {
	case thread.EventPrompt, thread.EventSay, thread.EventCall, thread.EventOutput, thread.EventResult, thread.EventEnd, thread.EventGap,
		thread.EventStart, thread.EventPlan:
		return true
	}
	return false
}

// add takes the next event of the turn.
func (a *answer) add(e thread.Event) {
	switch e.Kind {
	case thread.EventPrompt:
		t := Turn{Role: User, At: e.Time, Attribution: e.Client, Content: promptText(e)}.canonical()
		a.prompt = &t
		return
	case thread.EventSay:
		a.piece(part{text: e.Text})
	case thread.EventCall:
		if e.Call != nil && e.Call.Status == "pending" { // a step is named when it begins
			a.show(e.CallID)
		} else if e.Call != nil {
			a.piece(part{text: "Ran " + codeSpan(e.Call.Title), whole: true})
		}
	case thread.EventStart:
		delete(a.shown, e.CallID)
		a.piece(part{text: e.Text, whole: true})
	case thread.EventPlan:
		a.showPlan(e)
	case thread.EventOutput:
		a.show(e.CallID)
		// Only older threads hold output that is not as it was printed: it was
		// shown as markdown, which it is in the event, too.
		a.piece(part{text: e.Text, output: e.Terminal || e.Plain, call: e.CallID})
	case thread.EventResult:
		if e.Result != nil && e.Result.Content != "" && !a.shown[e.CallID] {
			a.piece(part{text: e.Result.Content, call: e.CallID})
		}
	case thread.EventEnd:
		a.ended = true
		text := "" // nothing goes on what came before
		if e.End != nil && (e.End.State == "cancelled" || e.End.State == "interrupted" || e.End.State == "not kept") {
			text = "*" + e.End.State + "*"
		}
		a.piece(part{text: text, whole: true})
	case thread.EventGap:
		a.piece(part{text: "*some of what happened here was not kept*", whole: true})
	}
	a.at = e.Time
}

func (a *answer) show(call string) {
	if a.shown == nil {
		a.shown = map[string]bool{}
	}
	a.shown[call] = true
}

// showPlan shows the plan where it came first, as it comes last.
func (a *answer) showPlan(e thread.Event) {
	var b strings.Builder
	for _, entry := range e.Plan {
		mark := " "
		if entry.Status == "completed" {
			mark = "x"
		}
		b.WriteString("- [" + mark + "] " + oneLine(entry.Content) + "\n")
	}
	a.plan = b.String()
	if !a.planned {
		a.planned = true
		a.piece(part{text: a.final, whole: true, plan: true})
	}
}

func (a *answer) piece(p part) {
	a.begun = true
	a.put(p)
}

const notEnded = "*not ended*"

// join adds to the last part what goes on with it: text comes in pieces.
func (a *answer) join(p part) {
	if n := len(a.parts); n > 0 && p.continues(a.parts[n-1]) {
		a.parts[n-1].text += p.text
		return
	}
	a.parts = append(a.parts, p)
}

func (a *answer) content() string {
	var b strings.Builder
	for _, p := range a.parts {
		text := strings.Trim(p.text, "\n")
		if p.plan {
			text = strings.Trim(a.plan, "\n")
		}
		if p.output {
			text = fence(string(termtext.Clean([]byte(p.text))))
		}
		if text != "" {
			b.WriteString(text)
			b.WriteString("\n\n")
		}
	}
	if !a.ended && a.begun {
		b.WriteString(notEnded)
	}
	return trim(b.String())
}

// promptText is a prompt as one would type it.
func promptText(e thread.Event) string {
	var words []string
	for _, b := range e.Prompt {
		if s := cmp.Or(b.Text, b.URI, b.Title, b.Name); s != "" {
			words = append(words, s)
		} else if b.Resource != nil {
			words = append(words, b.Resource.URI)
		}
	}
	return strings.Join(words, " ")
}

// fence is text as a block of code that nothing in it ends.
func fence(text string) string {
	text = strings.TrimRight(text, "\n")
	if text == "" {
		return ""
	}
	mark := strings.Repeat("`", max(3, longestRun(text)+1))
	return mark + "\n" + text + "\n" + mark
}

// codeSpan is a line as code.
func codeSpan(s string) string {
	s = oneLine(s)
	mark := strings.Repeat("`", longestRun(s)+1)
	if strings.HasPrefix(s, "`") || strings.HasSuffix(s, "`") {
		s = " " + s + " "
	}
	return mark + s + mark
}

// longestRun is the length of the longest run of backticks.
func longestRun(s string) int {
	longest, n := 0, 0
	for i := 0; i < len(s); i++ {
		if n++; s[i] != '`' {
			n = 0
		}
		longest = max(longest, n)
	}
	return longest
}

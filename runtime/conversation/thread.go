package conversation

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/chant-acp/chant-acp/internal/termtext"
	"github.com/chant-acp/chant-acp/runtime/thread"
)

// AgentName is the agent of conversations that are made of threads.
const AgentName = "chant-acp"

// Render is a thread as markdown.
func Render(r thread.Record, events []thread.Event) []byte {
	return FromThread(r, events).Markdown()
}

// FromThread is a thread as a conversation.
func FromThread(r thread.Record, events []thread.Event) Conversation {
	m := Meta{ID: r.ID, Agent: AgentName, Started: r.Created, Status: Open}
	return Conversation{Meta: m, Turns: Turns(events)}.Canonical()
}

// Turns are the turns of a thread, or of the part that events are: for each what
// the user asked and what came of it, in the order in which they began.
func Turns(events []thread.Event) []Turn {
	var out []Turn
	answers := map[string]*answer{}
	var order []string
	for _, e := range events {
		a := answers[e.Turn]
		if a == nil {
			a = &answer{shown: map[string]bool{}}
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
	shown  map[string]bool // calls whose output was shown, or that never began
	ended  bool
}

// part is markdown, or output as it was printed.
type part struct {
	text   string
	output bool
	call   string
}

func (a *answer) add(e thread.Event) {
	switch e.Kind {
	case thread.EventPrompt:
		t := Turn{Role: User, At: e.Time, Attribution: e.Client, Content: promptText(e)}.canonical()
		a.prompt = &t
		return
	case thread.EventSay:
		a.join(part{text: e.Text})
	case thread.EventCall:
		if e.Call != nil && e.Call.Status == "pending" { // a step is named when it begins
			a.shown[e.CallID] = true
		} else if e.Call != nil {
			a.parts = append(a.parts, part{text: "Ran " + codeSpan(e.Call.Title), call: "ran " + e.CallID})
		}
	case thread.EventStart:
		delete(a.shown, e.CallID)
		a.parts = append(a.parts, part{text: e.Text, call: "start " + e.CallID})
	case thread.EventPlan:
		a.plan(e)
	case thread.EventOutput:
		a.shown[e.CallID] = true
		// Only what was for a terminal is as it was printed: other output was
		// shown as markdown, which it is in the event, too.
		a.join(part{text: e.Text, output: e.Terminal, call: e.CallID})
	case thread.EventResult:
		if e.Result != nil && e.Result.Content != "" && !a.shown[e.CallID] {
			a.join(part{text: e.Result.Content, call: e.CallID})
		}
	case thread.EventEnd:
		a.ended = true
		if e.End != nil && (e.End.State == "cancelled" || e.End.State == "interrupted" || e.End.State == "not kept") {
			a.parts = append(a.parts, part{text: "*" + e.End.State + "*", call: "end"})
		}
	case thread.EventGap:
		a.parts = append(a.parts, part{text: "*some of what happened here was not kept*", call: "gap"})
	default:
		return // of no interest to a reader
	}
	a.at = e.Time
}

// plan shows the plan where it was shown first, as it was last.
func (a *answer) plan(e thread.Event) {
	var b strings.Builder
	for _, entry := range e.Plan {
		mark := " "
		if entry.Status == "completed" {
			mark = "x"
		}
		b.WriteString("- [" + mark + "] " + oneLine(entry.Content) + "\n")
	}
	p := part{text: b.String(), call: "plan"}
	if i := slices.IndexFunc(a.parts, func(p part) bool { return p.call == "plan" }); i >= 0 {
		a.parts[i] = p
		return
	}
	a.parts = append(a.parts, p)
}

// join adds to the last part what goes on with it: text comes in pieces.
func (a *answer) join(p part) {
	if n := len(a.parts); n > 0 && a.parts[n-1].output == p.output && a.parts[n-1].call == p.call {
		a.parts[n-1].text += p.text
		return
	}
	a.parts = append(a.parts, p)
}

func (a *answer) content() string {
	var b strings.Builder
	for _, p := range a.parts {
		text := strings.Trim(p.text, "\n")
		if p.output {
			text = fence(string(termtext.Clean([]byte(p.text))))
		}
		if text != "" {
			b.WriteString(text)
			b.WriteString("\n\n")
		}
	}
	if !a.ended && len(a.parts) > 0 {
		b.WriteString("*not ended*")
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

package conversation

import (
	"cmp"
	"strings"
	"time"

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
	d := Document{turns: map[string]*outline{}}
	of := map[*outline][]thread.Event{}
	for _, e := range events {
		if isShown(e) {
			d.outline(e)
			o := d.turns[e.Turn]
			of[o] = append(of[o], e)
		}
	}
	var out []Turn
	for _, o := range d.order {
		o.stop()
		var content strings.Builder
		r := turnReader{blocks: blocks{write: func(s string) { content.WriteString(s) }, marks: o.marks}, final: o.plan}
		for _, e := range of[o] {
			r.add(e)
		}
		r.finish()
		if r.prompt != nil {
			out = append(out, *r.prompt)
		}
		if t := (Turn{Role: Assistant, At: o.at, Content: content.String()}).canonical(); t.Content != "" {
			out = append(out, t)
		}
	}
	return out
}

// turnReader turns the events of one turn into markdown, which blocks writes.
type turnReader struct {
	blocks blocks
	prompt *Turn
	at     time.Time
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
func (t *turnReader) add(e thread.Event) {
	switch e.Kind {
	case thread.EventPrompt:
		said := Turn{Role: User, At: e.Time, Attribution: e.Client, Content: promptText(e)}.canonical()
		t.prompt = &said
		return
	case thread.EventSay:
		t.piece(part{text: e.Text})
	case thread.EventCall:
		if e.Call != nil && e.Call.Status == "pending" { // a step is named when it begins
			t.show(e.CallID)
		} else if e.Call != nil {
			t.piece(part{text: "Ran " + codeSpan(e.Call.Title), whole: true})
		}
	case thread.EventStart:
		delete(t.shown, e.CallID)
		t.piece(part{text: e.Text, whole: true})
	case thread.EventPlan:
		t.showPlan(e)
	case thread.EventOutput:
		t.show(e.CallID)
		// Only older threads hold output that is not as it was printed: it was
		// shown as markdown, which it is in the event, too.
		t.piece(part{text: e.Text, output: e.Terminal || e.Plain, call: e.CallID})
	case thread.EventResult:
		if e.Result != nil && e.Result.Content != "" && !t.shown[e.CallID] {
			t.piece(part{text: e.Result.Content, call: e.CallID})
		}
	case thread.EventEnd:
		t.ended = true
		text := "" // nothing goes on what came before
		if e.End != nil && (e.End.State == "cancelled" || e.End.State == "interrupted" || e.End.State == "not kept") {
			text = "*" + e.End.State + "*"
		}
		t.piece(part{text: text, whole: true})
	case thread.EventGap:
		t.piece(part{text: "*some of what happened here was not kept*", whole: true})
	}
	t.at = e.Time
}

func (t *turnReader) show(call string) {
	if t.shown == nil {
		t.shown = map[string]bool{}
	}
	t.shown[call] = true
}

// showPlan shows the plan where it came first, as it comes last.
func (t *turnReader) showPlan(e thread.Event) {
	var b strings.Builder
	for _, entry := range e.Plan {
		mark := " "
		if entry.Status == "completed" {
			mark = "x"
		}
		b.WriteString("- [" + mark + "] " + oneLine(entry.Content) + "\n")
	}
	t.plan = b.String()
	if !t.planned {
		t.planned = true
		t.piece(part{text: t.final, whole: true})
	}
}

func (t *turnReader) piece(p part) {
	t.begun = true
	t.blocks.add(p)
}

// finish ends what was written of the turn.
func (t *turnReader) finish() {
	if t.begun && !t.ended {
		t.piece(part{text: "*not ended*", whole: true})
	}
	t.blocks.end()
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

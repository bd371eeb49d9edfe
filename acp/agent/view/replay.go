package view

import (
	"fmt"
	"slices"

	"github.com/chant-acp/chant-acp/acp"
)

// MaxReplay bounds what is replayed of a thread, in bytes of text. Whole turns
// are left out from the beginning.
const MaxReplay = 8 << 20

// Past is the end of a thread, as much of it as is replayed. The zero value is
// empty.
type Past struct {
	Events []Event
	size   int
	left   int  // turns left out
	cut    bool // output of the only turn left was left out
}

// Of says how many turns the thread has in all: those before the first event are left
// out.
func (p *Past) Of(turns int) {
	for _, e := range p.Events {
		if e.Kind == EventPrompt {
			turns--
		}
	}
	p.left = max(p.left, turns)
}

// Add takes the next event of the thread. It never fails.
func (p *Past) Add(e Event) error {
	if e.Kind == EventOutput && p.size > MaxReplay {
		if p.cut { // one turn alone, with more output than all that is replayed
			return nil
		}
		p.cut = true
		e = Event{Kind: EventSay, Time: e.Time, Turn: e.Turn, Text: "\nThe rest of this output is not shown again.\n\n"}
	}
	p.Events = append(p.Events, e)
	p.size += eventSize(e)
	for p.size > MaxReplay {
		next := p.secondTurn()
		if next == 0 {
			break
		}
		p.cut = false
		for _, gone := range p.Events[:next] {
			p.size -= eventSize(gone)
		}
		clear(p.Events[:next])
		p.Events = p.Events[next:]
		p.left++
	}
	return nil
}

// secondTurn is the index of the first event of the second turn, 0 for none.
func (p *Past) secondTurn() int {
	for i, e := range p.Events {
		if i > 0 && e.Kind == EventPrompt {
			return i
		}
	}
	return 0
}

func eventSize(e Event) int {
	n := 200 + len(e.Text)
	for _, b := range e.Prompt {
		n += len(b.Text)
	}
	if e.Result != nil {
		n += len(e.Result.Content) + len(e.Result.RawOutput)
	}
	return n
}

// replay shows a thread that was kept: beside what a View shows its prompts, and
// what became of turns that did not end before the client's eyes.
type replay struct {
	View
	send   func(acp.SessionUpdate)
	silent bool // nothing but the prompt was shown of the turn
}

// Replay calls send with the updates that show a thread again. running is the turn
// that goes on in this process, "" for none: the rest of it follows.
func Replay(c Client, p Past, running string, send func(acp.SessionUpdate)) {
	r := &replay{View: View{client: c, past: true}, send: send}
	if p.left > 0 {
		r.say(fmt.Sprintf("The first %d turns of this thread are not shown again. %s lists what was run.\n\n", p.left, Code("history")))
	}
	for _, e := range inTurns(p.Events, running) {
		r.render(e)
	}
	if n := len(p.Events); n == 0 || p.Events[n-1].Turn != running {
		r.closeText(send)
	}
	r.elsewhere(running)
}

// inTurns puts the events of each turn together, in the order of the turns'
// beginnings: one that a crash left open may have been ended later, after others
// began. The turn that runs comes last, since the rest of it follows.
func inTurns(events []Event, running string) []Event {
	began := map[string]int{}
	for i, e := range events {
		if _, known := began[e.Turn]; !known {
			began[e.Turn] = i
		}
	}
	if _, runs := began[running]; runs && running != "" {
		began[running] = len(events)
	}
	return slices.SortedStableFunc(slices.Values(events), func(a, b Event) int { return began[a.Turn] - began[b.Turn] })
}

func (r *replay) say(text string) { r.message(text, r.send) }

// render shows one event of the past.
func (r *replay) render(e Event) {
	if e.Kind != EventOutput || e.CallID != r.printed {
		r.closeText(r.send)
	}
	if e.Kind != EventEnd {
		r.silent = e.Kind == EventPrompt
	}
	switch e.Kind {
	case EventPrompt:
		r.textShown, r.inOutput, r.planShown = false, false, false // each turn begins with nothing shown
		for _, block := range e.Prompt {
			r.prompt(block)
		}
	case EventEnd:
		r.end(e)
	case EventGap:
		r.say("\nSome of what happened here was not kept.\n\n")
	default:
		r.show(e, r.send)
	}
}

// prompt shows a block of a prompt, a long text as several.
func (r *replay) prompt(block acp.ContentBlock) {
	if block.Type != acp.ContentText || block.Text == "" {
		r.send(acp.UserMessageChunk{Content: block})
		return
	}
	for _, piece := range Pieces(block.Text) {
		r.send(acp.UserMessageChunk{Content: acp.Text(piece)})
	}
}

// elsewhere ends the calls that are not of the running turn of this session:
// how they end is told to another client.
func (r *replay) elsewhere(running string) {
	for _, c := range r.calls {
		if c.Turn != running {
			r.end(Event{Turn: c.Turn})
			r.say("\nThis turn has not ended: another process is still at it. Open the thread again later to see its end.\n")
		}
	}
}

// end closes what a turn left open: it was interrupted.
func (r *replay) end(e Event) {
	for id, c := range r.calls {
		if c.Turn == e.Turn {
			r.result(Event{CallID: id, Result: &ResultEvent{Status: acp.ToolFailed}}, r.send)
		}
	}
	switch {
	case e.End != nil && r.silent && (e.Client != "" || e.End.State == StateCancelled): // or the prompt would run into the next one
		r.say(unstarted(e.End))
	case e.End == nil || e.Client != "":
	case e.End.State == StateInterrupted:
		r.say("\nThis turn was interrupted: the agent ended before it did, or could not keep more of it.\n")
	case e.End.State == StateUnknown:
		r.say("\nHow this turn ended was not kept.\n")
	}
}

// unstarted tells of a turn that ended before it did or said anything.
func unstarted(e *EndEvent) string {
	what := "This"
	if e.Line != "" {
		what = Code(Cut(e.Line, FieldBytes))
	}
	if e.State == StateCancelled {
		return what + " was cancelled before it started.\n"
	}
	return what + " did not start: the client left.\n"
}

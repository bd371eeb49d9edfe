package agent

import (
	"fmt"
	"slices"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent/view/shape"
)

// maxReplay bounds what is replayed of a thread, in bytes of text. Whole turns
// are left out from the beginning.
const maxReplay = 8 << 20

// past is the end of a thread, as much of it as is replayed.
type past struct {
	events []Event
	size   int
	left   int  // turns left out
	cut    bool // output of the only turn left was left out
}

func (p *past) add(e Event) error {
	if e.Kind == EventOutput && p.size > maxReplay {
		if p.cut { // one turn alone, with more output than all that is replayed
			return nil
		}
		p.cut = true
		e = Event{Kind: EventSay, Time: e.Time, Turn: e.Turn, Text: "\nThe rest of this output is not shown again.\n\n"}
	}
	p.events = append(p.events, e)
	p.size += eventSize(e)
	for p.size > maxReplay {
		next := p.secondTurn()
		if next == 0 {
			break
		}
		p.cut = false
		for _, gone := range p.events[:next] {
			p.size -= eventSize(gone)
		}
		clear(p.events[:next])
		p.events = p.events[next:]
		p.left++
	}
	return nil
}

// secondTurn is the index of the first event of the second turn, 0 for none.
func (p *past) secondTurn() int {
	for i, e := range p.events {
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

// replayer renders events for a client as they would be rendered live.
type replayer struct {
	s        *session
	b        *acp.Batch
	terminal bool
	shaper   *shape.Shaper // turns the terminal output of the open call to text
	fence    textFence     // of the text output of the open call
	printed  string        // the call whose output came last
	open     map[string]*replayed
	silent   bool // nothing but the prompt was shown of the turn
}

// replayed is a call that has no result yet.
type replayed struct {
	Event
	pending bool // it was asked for, and is not known to have been allowed
}

func (s *session) replay(b *acp.Batch, p past, terminal bool) {
	r := &replayer{s: s, b: b, terminal: terminal, open: map[string]*replayed{}}
	if p.left > 0 {
		r.say(fmt.Sprintf("The first %d turns of this thread are not shown again. %s lists what was run.\n\n", p.left, code("history")))
	}
	running := s.running()
	for _, e := range inTurns(p.events, running) {
		r.render(e)
	}
	if n := len(p.events); n == 0 || p.events[n-1].Turn != running {
		r.closeText()
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

func (r *replayer) say(text string) {
	for _, piece := range pieces(text) {
		r.s.notify(r.b, acp.AgentMessageChunk{Content: acp.Text(piece)})
	}
}

func (r *replayer) render(e Event) {
	if e.Kind != EventOutput || e.CallID != r.printed {
		r.closeText()
	}
	if e.Kind != EventEnd {
		r.silent = e.Kind == EventPrompt
	}
	switch e.Kind {
	case EventPrompt:
		for _, block := range e.Prompt {
			r.prompt(block)
		}
	case EventSay:
		r.say(e.Text)
	case EventCall:
		r.call(e)
	case EventStart:
		r.start(e)
	case EventPlan:
		r.s.notify(r.b, acp.Plan{Entries: e.Plan})
	case EventOutput:
		r.output(e)
	case EventResult:
		r.result(e)
	case EventEnd:
		r.end(e)
	case EventGap:
		r.say("\nSome of what happened here was not kept.\n\n")
	}
}

// prompt shows a block of a prompt, a long text as several.
func (r *replayer) prompt(block acp.ContentBlock) {
	if block.Type != acp.ContentText || block.Text == "" {
		r.s.notify(r.b, acp.UserMessageChunk{Content: block})
		return
	}
	for _, piece := range pieces(block.Text) {
		r.s.notify(r.b, acp.UserMessageChunk{Content: acp.Text(piece)})
	}
}

func (r *replayer) call(e Event) {
	if e.Call == nil {
		return
	}
	open := &replayed{Event: e, pending: e.Call.Content != "" || e.Call.Status == acp.ToolPending}
	r.open[e.CallID] = open
	c := acp.ToolCall{ToolCallID: e.CallID, Title: e.Call.Title, ToolKind: acp.ToolExecute, Status: e.Call.Status, RawInput: e.Call.RawInput}
	if e.Terminal && r.terminal {
		c.Content, c.Meta = []acp.ToolCallContent{acp.ToolTerminal(e.CallID)}, terminalInfo(e.CallID, e.Call.Cwd)
	}
	if e.Call.Content != "" {
		c.Status, c.Content = acp.ToolPending, []acp.ToolCallContent{acp.ToolText(e.Call.Content)}
	}
	r.s.notify(r.b, c)
}

// start tells that a pending call began, and names it where what it prints is
// shown as text.
func (r *replayer) start(e Event) {
	if !e.Terminal || !r.terminal {
		r.say(e.Text)
	}
	r.started(r.open[e.CallID])
}

// started tells that a call which was asked for was allowed.
func (r *replayer) started(call *replayed) {
	if call == nil || !call.pending {
		return
	}
	call.pending = false
	u := acp.ToolCallUpdate{ToolCallID: call.CallID, Status: acp.ToolInProgress}
	if call.Terminal && r.terminal {
		u.Content = []acp.ToolCallContent{acp.ToolTerminal(call.CallID)}
	}
	r.s.notify(r.b, u)
}

// output shows a piece of output: to a terminal as it was, else as text.
func (r *replayer) output(e Event) {
	r.started(r.open[e.CallID])
	r.printed = e.CallID
	switch {
	case !e.Terminal:
		r.fence.read(e.Text)
		r.say(e.Text)
	case r.terminal && r.open[e.CallID] != nil: // a gap may have taken it
		r.s.notify(r.b, terminalOutput(e.CallID, e.Text))
	default:
		if r.shaper == nil {
			r.shaper = shape.New(shape.Config{Full: true, Emit: func(text string) error {
				r.say(text)
				return nil
			}})
		}
		r.shaper.Write([]byte(e.Text))
	}
}

// closeText ends the code block of an output, as it was not where the client or
// the agent was gone before.
func (r *replayer) closeText() {
	if text := r.fence.end(); text != "" {
		r.say(text)
	}
	if r.shaper == nil {
		return
	}
	for _, piece := range r.shaper.Finish() {
		r.say(piece)
	}
	r.shaper = nil
}

// elsewhere ends the calls that are not of the running turn of this session:
// how they end is told to another client.
func (r *replayer) elsewhere(running string) {
	for _, call := range r.open {
		if call.Turn != running {
			r.end(Event{Turn: call.Turn})
			r.say("\nThis turn has not ended: another process is still at it. Open the thread again later to see its end.\n")
		}
	}
}

func (s *session) running() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.turn == nil {
		return ""
	}
	return s.turn.id
}

func (r *replayer) result(e Event) {
	call, ok := r.open[e.CallID]
	if !ok || e.Result == nil {
		return
	}
	delete(r.open, e.CallID)
	if e.Result.ExitCode != nil {
		r.started(call)
	}
	u := acp.ToolCallUpdate{ToolCallID: e.CallID, Status: e.Result.Status, RawOutput: e.Result.RawOutput}
	if call.Terminal && r.terminal {
		var exit any
		if e.Result.ExitCode != nil && e.Result.Signal == "" {
			exit = *e.Result.ExitCode
		}
		u.Meta = terminalExit(e.CallID, exit, e.Result.Signal)
	}
	if e.Result.Content != "" {
		u.Content = []acp.ToolCallContent{acp.ToolText(e.Result.Content)}
	}
	r.s.notify(r.b, u)
}

// end closes what a turn left open: it was interrupted.
func (r *replayer) end(e Event) {
	for id, call := range r.open {
		if call.Turn != e.Turn {
			continue
		}
		delete(r.open, id)
		u := acp.ToolCallUpdate{ToolCallID: id, Status: acp.ToolFailed}
		if call.Terminal && r.terminal {
			u.Meta = terminalExit(id, nil, "")
		}
		r.s.notify(r.b, u)
	}
	switch {
	case e.End != nil && r.silent && (e.Client != "" || e.End.State == stateCancelled): // or the prompt would run into the next one
		r.say(unstarted(e.End))
	case e.End == nil || e.Client != "":
	case e.End.State == stateInterrupted:
		r.say("\nThis turn was interrupted: the agent ended before it did, or could not keep more of it.\n")
	case e.End.State == stateUnknown:
		r.say("\nHow this turn ended was not kept.\n")
	}
}

// unstarted tells of a turn that ended before it did or said anything.
func unstarted(e *EndEvent) string {
	what := "This"
	if e.Line != "" {
		what = code(cutBytes(e.Line, fieldBytes))
	}
	if e.State == stateCancelled {
		return what + " was cancelled before it started.\n"
	}
	return what + " did not start: the client left.\n"
}

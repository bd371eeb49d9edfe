package agent

import (
	"context"
	"fmt"
	"time"

	"github.com/chant-acp/chant-acp/acp"
)

// maxReplay bounds what is replayed of a thread, in bytes of text. Whole turns
// are left out from the beginning.
const maxReplay = 8 << 20

// freeLook is how long to wait for the lock of a thread that may be busy.
const freeLook = 50 * time.Millisecond

// past is the end of a thread, as much of it as is replayed.
type past struct {
	events []Event
	size   int
	left   int // turns left out
}

func (p *past) add(e Event) error {
	p.events = append(p.events, e)
	p.size += eventSize(e)
	for p.size > maxReplay {
		next := p.secondTurn()
		if next == 0 {
			break // one turn alone: it is bounded by what was shown of it
		}
		for _, gone := range p.events[:next] {
			p.size -= eventSize(gone)
		}
		p.events = append([]Event(nil), p.events[next:]...)
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
	shaper   *shaper          // turns the terminal output of the open call to text
	open     map[string]Event // calls without a result
}

func (s *session) replay(b *acp.Batch, p past, terminal bool) {
	r := &replayer{s: s, b: b, terminal: terminal, open: map[string]Event{}}
	if p.left > 0 {
		r.say(fmt.Sprintf("The first %d turns of this thread are not shown again. %s lists what was run.\n\n", p.left, code("history")))
	}
	for _, e := range p.events {
		r.render(e)
	}
	r.flushText()
}

func (r *replayer) say(text string) {
	for _, piece := range pieces(text) {
		r.s.notify(r.b, acp.AgentMessageChunk{Content: acp.Text(piece)})
	}
}

func (r *replayer) render(e Event) {
	if e.Kind != EventOutput {
		r.flushText()
	}
	switch e.Kind {
	case EventPrompt:
		for _, block := range e.Prompt {
			r.s.notify(r.b, acp.UserMessageChunk{Content: block})
		}
	case EventSay:
		r.say(e.Text)
	case EventCall:
		r.call(e)
	case EventOutput:
		r.output(e)
	case EventResult:
		r.result(e)
	case EventEnd:
		r.end(e)
	}
}

func (r *replayer) call(e Event) {
	if e.Call == nil {
		return
	}
	r.open[e.CallID] = e
	c := acp.ToolCall{ToolCallID: e.CallID, Title: e.Call.Title, ToolKind: acp.ToolExecute, Status: e.Call.Status, RawInput: e.Call.RawInput}
	if e.Terminal && r.terminal {
		c.Content, c.Meta = []acp.ToolCallContent{acp.ToolTerminal(e.CallID)}, terminalInfo(e.CallID, e.Call.Cwd)
	}
	if e.Call.Content != "" {
		c.Content = []acp.ToolCallContent{acp.ToolText(e.Call.Content)}
	}
	r.s.notify(r.b, c)
}

// output shows a piece of output: to a terminal as it was, else as text.
func (r *replayer) output(e Event) {
	switch {
	case !e.Terminal:
		r.say(e.Text)
	case r.terminal:
		r.s.notify(r.b, terminalOutput(e.CallID, e.Text))
	default:
		if r.shaper == nil {
			r.shaper = newShaper(shaperConfig{Full: true, Emit: func(text string) error {
				r.say(text)
				return nil
			}})
		}
		r.shaper.Write([]byte(e.Text))
	}
}

func (r *replayer) flushText() {
	if r.shaper == nil {
		return
	}
	for _, piece := range r.shaper.Finish() {
		r.say(piece)
	}
	r.shaper = nil
}

func (r *replayer) result(e Event) {
	call, ok := r.open[e.CallID]
	if !ok || e.Result == nil {
		return
	}
	delete(r.open, e.CallID)
	u := acp.ToolCallUpdate{ToolCallID: e.CallID, Status: e.Result.Status, RawOutput: e.Result.RawOutput}
	if call.Terminal && r.terminal {
		var exit any
		if e.Result.ExitCode != nil && e.Result.Signal == "" {
			exit = *e.Result.ExitCode
		}
		u.Meta = terminalExit(e.CallID, exit, e.Result.Signal)
	} else if e.Result.Content != "" {
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
	if e.End != nil && e.End.State == stateInterrupted && e.Client == "" {
		r.say("\nThis turn was interrupted: the agent ended before it did.\n")
	}
}

// closeTorn ends the turns that a crash left open, unless another process is at
// it. It returns the events that it added.
func (s *session) closeTorn(ctx context.Context, p past) []Event {
	open := map[string]bool{}
	var order []string
	for _, e := range p.events {
		switch e.Kind {
		case EventPrompt:
			open[e.Turn] = true
			order = append(order, e.Turn)
		case EventEnd:
			delete(open, e.Turn)
		}
	}
	s.mu.Lock()
	if s.turn != nil {
		delete(open, s.turn.id)
	}
	s.mu.Unlock()
	if len(open) == 0 {
		return nil
	}
	now, cancel := context.WithTimeout(ctx, freeLook)
	defer cancel()
	release, err := s.conn.agent.o.Store.Lock(now, s.id)
	if err != nil {
		return nil
	}
	defer release()
	var added []Event
	for _, turn := range order {
		if open[turn] {
			added = append(added, Event{Kind: EventEnd, Time: time.Now().UTC(), Turn: turn, End: &EndEvent{Reason: acp.StopCancelled, State: stateInterrupted}})
		}
	}
	s.write(added)
	return added
}

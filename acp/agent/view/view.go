// Package view is what a client sees of a thread. Events go in, as a turn makes
// them or as a store kept them; the updates of the protocol come out, as they suit
// one client. A thread that is opened again passes through the same code as the
// turn that made it, so it reads the same.
//
// Begin at View.Show for events, at Run for the runs of Ops, which it turns into
// events, and at clients.go for what is known of each client. There is no
// connection here, and no store.
package view

import (
	"sync"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/internal/termtext"
)

// View shows events to one client. Its methods may be called from any goroutine.
type View struct {
	client Client

	past bool // what is shown has happened: all of it comes at once

	mu        sync.Mutex
	calls     map[string]*shownCall
	textShown bool // message text was shown
	planShown bool // a plan was shown
	atStart   bool // and it ended with its line
	inOutput  bool // and it was what a program printed

	// Of threads that are opened again.
	printed string          // the call whose output came last
	lines   *termtext.Lines // makes text of terminal output
	linesOf Event           // a piece of that output
	fence   textFence       // of output that older versions kept as markdown
}

// shownCall is a tool call that has no end yet.
type shownCall struct {
	Event
	pending bool // it was asked for, and is not known to have been allowed
	card
	continued string // the last call that goes on with the output
}

// New makes the View of a turn that happens now.
func New(c Client) *View { return &View{client: c} }

// TextShown says whether message text was shown: the next paragraph then begins with
// an empty line.
func (v *View) TextShown() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.textShown
}

// Show calls send with the updates that show an event. Prompts and ends are not
// shown: the client has the one and is told the other. send must not block.
func (v *View) Show(e Event, send func(acp.SessionUpdate)) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.show(e, send)
}

func (v *View) show(e Event, send func(acp.SessionUpdate)) {
	switch e.Kind {
	case EventSay:
		v.message(e.Text, send)
	case EventCall:
		v.call(e, send)
	case EventStart:
		v.start(e, send)
	case EventPlan:
		if !v.planShown || !v.client.PlanOnce {
			send(acp.Plan{Entries: e.Plan})
		}
		v.planShown = true
	case EventOutput:
		v.output(e, send)
	case EventResult:
		v.result(e, send)
	}
}

// inTerminal says whether an event of a call is shown in a terminal.
func (v *View) inTerminal(e Event) bool { return e.Terminal && v.client.Terminal }

func (v *View) call(e Event, send func(acp.SessionUpdate)) {
	if e.Call == nil {
		return
	}
	if v.calls == nil {
		v.calls = map[string]*shownCall{}
	}
	v.calls[e.CallID] = &shownCall{Event: e, pending: e.Call.Content != "" || e.Call.Status == acp.ToolPending}
	if v.client.TitleOnly && e.Call.Content != "" {
		v.message(e.Call.Content+"\n\n", send)
	}
	c := acp.ToolCall{ToolCallID: e.CallID, Title: e.Call.Title, ToolKind: acp.ToolExecute, Status: e.Call.Status}
	c.Locations = v.locations(e.Call.Locations)
	if e.Call.RawInput != nil {
		c.RawInput = e.Call.RawInput
	}
	if v.inTerminal(e) { // clients take the terminal from tool_call, not from an update
		c.Content, c.Meta = []acp.ToolCallContent{acp.ToolTerminal(e.CallID)}, terminalInfo(e.CallID, e.Call.Cwd)
	}
	if e.Call.Content != "" {
		c.Status, c.Content = acp.ToolPending, []acp.ToolCallContent{acp.ToolText(e.Call.Content)}
	}
	send(c)
}

// start tells that a pending call began, and names it where what it prints is
// shown as text.
func (v *View) start(e Event, send func(acp.SessionUpdate)) {
	if !v.client.ownOutput() || !e.Terminal && !e.Plain { // or of an older version
		v.message(e.Text, send)
	}
	v.started(v.calls[e.CallID], send)
}

// started tells that a call which was asked for was allowed.
func (v *View) started(c *shownCall, send func(acp.SessionUpdate)) {
	if c == nil || !c.pending {
		return
	}
	c.pending = false
	u := acp.ToolCallUpdate{ToolCallID: c.CallID, Status: acp.ToolInProgress}
	if v.inTerminal(c.Event) {
		u.Content = []acp.ToolCallContent{acp.ToolTerminal(c.CallID)}
	}
	send(u)
}

// output shows a piece of output: to a terminal as it was, else as text.
func (v *View) output(e Event, send func(acp.SessionUpdate)) {
	c := v.calls[e.CallID]
	v.started(c, send)
	v.printed = e.CallID
	switch {
	case e.Plain:
		v.plain(e, e.Text, send)
	case !e.Terminal:
		v.fence.read(e.Text)
		v.text(e.Text, send)
	case v.client.Terminal && c != nil: // a gap may have taken it
		send(terminalOutput(e.CallID, e.Text))
	default:
		v.keptTerminal(e, send)
	}
}

func (v *View) result(e Event, send func(acp.SessionUpdate)) {
	c := v.calls[e.CallID]
	if c == nil || e.Result == nil {
		return
	}
	delete(v.calls, e.CallID)
	if e.Result.ExitCode != nil {
		v.started(c, send)
	}
	u := resultUpdate(e.CallID, *e.Result, v.inTerminal(c.Event))
	u.Locations = v.locations(e.Result.Locations)
	v.addOutput(&u, c, *e.Result, send)
	send(u)
	v.message(v.places(c.Call.Cwd, e.Result.Locations), send)
}

// resultUpdate is the last update of a call.
func resultUpdate(id string, r ResultEvent, terminal bool) acp.ToolCallUpdate {
	u := acp.ToolCallUpdate{ToolCallID: id, Status: r.Status}
	if r.RawOutput != nil {
		u.RawOutput = r.RawOutput
	}
	if terminal {
		var exit any
		if r.ExitCode != nil && r.Signal == "" {
			exit = *r.ExitCode
		}
		u.Meta = terminalExit(id, exit, r.Signal)
	}
	if r.Content != "" {
		u.Content = []acp.ToolCallContent{acp.ToolText(r.Content)}
	}
	return u
}

// Updates of a terminal that the client shows; its id is the tool call's.

func terminalOutput(id, data string) acp.ToolCallUpdate {
	return acp.ToolCallUpdate{
		ToolCallID: id, Status: acp.ToolInProgress,
		Meta: acp.Meta{"terminal_output": map[string]any{"terminal_id": id, "data": data}},
	}
}

func terminalInfo(id, cwd string) acp.Meta {
	return acp.Meta{"terminal_info": map[string]any{"terminal_id": id, "cwd": cwd}}
}

// terminalExit tells a terminal how its program ended; code is nil where it has
// no exit code.
func terminalExit(id string, code any, signal string) acp.Meta {
	exit := map[string]any{"terminal_id": id, "exit_code": code, "signal": nil}
	if signal != "" {
		exit["signal"] = signal
	}
	return acp.Meta{"terminal_exit": exit}
}

package agent

import (
	"context"
	"slices"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent/view/shape"
)

// toolCall is one tool call as the client sees it, and the way of its output.
type toolCall struct {
	turn      *turn
	id        string
	title     string
	line      string // the command line that it is of
	cwd       string
	silent    bool // it prints nothing: it has no terminal
	announced bool
	stopShow  context.CancelFunc

	// Of the turn's mutex, because the agent may leave before the call ends.
	shaper  *shape.Shaper
	started bool // what it stands for was begun
}

// terminal says whether the client shows the output in a terminal.
func (c *toolCall) terminal() bool { return c.turn.terminal && !c.silent }

// outputUpdate is one piece of output as the client takes it.
func (c *toolCall) outputUpdate(text string) acp.SessionUpdate {
	if !c.terminal() {
		return acp.AgentMessageChunk{Content: acp.Text(text)}
	}
	return terminalOutput(c.id, text)
}

func (c *toolCall) outputEvent(text string) Event {
	return Event{Kind: EventOutput, CallID: c.id, Text: text, Terminal: c.terminal()}
}

// show adds a piece of output to what is sent with the response.
func (c *toolCall) show(text string) {
	c.turn.keep(c.outputEvent(text))
	c.turn.session.notify(c.turn.tail, c.outputUpdate(text))
}

// newShaper prepares the way of the output to the client. What is shown waits
// for the client to read, but not beyond the end of ctx.
func (c *toolCall) newShaper(ctx context.Context, logPath func() string) {
	t := c.turn
	cfg := t.shaperConfig()
	cfg.LogPath = logPath
	cfg.Emit = func(text string) error { return t.stream(ctx, c.outputEvent(text), c.outputUpdate(text)) }
	if c.terminal() {
		cfg.Mode = shape.Terminal
	}
	c.shareShaper(shape.New(cfg))
}

// shareShaper makes s the way of this call's output.
func (c *toolCall) shareShaper(s *shape.Shaper) {
	c.turn.mu.Lock()
	defer c.turn.mu.Unlock()
	c.shaper = s
}

// shaperConfig is how the session wants output.
func (t *turn) shaperConfig() shape.Config {
	t.session.mu.Lock()
	defer t.session.mu.Unlock()
	output := t.session.output
	return shape.Config{Plain: output == outputPlain, Full: output == outputFull, Quiet: output == outputQuiet}
}

// endOutput shows what is left of the output.
func (c *toolCall) endOutput() shape.Stats {
	// Nothing holds Finish up: where the turn was stopped, what waits for the
	// client has given up, and what a reading client was shown can be completed.
	rest := c.shaper.Finish()
	for _, piece := range rest {
		c.show(piece)
	}
	stats := c.shaper.Stats()
	c.turn.said = c.turn.said || !c.terminal() && stats.Shown > 0
	return stats
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

// exitCode is what terminalExit takes; nil where there is none.
func exitCode(code *int) any {
	if code == nil {
		return nil
	}
	return *code
}

func terminalExit(id string, code any, signal string) acp.Meta {
	exit := map[string]any{"terminal_id": id, "exit_code": code, "signal": nil}
	if signal != "" {
		exit["signal"] = signal
	}
	return acp.Meta{"terminal_exit": exit}
}

// announce sends the tool call. about is what is asked about it, "" for nothing.
func (c *toolCall) announce(status acp.ToolStatus, input any, about string) {
	t := c.turn
	c.announced = true
	t.callOpened(c)
	call := acp.ToolCall{
		ToolCallID: c.id, Title: c.title, ToolKind: acp.ToolExecute, Status: status, RawInput: input,
	}
	call.Meta = c.terminalInfo() // where a client takes it from: not from an update
	call.Content = c.terminalContent()
	kept := &CallEvent{Title: call.Title, Status: status, RawInput: rawJSON(call.RawInput), Cwd: c.cwd, Line: c.line}
	if about != "" {
		call.Content = []acp.ToolCallContent{acp.ToolText(about)}
		kept.Status, kept.Content = acp.ToolInProgress, about
	}
	t.keep(Event{Kind: EventCall, CallID: c.id, Call: kept, Terminal: c.terminal()})
	t.session.notify(t.tail, call)
	t.flush()
}

// goesOn sends the status of an announced call that did not end.
func (c *toolCall) goesOn(status acp.ToolStatus) {
	c.turn.session.notify(c.turn.tail, acp.ToolCallUpdate{ToolCallID: c.id, Status: status, Content: c.terminalContent()})
	c.turn.flush()
}

func (c *toolCall) terminalContent() []acp.ToolCallContent {
	if !c.terminal() {
		return nil
	}
	return []acp.ToolCallContent{acp.ToolTerminal(c.id)}
}

func (c *toolCall) terminalInfo() acp.Meta {
	if !c.terminal() {
		return nil
	}
	return terminalInfo(c.id, c.cwd)
}

// fail closes a tool call of which nothing ran, or nobody knows how it ended,
// where it was announced.
func (c *toolCall) fail(why string) {
	if c.turn.callEnded(c) {
		u := c.failure(why)
		c.keepResult(u, nil, "")
		c.turn.session.notify(c.turn.tail, u)
	}
}

// end sends the last update of the tool call.
func (c *toolCall) end(u acp.ToolCallUpdate, exitCode *int, signal string) {
	c.turn.callEnded(c)
	c.keepResult(u, exitCode, signal)
	c.turn.session.notify(c.turn.tail, u)
}

// keepResult keeps the last update of the tool call.
func (c *toolCall) keepResult(u acp.ToolCallUpdate, exitCode *int, signal string) {
	r := &ResultEvent{Status: u.Status, RawOutput: rawJSON(u.RawOutput), ExitCode: exitCode, Signal: signal}
	for _, content := range u.Content {
		if content.Content != nil {
			r.Content = content.Content.Text
		}
	}
	c.turn.keep(Event{Kind: EventResult, CallID: c.id, Result: r})
}

func (c *toolCall) failure(why string) acp.ToolCallUpdate {
	u := acp.ToolCallUpdate{ToolCallID: c.id, Status: acp.ToolFailed, RawOutput: map[string]any{"started": c.started}}
	if c.terminal() {
		u.Meta = terminalExit(c.id, nil, "")
	}
	if why != "" && !c.started {
		u.Content = []acp.ToolCallContent{acp.ToolText(cutBytes(sentence(why), fieldBytes))}
	}
	return u
}

// crash closes the call after a panic: nothing more of it is shown.
func (c *toolCall) crash() {
	if c.shaper != nil {
		c.shaper.Abandon()
		c.shaper.Wait()
		for _, piece := range c.shaper.Finish() {
			c.show(piece)
		}
	}
	c.fail("this agent failed")
}

// giveUp adds the end of an open call to b, when the agent leaves before it; the
// caller holds the turn's mutex.
func (c *toolCall) giveUp(b *acp.Batch) {
	if c.shaper != nil {
		c.shaper.Abandon()
		for _, piece := range c.shaper.Finish() {
			c.turn.session.notify(b, c.outputUpdate(piece))
		}
	}
	c.turn.session.notify(b, c.failure("it had not ended when the agent left"))
}

// callOpened notes a tool call that has no end yet.
func (t *turn) callOpened(c *toolCall) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.open = append(t.open, c)
}

// callEnded takes note of its end, and says whether it was open.
func (t *turn) callEnded(c *toolCall) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.Index(t.open, c)
	if i >= 0 {
		t.open = slices.Delete(t.open, i, i+1)
	}
	return i >= 0
}

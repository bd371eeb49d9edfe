package view

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent/view/shape"
	"github.com/chant-acp/chant-acp/command/problem"
)

// Recorder takes what happens in a turn: each event once, to be kept, and shown by
// a View.
type Recorder interface {
	// Add takes an event; the next Flush keeps and sends it.
	Add(Event)
	// Show takes an update that is no event: nothing happened, so nothing is kept.
	Show(acp.SessionUpdate)
	// Flush keeps and sends what was taken, and does not wait for the client.
	Flush()
	// Stream keeps and sends a piece of output, waiting for the client to read, but
	// not beyond the end of ctx.
	Stream(context.Context, Event) error
	// TextShown is View.TextShown.
	TextShown() bool
}

// Stage is where the tool calls of a turn are shown.
type Stage struct {
	Recorder
	Client Client
	// Output is how the session wants output; Mode, LogPath and Emit are the call's.
	Output shape.Config

	mu   sync.Mutex
	open []*Call
}

// Open are the calls that were announced and have no end yet.
func (s *Stage) Open() []*Call {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.open)
}

// take takes a call off those that have no end yet, and says whether it was one.
func (s *Stage) take(c *Call) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.open, c)
	if i >= 0 {
		s.open = slices.Delete(s.open, i, i+1)
	}
	return i >= 0
}

// Call is one tool call, and the way of its output.
type Call struct {
	Stage *Stage
	ID    string
	Title string
	Line  string // the command line that it is of
	Cwd   string
	// Root is the project's root; "": Cwd. Problems are the formats in which it prints
	// where a problem is.
	Root     string
	Problems []problem.Format
	// Locations are the files that its line names.
	Locations []problem.Location
	// Silent: it prints nothing, so it has no terminal.
	Silent bool

	announced bool

	finder *problem.Finder // reads what is shown of its output

	// Of the stage's mutex, because the agent may leave before the call ends.
	shaper  *shape.Shaper
	started bool // what it stands for was begun
}

// Announced says whether the client was told of the call.
func (c *Call) Announced() bool { return c.announced }

// Begun notes that what the call stands for was begun.
func (c *Call) Begun() {
	c.Stage.mu.Lock()
	defer c.Stage.mu.Unlock()
	c.started = true
}

// terminal says whether the client shows the output in a terminal.
func (c *Call) terminal() bool { return c.Stage.Client.Terminal && !c.Silent }

// ownOutput says whether the client shows the output in the call itself.
func (c *Call) ownOutput() bool { return c.Stage.Client.ownOutput() && !c.Silent }

// cardInterval is the time between two updates of a tool call's content, which is
// sent whole each time.
const cardInterval = 500 * time.Millisecond

func (c *Call) outputEvent(text string) Event {
	return Event{Kind: EventOutput, CallID: c.ID, Text: text, Terminal: c.terminal(), Plain: !c.terminal()}
}

// Announce tells of the call. about is what is asked about it, "" for nothing.
func (c *Call) Announce(status acp.ToolStatus, input any, about string) {
	c.announced = true
	c.Stage.mu.Lock()
	c.Stage.open = append(c.Stage.open, c)
	c.Stage.mu.Unlock()
	if about != "" {
		status = acp.ToolInProgress // as it is in threads of old; it is shown as pending
	}
	c.Stage.Add(Event{
		Kind: EventCall, CallID: c.ID, Terminal: c.terminal(),
		Call: &CallEvent{Title: Visible(c.Title), Status: status, RawInput: Input(input), Cwd: c.Cwd, Content: Visible(about), Line: c.Line, Locations: c.Locations},
	})
	c.Stage.Flush()
}

// Start tells that an announced call began. header names it where what it prints
// is shown as text.
func (c *Call) Start(header string) {
	c.Stage.Add(Event{Kind: EventStart, CallID: c.ID, Text: header, Terminal: c.Stage.Client.Terminal, Plain: !c.Stage.Client.Terminal})
	c.Stage.Flush()
}

// AskAgain tells that an announced call waits for a person once more.
func (c *Call) AskAgain() {
	c.Stage.Show(acp.ToolCallUpdate{ToolCallID: c.ID, Status: acp.ToolPending})
	c.Stage.Flush()
}

// OpenOutput prepares the way of the output to the client, and returns what takes
// it. What is shown waits for the client to read, but not beyond the end of ctx.
// logPath says where all of it is kept.
func (c *Call) OpenOutput(ctx context.Context, logPath func() string) *shape.Shaper {
	cfg := c.Stage.Output
	cfg.LogPath = logPath
	finder := problem.NewFinder(c.Problems)
	c.finder = finder
	cfg.Emit = func(text string) error {
		finder.Write(text)
		return c.Stage.Stream(ctx, c.outputEvent(text))
	}
	switch {
	case c.terminal():
		cfg.Mode = shape.Terminal
	case c.ownOutput():
		cfg.Interval = cardInterval
	}
	s := shape.New(cfg)
	c.shareOutput(s)
	return s
}

// shareOutput makes s the way of this call's output.
func (c *Call) shareOutput(s *shape.Shaper) {
	c.Stage.mu.Lock()
	defer c.Stage.mu.Unlock()
	c.shaper = s
}

// EndOutput shows what is left of the output.
func (c *Call) EndOutput() shape.Stats {
	// Nothing holds Finish up: where the turn was stopped, what waits for the
	// client has given up, and what a reading client was shown can be completed.
	for _, piece := range c.shaper.Finish() {
		c.finder.Write(piece)
		c.Stage.Add(c.outputEvent(piece))
	}
	return c.shaper.Stats()
}

// Printed are the places in files that the call printed, once EndOutput has shown the
// rest of that.
func (c *Call) Printed() []problem.Location {
	if c.shaper.Quiet() {
		c.finder.Write(c.shaper.Tail(TailLines))
	}
	return bounded(c.finder.Resolve(cmp.Or(c.Root, c.Cwd), c.Cwd))
}

// Named are the places of files that a line names.
func Named(files []string) (list []problem.Location) {
	for _, file := range files {
		list = append(list, problem.Location{Path: file})
	}
	return bounded(list)
}

// bounded are as many locations as an update has room for.
func bounded(list []problem.Location) []problem.Location {
	room := FieldBytes
	for i, l := range list {
		if room -= JSONLen(l.Path) + len(`{"path":"","line":,"column":},`) + 20; room < 0 {
			return list[:i]
		}
	}
	return list
}

// End tells how the call ended. exitCode is nil where there is none.
func (c *Call) End(r ResultEvent) {
	c.Stage.take(c)
	c.Stage.Add(Event{Kind: EventResult, CallID: c.ID, Result: &r})
}

// Fail closes a call of which nothing ran, or nobody knows how it ended, where it
// was announced.
func (c *Call) Fail(why string) {
	if c.Stage.take(c) {
		r := c.failure(why)
		c.Stage.Add(Event{Kind: EventResult, CallID: c.ID, Result: &r})
	}
}

func (c *Call) failure(why string) ResultEvent {
	c.Stage.mu.Lock()
	defer c.Stage.mu.Unlock()
	r := ResultEvent{Status: acp.ToolFailed, RawOutput: RawJSON(map[string]any{"started": c.started})}
	if why != "" && !c.started {
		r.Content = Cut(Sentence(Said(why)), FieldBytes)
	}
	return r
}

// Crash closes the call after a panic: nothing more of it is shown.
func (c *Call) Crash() {
	c.Stage.mu.Lock()
	s := c.shaper
	c.Stage.mu.Unlock()
	if s != nil {
		s.Abandon()
		s.Wait()
		for _, piece := range s.Finish() {
			c.Stage.Add(c.outputEvent(piece))
		}
	}
	c.Fail("this agent failed")
}

// GiveUp returns the events that end an open call, when the agent leaves before it.
// It waits for nothing.
func (c *Call) GiveUp() (events []Event) {
	c.Stage.mu.Lock()
	s := c.shaper
	c.Stage.mu.Unlock()
	if s != nil {
		s.Abandon()
		for _, piece := range s.Finish() {
			events = append(events, c.outputEvent(piece))
		}
	}
	r := c.failure("it had not ended when the agent left")
	return append(events, Event{Kind: EventResult, CallID: c.ID, Result: &r})
}

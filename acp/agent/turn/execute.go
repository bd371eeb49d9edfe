package turn

import (
	"context"
	"fmt"
	"slices"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent/view"
	"github.com/chant-acp/chant-acp/acp/agent/view/shape"
	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host"
)

// command runs one program: confirmed where that is asked for, in its turn for
// the slot, and told as one tool call.
func (t *Turn) command(inv *command.Invocation) outcome {
	if e, ok := t.allowed(inv); !ok {
		return e
	}
	if why := t.noPerson(); inv.Protected && why != "" {
		return t.refuse(fmt.Errorf("%s was not run: %s is protected; %s", view.Code(inv.Line), inv.Environment, why))
	}
	x := newExecution(t, inv)
	switch t.confirmation(inv) {
	case command.ConfirmRetype:
		return t.askRetype(inv)
	case command.ConfirmAsk:
		if e, ok := x.askPerson(); !ok {
			return e
		}
	default:
		return x.queued()
	}
	return x.run()
}

// queued runs the program when the slot is free. What only reads has one of its
// own over MCP: its clients do not see each other, and none should wait for what
// another one writes.
func (x *execution) queued() outcome {
	if x.turn.conn.Origin == OriginMCP && x.inv.Effect == command.Read {
		x.slot = new(Slot)
	}
	if x.turn.waitAt(x.slot, x.inv.Line, false) != nil {
		return x.titled(x.turn.stoppedBeforeStart(x.inv.Line))
	}
	return x.run()
}

func newExecution(t *Turn, inv *command.Invocation) *execution {
	return &execution{
		Call:    view.Call{Stage: t.stage, ID: "call_" + newID(), Title: view.Title(inv), Line: inv.Line, Cwd: inv.Dir, Root: inv.Root(), Problems: inv.Problems(), Locations: view.Named(inv.Files())},
		turn:    t,
		slot:    t.conn.Slot,
		reading: t.reading(inv),
	}
}

// execution is one program as the client sees it.
type execution struct {
	view.Call
	reading
	turn     *Turn
	slot     *Slot  // where it runs
	asked    *asked // what a person said yes to; nil where nobody was asked
	program  host.Run
	output   *shape.Shaper
	stopShow context.CancelFunc
}

// reading is a command, with the version of the allow-list that it was read from
// and how.
type reading struct {
	inv     *command.Invocation
	version int
	options command.ParseOptions
}

func (t *Turn) reading(inv *command.Invocation) reading {
	t.session.mu.Lock()
	version := t.session.allow.Version
	t.session.mu.Unlock()
	return reading{inv, version, t.parseOptions()}
}

func (x *execution) titled(e outcome) outcome { return e.about(x.inv) }

// about is the outcome of a turn that ran, or was to run, inv.
func (e outcome) about(inv *command.Invocation) outcome {
	e.line, e.title = inv.Line, view.Title(inv)
	return e
}

// run runs the program in the slot, which it has, and gives the slot up.
func (x *execution) run() outcome {
	t := x.turn
	defer func() { x.slot.release(x.program != nil && x.inv.Effect != command.Read) }()
	if t.stopped() {
		x.Fail("")
		return x.titled(t.stoppedBeforeStart(x.inv.Line))
	}
	if err := x.stillAllowed(t); err != nil {
		x.Fail(err.Error())
		return x.titled(t.refuse(err))
	}
	if x.asked != nil {
		if err := x.asked.holds(t, x.inv); err != nil {
			x.Fail(err.Error())
			return x.titled(t.refuse(err))
		}
	}
	if x.inv.Notice != "" {
		t.say(x.inv.Notice + "\n\n")
	}
	if x.Announced() { // a person was asked about this call
		x.Start("")
	} else {
		x.Announce(acp.ToolInProgress, x.rawInput(), "")
	}
	x.showWhileItRuns()
	defer x.stopShow()
	if err := x.start(); err != nil {
		x.output.Abandon()
		if t.stopped() {
			x.Fail("it was cancelled before it started")
			return x.titled(t.stoppedBeforeStart(x.inv.Line))
		}
		x.Fail(err.Error())
		t.recorder.say(fmt.Sprintf("%s%s did not start: %s", view.ProtectedMark(x.inv), view.Code(view.Cut(x.inv.Line, view.FieldBytes)), view.SentenceEnd(view.Said(err.Error()))))
		return x.titled(outcome{reason: acp.StopEndTurn, state: view.StateFailed})
	}
	res := x.program.Wait()
	t.ran()
	return x.conclude(res)
}

// stillAllowed looks again, now that the program is about to start: the command
// may have waited for the slot, or for a person, and the manifest may say
// something else by now.
func (a reading) stillAllowed(t *Turn) error {
	if err := t.stillInForm(a.inv); err != nil {
		return err
	}
	allow := t.session.Refresh()
	if allow.Version == a.version {
		return nil
	}
	inv, err := allow.Registry.Parse(a.inv.Words, a.options)
	if err != nil {
		return err
	}
	if !sameRun(inv, a.inv) {
		return fmt.Errorf("%s would run something else now than when it was asked for. Type it again to see what", view.Code(a.inv.Line))
	}
	return nil
}

// sameRun says whether two readings of a line would run the same, confirmed the
// same way. The manifest around the command may have changed.
func sameRun(a, b *command.Invocation) bool {
	return slices.Equal(a.Argv, b.Argv) && a.Dir == b.Dir && slices.Equal(a.Env, b.Env) &&
		a.Confirm == b.Confirm && a.TTY == b.TTY
}

// start starts the program, unless the turn was stopped before. A stop during
// the start ends its context and, where it succeeds all the same, the program.
func (x *execution) start() error {
	t := x.turn
	if t.stopped() {
		return errStopped
	}
	run, err := t.session.host.Start(t.context(), x.inv, host.StartOptions{
		Name: x.ID, Color: t.client.Terminal || x.inv.TTY, Output: x.output.Write,
	})
	if err != nil {
		return err
	}
	x.program = run
	x.Begun()
	t.runs(run)
	return nil
}

// showWhileItRuns prepares the way of the output, which ends with the program's
// time.
func (x *execution) showWhileItRuns() {
	ctx := x.turn.context()
	x.stopShow = func() {}
	if x.inv.Timeout > 0 {
		ctx, x.stopShow = context.WithTimeout(ctx, x.inv.Timeout)
	}
	t := x.turn
	t.stage.Output = t.session.outputConfig()
	x.output = x.OpenOutput(ctx, x.logPath)
}

func (x *execution) logPath() string { return x.program.Log() }

// conclude tells how the program ended: the rest of its output, the tool call,
// and one closing line.
func (x *execution) conclude(res host.Result) outcome {
	t := x.turn
	stats := x.EndOutput()
	e := x.titled(outcome{reason: acp.StopEndTurn, state: x.state(res), ran: true, took: res.Duration})
	if res.ExitCode >= 0 { // below 0: the end of the program was not seen
		e.meta.ExitCode = &res.ExitCode
	}
	if e.state == view.StateCancelled || e.state == view.StateInterrupted {
		e.reason = acp.StopCancelled
	}
	r := view.ResultEvent{Status: acp.ToolFailed, ExitCode: &res.ExitCode, Signal: res.Signal, RawOutput: view.RawJSON(rawOutput{
		ExitCode: res.ExitCode, Signal: res.Signal, DurationMS: res.Duration.Milliseconds(),
		Bytes: stats.Bytes, Truncated: stats.Truncated, Log: x.program.Log(), LogLacks: view.LogLacks(stats, res),
	})}
	if e.state == view.StateCompleted {
		r.Status = acp.ToolCompleted
	}
	if e.state == view.StateFailed {
		r.Locations = x.Printed()
	}
	x.End(r)
	t.recorder.say(view.Closing(x.inv, e.state, res, x.output, t.TextShown()))
	return e
}

// state judges the end of the program. The reason for which the turn was
// stopped was recorded when it happened and is not inferred.
func (x *execution) state(res host.Result) string {
	switch x.turn.reason() {
	case host.StopCancelled:
		return view.StateCancelled
	case host.StopLeaving:
		return view.StateInterrupted
	}
	if res.Stopped == host.StopNone && res.Err == nil && slices.Contains(x.inv.Success, res.ExitCode) {
		return view.StateCompleted
	}
	return view.StateFailed
}

// rawInput is what will run, bounded as a whole.
func (x *execution) rawInput() any {
	argv, room := []string{}, view.FieldBytes
	for i, a := range x.inv.Argv {
		if room <= 0 {
			argv = append(argv, fmt.Sprintf("… and %d more", len(x.inv.Argv)-i))
			break
		}
		a = view.Cut(a, room+len("…"))
		argv = append(argv, a)
		room -= view.JSONLen(a) + len(`"",`)
	}
	return struct {
		Command string   `json:"command"`
		Argv    []string `json:"argv"`
		Cwd     string   `json:"cwd"`
	}{view.Cut(x.inv.Line, view.FieldBytes), argv, x.inv.Dir}
}

// rawOutput is the machine's account of how a program ended.
type rawOutput struct {
	ExitCode   int    `json:"exitCode"`
	Signal     string `json:"signal,omitempty"`
	DurationMS int64  `json:"durationMs"`
	Bytes      int64  `json:"bytes"`
	Truncated  bool   `json:"truncated"`
	Log        string `json:"log,omitempty"`
	LogLacks   string `json:"logLacks,omitempty"`
}

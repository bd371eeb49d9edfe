package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host"
)

// tailLines of a program's output go into the final content of its tool call.
const tailLines = 20

// command runs one program: confirmed where that is asked for, in its turn for
// the place, and told as one tool call.
func (t *turn) command(inv *command.Invocation) end {
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

// queued runs the program when the place is free.
func (x *execution) queued() end {
	if x.turn.wait(x.inv.Line, false) != nil {
		return x.titled(x.turn.stoppedBeforeStart(x.inv.Line))
	}
	return x.run()
}

func newExecution(t *turn, inv *command.Invocation) *execution {
	t.session.mu.Lock()
	allowed := t.session.allow.Version
	t.session.mu.Unlock()
	t.call = &execution{turn: t, inv: inv, id: "call_" + newID(), title: title(inv), allowed: allowed, options: t.parseOptions()}
	return t.call
}

// execution is one program as the client sees it.
type execution struct {
	turn      *turn
	inv       *command.Invocation
	id        string
	title     string
	announced bool
	shaper    *shaper
	stopShow  context.CancelFunc
	program   host.Run
	// allowed is the version of the allow-list that inv was read from, with
	// options.
	allowed int
	options command.ParseOptions
}

func newID() string {
	id, err := uuid.NewV7()
	if err != nil { // no randomness: the system is broken, and so would be any other id
		panic(err)
	}
	return id.String()
}

// title is the command line, led by the name of an environment that is
// protected.
func title(inv *command.Invocation) string {
	return cut(protectedMark(inv)+visible(inv.Line), titleRunes)
}

func protectedMark(inv *command.Invocation) string {
	if !inv.Protected {
		return ""
	}
	return "[" + inv.Environment + "] "
}

func (x *execution) titled(e end) end {
	e.line, e.title = x.inv.Line, x.title
	return e
}

// run runs the program in the place, which it has, and gives the place up.
func (x *execution) run() end {
	t := x.turn
	defer func() { t.conn.agent.place.release(x.program != nil && x.inv.Effect != command.Read) }()
	if t.stopReason() != host.StopNone {
		x.fail("")
		return x.titled(t.stoppedBeforeStart(x.inv.Line))
	}
	if err := x.stillAllowed(); err != nil {
		x.fail(err.Error())
		return x.titled(t.refuse(err))
	}
	if x.inv.Notice != "" {
		t.say(x.inv.Notice + "\n\n")
	}
	x.announce(acp.ToolInProgress)
	x.newShaper()
	defer x.stopShow()
	if err := x.start(); err != nil {
		x.shaper.Abandon()
		if t.stopReason() != host.StopNone {
			x.fail("it was cancelled before it started")
			return x.titled(t.stoppedBeforeStart(x.inv.Line))
		}
		x.fail(err.Error())
		t.close(fmt.Sprintf("%s%s did not start: %s", protectedMark(x.inv), code(cutBytes(x.inv.Line, fieldBytes)), sentenceEnd(err.Error())))
		return x.titled(end{reason: acp.StopEndTurn, state: stateFailed})
	}
	res := x.program.Wait()
	t.mu.Lock()
	t.program = nil
	t.mu.Unlock()
	return x.conclude(res)
}

// stillAllowed looks again, now that the program is about to start: the command
// may have waited for the place, or for a person, and the manifest may say
// something else by now.
func (x *execution) stillAllowed() error {
	allow := x.turn.session.refresh()
	if allow.Version == x.allowed {
		return nil
	}
	inv, err := allow.Registry.Parse(x.inv.Words, x.options)
	if err != nil {
		return err
	}
	if !sameRun(inv, x.inv) {
		return fmt.Errorf("%s would run something else now than when it was asked for. Type it again to see what", code(x.inv.Line))
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
	if t.stopReason() != host.StopNone {
		return errStopped
	}
	run, err := t.session.host.Start(t.context(), x.inv, host.StartOptions{
		Name: x.id, Color: t.terminal || x.inv.TTY, Output: x.shaper.Write,
	})
	if err != nil {
		return err
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.program, x.program = run, run
	for _, why := range t.stops {
		run.Stop(why)
	}
	return nil
}

// crash ends the tool call, and the program, after a panic in mid-run: what is
// open on the wire is closed, and nothing more of the program is shown.
func (x *execution) crash() {
	x.turn.mu.Lock()
	if x.turn.program != nil {
		x.turn.program.Stop(host.StopFault)
		x.turn.program = nil
	}
	x.turn.mu.Unlock()
	if x.shaper != nil {
		x.shaper.Abandon()
		x.shaper.Wait()
		for _, piece := range x.shaper.Finish() {
			x.show(piece)
		}
	}
	x.fail("this agent failed")
}

// newShaper prepares the way of the output to the client. What is shown waits
// for the client to read, but not beyond the end of the turn or of the
// program's time.
func (x *execution) newShaper() {
	t := x.turn
	t.session.mu.Lock()
	output := t.session.output
	t.session.mu.Unlock()
	ctx := t.context()
	x.stopShow = func() {}
	if x.inv.Timeout > 0 {
		ctx, x.stopShow = context.WithTimeout(t.context(), x.inv.Timeout)
	}
	cfg := shaperConfig{
		Plain: output == outputPlain, Full: output == outputFull, Quiet: output == outputQuiet,
		LogPath: x.logPath,
		Emit:    func(text string) error { return t.stream(ctx, x.outputEvent(text), x.outputUpdate(text)) },
	}
	if t.terminal {
		cfg.Mode = shapeTerminal
	}
	x.shaper = newShaper(cfg)
}

func (x *execution) logPath() string { return x.program.Log() }

// conclude tells how the program ended: the rest of its output, the tool call,
// and one closing line.
func (x *execution) conclude(res host.Result) end {
	t := x.turn
	// Nothing holds Finish up: where the turn was stopped, what waits for the
	// client has given up, and what a reading client was shown can be completed.
	rest := x.shaper.Finish()
	stats := x.shaper.Stats()
	for _, piece := range rest {
		x.show(piece)
	}
	t.said = t.said || (!t.terminal && stats.Shown > 0)

	e := x.titled(end{reason: acp.StopEndTurn, state: x.state(res), ran: true, took: res.Duration})
	if res.ExitCode >= 0 { // else it was not seen to end
		e.meta.ExitCode = &res.ExitCode
	}
	if e.state == stateCancelled || e.state == stateInterrupted {
		e.reason = acp.StopCancelled
	}
	u := acp.ToolCallUpdate{ToolCallID: x.id, Status: acp.ToolFailed, RawOutput: rawOutput{
		ExitCode: res.ExitCode, Signal: res.Signal, DurationMS: res.Duration.Milliseconds(),
		Bytes: stats.Bytes, Truncated: stats.Truncated, Log: x.program.Log(), LogLacks: logLacks(stats, res),
	}}
	if e.state == stateCompleted {
		u.Status = acp.ToolCompleted
	}
	if t.terminal {
		var exit any = res.ExitCode
		if res.Signal != "" {
			exit = nil
		}
		u.Meta = terminalExit(x.id, exit, res.Signal)
	} else if tail := x.shaper.Tail(tailLines); tail != "" {
		u.Content = []acp.ToolCallContent{acp.ToolText(fenced(tail))}
	}
	t.setCall(nil)
	x.keepResult(u, &res.ExitCode, res.Signal)
	t.session.notify(t.tail, u)
	t.close(x.closing(e, res, stats))
	return e
}

// logLacks says why the log is short, where there was output to keep.
func logLacks(stats shapeStats, res host.Result) string {
	if stats.Bytes == 0 {
		return ""
	}
	return res.LogLacks
}

// state judges the end of the program. The reason for which the turn was
// stopped was recorded when it happened and is not inferred.
func (x *execution) state(res host.Result) string {
	switch x.turn.stopReason() {
	case host.StopCancelled:
		return stateCancelled
	case host.StopLeaving:
		return stateInterrupted
	}
	if res.Stopped == host.StopNone && res.Err == nil && slices.Contains(x.inv.Success, res.ExitCode) {
		return stateCompleted
	}
	return stateFailed
}

package agent

import (
	"context"
	"fmt"
	"slices"

	"github.com/google/uuid"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent/view/shape"
	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/internal/brief"
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
	return &execution{
		toolCall: toolCall{turn: t, id: "call_" + newID(), title: title(inv), line: inv.Line, cwd: inv.Dir},
		reading:  t.reading(inv),
	}
}

// execution is one program as the client sees it.
type execution struct {
	toolCall
	reading
	program host.Run
}

// reading is a command, with the version of the allow-list that it was read from
// and how.
type reading struct {
	inv     *command.Invocation
	version int
	options command.ParseOptions
}

func (t *turn) reading(inv *command.Invocation) reading {
	t.session.mu.Lock()
	version := t.session.allow.Version
	t.session.mu.Unlock()
	return reading{inv, version, t.parseOptions()}
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
	return brief.Runes(protectedMark(inv)+visible(inv.Line), titleRunes)
}

func protectedMark(inv *command.Invocation) string {
	if !inv.Protected {
		return ""
	}
	return "[" + inv.Environment + "] "
}

func (x *execution) titled(e end) end { return e.of(x.inv) }

// of is the end of a turn that ran, or was to run, inv.
func (e end) of(inv *command.Invocation) end {
	e.line, e.title = inv.Line, title(inv)
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
	if err := x.stillAllowed(t); err != nil {
		x.fail(err.Error())
		return x.titled(t.refuse(err))
	}
	if x.inv.Notice != "" {
		t.say(x.inv.Notice + "\n\n")
	}
	if x.announced { // it was asked for
		x.goesOn(acp.ToolInProgress)
	} else {
		x.announce(acp.ToolInProgress, x.rawInput(), "")
	}
	x.showWhileItRuns()
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
	t.ran()
	return x.conclude(res)
}

// stillAllowed looks again, now that the program is about to start: the command
// may have waited for the place, or for a person, and the manifest may say
// something else by now.
func (a reading) stillAllowed(t *turn) error {
	allow := t.session.refresh()
	if allow.Version == a.version {
		return nil
	}
	inv, err := allow.Registry.Parse(a.inv.Words, a.options)
	if err != nil {
		return err
	}
	if !sameRun(inv, a.inv) {
		return fmt.Errorf("%s would run something else now than when it was asked for. Type it again to see what", code(a.inv.Line))
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
	x.program, x.started = run, true
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
	x.newShaper(ctx, x.logPath)
}

func (x *execution) logPath() string { return x.program.Log() }

// conclude tells how the program ended: the rest of its output, the tool call,
// and one closing line.
func (x *execution) conclude(res host.Result) end {
	t := x.turn
	stats := x.endOutput()

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
	x.end(u, &res.ExitCode, res.Signal)
	t.close(x.closing(e, res, stats))
	return e
}

// logLacks says why the log is short, where there was output to keep.
func logLacks(stats shape.Stats, res host.Result) string {
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

// rawInput is what will run, bounded as a whole.
func (x *execution) rawInput() any {
	argv, room := []string{}, fieldBytes
	for i, a := range x.inv.Argv {
		if room <= 0 {
			argv = append(argv, fmt.Sprintf("… and %d more", len(x.inv.Argv)-i))
			break
		}
		a = cutBytes(a, room+len("…"))
		argv = append(argv, a)
		room -= jsonLen(a) + len(`"",`)
	}
	return struct {
		Command string   `json:"command"`
		Argv    []string `json:"argv"`
		Cwd     string   `json:"cwd"`
	}{cutBytes(x.inv.Line, fieldBytes), argv, x.inv.Dir}
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

package agent

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

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
	run, err := t.session.host.Start(t.ctx, x.inv, host.StartOptions{
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
	ctx := t.ctx
	x.stopShow = func() {}
	if x.inv.Timeout > 0 {
		ctx, x.stopShow = context.WithTimeout(t.ctx, x.inv.Timeout)
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

// outputUpdate is one piece of output as the client takes it.
func (x *execution) outputUpdate(text string) acp.SessionUpdate {
	if !x.turn.terminal {
		return acp.AgentMessageChunk{Content: acp.Text(text)}
	}
	return terminalOutput(x.id, text)
}

func (x *execution) outputEvent(text string) Event {
	return Event{Kind: EventOutput, CallID: x.id, Text: text, Terminal: x.turn.terminal}
}

// show adds a piece of output to what is sent with the response.
func (x *execution) show(text string) {
	x.turn.keep(x.outputEvent(text))
	x.turn.session.notify(x.turn.tail, x.outputUpdate(text))
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

func terminalExit(id string, code any, signal string) acp.Meta {
	exit := map[string]any{"terminal_id": id, "exit_code": code, "signal": nil}
	if signal != "" {
		exit["signal"] = signal
	}
	return acp.Meta{"terminal_exit": exit}
}

// announce sends the tool call, or its new status.
func (x *execution) announce(status acp.ToolStatus) {
	t := x.turn
	if x.announced {
		t.session.notify(t.tail, acp.ToolCallUpdate{ToolCallID: x.id, Status: status, Content: x.terminalContent()})
		t.flush()
		return
	}
	x.announced = true
	t.setCall(x)
	call := acp.ToolCall{
		ToolCallID: x.id, Title: x.title, ToolKind: acp.ToolExecute, Status: status, RawInput: x.rawInput(),
	}
	call.Meta = x.terminalInfo() // where a client takes it from: not from an update
	call.Content = x.terminalContent()
	if status == acp.ToolPending {
		call.Content = []acp.ToolCallContent{acp.ToolText(x.describe())}
	}
	kept := &CallEvent{Title: call.Title, Status: acp.ToolInProgress, RawInput: rawJSON(call.RawInput), Cwd: x.inv.Dir}
	if status == acp.ToolPending {
		kept.Content = x.describe()
	}
	t.keep(Event{Kind: EventCall, CallID: x.id, Call: kept, Terminal: t.terminal})
	t.session.notify(t.tail, call)
	t.flush()
}

func (x *execution) terminalContent() []acp.ToolCallContent {
	if !x.turn.terminal {
		return nil
	}
	return []acp.ToolCallContent{acp.ToolTerminal(x.id)}
}

func (x *execution) terminalInfo() acp.Meta {
	if !x.turn.terminal {
		return nil
	}
	return terminalInfo(x.id, x.inv.Dir)
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

// fail closes the tool call of a program that never ran, or of which nobody
// knows how it ended, where it was announced.
func (x *execution) fail(why string) {
	if x.turn.setCall(nil) == x {
		u := x.failure(why, x.program != nil)
		x.keepResult(u, nil, "")
		x.turn.session.notify(x.turn.tail, u)
	}
}

// keepResult keeps the last update of the tool call.
func (x *execution) keepResult(u acp.ToolCallUpdate, exitCode *int, signal string) {
	r := &ResultEvent{Status: u.Status, RawOutput: rawJSON(u.RawOutput), ExitCode: exitCode, Signal: signal}
	for _, c := range u.Content {
		if c.Content != nil {
			r.Content = c.Content.Text
		}
	}
	x.turn.keep(Event{Kind: EventResult, CallID: x.id, Result: r})
}

func (x *execution) failure(why string, started bool) acp.ToolCallUpdate {
	u := acp.ToolCallUpdate{ToolCallID: x.id, Status: acp.ToolFailed, RawOutput: map[string]any{"started": started}}
	if x.turn.terminal {
		u.Meta = terminalExit(x.id, nil, "")
	}
	if why != "" && !started {
		u.Content = []acp.ToolCallContent{acp.ToolText(cutBytes(sentence(why), fieldBytes))}
	}
	return u
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

// closing is the one line that says what ended, how, and how long it took,
// because half of the clients show nothing else of a tool call.
func (x *execution) closing(e end, res host.Result, stats shapeStats) string {
	var b strings.Builder
	if x.turn.said {
		b.WriteString("\n")
	}
	if e.state == stateFailed && x.quiet() {
		if tail := x.shaper.Tail(tailLines); tail != "" {
			b.WriteString(fenced(tail) + "\n\n")
		}
	}
	fmt.Fprintf(&b, "%s%s %s.", protectedMark(x.inv), code(cutBytes(x.inv.Line, fieldBytes)), x.verdict(e, res))
	for _, note := range notes(res, stats) {
		b.WriteString(" " + note)
	}
	b.WriteString("\n")
	return b.String()
}

func (x *execution) quiet() bool { return x.shaper.cfg.Quiet }

func (x *execution) verdict(e end, res host.Result) string {
	after := span(res.Duration)
	switch {
	case e.state == stateCompleted && res.ExitCode == 0:
		return "completed in " + after
	case e.state == stateCompleted:
		return fmt.Sprintf("completed with exit code %d in %s", res.ExitCode, after)
	case e.state == stateCancelled && res.Stopped == host.StopNone:
		return fmt.Sprintf("was cancelled, but had ended by itself with exit code %d after %s", res.ExitCode, after)
	case e.state == stateCancelled:
		return "was cancelled after " + after
	case e.state == stateInterrupted:
		return "was interrupted after " + after + ", because the client left"
	case res.Stopped == host.StopTimeout:
		return fmt.Sprintf("failed: it ran longer than its time limit of %s and was ended", limit(x.inv.Timeout))
	case res.Err != nil:
		return fmt.Sprintf("failed after %s: %v", after, res.Err)
	case res.Signal != "":
		return fmt.Sprintf("failed: it was ended by %s after %s", res.Signal, after)
	}
	return fmt.Sprintf("failed with exit code %d after %s", res.ExitCode, after)
}

// limit is a time limit as the manifest writes it, without zero parts.
func limit(d time.Duration) string {
	s := d.String()
	s = strings.TrimSuffix(s, "0s")
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	if s == "" || strings.HasSuffix(d.String(), "s") && !strings.HasSuffix(d.String(), "m0s") {
		return d.String()
	}
	return s
}

// notes are what else a person should know about the end.
func notes(res host.Result, stats shapeStats) []string {
	var out []string
	if res.Killed {
		out = append(out, "It did not end when asked, so it was killed.")
	}
	switch {
	case res.Leftovers == 1:
		out = append(out, "One process that it left behind was ended.")
	case res.Leftovers > 1:
		out = append(out, fmt.Sprintf("%d processes that it left behind were ended.", res.Leftovers))
	}
	if res.HeldOutput {
		out = append(out, "A process that it started in the background goes on, and its output is not shown any more.")
	}
	if res.Handed {
		out = append(out, "It is given the rest of its grace to end.")
	}
	if lacks := logLacks(stats, res); lacks != "" && stats.Truncated {
		out = append(out, sentence(lacks))
	}
	return out
}

// sentenceEnd is s, ended by a full stop.
func sentenceEnd(s string) string {
	if strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}

package agent

import (
	"fmt"

	"github.com/chant-acp/chant-acp/acp"
)

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

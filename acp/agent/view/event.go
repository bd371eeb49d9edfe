package view

import (
	"encoding/json"
	"strconv"
	"time"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/command/problem"
	"github.com/chant-acp/chant-acp/host/subject"
)

// EventKind says what an Event tells and which of its fields count.
type EventKind string

// The kinds of events.
const (
	EventPrompt EventKind = "prompt" // a turn began: Prompt, Client
	EventSay    EventKind = "say"    // the agent said Text
	EventCall   EventKind = "call"   // a tool call was announced: Call
	EventStart  EventKind = "start"  // a pending tool call began: CallID; Text names it where output is text
	EventPlan   EventKind = "plan"   // the plan as it stands: Plan
	EventOutput EventKind = "output" // output was shown: CallID, Text, Terminal
	EventResult EventKind = "result" // the tool call ended: CallID, Result
	EventEnd    EventKind = "end"    // the turn ended: End
	EventCode   EventKind = "code"   // a command waits for a code: Code
	EventUsed   EventKind = "used"   // a code was used or became void: Text is the code
	EventGap    EventKind = "gap"    // what happened before this, and after the event before it, was not kept
)

// Event is one thing that happened in a session, told neutrally: how a client
// is shown it is decided on the way out, at replay as live. Its JSON is the
// format on disk; unknown fields are ignored by older readers.
type Event struct {
	Kind EventKind `json:"kind"`
	Time time.Time `json:"time"`
	Turn string    `json:"turn,omitempty"` // the turn's id, unique for ever

	Prompt   []acp.ContentBlock `json:"prompt,omitempty"`
	Client   string             `json:"client,omitempty"` // clientInfo.name, of a prompt and of an end
	Text     string             `json:"text,omitempty"`
	CallID   string             `json:"callId,omitempty"`
	Terminal bool               `json:"terminal,omitempty"` // of a call and its output: Text has colour and cursor sequences
	Plain    bool               `json:"plain,omitempty"`    // of output: Text is lines as they were printed; of older threads it is markdown
	Call     *CallEvent         `json:"call,omitempty"`
	Result   *ResultEvent       `json:"result,omitempty"`
	End      *EndEvent          `json:"end,omitempty"`
	Code     *CodeEvent         `json:"code,omitempty"`
	Plan     []acp.PlanEntry    `json:"plan,omitempty"`
}

// AppendJSON appends the event's JSON, as encoding/json makes it but for HTML
// escaping: a third of the time that a refusal takes went into finding out anew
// what an event looks like.
func (e *Event) AppendJSON(b []byte) ([]byte, error) {
	b = acp.AppendString(append(b, `{"kind":`...), string(e.Kind))
	b = append(e.Time.AppendFormat(append(b, `,"time":"`...), time.RFC3339Nano), '"')
	b = AppendText(b, "turn", e.Turn)
	var err error
	for i := range e.Prompt {
		if b, err = acp.AppendValue(append(b, listMark(i, `,"prompt":[`)...), e.Prompt[i]); err != nil {
			return b, err
		}
	}
	if len(e.Prompt) > 0 {
		b = append(b, ']')
	}
	b = AppendText(b, "client", e.Client)
	b = AppendText(b, "text", e.Text)
	b = AppendText(b, "callId", e.CallID)
	if e.Terminal {
		b = append(b, `,"terminal":true`...)
	}
	if e.Plain {
		b = append(b, `,"plain":true`...)
	}
	for _, part := range []struct {
		name  string
		value any
		there bool
	}{{"call", e.Call, e.Call != nil}, {"result", e.Result, e.Result != nil}, {"end", e.End, e.End != nil}, {"code", e.Code, e.Code != nil}} {
		if !part.there {
			continue
		}
		b = append(append(append(b, `,"`...), part.name...), `":`...)
		if b, err = acp.AppendValue(b, part.value); err != nil {
			return b, err
		}
	}
	if len(e.Plan) > 0 {
		if b, err = acp.AppendValue(append(b, `,"plan":`...), e.Plan); err != nil {
			return b, err
		}
	}
	return append(b, '}'), nil
}

func listMark(i int, first string) string {
	if i == 0 {
		return first
	}
	return ","
}

// AppendText appends a JSON member, led by a comma, that is left out where value is
// empty.
func AppendText(b []byte, name, value string) []byte {
	if value == "" {
		return b
	}
	b = append(append(append(b, `,"`...), name...), `":`...)
	return acp.AppendString(b, value)
}

// CallEvent is a tool call as it was announced.
type CallEvent struct {
	Title    string          `json:"title"`
	Status   acp.ToolStatus  `json:"status"`
	RawInput json.RawMessage `json:"rawInput,omitempty"`
	Cwd      string          `json:"cwd"`
	Content  string          `json:"content,omitempty"`
	// Line is the command line that the call is of, as it is in the history.
	Line string `json:"line,omitempty"`
	// Locations are the files that the line names.
	Locations []problem.Location `json:"locations,omitempty"`
}

// ResultEvent is how a tool call ended.
type ResultEvent struct {
	Status    acp.ToolStatus  `json:"status"`
	Content   string          `json:"content,omitempty"`
	RawOutput json.RawMessage `json:"rawOutput,omitempty"`
	ExitCode  *int            `json:"exitCode,omitempty"`
	Signal    string          `json:"signal,omitempty"`
	// Locations are the places in files that it printed, where it failed.
	Locations []problem.Location `json:"locations,omitempty"`
}

// EndEvent is how a turn ended.
type EndEvent struct {
	Reason acp.StopReason `json:"reason"`
	State  string         `json:"state"`
	Line   string         `json:"line,omitempty"`
	Ran    bool           `json:"ran,omitempty"`
	Took   time.Duration  `json:"took,omitempty"`
}

// AppendJSON appends the event's part, as Event.AppendJSON does.
func (e *EndEvent) AppendJSON(b []byte) ([]byte, error) {
	b = acp.AppendString(append(b, `{"reason":`...), string(e.Reason))
	b = acp.AppendString(append(b, `,"state":`...), e.State)
	b = AppendText(b, "line", e.Line)
	if e.Ran {
		b = append(b, `,"ran":true`...)
	}
	if e.Took != 0 {
		b = strconv.AppendInt(append(b, `,"took":`...), int64(e.Took), 10)
	}
	return append(b, '}'), nil
}

// States of a turn, as EndEvent.State and _meta.chant.outcome of its response tell
// them.
const (
	StateCompleted   = "completed"
	StateFailed      = "failed"
	StateRefused     = "refused"
	StateCancelled   = "cancelled"
	StateWaiting     = "waiting"
	StateInterrupted = "interrupted"
	// StateUnknown is that of a past turn whose end was not kept.
	StateUnknown = "not kept"
)

// CodeEvent is a command that waits for its code.
type CodeEvent struct {
	Code        string    `json:"code"`
	Words       []string  `json:"words"`
	Environment string    `json:"environment,omitempty"`
	Digest      string    `json:"digest"` // of Subject
	Until       time.Time `json:"until"`
	// Subject is what would run, as it was when the code was given out.
	Subject *subject.Subject `json:"subject,omitempty"`
}

// CommandLine is the command line of a call: in what older versions kept, that of its
// input.
func (c *CallEvent) CommandLine() string {
	if c.Line != "" {
		return c.Line
	}
	var input struct {
		Command string `json:"command"`
	}
	_ = json.Unmarshal(c.RawInput, &input) // "" if it is none
	return input.Command
}

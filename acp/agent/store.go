package agent

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"time"

	"github.com/chant-acp/chant-acp/acp"
)

// Store keeps sessions beyond the process. A nil Store in Options means that
// they end with it. Implementations are safe for concurrent use, by several
// processes too.
type Store interface {
	// Create makes the record of a new session before its id is told to anyone.
	Create(ctx context.Context, s SessionRecord) error
	// Get returns the record of a session. Errors: ErrUnknownSession,
	// ErrUnreadableSession, ErrNewerSession.
	Get(ctx context.Context, id string) (SessionRecord, error)
	// Update changes a record: title, options, cwd.
	Update(ctx context.Context, s SessionRecord) error
	// Lock takes the session for the length of a turn. It waits up to two
	// seconds and then returns a *SessionHeldError. The release is idempotent.
	Lock(ctx context.Context, id string) (release func(), err error)
	// Append adds events in order. durable waits until they are on disk; others
	// are there within a second.
	Append(ctx context.Context, id string, durable bool, events ...Event) error
	// Read calls f for each event from the position on (0: the first; LastTurn) and
	// returns the position after the last, from which a later Read goes on. An event
	// cut short by a crash is not one.
	Read(ctx context.Context, id string, from int64, f func(Event) error) (next int64, err error)
	// List returns a page of sessions, newest first, and the cursor of the next
	// page, "" at the end. cwd "" means all. A bad cursor is ErrBadCursor.
	List(ctx context.Context, cwd, cursor string) ([]SessionRecord, string, error)
	// Delete removes a session; one that is not there is no error.
	Delete(ctx context.Context, id string) error
}

// LastTurn is the position of the last prompt for a Read, or of what is kept of
// its turn where that is very long.
const LastTurn int64 = -1

// What a Store's errors mean to the agent.
var (
	ErrUnknownSession    = errors.New("no such session")
	ErrUnreadableSession = errors.New("the session's record can't be read")
	ErrNewerSession      = errors.New("the session was written by a newer version")
	ErrBadCursor         = errors.New("the cursor is not one of this list")
)

// SessionHeldError says that another process runs a turn of the session.
type SessionHeldError struct{ PID int }

func (e *SessionHeldError) Error() string { return "another process runs a turn of this session" }

// SessionRecord is what is kept of a session beside its events.
type SessionRecord struct {
	ID      string            `json:"id"`
	Cwd     string            `json:"cwd"`
	Title   string            `json:"title,omitempty"`
	Options map[string]string `json:"options,omitempty"`
	Created time.Time         `json:"created"`
	Updated time.Time         `json:"updated"`
}

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
	b = appendText(b, "turn", e.Turn)
	var err error
	for i := range e.Prompt {
		if b, err = acp.AppendValue(append(b, listMark(i, `,"prompt":[`)...), e.Prompt[i]); err != nil {
			return b, err
		}
	}
	if len(e.Prompt) > 0 {
		b = append(b, ']')
	}
	b = appendText(b, "client", e.Client)
	b = appendText(b, "text", e.Text)
	b = appendText(b, "callId", e.CallID)
	if e.Terminal {
		b = append(b, `,"terminal":true`...)
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

// appendText appends a member that is left out where it is empty.
func appendText(b []byte, name, value string) []byte {
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
}

// ResultEvent is how a tool call ended.
type ResultEvent struct {
	Status    acp.ToolStatus  `json:"status"`
	Content   string          `json:"content,omitempty"`
	RawOutput json.RawMessage `json:"rawOutput,omitempty"`
	ExitCode  *int            `json:"exitCode,omitempty"`
	Signal    string          `json:"signal,omitempty"`
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
	b = appendText(b, "line", e.Line)
	if e.Ran {
		b = append(b, `,"ran":true`...)
	}
	if e.Took != 0 {
		b = strconv.AppendInt(append(b, `,"took":`...), int64(e.Took), 10)
	}
	return append(b, '}'), nil
}

// CodeEvent is a command that waits for its code.
type CodeEvent struct {
	Code        string    `json:"code"`
	Words       []string  `json:"words"`
	Environment string    `json:"environment,omitempty"`
	Digest      string    `json:"digest"`
	Until       time.Time `json:"until"`
}

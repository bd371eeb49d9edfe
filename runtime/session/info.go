package session

import (
	"time"

	"github.com/chant-acp/chant-acp/acp"
)

// Kind says what a session is.
type Kind string

// The kinds of sessions.
const (
	KindAgent    Kind = "agent"
	KindTerminal Kind = "terminal"
	KindProcess  Kind = "process"
	KindCall     Kind = "call" // a command line that runs in this process, for an MCP client
)

// State says how far a session is.
type State string

// The states of a session; it only moves forward.
const (
	StateStarting State = "starting" // an agent that has not answered yet
	StateRunning  State = "running"
	StateEnded    State = "ended"
)

// What the turn of an agent's session does.
const (
	TurnIdle    = "idle"
	TurnRunning = "running"
	TurnWaiting = "waiting" // for the answer to a permission request
)

// Info describes a session at one moment.
type Info struct {
	ID      string   `json:"id"`
	Name    string   `json:"name,omitempty"`
	Kind    Kind     `json:"kind"`
	State   State    `json:"state"`
	Adapter string   `json:"adapter,omitempty"`
	Argv    []string `json:"argv,omitempty"`
	Cwd     string   `json:"cwd,omitempty"`
	PID     int      `json:"pid,omitempty"`

	Started time.Time `json:"started"`
	// Ended is zero while it runs. Of a session that a crash ended, it is when that was found out.
	Ended time.Time `json:"ended,omitzero"`
	// ExitCode is nil while it runs, and when the end was not seen. 128+n when signal n ended it.
	ExitCode *int `json:"exitCode,omitempty"`
	// Signal is the name of the signal that ended it ("SIGKILL"), or empty.
	Signal string `json:"signal,omitempty"`
	// Reason says in a sentence why it ended, where it did not just exit.
	Reason string `json:"reason,omitempty"`

	// Cols and Rows are the size of a terminal now.
	Cols     int `json:"cols,omitempty"`
	Rows     int `json:"rows,omitempty"`
	Watchers int `json:"watchers,omitempty"`

	// MCP says that MCP clients may use it.
	MCP bool `json:"mcp,omitempty"`
	// AgentSession is the session's id inside the agent.
	AgentSession string `json:"agentSession,omitempty"`
	// AgentName and AgentVersion are what the agent calls itself.
	AgentName    string `json:"agentName,omitempty"`
	AgentVersion string `json:"agentVersion,omitempty"`
	// Turn is TurnIdle, TurnRunning or TurnWaiting, for an agent that runs.
	Turn string `json:"turn,omitempty"`
}

// Types of an Event.
const (
	EventStarted       = "session.started"
	EventEnded         = "session.ended"
	EventRenamed       = "session.renamed"
	EventForgotten     = "session.forgotten"
	EventTurnStarted   = "turn.started"   // Data: TurnStarted
	EventTurnEnded     = "turn.ended"     // Data: TurnEnded
	EventStep          = "step"           // Data: Step
	EventGate          = "gate"           // Data: Gate
	EventRequestOpened = "request.opened" // Data: PermissionRequest
	EventRequestClosed = "request.closed" // Data: RequestClosed
)

// EventKinds lists the types of an Event.
func EventKinds() []string {
	return []string{
		EventStarted, EventEnded, EventRenamed, EventForgotten, EventTurnStarted, EventTurnEnded, EventStep, EventGate,
		EventRequestOpened, EventRequestClosed,
	}
}

// Event is something that happened to a session. Session is what it was right after.
type Event struct {
	Type    string `json:"type"`
	Session Info   `json:"session"`
	Data    any    `json:"data,omitempty"`
}

// TurnStarted is the Data of EventTurnStarted. Text is cut to 200 bytes.
type TurnStarted struct {
	Turn int    `json:"turn"` // from 1
	Text string `json:"text"`
}

// TurnEnded is the Data of EventTurnEnded. Error is set where the agent answered with an error, or
// ended.
type TurnEnded struct {
	Turn       int            `json:"turn"`
	StopReason acp.StopReason `json:"stopReason,omitempty"`
	Error      string         `json:"error,omitempty"`
	Meta       acp.Meta       `json:"meta,omitempty"`
}

// Step is the Data of EventStep: a tool call that began or changed its status, or an entry of the
// agent's plan that did.
type Step struct {
	Turn   int    `json:"turn"`
	ID     string `json:"id"`     // of the tool call, or plan/<n> from 0
	Kind   string `json:"kind"`   // "tool" or "plan"
	Title  string `json:"title"`  // cut to 200 bytes
	Status string `json:"status"` // pending, in_progress, completed, failed
}

// Gate is the Data of EventGate: a turn ended and what it began waits for a person, as chant-acp
// says in _meta.chant of its answer. A gate that is asked as a permission request is an
// EventRequestOpened.
type Gate struct {
	Turn  int    `json:"turn"`
	RunID string `json:"runId,omitempty"`
	Gate  string `json:"gate,omitempty"`
	// Confirm is the code that a "confirm CODE" takes, where the agent gave one.
	Confirm string `json:"confirm,omitempty"`
}

// PermissionRequest is a question of an agent that waits for [Session.Answer].
type PermissionRequest struct {
	ID       string                 `json:"id"`
	Turn     int                    `json:"turn"`
	ToolCall acp.ToolCallUpdate     `json:"toolCall"`
	Options  []acp.PermissionOption `json:"options"`
	Since    time.Time              `json:"since"`
	Meta     acp.Meta               `json:"meta,omitempty"`
}

// RequestClosed is the Data of EventRequestClosed. OptionID is empty where the request was
// cancelled.
type RequestClosed struct {
	ID       string `json:"id"`
	OptionID string `json:"optionId,omitempty"`
}

// Turn is how a prompt was answered.
type Turn struct {
	StopReason acp.StopReason `json:"stopReason"`
	// Text is what the agent said, at most [TextLimit] bytes of it; Cut tells that there was more.
	Text string   `json:"text"`
	Cut  bool     `json:"cut,omitempty"`
	Meta acp.Meta `json:"meta,omitempty"`
}

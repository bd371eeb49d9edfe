package agent

import (
	"context"
	"errors"
	"time"

	"github.com/chant-acp/chant-acp/acp/agent/view"
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
	// Read calls f for each event from the position on (0: the first; LastTurn;
	// RecentTurns), or for those of the kinds alone, where there are some: the others
	// cost little. It returns the position after the last, from which a later Read goes
	// on. An event cut short by a crash is not one.
	Read(ctx context.Context, id string, from int64, f func(Event) error, kinds ...EventKind) (next int64, err error)
	// List returns a page of sessions, newest first, and the cursor of the next
	// page, "" at the end. cwd "" means all. A bad cursor is ErrBadCursor.
	List(ctx context.Context, cwd, cursor string) ([]SessionRecord, string, error)
	// Delete removes a session; one that is not there is no error.
	Delete(ctx context.Context, id string) error
}

// LastTurn is the position of the last prompt for a Read, or of what is kept of
// its turn where that is very long.
const LastTurn int64 = -1

// RecentTurns is the position for a Read of the first prompt among the last MaxRecent
// bytes of a thread as it is kept, and of the first event where there is none.
const RecentTurns int64 = -2

// MaxRecent is as many bytes as the text that is replayed takes, and once more, for
// what is kept beside it.
const MaxRecent = 2 * view.MaxReplay

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
	Typed   bool              `json:"typed,omitempty"` // Title is a line that was typed, and nothing ran yet
	Options map[string]string `json:"options,omitempty"`
	Created time.Time         `json:"created"`
	Updated time.Time         `json:"updated"`
}

// What a Store keeps; the view shows it, live and later.
type (
	Event       = view.Event
	EventKind   = view.EventKind
	CallEvent   = view.CallEvent
	ResultEvent = view.ResultEvent
	EndEvent    = view.EndEvent
	CodeEvent   = view.CodeEvent
)

// The kinds of events.
const (
	EventPrompt = view.EventPrompt
	EventSay    = view.EventSay
	EventCall   = view.EventCall
	EventStart  = view.EventStart
	EventPlan   = view.EventPlan
	EventOutput = view.EventOutput
	EventResult = view.EventResult
	EventEnd    = view.EventEnd
	EventCode   = view.EventCode
	EventUsed   = view.EventUsed
	EventGap    = view.EventGap
)

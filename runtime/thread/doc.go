// Package thread keeps sessions on disk: what was asked, what was said, what
// ran and how it ended. It implements agent.Store.
//
// Below <state root>/sessions:
//
//	<id>.jsonl            the thread: a header line, then one event a line
//	.records/<id>.json    the session's record: folder, title, options; there from
//	                      their first change on
//	.folders/<key>/<id>   empty; says that the session <id> belongs to the folder
//	.locks/<id>           held (flock) while a turn runs; holds the holder's pid
//
// Only the thread counts: without its file there is no session, and its header
// holds the record as it was made, so that a record that a crash took is not
// the session's end. The rest makes listing cheap. The newest sessions are found
// by the modification times of the threads, which are the times of their last
// changes, and only the records of one page are read. Nothing that has to stay
// consistent is shared by sessions, so processes meet only at one session's
// files, and nothing has to be compacted.
//
// Ids become file names and never start with a dot, so they can't meet the
// folders beside them.
//
// Begin at [New]; log.go appends to a thread, read.go reads one, list.go finds them all.
package thread

import (
	"errors"

	"github.com/chant-acp/chant-acp/acp/agent"
)

// What a thread is made of, for those who read threads and need nothing else of
// the agent.
type (
	Record = agent.SessionRecord
	Event  = agent.Event
)

// The kinds of events.
const (
	EventPrompt = agent.EventPrompt
	EventSay    = agent.EventSay
	EventCall   = agent.EventCall
	EventStart  = agent.EventStart
	EventPlan   = agent.EventPlan
	EventOutput = agent.EventOutput
	EventResult = agent.EventResult
	EventEnd    = agent.EventEnd
	EventCode   = agent.EventCode
	EventUsed   = agent.EventUsed
	EventGap    = agent.EventGap
)

// Limits of what is kept.
const (
	// MaxEvent bounds an event's line, in bytes.
	MaxEvent = 1 << 20
	// MaxSession bounds the events of one session, in bytes. The last sixteenth
	// is kept for other things than output, so that a full thread still says what
	// ran and how it ended.
	MaxSession = 256 << 20

	maxRecord = 1 << 20 // of a record's file
	maxHeader = 1 << 16 // of a thread's first line
	pageSize  = 50      // sessions in a page of List
)

// Errors of Append beside those of agent.Store. Nothing was written.
var (
	ErrFull     = errors.New("the session's thread is full")
	ErrTooLarge = errors.New("the event is too large to be kept")
)

var (
	errBadID  = errors.New("a session id is made of letters, digits and _ . - and does not start with . or -")
	errClosed = errors.New("the store of sessions is closed")
	errExists = errors.New("there is a session with this id already")
)

// validID is ^[A-Za-z0-9_][A-Za-z0-9_.-]*$, short enough for a file name with
// room for what is added to it.
func validID(id string) bool {
	if id == "" || len(id) > 200 || id[0] == '.' || id[0] == '-' {
		return false
	}
	for i := 0; i < len(id); i++ {
		switch c := id[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '.', c == '-':
		default:
			return false
		}
	}
	return true
}

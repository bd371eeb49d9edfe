// Package turn is what an agent does with a prompt: the line is read, confirmed
// where that is asked for, waits for the run slot, runs, and is answered. Prompts
// go in by New, events come out to a view and to a Log; programs and runs of Ops
// are the host's.
//
// A Turn is its flow (turn.go) with a recorder, which is the one list of what
// happens, and a stopper. A Thread is what the turns of one session share, a Conn
// what those of one connection do, a Slot what those of the process do.
//
// Begin at Turn.Begin and Turn.Run.
package turn

import (
	"context"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/google/uuid"
	"github.com/rs/zerolog"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent/view"
)

// Origin says who is behind the turns of a connection.
type Origin int

// The origins. Only at a client there is a person who can approve and confirm.
const (
	OriginClient Origin = iota
	OriginMCP
	OriginHeartbeat
	// OriginProgram is a connection of a program that an agent runs: a step that
	// types lines is not the person who let it run.
	OriginProgram
)

// Options are those of an agent that its turns go by. The zero value of each is
// its default.
type Options struct {
	// Confirm overrides how commands with `confirm: ask` are asked for: "ask"
	// through the client, "retype" by a typed line, "auto" or "" by what is
	// known of the client.
	Confirm string
	// Allowed keeps what a person has allowed projects to run; nil: what they offer
	// runs without.
	Allowed Allowed
	// AllowNamed says that a person typed each line for this very command, which
	// allows it.
	AllowNamed bool
	// Gates says how a gate of an Op asks: "reply" by lines to type, "ask" through
	// the client while the turn is open, "durable" through the client with an answer
	// that comes with a later prompt; "auto" or "" is "ask" where the client is known
	// to put it to a person, and else "reply".
	Gates string
	// Notice is told to each client once, at its first prompt: what the agent does
	// otherwise than its user asked for.
	Notice Notice
	// Refusal overrides the stop reason of a refused prompt: "refusal" or
	// "end_turn"; "auto" or "" by what is known of the client.
	Refusal string
	// Log takes what goes wrong inside.
	Log zerolog.Logger
}

// Notice is something that a client has to be told. The zero value is none.
type Notice struct {
	Text   string // sentences
	Detail string // shown as it is, below them; may be empty
}

// Conn is what the turns of one connection share.
type Conn struct {
	acp.AgentConn
	Options Options
	Slot    *Slot
	Origin  Origin
	// Client is set on the reading goroutine, which makes turns too.
	Client view.Client
	// Background runs f beside the reading goroutine; who leaves waits for it.
	Background func(f func())

	noticed  atomic.Bool // the client was told Options.Notice
	count    uint64      // turns so far, of the reading goroutine
	instance func() string
}

// NewConn makes the Conn of a connection that is about to start.
func NewConn(o Options, slot *Slot, origin Origin, background func(func())) *Conn {
	return &Conn{Options: o, Slot: slot, Origin: origin, Background: background, instance: sync.OnceValue(newID)}
}

// noPerson says why no person is behind the turns of the connection, "" where one
// may be.
func (c *Conn) noPerson() string {
	switch c.Origin {
	case OriginMCP:
		return "this turn came over MCP"
	case OriginHeartbeat:
		return "this turn was started by HEARTBEAT.md"
	case OriginProgram:
		return "this turn was started by a program that chant-acp runs"
	}
	return ""
}

// nextID is the id of the connection's next turn, unique for ever.
func (c *Conn) nextID() string {
	c.count++
	return c.instance() + "." + strconv.FormatUint(c.count, 10)
}

func newID() string {
	id, err := uuid.NewV7()
	if err != nil { // no randomness: the system is broken, and so would be any other id
		panic(err)
	}
	return id.String()
}

// Log keeps what happens in a thread beyond the process, as far as it can: that
// something is not kept ends no turn. Its methods may be called from any goroutine.
type Log interface {
	// Write appends events. The error is for who has to know at once.
	Write(events []view.Event) error
	// Lock takes the thread for one turn, of all processes, and returns what gives it
	// up; nil where there can be no lock and the turn runs without. The error is that
	// the turn may not run.
	Lock(ctx context.Context) (release func(), err error)
	// Follow calls f for the events of the kinds that were appended since the last
	// call, by whomever.
	Follow(ctx context.Context, f func(view.Event), kinds ...view.EventKind)
	// Named keeps that the thread got its title.
	Named()
	// Warning is what the client has to be told of how the thread is kept, "" for
	// nothing. Each is told once.
	Warning() string
	// Observed says whether somebody wants to know of a turn that begins now.
	Observed() bool
	// Ended takes the events of an observed turn that ended; Deliver passes them on, in
	// the order of the turns, and may wait.
	Ended(turn []view.Event)
	Deliver()
}

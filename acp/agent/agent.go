// Package agent is an ACP agent without a model: each prompt is one command
// line of an allow-list, run to its end and told as the updates of one turn.
//
// An Agent serves connections (agent.go, dispatch.go). A connection has sessions,
// which a Store may keep (store.go, kept.go, load.go). What becomes of a prompt is
// the package turn's, what a client is shown of it the package view's.
//
// Begin at [Agent.Serve]: messages come in through a Transport, and updates and answers go out
// through it.
package agent

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent/turn"
	"github.com/chant-acp/chant-acp/acp/agent/view"
	"github.com/chant-acp/chant-acp/host"
)

// leaveBudget is how long leaving may take, whatever happens. Clients send
// SIGKILL 1.5 s after they closed the input. The turns may use turnsBudget of
// it: a host ends its programs in 1.2 s.
const (
	leaveBudget = 1400 * time.Millisecond
	turnsBudget = 1300 * time.Millisecond
)

// Origin says who is behind the turns of a connection.
type Origin = turn.Origin

// The origins; see turn.Origin.
const (
	OriginClient    = turn.OriginClient
	OriginMCP       = turn.OriginMCP
	OriginHeartbeat = turn.OriginHeartbeat
	OriginProgram   = turn.OriginProgram
)

// Options configure an Agent. The zero value of each is its default.
type Options struct {
	// Version is told to clients.
	Version string
	// Store keeps sessions beyond the process; nil: they end with it.
	Store Store
	// TurnEnded, where set, is called after each turn of a kept session with the
	// turn's events, once it is answered. Leaving waits for it.
	TurnEnded func(s SessionRecord, turn []Event)
	// SessionEnded, where set, is called when a client closes or deletes a kept
	// session, after TurnEnded for its last turn. It may go on later all the same.
	SessionEnded func(s SessionRecord)
	// TurnsWanted says whether TurnEnded wants to hear of a turn in a directory;
	// nil: of all. It is asked at the beginning of each and must be quick.
	TurnsWanted func(cwd string) bool
	// Open makes the host of a session in cwd, an absolute path of a directory
	// that exists. Required.
	Open func(cwd string) host.Host
	// Log takes what goes wrong inside.
	Log zerolog.Logger
	// ExitIdle, where positive, makes Serve return when, after a cancel, no turn
	// runs and nothing arrives for that long.
	ExitIdle time.Duration
	// Output is the initial value of the session option "output".
	Output string
	// Confirm overrides how commands with `confirm: ask` are asked for: "ask"
	// through the client, "retype" by a typed line, "auto" or "" by what is
	// known of the client.
	Confirm string
	// Allowed keeps what a person has allowed projects to run; nil: what they offer
	// runs without.
	Allowed turn.Allowed
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
}

// PromptClient is the clientInfo.name of this project's own command line.
const PromptClient = view.PromptClient

// Notice is something that a client has to be told.
type Notice = turn.Notice

// Agent serves any number of connections. Make one with New.
type Agent struct {
	o    Options
	slot turn.Slot

	mu    sync.Mutex
	hosts map[string]host.Host // by directory: what was read of a project serves all its sessions
}

// New makes an Agent.
func New(o Options) *Agent { return &Agent{o: o, hosts: map[string]host.Host{}} }

// host returns the host of a directory.
func (a *Agent) host(dir string) host.Host {
	a.mu.Lock()
	defer a.mu.Unlock()
	h := a.hosts[dir]
	if h == nil {
		h = a.o.Open(dir)
		a.hosts[dir] = h
	}
	return h
}

// Serve speaks with one client until its input ends, a write fails or ctx ends,
// and then leaves: open turns are ended, their programs too, and what was
// asked is answered as far as the client takes it, within 1.4 s. The error is
// that of the connection; nil at the end of the input or of ctx.
func (a *Agent) Serve(ctx context.Context, t acp.Transport) error {
	return a.ServeAs(ctx, t, OriginClient)
}

// ServeAs is Serve for turns of another origin.
func (a *Agent) ServeAs(ctx context.Context, t acp.Transport, origin Origin) error {
	c := newConn(a, origin)
	c.AgentConn = acp.AgentConn{Peer: acp.NewPeer(t, c, a.o.Log)}
	c.Start()
	select {
	case <-c.Done():
	case <-ctx.Done():
	case <-c.idle.over:
	}
	return c.leave()
}

// conn is one connection. It is the acp.Handler of its Peer: all its Handle
// methods run on the reading goroutine.
type conn struct {
	*turn.Conn
	agent *Agent
	turns sync.WaitGroup
	idle  idle

	initialized bool // of the reading goroutine alone

	mu       sync.Mutex
	leaving  bool
	sessions map[string]*session
	open     map[*turn.Turn]bool // also of sessions that were closed
}

func newConn(a *Agent, origin Origin) *conn {
	c := &conn{agent: a, sessions: map[string]*session{}, open: map[*turn.Turn]bool{}, idle: newIdle(a.o.ExitIdle)}
	c.Conn = turn.NewConn(turn.Options{
		Confirm: a.o.Confirm, Gates: a.o.Gates, Notice: a.o.Notice, Refusal: a.o.Refusal, Log: a.o.Log,
		Allowed: a.o.Allowed, AllowNamed: a.o.AllowNamed,
	}, &a.slot, origin, c.background)
	return c
}

// leave ends the connection in order: no new turns, the open ones ended, what
// was said written, all within leaveBudget.
func (c *conn) leave() error {
	ctx, cancel := context.WithTimeout(context.Background(), leaveBudget)
	defer cancel()
	c.mu.Lock()
	c.leaving = true
	turn.StopAll(slices.Collect(maps.Keys(c.open)), host.StopLeaving)
	c.mu.Unlock()
	c.idle.stop()
	ended := make(chan struct{})
	go func() { // ends with the turns; only a host that breaks its word outlives leave
		c.turns.Wait()
		close(ended)
	}()
	late := time.NewTimer(turnsBudget)
	defer late.Stop()
	var delivered <-chan struct{}
	select {
	case <-ended:
	case <-late.C:
		delivered = c.giveUp()
	}
	_ = c.Drain(ctx) // a client that does not read misses the rest
	if delivered != nil {
		select {
		case <-delivered:
		case <-ctx.Done():
		}
	}
	err := c.Err()
	_ = c.Close() // the connection is over either way
	return err
}

// giveUp answers the turns that have not ended, and passes their events on to
// Options.TurnEnded. That may take a while: delivered is closed when it is done.
func (c *conn) giveUp() (delivered <-chan struct{}) {
	c.mu.Lock()
	open := slices.Collect(maps.Keys(c.open))
	c.mu.Unlock()
	for _, t := range open {
		t.GiveUp()
	}
	done := make(chan struct{})
	go func() { // ends with TurnEnded; only a slow disk outlives leave
		defer close(done)
		for _, t := range open {
			t.Deliver()
		}
	}()
	return done
}

// idle is the exit after a cancel that nobody follows up on.
type idle struct {
	after time.Duration
	over  chan struct{}

	mu        sync.Mutex
	timer     *time.Timer
	cancelled bool // a cancel came, and no prompt since
	running   int
	stopped   bool
}

func newIdle(after time.Duration) idle {
	return idle{after: after, over: make(chan struct{})}
}

// received notes a message of the client, and whether it cancels or prompts.
func (i *idle) received(cancel, prompt bool) {
	if i.after <= 0 {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.cancelled = (i.cancelled || cancel) && !prompt
	i.arm()
}

// turn notes that a turn began (1) or ended (-1).
func (i *idle) turn(n int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.running += n
	i.arm()
}

// arm starts the silence anew, where it counts at all.
func (i *idle) arm() {
	if i.timer != nil {
		i.timer.Stop()
		i.timer = nil
	}
	if i.after <= 0 || !i.cancelled || i.running > 0 || i.stopped {
		return
	}
	i.timer = time.AfterFunc(i.after, func() {
		i.mu.Lock()
		defer i.mu.Unlock()
		if i.cancelled && i.running == 0 && !i.stopped {
			i.stopped = true
			close(i.over)
		}
	})
}

func (i *idle) stop() {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.stopped = true
	i.arm()
}

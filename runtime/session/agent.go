package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/host/process"
	"github.com/chant-acp/chant-acp/internal/brief"
)

const (
	// maxRequests is how many permission requests of an agent may be open; those beyond are
	// cancelled at once.
	maxRequests = 64
	// cancelWait bounds the writing of a cancel to an agent that does not read.
	cancelWait = 5 * time.Second
	// eventText is how much of a text an event shows, in bytes.
	eventText = 200
)

// agentSide is the client of one agent. What it knows is under the session's lock.
type agentSide struct {
	session *Session
	conn    *acp.ClientConn
	stdout  *agentOutput
	stderr  *stderrTail
	stdin   *process.Input
	ctx     context.Context // ends with the session
	cancel  context.CancelFunc
	work    sync.WaitGroup // turns, and the watch of the connection
	exited  chan struct{}  // closed when exit is known
	exit    process.Exit

	id       string // of the session in the agent
	turn     *turn  // nil: idle
	turns    int
	requests []*request
	asked    int
	leaving  bool
}

// turn is one that runs.
type turn struct {
	number    int
	text      bytes.Buffer
	cut       bool
	cancelled bool
	steps     map[string]Step
	done      chan struct{} // closed when result and err are final
	result    Turn
	err       error
}

// request is a permission request that waits.
type request struct {
	PermissionRequest
	turn   *turn
	answer chan string // gets the option once; "" for cancelled
}

// Prompt runs a turn and returns when it has ended. When ctx ends first the turn is cancelled, and
// Prompt returns the cause of ctx without waiting for the agent. The other errors are those of
// Begin, and what the agent answered.
func (s *Session) Prompt(ctx context.Context, text string, meta acp.Meta) (Turn, error) {
	b, err := s.Begin(text, meta)
	if err != nil {
		return Turn{}, err
	}
	select {
	case <-b.Done():
		return b.Result()
	case <-ctx.Done():
		return Turn{}, withError(context.Cause(ctx), s.Cancel())
	}
}

// Begin starts a turn, which the session's Info shows from now on. It ends with Cancel, or with the
// session, at the latest. meta is the _meta of session/prompt. The error is ErrBusy, ErrStarting,
// ErrEnded or ErrWrongKind.
func (s *Session) Begin(text string, meta acp.Meta) (*Begun, error) {
	a := s.agent
	if a == nil {
		return nil, s.notAnAgent()
	}
	t, err := a.begin(text)
	if err != nil {
		return nil, err
	}
	go a.run(t, text, meta) // counted by begin; close waits for it
	return &Begun{t}, nil
}

// Begun is a turn that was started.
type Begun struct{ turn *turn }

// Done is closed when the turn has ended.
func (b *Begun) Done() <-chan struct{} { return b.turn.done }

// Result is how it ended, once Done is closed. The error is ErrEnded, or what the agent answered.
func (b *Begun) Result() (Turn, error) { return b.turn.result, b.turn.err }

func (s *Session) notAnAgent() error {
	if s.kind == KindAgent {
		return ErrEnded // before a restart
	}
	return ErrWrongKind
}

// withError adds an error that came on top.
func withError(err, more error) error {
	if more != nil {
		return fmt.Errorf("%w; and the turn could not be cancelled: %w", err, more)
	}
	return err
}

// begin opens a turn.
func (a *agentSide) begin(text string) (t *turn, err error) {
	a.session.change(func(i *Info) []notice {
		switch {
		case i.State == StateEnded || a.leaving:
			err = ErrEnded
		case i.State == StateStarting:
			err = ErrStarting
		case a.turn != nil:
			err = ErrBusy
		}
		if err != nil {
			return nil
		}
		a.work.Add(1)
		a.turns++
		t = &turn{number: a.turns, steps: make(map[string]Step), done: make(chan struct{})}
		a.turn = t
		a.show(i)
		return []notice{{EventTurnStarted, TurnStarted{Turn: t.number, Text: brief.Bytes(text, eventText)}}}
	})
	return t, err
}

// run sends a prompt and waits for its answer.
func (a *agentSide) run(t *turn, text string, meta acp.Meta) {
	defer a.work.Done()
	var answer struct { // only what is needed is decoded: agents add fields of their own types
		StopReason acp.StopReason `json:"stopReason"`
		Meta       acp.Meta       `json:"_meta"`
	}
	err := a.call(a.ctx, acp.MethodSessionPrompt, acp.PromptRequest{SessionID: a.id, Prompt: []acp.ContentBlock{acp.Text(text)}, Meta: meta}, &answer)
	if said := a.stderr.String(); errors.Is(err, ErrEnded) && said != "" {
		err = fmt.Errorf("%w; on standard error it printed: %s", err, said)
	}
	a.endLine(t)
	a.session.change(func(i *Info) []notice {
		notices := a.closeRequests(func(r *request) bool { return r.turn == t })
		a.turn = nil
		a.show(i)
		t.err = err
		t.result = Turn{StopReason: answer.StopReason, Text: strings.ToValidUTF8(t.text.String(), ""), Cut: t.cut, Meta: answer.Meta}
		if gate, waits := gateIn(t.number, answer.Meta); waits {
			notices = append(notices, notice{EventGate, gate})
		}
		end := TurnEnded{Turn: t.number, StopReason: answer.StopReason, Meta: answer.Meta}
		if err != nil {
			end.Error = err.Error()
		}
		return append(notices, notice{EventTurnEnded, end})
	})
	close(t.done)
}

// gateIn finds in the answer of a chant agent what its turn waits for.
func gateIn(turn int, meta acp.Meta) (Gate, bool) {
	chant, _ := meta["chant"].(map[string]any)
	if chant["outcome"] != "waiting" {
		return Gate{}, false
	}
	g := Gate{Turn: turn}
	g.RunID, _ = chant["runId"].(string)
	g.Gate, _ = chant["gate"].(string)
	g.Confirm, _ = chant["confirm"].(string)
	return g, true
}

// call asks the agent. The error says what the agent did, or is the cause of ctx. Where the
// connection has ended, it waits for the agent's end.
func (a *agentSide) call(ctx context.Context, method string, params, result any) error {
	encoded, err := acp.AppendValue(nil, params)
	if err != nil {
		return fmt.Errorf("%s can't be sent: %w", method, err)
	}
	var raw json.RawMessage
	err = a.conn.Call(ctx, method, json.RawMessage(encoded), &raw)
	var answered *acp.Error
	switch {
	case errors.As(err, &answered):
		if details, ok := answered.Data["details"].(string); ok && details != answered.Message {
			return fmt.Errorf("the agent answered %s with an error: %w: %s", method, err, details)
		}
		return fmt.Errorf("the agent answered %s with an error: %w", method, err)
	case err != nil && ctx.Err() != nil && a.ctx.Err() == nil:
		return context.Cause(ctx)
	case err != nil:
		<-a.exited
		return a.ended(method)
	}
	if err := json.Unmarshal(raw, result); err != nil {
		return fmt.Errorf("the agent answered %s with what can't be understood: %w", method, err)
	}
	return nil
}

// ended says how the agent ended while it was to answer method.
func (a *agentSide) ended(method string) error {
	how := fmt.Sprintf("the agent ended with exit code %d", a.exit.Code)
	switch {
	case a.exit.Cause != process.Finished:
		how = a.session.reason()
	case a.exit.Signal != "":
		how = "the agent was ended by " + a.exit.Signal
	}
	text := fmt.Sprintf("%s before it answered %s", how, method)
	return &endedError{text}
}

// endedError says how an agent ended; it is ErrEnded.
type endedError struct{ text string }

func (e *endedError) Error() string { return e.text }
func (e *endedError) Unwrap() error { return ErrEnded }

// Cancel asks the agent to end its turn, and cancels the requests that are open. Without a turn it
// does nothing. The error is ErrWrongKind, or that the agent can't be told.
func (s *Session) Cancel() error {
	a := s.agent
	if a == nil {
		return s.notAnAgent()
	}
	running := false
	s.change(func(i *Info) []notice {
		if a.turn == nil {
			return nil
		}
		running, a.turn.cancelled = true, true
		told := a.closeRequests(func(r *request) bool { return r.turn == a.turn })
		a.show(i)
		return told
	})
	if !running {
		return nil
	}
	ctx, cancel := context.WithTimeout(a.ctx, cancelWait)
	defer cancel()
	if err := a.conn.Cancel(ctx, a.id); err != nil && a.ctx.Err() == nil {
		return fmt.Errorf("the agent takes no message: %w; kill the session", err)
	}
	return nil
}

// show brings up to date what the session's Info says of the turn; the caller holds the lock.
func (a *agentSide) show(i *Info) {
	switch {
	case i.State != StateRunning:
		i.Turn = ""
	case len(a.requests) > 0:
		i.Turn = TurnWaiting
	case a.turn != nil:
		i.Turn = TurnRunning
	default:
		i.Turn = TurnIdle
	}
}

// leave begins the end: open requests are cancelled, and the agent finds the end of its input. It
// says false from the second time on.
func (a *agentSide) leave() bool {
	first := false
	a.session.change(func(i *Info) []notice {
		first, a.leaving = !a.leaving, true
		notices := a.closeRequests(func(*request) bool { return true })
		a.show(i)
		return notices
	})
	if first {
		_ = a.stdin.Close()
	}
	return first
}

// close ends the connection of an agent that has ended, and waits for all that is under way.
func (a *agentSide) close(exit process.Exit) {
	a.exit = exit
	close(a.exited)
	a.leave()
	_ = a.conn.Close()
	a.cancel()
	a.work.Wait()
}

// watch ends an agent whose connection ended: it can't be told anything, or won't say anything, any
// more.
func (a *agentSide) watch() {
	<-a.conn.Done()
	limit := time.NewTimer(agentLeave)
	defer limit.Stop()
	select {
	case <-a.exited:
		return
	case <-limit.C:
	}
	why := "it was ended because it had closed its standard output or its input"
	if errors.Is(a.conn.Err(), errNoise) {
		why = "it was ended because it does not speak the protocol"
	}
	a.session.setReason(why)
	a.session.child.Stop(process.Cancelled)
}

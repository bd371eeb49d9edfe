package acptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/acp"
)

// failure and skipped leave a check from wherever it is, as testing's FailNow
// does; suite.attempt turns them into an error. A check is then a sequence of
// sends and expectations, and a test of the suite itself can see it fail.
type (
	failure string
	skipped struct{ reason string }
)

func (s skipped) Error() string { return s.reason }

// probe is one run of one check.
type probe struct {
	*suite
	t       *testing.T
	clients []*client
}

func (p *probe) failf(format string, args ...any) {
	panic(failure(fmt.Sprintf(format, args...)))
}

// needs skips the check where an option is not given.
func (p *probe) needs(option, value string) {
	if value == "" {
		panic(skipped{"Agent." + option + " is not given"})
	}
}

// strictly skips the check unless Agent.Strict is set.
func (p *probe) strictly(rule string) {
	if !p.Strict {
		panic(skipped{"not demanded by the protocol (Agent.Strict): " + rule})
	}
}

// dial starts an agent.
func (p *probe) dial() *client {
	p.t.Helper()
	c := &client{probe: p, Wire: p.Dial(p.t)}
	c.Use(p.schema)
	c.most = p.MaxWrite
	c.ledger.status = p.Strict
	p.clients = append(p.clients, c)
	return c
}

// ready starts an agent and initializes it.
func (p *probe) ready() *client {
	c := p.dial()
	c.result(c.call(methodInitialize, initParams))
	return c
}

// rounds is how often a check of order is repeated.
func (p *probe) rounds(c *client) int {
	switch {
	case p.Rounds > 0:
		return p.Rounds
	case c.Pid() == 0:
		return 200
	}
	return 20
}

// finish ends the agents that the check left running. Whatever they still say
// has to be in order, and must not be something that the check should have
// seen: a second answer, or an answer to what is none.
func (p *probe) finish() {
	for _, c := range p.clients {
		if !c.left {
			c.checkMemory() // while there is a process to look at
			c.leave()
		}
		if p.Strict && c.Stderr() != "" {
			c.failf("the agent wrote to standard error, which clients show: %s", clip([]byte(c.Stderr())))
		}
	}
}

// client is a Wire in a check: it fails the check where a Wire returns an
// error.
type client struct {
	*probe
	*Wire
	seq  int
	left bool // the check has seen to the agent's end
}

func (c *client) failf(format string, args ...any) {
	c.probe.failf("%s\nlast lines:\n%s", fmt.Sprintf(format, args...), c.Wire.Log())
}

// patient bounds one wait.
func (c *client) patient() (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.Background(), c.Patience)
}

const (
	initParams = `{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false},"clientInfo":{"name":"acptest","version":"1"}}`
	initLine   = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":` + initParams + `}`
)

// raw sends bytes as they are.
func (c *client) raw(text string) {
	ctx, cancel := c.patient()
	defer cancel()
	if err := c.Wire.Write(ctx, []byte(text)); err != nil {
		c.failf("%v", err)
	}
}

// line sends one line.
func (c *client) line(text string) { c.raw(text + "\n") }

// ask sends a request and returns its raw id.
func (c *client) ask(method, params string) string {
	id := c.newID()
	c.line(request(id, method, params))
	return id
}

func (c *client) newID() string {
	c.seq++
	return fmt.Sprintf(`"a%d"`, c.seq)
}

func request(id, method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":%s}`, id, method, params)
}

func notification(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","method":%q,"params":%s}`, method, params)
}

// next returns the next message.
func (c *client) next() Message {
	ctx, cancel := c.patient()
	defer cancel()
	m, err := c.Wire.Next(ctx)
	if err != nil {
		c.failf("%v", c.ending(err))
	}
	return m
}

// ending says more about an unexpected end.
func (c *client) ending(err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	return fmt.Errorf("the agent closed its output; standard error: %q", clip([]byte(c.Stderr())))
}

// answer reads up to the response to id and returns it, and what came before
// it. Another response is a failure.
func (c *client) answer(id string) (Message, []Message) {
	var before []Message
	for {
		m := c.next()
		switch {
		case !m.IsResponse() && m.Method != methodPermission:
			before = append(before, m)
		case m.IsResponse() && string(m.ID) == id:
			return m, before
		default:
			c.failf("waiting for the response to %s: there came %s", id, clip(m.Raw))
		}
	}
}

// call sends a request and returns the response.
func (c *client) call(method, params string) Message {
	m, _ := c.answer(c.ask(method, params))
	return m
}

// result returns the result of a response that must be one.
func (c *client) result(m Message) json.RawMessage {
	if m.Error != nil {
		c.failf("%s: a result was due", clip(m.Raw))
	}
	return m.Result
}

// refused holds a response to an error of one of the codes; none is any.
func (c *client) refused(m Message, what string, codes ...int) {
	if m.Error == nil {
		c.failf("%s was accepted: %s", what, clip(m.Raw))
	}
	for _, code := range codes {
		if m.Error.Code == code {
			return
		}
	}
	if len(codes) > 0 {
		c.failf("%s was refused with %d, not %v: %s", what, m.Error.Code, codes, clip(m.Raw))
	}
}

// junk reads the one answer to what is no request. id is what it could have
// been read as.
func (c *client) junk(what, id string, codes ...int) {
	m := c.nextResponse()
	if s := string(m.ID); s != id && (c.Strict || s != "null") {
		c.failf("%s was answered with the id %s: it must be %s", what, m.ID, id)
	}
	c.refused(m, what, codes...)
}

// nextResponse skips updates of session state.
func (c *client) nextResponse() Message {
	for {
		m := c.next()
		if m.IsResponse() {
			return m
		}
		c.stateOnly(m)
	}
}

// stateOnly fails unless m is an update that may come at any time, or a
// notification of the protocol itself, which gives up a question.
func (c *client) stateOnly(m Message) {
	if strings.HasPrefix(m.Method, "$/") {
		return
	}
	if m.Method != methodUpdate || !isSessionState(updateKind(m)) {
		c.failf("unexpected: %s", clip(m.Raw))
	}
}

func updateKind(m Message) string {
	var n struct {
		Update struct{ SessionUpdate string }
	}
	_ = json.Unmarshal(m.Params, &n) // checked when it came
	return n.Update.SessionUpdate
}

// fine proves that the connection still works and that nothing but updates of
// session state came since the last read: an unknown method is a request that
// every agent answers at once.
func (c *client) fine() {
	id := c.ask("acptest/unknown", "{}")
	m := c.nextResponse()
	if string(m.ID) != id {
		c.failf("there should have been silence, but there came %s", clip(m.Raw))
	}
	c.refused(m, "an unknown method", acp.CodeMethodNotFound)
}

// open makes a session in Cwd.
func (c *client) open() string {
	return c.sessionID(c.call(methodNew, c.newParams()))
}

func (c *client) newParams() string {
	return fmt.Sprintf(`{"cwd":%s,"mcpServers":[]}`, quote(c.Cwd))
}

func (c *client) sessionID(m Message) string {
	var r struct {
		SessionID string `json:"sessionId"`
	}
	if err := json.Unmarshal(c.result(m), &r); err != nil {
		c.failf("session/new: %v", err)
	}
	return r.SessionID
}

func quote(s string) string {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(s) // a string always encodes
	return strings.TrimSuffix(b.String(), "\n")
}

func promptParams(session, text string) string {
	return fmt.Sprintf(`{"sessionId":%s,"prompt":[{"type":"text","text":%s}]}`, quote(session), quote(text))
}

// begin sends a prompt.
func (c *client) begin(session, text string) string {
	return c.ask(methodPrompt, promptParams(session, text))
}

// turn runs a prompt to its end.
func (c *client) turn(session, text string) (stop string, updates []Message) {
	m, updates := c.answer(c.begin(session, text))
	return c.stopReason(m), updates
}

func (c *client) stopReason(m Message) string {
	var r struct {
		StopReason string `json:"stopReason"`
	}
	_ = json.Unmarshal(c.result(m), &r) // its shape was checked when it came
	return r.StopReason
}

// completes runs a prompt and holds it to the stop reason end_turn.
func (c *client) completes(session, text string) []Message {
	const want = "end_turn"
	stop, updates := c.turn(session, text)
	if stop != want {
		c.failf("the prompt %q ended with %q, not %q", text, stop, want)
	}
	return updates
}

// running reads until the turn has said something.
func (c *client) running() {
	for {
		m := c.next()
		if m.IsResponse() || m.Method == methodPermission {
			c.failf("the turn should be running and have said so; there came %s", clip(m.Raw))
		}
		if !isSessionState(updateKind(m)) {
			return
		}
	}
}

// cancel cancels what runs in a session.
func (c *client) cancel(session string) {
	c.line(notification(methodCancel, `{"sessionId":`+quote(session)+`}`))
}

// cancelled reads up to the response to a prompt, which must say so.
func (c *client) cancelled(id string) []Message {
	m, updates := c.answer(id)
	if stop := c.stopReason(m); stop != "cancelled" {
		c.failf("the turn ended with %q after session/cancel, not cancelled", stop)
	}
	return updates
}

// leave ends the agent's input and reads to the end of its output, where
// nothing may come but updates of session state.
func (c *client) leave() {
	c.CloseIn()
	for _, m := range c.drain() {
		c.stateOnly(m)
	}
	c.waitGone()
}

// drain reads to the end of the agent's output.
func (c *client) drain() []Message {
	c.left = true
	var all []Message
	for {
		ctx, cancel := c.patient()
		m, err := c.Wire.Next(ctx)
		cancel()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			c.failf("%v", err)
		}
		all = append(all, m)
	}
}

func (c *client) waitGone() {
	c.left = true
	ctx, cancel := c.patient()
	defer cancel()
	if err := c.Wait(ctx); err != nil {
		c.failf("%v", err)
	}
}

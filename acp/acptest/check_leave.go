package acptest

import (
	"context"
	"errors"
	"io"
	"os"
	"syscall"
)

// leaveChecks are the ways in which clients end an agent, each while it is
// idle, while a turn runs, and while one waits for an answer.
func leaveChecks() []check {
	all := []check{
		{"leave/at-once", "an agent whose input is empty ends without a word, with 0", checkEmptyInput},
	}
	for _, e := range endings() {
		for _, state := range []string{"idle", "running", "asking"} {
			all = append(all, check{"leave/" + e.name + "/" + state, e.rule, func(p *probe) { checkEnding(p, e, state) }})
		}
	}
	return all
}

// ending is one way to end an agent.
type ending struct {
	name, rule string
	process    bool // needs a process
	strict     bool // not demanded by the protocol
	// orderly endings leave the agent time to answer and to exit with 0.
	orderly bool
	end     func(c *client, session string)
}

func endings() []ending {
	const orderly = "the agent leaves in order: open turns are answered, programs end with it"
	const abrupt = "nothing survives the agent"
	signal := func(s syscall.Signal) func(*client, string) {
		return func(c *client, _ string) { c.must(c.Signal(s)) }
	}
	return []ending{
		{name: "eof", rule: orderly, orderly: true, end: func(c *client, _ string) { c.CloseIn() }},
		{name: "sigterm", rule: orderly, process: true, orderly: true, end: signal(syscall.SIGTERM)},
		{name: "sighup", rule: orderly, process: true, orderly: true, end: signal(syscall.SIGHUP)},
		{name: "sigint", rule: orderly, process: true, orderly: true, end: signal(syscall.SIGINT)},
		{name: "stdout-closed", rule: abrupt, strict: true, end: closeOut},
		{name: "client-gone", rule: abrupt, end: func(c *client, _ string) { c.CloseIn(); c.CloseOut() }},
		{name: "sigkill", rule: abrupt, process: true, end: signal(syscall.SIGKILL)},
		{name: "sigkill-group", rule: abrupt, process: true, end: func(c *client, _ string) { c.must(c.SignalGroup(os.Kill)) }},
		{name: "sigterm-sigkill", rule: abrupt, process: true, end: func(c *client, _ string) {
			c.must(c.Signal(syscall.SIGTERM))
			_ = c.Signal(syscall.SIGKILL) // it may be gone already
		}},
	}
}

// closeOut closes the agent's output and gives it something to say.
func closeOut(c *client, session string) {
	c.CloseOut()
	ctx, cancel := c.patient()
	defer cancel()
	// A failed write here means that it is gone, which is what is waited for.
	_ = c.Wire.Send(ctx, notification(methodCancel, `{"sessionId":`+quote(session)+`}`))
	_ = c.Wire.Send(ctx, unknown(c.newID()))
}

func (c *client) must(err error) {
	if err != nil {
		c.failf("%v", err)
	}
}

func checkEmptyInput(p *probe) {
	c := p.dial()
	c.CloseIn()
	for _, m := range c.drain() {
		c.failf("said without being asked: %s", clip(m.Raw))
	}
	c.exits()
}

func checkEnding(p *probe, e ending, state string) {
	if e.strict {
		p.strictly(e.rule)
	}
	c := p.ready()
	if e.process && c.Pid() == 0 {
		c.leave()
		panic(skipped{"the agent is no process of its own"})
	}
	session, prompt := c.enter(state)
	e.end(c, session)
	if e.orderly {
		c.farewell(prompt)
		c.exits()
	} else {
		c.waitGone()
		c.outputEnds()
		c.CloseOut()
	}
	switch state {
	case "running":
		c.noSurvivors()
	case "asking":
		c.ran(false)
	}
}

// enter brings the agent into a state.
func (c *client) enter(state string) (session, prompt string) {
	switch state {
	case "running":
		c.needs("Slow", c.Slow)
		session = c.open()
		prompt = c.begin(session, c.Slow)
		c.running()
		c.markerRuns()
	case "asking":
		g := c.gate()
		session, prompt = g.session, g.prompt
	default:
		session = c.open()
	}
	return session, prompt
}

// farewell reads to the end. An open turn may be answered, in order; a strict
// agent answers it with cancelled.
func (c *client) farewell(prompt string) {
	answered := false
	for _, m := range c.drain() {
		if !m.IsResponse() {
			continue // held to the rules of order when it came
		}
		if string(m.ID) != prompt {
			c.failf("unexpected: %s", clip(m.Raw))
		}
		answered = true
		if c.Strict && c.stopReason(m) != "cancelled" {
			c.failf("the open turn ended with %q, not cancelled", c.stopReason(m))
		}
	}
	if c.Strict && prompt != "" && !answered {
		c.failf("the open turn was not answered before the agent left")
	}
}

// outputEnds reads to the end of the output of an agent that was cut off. It
// only comes when no process that the agent has left behind holds it open.
func (c *client) outputEnds() {
	for {
		ctx, cancel := c.patient()
		_, err := c.Wire.Next(ctx)
		cancel()
		switch {
		case errors.Is(err, io.EOF):
			return
		case errors.Is(err, ErrHang):
			c.failf("the agent has ended and something still holds its standard output open")
		}
	}
}

// exits waits for the end, and for a strict process with the exit code 0.
func (c *client) exits() {
	c.waitGone()
	if c.Pid() == 0 || !c.Strict {
		return
	}
	code, err := c.ExitCode(context.Background()) // it is gone
	c.must(err)
	if code != 0 {
		c.failf("the agent exited with %d, not 0", code)
	}
}

// kill ends the agent's group at once.
func (c *client) kill() {
	c.must(c.SignalGroup(os.Kill))
	c.waitGone()
	c.CloseOut()
}

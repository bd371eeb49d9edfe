package acptest

import (
	"encoding/json"
	"fmt"

	"github.com/chant-acp/chant-acp/acp"
)

// sessionChecks are about the optional session methods. Each is skipped where
// the agent does not offer the method.
func sessionChecks() []check {
	return []check{
		{"session/commands", "available_commands_update follows the response that opens a session, and names each command once", checkCommands},
		{"session/load", "session/load replays the conversation before its response, and the session works on (spec, Session Setup)", checkLoad},
		{"session/load-running", "loading a session whose turn is open leaves the turn alone", checkLoadRunning},
		{"session/resume", "session/resume replays nothing, and the session works on", checkResume},
		{"session/durable", "a session outlives the agent that made it", checkDurable},
		{"session/list", "session/list holds the sessions that were opened, with their cwd", checkList},
		{"session/close", "session/close cancels what runs and forgets the session", checkClose},
		{"session/options", "setting an option answers the complete list with the new value; what is unknown is -32602", checkOptions},
	}
}

// offering starts an agent that offers a method, or skips the check.
func (p *probe) offering(method string) *client {
	c := p.dial()
	if !c.capabilities(c.call(methodInitialize, initParams))[method] {
		c.leave()
		panic(skipped{"the agent does not offer " + method})
	}
	return c
}

func (c *client) loadParams(session string) string {
	return fmt.Sprintf(`{"sessionId":%s,"cwd":%s,"mcpServers":[]}`, quote(session), quote(c.Cwd))
}

// until reads up to an update of a kind.
func (c *client) until(kind string) Message {
	for {
		m := c.next()
		if updateKind(m) == kind {
			return m
		}
		c.stateOnly(m)
	}
}

func checkCommands(p *probe) {
	p.strictly("available_commands_update is sent after session/new")
	c := p.ready()
	c.open()
	m := c.until("available_commands_update")
	var n struct {
		Update struct {
			AvailableCommands []struct{ Name string }
		}
	}
	_ = json.Unmarshal(m.Params, &n) // checked when it came
	seen := map[string]bool{}
	for _, command := range n.Update.AvailableCommands {
		if seen[command.Name] {
			c.failf("the command %q is advertised twice", command.Name)
		}
		seen[command.Name] = true
	}
	if len(seen) == 0 {
		c.failf("no command is advertised: clients refuse a slash command that is not")
	}
}

// replayed sorts what came between a load and its response.
func replayed(updates []Message) (user, agent bool) {
	for _, m := range updates {
		switch updateKind(m) {
		case "user_message_chunk":
			user = true
		case "agent_message_chunk", "tool_call":
			agent = true
		}
	}
	return user, agent
}

func (c *client) loads(session string) {
	m, updates := c.answer(c.ask(methodLoad, c.loadParams(session)))
	c.result(m)
	user, agent := replayed(updates)
	if !user || !agent {
		c.failf("session/load replayed what the user said: %v, what the agent said: %v; both were due before the response", user, agent)
	}
	if c.Strict { // clients show an empty list otherwise
		c.until("available_commands_update")
	}
	c.completes(session, c.OK)
	c.fine()
}

func checkLoad(p *probe) {
	p.needs("OK", p.OK)
	c := p.offering(methodLoad)
	session := c.open()
	c.completes(session, p.OK)
	c.fine()
	c.loads(session)
}

func checkLoadRunning(p *probe) {
	p.needs("Slow", p.Slow)
	p.strictly("a load leaves a running turn alone")
	c := p.offering(methodLoad)
	session := c.open()
	id := c.begin(session, p.Slow)
	c.running()
	m, _ := c.answer(c.ask(methodLoad, c.loadParams(session)))
	c.result(m)
	c.cancel(session)
	c.cancelled(id)
	c.fine()
}

func checkResume(p *probe) {
	p.needs("OK", p.OK)
	c := p.offering(methodResume)
	session := c.open()
	c.completes(session, p.OK)
	m, updates := c.answer(c.ask(methodResume, c.loadParams(session)))
	c.result(m)
	for _, u := range updates {
		c.stateOnly(u)
	}
	c.completes(session, p.OK)
	c.fine()
}

func checkDurable(p *probe) {
	p.needs("OK", p.OK)
	if !p.Durable {
		panic(skipped{"Agent.Durable is not given"})
	}
	c := p.offering(methodLoad)
	session := c.open()
	c.completes(session, p.OK)
	if c.Pid() == 0 {
		c.leave()
	} else {
		c.kill()
	}
	again := p.ready()
	again.loads(session)
}

func checkList(p *probe) {
	p.needs("OK", p.OK)
	c := p.offering(methodList)
	session := c.open()
	c.completes(session, p.OK)
	var cursor string
	for params := "{}"; ; params = `{"cursor":` + quote(cursor) + `}` {
		var r struct {
			Sessions []struct {
				SessionID, Cwd string
			}
			NextCursor string
		}
		_ = json.Unmarshal(c.result(c.call(methodList, params)), &r) // checked when it came
		for _, s := range r.Sessions {
			if s.SessionID == session && s.Cwd == c.Cwd {
				return
			}
		}
		if r.NextCursor == "" || r.NextCursor == cursor {
			c.failf("session/list does not hold session %q with its cwd %q", session, c.Cwd)
		}
		cursor = r.NextCursor
	}
}

func checkClose(p *probe) {
	p.needs("Slow", p.Slow)
	c := p.offering(methodClose)
	session := c.open()
	slow := c.begin(session, p.Slow)
	c.running()
	closed := c.ask(methodClose, `{"sessionId":`+quote(session)+`}`)
	for open := map[string]bool{slow: true, closed: true}; len(open) > 0; {
		m := c.next()
		if !m.IsResponse() {
			continue
		}
		id := string(m.ID)
		if !open[id] {
			c.failf("unexpected: %s", clip(m.Raw))
		}
		delete(open, id)
		c.result(m)
		if id == slow && c.stopReason(m) != "cancelled" {
			c.failf("the turn of a closed session ended with %q, not cancelled", c.stopReason(m))
		}
	}
	c.refused(c.call(methodPrompt, promptParams(session, p.Slow)), "a prompt in a closed session")
	c.noSurvivors()
	c.fine()
}

// option is a select option of a session.
type option struct {
	ID, Type, CurrentValue string
	Options                []struct{ Value string }
}

func checkOptions(p *probe) {
	c := p.ready()
	var r struct{ ConfigOptions []option }
	m := c.call(methodNew, c.newParams())
	session := c.sessionID(m)
	_ = json.Unmarshal(m.Result, &r) // checked when it came
	set := func(id, value string) Message {
		return c.call("session/set_config_option", fmt.Sprintf(`{"sessionId":%s,"configId":%s,"value":%s}`, quote(session), quote(id), quote(value)))
	}
	if len(r.ConfigOptions) == 0 {
		c.refused(set("x", "y"), "session/set_config_option of an agent without options")
		panic(skipped{"the agent has no session options"})
	}
	c.refused(set("acptest-no-such-option", "x"), "an unknown option", acp.CodeInvalidParams)
	for _, o := range r.ConfigOptions {
		if o.Type != "select" {
			continue
		}
		c.refused(set(o.ID, "acptest-no-such-value"), "an unknown value of "+o.ID, acp.CodeInvalidParams)
		for _, v := range o.Options {
			if v.Value != "" { // else the options are grouped
				c.hasValue(set(o.ID, v.Value), len(r.ConfigOptions), o.ID, v.Value)
			}
		}
	}
	c.fine()
}

func (c *client) hasValue(m Message, count int, id, value string) {
	var r struct{ ConfigOptions []option }
	if err := json.Unmarshal(c.result(m), &r); err != nil || len(r.ConfigOptions) != count {
		c.failf("session/set_config_option must answer all %d options: %s", count, clip(m.Raw))
	}
	for _, o := range r.ConfigOptions {
		if o.ID == id && o.CurrentValue != value {
			c.failf("%s was set to %q and is %q", id, value, o.CurrentValue)
		}
	}
}

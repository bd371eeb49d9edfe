package acptest

import (
	"encoding/json"
	"fmt"
	"strings"
)

// outputChecks are about what a turn says, how much, and to whom.
func outputChecks() []check {
	return []check{
		{"output/shown", "what a command prints is in a text that clients show", checkShown},
		{"output/big", "a big output comes in whole, bounded lines, and the turn ends", checkBig},
		{"output/two", "two sessions that print at once do not mix", checkTwoBig},
		{"output/awkward", "output that is not text becomes text", checkAwkward},
		{"output/stalled", "a client that does not read is waited for, and a cancel is heard meanwhile", checkStalled},
		{"output/stalled-end", "an agent leaves at the end of its input even when nobody reads what it says", checkStalledEnd},
		{"output/terminal", "where the client takes terminal output, a terminal is announced first, gets its output, and exits once, at last", checkTerminal},
	}
}

func checkShown(p *probe) {
	p.needs("Hello", p.Hello)
	c := p.ready()
	for _, m := range c.completes(c.open(), p.Hello) {
		for _, text := range texts(m) {
			for line := range strings.Lines(text) {
				if strings.TrimSpace(line) == "hello" {
					return
				}
			}
		}
	}
	c.failf("the line hello is in no message and in no content of a tool call")
}

// texts are the texts of a message chunk, or of a tool call's content.
func texts(m Message) []string {
	type block struct{ Text string }
	var chunk struct{ Update struct{ Content block } }
	var call struct {
		Update struct{ Content []struct{ Content block } }
	}
	if json.Unmarshal(m.Params, &chunk) == nil {
		return []string{chunk.Update.Content.Text}
	}
	if json.Unmarshal(m.Params, &call) != nil {
		return nil
	}
	var all []string
	for _, c := range call.Update.Content {
		all = append(all, c.Content.Text)
	}
	return all
}

func checkBig(p *probe) {
	p.needs("Big", p.Big)
	c := p.ready()
	c.completes(c.open(), p.Big)
	c.fine()
}

func checkTwoBig(p *probe) {
	p.needs("Big", p.Big)
	c := p.ready()
	open := map[string]string{} // session by id
	counts := map[string]int{}  // updates of the turn by session
	for range 2 {
		session := c.open()
		open[c.begin(session, p.Big)] = session
	}
	for len(open) > 0 {
		m := c.next()
		if !m.IsResponse() {
			counts[updateSession(m)]++
			continue
		}
		session, ok := open[string(m.ID)]
		if !ok || c.stopReason(m) != "end_turn" {
			c.failf("two turns should end with end_turn, one answer each; there came %s", clip(m.Raw))
		}
		if counts[session] == 0 {
			c.failf("session %q printed, and its turn ended without a word", session)
		}
		delete(open, string(m.ID))
	}
	c.fine()
}

// updateSession is the session that an update of a turn is for.
func updateSession(m Message) string {
	var n struct{ SessionID string }
	_ = json.Unmarshal(m.Params, &n) // checked when it came
	if isSessionState(updateKind(m)) {
		return ""
	}
	return n.SessionID
}

func checkAwkward(p *probe) {
	p.needs("Awkward", p.Awkward)
	c := p.ready()
	c.completes(c.open(), p.Awkward)
	c.fine()
}

// stuck begins a big output and lets the agent run into a client that does not
// read.
func (c *client) stuck(session string) string {
	c.must(c.Stall())
	id := c.begin(session, c.Big)
	ctx, cancel := c.patient()
	defer cancel()
	c.must(c.WaitStuck(ctx))
	return id
}

func checkStalled(p *probe) {
	p.needs("Big", p.Big)
	c := p.ready()
	session := c.open()
	id := c.stuck(session)
	c.cancel(session)
	c.Resume()
	m, _ := c.answer(id)
	if stop := c.stopReason(m); stop != "cancelled" && stop != "end_turn" {
		c.failf("the turn ended with %q", stop)
	}
	c.fine()
}

func checkStalledEnd(p *probe) {
	p.strictly("the end of the input does not wait for a client that does not read")
	p.needs("Big", p.Big)
	c := p.ready()
	session := c.open()
	c.stuck(session)
	c.CloseIn()
	c.waitGone()
	c.CloseOut() // the end may cut a line in two, which is not checked
}

// checkTerminal knows the convention that Zed reads and codex-acp and
// claude-agent-acp write: _meta.terminal_info, terminal_output, terminal_exit.
func checkTerminal(p *probe) {
	p.needs("OK", p.OK)
	p.needs("Fail", p.Fail)
	c := p.dial()
	c.result(c.call(methodInitialize, `{"protocolVersion":1,"clientCapabilities":{"_meta":{"terminal_output":true}}}`))
	session := c.open()
	terminals := map[string]string{} // by id, what came last
	for _, text := range []string{p.OK, p.Fail} {
		for _, m := range c.completes(session, text) {
			if err := terminalStep(terminals, m); err != nil {
				c.failf("%v: %s", err, clip(m.Raw))
			}
		}
		for id, last := range terminals {
			if last != "exit" {
				c.failf("terminal %q has not exited when its turn has ended", id)
			}
		}
	}
	if len(terminals) == 0 {
		panic(skipped{"the agent shows no terminals"})
	}
}

// terminalStep takes one update's news of terminals: announced, output, ended, in this
// order.
func terminalStep(terminals map[string]string, m Message) error {
	var n struct {
		Update struct {
			Content json.RawMessage
			Meta    map[string]json.RawMessage `json:"_meta"`
		}
	}
	if err := json.Unmarshal(m.Params, &n); err != nil {
		return err
	}
	for _, step := range []string{"info", "output", "exit"} {
		raw, ok := n.Update.Meta["terminal_"+step]
		if !ok {
			continue
		}
		var t struct {
			ID   string  `json:"terminal_id"`
			Data *string `json:"data"`
		}
		if err := json.Unmarshal(raw, &t); err != nil || t.ID == "" {
			return fmt.Errorf("terminal_%s names no terminal", step)
		}
		last := terminals[t.ID]
		switch {
		case step == "info" && last != "":
			return fmt.Errorf("terminal %q is announced twice", t.ID)
		case step != "info" && last == "":
			return fmt.Errorf("terminal_%s of %q before its terminal_info", step, t.ID)
		case last == "exit":
			return fmt.Errorf("terminal_%s of %q after its terminal_exit", step, t.ID)
		case step == "output" && t.Data == nil:
			return fmt.Errorf("terminal_output of %q without data", t.ID)
		}
		terminals[t.ID] = step
	}
	return terminalsKnown(terminals, n.Update.Content)
}

// terminalsKnown holds content to terminals that were announced: Zed drops the
// whole update otherwise.
func terminalsKnown(terminals map[string]string, content json.RawMessage) error {
	var items []struct{ Type, TerminalID string }
	if json.Unmarshal(content, &items) != nil { // a chunk's content is one block
		return nil
	}
	for _, item := range items {
		if item.Type == "terminal" && terminals[item.TerminalID] == "" {
			return fmt.Errorf("content of terminal %q, which was not announced", item.TerminalID)
		}
	}
	return nil
}

package acptest

import (
	"encoding/json"
	"fmt"

	"github.com/chant-acp/chant-acp/acp"
)

// turnChecks are about prompts, their order and their end.
func turnChecks() []check {
	return []check{
		{"turn/ends", "a prompt that runs ends with end_turn, and says something before", checkOK},
		{"turn/fails", "a command that fails is a turn that ends: a failed tool call, not an error and not a refusal", checkFail},
		{"turn/refused", "a prompt that can't be taken is answered, with a reason before, and harms nothing", checkRefused},
		{"turn/order", "the response opens a session before its first update; all updates of a turn precede its response; tool call ids are unique; calls end (spec, Prompt Turn)", checkOrder},
		{"turn/second", "a second prompt while one runs is answered once and leaves the first alone; other sessions get their turn", checkSecondPrompt},
		{"cancel/running", "session/cancel ends the turn with one result, cancelled, after all its updates (spec, Cancellation)", checkCancel},
		{"cancel/packet", "a prompt and its cancel written in one packet end cancelled", checkCancelPacket},
		{"cancel/stubborn", "a turn whose program does not end when asked ends cancelled all the same", checkCancelStubborn},
		{"cancel/nothing", "a cancel of nothing, or without its session, is silent and does not touch the next turn", checkCancelNothing},
		{"cancel/many", "cancelling again and again leaves no session stuck", checkCancelMany},
		{"cancel/request", "$/cancel_request is silent, and ends a running turn with cancelled or -32800", checkCancelRequest},
	}
}

func checkOK(p *probe) {
	p.needs("OK", p.OK)
	c := p.ready()
	session := c.open()
	shown := false
	for _, m := range c.completes(session, p.OK) {
		shown = shown || !isSessionState(updateKind(m))
	}
	if !shown {
		c.failf("the turn said nothing: clients show an empty answer")
	}
	c.fine()
}

func checkFail(p *probe) {
	p.needs("Fail", p.Fail)
	c := p.ready()
	session := c.open()
	failed := false
	for _, m := range c.completes(session, p.Fail) {
		failed = failed || toolStatus(m) == "failed"
	}
	if p.Strict && !failed {
		c.failf("the command failed and no tool call says so")
	}
	c.fine()
}

// toolStatus is the status that a tool call update reports, or "".
func toolStatus(m Message) string {
	var n struct {
		Update struct {
			SessionUpdate, Status string
		}
	}
	_ = json.Unmarshal(m.Params, &n) // checked when it came
	if n.Update.SessionUpdate == "tool_call" || n.Update.SessionUpdate == "tool_call_update" {
		return n.Update.Status
	}
	return ""
}

func checkRefused(p *probe) {
	p.needs("Refused", p.Refused)
	c := p.ready()
	session := c.open()
	stop, updates := c.turn(session, p.Refused)
	if stop != "refusal" && stop != "end_turn" {
		c.failf("a prompt that can't be taken ended with %q", stop)
	}
	shown := false
	for _, m := range updates {
		shown = shown || updateKind(m) == "agent_message_chunk"
		if toolStatus(m) == "completed" {
			c.failf("a refused prompt has a completed tool call: %s", clip(m.Raw))
		}
	}
	if !shown {
		c.failf("the prompt was refused without a word")
	}
	c.fine()
}

// checkOrder leaves the rules to the ledger of the Wire, and gives them
// occasion: sessions opened and used at once, and a look at what follows a
// response.
func checkOrder(p *probe) {
	p.needs("OK", p.OK)
	c := p.ready()
	var session string
	for round := range p.rounds(c) {
		if round%10 == 0 {
			session = c.open()
		}
		c.completes(session, p.OK)
		c.fine()
	}
}

func checkSecondPrompt(p *probe) {
	p.needs("OK", p.OK)
	p.needs("Slow", p.Slow)
	c := p.ready()
	first, other := c.open(), c.open()
	slow := c.begin(first, p.Slow)
	c.running()
	second := c.begin(first, p.OK)
	if p.Strict {
		m, _ := c.answer(second)
		c.refused(m, "a prompt in a session whose turn is open", acp.CodeInvalidRequest)
		second = ""
	}
	third := c.begin(other, p.OK)
	c.cancel(first)
	open := map[string]bool{slow: true, third: true}
	if second != "" {
		open[second] = true
	}
	for len(open) > 0 {
		m := c.next()
		if !m.IsResponse() {
			continue
		}
		id := string(m.ID)
		if !open[id] {
			c.failf("unexpected: %s", clip(m.Raw))
		}
		delete(open, id)
		if id == third && c.stopReason(m) != "end_turn" {
			c.failf("the turn of another session ended with %q, not end_turn", c.stopReason(m))
		}
		if id == slow && c.stopReason(m) != "cancelled" {
			c.failf("the first turn ended with %q, not cancelled", c.stopReason(m))
		}
	}
	c.completes(first, p.OK)
	c.fine()
}

func checkCancel(p *probe) {
	p.needs("Slow", p.Slow)
	c := p.ready()
	session := c.open()
	id := c.begin(session, p.Slow)
	c.running()
	c.markerRuns()
	c.cancel(session)
	c.cancelled(id)
	c.noSurvivors()
	c.fine()
}

func checkCancelPacket(p *probe) {
	p.strictly("messages are taken in the order in which they were written")
	p.needs("Slow", p.Slow)
	c := p.dial()
	c.raw(initLine + "\n" + request(`"n"`, methodNew, c.newParams()) + "\n")
	m, _ := c.answer(`"init"`)
	c.result(m)
	m, _ = c.answer(`"n"`)
	session := c.sessionID(m)
	id := c.newID()
	c.raw(request(id, methodPrompt, promptParams(session, p.Slow)) + "\n" + notification(methodCancel, `{"sessionId":`+quote(session)+`}`) + "\n")
	c.cancelled(id)
	c.noSurvivors()
	c.fine()
}

func checkCancelStubborn(p *probe) {
	p.needs("Stubborn", p.Stubborn)
	c := p.ready()
	session := c.open()
	id := c.begin(session, p.Stubborn)
	c.running()
	c.cancel(session)
	c.cancel(session)
	c.cancelled(id)
	c.fine()
}

func checkCancelNothing(p *probe) {
	p.needs("OK", p.OK)
	c := p.ready()
	session := c.open()
	c.cancel("no-such-session")
	c.fine()
	for _, params := range []string{`{}`, `null`, `[]`, `{"sessionId":5}`, `{"sessionid":` + quote(session) + `}`} {
		c.line(notification(methodCancel, params))
		c.fine()
	}
	c.line(`{"jsonrpc":"2.0","method":"session/cancel"}`)
	c.cancel(session)
	c.cancel(session)
	c.completes(session, p.OK)
	c.cancel(session)
	c.completes(session, p.OK)
	c.fine()
}

func checkCancelMany(p *probe) {
	p.needs("OK", p.OK)
	p.needs("Slow", p.Slow)
	c := p.ready()
	session := c.open()
	for range min(20, p.rounds(c)) {
		id := c.begin(session, p.Slow)
		c.running()
		c.cancel(session)
		c.cancelled(id)
	}
	c.completes(session, p.OK)
	c.fine()
}

func checkCancelRequest(p *probe) {
	c := p.ready()
	for _, params := range []string{`{"requestId":"nobody"}`, `{"requestId":99}`, `{}`, `null`, `[1]`, `{"requestId":{}}`, `{"requestId":null}`} {
		c.line(notification("$/cancel_request", params))
		c.fine()
	}
	if !p.Strict || p.Slow == "" {
		return
	}
	session := c.open()
	id := c.begin(session, p.Slow)
	c.running()
	c.line(notification("$/cancel_request", fmt.Sprintf(`{"requestId":%s}`, id)))
	m, _ := c.answer(id)
	if m.Error != nil {
		c.refused(m, "a cancelled prompt", acp.CodeRequestCancelled)
	} else if stop := c.stopReason(m); stop != "cancelled" {
		c.failf("the turn ended with %q after $/cancel_request, not cancelled", stop)
	}
	c.fine()
}

package acptest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
)

// permissionChecks are about session/request_permission. An answer that is not
// a known way to allow is a no.
func permissionChecks() []check {
	rows := []struct{ name, rule, answer string }{
		{"reject", "a rejected call does not run", `"result":{"outcome":{"outcome":"selected","optionId":<reject_once>}}`},
		{"unknown-option", "an option that was not offered is a no", `"result":{"outcome":{"outcome":"selected","optionId":"acptest-no-such-option"}}`},
		{"no-option", "a selection without an option is a no: real clients send it when a person dismisses the question", `"result":{"outcome":{"outcome":"selected"}}`},
		{"cancelled", "the outcome cancelled, without session/cancel, is a no", `"result":{"outcome":{"outcome":"cancelled"}}`},
		{"odd-outcome", "an unknown outcome is a no, even with a known option", `"result":{"outcome":{"outcome":"approved","optionId":<allow_once>}}`},
		{"wrong-case", "names match exactly: OptionId is no option", `"result":{"outcome":{"outcome":"selected","OptionId":<allow_once>}}`},
		{"empty", "an empty result is a no", `"result":{}`},
		{"null", "a null result is a no", `"result":null`},
		{"error", "an error in place of an answer is a no", `"error":{"code":-32601,"message":"Method not found"}`},
	}
	all := []check{
		{"permission/allow", "an allowed call runs, and the turn ends", checkAllow},
		{"permission/one-a-kind", "one option is offered of each kind: some clients find them by kind", checkOneAKind},
		{"permission/cancel", "session/cancel ends a turn that waits for an answer, and a late answer is ignored", checkCancelAtGate},
		{"permission/cancel-allow", "what is allowed together with a cancel does not run", checkCancelAndAllow},
		{"permission/others", "an open question holds up neither other requests nor, for ever, other sessions", checkOthersAtGate},
	}
	for _, row := range rows {
		all = append(all, check{"permission/" + row.name, row.rule, func(p *probe) { checkDenied(p, row.answer) }})
	}
	return all
}

// gate is an open request for permission.
type gate struct {
	session, prompt string
	id              string            // raw id of the agent's request
	options         map[string]string // quoted option id by kind
	kinds           []string
}

// gate begins the prompt that asks, and reads up to the question.
func (c *client) gate() gate {
	c.needs("Ask", c.Ask)
	if c.AskFile != "" {
		if err := os.Remove(c.AskFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
			c.failf("Agent.AskFile: %v", err)
		}
	}
	g := gate{session: c.open(), options: map[string]string{}}
	g.prompt = c.begin(g.session, c.Ask)
	for {
		m := c.next()
		if m.IsResponse() {
			c.failf("the prompt %q ended without asking for permission: %s", c.Ask, clip(m.Raw))
		}
		if m.Method != methodPermission {
			continue
		}
		g.id = string(m.ID)
		var r struct {
			Options []struct{ OptionID, Kind string }
		}
		_ = json.Unmarshal(m.Params, &r) // checked when it came
		for _, o := range r.Options {
			g.kinds = append(g.kinds, o.Kind)
			if g.options[o.Kind] == "" {
				g.options[o.Kind] = quote(o.OptionID)
			}
		}
		return g
	}
}

// response makes an answer to the question. <kind> stands for the option of a
// kind.
func (c *client) response(g gate, answer string) string {
	for _, kind := range permissionKinds {
		if !strings.Contains(answer, "<"+kind+">") {
			continue
		}
		if g.options[kind] == "" {
			c.failf("the agent offers no option of the kind %s, only %v", kind, g.kinds)
		}
		answer = strings.ReplaceAll(answer, "<"+kind+">", g.options[kind])
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,%s}`, g.id, answer)
}

const allowAnswer = `"result":{"outcome":{"outcome":"selected","optionId":<allow_once>}}`

func checkAllow(p *probe) {
	p.needs("Ask", p.Ask)
	c := p.ready()
	g := c.gate()
	c.ran(false)
	c.line(c.response(g, allowAnswer))
	m, updates := c.answer(g.prompt)
	if stop := c.stopReason(m); stop != "end_turn" {
		c.failf("an allowed turn ended with %q, not end_turn", stop)
	}
	done := false
	for _, u := range updates {
		done = done || toolStatus(u) == "completed"
	}
	if !done {
		c.failf("an allowed call did not complete")
	}
	c.ran(true)
	c.fine()
}

// ran holds AskFile to what was answered.
func (c *client) ran(want bool) {
	if c.AskFile == "" {
		return
	}
	_, err := os.Stat(c.AskFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		c.failf("Agent.AskFile: %v", err)
	}
	if got := err == nil; got != want {
		c.failf("what the agent asked about has run: %v; it should be %v (%s)", got, want, c.AskFile)
	}
}

func checkOneAKind(p *probe) {
	p.needs("Ask", p.Ask)
	c := p.ready()
	g := c.gate()
	seen := map[string]bool{}
	for _, kind := range g.kinds {
		if seen[kind] {
			c.failf("two options of the kind %s: %v", kind, g.kinds)
		}
		seen[kind] = true
	}
	if !seen["allow_once"] || !seen["reject_once"] {
		c.failf("allow_once and reject_once are what every client can show; offered are %v", g.kinds)
	}
	c.cancel(g.session)
	c.cancelled(g.prompt)
}

func checkDenied(p *probe, answer string) {
	p.needs("Ask", p.Ask)
	c := p.ready()
	g := c.gate()
	c.line(c.response(g, answer))
	m, updates := c.answer(g.prompt)
	c.stopReason(m) // any result will do
	c.nothingDone(updates)
	c.fine()
	again := c.gate() // the session's next turn works
	c.cancel(again.session)
	c.cancelled(again.prompt)
}

func (c *client) nothingDone(updates []Message) {
	for _, u := range updates {
		if toolStatus(u) == "completed" {
			c.failf("a call that was not allowed completed: %s", clip(u.Raw))
		}
	}
	c.ran(false)
}

func checkCancelAtGate(p *probe) {
	p.needs("Ask", p.Ask)
	c := p.ready()
	g := c.gate()
	c.cancel(g.session)
	c.nothingDone(c.cancelled(g.prompt))
	c.fine()
	c.line(c.response(g, allowAnswer)) // too late
	c.fine()
	c.line(c.response(g, `"result":{"outcome":{"outcome":"cancelled"}}`))
	c.fine()
	c.ran(false)
}

func checkCancelAndAllow(p *probe) {
	p.strictly("an allow read together with a cancel starts nothing")
	p.needs("Ask", p.Ask)
	c := p.ready()
	for range min(20, p.rounds(c)) {
		g := c.gate()
		cancel := notification(methodCancel, `{"sessionId":`+quote(g.session)+`}`) + "\n"
		c.raw(cancel + c.response(g, allowAnswer) + "\n")
		c.nothingDone(c.cancelled(g.prompt))
	}
	c.fine()
}

func checkOthersAtGate(p *probe) {
	p.needs("OK", p.OK)
	p.needs("Ask", p.Ask)
	c := p.ready()
	g := c.gate()
	c.fine()
	other := c.open()
	if p.Strict { // a turn that waits for a person gives its place up
		c.completes(other, p.OK)
	}
	c.cancel(g.session)
	c.cancelled(g.prompt)
	c.completes(other, p.OK)
	c.fine()
}

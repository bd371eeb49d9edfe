package acptest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/chant-acp/chant-acp/acp"
)

// connectionChecks are about initialize and the JSON-RPC layer.
func connectionChecks() []check {
	return []check{
		{"initialize", "initialize is answered with protocolVersion 1, and nothing precedes the answer (spec, Initialization)", checkInitialize},
		{"initialize/versions", "a version that the agent does not have is answered with the agent's own, not with an error (spec, Version Negotiation)", checkVersions},
		{"initialize/malformed", "a malformed initialize is -32602 and leaves the connection usable", checkMalformedInitialize},
		{"initialize/first", "nothing works before initialize, and nothing breaks (spec, Initialization)", checkBeforeInitialize},
		{"initialize/twice", "a second initialize is answered once and resets nothing", checkInitializeTwice},
		{"junk/not-json", "what is not JSON is one -32700 with id null, and the connection goes on (JSON-RPC 2.0, section 5.1)", checkNotJSON},
		{"junk/not-object", "JSON that is no object is one -32600 with id null (JSON-RPC 2.0, section 5.1)", checkNotObject},
		{"junk/batch", "a batch is one -32600 with id null and none of it is executed: the protocol has no batches", checkBatch},
		{"junk/not-request", "an object that is no request is one -32600, with its id where it has one (JSON-RPC 2.0, section 5)", checkNotRequest},
		{"junk/responses", "responses to nothing that was asked are ignored, those with id null too", checkStrayResponses},
		{"ids/echo", "ids come back byte for byte (JSON-RPC 2.0, section 5)", checkIDs},
		{"ids/reuse", "an id may be used again, and two requests of one id are two answers", checkIDReuse},
		{"methods/unknown", "a request of an unknown or unadvertised method is -32601 with its id", checkUnknownMethods},
		{"methods/notifications", "unknown notifications are ignored", checkUnknownNotifications},
		{"methods/kinds", "a prompt without an id is not executed; a cancel with an id is answered once", checkKinds},
	}
}

func checkInitialize(p *probe) {
	c := p.dial()
	m := c.call(methodInitialize, initParams)
	members, err := readMembers(c.result(m))
	if err != nil {
		c.failf("%v", err)
	}
	if v := members["protocolVersion"]; string(v) != "1" {
		c.failf("protocolVersion is %s, not 1", orAbsent(v))
	}
	if p.Strict {
		for _, key := range []string{"agentInfo", "authMethods"} {
			if v := members[key]; v == nil || string(v) == "null" {
				c.failf("%s is %s: clients break without it", key, orAbsent(v))
			}
		}
	}
	c.fine()
}

func checkVersions(p *probe) {
	for _, version := range []string{"0", "2", "99", "65535"} {
		c := p.dial()
		m := c.call(methodInitialize, `{"protocolVersion":`+version+`}`)
		var r struct{ ProtocolVersion int }
		_ = json.Unmarshal(c.result(m), &r) // its shape was checked when it came
		if p.Strict && r.ProtocolVersion != 1 {
			c.failf("protocolVersion %s was answered with %d, not 1", version, r.ProtocolVersion)
		}
	}
}

func checkMalformedInitialize(p *probe) {
	c := p.dial()
	for _, params := range []string{
		`{}`, `{"protocolVersion":null}`, `{"protocolVersion":"1"}`, `{"protocolVersion":1.5}`, `{"protocolVersion":-1}`,
		`{"protocolVersion":70000}`, `{"protocolversion":1}`, `null`, `[1]`, `"1"`,
	} {
		c.refused(c.call(methodInitialize, params), "initialize with params "+params, acp.CodeInvalidParams)
	}
	id := c.newID()
	c.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"initialize"}`, id))
	m, _ := c.answer(id)
	c.refused(m, "initialize without params", acp.CodeInvalidParams)
	c.result(c.call(methodInitialize, initParams))
	c.open()
	c.fine()
}

func checkBeforeInitialize(p *probe) {
	c := p.dial()
	var codes []int
	if p.Strict {
		codes = []int{acp.CodeInvalidRequest}
	}
	for _, method := range []string{methodNew, methodPrompt, methodList} {
		c.refused(c.call(method, c.newParams()), method+" before initialize", codes...)
	}
	c.refused(c.call("acptest/unknown", "{}"), "an unknown method before initialize")
	c.cancel("nobody")
	c.line(notification("acptest/unknown", "{}"))
	m, before := c.answer(c.ask(methodInitialize, initParams))
	if len(before) > 0 {
		c.failf("a notification before initialize was answered: %s", clip(before[0].Raw))
	}
	c.result(m)
	c.open()
	c.fine()
}

func checkInitializeTwice(p *probe) {
	p.needs("OK", p.OK)
	c := p.ready()
	session := c.open()
	if m := c.call(methodInitialize, initParams); m.Error != nil && p.Strict {
		c.failf("a second initialize was refused: %s", clip(m.Raw))
	}
	c.completes(session, p.OK)
	c.fine()
}

func checkNotJSON(p *probe) {
	c := p.ready()
	for _, junk := range []string{`{bad`, `{"jsonrpc":"2.0","id":1`, `hello`, `{"jsonrpc":"2.0","id":1,"method":"session/new",}`, `}`, `nul`, "\x00"} {
		c.line(junk)
		c.junk(fmt.Sprintf("%q", junk), "null", acp.CodeParseError)
		c.fine()
	}
}

func checkNotObject(p *probe) {
	c := p.ready()
	for _, junk := range []string{`42`, `"x"`, `null`, `true`, `-1.5e3`} {
		c.line(junk)
		c.junk(junk, "null", acp.CodeInvalidRequest)
		c.fine()
	}
}

func checkBatch(p *probe) {
	c := p.ready()
	one := request(`"b1"`, methodNew, c.newParams())
	two := request(`"b2"`, methodNew, c.newParams())
	for _, batch := range []string{`[]`, `[` + one + `]`, `[` + one + `,` + two + `]`, `[1]`, `[` + notification(methodCancel, `{"sessionId":"x"}`) + `]`} {
		c.line(batch)
		c.junk("a batch", "null", acp.CodeInvalidRequest)
		c.fine()
	}
}

func checkNotRequest(p *probe) {
	c := p.ready()
	for _, junk := range []struct{ text, id string }{
		{`{}`, "null"},
		{`{"id":"q1","method":"session/list","params":{}}`, `"q1"`},
		{`{"jsonrpc":"1.0","id":"q2","method":"session/list","params":{}}`, `"q2"`},
		{`{"jsonrpc":2.0,"id":"q3","method":"session/list","params":{}}`, `"q3"`},
		{`{"jsonrpc":"2.0","id":"q4","method":5}`, `"q4"`},
		{`{"jsonrpc":"2.0","id":"q5"}`, `"q5"`},
		{`{"jsonrpc":"2.0","id":true,"method":"session/list"}`, "true"},
		{`{"jsonrpc":"2.0","id":{},"method":"session/list"}`, "{}"},
		{`{"jsonrpc":"2.0","id":[1],"method":"session/list"}`, "[1]"},
	} {
		if c.Strict && !strings.HasPrefix(junk.id, `"`) {
			junk.id = "null" // which is no id
		}
		c.line(junk.text)
		c.junk(junk.text, junk.id, acp.CodeInvalidRequest)
		c.fine()
	}
}

func checkStrayResponses(p *probe) {
	c := p.ready()
	for _, stray := range []string{
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error"}}`,
		`{"jsonrpc":"2.0","id":12345,"result":{}}`,
		`{"jsonrpc":"2.0","id":"nobody","result":null}`,
		`{"jsonrpc":"2.0","id":12345,"error":{"code":-32603,"message":"Internal error"}}`,
	} {
		c.line(stray)
		c.fine()
	}
}

func checkIDs(p *probe) {
	c := p.ready()
	for _, id := range []string{`"abc"`, `0`, `-1`, `9007199254740993`, `""`, `"é\u0000\n"`, `"1"`, `1`} {
		c.line(request(id, "acptest/unknown", "{}"))
		m, _ := c.answer(id)
		c.refused(m, "an unknown method", acp.CodeMethodNotFound)
	}
	for _, id := range []string{`1.5`, `null`} { // discouraged: refusing them is allowed
		c.line(request(id, "acptest/unknown", "{}"))
		m := c.nextResponse()
		if got := string(m.ID); got != id && got != "null" {
			c.failf("a request with id %s was answered with id %s", id, got)
		}
		c.refused(m, "an unknown method with id "+id, acp.CodeMethodNotFound, acp.CodeInvalidRequest)
	}
	c.fine()
}

func checkIDReuse(p *probe) {
	c := p.ready()
	for range 2 {
		c.line(request(`"again"`, methodNew, c.newParams()))
		m, _ := c.answer(`"again"`)
		c.result(m)
	}
	both := request(`"twin"`, methodNew, c.newParams()) + "\n"
	c.raw(both + both)
	for range 2 {
		if m := c.nextResponse(); string(m.ID) != `"twin"` {
			c.failf("two requests with the id \"twin\": there came %s", clip(m.Raw))
		}
	}
	c.fine()
}

func checkUnknownMethods(p *probe) {
	c := p.dial()
	offered := c.capabilities(c.call(methodInitialize, initParams))
	session := c.open()
	for _, method := range []string{"foo/bar", "_x/y", "_x", "$/foo", "session/set_model", "session/", "Session/new", "initialize ", "shutdown", "fs/read_text_file"} {
		c.refused(c.call(method, "{}"), method, acp.CodeMethodNotFound)
	}
	for _, method := range []string{methodLoad, methodResume, methodList, methodClose, "session/delete", "session/fork", "logout"} {
		if offered[method] {
			continue
		}
		params := fmt.Sprintf(`{"sessionId":%s,"cwd":%s,"mcpServers":[]}`, quote(session), quote(c.Cwd))
		c.refused(c.call(method, params), method+", which is not advertised,", acp.CodeMethodNotFound)
	}
	c.fine()
}

// capabilities returns the optional methods that an initialize result offers.
func (c *client) capabilities(m Message) map[string]bool {
	var r struct {
		AgentCapabilities struct {
			LoadSession         bool                       `json:"loadSession"`
			SessionCapabilities map[string]json.RawMessage `json:"sessionCapabilities"`
			Auth                map[string]json.RawMessage `json:"auth"`
		} `json:"agentCapabilities"`
	}
	if err := json.Unmarshal(c.result(m), &r); err != nil {
		c.failf("agentCapabilities: %v", err)
	}
	offered := map[string]bool{methodLoad: r.AgentCapabilities.LoadSession}
	for name, v := range r.AgentCapabilities.SessionCapabilities {
		offered["session/"+name] = string(v) != "null"
	}
	for name, v := range r.AgentCapabilities.Auth {
		offered[name] = string(v) != "null"
	}
	return offered
}

func checkUnknownNotifications(p *probe) {
	c := p.ready()
	for _, method := range []string{"foo/bar", "_x", "_x/y", "$/foo", "session/set_model", "exit"} {
		c.line(notification(method, "{}"))
		c.line(fmt.Sprintf(`{"jsonrpc":"2.0","method":%q}`, method))
		c.line(notification(method, `[1]`))
		c.fine()
	}
}

func checkKinds(p *probe) {
	p.needs("OK", p.OK)
	c := p.ready()
	session := c.open()
	c.line(notification(methodPrompt, promptParams(session, p.OK))) // its updates would be outside a turn
	c.line(notification(methodNew, c.newParams()))                  // as would those of its session
	c.fine()
	if m := c.call(methodCancel, `{"sessionId":`+quote(session)+`}`); m.Error == nil && strings.TrimSpace(string(m.Result)) == "" {
		c.failf("session/cancel with an id was answered with nothing: %s", clip(m.Raw))
	}
	c.completes(session, p.OK)
	c.fine()
}

package acptest

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/chant-acp/chant-acp/acp"
)

// paramChecks are about the params of the session methods.
func paramChecks() []check {
	return []check{
		{"params/new", "session/new refuses params that are no object, or lack cwd or mcpServers, with -32602 (schema, NewSessionRequest)", checkNewParams},
		{"params/cwd", "session/new refuses a cwd that is not an absolute path of a directory, with -32602", checkCwd},
		{"params/types", "values of a wrong type, or under a name of the wrong case, are -32602", checkParamTypes},
		{"params/lenient", "unknown members and junk in capabilities and _meta are ignored (spec, Extensibility)", checkLenient},
		{"params/unknown-session", "a session that does not exist is an error, -32002 with data.sessionId, and harms nothing", checkUnknownSession},
		{"params/blocks", "text and resource links are taken in every prompt; the answer to any block is in order (spec, Content)", checkBlocks},
	}
}

func checkNewParams(p *probe) {
	c := p.ready()
	id := c.newID()
	c.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"session/new"}`, id))
	m, _ := c.answer(id)
	c.refused(m, "session/new without params", acp.CodeInvalidParams)
	cwd := quote(c.Cwd)
	for _, params := range []string{
		`null`, `[]`, `"x"`, `{}`,
		`{"mcpServers":[]}`, `{"cwd":null,"mcpServers":[]}`, `{"cwd":5,"mcpServers":[]}`, `{"CWD":` + cwd + `,"mcpServers":[]}`,
		`{"cwd":` + cwd + `}`, `{"cwd":` + cwd + `,"mcpServers":{}}`, `{"cwd":` + cwd + `,"mcpServers":"x"}`,
	} {
		c.refused(c.call(methodNew, params), "session/new with "+params, acp.CodeInvalidParams)
	}
	c.fine()
	c.open()
}

func checkCwd(p *probe) {
	p.strictly("session/new checks cwd")
	c := p.ready()
	file := filepath.Join(p.t.TempDir(), "a file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		c.failf("%v", err)
	}
	for _, cwd := range []string{"", "tmp", "./x", "..", "~", file, filepath.Join(file, "below"), filepath.Join(c.Cwd, "does not exist")} {
		params := fmt.Sprintf(`{"cwd":%s,"mcpServers":[]}`, quote(cwd))
		c.refused(c.call(methodNew, params), fmt.Sprintf("session/new with the cwd %q", cwd), acp.CodeInvalidParams)
	}
	c.sessionID(c.call(methodNew, `{"cwd":`+quote(c.Cwd)+`,"mcpServers":null}`)) // null is an empty list
	awkward := filepath.Join(p.t.TempDir(), "Ünï cödé, spaces & 'quotes'")
	if err := os.Mkdir(awkward, 0o700); err != nil {
		c.failf("%v", err)
	}
	c.sessionID(c.call(methodNew, fmt.Sprintf(`{"cwd":%s,"mcpServers":[]}`, quote(awkward))))
}

func checkParamTypes(p *probe) {
	c := p.ready()
	s := quote(c.open())
	for _, params := range []string{
		`{"sessionId":` + s + `}`,
		`{"sessionId":` + s + `,"prompt":"x"}`,
		`{"sessionId":` + s + `,"prompt":{}}`,
		`{"sessionId":` + s + `,"prompt":[5]}`,
		`{"sessionId":` + s + `,"prompt":[{"type":"video"}]}`,
		`{"sessionId":` + s + `,"prompt":[{"type":"text"}]}`,
		`{"sessionId":` + s + `,"prompt":[{"type":"text","text":5}]}`,
		`{"sessionId":` + s + `,"prompt":[{"type":"text","Text":"x"}]}`,
		`{"sessionId":` + s + `,"prompt":[{"type":"resource_link","uri":"file:///x"}]}`,
		`{"sessionid":` + s + `,"prompt":[{"type":"text","text":"x"}]}`,
		`{"sessionId":5,"prompt":[{"type":"text","text":"x"}]}`,
		`{"prompt":[{"type":"text","text":"x"}]}`,
		`[]`, `null`,
	} {
		c.refused(c.call(methodPrompt, params), "session/prompt with "+params, acp.CodeInvalidParams)
	}
	c.fine()
}

func checkLenient(p *probe) {
	p.needs("OK", p.OK)
	c := p.dial()
	c.result(c.call(methodInitialize, `{"protocolVersion":1,"zzz":[1],"clientCapabilities":{"fs":"yes","terminal":5,"zzz":1,"_meta":{"x":[]}},"clientInfo":{"name":"acptest","version":"1","zzz":{}},"_meta":{"traceparent":5}}`))
	params := fmt.Sprintf(`{"cwd":%s,"mcpServers":[],"zzz":1,"_meta":{"a":{"b":[null]}}}`, quote(c.Cwd))
	session := c.sessionID(c.call(methodNew, params))
	id := c.ask(methodPrompt, fmt.Sprintf(`{"sessionId":%s,"zzz":null,"_meta":{},"prompt":[{"type":"text","text":%s,"zzz":1,"_meta":{"x":1},"annotations":{"audience":["user"]}}]}`, quote(session), quote(p.OK)))
	m, _ := c.answer(id)
	if stop := c.stopReason(m); stop != "end_turn" {
		c.failf("a prompt with unknown members ended with %q, not end_turn", stop)
	}
	c.fine()
}

func checkUnknownSession(p *probe) {
	c := p.dial()
	offered := c.capabilities(c.call(methodInitialize, initParams))
	const nobody = "no-such-session"
	calls := map[string]string{methodPrompt: promptParams(nobody, "x")}
	if offered[methodLoad] {
		calls[methodLoad] = fmt.Sprintf(`{"sessionId":%q,"cwd":%s,"mcpServers":[]}`, nobody, quote(c.Cwd))
	}
	if offered[methodResume] {
		calls[methodResume] = fmt.Sprintf(`{"sessionId":%q,"cwd":%s}`, nobody, quote(c.Cwd))
	}
	for method, params := range calls {
		m := c.call(method, params)
		c.refused(m, method+" for an unknown session")
		if !p.Strict {
			continue
		}
		c.refused(m, method+" for an unknown session", acp.CodeResourceNotFound)
		if m.Error.Data["sessionId"] != nobody {
			c.failf("%s for an unknown session: data.sessionId is missing: %s", method, clip(m.Raw))
		}
	}
	c.fine()
}

// checkBlocks sends what an agent without a model may refuse, but never fail
// at: a refusal is a turn that ends, or -32602.
func checkBlocks(p *probe) {
	p.needs("OK", p.OK)
	c := p.ready()
	session := c.open()
	link := `{"type":"resource_link","name":"x","uri":"file:///nowhere/x"}`
	ok := `{"type":"text","text":` + quote(p.OK) + `}`
	for _, blocks := range []string{
		``, link, ok + `,` + link, ok + `,` + ok, `{"type":"text","text":""}`,
		`{"type":"image","data":"AAAA","mimeType":"image/png"}`,
		`{"type":"audio","data":"AAAA","mimeType":"audio/wav"}`,
		`{"type":"resource","resource":{"uri":"file:///x","text":"y"}}`,
	} {
		m, _ := c.answer(c.ask(methodPrompt, fmt.Sprintf(`{"sessionId":%s,"prompt":[%s]}`, quote(session), blocks)))
		if m.Error != nil {
			c.refused(m, "a prompt of the blocks ["+blocks+"]", acp.CodeInvalidParams)
			if blocks == link {
				c.failf("a resource link was refused as invalid: every agent takes it: %s", clip(m.Raw))
			}
		}
		c.fine()
	}
	c.completes(session, p.OK)
}

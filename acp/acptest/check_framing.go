package acptest

import (
	"fmt"
	"strings"

	"github.com/chant-acp/chant-acp/acp"
)

// framingChecks are about bytes, lines and sizes.
func framingChecks() []check {
	return []check{
		{"framing/blanks", "CRLF, blank lines and leading spaces are accepted", checkBlanks},
		{"framing/bom", "a byte order mark on the first line is accepted, or refused once", checkBOM},
		{"framing/pieces", "a line may arrive in pieces, and lines together", checkPieces},
		{"framing/two-on-a-line", "two objects on one line are one -32700", checkTwoOnALine},
		{"framing/pretty", "a message over several lines is refused line by line, and the connection goes on", checkPretty},
		{"framing/last-line", "a last line without a newline is read", checkLastLine},
		{"size/long", "lines up to the agent's limit are served, longer ones refused once, in bounded memory", checkLongLines},
		{"bytes/not-utf8", "a line that is not UTF-8 is -32700 with id null", checkNotUTF8},
		{"bytes/odd", "deep nesting, NUL and lone surrogates harm nothing", checkOddBytes},
	}
}

func unknown(id string) string { return request(id, "acptest/unknown", "{}") }

// served reads the answer to unknown.
func (c *client) served(id string) {
	m := c.nextResponse()
	if string(m.ID) != id {
		c.failf("the request %s should have been served; there came %s", id, clip(m.Raw))
	}
	c.refused(m, "an unknown method", acp.CodeMethodNotFound)
}

func checkBlanks(p *probe) {
	c := p.ready()
	c.raw(unknown("1") + "\r\n")
	c.served("1")
	c.raw("\n\r\n   \n\t\r\n")
	c.fine()
	c.raw("  \t" + unknown("2") + "  \n")
	c.served("2")
	c.raw(`{ "jsonrpc" : "2.0" , "method" : "acptest/unknown" , "id" : 3 }` + "\n")
	c.served("3")
	c.fine()
}

func checkBOM(p *probe) {
	c := p.dial()
	c.raw("\xef\xbb\xbf" + initLine + "\n")
	m := c.nextResponse()
	if m.Error != nil {
		c.refused(m, "a byte order mark", acp.CodeParseError)
		c.result(c.call(methodInitialize, initParams))
	}
	c.fine()
}

func checkPieces(p *probe) {
	c := p.ready()
	for i, text := 0, unknown("1"); i < len(text); i++ {
		c.raw(text[i : i+1])
	}
	c.raw("\n")
	c.served("1")
	var all strings.Builder
	const many = 100
	for i := range many {
		all.WriteString(unknown(fmt.Sprint(1000+i)) + "\n")
	}
	c.raw(all.String())
	open := map[string]bool{}
	for i := range many {
		open[fmt.Sprint(1000+i)] = true
	}
	for len(open) > 0 {
		m := c.nextResponse()
		if !open[string(m.ID)] {
			c.failf("unexpected: %s", clip(m.Raw))
		}
		delete(open, string(m.ID))
	}
	c.fine()
}

func checkTwoOnALine(p *probe) {
	c := p.ready()
	c.line(unknown("1") + unknown("2"))
	c.junk("two objects on one line", "null", acp.CodeParseError)
	c.fine()
}

func checkPretty(p *probe) {
	c := p.ready()
	fragments := []string{`{`, `  "jsonrpc": "2.0",`, `  "id": 1,`, `  "method": "acptest/unknown"`, `}`}
	c.raw(strings.Join(fragments, "\n") + "\n")
	id := c.newID()
	c.line(unknown(id))
	refused := 0
	for {
		m := c.nextResponse()
		if string(m.ID) == id {
			break
		}
		c.refused(m, "a piece of a message", acp.CodeParseError)
		refused++
	}
	if refused == 0 || p.Strict && refused != len(fragments) {
		c.failf("%d lines that are not JSON were refused %d times", len(fragments), refused)
	}
	c.fine()
}

func checkLastLine(p *probe) {
	p.strictly("a last line without a newline is read, and answered before the agent leaves")
	c := p.ready()
	id := c.newID()
	c.raw(unknown(id))
	c.CloseIn()
	answered := false
	for _, m := range c.drain() {
		if m.IsResponse() && string(m.ID) == id {
			answered = true
			continue
		}
		c.stateOnly(m)
	}
	if !answered {
		c.failf("the last line was not answered")
	}
	c.waitGone()
}

func checkLongLines(p *probe) {
	if p.MaxRead == 0 {
		panic(skipped{"Agent.MaxRead is not given"})
	}
	c := p.ready()
	padded := func(id string, size int) string {
		head := fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"acptest/unknown","params":{"x":"`, id)
		return head + strings.Repeat("x", size-len(head)-len(`"}}`)) + `"}}`
	}
	for i, size := range []int{64 << 10, 64<<10 + 1, 1 << 20, p.MaxRead} {
		if size > p.MaxRead {
			continue
		}
		id := fmt.Sprint(i)
		c.line(padded(id, size))
		c.served(id)
	}
	for range 2 {
		c.line(padded("9", p.MaxRead+1))
		c.junk("a line that is too long", "null", acp.CodeInvalidRequest, acp.CodeParseError)
		c.fine()
	}
	chunk := strings.Repeat("x", 1<<20)
	for written := 0; written < 4*p.MaxRead; written += len(chunk) {
		c.raw(chunk)
	}
	c.raw("\n")
	c.junk("a line that is much too long", "null", acp.CodeInvalidRequest, acp.CodeParseError)
	c.fine()
}

func checkNotUTF8(p *probe) {
	c := p.ready()
	for _, bad := range []string{"\xff", "\xc3", "\xed\xa0\x80", "\xc0\xaf"} {
		c.line(request(`"u"`, "acptest/unknown", `{"x":"`+bad+`"}`))
		m := c.nextResponse()
		if p.Strict && string(m.ID) != "null" {
			c.failf("a line that is not UTF-8 was read: %s", clip(m.Raw))
		}
		c.refused(m, "a line that is not UTF-8", acp.CodeParseError, acp.CodeMethodNotFound)
		c.fine()
	}
}

func checkOddBytes(p *probe) {
	c := p.ready()
	deep := strings.Repeat(`{"a":`, 20000) + "1" + strings.Repeat("}", 20000)
	c.line(request(`"deep"`, "acptest/unknown", deep))
	c.refused(c.nextResponse(), "deep nesting")
	c.fine()
	session := c.open()
	for _, text := range []string{`"\u0000"`, `"\ud800"`, `"\udc00x"`, `"\u001b]0;x\u0007"`, `"\u2028"`} {
		m, _ := c.answer(c.ask(methodPrompt, fmt.Sprintf(`{"sessionId":%s,"prompt":[{"type":"text","text":%s}]}`, quote(session), text)))
		if m.Error != nil {
			c.refused(m, "a prompt of "+text, acp.CodeInvalidParams, acp.CodeParseError)
		}
		c.fine()
	}
}

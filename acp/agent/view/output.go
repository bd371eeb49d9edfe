package view

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/internal/brief"
	"github.com/chant-acp/chant-acp/internal/termtext"
)

// message sends text of the agent's own.
func (v *View) message(text string, send func(acp.SessionUpdate)) {
	if text == "" {
		return
	}
	if v.client.Raw {
		text = unfenced(text)
	}
	for _, line := range v.client.Taken {
		text = strings.ReplaceAll(text, "`"+line+"`", "`/"+line+"`")
	}
	if v.inOutput && !strings.HasPrefix(text, "\n") {
		text = "\n" + text
	}
	if v.inOutput && !v.atStart {
		text = "\n" + text
	}
	v.inOutput = false
	v.text(text, send)
}

// text sends message text.
func (v *View) text(text string, send func(acp.SessionUpdate)) {
	for _, piece := range Pieces(text) {
		send(acp.AgentMessageChunk{Content: acp.Text(piece)})
	}
	v.textShown, v.atStart = true, strings.HasSuffix(text, "\n")
}

// outputMessage sends what a program printed as message text. A code block made of
// indented lines (CommonMark 0.31, 4.4) is never open: wherever the updates break
// off, what follows is not code.
func (v *View) outputMessage(text string, send func(acp.SessionUpdate)) {
	var b strings.Builder
	if !v.inOutput {
		if v.textShown && !v.atStart {
			b.WriteByte('\n')
		}
		if v.textShown && !v.client.Plain {
			b.WriteByte('\n') // indented lines right below a paragraph belong to it
		}
		v.inOutput, v.atStart = true, true
	}
	for line := range strings.Lines(text) {
		if v.atStart && line != "\n" && !v.client.Plain {
			b.WriteString("    ")
		}
		b.WriteString(line)
		v.atStart = strings.HasSuffix(line, "\n")
	}
	v.text(b.String(), send)
}

// cardBytes bounds what the content of one tool call holds of a program's output,
// in bytes of JSON. An update replaces the content, so all of it is sent each time.
const cardBytes = 16 << 10

// card is what a program printed as the content of its tool call. A long output
// goes on in further calls, which are only there to hold it.
type card struct {
	text   []byte // of the last call
	size   int    // of text as JSON
	count  int    // calls that are full
	first  []byte // the text of the first call, once it is full
	unsent bool   // text holds more than was sent
}

// outputCard shows what a program printed as the content of its call.
func (v *View) outputCard(c *shownCall, text string, send func(acp.SessionUpdate)) {
	n := JSONLen(text)
	if c.size+n > cardBytes && len(c.text) > 0 {
		if c.count == 0 {
			c.first = slices.Clone(c.text)
			v.sendCard(c, send)
		} else {
			v.fillCard(c, send)
		}
		c.count++
		c.text, c.size = c.text[:0], 0
	}
	c.text, c.size, c.unsent = append(c.text, text...), c.size+n, true
	if !v.past && !v.client.LastOnly {
		v.sendCard(c, send)
	}
}

// sendCard sends what was not sent of the output so far.
func (v *View) sendCard(c *shownCall, send func(acp.SessionUpdate)) {
	if !c.unsent {
		return
	}
	c.unsent = false
	id := c.CallID
	if c.count > 0 {
		v.announceCard(c, send)
		id = c.continued
	}
	send(acp.ToolCallUpdate{ToolCallID: id, Status: acp.ToolInProgress, Content: []acp.ToolCallContent{v.block(c.text)}})
}

// announceCard tells of the call that goes on with the output.
func (v *View) announceCard(c *shownCall, send func(acp.SessionUpdate)) {
	if id := fmt.Sprintf("%s/%d", c.CallID, c.count+1); id != c.continued {
		c.continued = id
		send(acp.ToolCall{ToolCallID: id, Title: continuedTitle(c.Call.Title, c.count+1), ToolKind: acp.ToolExecute, Status: acp.ToolInProgress})
	}
}

// fillCard ends a call that is only there to hold output.
func (v *View) fillCard(c *shownCall, send func(acp.SessionUpdate)) {
	unsent := c.unsent
	v.announceCard(c, send)
	u := acp.ToolCallUpdate{ToolCallID: c.continued, Status: acp.ToolCompleted}
	if unsent || v.client.LastOnly {
		u.Content = []acp.ToolCallContent{v.block(c.text)}
	}
	c.unsent = false
	send(u)
}

func continuedTitle(title string, n int) string {
	return fmt.Sprintf("%s (output, part %d)", brief.Runes(title, TitleRunes-len(" (output, part 9999)")), n)
}

// addOutput puts what a call printed into its last update, where that was not sent
// or would be replaced.
func (v *View) addOutput(u *acp.ToolCallUpdate, c *shownCall, r ResultEvent, send func(acp.SessionUpdate)) {
	if len(c.text) == 0 {
		return
	}
	if c.count > 0 {
		v.fillCard(c, send)
		c.text, c.size = c.first, JSONLen(string(c.first))
	}
	size := c.size + JSONLen(r.Content) + len(r.RawOutput)
	if len(r.Locations) > 0 {
		size += FieldBytes // FieldBytes bounds the paths
	}
	fits := v.client.LastOnly || size <= PieceBytes
	switch {
	case !fits: // what was sent of the output stays
		v.sendCard(c, send)
		u.Content = nil
	case c.unsent || v.client.LastOnly || r.Content != "":
		u.Content = append([]acp.ToolCallContent{v.block(c.text)}, u.Content...)
	}
}

// block is output as a content: a code block, but where that would be shown raw or
// is not wanted.
func (v *View) block(text []byte) acp.ToolCallContent {
	if v.client.Raw || v.client.Plain {
		return acp.ToolText(string(text))
	}
	return acp.ToolText(FencedAs(language(text), string(text)))
}

// language is the info string of a code block with what a program printed.
func language(text []byte) string {
	s := string(text[:min(len(text), 1<<10)])
	first, rest, _ := strings.Cut(s, "\n")
	second, third, _ := strings.Cut(rest, "\n")
	if strings.HasPrefix(first, "diff --git ") ||
		strings.HasPrefix(first, "--- ") && strings.HasPrefix(second, "+++ ") && strings.HasPrefix(third, "@@ ") {
		return "diff"
	}
	return ""
}

// unfenced is text without the fences of code blocks, whose lines are indented
// instead.
func unfenced(text string) string {
	var b strings.Builder
	fence := ""
	for line := range strings.Lines(text) {
		bare := strings.TrimSuffix(line, "\n")
		ticks := bare[:len(bare)-len(strings.TrimLeft(bare, "`"))]
		switch {
		case fence == "" && len(ticks) >= 3:
			fence = ticks
		case fence == "":
			b.WriteString(line)
		case bare == fence:
			fence = ""
		case bare == "":
			b.WriteString(line)
		default:
			b.WriteString("    " + line)
		}
	}
	return b.String()
}

// keptTerminal shows as text what was kept for a terminal.
func (v *View) keptTerminal(e Event, send func(acp.SessionUpdate)) {
	if v.lines == nil {
		v.lines, v.linesOf = new(termtext.Lines), e
	}
	var text strings.Builder
	for raw := []byte(e.Text); ; {
		line, n := v.lines.Next(raw)
		if line == nil {
			break
		}
		text.Write(line)
		raw = raw[n:]
	}
	v.plain(e, text.String(), send)
}

// closeText ends what was kept of an output.
func (v *View) closeText(send func(acp.SessionUpdate)) {
	if text := v.fence.end(); text != "" {
		v.text(text, send)
	}
	if v.lines == nil {
		return
	}
	rest := v.lines.End()
	if v.lines = nil; len(rest) > 0 {
		v.plain(v.linesOf, string(rest)+"\n", send)
	}
}

// plain shows plain lines of output.
func (v *View) plain(e Event, text string, send func(acp.SessionUpdate)) {
	switch c := v.calls[e.CallID]; {
	case text == "":
	case c != nil && v.client.ownOutput():
		v.outputCard(c, text, send)
	default:
		v.outputMessage(text, send)
	}
}

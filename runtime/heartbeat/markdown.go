package heartbeat

import (
	"cmp"
	"strings"
)

// A block is one fenced code block.
type block struct {
	info  string // the info string, trimmed
	line  int    // of the opening fence, from 1
	lines []textLine
}

type textLine struct {
	number int // from 1
	text   string
}

// fencedBlocks finds the fenced code blocks of a Markdown document, as
// CommonMark 0.31.2 has them (4.5). To know what is one, it follows the blocks
// that can hold or hide a fence: block quotes, list items, paragraphs, indented
// code and HTML. Indentation inside of a block is not kept. tooDeep is the line in
// which they are nested deeper than is followed, or 0.
func fencedBlocks(text string) (list []block, tooDeep int) {
	var s scanner
	for number := 1; text != "" && s.tooDeep == 0; number++ {
		line, rest := cutLine(text)
		s.line(number, line)
		text = rest
	}
	return s.blocks, s.tooDeep
}

// cutLine cuts the first line off, whatever ends it (CommonMark 2.1: LF, CR, or
// CR LF).
func cutLine(text string) (line, rest string) {
	i := strings.IndexAny(text, "\r\n")
	if i < 0 {
		return text, ""
	}
	line, rest = text[:i], text[i+1:]
	if text[i] == '\r' {
		rest = strings.TrimPrefix(rest, "\n")
	}
	return line, rest
}

// leaf is what the last line belongs to, in the innermost container.
type leaf int

const (
	none leaf = iota // nothing that goes on: a blank line, a heading, indented code
	paragraph
	fence
	html
)

// A container is an open block quote or list item.
type container struct {
	item   bool
	indent int  // of an item: columns up to its content
	filled bool // of an item: it holds something
}

type scanner struct {
	open []container
	leaf leaf

	fenceChar byte // of the open fence
	fenceLen  int
	wanted    bool     // the open fence is kept
	html      htmlKind // of the open HTML block

	blocks  []block
	tooDeep int // the line of the first container that is not followed, or 0
}

// maxNesting bounds how deep containers are followed, and with that the time that
// a document takes.
const maxNesting = 64

// line takes the next line of the document (CommonMark, appendix, phase 1).
func (s *scanner) line(number int, text string) {
	c := cursor{text: text}
	matched := s.match(&c)
	whole := matched == len(s.open)
	if whole && s.leaf == fence {
		s.inFence(number, &c)
		return
	}
	if whole && s.leaf == html {
		s.inHTML(&c)
		return
	}
	interrupts := whole && s.leaf == paragraph && !c.blank()
	for s.container(&c, &matched, interrupts) {
		interrupts = false
		if matched > maxNesting {
			s.tooDeep = cmp.Or(s.tooDeep, number)
			break
		}
	}
	fresh := matched == len(s.open) // nothing is left open that the line is not in
	if s.leafStart(number, &c, matched, interrupts) {
		return
	}
	if !fresh && !c.blank() && s.leaf == paragraph {
		return // a lazy continuation line
	}
	s.closeTo(matched)
	switch {
	case c.blank():
		s.leaf = none
		return
	case s.leaf != paragraph && c.indent() >= 4:
		s.leaf = none
	default:
		s.leaf = paragraph
	}
	s.fill()
}

// match takes what continues the open containers off the line and returns how
// many of them it is in.
func (s *scanner) match(c *cursor) int {
	for i, o := range s.open {
		switch {
		case !o.item:
			if c.indent() > 3 || c.after() != '>' {
				return i
			}
			c.quote()
		case c.blank():
			if !o.filled { // an item begins with one blank line at most
				return i
			}
			c.skip(c.indent())
		case c.indent() >= o.indent:
			c.skip(o.indent)
		default:
			return i
		}
	}
	return len(s.open)
}

// container opens a block quote or list item that begins here, inside of the
// first *matched containers, and says whether there was one.
func (s *scanner) container(c *cursor, matched *int, interrupts bool) bool {
	if c.indent() > 3 {
		return false
	}
	if c.after() == '>' {
		c.quote()
		s.push(matched, container{})
		return true
	}
	if isBreak(c.trimmed()) {
		return false
	}
	indent, ok := c.marker(interrupts)
	if ok {
		s.push(matched, container{item: true, indent: indent})
	}
	return ok
}

func (s *scanner) push(matched *int, o container) {
	s.closeTo(*matched)
	s.leaf = none
	s.fill()
	s.open = append(s.open, o)
	*matched = len(s.open)
}

// closeTo closes all but the first n containers, and with them what they hold.
func (s *scanner) closeTo(n int) {
	if n < len(s.open) {
		s.open, s.leaf = s.open[:n], none
	}
}

// fill notes that the innermost container holds something.
func (s *scanner) fill() {
	if n := len(s.open); n > 0 {
		s.open[n-1].filled = true
	}
}

// leafStart opens what begins here and is neither paragraph nor indented code.
func (s *scanner) leafStart(number int, c *cursor, matched int, interrupts bool) bool {
	if c.indent() > 3 || c.blank() {
		return false
	}
	text := c.trimmed()
	next := none
	if char, length, info, ok := openingFence(text); ok {
		next = fence
		s.fenceChar, s.fenceLen = char, length
		s.wanted = isChant(info)
		if s.wanted {
			s.blocks = append(s.blocks, block{info: info, line: number})
		}
	} else if kind := htmlStart(text); kind != notHTML && (kind != htmlTag || s.leaf != paragraph) {
		next = html
		s.html = kind
	} else if !isHeading(text) && !isBreak(text) && !(interrupts && isUnderline(text)) {
		return false
	}
	s.closeTo(matched)
	s.leaf = next
	s.fill()
	if next == html && s.html.ends(text) {
		s.leaf = none
	}
	return true
}

func (s *scanner) inFence(number int, c *cursor) {
	if c.indent() <= 3 && closesFence(c.trimmed(), s.fenceChar, s.fenceLen) {
		s.leaf = none
		return
	}
	if s.wanted {
		b := &s.blocks[len(s.blocks)-1]
		b.lines = append(b.lines, textLine{number, strings.Trim(c.rest(), " \t")})
	}
}

func (s *scanner) inHTML(c *cursor) {
	if s.html.ends(c.rest()) {
		s.leaf = none
	}
}

// openingFence reads an opening fence, the indentation being cut off.
func openingFence(text string) (char byte, length int, info string, ok bool) {
	if text == "" || text[0] != '`' && text[0] != '~' {
		return 0, 0, "", false
	}
	char = text[0]
	info = strings.TrimLeft(text, text[:1])
	length = len(text) - len(info)
	if length < 3 || char == '`' && strings.Contains(info, "`") {
		return 0, 0, "", false
	}
	return char, length, strings.Trim(info, " \t"), true
}

func closesFence(text string, char byte, length int) bool {
	rest := strings.TrimLeft(text, string(char))
	return len(text)-len(rest) >= length && strings.Trim(rest, " \t") == ""
}

// isHeading says whether a line is an ATX heading (4.2).
func isHeading(text string) bool {
	rest := strings.TrimLeft(text, "#")
	n := len(text) - len(rest)
	return n >= 1 && n <= 6 && (rest == "" || rest[0] == ' ' || rest[0] == '\t')
}

// isUnderline says whether a line makes a heading of the paragraph above (4.3).
func isUnderline(text string) bool {
	text = strings.TrimRight(text, " \t")
	return text != "" && (strings.Trim(text, "=") == "" || strings.Trim(text, "-") == "")
}

// isBreak says whether a line is a thematic break (4.1).
func isBreak(text string) bool {
	if text == "" || !strings.Contains("*-_", text[:1]) {
		return false
	}
	return strings.Count(text, text[:1]) >= 3 && strings.Trim(text, text[:1]+" \t") == ""
}

package heartbeat

import "strings"

// A cursor is a place in a line. Columns count, as tabs stand for spaces up to
// the next multiple of 4 (CommonMark 2.2), and one of which a container took a
// part is still there with the rest.
type cursor struct {
	text   string
	pos    int
	column int
	partly int // columns left of a tab at pos-1
}

const tabStop = 4

// indent counts the columns of blanks from here.
func (c *cursor) indent() int {
	n := c.partly
	for _, b := range []byte(c.text[c.pos:]) {
		switch b {
		case ' ':
			n++
		case '\t':
			n += tabStop - (c.column+n)%tabStop
		default:
			return n
		}
	}
	return n
}

// skip goes on by n columns, of which the line has at least so many in blanks.
func (c *cursor) skip(n int) {
	for ; n > 0; n-- {
		if c.partly > 0 {
			c.partly--
			c.column++
			continue
		}
		if c.text[c.pos] == '\t' {
			c.partly = tabStop - c.column%tabStop - 1
		}
		c.pos++
		c.column++
	}
}

// rest is the line from here on, trimmed is without the blanks before it.
func (c *cursor) rest() string { return c.text[c.pos:] }

func (c *cursor) trimmed() string { return strings.TrimLeft(c.rest(), " \t") }

func (c *cursor) blank() bool { return c.trimmed() == "" }

// after is the first byte behind the blanks; 0 at the end of the line.
func (c *cursor) after() byte {
	if text := c.trimmed(); text != "" {
		return text[0]
	}
	return 0
}

// take goes on by n bytes that are no blanks.
func (c *cursor) take(n int) {
	c.pos += n
	c.column += n
}

// quote takes the marker of a block quote, with the blank that belongs to it
// (CommonMark 5.1).
func (c *cursor) quote() {
	c.skip(c.indent())
	c.take(1)
	if c.indent() > 0 {
		c.skip(1)
	}
}

// marker takes the marker of a list item (CommonMark 5.2) and returns how far
// its content is indented. Where it would interrupt a paragraph, only an item
// with content is one, and of numbered ones only the first.
func (c *cursor) marker(interrupts bool) (indent int, ok bool) {
	width := markerWidth(c.trimmed(), interrupts)
	if width == 0 {
		return 0, false
	}
	if after := c.trimmed()[width:]; interrupts && strings.Trim(after, " \t") == "" {
		return 0, false
	}
	before := c.indent()
	c.skip(before)
	c.take(width)
	blanks := c.indent()
	if blanks > 4 || c.blank() {
		blanks = min(1, blanks) // the rest is the content's, or nobody's
		c.skip(blanks)
		return before + width + 1, true
	}
	c.skip(blanks)
	return before + width + blanks, true
}

// markerWidth is the length of the list marker that text begins with, or 0.
func markerWidth(text string, interrupts bool) int {
	digits := len(text) - len(strings.TrimLeft(text, "0123456789"))
	width := digits + 1
	switch {
	case width > len(text):
		return 0
	case digits == 0 && !strings.Contains("-+*", text[:1]):
		return 0
	case digits > 0 && (digits > 9 || !strings.Contains(".)", text[digits:width])):
		return 0
	case digits > 0 && interrupts && text[:digits] != "1":
		return 0
	case width < len(text) && text[width] != ' ' && text[width] != '\t':
		return 0
	}
	return width
}

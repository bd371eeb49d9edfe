// Package termtext turns the bytes that programs write to a terminal into
// text: escape sequences are recognised (ECMA-48, and the strings that xterm
// added), ill-formed UTF-8 is replaced, and lines are edited the way a terminal
// edits them. Everything works on a stream cut anywhere: any chunking of the
// same bytes gives the same result, and the state kept between two chunks is
// bounded whatever a program prints.
//
// A [Decoder] gives tokens. [Lines] makes plain lines of them, [Stream] keeps what a client's
// terminal may show, and [Clean] is Lines for a text that is whole.
package termtext

import "unicode/utf8"

const (
	bel = 0x07
	can = 0x18
	sub = 0x1a
	esc = 0x1b
	del = 0x7f
)

// Limits after which an escape sequence that does not end is given up, so that
// a stray introducer can't swallow a program's output for ever. What was eaten
// so far stays eaten; what follows is text again.
const (
	maxIntermediates = 16       // bytes between ESC and the final byte
	maxCSI           = 256      // parameter and intermediate bytes of a control sequence
	maxString        = 64 << 10 // bytes of an OSC, DCS, APC, PM or SOS string
	keptCSI          = 64       // a longer control sequence is never handed on
	maxRun           = 4 << 10  // bytes of one Text token
)

const replacement = "\uFFFD"

// Kind says what a Token is.
type Kind uint8

const (
	// None: the input is used up, nothing more can be said without the rest.
	None Kind = iota
	// Text is well-formed UTF-8 without controls, except tabs.
	Text
	// Control is one of line feed, carriage return, backspace.
	Control
	// CSI is a whole control sequence, from ESC [ to its final byte.
	CSI
)

// Token is one unit of terminal output. Bytes is valid until the next call of
// the Decoder, and only while the input it was cut from is.
type Token struct {
	Kind  Kind
	Bytes []byte
}

type state uint8

const (
	ground state = iota
	escaped
	intermediate
	csi
	osc
	otherString
)

// Decoder splits a stream of terminal bytes into tokens. The zero value is
// ready. A Decoder is a plain value: a copy is a snapshot that can be put back.
//
// Strings (titles, clipboard, DCS, APC and the like), escape sequences other
// than CSI, C0 controls other than tab, line feed, carriage return and
// backspace, DEL, and the C1 controls U+0080 to U+009F are dropped. A run of
// ill-formed bytes becomes one U+FFFD; the start of a rune that may still be
// completed is held back.
type Decoder struct {
	state state
	part  [utf8.UTFMax]byte // the start of a rune whose end has not come yet
	npart int
	bad   bool // the last thing seen was ill-formed: the run has its U+FFFD
	seq   [keptCSI]byte
	count int // bytes of the current sequence since its introducer
}

// Next returns the first token of p and how many bytes of p it and what was
// dropped before it took. With Kind None all of p is used. A token that is a
// part of p ends at p[n].
func (d *Decoder) Next(p []byte) (t Token, n int) {
	for n < len(p) {
		var k int
		if d.state == ground {
			t, k = d.text(p[n:])
		} else {
			t, k = d.sequence(p[n:])
		}
		n += k
		if t.Kind != None {
			return t, n
		}
	}
	return Token{}, n
}

// Flush ends the stream: a rune that was never completed becomes U+FFFD, an
// unfinished escape sequence is dropped.
func (d *Decoder) Flush() Token {
	held := d.npart > 0
	d.state, d.npart = ground, 0
	if !held {
		return Token{}
	}
	return d.illFormed()
}

// text takes the beginning of p outside of escape sequences, and returns how much it
// took.
func (d *Decoder) text(p []byte) (Token, int) {
	if d.npart > 0 {
		return d.completeRune(p)
	}
	if n := textRun(p); n > 0 {
		d.bad = false
		return Token{Text, p[:n]}, n
	}
	c := p[0]
	if c < utf8.RuneSelf {
		d.bad = false
		switch c {
		case esc:
			d.state = escaped
		case '\n', '\r', '\b':
			return Token{Control, p[:1]}, 1
		}
		return Token{}, 1
	}
	if !utf8.FullRune(p) {
		d.npart = copy(d.part[:], p)
		return Token{}, len(p)
	}
	r, size := utf8.DecodeRune(p)
	if r == utf8.RuneError {
		return d.illFormed(), 1
	}
	d.bad = false // a C1 control
	return Token{}, size
}

// textRun is the length of the text at the start of p, at most maxRun.
func textRun(p []byte) int {
	if len(p) > maxRun {
		p = p[:maxRun]
	}
	i := 0
	for i < len(p) {
		c := p[i]
		if c < utf8.RuneSelf {
			if c < ' ' && c != '\t' || c == del {
				return i
			}
			i++
			continue
		}
		r, size := utf8.DecodeRune(p[i:])
		if r == utf8.RuneError && size == 1 || r < 0xa0 {
			return i
		}
		i += size
	}
	return i
}

func (d *Decoder) completeRune(p []byte) (Token, int) {
	held := d.npart
	k := copy(d.part[held:], p)
	b := d.part[:held+k]
	if !utf8.FullRune(b) {
		d.npart += k
		return Token{}, k
	}
	d.npart = 0
	r, size := utf8.DecodeRune(b)
	if r == utf8.RuneError && size == 1 {
		// What was held can't be continued by p, which is looked at afresh.
		return d.illFormed(), 0
	}
	d.bad = false
	if r < 0xa0 {
		return Token{}, size - held
	}
	return Token{Text, d.part[:size]}, size - held
}

func (d *Decoder) illFormed() Token {
	if d.bad {
		return Token{}
	}
	d.bad = true
	return Token{Text, []byte(replacement)}
}

// sequence takes bytes of an escape sequence. A byte that can't belong to it
// ends it unused and is looked at again as text.
func (d *Decoder) sequence(p []byte) (Token, int) {
	c := p[0]
	switch d.state {
	case escaped:
		return Token{}, d.introducer(c)
	case intermediate:
		d.count++
		switch {
		case c >= 0x20 && c <= 0x2f && d.count < maxIntermediates:
			return Token{}, 1
		case c >= 0x30 && c <= 0x7e:
			d.state = ground
			return Token{}, 1
		}
		d.state = ground
		return Token{}, 0
	case csi:
		return d.controlSequence(c)
	default:
		return Token{}, d.skipString(p)
	}
}

func (d *Decoder) introducer(c byte) int {
	d.count = 0
	switch {
	case c == esc:
	case c == '[':
		d.state = csi
	case c == ']':
		d.state = osc
	case c == 'P' || c == 'X' || c == '^' || c == '_':
		d.state = otherString
	case c >= 0x20 && c <= 0x2f:
		d.state = intermediate
	case c >= 0x30 && c <= 0x7e:
		d.state = ground
	default:
		d.state = ground
		return 0
	}
	return 1
}

// controlSequence takes one byte of a CSI sequence. One that is too long ends there.
func (d *Decoder) controlSequence(c byte) (Token, int) {
	inside := c >= 0x20 && c <= 0x3f
	final := c >= 0x40 && c <= 0x7e
	if !final && (!inside || d.count == maxCSI) {
		d.state = ground
		return Token{}, 0
	}
	const introducer = 2
	if at := introducer + d.count; at < len(d.seq) {
		d.seq[at] = c
	}
	d.count++
	if !final {
		return Token{}, 1
	}
	d.state = ground
	size := introducer + d.count
	if size > len(d.seq) {
		return Token{}, 1
	}
	d.seq[0], d.seq[1] = esc, '['
	return Token{CSI, d.seq[:size]}, 1
}

// skipString drops bytes of a string. It ends at ESC (which also begins the
// string terminator ESC \), CAN or SUB, an OSC at BEL too. An OSC is given up
// at a line feed: real ones hold none, and a lost terminator then costs a line.
func (d *Decoder) skipString(p []byte) int {
	for i, c := range p {
		switch {
		case c == esc:
			d.state = escaped
			return i + 1
		case c == can, c == sub, c == bel && d.state == osc:
			d.state = ground
			return i + 1
		case c == '\n' && d.state == osc, d.count == maxString:
			d.state = ground
			return i
		}
		d.count++
	}
	return len(p)
}

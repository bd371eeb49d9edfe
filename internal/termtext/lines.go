package termtext

import "unicode/utf8"

// MaxLine is the length in bytes after which Lines folds a line.
const MaxLine = 4 << 10

const wholeLine = int(^uint(0) >> 1)

// Lines turns terminal output into plain lines. The zero value is ready.
//
//   - Escape sequences are removed.
//   - A carriage return puts the next text in the place of the unfinished line,
//     as progress bars want it; before a line feed it means nothing (CRLF). So
//     does a move of the cursor to the first column (CSI G).
//   - A backspace puts the next text in the place of the rune before it, which
//     undoes the overstrike of manual pages and turns spinners.
//   - A line longer than MaxLine bytes goes on in a new one.
//
// Text handed out by MarkSent is never taken back: where a carriage return would
// replace it, the replacement begins a new line.
type Lines struct {
	dec   Decoder
	line  []byte // the unfinished line, without what was sent
	sent  int    // bytes of the unfinished line that were sent
	back  int    // runes that the next text replaces, or wholeLine
	ended bool   // line was returned whole and is reused by the next call
}

// Next takes input up to the end of the next line and returns the line with its
// line feed, without what MarkSent already took of it, and how many bytes of p
// were used. It returns nil when p is used up. The line is valid until the next
// call of any method.
func (l *Lines) Next(p []byte) (line []byte, n int) {
	l.reuse()
	for n < len(p) {
		before := l.dec
		t, k := l.dec.Next(p[n:])
		switch t.Kind {
		case Text:
			took, full := l.put(t.Bytes)
			if full && took == 0 {
				l.dec = before
				return l.end(), n
			}
			n += k - (len(t.Bytes) - took)
			if full {
				return l.end(), n
			}
		case Control:
			n += k
			switch t.Bytes[0] {
			case '\n':
				return l.end(), n
			case '\r':
				l.back = wholeLine
			case '\b':
				if l.back < wholeLine {
					l.back++
				}
			}
		case CSI:
			n += k
			if toFirstColumn(t.Bytes) {
				l.back = wholeLine
			}
		default:
			n += k
		}
	}
	return nil, n
}

// Pending is the part of the unfinished line that was not sent; it is valid
// until the next call of any method.
func (l *Lines) Pending() []byte {
	l.reuse()
	return l.line
}

// MarkSent says that Pending has been shown and can't be changed any more.
func (l *Lines) MarkSent() {
	l.reuse()
	l.sent += len(l.line)
	l.line = l.line[:0]
}

// Break makes what follows begin a new line. What is pending is dropped, so it
// has to be taken first.
func (l *Lines) Break() {
	l.reuse()
	l.line, l.sent, l.back = l.line[:0], 0, 0
}

// End ends the input and returns what is pending, without a line feed. A rune
// that the end cut short is U+FFFD if the line has room for it, so that End
// never returns more than one line.
func (l *Lines) End() []byte {
	l.reuse()
	l.put(l.dec.Flush().Bytes)
	return l.line
}

func (l *Lines) reuse() {
	if l.ended {
		l.line, l.ended = l.line[:0], false
	}
}

func (l *Lines) end() []byte {
	l.line = append(l.line, '\n')
	l.sent, l.back, l.ended = 0, 0, true
	return l.line
}

// put adds the part of text that fits; full says that the line has to end first
// for the rest.
func (l *Lines) put(text []byte) (took int, full bool) {
	if len(text) == 0 {
		return 0, false
	}
	if l.back == wholeLine && l.sent > 0 {
		l.line = l.line[:0]
		return 0, true
	}
	l.erase()
	took = runePrefix(text, MaxLine-l.sent-len(l.line))
	l.line = append(l.line, text[:took]...)
	return took, took < len(text)
}

func (l *Lines) erase() {
	if l.back == wholeLine {
		l.line = l.line[:0]
	}
	for ; l.back > 0 && len(l.line) > 0; l.back-- {
		_, size := utf8.DecodeLastRune(l.line)
		l.line = l.line[:len(l.line)-size]
	}
	l.back = 0
}

// runePrefix is the length of the longest prefix of text, which is well-formed,
// that has at most limit bytes and ends with a whole rune.
func runePrefix(text []byte, limit int) int {
	if len(text) <= limit {
		return len(text)
	}
	n := max(limit, 0)
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return n
}

func toFirstColumn(seq []byte) bool {
	switch string(seq[2:]) {
	case "G", "0G", "1G":
		return true
	}
	return false
}

package termtext

// Stream passes terminal output on to a client's terminal: text, tabs, line
// feeds, carriage returns, backspaces, and of the escape sequences only those
// that colour (SGR), move the cursor or erase. Whatever could set a title or
// the clipboard, change a mode, or make the terminal answer is removed. The zero
// value is ready.
type Stream struct {
	dec   Decoder
	buf   []byte
	cr    bool // a carriage return was read and is not in buf yet
	ended bool // buf was returned and is reused by the next call
}

// Next takes input up to the next place where the output can be cut with sense:
// after a line feed, after a carriage return (that of a CRLF is never parted
// from its line feed), or after about MaxLine bytes, never inside a rune or an
// escape sequence. It returns that output and how many bytes of p were used, nil
// when p is used up. The output is valid until the next call of any method.
func (s *Stream) Next(p []byte) (out []byte, n int) {
	s.reuse()
	for n < len(p) {
		before := s.dec
		t, k := s.dec.Next(p[n:])
		if t.Kind == CSI && !harmless(t.Bytes) {
			t = Token{}
		}
		newline := t.Kind == Control && t.Bytes[0] == '\n'
		if t.Kind != None && !newline && (s.cr || len(s.buf) > 0 && len(s.buf)+len(t.Bytes) > MaxLine) {
			s.dec = before
			return s.end(), n
		}
		n += k
		switch {
		case newline:
			s.putCR()
			s.buf = append(s.buf, '\n')
			return s.end(), n
		case t.Kind == Control && t.Bytes[0] == '\r':
			s.cr = true
		default:
			s.buf = append(s.buf, t.Bytes...)
		}
	}
	return nil, n
}

// Pending is what was read and not returned yet, but for a carriage return that
// may be the first half of a CRLF; it is valid until the next call of any method.
func (s *Stream) Pending() []byte {
	s.reuse()
	return s.buf
}

// MarkSent says that Pending has been shown.
func (s *Stream) MarkSent() {
	s.reuse()
	s.buf = s.buf[:0]
}

// Break does what MarkSent does: a terminal needs no new line.
func (s *Stream) Break() { s.MarkSent() }

// End ends the input and returns what is left of it.
func (s *Stream) End() []byte {
	s.reuse()
	s.putCR()
	s.buf = append(s.buf, s.dec.Flush().Bytes...)
	return s.buf
}

func (s *Stream) reuse() {
	if s.ended {
		s.buf, s.ended = s.buf[:0], false
	}
}

func (s *Stream) end() []byte {
	s.putCR()
	s.ended = true
	return s.buf
}

func (s *Stream) putCR() {
	if s.cr {
		s.buf = append(s.buf, '\r')
		s.cr = false
	}
}

// harmless tells whether a control sequence only colours, moves the cursor or
// erases (ECMA-48 8.3; s and u save and restore the cursor). Sequences with
// private parameters or intermediate bytes are modes, queries and extensions.
func harmless(seq []byte) bool {
	params, final := seq[2:len(seq)-1], seq[len(seq)-1]
	for _, c := range params {
		if c < '0' || c > ';' {
			return false
		}
	}
	switch final {
	case 'm', // colour
		'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'I', 'Z', 'a', 'd', 'e', 'f', '`', // cursor
		'J', 'K', 'X': // erase
		return true
	case 's', 'u':
		return len(params) == 0
	}
	return false
}

package agent

// shapeLast keeps the last shapeTail bytes of a stream. It holds up to twice as
// many, so that each byte is moved at most twice and the tail stays in one piece.
type shapeLast struct{ buf []byte }

func (l *shapeLast) write(p []byte) {
	if len(p) >= shapeTail {
		l.buf = append(l.buf[:0], p[len(p)-shapeTail:]...)
		return
	}
	if len(l.buf)+len(p) > 2*shapeTail {
		n := copy(l.buf, l.buf[len(l.buf)-shapeTail:])
		l.buf = l.buf[:n]
	}
	l.buf = append(l.buf, p...)
}

// bytes is the tail; it is valid until the next write.
func (l *shapeLast) bytes() []byte { return l.buf[max(0, len(l.buf)-shapeTail):] }

package shape

// tail keeps the last maxTail bytes of a stream. It holds up to twice as
// many, so that each byte is moved at most twice and the tail stays in one piece.
type tail struct{ buf []byte }

func (l *tail) write(p []byte) {
	if len(p) >= maxTail {
		l.buf = append(l.buf[:0], p[len(p)-maxTail:]...)
		return
	}
	if len(l.buf)+len(p) > 2*maxTail {
		n := copy(l.buf, l.buf[len(l.buf)-maxTail:])
		l.buf = l.buf[:n]
	}
	l.buf = append(l.buf, p...)
}

// bytes is the tail; it is valid until the next write.
func (l *tail) bytes() []byte { return l.buf[max(0, len(l.buf)-maxTail):] }

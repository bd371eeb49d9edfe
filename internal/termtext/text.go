package termtext

import (
	"bytes"
	"unicode/utf8"
)

// Clean is the whole of raw as Lines shows it.
func Clean(raw []byte) []byte {
	var l Lines
	var out []byte
	for {
		line, n := l.Next(raw)
		if line == nil {
			return append(out, l.End()...)
		}
		out = append(out, line...)
		raw = raw[n:]
	}
}

// LastLines is the end of raw as plain text: at most n lines and limit bytes,
// without blank lines after it and without a last line feed.
func LastLines(raw []byte, n, limit int) string {
	text := bytes.TrimRight(Clean(raw), " \t\n")
	from := len(text)
	for lines := 0; lines < n && from >= 0; lines++ {
		from = bytes.LastIndexByte(text[:from], '\n')
	}
	text = text[min(from+1, len(text)):]
	if over := len(text) - limit; over > 0 {
		text = AlignStart(text[over:])
	}
	return string(text)
}

// AlignStart drops from the start of a piece cut out of a stream what belongs to
// something that began before it: the rest of a line, if it ends within MaxLine
// bytes and something follows it, else the rest of a rune.
func AlignStart(p []byte) []byte {
	if i := bytes.IndexByte(p[:min(len(p), MaxLine)], '\n'); i >= 0 && i+1 < len(p) {
		return p[i+1:]
	}
	for i := 0; i < len(p) && i < utf8.UTFMax; i++ {
		if utf8.RuneStart(p[i]) {
			return p[i:]
		}
	}
	return p
}

// jsonExtra is what a byte takes in a JSON string more than itself, as
// encoding/json writes it; that of 0xe2 depends on what follows.
var jsonExtra = [256]uint8{
	0: 5, 1: 5, 2: 5, 3: 5, 4: 5, 5: 5, 6: 5, 7: 5, '\b': 1, '\t': 1, '\n': 1, 11: 5, '\f': 1, '\r': 1, 14: 5, 15: 5,
	16: 5, 17: 5, 18: 5, 19: 5, 20: 5, 21: 5, 22: 5, 23: 5, 24: 5, 25: 5, 26: 5, 27: 5, 28: 5, 29: 5, 30: 5, 31: 5,
	'"': 1, '\\': 1, 0xe2: 3,
}

// JSONLen is the number of bytes that text takes inside a JSON string as
// encoding/json writes it with SetEscapeHTML(false), quotes not counted.
func JSONLen(text []byte) int {
	n := len(text)
	for i, c := range text {
		extra := jsonExtra[c]
		if extra == 0 || c == 0xe2 && !isLineSeparator(text[i:]) {
			continue
		}
		n += int(extra)
	}
	return n
}

// isLineSeparator: U+2028 and U+2029 are escaped because JavaScript's source
// text once could not hold them.
func isLineSeparator(p []byte) bool {
	return len(p) >= 3 && p[1] == 0x80 && p[2]&^1 == 0xa8
}

package acp

import (
	"bytes"
	"strconv"
)

// loneSurrogate returns the first escape of a JSON text that is half of a
// surrogate pair without the other half, such as \ud800, or "". RFC 8259,
// section 8.2, leaves open what such a text means; encoding/json reads U+FFFD,
// so that a command would get something else than was sent.
func loneSurrogate(b []byte) string {
	for {
		i := bytes.IndexByte(b, '\\')
		if i < 0 || i+1 >= len(b) {
			return ""
		}
		if b[i+1] != 'u' {
			b = b[i+2:]
			continue
		}
		unit, rest := escapedUnit(b[i:])
		switch {
		case unit < 0: // no JSON
			rest = b[i+2:]
		case unit < 0xd800 || unit > 0xdfff:
		case unit < 0xdc00:
			low, after := escapedUnit(rest)
			if low < 0xdc00 || low > 0xdfff {
				return string(b[i : i+6])
			}
			rest = after
		default:
			return string(b[i : i+6])
		}
		b = rest
	}
}

// escapedUnit reads the UTF-16 code unit of an escape \uXXXX at the start of b,
// and returns what follows it; -1 and b where there is none.
func escapedUnit(b []byte) (unit int, rest []byte) {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1, b
	}
	n, err := strconv.ParseUint(string(b[2:6]), 16, 16)
	if err != nil {
		return -1, b
	}
	return int(n), b[6:]
}

package op

import (
	"fmt"
	"strings"
	"unicode"
)

// maxLine is how much of one text of a file people are shown, in bytes.
const maxLine = 4 << 10

// oneLine keeps text of a file from looking like more than it is: it stays in its
// line, which white space can't leave, nothing of it reaches a terminal as a
// command, and what has no shape of its own, and can make a line read as another,
// is shown by its number.
func oneLine(s string) string {
	var b strings.Builder
	space := false
	for _, r := range s {
		if b.Len() >= maxLine {
			return b.String() + "…"
		}
		if unicode.IsSpace(r) {
			space = true
			continue
		}
		if space && b.Len() > 0 {
			b.WriteByte(' ')
		}
		space = false
		switch {
		case unicode.IsControl(r) && r <= 0xff:
			fmt.Fprintf(&b, `\x%02x`, r)
		case unicode.Is(unicode.Cf, r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Package brief writes things at a length that people read.
//
// [Bytes] and [Runes] cut texts, [Duration] writes durations.
package brief

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Bytes cuts s to its first most bytes and a "…", and there at a rune. What is
// not UTF-8 is left out of a text that is cut.
func Bytes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "…"
}

// Runes cuts s to most runes, of which the last is a "…" then; most is at least 1.
func Runes(s string, most int) string {
	if utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:most-1]) + "…"
}

// Duration is how people write d: 10m for what time.Duration calls 10m0s.
func Duration(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = s[:len(s)-2]
	}
	if strings.HasSuffix(s, "h0m") {
		s = s[:len(s)-2]
	}
	return s
}

// Plural is a number of things: "1 session", "2 sessions".
func Plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

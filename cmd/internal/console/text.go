package console

import (
	"encoding/json"
	"io"
	"strings"
	"unicode"
)

// PrintJSON prints one value as a line of JSON.
func PrintJSON(out io.Writer, v any) {
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	_ = e.Encode(v) // what we print always encodes, and [Streams.End] sees to a failed write
}

// Printable is text of others as it may stand in a line on a terminal.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return '\uFFFD'
	}, s)
}

// PrintableText is text of others, of several lines, as it may stand on a terminal.
func PrintableText(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = Printable(line)
	}
	return strings.Join(lines, "\n")
}

// OneLine is text of several lines as one, as it may stand on a terminal.
func OneLine(text string) string { return Printable(strings.Join(strings.Fields(text), " ")) }

package view

import (
	"encoding/json"
	"fmt"
	"strings"
	"unicode"

	"github.com/chant-acp/chant-acp/acp"
)

// Visible shows characters that have no shape of their own, and can make a line
// read as another or a terminal do something: controls other than tab and line
// feed, and those of bidirectional text and of zero width.
func Visible(s string) string {
	if !strings.ContainsFunc(s, isShapeless) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if isShapeless(r) {
			b.WriteString(shaped(r))
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

// isShapeless is also for the line separators of Unicode, at which some readers
// break a line.
func isShapeless(r rune) bool {
	if r < unicode.MaxASCII {
		return r < ' ' && r != '\n' && r != '\t'
	}
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp)
}

// shaped is a rune as an escape of Go and of JavaScript.
func shaped(r rune) string {
	if r > 0xffff {
		return fmt.Sprintf("\\U%08x", r)
	}
	return fmt.Sprintf("\\u%04x", r)
}

// Input is the rawInput of a tool call, which clients show: in each string what
// Visible shows is shown. nil where it can't be encoded.
func Input(v any) json.RawMessage {
	if v == nil {
		return nil
	}
	raw, err := acp.AppendValue(nil, v)
	if err != nil {
		return nil
	}
	return visibleJSON(raw)
}

// visibleJSON is Visible for the strings of a JSON text.
func visibleJSON(raw []byte) []byte {
	text := string(raw)
	if !strings.Contains(text, `\`) && !strings.ContainsFunc(text, isShapeless) {
		return raw
	}
	var b strings.Builder
	for i := 0; i < len(text); {
		if text[i] != '\\' {
			n := strings.IndexByte(text[i:], '\\')
			if n < 0 {
				n = len(text) - i
			}
			b.WriteString(strings.ReplaceAll(Visible(text[i:i+n]), `\`, `\\`)) // backslashes here are those that Visible added
			i += n
			continue
		}
		n := 2 // of an escape, which is whole: the text is JSON
		if text[i+1] == 'u' {
			n = 6
		}
		var s string
		if err := json.Unmarshal([]byte(`"`+text[i:i+n]+`"`), &s); err == nil && Visible(s) != s {
			b.WriteString(`\` + Visible(s))
		} else {
			b.WriteString(text[i : i+n])
		}
		i += n
	}
	return []byte(b.String())
}

// Prose is text of a project inside a sentence of ours: on one line, and with no
// image, link, HTML or mark of Markdown that acts (CommonMark 0.31.2, 2.4: a
// backslash before punctuation takes its meaning; GFM's addresses are links without
// brackets). What stands where it can't act stays as it is, because there are
// clients that show text as it comes.
func Prose(s string) string { return inert(Visible(OneLine(s)), false) }

// Said is a sentence of ours that quotes text of a project: as Prose, but what
// stands in backticks, where nothing acts, stays.
func Said(s string) string { return inert(Visible(s), true) }

// inert is s with nothing that acts. spans says that code spans stay.
func inert(s string, spans bool) string {
	if !strings.ContainsAny(s, actsInMarkdown) && !strings.Contains(s, "www.") && !strings.Contains(s, "://") {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); {
		if n := codeSpan(s[i:]); spans && n > 0 {
			b.WriteString(s[i : i+n])
			i += n
			continue
		}
		if run := ticks(s[i:]); run > 0 { // the whole run of backticks: a part would be another run
			b.WriteString(strings.Repeat("\\`", run))
			i += run
			continue
		}
		switch rest := s[i:]; {
		case strings.HasPrefix(rest, "://"), acts(s, i):
			b.WriteByte('\\')
		case strings.HasPrefix(rest, "www."):
			b.WriteString(`www\.`)
			i += len("www.")
			continue
		}
		b.WriteByte(s[i])
		i++
	}
	return b.String()
}

// actsInMarkdown are the characters that mark something up, or make a link of an
// address, depending on what stands around them.
const actsInMarkdown = "\\`*_[]<>&~#@"

// acts says whether the character at i would act in Markdown.
func acts(s string, i int) bool {
	var before, after byte
	if i > 0 {
		before = s[i-1]
	}
	if i+1 < len(s) {
		after = s[i+1]
	}
	switch s[i] {
	case '*', '[', ']', '~':
		return true
	case '\\':
		return after > ' ' && after < 0x7f && !isWord(after)
	case '_':
		return !isWord(before) || !isWord(after)
	case '<':
		return isWord(after) || after == '/' || after == '!' || after == '?'
	case '&':
		return isWord(after) || after == '#'
	case '@':
		return isWord(after)
	case '#', '>':
		return i == 0 || before == '\n'
	}
	return false
}

func isWord(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// codeSpan is the length of the code span that s begins with, 0 for none: it ends
// with as many backticks as it begins with (CommonMark 0.31.2, 6.1), here on the
// same line.
func codeSpan(s string) int {
	s, _, _ = strings.Cut(s, "\n")
	open := ticks(s)
	if open == 0 {
		return 0
	}
	for i := open; i < len(s); {
		at := strings.IndexByte(s[i:], '`')
		if at < 0 {
			return 0
		}
		i += at
		n := ticks(s[i:])
		if i += n; n == open {
			return i
		}
	}
	return 0
}

// ticks is how many backticks s begins with.
func ticks(s string) int { return len(s) - len(strings.TrimLeft(s, "`")) }

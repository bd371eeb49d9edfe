package agent

import (
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host"
)

const (
	titleRunes = 200      // of a tool call and a session
	fieldBytes = 4 << 10  // JSON-encoded bytes of a string in rawInput and in a final content
	pieceBytes = 20 << 10 // JSON-encoded bytes of a chunk of our own text
)

// code is s as inline code, whatever backticks it holds (CommonMark, 6.1). A
// newline is a space there anyway, and could begin a line that opens a block.
func code(s string) string {
	s = visible(strings.ReplaceAll(s, "\n", " "))
	longest, run := 0, 0
	for _, r := range s {
		if r == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	fence := strings.Repeat("`", longest+1)
	if longest > 0 {
		return fence + " " + s + " " + fence
	}
	return fence + s + fence
}

// visible shows characters that have no shape of their own, and can make a line
// read as another: those of bidirectional text and of zero width.
func visible(s string) string {
	if !strings.ContainsFunc(s, isShapeless) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if isShapeless(r) {
			fmt.Fprintf(&b, "\\u%04x", r)
		} else {
			b.WriteRune(r)
		}
	}
	return b.String()
}

func isShapeless(r rune) bool { return unicode.Is(unicode.Cf, r) }

// fenced is s as a code block that nothing in s can end.
func fenced(s string) string {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.TrimRight(s, "\n") + "\n" + fence
}

// cutBytes shortens s, at a rune, to n bytes of JSON.
func cutBytes(s string, n int) string {
	if len(s)*6 <= n || jsonLen(s) <= n {
		return s
	}
	n -= len("…")
	for i, r := range s {
		if n -= jsonRune(r); n < 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// jsonLen is how many bytes s takes inside a JSON string.
func jsonLen(s string) int {
	n := 0
	for _, r := range s {
		n += jsonRune(r)
	}
	return n
}

// jsonRune is the most that an encoder makes of a rune in a JSON string.
func jsonRune(r rune) int {
	switch {
	case r == '"' || r == '\\' || r == '\n' || r == '\t':
		return 2
	case r < 0x20 || r == '<' || r == '>' || r == '&' || r == 0x2028 || r == 0x2029 || r == utf8.RuneError:
		return 6
	}
	return utf8.RuneLen(r)
}

// pieces cuts text by its encoded size, at runes.
func pieces(text string) []string {
	if text != "" && len(text)*6 <= pieceBytes { // no rune takes more than six times its bytes
		return []string{text}
	}
	var out []string
	start, size := 0, 0
	for i, r := range text {
		n := jsonRune(r)
		if size += n; size > pieceBytes {
			out = append(out, text[start:i])
			start, size = i, n
		}
	}
	if start < len(text) {
		out = append(out, text[start:])
	}
	return out
}

// refusalText is a refusal for a person. What relies on alignment is shown as
// it is.
func refusalText(err error) string {
	if r, ok := errors.AsType[*command.Refusal](err); ok {
		reason, rest, _ := strings.Cut(r.Error(), "\n")
		last := strings.LastIndexByte(rest, '\n') + 1 // the line that says where to go from here
		if last == 0 {
			return strings.TrimRight(reason+" "+rest, " ")
		}
		return reason + "\n\n" + fenced(rest[:last]) + "\n\n" + rest[last:]
	}
	if syntax, ok := errors.AsType[*command.SyntaxError](err); ok {
		return "This is not a command line: " + syntax.Error()
	}
	if refusal, ok := errors.AsType[*host.OpRefusal](err); ok {
		return opRefusalText(refusal)
	}
	return sentence(err.Error())
}

// oneLine is s without line feeds and other controls.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}

// sentence begins with a capital letter and ends with a full stop.
func sentence(s string) string {
	if s == "" {
		return s
	}
	r, n := utf8.DecodeRuneInString(s)
	s = strings.ToUpper(string(r)) + s[n:]
	if isSentence(s) || strings.HasSuffix(s, ":") { // or what follows belongs to it
		return s
	}
	return s + "."
}

// span is a duration as a person says it: three digits and a unit.
func span(d time.Duration) string {
	switch {
	case d < time.Second:
		return fmt.Sprintf("%d ms", d.Milliseconds())
	case d < 10*time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d < time.Minute:
		return fmt.Sprintf("%.0f s", d.Seconds())
	case d < time.Hour:
		return fmt.Sprintf("%d m %d s", int(d.Minutes()), int(d.Seconds())%60)
	}
	return fmt.Sprintf("%d h %d m", int(d.Hours()), int(d.Minutes())%60)
}

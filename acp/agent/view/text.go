package view

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/internal/brief"
)

// TailLines of a program's output go into the final content of its tool call.
const TailLines = 20

const (
	TitleRunes = 200      // of a tool call and a session
	FieldBytes = 4 << 10  // JSON-encoded bytes of a string in rawInput and in a final content
	PieceBytes = 20 << 10 // JSON-encoded bytes of a chunk of our own text
)

// Code is s as inline code, whatever backticks it holds (CommonMark, 6.1). A line
// break is shown as \n: it would be a space there, and could begin a line that
// opens a block.
func Code(s string) string {
	s = Visible(strings.ReplaceAll(s, "\n", `\n`))
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

// Fenced is s as a code block that nothing in s can end.
func Fenced(s string) string { return FencedAs("", s) }

// FencedAs is Fenced with an info string, which names the language.
func FencedAs(language, s string) string {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + language + "\n" + strings.TrimRight(s, "\n") + "\n" + fence
}

// Cut shortens s, at a rune, to n bytes of JSON.
func Cut(s string, n int) string {
	if len(s)*6 <= n || JSONLen(s) <= n {
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

// JSONLen is how many bytes s takes inside a JSON string.
func JSONLen(s string) int {
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

// Pieces cuts text by its encoded size, at lines where that can be and else at
// runes. A code block that is cut is closed and opened again, so that none is open
// between two pieces.
func Pieces(text string) []string {
	if text != "" && (len(text)*6 <= PieceBytes || JSONLen(text) <= PieceBytes) { // no rune takes more than six times its bytes
		return []string{text}
	}
	var out []string
	var b strings.Builder
	size, fence := 0, ""
	room := func() int { return PieceBytes - 16 - 2*JSONLen(fence) }
	cut := func() {
		if fence != "" {
			if !strings.HasSuffix(b.String(), "\n") {
				b.WriteByte('\n')
			}
			b.WriteString(strings.TrimRight(fence, "abcdefghijklmnopqrstuvwxyz") + "\n")
		}
		out = append(out, b.String())
		b.Reset()
		if size = 0; fence != "" {
			b.WriteString(fence + "\n")
		}
	}
	for line := range strings.Lines(text) {
		n := JSONLen(line)
		if size+n > room() && size > 0 {
			cut()
		}
		if n <= room() {
			b.WriteString(line)
			size += n
		} else {
			for _, r := range line {
				if n := jsonRune(r); size+n > room() {
					cut()
				}
				size += jsonRune(r)
				b.WriteRune(r)
			}
		}
		fence = fenceAfter(fence, strings.TrimSuffix(line, "\n"))
	}
	if size > 0 {
		out = append(out, b.String())
	}
	return out
}

// fenceAfter is the line that opened the code block which a line of ours stands in,
// or opens; "" after the end of it.
func fenceAfter(fence, line string) string {
	ticks := line[:len(line)-len(strings.TrimLeft(line, "`"))]
	switch {
	case fence == "" && len(ticks) >= 3 && !strings.Contains(line[len(ticks):], "`"):
		return line
	case fence != "" && line == strings.TrimRight(fence, "abcdefghijklmnopqrstuvwxyz"):
		return ""
	}
	return fence
}

// Refusal is a refusal for a person. What relies on alignment is shown as
// it is.
func Refusal(err error) string {
	if r, ok := errors.AsType[*command.Refusal](err); ok {
		reason, rest, _ := strings.Cut(r.Error(), "\n")
		if strings.HasPrefix(reason, "there ") { // others begin with a name
			reason = Sentence(reason)
		}
		reason = Said(reason)
		last := strings.LastIndexByte(rest, '\n') + 1 // the line that says where to go from here
		if last == 0 {
			return strings.TrimRight(reason+" "+Said(rest), " ")
		}
		return reason + "\n\n" + Fenced(rest[:last]) + "\n\n" + Said(rest[last:])
	}
	if syntax, ok := errors.AsType[*command.SyntaxError](err); ok {
		return "This is not a command line: " + Said(syntax.Error())
	}
	if refusal, ok := errors.AsType[*host.OpRefusal](err); ok {
		return opRefusalText(refusal)
	}
	return Sentence(Said(err.Error()))
}

// OneLine is s without line feeds and other controls.
func OneLine(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
}

// Sentence begins with a capital letter and ends with a full stop.
func Sentence(s string) string {
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

// Span is a duration as a person says it: three digits and a unit.
func Span(d time.Duration) string {
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

// Title is the command line, led by the name of an environment that is
// protected.
func Title(inv *command.Invocation) string {
	return brief.Runes(ProtectedMark(inv)+Visible(strings.ReplaceAll(inv.Line, "\n", `\n`)), TitleRunes)
}

// ProtectedMark is what a line about a command begins with where its environment
// is protected.
func ProtectedMark(inv *command.Invocation) string {
	if !inv.Protected {
		return ""
	}
	return "[" + inv.Environment + "] "
}

// RawJSON is v as it is kept and sent; nil where it can't be encoded.
func RawJSON(v any) json.RawMessage {
	raw, err := acp.AppendValue(nil, v)
	if err != nil || v == nil {
		return nil
	}
	return raw
}

// Lines are lines for _meta: as many as fit, each at its length.
func Lines(lines []string) []string {
	shown, room := []string{}, FieldBytes
	for i, line := range lines {
		line = Cut(line, FieldBytes/4)
		if room -= JSONLen(line) + len(`"",`); room < 0 {
			return append(shown, more(len(lines)-i))
		}
		shown = append(shown, line)
	}
	return shown
}

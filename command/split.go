package command

import (
	"errors"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxLine is the longest command line that [Split] takes, in bytes.
const MaxLine = 64 << 10

// A SyntaxError says why a line is not a command line.
type SyntaxError struct {
	Offset  int    // where, in bytes from the start of the line
	Message string // what is wrong and what to do about it
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s (at byte %d of the line)", e.Message, e.Offset+1)
}

// Split splits one line into words. Blanks (space, tab, newline) separate them;
// single quotes keep everything; double quotes keep everything but a backslash,
// which takes the next character literally, as it does outside quotes; adjacent
// pieces join. Every other character is ordinary, '#', '$' and Unicode spaces
// included. Line breaks around the line, CR among them, are not part of it. A
// line without words gives none, and no error.
//
// Split refuses open quotes, a trailing backslash, control characters, text
// after an unquoted line break (a backslash does not quote one), invalid UTF-8
// and more than [MaxLine] bytes. Its errors are *[SyntaxError].
func Split(line string) ([]string, error) {
	line, before := trimBreaks(line)
	words, err := split(line)
	if bad, ok := errors.AsType[*SyntaxError](err); ok {
		bad.Offset += before
	}
	return words, err
}

// trimBreaks takes empty lines off both ends: people paste them along. before is
// how many bytes it took off the front. A blank at the end of the text itself
// stays, because a backslash may stand before it.
func trimBreaks(line string) (trimmed string, before int) {
	trimmed = strings.TrimLeft(line, " \t\r\n")
	before = len(line) - len(trimmed)
	for {
		text := strings.TrimRight(trimmed, " \t")
		if !strings.HasSuffix(text, "\n") && !strings.HasSuffix(text, "\r") {
			return trimmed, before
		}
		trimmed = strings.TrimRight(text, "\r\n")
	}
}

// split is Split for a text without empty lines around it.
func split(line string) ([]string, error) {
	if err := checkLine(line); err != nil {
		return nil, err
	}
	var (
		words   []string
		word    []byte
		open    bool // a word has begun, perhaps an empty one
		newline = -1
	)
	for i := 0; i < len(line); {
		c := line[i]
		if isBlank(c) {
			if open {
				words, word, open = append(words, string(word)), word[:0], false
			}
			if c == '\n' && newline < 0 {
				newline = i
			}
			i++
			continue
		}
		if newline >= 0 {
			return nil, &SyntaxError{newline, secondLine}
		}
		open = true
		n, err := piece(line, i, &word)
		if err != nil {
			return nil, err
		}
		i += n
	}
	if open {
		words = append(words, string(word))
	}
	return words, nil
}

const secondLine = "this is more than one line; send one command in each prompt, and put a line break that belongs to an argument in quotes"

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' }

// piece appends the quoted run, escaped character or ordinary byte at i to word
// and returns how many bytes of the line it took.
func piece(line string, i int, word *[]byte) (int, error) {
	switch line[i] {
	case '\'':
		n := strings.IndexByte(line[i+1:], '\'')
		if n < 0 {
			return 0, openQuote(i, "'")
		}
		*word = append(*word, line[i+1:i+1+n]...)
		return n + 2, nil
	case '"':
		for j := i + 1; j < len(line); j++ {
			switch line[j] {
			case '"':
				return j + 1 - i, nil
			case '\\':
				if j++; j == len(line) {
					return 0, openQuote(i, `"`)
				}
			}
			*word = append(*word, line[j])
		}
		return 0, openQuote(i, `"`)
	case '\\':
		if i+1 == len(line) {
			return 0, &SyntaxError{i, `the line ends in a backslash with nothing after it; remove it, or write \\ for a backslash`}
		}
		if line[i+1] == '\n' {
			return 0, &SyntaxError{i, secondLine}
		}
		*word = append(*word, line[i+1])
		return 2, nil
	}
	*word = append(*word, line[i])
	return 1, nil
}

func openQuote(i int, quote string) error {
	return &SyntaxError{i, fmt.Sprintf(`this %s quote is never closed; close it, or write \%s for the character itself`, quote, quote)}
}

// checkLine refuses what no command line may hold, quoted or not.
func checkLine(line string) error {
	if len(line) > MaxLine {
		return &SyntaxError{MaxLine, fmt.Sprintf("the line is %d bytes long and at most %d are taken; put long input in a file and name the file", len(line), MaxLine)}
	}
	i, what := illegal(line)
	switch {
	case what == "":
		return nil
	case strings.HasPrefix(line[i:], "\r\n"):
		return &SyntaxError{i, secondLine + ", as a line feed alone (this one is a carriage return and a line feed)"}
	}
	return &SyntaxError{i, "the line holds " + what + "; remove it"}
}

// illegal finds the first byte that no word may hold, and names it: a control
// character other than tab and newline, or one that is not UTF-8.
func illegal(s string) (int, string) {
	for i := 0; i < len(s); {
		c := s[i]
		if c >= ' ' && c < 0x7f || c == '\t' || c == '\n' {
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 {
			return i, fmt.Sprintf("a byte that is not UTF-8 (0x%02x)", c)
		}
		if unicode.IsControl(r) {
			return i, fmt.Sprintf("a control character (U+%04X)", r)
		}
		i += n
	}
	return 0, ""
}

// Quote is the inverse of [Split]: Split(Quote(words)) gives the words back, as
// long as they hold neither control characters (tab and newline are fine) nor
// invalid UTF-8. Words are quoted only where they have to be, those that a shell
// would interpret among them.
func Quote(words []string) string {
	var b strings.Builder
	for i, w := range words {
		if i > 0 {
			b.WriteByte(' ')
		}
		quoteWord(&b, w)
	}
	return b.String()
}

func quoteWord(b *strings.Builder, w string) {
	switch {
	case w != "" && !strings.ContainsAny(w, " \t\n'\"\\") && shellWord(w) == "":
		b.WriteString(w)
	case !strings.Contains(w, "'"):
		b.WriteByte('\'')
		b.WriteString(w)
		b.WriteByte('\'')
	default:
		b.WriteByte('"')
		for i := 0; i < len(w); i++ {
			if w[i] == '"' || w[i] == '\\' {
				b.WriteByte('\\')
			}
			b.WriteByte(w[i])
		}
		b.WriteByte('"')
	}
}

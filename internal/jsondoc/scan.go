package jsondoc

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// scanner goes over the tokens of a text before it is parsed, for what the parser does
// not guard against, and again up to where the parser stopped, to tell what belongs
// there. What is not well formed within a token is left to the parser.
type scanner struct {
	text  []byte
	rules Rules

	values bool   // there is more than blanks and comments
	loose  bool   // there is something that JSON does not have
	open   []byte // the brackets that are open
	// before and last are what the last two tokens begin with, at is where the last
	// one does, and unclosed says that it is a string without an end.
	before, last byte
	at           int
	unclosed     bool
}

// run takes the tokens that begin before an offset, up to the first one that the rules
// forbid.
func (s *scanner) run(end int) *failure {
	for i := 0; i < end; {
		next, wrong := s.token(i)
		if wrong != nil {
			return wrong
		}
		i = next
	}
	return nil
}

// token is the offset after the blank, comment or token at i.
func (s *scanner) token(i int) (int, *failure) {
	rest := s.text[i:]
	switch {
	case isBlank(rest[0]):
		return i + 1, nil
	case bytes.HasPrefix(rest, []byte("//")), bytes.HasPrefix(rest, []byte("/*")):
		if s.loose = true; !s.rules.Comments {
			return 0, &failure{i, aComment + " stands here; remove it"}
		}
		return s.comment(i)
	}
	s.values, s.before, s.last, s.at = true, s.last, rest[0], i
	switch rest[0] {
	case '"':
		n := stringLen(rest)
		s.unclosed = n == 0
		if s.unclosed {
			n = len(rest)
		}
		return i + n, nil
	case '{', '[':
		if s.open = append(s.open, rest[0]); len(s.open) > s.rules.Depth {
			return 0, &failure{i, fmt.Sprintf("values are nested more than %d deep", s.rules.Depth)}
		}
	case '}', ']':
		if s.before == ',' {
			if s.loose = true; !s.rules.Comments {
				return 0, &failure{i, "a comma stands before this bracket, and nothing after it; remove the comma"}
			}
		}
		s.open = s.open[:max(0, len(s.open)-1)]
	case ',', ':':
	default:
		return i + wordLen(rest), nil
	}
	return i + 1, nil
}

// comment is the offset after a comment. A line comment with a lone carriage return is
// refused: some readers end the comment there and some do not, so what the text says is
// in doubt.
func (s *scanner) comment(i int) (int, *failure) {
	rest := s.text[i:]
	if rest[1] == '*' {
		if n := bytes.Index(rest[2:], []byte("*/")); n >= 0 {
			return i + 2 + n + 2, nil
		}
		return 0, &failure{i, "this comment has no end; close it with */"}
	}
	line, _, _ := bytes.Cut(rest, []byte("\n"))
	if n := bytes.IndexByte(bytes.TrimSuffix(line, []byte("\r")), '\r'); n >= 0 {
		return 0, &failure{i + n, "a carriage return stands alone in this comment; save the file with LF or CRLF line ends"}
	}
	return i + len(line), nil
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// stringLen is the length of the string that b begins with; 0 where it has no end.
func stringLen(b []byte) int {
	for i := 1; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return 0
}

// wordLen is the length of the number or word that b begins with, and at least 1.
func wordLen(b []byte) int {
	n := 1
	for n < len(b) && isWord(b[n]) {
		n++
	}
	return n
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '+' || c == '.'
}

// explain says what belongs where the parser stopped, and what stands there.
func explain(text []byte, at int, err error) *failure {
	s := scanner{text: text, rules: Rules{Comments: true, Depth: len(text)}}
	if wrong := s.run(at); wrong != nil {
		return wrong
	}
	if s.unclosed {
		return unclosed(text, s.at)
	}
	if wrong := badString(text, at); wrong != nil {
		return wrong
	}
	var in byte
	if len(s.open) > 0 {
		in = s.open[len(s.open)-1]
	}
	begun := s.last == in || s.last == ',' // with nothing yet where a key or a value belongs
	var belongs string
	switch {
	case in == '{' && begun:
		belongs = "a key in double quotation marks belongs here"
	case in == '{' && s.last == '"' && (s.before == '{' || s.before == ','):
		belongs = "a colon belongs between a key and its value"
	case in == '{' && s.last == ':', in == '[' && begun, in == 0 && s.last == 0:
		return &failure{at, badValue(text, at)}
	case in == '{':
		belongs = "a comma or } belongs here"
	case in == '[':
		belongs = "a comma or ] belongs here"
	case at < len(text):
		return &failure{at, "the file ends with its value, and here is more: " + found(text, at)}
	default:
		return &failure{at, reason(err)}
	}
	return &failure{at, belongs + ", and here is " + found(text, at)}
}

const aComment = "a comment, which JSON does not have,"

// found describes what stands at an offset.
func found(text []byte, at int) string {
	if at == len(text) {
		return "the end of the file"
	}
	switch text[at] {
	case '/', '#':
		return aComment
	case '\'':
		return "a single quotation mark, where JSON takes double ones only"
	case ',':
		return "a comma"
	}
	if isWord(text[at]) {
		return string(text[at : at+min(wordLen(text[at:]), 40)])
	}
	r, _ := utf8.DecodeRune(text[at:])
	return fmt.Sprintf("%q", r)
}

// badValue says what is wrong with a value that is neither a string, an object nor a
// list.
func badValue(text []byte, at int) string {
	word := found(text, at)
	switch digits := bytes.TrimPrefix([]byte(word), []byte("-")); {
	case len(digits) > 1 && digits[0] == '0' && digits[1] >= '0' && digits[1] <= '9':
		return "a number does not begin with 0; put it in quotation marks if it is none"
	case len(digits) > 0 && digits[0] >= '0' && digits[0] <= '9':
		return fmt.Sprintf("%s is not a number as JSON writes it, with digits in front of its point, behind it, and in its exponent", word)
	}
	return "a value belongs here (a string in double quotation marks, a number, true, false, null, [ or {), and here is " + word
}

// unclosed says that a string has no end.
func unclosed(text []byte, at int) *failure {
	if bytes.IndexByte(text[at:], '\n') >= 0 {
		return &failure{at, "this string has no end on its line; close it with a double quotation mark, and write a line break as \\n"}
	}
	return &failure{at, "this string has no end; close it with a double quotation mark"}
}

// badString says what is wrong with the string that begins at an offset; nil where
// nothing is, or no string begins there.
func badString(text []byte, at int) *failure {
	if at == len(text) || text[at] != '"' {
		return nil
	}
	end := at + stringLen(text[at:])
	for i := at + 1; i < end; i++ {
		switch c := text[i]; {
		case c == '\n':
			return unclosed(text, at)
		case c < ' ':
			return &failure{i, fmt.Sprintf("a string holds this control character only when it is written as \\u%04x", c)}
		case c != '\\':
			continue
		}
		switch i++; {
		case text[i] == 'u':
			for range 4 {
				if i++; !bytes.ContainsRune([]byte("0123456789abcdefABCDEF"), rune(text[i])) {
					return &failure{i, "four hexadecimal digits belong behind \\u, and here is " + found(text, i)}
				}
			}
		case bytes.IndexByte([]byte(`"\/bfnrt`), text[i]) < 0:
			return &failure{i - 1, "a backslash in a string is written as two, unless it is one of \\\" \\/ \\b \\f \\n \\r \\t \\u"}
		}
	}
	return nil
}

package command

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/shlex"
	"pgregory.net/rapid"
)

func TestSplit(t *testing.T) {
	tests := []struct {
		line string
		want []string
	}{
		{"", nil},
		{" \t\n ", nil},
		{"plan", []string{"plan"}},
		{"  plan \t dev  ", []string{"plan", "dev"}},
		{"plan dev\n", []string{"plan", "dev"}},
		{"plan dev\n \t\n", []string{"plan", "dev"}},
		{`'a b' c`, []string{"a b", "c"}},
		{`a"b c"d`, []string{"ab cd"}},
		{`"a'b" 'c"d'`, []string{"a'b", `c"d`}},
		{`"" '' --x=""`, []string{"", "", "--x="}},
		{`"a\"b\\c\nd"`, []string{`a"b\cnd`}},
		{`'a\nb' 'c\'`, []string{`a\nb`, `c\`}},
		{`a\ b \a \\ \'`, []string{"a b", "a", `\`, "'"}},
		{"\\é", []string{"é"}},
		{"# a #12", []string{"#", "a", "#12"}},
		{"$HOME ~ * ; & | < > ( ) { } `id` $(id) {a,b} !!", strings.Fields("$HOME ~ * ; & | < > ( ) { } `id` $(id) {a,b} !!")},
		{"a\u00a0b \u2003 c\u3000d", []string{"a\u00a0b", "\u2003", "c\u3000d"}},
		{"'two\nlines'", []string{"two\nlines"}},
		{"\n\r\n plan dev\r\n", []string{"plan", "dev"}},
		{"plan dev \r\n \t\n", []string{"plan", "dev"}},
		{"plan dev\\ \n", []string{"plan", "dev "}},
		{"\ufeffa \ufffd", []string{"\ufeffa", "\ufffd"}},
		{strings.Repeat("a", MaxLine), []string{strings.Repeat("a", MaxLine)}},
	}
	for _, tt := range tests {
		got, err := Split(tt.line)
		if err != nil || !slices.Equal(got, tt.want) {
			t.Errorf("Split(%.40q) = %q, %v; want %q", tt.line, got, err, tt.want)
		}
	}
}

func TestSplitRefuses(t *testing.T) {
	tests := []struct {
		name, line string
		offset     int
		says       string
	}{
		{"single quote", "a 'b", 2, "never closed"},
		{"double quote", `a "b`, 2, "never closed"},
		{"escape at the end of a quote", `"b\`, 0, "never closed"},
		{"backslash", `a \`, 2, "backslash"},
		{"NUL", "a\x00b", 1, "U+0000"},
		{"carriage return", "a\rb", 1, "U+000D"},
		{"second line of Windows", "plan dev\r\napply prod", 8, "more than one line"},
		{"line break of Windows in quotes", "'a\r\nb'", 2, "as a line feed alone"},
		{"second line behind a backslash", "two\\\nlines", 3, "more than one line"},
		{"behind an empty line", "\n\na 'b", 4, "never closed"},
		{"backslash before the last line break", "a \\\n", 2, "ends in a backslash"},
		{"escape in quotes", "'\x1b[0m'", 1, "U+001B"},
		{"DEL", "\x7f", 0, "U+007F"},
		{"C1", "a\u0085", 1, "U+0085"},
		{"not UTF-8", "ab\xff", 2, "0xff"},
		{"second line", "plan dev\napply prod", 8, "more than one line"},
		{"second line behind blanks", "a \n\n  b", 2, "more than one line"},
		{"too long", strings.Repeat("a", MaxLine+1), MaxLine, "65536"},
	}
	for _, tt := range tests {
		words, err := Split(tt.line)
		var syntax *SyntaxError
		if !errors.As(err, &syntax) || words != nil {
			t.Errorf("%s: words %q, error %v; want a *SyntaxError", tt.name, words, err)
			continue
		}
		if syntax.Offset != tt.offset || !strings.Contains(syntax.Error(), tt.says) {
			t.Errorf("%s: offset %d, %q; want offset %d and %q in it", tt.name, syntax.Offset, syntax, tt.offset, tt.says)
		}
	}
}

// legal says whether a line has none of the characters that Split refuses
// wherever they stand.
func legal(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) && r != '\t' && r != '\n'
	})
}

// FuzzSplit compares Split with google/shlex, which reads the same grammar but
// for comments, which begin with '#'.
func FuzzSplit(f *testing.F) {
	for _, s := range []string{
		"", "plan dev", `a "b c" 'd e' f\ g`, `"a\"b"`, `''`, "a\nb", `"open`, `'open`, `\`, "a\u00a0b", "x\x00", "\xff", "a \\\n b", `a""b''c`, "\r", "\r\n a\r\n", "a\\ \n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words, err := Split(line)
		if err != nil && words != nil {
			t.Fatalf("Split(%q) gives words %q beside the error %v", line, words, err)
		}
		line, _ = trimBreaks(line) // which shlex has no part in
		if !legal(line) || len(line) > MaxLine {
			if err == nil {
				t.Fatalf("Split(%q) takes what is never legal", line)
			}
			return
		}
		if strings.Contains(line, "#") {
			return
		}
		want, wantErr := shlex.Split(line)
		switch {
		case wantErr != nil && err == nil:
			t.Fatalf("Split(%q) = %q, shlex: %v", line, words, wantErr)
		case wantErr == nil && err != nil && !strings.Contains(line, "\n"):
			t.Fatalf("Split(%q): %v, shlex: %q", line, err, want)
		case err == nil && !slices.Equal(words, want):
			t.Fatalf("Split(%q) = %q, shlex: %q", line, words, want)
		}
	})
}

func FuzzQuote(f *testing.F) {
	f.Add("a", "", "b c")
	f.Add("'", `"`, `\`)
	f.Add("a\nb", "\t", `'"\`)
	f.Add("#", "/x", "--")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		if !legal(a) || !legal(b) || !legal(c) {
			t.Skip()
		}
		checkInverse(t, []string{a, b, c})
	})
}

func TestQuoteIsInverse(t *testing.T) {
	checkInverse(t, nil)
	word := rapid.StringOf(rapid.SampledFrom([]rune("ab 'é\"\\\n\t#$\u00a0")))
	rapid.Check(t, func(rt *rapid.T) {
		checkInverse(rt, rapid.SliceOf(word).Draw(rt, "words"))
	})
}

func checkInverse(t interface{ Fatalf(string, ...any) }, words []string) {
	line := Quote(words)
	if len(line) > MaxLine {
		return
	}
	got, err := Split(line)
	if err != nil || !slices.Equal(got, words) {
		t.Fatalf("Split(Quote(%q)) = Split(%q) = %q, %v", words, line, got, err)
	}
}

func TestQuoteIsPlain(t *testing.T) {
	for want, words := range map[string][]string{
		`plan dev --target=a[0]`: {"plan", "dev", "--target=a[0]"},
		`echo 'a b' '' "it's"`:   {"echo", "a b", "", "it's"},
		`'a"b' 'c\d' "'\"\\"`:    {`a"b`, `c\d`, `'"\`},
	} {
		if got := Quote(words); got != want {
			t.Errorf("Quote(%q) = %s, want %s", words, got, want)
		}
	}
}

package command

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestShellSyntax(t *testing.T) {
	r := sample(t, "")
	for _, tt := range []struct {
		line  string
		says  string   // of the reason
		lines []string // to send instead
	}{
		{"plan dev && status", `there is no shell here, so "&&" does nothing`, []string{"plan dev", "status"}},
		{"plan dev&&status", `"&&"`, nil},
		{"plan dev || status", `"||"`, []string{"plan dev", "status"}},
		{"plan dev; status", `";"`, []string{"plan dev", "status"}},
		{"plan dev ; status ;", `";"`, []string{"plan dev", "status"}},
		{"plan dev | status", `"|"`, []string{"plan dev", "status"}},
		{"/plan dev && /status", `"&&"`, []string{"/plan dev", "/status"}},
		{"pass 'a b' && status", `"&&"`, []string{"pass 'a b'", "status"}},
		{"plan dev && rm -rf x", `"&&"`, nil},
		{"status &", `"&"`, []string{"status"}},
		{"status && $(status)", `"&&"`, nil},
		{"pass $(id)", `"$(…)"`, nil},
		{"pass `id`", "\"`…`\"", nil},
		{"pass a > file", `">"`, nil},
		{"pass a 2>&1", `"2>&1"`, nil},
		{"pass a >>file", `">>file"`, nil},
		{"pass a < file", `"<"`, nil},
		{"FOO=1 status", `so "FOO=1" sets nothing; the manifest sets variables (env, of a command), FOO among them`, []string{"status"}},
		{"FOO=1 BAR='x y' status", `"FOO=1"`, []string{"status"}},
		{"FOO=1 nothing", `"FOO=1"`, nil},
		{"FOO=1", `"FOO=1"`, nil},
	} {
		words, err := r.Split(tt.line, ParseOptions{})
		var refusal *Refusal
		if !errors.As(err, &refusal) || words != nil {
			t.Errorf("%s: %q, %v; want a *Refusal", tt.line, words, err)
			continue
		}
		if !strings.Contains(refusal.Reason, "there is no shell here") || !strings.Contains(refusal.Reason, tt.says) {
			t.Errorf("%s: %s; want %q in it", tt.line, refusal.Reason, tt.says)
		}
		if !slices.Equal(refusal.Lines, tt.lines) {
			t.Errorf("%s: says to send %q, want %q", tt.line, refusal.Lines, tt.lines)
		}
		for _, line := range tt.lines {
			if !strings.Contains(refusal.Error(), "\n  "+line) {
				t.Errorf("%s: the text lacks %q:\n%s", tt.line, line, refusal)
			}
		}
	}
}

func TestNoShellSyntax(t *testing.T) {
	r := sample(t, "")
	for _, line := range []string{
		"pass a && b", // compared with below: only quoted is it text
		"pass 'a && b'", `pass "a | b" '>' "&&" \; '$(id)' "$(id)"`, `pass \&\& \$(id)`, "pass http://x/?a=1&b=2", "pass a;b", "pass $HOME *.go a|b x=1 FOO=1",
		"pass 10>5 -> => <name> a<b ~ # (x) {a,b}", "pass '`id`'",
	} {
		words, err := r.Split(line, ParseOptions{})
		want, _ := Split(line)
		if refused := line == "pass a && b"; refused != (err != nil) {
			t.Errorf("%s: %q, %v", line, words, err)
		} else if !refused && !slices.Equal(words, want) {
			t.Errorf("%s: %q, want %q", line, words, want)
		}
	}
}

// TestQuotedIsNoShellSyntax holds that a line which is kept can be sent again.
func TestQuotedIsNoShellSyntax(t *testing.T) {
	r := sample(t, "")
	word := rapid.StringOf(rapid.SampledFrom([]rune("ab=&|;<>$()`'\"\\ 12\n")))
	rapid.Check(t, func(rt *rapid.T) {
		words := append([]string{"pass"}, rapid.SliceOf(word).Draw(rt, "words")...)
		got, err := r.Split(Quote(words), ParseOptions{})
		if err != nil || !slices.Equal(got, words) {
			rt.Fatalf("Split(Quote(%q)) = Split(%s) = %q, %v", words, Quote(words), got, err)
		}
	})
}

func TestShellWord(t *testing.T) {
	for _, s := range []string{"a", "A1_@%+:,./", "a=b", "a-b", "./x", "/x/y", "...", "a..b", "x/...", "1.2.3-rc.1+b", "user@host:/p"} {
		if !isShellWord(s) {
			t.Errorf("%q is no word", s)
		}
	}
	for _, s := range []string{
		"", "-x", "=x", "..", "../x", "a/..", "a/../b", "a b", "a\tb", "a\nb", "$x", "$(x)", "`x`", "a;b", "a&b", "a|b", "a>b", "a<b", "(a)", "{a,b}", "a*", "a?", "[a]",
		"~", "a!b", "a#b", "a'b", `a"b`, `a\b`, "a^b", "é", "a\u00a0b", "\x00",
	} {
		if isShellWord(s) {
			t.Errorf("%q is a word", s)
		}
	}
}

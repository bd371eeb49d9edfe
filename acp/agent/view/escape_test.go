package view

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/text"
	"pgregory.net/rapid"
)

func TestSaid(t *testing.T) {
	for in, want := range map[string]string{
		"a: x cannot be \"b\"":                     "a: x cannot be \"b\"",
		"`a <b> ![i](x)` and <b> ![i](x)":          "`a <b> ![i](x)` and \\<b> !\\[i\\](x)",
		"`` a ` <b> `` <b>":                        "`` a ` <b> `` \\<b>",
		"`a\n` <b>":                                "\\`a\n\\` \\<b>", // it would be a span for Markdown, but not over an empty line
		"CHANT_ENV is 1 < 2 && R&D, a_b and *.go":  "CHANT_ENV is 1 < 2 && R\\&D, a_b and \\*.go",
		"_x_ \\<b> \\a":                            "\\_x\\_ \\\\\\<b> \\a",
		"https://e.org www.e.org me@e.org @ 5 # 7": "https\\://e.org www\\.e.org me\\@e.org @ 5 # 7",
		"# a\n> b":                                 "\\# a\n\\> b",
		"a\u202eb\x1b":                             "a\\u202eb\\u001b",
		"\U000e0001":                               "\\U000e0001",
	} {
		if got := Said(in); got != want {
			t.Errorf("%q is said as %q, want %q", in, got, want)
		}
	}
}

// Whatever a project says, no image, link or HTML comes of it, inside a sentence of
// ours or by itself.
func TestNothingSaidActs(t *testing.T) {
	piece := rapid.SampledFrom([]string{
		"`", "``", "```", "\\", "![", "[a]", "](x)", "[", "]", "(http://e.org)", "<b>", "</b>", "<", ">", "<!--", "&lt;", "&", "http://e.org", "www.e.org", "https", "://",
		"ftp://e.org", "a@e.org", "mailto:a@e.org", "@", "*", "_", "~~", "#", " ", "\n", "\n\n", "a", ": /x", "é", "\u202e", "\x1b[31m",
	})
	// Without addresses of mail, which goldmark finds across the start of a code span.
	links := extension.NewLinkify(extension.WithLinkifyEmailRegexp(regexp.MustCompile(`\A\z.`)))
	markdown := goldmark.New(goldmark.WithExtensions(links, extension.Strikethrough, extension.Table))
	rapid.Check(t, func(t *rapid.T) {
		s := strings.Join(rapid.SliceOfN(piece, 0, 12).Draw(t, "pieces"), "")
		for _, said := range []string{Said(s), Prose(s), "`run x` failed: " + Said(s), "the gate " + Code(s) + " (" + Prose(s) + ")"} {
			_ = ast.Walk(markdown.Parser().Parse(text.NewReader([]byte(said))), func(n ast.Node, _ bool) (ast.WalkStatus, error) { // the walker returns no error
				switch n.Kind() {
				case ast.KindImage, ast.KindLink, ast.KindAutoLink, ast.KindRawHTML, ast.KindHTMLBlock:
					t.Fatalf("%q is said as %q, and %s acts", s, said, n.Kind())
				}
				return ast.WalkContinue, nil
			})
			if Visible(said) != said {
				t.Fatalf("%q is said as %q", s, said)
			}
		}
	})
}

func TestInput(t *testing.T) {
	for in, want := range map[string]string{
		`{"a":"b"}`: `{"a":"b"}`, `"\n\t\"\\"`: `"\n\t\"\\"`, `"\u001b\u202E"`: `"\\u001b\\u202e"`, "\"\u202e\"": `"\\u202e"`,
		"\"\\\\\u200bu0041\"": `"\\\\u200bu0041"`, `"\ud83d\ude00"`: `"\ud83d\ude00"`, `{"\u202ek":["\b"]}`: `{"\\u202ek":["\\u0008"]}`,
	} {
		got := string(Input(json.RawMessage(in)))
		if got != want || !json.Valid([]byte(got)) {
			t.Errorf("%s is shown as %s, want %s", in, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.String().Draw(t, "s")
		var got string
		if err := json.Unmarshal(Input(s), &got); err != nil || got != Visible(s) {
			t.Fatalf("%q is shown as %q, want %q (%v)", s, got, Visible(s), err)
		}
	})
}

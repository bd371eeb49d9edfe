package heartbeat

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// chantLines are the lines of all chant blocks of a document, those of each
// joined with |.
func chantLines(text string) []string {
	var list []string
	found, _ := fencedBlocks(text)
	for _, b := range found {
		var lines []string
		for _, l := range b.lines {
			lines = append(lines, l.text)
		}
		list = append(list, strings.Join(lines, "|"))
	}
	return list
}

// The numbers are those of the examples of CommonMark 0.31.2, with chant as the
// info string, or the sections.
func TestFencedBlocks(t *testing.T) {
	for name, test := range map[string]struct {
		text string
		want []string
	}{
		"119 backticks":                        {"```chant\n<\n >\n```\n", []string{"<|>"}},
		"120 tildes":                           {"~~~chant\na\n~~~\n", []string{"a"}},
		"121 two are none":                     {"``chant\nfoo\n``\n", nil},
		"122 closed by its own character only": {"```chant\naaa\n~~~\n```\n", []string{"aaa|~~~"}},
		"123":                                  {"~~~chant\naaa\n```\n~~~\n", []string{"aaa|```"}},
		"124 at least as long":                 {"````chant\naaa\n```\n``````\n", []string{"aaa|```"}},
		"125":                                  {"~~~~chant\naaa\n~~~\n~~~~\nb", []string{"aaa|~~~"}},
		"126 unclosed":                         {"```chant", []string{""}},
		"127 unclosed to the end":              {"`````chant\n\n```\naaa\n", []string{"|```|aaa"}},
		"128 closed with the block quote":      {"> ```chant\n> aaa\n\nbbb\n", []string{"aaa"}},
		"129 only blank lines":                 {"```chant\n\n  \n```\n", []string{"|"}},
		"130 empty":                            {"```chant\n```\n", []string{""}},
		"131 indented by one":                  {" ```chant\n aaa\naaa\n```\n", []string{"aaa|aaa"}},
		"133 indented by three":                {"   ```chant\n   aaa\n    aaa\n  aaa\n   ```\n", []string{"aaa|aaa|aaa"}},
		"134 by four it is code":               {"    ```chant\n    aaa\n    ```\n", nil},
		"135 the end, indented by three":       {"```chant\naaa\n  ```\nb", []string{"aaa"}},
		"137 the end, by four: none":           {"```chant\naaa\n    ```\n", []string{"aaa|```"}},
		"138 backticks in the info string":     {"``` chant ```\naaa\n", nil},
		"139 a tail behind the end":            {"~~~~~~chant\naaa\n~~~ ~~\n", []string{"aaa|~~~ ~~"}},
		"140 interrupts a paragraph":           {"foo\n```chant\nbar\n```\nbaz\n", []string{"bar"}},
		"141 between headings":                 {"foo\n---\n~~~chant\nbar\n~~~\n# baz\n", []string{"bar"}},
		"143 an info string":                   {"~~~~    chant startline=3 $%@#$\ndef foo(x)\n~~~~~~~\n", []string{"def foo(x)"}},
		"145 backticks in one of backticks":    {"``` chant ``` x\nfoo\n", nil},
		"146 and in one of tildes":             {"~~~ chant ``` ~~~\nfoo\n~~~\n", []string{"foo"}},
		"147 no info string behind the end":    {"```chant\n``` aaa\n```\n", []string{"``` aaa"}},
		"title":                                {"```chant title=\"Nightly\"\na\n```", []string{"a"}},
		"a tab before the title":               {"```chant\ttitle=x\na\n```", []string{"a"}},
		"another language":                     {"```sh\n```chant\na\n```\nb\n```chant\nc\n```", []string{"c"}},
		"a longer word":                        {"```chants\na\n```\n```xchant\nb\n```", nil},
		"an example in a longer fence":         {"````md\n```chant\na\n```\n````\n```chant\nb\n```", []string{"b"}},
		"an example in tildes":                 {"~~~\n```chant\na\n```\n~~~", nil},
		"2.1 line ends":                        {"```chant\r\na\rb\nc\r\n```\r\nd", []string{"a|b|c"}},
		"2.2 a tab is code":                    {"\t```chant\n\ta\n\t```\n", nil},
		"4.6 in a comment":                     {"<!--\n```chant\na\n```\n-->\n```chant\nb\n```", []string{"b"}},
		"4.6 a comment of one line":            {"<!-- x -->\n```chant\nb\n```", []string{"b"}},
		"4.6 in pre":                           {"<pre>\n\n```chant\na\n```\n</pre>\n```chant\nb\n```", []string{"b"}},
		"4.6 in details, before a blank line":  {"<details>\n```chant\na\n```\n\n```chant\nb\n```\n</details>", []string{"b"}},
		"4.6 a tag alone":                      {"<a href='x'>\n```chant\na\n```\n", nil},
		"4.6 a tag alone below text":           {"text\n<a href='x'>\n```chant\na\n```\n", []string{"a"}},
		"4.8 goes on in a paragraph":           {"text\n    ```chant\n    a\n    ```\n", nil},
		"5.1 a quote":                          {"> ```chant\n>a\n> ```\n", []string{"a"}},
		"5.1 left lazily":                      {"> ```chant\na\n", []string{""}},
		"5.1 nested":                           {"> > ```chant\n> > a\n> b\n", []string{"a"}},
		"5.2 an item":                          {"- ```chant\n  a\n  ```\n", []string{"a"}},
		"5.2 below an item's text":             {"10. text\n\n    ```chant\n    a\n    ```\n", []string{"a"}},
		"5.2 left by its indentation":          {"- ```chant\n  a\n- b\n", []string{"a"}},
		"5.2 an item without content":          {"-\n\n  ```chant\n  a\n  ```\nb", []string{"a"}},
		"5.2 an item of code":                  {"-     ```chant\n      a\n", nil},
		"5.2 a number that can't interrupt":    {"text\n2. ```chant\n   a\n", nil},
		"5.2 an asterisk that is a break":      {"* * *\n```chant\na\n```", []string{"a"}},
		"5.2 tabs":                             {"-\t```chant\n\ta\n\t```\nb", []string{"a"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, chantLines(test.text)); diff != "" {
				t.Errorf("%q (-want +got)\n%s", test.text, diff)
			}
		})
	}
}

func TestLineNumbers(t *testing.T) {
	for _, end := range []string{"\n", "\r", "\r\n"} {
		text := strings.Join([]string{"# Title", "", "```chant", "a", "", "b", "```", "> ~~~chant", "> c"}, end)
		var got []int
		found, _ := fencedBlocks(text)
		for _, b := range found {
			got = append(got, b.line)
			for _, l := range b.lines {
				got = append(got, l.number)
			}
		}
		if diff := cmp.Diff([]int{3, 4, 5, 6, 8, 9}, got); diff != "" {
			t.Errorf("lines that end with %q (-want +got)\n%s", end, diff)
		}
	}
}

// However deep quotes and lists are nested, a document takes little time and is
// refused with the line; what only looks like nesting is not.
func TestNesting(t *testing.T) {
	const fence = "```chant\na\n```\n"
	stairs := ""
	for depth := range 400 {
		stairs += strings.Repeat("  ", depth) + "- x\n"
	}
	for name, c := range map[string]struct {
		text string
		deep int
	}{
		"quotes in one line":        {"a\n\n" + strings.Repeat("> ", MaxFile/2-100) + "\n" + fence, 3},
		"items in one line":         {strings.Repeat("- ", MaxFile/2-100) + "x\n" + fence, 1},
		"numbers in one line":       {strings.Repeat("1. ", MaxFile/3-100) + "\n" + fence, 1},
		"items, one a line":         {stairs + "\n" + fence, maxNesting + 1},
		"as deep as may be":         {strings.Repeat("> ", maxNesting) + "x\n\n" + fence, 0},
		"one deeper":                {strings.Repeat("> ", maxNesting+1) + "x\n\n" + fence, 1},
		"a long break":              {strings.Repeat("- ", 1000) + "\n" + fence, 0},
		"a break of stars":          {strings.Repeat("* ", 1000) + "\n" + fence, 0},
		"a long line of characters": {strings.Repeat("+", 1000) + "\n" + fence, 0},
		"numbers that count":        {strings.Repeat("1 ", 1000) + "\n" + fence, 0},
	} {
		list, deep := fencedBlocks(c.text)
		if deep != c.deep || (deep == 0) != (len(list) == 1) {
			t.Errorf("%s: %d blocks, too deep in line %d, want %d", name, len(list), deep, c.deep)
		}
	}
}

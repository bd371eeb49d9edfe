package config

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestParseErrors(t *testing.T) {
	for _, c := range []struct {
		text, at, says string
	}{
		{"{", "1:2", "a key in double quotation marks"},
		{"{\n  \"a\": 1\n  \"b\": 2\n}", "3:3", "a comma or } belongs here"},
		{"{\"a\": 1,}", "1:9", "remove the comma"},
		{"{\"a\": [1,]}", "1:10", "remove the comma"},
		{"{\"a\": [1 2]}", "1:10", "a comma or ] belongs here"},
		{"{\n  // note\n}", "2:3", "a comment, which JSON does not have"},
		{"# note\n{}", "1:1", "a comment, which JSON does not have"},
		{"{'a': 1}", "1:2", "a single quotation mark"},
		{"{a: 1}", "1:2", "a key in double quotation marks"},
		{"{\"a\" 1}", "1:6", "a colon"},
		{"{\"a\": }", "1:7", "a value belongs here"},
		{"{\"a\": True}", "1:7", "a value belongs here"},
		{"{\"a\": tru}", "1:7", "a value belongs here"},
		{"{\"a\": -}", "1:7", "a value belongs here"},
		{"{\"a\": 01}", "1:7", "does not begin with 0"},
		{"{\"a\": 1.}", "1:7", "1. is not a number"},
		{"{\"a\": 1e}", "1:7", "1e is not a number"},
		{"{\"a\": \"x}", "1:7", "no end"},
		{"{\"a\": \"x\n\"}", "1:7", "no end on its line"},
		{"{\"a\": \"\t\"}", "1:8", "control character"},
		{"{\"a\": \"\\x\"}", "1:8", "a backslash"},
		{"{\"a\": \"\\u12g4\"}", "1:12", "four hexadecimal digits"},
		{"{\"ü\": \"äö\", x}", "1:13", "a key in double quotation marks"}, // columns are characters
		{"{\"a\": 1, \"a\": 2}", "1:10", "stands twice"},
		{"{\"a\": 1, \"\\u0061\": 2}", "1:10", "stands twice"},
		{"{} {}", "1:4", "here is more"},
		{"{\"a\": \"\xff\"}", "1:8", "UTF-8"},
		{"[]", "1:1", "has to hold an object, in braces, and holds a list"},
		{"\n 5", "2:2", "holds 5"},
		{"null", "1:1", "holds null"},
		{"{\"version\": 2}", "1:13", "update chant-acp"},
		{strings.Repeat("{\"a\":", 101), "1:501", "nested more than 100 deep"},
		{"\xef\xbb\xbf{,}", "1:2", "a comma"}, // a byte order mark is no character
		{"{\"a\": 1", "1:8", "the end of the file"},
	} {
		d, err := Parse("c.json", []byte(c.text))
		var broken *SyntaxError
		if !errors.As(err, &broken) {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if at := fmt.Sprintf("%d:%d", broken.Line, broken.Column); at != c.at || !strings.Contains(broken.Message, c.says) {
			t.Errorf("%q: %v, want %s and %q", c.text, err, c.at, c.says)
		}
		if d == nil || d.root != nil || len(d.text) > 0 {
			t.Errorf("%q: the document is not empty", c.text)
		}
	}
}

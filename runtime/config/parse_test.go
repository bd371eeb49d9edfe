package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
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
		{"{\"a\": 1.}", "1:9", "digits belong behind"},
		{"{\"a\": 1e}", "1:9", "digits belong into"},
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

func TestManyKeys(t *testing.T) {
	var b strings.Builder
	for i := range 40_000 {
		fmt.Fprintf(&b, ",\"k%d\":0", i)
	}
	if _, err := Parse("c", []byte("{"+b.String()[1:]+"}")); err != nil {
		t.Error(err)
	}
	for _, twice := range []string{"k3", "k39999"} {
		if _, err := Parse("c", []byte("{"+b.String()[1:]+",\""+twice+"\":0}")); err == nil || !strings.Contains(err.Error(), "twice") {
			t.Errorf("%s: %v", twice, err)
		}
	}
}

// distinct says whether no object of a JSON text has a key twice, and whether
// none is nested too deep.
func distinct(d *json.Decoder, depth int) bool {
	tok, err := d.Token()
	if err != nil {
		return true
	}
	delim, ok := tok.(json.Delim)
	if !ok {
		return true
	}
	if depth > maxDepth {
		return false
	}
	fine, seen := true, map[string]bool{}
	for d.More() {
		if delim == '{' {
			key, _ := d.Token()
			name, _ := key.(string)
			fine = fine && !seen[name]
			seen[name] = true
		}
		fine = distinct(d, depth+1) && fine
	}
	_, _ = d.Token()
	return fine
}

// The parser takes what encoding/json takes, but keys that stand twice, depths
// beyond sense and what is not UTF-8.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"", " ", "{}", `{"a":{"b":[1,-0.5e+3,"\u00e9\n",true,false,null]}}`, `{"a":1,"a":2}`, "[1,]", "01", "1.", "\"\\ud800\"", "{\"a\" : 1 }\n", "tru", "-", "{\"\":0}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		n, failed := parse(text)
		blank := strings.Trim(string(text), " \t\r\n") == ""
		want := json.Valid(text) && utf8.Valid(text) && distinct(json.NewDecoder(strings.NewReader(string(text))), 1)
		if blank {
			if n != nil || failed != nil {
				t.Fatalf("%q is blank, and is %v, %v", text, n, failed)
			}
			return
		}
		if (failed == nil) != want {
			t.Fatalf("%q: %v, want %v", text, failed, want)
		}
		if failed != nil {
			if line, column := place(text, failed.at); line < 1 || column < 1 || failed.at > len(text) || failed.why == "" {
				t.Fatalf("%q: %+v", text, failed)
			}
			return
		}
		if got, want := string(text[n.start:n.end]), strings.Trim(string(text), " \t\r\n"); got != want {
			t.Fatalf("the value of %q is %q", text, got)
		}
	})
}

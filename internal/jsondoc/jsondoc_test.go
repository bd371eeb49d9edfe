package jsondoc_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-acp/chant-acp/internal/jsondoc"
)

var strict = jsondoc.Rules{Depth: 100}

func TestRepeats(t *testing.T) {
	var b strings.Builder
	for i := range 40_000 {
		b.WriteString(",\"k" + strconv.Itoa(i) + "\":0")
	}
	many := b.String()[1:]
	for _, c := range []struct {
		text string
		want []string
	}{
		{`{"a": {"b": 1}, "c": {"b": 1}}`, nil},
		{`{"a": 1, "b": 2, "\u0061": 3, "a": 4}`, []string{"a 17 1", "a 30 1"}},
		{`[{"a": {"x": 1, "x": 2}}, {"y": 1, "y": 1}]`, []string{"x 16 8", "y 35 27"}},
		{"{" + many + "}", nil},
		{"{" + many + `,"k3":0}`, []string{fmt.Sprintf("k3 %d 22", len(many)+2)}},
	} {
		d, err := jsondoc.Parse([]byte(c.text), strict)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, r := range d.Repeats {
			got = append(got, fmt.Sprint(r.Name, " ", r.Start, " ", r.First))
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%.60s: %q, want %q", c.text, got, c.want)
		}
	}
}

// TestPlaces looks at what Parse says of a text, with and without comments.
func TestPlaces(t *testing.T) {
	const text = "\ufeff// c\r\n{\"\u00e4\": [1, {\"b\" : \"x\\n\"}], /* */ \"n\": null,}\n"
	if _, err := jsondoc.Parse([]byte(text), strict); err == nil || err.Error() != "line 1, column 1: a comment, which JSON does not have, stands here; remove it" {
		t.Error(err)
	}
	d, err := jsondoc.Parse([]byte(text), jsondoc.Rules{Depth: 3, Comments: true})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	places := d.Places()
	note := func(what string, at int) {
		line, column := places.Of(at)
		if l, c := d.Position(at); l != line || c != column {
			t.Errorf("%s is in line %d, column %d, and, from the beginning, %d, %d", what, line, column, l, c)
		}
		got = append(got, fmt.Sprintf("%d:%d %s", line, column, what))
	}
	var walk func(v *jsondoc.Value)
	walk = func(v *jsondoc.Value) {
		note(string(v.Text), v.Start)
		for i := range v.Items {
			walk(&v.Items[i])
		}
		for i := range v.Members {
			note(v.Members[i].Name, v.Members[i].Start)
			walk(&v.Members[i].Value)
		}
	}
	walk(d.Root)
	want := []string{
		"2:1 " + strings.TrimSpace(text[strings.Index(text, "{"):]), "2:2 \u00e4", "2:7 [1, {\"b\" : \"x\\n\"}]", "2:8 1",
		"2:11 {\"b\" : \"x\\n\"}", "2:12 b", "2:18 \"x\\n\"", "2:33 n", "2:38 null",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if line, column := places.Of(0); line != 1 || column != 1 {
		t.Errorf("asked again, the beginning is in line %d, column %d", line, column)
	}
	if s := d.Root.Member("\u00e4").Value.Items[1].Member("b").Value.String(); s != "x\n" || d.Standard {
		t.Errorf("%q, standard: %t", s, d.Standard)
	}
}

// depthOf is how deeply the objects and lists of a JSON text are nested.
func depthOf(text []byte) (most int) {
	d := json.NewDecoder(bytes.NewReader(text))
	for depth := 0; ; {
		tok, err := d.Token()
		if err != nil {
			return most
		}
		switch tok {
		case json.Delim('{'), json.Delim('['):
			depth++
			most = max(most, depth)
		case json.Delim('}'), json.Delim(']'):
			depth--
		}
	}
}

// The strict rules take what encoding/json takes, but depths beyond sense and what is
// not UTF-8.
func FuzzParse(f *testing.F) {
	for _, s := range []string{
		"", " ", "{}", `{"a":{"b":[1,-0.5e+3,"\u00e9\n",true,false,null]}}`, `{"a":1,"a":2}`, "[1,]", "01", "1.", `"\ud800"`, "{\"a\" : 1 }\n", "tru", "-", `{"":0}`,
		"// c", "{}/*", "{\"a\":1 // c\n}", "{,}", `{"a" "b"}`, `{"a":"\u12`, "{\"a\n\":1}", "{} {}", "]", "}", "[1,/**/]", "//\u2028\n1", "//\r1\n2", "\"",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		d, err := jsondoc.Parse(text, strict)
		inner := bytes.TrimPrefix(text, []byte("\ufeff"))
		trimmed := strings.Trim(string(inner), " \t\r\n")
		want := trimmed == "" || json.Valid(inner) && utf8.Valid(inner) && depthOf(inner) <= strict.Depth
		if (err == nil) != want {
			t.Fatalf("%q: %v, want %v", text, err, want)
		}
		var bad *jsondoc.Error
		switch {
		case errors.As(err, &bad):
			if lines := strings.Split(string(inner), "\n"); bad.Line < 1 || bad.Line > len(lines) || bad.Column < 1 || bad.Column > 1+utf8.RuneCountInString(lines[bad.Line-1]) || bad.Message == "" {
				t.Fatalf("%q: %+v", text, bad)
			}
		case trimmed == "":
			if d.Root != nil {
				t.Fatalf("%q is blank, and is %+v", text, d.Root)
			}
		case string(d.Root.Text) != trimmed || !d.Standard:
			t.Fatalf("the value of %q is %q", text, d.Root.Text)
		}
		if err == nil {
			if _, err := jsondoc.Parse(text, jsondoc.Rules{Depth: 100, Comments: true}); err != nil {
				t.Fatalf("%q with comments: %v", text, err)
			}
		}
	})
}

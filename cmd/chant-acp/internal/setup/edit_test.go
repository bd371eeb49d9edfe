package setup

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-acp/chant-acp/internal/jsondoc"
)

// edit sets agents → chant to {"command": "/b"}, or only its command where the
// entry is there, in a file whose default step is two spaces.
func edit(src string) (string, error) {
	d, err := parse([]byte(src), "  ")
	if err != nil {
		return "", err
	}
	keys := []string{"agents", "chant"}
	if d.Root != nil {
		at, err := d.find(keys)
		if err != nil {
			return "", err
		}
		if len(at.keys) == len(keys) {
			out, err := d.set(append(keys, "command"), "/b")
			return string(out), err
		}
	}
	out, err := d.set(keys, object{{"command", "/b"}})
	return string(out), err
}

func TestEdit(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"nothing", "", "{\n  \"agents\": {\n    \"chant\": {\n      \"command\": \"/b\"\n    }\n  }\n}\n"},
		{"white space", " \n\n", "{\n  \"agents\": {\n    \"chant\": {\n      \"command\": \"/b\"\n    }\n  }\n}\n"},
		{"byte order mark alone", "\ufeff", "\ufeff{\n  \"agents\": {\n    \"chant\": {\n      \"command\": \"/b\"\n    }\n  }\n}\n"},
		{"comment alone", "// mine", "// mine\n{\n  \"agents\": {\n    \"chant\": {\n      \"command\": \"/b\"\n    }\n  }\n}\n"},
		{"comments alone, CRLF", "/* a */\r\n// b\r\n", "/* a */\r\n// b\r\n{\r\n  \"agents\": {\r\n    \"chant\": {\r\n      \"command\": \"/b\"\r\n    }\r\n  }\r\n}\r\n"},
		{"empty object", "{}", "{\n  \"agents\": {\n    \"chant\": {\n      \"command\": \"/b\"\n    }\n  }\n}"},
		{"empty object over two lines", "{\n}\n", "{\n  \"agents\": {\n    \"chant\": {\n      \"command\": \"/b\"\n    }\n  }\n}\n"},
		{"object with a comment", "{\n  // mine  \n\n}\n", "{\n  // mine  \n  \"agents\": {\n    \"chant\": {\n      \"command\": \"/b\"\n    }\n  }\n}\n"},
		{"comment after the brace, CRLF", "{ // mine\r\n}", "{ // mine\r\n  \"agents\": {\r\n    \"chant\": {\r\n      \"command\": \"/b\"\r\n    }\r\n  }\r\n}"},
		{"four spaces", "{\n    \"a\": 1\n}\n", "{\n    \"a\": 1,\n    \"agents\": {\n        \"chant\": {\n            \"command\": \"/b\"\n        }\n    }\n}\n"},
		{"tabs", "{\n\t\"a\": [1]\n}\n", "{\n\t\"a\": [1],\n\t\"agents\": {\n\t\t\"chant\": {\n\t\t\t\"command\": \"/b\"\n\t\t}\n\t}\n}\n"},
		{"CRLF and a mark", "\ufeff{\r\n  \"a\": 1\r\n}\r\n", "\ufeff{\r\n  \"a\": 1,\r\n  \"agents\": {\r\n    \"chant\": {\r\n      \"command\": \"/b\"\r\n    }\r\n  }\r\n}\r\n"},
		{"trailing comma", "{\n  \"a\": 1,\n}\n", "{\n  \"a\": 1,\n  \"agents\": {\n    \"chant\": {\n      \"command\": \"/b\"\n    }\n  },\n}\n"},
		{"no trailing comma is added", "{\n  \"agents\": {\n    \"x\": {}\n  }\n}\n", "{\n  \"agents\": {\n    \"x\": {},\n    \"chant\": {\n      \"command\": \"/b\"\n    }\n  }\n}\n"},
		{"comment before the comma", "{\n  \"a\": 1 /* one */, // first\n}\n", "{\n  \"a\": 1 /* one */, // first\n  \"agents\": {\n    \"chant\": {\n      \"command\": \"/b\"\n    }\n  },\n}\n"},
		{"comment on the last line", "{\n  \"a\": 1 // one\n  // the end\n}\n", "{\n  \"a\": 1, // one\n  \"agents\": {\n    \"chant\": {\n      \"command\": \"/b\"\n    }\n  }\n  // the end\n}\n"},
		{"comment over lines", "{\n  \"a\": 1 /* x */ /* y\n  */\n}\n", "{\n  \"a\": 1, /* x */\n  \"agents\": {\n    \"chant\": {\n      \"command\": \"/b\"\n    }\n  } /* y\n  */\n}\n"},
		{"comment without a newline at the end", "{}// end", "{\n  \"agents\": {\n    \"chant\": {\n      \"command\": \"/b\"\n    }\n  }\n}// end"},
		{"brace on the last line", "{\n  \"a\": 1 }", "{\n  \"a\": 1,\n  \"agents\": {\n    \"chant\": {\n      \"command\": \"/b\"\n    }\n  } }"},
		{"one line", `{"a": 1}`, `{"a": 1, "agents": {"chant": {"command": "/b"}}}`},
		{"one line, tight", `{"a":1}`, `{"a":1,"agents":{"chant":{"command":"/b"}}}`},
		{"one line, room at the braces", `{ "a": 1 }`, `{ "a": 1, "agents": {"chant": {"command": "/b"}} }`},
		{"one line, trailing comma", `{"a": 1 ,}`, `{"a": 1 , "agents": {"chant": {"command": "/b"}},}`},
		{"one line before a line comment", "{\"a\": 1 // one\n}", "{\"a\": 1, \"agents\": {\"chant\": {\"command\": \"/b\"}} // one\n}"},
		{"empty object in a line", `{"agents": {}}`, `{"agents": {"chant": {"command": "/b"}}}`},
		{"empty object with a comment in a line", `{"agents": {/* none */}}`, `{"agents": {/* none */ "chant": {"command": "/b"} }}`},
		{"empty object on a line of its own", "{\n  \"agents\": {},\n  \"z\": 0\n}", "{\n  \"agents\": {\n    \"chant\": {\n      \"command\": \"/b\"\n    }\n  },\n  \"z\": 0\n}"},
		{"replaced", "{ \"agents\" : { /* c */ \"chant\" /* d */ : {\"command\" : \"/a\" /* e */ , \"env\": {\"K\": 1e2}} } }", "{ \"agents\" : { /* c */ \"chant\" /* d */ : {\"command\" : \"/b\" /* e */ , \"env\": {\"K\": 1e2}} } }"},
		{"replaced under an escaped key", `{"agents": {"ch\u0061nt": {"command": "/a"}}}`, `{"agents": {"ch\u0061nt": {"command": "/b"}}}`},
		{"command added to an entry", "{\n  \"agents\": {\n    \"chant\": {\n      \"env\": {}\n    }\n  }\n}", "{\n  \"agents\": {\n    \"chant\": {\n      \"env\": {},\n      \"command\": \"/b\"\n    }\n  }\n}"},
		{"other keys twice", `{"a": 1, "a": 2}`, `{"a": 1, "a": 2, "agents": {"chant": {"command": "/b"}}}`},
		{"look-alikes in comments and strings", "{\n  // \"agents\": {\n  \"x\": \"\\\"agents\\\": { // }\"\n}\n", "{\n  // \"agents\": {\n  \"x\": \"\\\"agents\\\": { // }\",\n  \"agents\": {\n    \"chant\": {\n      \"command\": \"/b\"\n    }\n  }\n}\n"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := edit(c.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Error(diff)
			}
			again, err := edit(got)
			if err != nil || again != got {
				t.Errorf("a second edit changed it: %v\n%s", err, again)
			}
		})
	}
}

func TestEditRefuses(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"not JSON", "{\n  \"a\": tru\n}", "line 2, column 8: a value belongs here"},
		{"cut off", "{\n  \"a\": 1", "line 2, column 9: a comma or } belongs here, and here is the end of the file"},
		{"two values", "{} {}", "line 1, column 4"},
		{"comma alone", "{\"a\": 1,,}", "line 1, column 9"},
		{"single quotes", "{'a': 1}", "line 1, column 2"},
		{"a list", " []", "line 1, column 2: the file's content must be an object"},
		{"a string", "\"agents\"", "line 1, column 1: the file's content must be an object"},
		{"key is null", "{\n\t\"agents\": null\n}", `line 2, column 12: "agents" must be an object`},
		{"entry is a string", "{\"agents\": {\"chant\": \"x\"}}", `line 1, column 22: "agents" → "chant" must be an object`},
		{"command is a list", "{\"agents\": {\"chant\": {\"command\": [/* c */]}}}", `line 1, column 34: "agents" → "chant" → "command" must be a string`},
		{"key twice", "{\"agents\": {},\n \"agents\": {}}", `line 2, column 2: the key "agents" is here a second time, first on line 1, column 2`},
		{"key twice, once escaped", `{"agents": {"chant": {}, "\u0063hant": {}}}`, `line 1, column 26: the key "chant"`},
		{"comment without an end", "/* a", "line 1, column 1: this comment has no end"},
		{"carriage return in a comment", "// a\r{}\n", "line 1, column 5: a carriage return stands alone"},
		{"too deep", strings.Repeat("[", 501), "line 1, column 501: values are nested more than 500 deep"},
		{"UTF-16", "\xff\xfe{\x00}\x00", "line 1, column 1: this is not UTF-8 text"},
		{"Latin-1 in a comment", "{}\n// \ufffd Stra\xdfe", "line 2, column 10: this is not UTF-8 text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, err := edit(c.in)
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %q, %v; want %q", got, err, c.want)
			}
		})
	}
}

// FuzzEdit edits anything that parses, and checks that the result parses, has
// the value, and has every other value and every comment as it was, in order.
func FuzzEdit(f *testing.F) {
	for _, seed := range []string{
		"", "// c", "{}", "{ /* c */ }", "\ufeff{\r\n\t\"a\": [1, 2,], // c\r\n}", `{"a":{"b":{}},}`,
		`{"agents": {"chant": {"command": "/a", "args": [/*x*/"y"]}}}`, "{\"agents\":{\"x\":1 // c\n,}/**/}//", "{\"a\":1/*\n*/}",
		"{\n  \"agents\": {\n    // c\n  }\n}", "{\r\"a\"\r:1\r}", "{\"a\": 1, //c\n\"b\": 2,}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got, err := edit(in)
		if err != nil {
			return
		}
		after, err := parse([]byte(got), "  ")
		if err != nil {
			t.Fatalf("%q became %q: %v", in, got, err)
		}
		at, err := after.find([]string{"agents", "chant", "command"})
		if err != nil || len(at.keys) != 3 || at.value.String() != "/b" {
			t.Fatalf("%q became %q: no command there (%v)", in, got, err)
		}
		if again, err := edit(got); err != nil || again != got {
			t.Fatalf("%q became %q, then %q (%v)", in, got, again, err)
		}
		before, err := parse([]byte(in), "  ")
		if err != nil {
			t.Fatal(err)
		}
		if want, have := comments(in), comments(got); !slices.Equal(want, have) {
			t.Fatalf("%q became %q: comments %q, were %q", in, got, have, want)
		}
		if want, have := before.others(), after.others(); !slices.Equal(want, have) {
			t.Fatalf("%q became %q: values\n%q, were\n%q", in, got, have, want)
		}
	})
}

// others lists each value that is not the command or an object on the way to it.
func (d document) others() []string {
	if d.Root == nil {
		return nil
	}
	var list []string
	var walk func(path string, v *jsondoc.Value)
	walk = func(path string, v *jsondoc.Value) {
		switch v.Kind {
		case '{':
			list = append(list, path+"{")
			for i := range v.Members {
				walk(fmt.Sprintf("%s.%q", path, v.Members[i].Name), &v.Members[i].Value)
			}
		case '[':
			list = append(list, path+"[")
			for i := range v.Items {
				walk(path+"[]", &v.Items[i])
			}
		default:
			list = append(list, path+"="+string(v.Text))
		}
	}
	walk("", d.Root)
	return slices.DeleteFunc(list, func(s string) bool {
		return s == "{" || s == `."agents"{` || s == `."agents"."chant"{` || strings.HasPrefix(s, `."agents"."chant"."command"=`)
	})
}

// comments reads a file's comments without the parser: a walk over characters
// that knows strings from comments and nothing else.
func comments(src string) []string {
	var list []string
	for len(src) > 0 {
		n := 1
		switch {
		case src[0] == '"':
			for n < len(src) && src[n] != '"' {
				if src[n] == '\\' {
					n++
				}
				n++
			}
			n++
		case strings.HasPrefix(src, "//"):
			if n = strings.IndexByte(src, '\n'); n < 0 {
				n = len(src)
			}
			list = append(list, strings.TrimSuffix(src[:n], "\r"))
		case strings.HasPrefix(src, "/*"):
			n = strings.Index(src[2:], "*/") + 4
			list = append(list, src[:n])
		}
		src = src[min(n, len(src)):]
	}
	return list
}

func TestCommentsOracle(t *testing.T) {
	got := comments("// a\r\n{\"x//\": \"/* \\\" */\", /* b\n */ \"y\": 1 /**/ // c")
	if diff := cmp.Diff([]string{"// a", "/* b\n */", "/**/", "// c"}, got); diff != "" {
		t.Error(diff)
	}
}

// Parsing never changes the bytes it was given.
func TestParseLeavesSource(t *testing.T) {
	src := append([]byte("{\"a\": 1,} // c"), make([]byte, 8)...)[:14]
	was := bytes.Clone(src[:cap(src)])
	if _, err := parse(src, "  "); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(was, src[:cap(src)]) {
		t.Errorf("changed to %q", src[:cap(src)])
	}
}

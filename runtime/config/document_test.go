package config

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func document(t testing.TB, text string) *Document {
	t.Helper()
	d, err := Parse("c.json", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestSetAndUnset(t *testing.T) {
	for name, c := range map[string]struct {
		before, key, value, after string
		profile                   string
		unset                     bool
	}{
		"into nothing":       {before: "", key: "daemon.port", value: "1", after: "{\n  \"daemon\": {\n    \"port\": 1\n  }\n}\n"},
		"into empty":         {before: "{}", key: "daemon.port", value: "1", after: "{\n  \"daemon\": {\n    \"port\": 1\n  }\n}"},
		"a new block":        {before: "{\n  \"version\": 1\n}\n", key: "log.max", value: `"1 MiB"`, after: "{\n  \"version\": 1,\n  \"log\": {\n    \"max\": \"1 MiB\"\n  }\n}\n"},
		"into a block":       {before: "{\n  \"daemon\": {\n    \"port\": 1\n  }\n}\n", key: "daemon.label", value: `"x"`, after: "{\n  \"daemon\": {\n    \"port\": 1,\n    \"label\": \"x\"\n  }\n}\n"},
		"the value only":     {before: "{\"daemon\":{\"port\" :  1}, \"z\":1.0}", key: "daemon.port", value: "2", after: "{\"daemon\":{\"port\" :  2}, \"z\":1.0}"},
		"on one line":        {before: "{\"daemon\": {\"port\": 1}}\n", key: "daemon.label", value: `"x"`, after: "{\"daemon\": {\"port\": 1, \"label\": \"x\"}}\n"},
		"tabs":               {before: "{\n\t\"daemon\": {\n\t\t\"port\": 1\n\t}\n}\n", key: "agent.output", value: `"full"`, after: "{\n\t\"daemon\": {\n\t\t\"port\": 1\n\t},\n\t\"agent\": {\n\t\t\"output\": \"full\"\n\t}\n}\n"},
		"CRLF":               {before: "{\r\n  \"version\": 1\r\n}\r\n", key: "log.max", value: "5", after: "{\r\n  \"version\": 1,\r\n  \"log\": {\r\n    \"max\": 5\r\n  }\r\n}\r\n"},
		"a list":             {before: "{\n  \"version\": 1\n}\n", key: "adapters.x.command", value: `["a","--b"]`, after: "{\n  \"version\": 1,\n  \"adapters\": {\n    \"x\": {\n      \"command\": [\"a\", \"--b\"]\n    }\n  }\n}\n"},
		"in a profile":       {before: "{\n  \"version\": 1\n}\n", profile: "work", key: "daemon.port", value: "2", after: "{\n  \"version\": 1,\n  \"profiles\": {\n    \"work\": {\n      \"daemon\": {\n        \"port\": 2\n      }\n    }\n  }\n}\n"},
		"unknown":            {before: "{\"z\": {\"y\": 1}}", key: "z.x", value: "[1, {\"a\": 1e400}]", after: "{\"z\": {\"y\": 1, \"x\": [1, {\"a\": 1e400}]}}"},
		"a quoted part":      {before: "{}\n", key: `adapters."a.b".command`, value: `["x"]`, after: "{\n  \"adapters\": {\n    \"a.b\": {\n      \"command\": [\"x\"]\n    }\n  }\n}\n"},
		"what must survive":  {before: "{\n  \"zeta\": 1.10,\n  \"a\": 12345678901234567890123,\n  \"\\u00e9\": \"\\u00e9\\/\",\n  \"daemon\": {\"port\": 1}\n}\n", key: "daemon.port", value: "2", after: "{\n  \"zeta\": 1.10,\n  \"a\": 12345678901234567890123,\n  \"\\u00e9\": \"\\u00e9\\/\",\n  \"daemon\": {\"port\": 2}\n}\n"},
		"no HTML escapes":    {before: "{}", key: "daemon.label", value: `"<&>"`, after: "{\n  \"daemon\": {\n    \"label\": \"<&>\"\n  }\n}"},
		"unset the only one": {before: "{\n  \"daemon\": {\n    \"port\": 1\n  }\n}\n", key: "daemon.port", unset: true, after: "{\n  \"daemon\": {}\n}\n"},
		"unset the first":    {before: "{\n  \"a\": 1,\n  \"b\": 2\n}\n", key: "a", unset: true, after: "{\n  \"b\": 2\n}\n"},
		"unset the last":     {before: "{\n  \"a\": 1,\n  \"b\": 2\n}\n", key: "b", unset: true, after: "{\n  \"a\": 1\n}\n"},
		"unset the middle":   {before: "{\"a\":1,\"b\":2,\"c\":3}", key: "b", unset: true, after: "{\"a\":1,\"c\":3}"},
		"unset a block":      {before: "{\"a\":1,\"daemon\":{\"port\":1}}", key: "daemon", unset: true, after: "{\"a\":1}"},
		"unset in a profile": {before: `{"profiles":{"w":{"log":{"max":1}}}}`, profile: "w", key: "log.max", unset: true, after: `{"profiles":{"w":{"log":{}}}}`},
	} {
		t.Run(name, func(t *testing.T) {
			d := document(t, c.before)
			var err error
			if c.unset {
				var was bool
				if was, err = d.Unset(c.profile, c.key); !was {
					t.Error("it was not there")
				}
			} else {
				err = d.Set(c.profile, c.key, json.RawMessage(c.value))
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.after, string(d.text)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSetRefuses(t *testing.T) {
	const text = `{"daemon": {"port": 1, "allowedOrigins": ["a"]}, "z": 5}`
	for _, c := range []struct{ profile, key, value, says string }{
		{"", "daemon.port", `"x"`, `daemon.port must be a whole number from 0 to 65535, and is "x"`},
		{"", "daemon.port", `65536`, "from 0 to 65535"},
		{"", "daemon.port", `1.5`, "whole number"},
		{"", "daemon", `{"port": true}`, "daemon.port must be a whole number from 0 to 65535, and is true"},
		{"", "daemon", `5`, "daemon must be an object, and is 5"},
		{"", "agent.output", `"loud"`, "one of auto, full, plain, quiet"},
		{"", "agent.exitIdle", `30`, "a duration such as 90s"},
		{"", "agent.exitIdle", `"-1s"`, "a duration such as 90s"},
		{"", "log.max", `"64 MB"`, "64 MiB"},
		{"", "log.max", `0`, "a number of bytes"},
		{"", "chant.command", `"chant"`, "an absolute path"},
		{"", "tunnel.token", `5`, "tunnel.token must be text, and is something else"},
		{"", "adapters.x.command", `[]`, "must begin with the program"},
		{"", "adapters.x.command", `["a", 5]`, `a list of texts, or one text that is split into words without a shell, such as ["gemini", "--acp"], and is one with 5 in it`},
		{"", "adapters.x.env.A", `5`, "an object of texts"},
		{"", "adapters.x", `{"mcp": true}`, "needs command"},
		{"", "adapters.-x.command", `["a"]`, "can't be a name"},
		{"", "version", `2`, "update chant-acp"},
		{"", "version", `"1"`, "version must be 1"},
		{"", "z.y", `5`, "z is 5, and no object that y could be put into"},
		{"", "daemon.allowedOrigins.0", `"b"`, "daemon.allowedOrigins is a list, and no object"},
		{"", "daemon.port", `{`, "not JSON"},
		{"", "daemon.port", ``, "not JSON"},
		{"", "", `5`, "empty part"},
		{"", "daemon..port", `5`, "empty part"},
		{"", `"a`, `5`, "without an end"},
		{"", `"a"b`, `5`, "a dot belongs"},
		{"w", "daemon.port", `"x"`, "daemon.port must be"},
		{"a b", "daemon.port", `5`, "can't be a profile's name"},
	} {
		d := document(t, text)
		err := d.Set(c.profile, c.key, json.RawMessage(c.value))
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s = %s: %v, want %q", c.key, c.value, err, c.says)
		}
		if string(d.text) != text {
			t.Errorf("%s = %s: the document is now %s", c.key, c.value, d.text)
		}
	}
	d := document(t, text)
	if was, err := d.Unset("", "daemon.allowedOrigins.0"); was || err == nil {
		t.Errorf("a part of a list was unset: %v", err)
	}
	if was, err := d.Unset("", "daemon.label"); was || err != nil {
		t.Errorf("%v, %v", was, err)
	}
}

func TestGet(t *testing.T) {
	d := document(t, `{"daemon": {"port": 1, "bind": "::1"}, "list": [10, {"a": 1.50}], "profiles": {"w": {"daemon": {"port": 2}}}}`)
	for _, c := range []struct{ profile, key, want string }{
		{"", "daemon.port", "1"},
		{"", "daemon", `{"port": 1, "bind": "::1"}`},
		{"", "list.0", "10"},
		{"", "list.1.a", "1.50"},
		{"", "list.2", ""},
		{"", "list.00", ""},
		{"", "daemon.port.x", ""},
		{"", "missing.key", ""},
		{"w", "daemon.port", "2"},
		{"w", "daemon.bind", `"::1"`},
		{"", "profiles.w.daemon.port", "2"},
	} {
		got, ok, err := d.Get(c.profile, c.key)
		if err != nil || string(got) != c.want || ok != (c.want != "") {
			t.Errorf("%s %s: %s, %v, %v; want %s", c.profile, c.key, got, ok, err, c.want)
		}
	}
	if _, _, err := d.Get("v", "daemon.port"); err == nil || !strings.Contains(err.Error(), `no profile "v"`) || !strings.Contains(err.Error(), "there is: w") {
		t.Error(err)
	}
	if got := d.Profiles(); !slices.Equal(got, []string{"w"}) {
		t.Error(got)
	}
}

func TestCheck(t *testing.T) {
	d := document(t, `{
  "version": 1,
  "$schema": "./s.json",
  "deamon": {"port": 1},
  "daemon": {"prot": 1, "port": "x", "label": null},
  "agent": [],
  "adapters": {"a": {"command": ["x"]}, "b": {}, "c d": {}, "e": 5},
  "profiles": {"w": {"daemon": {"bind": 5}, "version": 1, "adapters": {"a": {"mcp": 1}}}},
  "tunnel": {"token": ["secret"]}
}
`)
	want := []string{
		`c.json:4:3: deamon is no key of chant-acp, and is kept for whoever knows it`,
		`c.json:5:14: daemon.prot is no key of chant-acp, and is kept for whoever knows it; did you mean daemon.port?`,
		`c.json:5:33: daemon.port must be a whole number from 0 to 65535, and is "x"`,
		`c.json:5:47: daemon.label must be text, and is null`,
		`c.json:6:12: agent must be an object, and is a list`,
		`c.json:7:46: adapters.b needs command, the program to run and its arguments`,
		`c.json:7:50: "c d" can't be a name here: names are made of letters, digits and _ . - and begin with a letter, a digit or _`,
		`c.json:7:66: adapters.e must be an object, and is 5`,
		`c.json:8:41: profiles.w.daemon.bind must be text, and is 5`,
		`c.json:8:45: profiles.w.version has no meaning in a profile; it belongs to the top level`,
		`c.json:8:85: profiles.w.adapters.a.mcp must be true or false, and is 1`,
		`c.json:9:23: tunnel.token must be text, and is something else`,
	}
	var got []string
	advice := 0
	for _, p := range d.Check() {
		got = append(got, p.String())
		if p.Advice {
			advice++
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if advice != 3 {
		t.Errorf("%d of them are advice", advice)
	}
}

func TestNearest(t *testing.T) {
	d := document(t, `{"mine": {"special": 1}, "adapters": {"gemini": {"command": ["x"]}}}`)
	for key, want := range map[string]string{
		"daemon.prot":              "daemon.port",
		"deamon.port":              "daemon.port",
		"exitidle":                 "agent.exitIdle",
		"agent.exitidel":           "agent.exitIdle",
		"port":                     "daemon.port",
		"adapters.x.comand":        "adapters.x.command",
		"profiles.w.daemon.lable":  "profiles.w.daemon.label",
		"something.else.entirely.": "",
		"utterly":                  "",
		"mine.spezial":             "mine.special",
		"spezial":                  "mine.special",
		"adapters.gemni":           "adapters.gemini",
	} {
		if got := d.Nearest(key); strings.Join(got, " ") != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}

func compact(value []byte) []byte {
	var b bytes.Buffer
	if err := json.Compact(&b, value); err != nil {
		return value
	}
	return b.Bytes()
}

// FuzzEdit holds for any file that what was set can be read, what was unset is
// gone, and all the rest is byte for byte what it was.
func FuzzEdit(f *testing.F) {
	for _, s := range []string{"", "{}", "{\n\t\"a\": 1.0\n}", `{"a":{"b":1},"z":[1,{"y":1e5}]}`, "{\r\n \"daemon\" : {\"port\":1 } , \"x\":0}\r\n", `{"":{"":1}}`} {
		f.Add([]byte(s), "daemon.port", "5")
		f.Add([]byte(s), "x.y.z", `{"a": [1, "\u00e9"]}`)
		f.Add([]byte(s), `"".""`, `""`)
		f.Add([]byte(s), "a.b", "null")
	}
	f.Add([]byte(""), "\x8c", "0") // was kept as another key
	f.Fuzz(func(t *testing.T, text []byte, key, value string) {
		d, err := Parse("c", text)
		if err != nil {
			return
		}
		path, err := splitKey(key)
		if err != nil {
			return
		}
		if got, err := splitKey(joinKey(path)); err != nil || !slices.Equal(got, path) {
			t.Fatalf("%q is joined to %q, which is %q, %v", path, joinKey(path), got, err)
		}
		before := rest(d, path[0])
		if d.Set("", key, json.RawMessage(value)) != nil {
			return
		}
		if !json.Valid(d.text) || !slices.Equal(rest(d, path[0]), before) {
			t.Fatalf("%q with %s = %s is %q", text, key, value, d.text)
		}
		got, ok, err := d.Get("", key)
		if err != nil || !ok || !bytes.Equal(compact(got), compact([]byte(value))) {
			t.Fatalf("%s of %q is %q, %v, %v; want %q", key, d.text, got, ok, err, value)
		}
		if was, err := d.Unset("", key); !was || err != nil {
			t.Fatalf("%s can't be unset in %q: %v", key, d.text, err)
		}
		if _, ok, _ := d.Get("", key); ok || !slices.Equal(rest(d, path[0]), before) {
			t.Fatalf("without %s it is %q", key, d.text)
		}
	})
}

// rest is a document's members but one, as they stand there.
func rest(d *Document, but string) (members []string) {
	for i := 0; d.root != nil && i < len(d.root.Members); i++ {
		if m := d.root.Members[i]; m.Name != but {
			members = append(members, string(d.text[m.Start:m.Value.End]))
		}
	}
	return members
}

func TestKnown(t *testing.T) {
	for key, want := range map[string]string{
		"daemon.port": "daemon.port", "daemon": "section", "profiles.w.daemon.port": "daemon.port", "profiles.w": "section",
		"adapters.x.env.A": "adapters.<slug>.env", "adapters.x.command.0": "", "daemon.port.x": "", "z": "", "profiles.w.version": "", "a..b": "",
	} {
		k, section := Known(key)
		got := ""
		if k != nil {
			got = k.Name
		} else if section {
			got = "section"
		}
		if got != want {
			t.Errorf("%s is %q, want %q", key, got, want)
		}
	}
}

package command

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v4"
)

func manifestSchemaOf(t testing.TB) (*jsonschema.Schema, *jsonschema.Resolved) {
	t.Helper()
	s := new(jsonschema.Schema)
	if err := json.Unmarshal(ManifestSchema(), s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		t.Fatal(err)
	}
	return s, r
}

// valid says what the schema says of a manifest, and whether it is YAML at all.
func valid(t testing.TB, r *jsonschema.Resolved, text string) (err error, isYAML bool) {
	t.Helper()
	var value any
	if err := yaml.Unmarshal([]byte(text), &value); err != nil {
		return err, false
	}
	return r.Validate(asJSON(value)), true
}

// asJSON is a value of YAML as editors see it: keys are texts.
func asJSON(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for key, value := range v {
			v[key] = asJSON(value)
		}
	case map[any]any:
		m := make(map[string]any, len(v))
		for key, value := range v {
			m[fmt.Sprint(key)] = asJSON(value)
		}
		return m
	case time.Time: // which JSON does not have
		return v.String()
	case []any:
		for i := range v {
			v[i] = asJSON(v[i])
		}
	}
	return v
}

// goodManifests use each key, and each form that a value may have.
var goodManifests = []string{
	"version: 1\n",
	"version: 1\ncommands: {}\nenvironments: [dev, 1, 1.5, true]\n",
	"version: 1\nenvironments: {dev: , stage: {}, prod: {protected: true}}\n",
	header + "  c: {summary: s, exec: [x]}\n",
	header + "  7: {summary: 5, exec: [true, 1, 1.5, '']}\n",
	header + "  db  up:down/now+x@1 y.z_1-2: {summary: ' s ', exec: [x, '{{a}}', '{', '{}', '{1}']}\n",
	header + "  runs: {summary: s, exec: ['{{a}}']}\n  chants: {summary: s, exec: [./x]}\n",
	header + "  c: {summary: s, exec: [x], rest: any, effect: destroy, confirm: none, timeout: 24h, grace: 0, tty: true, cwd: a/b, env: {A: 1, _b: '', C: true}, success: [0, 255]}\n",
	header + "  c: {summary: s, exec: [x], rest: none, timeout: 1ms, grace: 5m, cwd: ./..a, confirm: ask}\n",
	header + "  c: {summary: s, exec: [x], rest: {pattern: '[a-z]+'}, timeout: 1h30m0.5s, grace: '0'}\n",
	header + "  c: {summary: s, exec: [x, '{a}', '{b}', '{c}'], params: {a: {position: 1, required: true}, b: {flag: --b.c, short: -1, type: bool, as: [--x, -y]}, c: {flag: --c, repeat: true, default: [x, 5], enum: [x, 5], as: ['--c={}']}}}\n",
	header + "  c: {summary: s, exec: [x, --, '{a}'], params: {a: {position: 1, type: int, default: -5, dash: true, description: A number, pattern: '-?[0-9]'}}}\n",
	header + "  c: {summary: s, exec: [x, '{a}'], params: {a: {position: 1, required: false, default: x, type: string}}}\n",
	header + "  c: {summary: s, exec: [x], problems: [go, gcc, tsc, eslint, rust, {pattern: '(?P<file>a)(?P<line>b)(?<column>c)?'}]}\n",
	header + "  c: {summary: s, exec: [x], problems: []}\n",
	header + "  c:\n    summary: >\n      folded\n    exec:\n      - x\n",
}

func TestSchemaTakesGoodManifests(t *testing.T) {
	_, r := manifestSchemaOf(t)
	list := slices.Clone(goodManifests)
	for _, file := range []string{"testdata/sample.yaml", "../testdata/project/chant-acp.yaml"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, string(text))
	}
	for _, text := range list {
		if _, err := ParseManifest("f", []byte(text)); err != nil {
			t.Errorf("the parser refuses\n%s%v", text, err)
		}
		if err, _ := valid(t, r, text); err != nil {
			t.Errorf("the schema refuses\n%s%v", text, err)
		}
	}
}

// TestSchemaRefusesBadManifests runs the parser's own table of mistakes. What is
// listed here can't be said in a schema, because it is about the text of the YAML,
// about a length in time, or about what two parts of a manifest say together.
func TestSchemaRefusesBadManifests(t *testing.T) {
	beyond := []string{
		// Of the text, not of what it says.
		"too large", "two documents", "anchor", "merge key", "binary tag", "command twice", "control character",
		// Bounds of durations, and whether a pattern is one.
		"timeout large", "grace", "cwd outside", "rest pattern", "pattern that closes its group",
		"problems pattern", "problems lookahead", "problems without a group", "problems with another group",
		// What parts say together.
		"undeclared template twice", "optional inside twice", "undeclared template", "undeclared template far off", "optional inside", "repeat inside", "as inside",
		"env protected", "position gap", "position not from 1", "position twice", "required after optional", "repeat not last", "repeat with rest",
		"flag twice", "short twice", "enum against type", "enum against pattern", "default against enum", "default against pattern", "default against type", "default empty", "default with a hyphen", "default protected",
		"env repeated", "env typed", "env twice", "env by name and by flag",
	}
	_, r := manifestSchemaOf(t)
	refused := 0
	for _, bad := range badManifests() {
		err, isYAML := valid(t, r, strings.Replace(bad.text, "§", "", 1))
		switch excused := slices.Contains(beyond, bad.name); {
		case !isYAML: // an editor says so without a schema
		case err == nil && !excused:
			t.Errorf("the schema takes %s:\n%s", bad.name, bad.text)
		case err != nil && excused:
			t.Errorf("the schema does refuse %s, so it is not beyond it: %v", bad.name, err)
		case err != nil:
			refused++
		}
	}
	if refused < 60 {
		t.Errorf("only %d were refused by the schema", refused)
	}
}

// TestSchemaKnowsTheKeys wants the keys of the parser's own lists, each explained.
func TestSchemaKnowsTheKeys(t *testing.T) {
	s, _ := manifestSchemaOf(t)
	for _, c := range []struct {
		of     *jsonschema.Schema
		parser []string
	}{
		{s, manifestKeys},
		{s.Defs["environment"], []string{"protected"}},
		{s.Defs["command"], commandKeys},
		{s.Defs["param"], paramKeys},
		{s.Properties["sources"], SourceTools},
		{s.Defs["source"], sourceKeys(false)},
		{s.Defs["makeSource"], sourceKeys(true)},
	} {
		var keys []string
		for key, property := range c.of.Properties {
			keys = append(keys, key)
			if property.Description == "" && property.Ref == "" {
				t.Errorf("%s is not explained", key)
			}
		}
		slices.Sort(keys)
		if want := slices.Sorted(slices.Values(c.parser)); !slices.Equal(keys, want) {
			t.Errorf("the schema has %q, the parser %q", keys, want)
		}
	}
	names := s.Properties["commands"].PropertyNames
	for _, word := range []string{"run", "approve", "reject", "confirm", "allow", "signal", "ops", "help", "explain", "history", "again"} {
		if !reserved(word) || !strings.Contains(names.Not.Pattern, word) {
			t.Errorf("%s: reserved %v, in the schema's pattern %q", word, reserved(word), names.Not.Pattern)
		}
	}
}

// FuzzSchema: what the parser takes, the schema takes, but where it is known to
// be stricter.
func FuzzSchema(f *testing.F) {
	for _, text := range goodManifests {
		f.Add(text)
	}
	_, r := manifestSchemaOf(f)
	f.Fuzz(func(t *testing.T, text string) {
		if _, err := ParseManifest("f", []byte(text)); err != nil {
			return
		}
		err, isYAML := valid(t, r, text)
		// Numbers that are written differently can be equal, which also keeps a list of
		// environments from being one of the two forms that they may have.
		stricter := func() bool {
			says := err.Error()
			return strings.Contains(says, "uniqueItems") || strings.Contains(says, "maxLength") || strings.Contains(says, "/properties/environments: oneOf")
		}
		if isYAML && err != nil && !stricter() {
			t.Errorf("the schema refuses what the parser takes:\n%s\n%v", text, err)
		}
	})
}

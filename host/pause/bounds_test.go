package pause_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/host/pause"
)

// A schema is the project's, and must not be able to end or to stall the agent.
func TestSchemasThatCannotBeBounded(t *testing.T) {
	for _, c := range []struct{ name, schema, want string }{
		{"itself", `{"$ref":"#"}`, "/$ref: "},
		{"in any case", `{"properties":{"x":{"$REF":"#"}}}`, "/properties/x/$REF: "},
		{"a cycle of choices", `{"$defs":{"a":{"anyOf":[{"required":["z"],"properties":{"x":{"$ref":"#/$defs/a"}}}]}},"$ref":"#/$defs/a"}`, "can't hold references"},
		{"dynamic", `{"$dynamicAnchor":"n","properties":{"x":{"$dynamicRef":"#n"}}}`, "/properties/x/$dynamicRef: "},
		{"recursive", `{"items":[{"$recursiveRef":"#"}]}`, "/items/0/$recursiveRef: "},
		{"a slash in a name", `{"properties":{"a/b":{"$ref":"#"}}}`, "/properties/a~1b/$ref: "},
		{"deep", strings.Repeat(`{"not":`, 40) + "true" + strings.Repeat("}", 40), "nested more than 32 deep"},
		{"deep without an end", strings.Repeat("[", 10000), "nested more than 32 deep"},
		{"large", `{"title":"` + strings.Repeat("x", 16<<10) + `"}`, "and may have 16384"},
		{"a large pattern", `{"pattern":"` + strings.Repeat("x{1000}", 100) + `"}`, "/pattern: "},
		{"large patterns of names", `{"patternProperties":{"` + strings.Repeat("x{1000}", 100) + `":true}}`, "/patternProperties: "},
		{"no pattern", `{"pattern":"("}`, "can't be read: missing closing )"},
		{"no JSON", `{`, "it is not JSON"},
	} {
		if err := pause.CheckSchema(json.RawMessage(c.schema)); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
		q := pause.Request{Schema: json.RawMessage(c.schema)} // of a record that somebody else wrote
		if err := q.Meets(json.RawMessage("5")); err == nil {
			t.Errorf("%s: an answer meets it", c.name)
		}
	}
}

func TestAnswersThatAreTooLarge(t *testing.T) {
	for _, c := range []struct{ name, schema, answer, want string }{
		{"deep", `{"type":"array"}`, strings.Repeat("[", 33) + strings.Repeat("]", 33), "nested more than 32 deep"},
		{"large", `{"type":"string"}`, `"` + strings.Repeat("x", 64<<10) + `"`, "and may have 65536 with this schema"},
		{"large for the schema", `{"type":"string","title":"` + strings.Repeat("x", 8<<10) + `"}`, `"` + strings.Repeat("x", 1<<10) + `"`, "with this schema"},
	} {
		var answer *pause.AnswerError
		if err := (pause.Request{Schema: json.RawMessage(c.schema)}).Meets(json.RawMessage(c.answer)); !errors.As(err, &answer) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", c.name, err, c.want)
		}
	}
	brackets := `"` + strings.Repeat(`[\"{`, 100) + `"`
	if err := (pause.Request{Schema: json.RawMessage(`{"type":"string"}`)}).Meets(json.RawMessage(brackets)); err != nil {
		t.Errorf("brackets in a text: %v", err)
	}
}

// What an answer lacks is said without anything of Go.
func TestWhatAnAnswerLacks(t *testing.T) {
	for _, c := range []struct{ schema, answer, want string }{
		{`{"type":"string"}`, `null`, `the answer does not meet the schema: type: it has type "null", want "string"`},
		{`{"properties":{"a":{"type":"string"}}}`, `{"a":1}`, `the answer does not meet the schema: /properties/a: type: it has type "integer", want "string"`},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `1`, "the answer does not meet the schema: anyOf: it meets none of the schemas"},
		{`{"oneOf":[{"type":"string"},{"const":1}]}`, `2`, "the answer does not meet the schema: oneOf: it meets none of the schemas, or more than one"},
		{`{"enum":[{"a":1}]}`, `{"a":2}`, "the answer does not meet the schema: enum: it is none of the values that the schema allows"},
		{`{"not":{"type":"null"}}`, `null`, "the answer does not meet the schema: not: it meets the schema that it must not meet"},
		{`{"contains":{"type":"null"}}`, `[1]`, "the answer does not meet the schema: contains: no item meets the schema"},
	} {
		err := (pause.Request{Schema: json.RawMessage(c.schema)}).Meets(json.RawMessage(c.answer))
		if err == nil || err.Error() != c.want {
			t.Errorf("%s of %s:\n got %v\nwant %s", c.answer, c.schema, err, c.want)
		}
	}
	if err := pause.CheckSchema(json.RawMessage(`{"type":{}}`)); err == nil || strings.Contains(err.Error(), "json:") || strings.Contains(err.Error(), "Go ") {
		t.Errorf("got %v", err)
	}
}

// No schema that may be used keeps an answer from being checked.
func FuzzMeets(f *testing.F) {
	f.Add([]byte(`{"$ref":"#"}`), []byte("5"))
	f.Add([]byte(`{"properties":{"a":{"pattern":"^v[0-9]+$"}}}`), []byte(`{"a":"v1"}`))
	f.Add([]byte(`{"contains":{"enum":[1,null]},"uniqueItems":true}`), []byte(`[1,1,null]`))
	f.Fuzz(func(_ *testing.T, schema, answer []byte) {
		_ = pause.Request{Schema: schema}.Meets(answer)
	})
}

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
	deep := strings.Repeat(`{"x":`, 30) + "1" + strings.Repeat("}", 30)
	for _, c := range []struct{ name, schema string }{
		{"itself", `{"$ref":"#"}`},
		{"in any case", `{"properties":{"x":{"$REF":"#"}}}`},
		{"a cycle of choices", `{"$defs":{"a":{"anyOf":[{"required":["z"],"properties":{"x":{"$ref":"#/$defs/a"}}},{"required":["z"],"properties":{"x":{"$ref":"#/$defs/a"}}}]}},"$ref":"#/$defs/a"}`},
		{"dynamic", `{"properties":{"x":{"$dynamicRef":"#n"}}}`},
		{"recursive", `{"items":{"$recursiveRef":"#"}}`},
		{"deep", strings.Repeat(`{"not":`, 40) + "true" + strings.Repeat("}", 40)},
		{"deep without an end", strings.Repeat("[", 100_000)},
		{"no JSON", `{`},
	} {
		if pause.CheckSchema(json.RawMessage(c.schema)) == nil {
			t.Errorf("%s: it can be used", c.name)
		}
		q := pause.Request{Schema: json.RawMessage(c.schema)} // of a record that somebody else wrote
		for _, answer := range []string{"5", deep} {
			if q.Meets(json.RawMessage(answer)) == nil {
				t.Errorf("%s: the answer %s meets it", c.name, answer)
			}
		}
	}
}

// What an answer lacks is said without anything of Go.
func TestWhatAnAnswerLacks(t *testing.T) {
	for _, c := range []struct{ schema, answer string }{
		{`{"type":"string"}`, `null`},
		{`{"properties":{"a":{"type":"string"}}}`, `{"a":{"b":null}}`},
		{`{"anyOf":[{"type":"string"},{"type":"null"}]}`, `1`},
		{`{"oneOf":[{"type":"string"},{"const":1}]}`, `{"a":[1]}`},
		{`{"enum":[{"a":1}]}`, `{"a":2}`},
		{`{"not":{"type":"null"}}`, `null`},
		{`{"type":"string"}`, strings.Repeat("[", 100_000)},
	} {
		err := (pause.Request{Schema: json.RawMessage(c.schema)}).Meets(json.RawMessage(c.answer))
		var bad *pause.AnswerError
		if !errors.As(err, &bad) || !strings.HasPrefix(err.Error(), "the answer does not meet the schema: ") {
			t.Errorf("%s of %.100s: %v", c.schema, c.answer, err)
			continue
		}
		for _, internal := range []string{"reflect", "json:", "map[", "interface", "Go "} {
			if strings.Contains(err.Error(), internal) {
				t.Errorf("%s of %.100s: %v", c.schema, c.answer, err)
			}
		}
	}
}

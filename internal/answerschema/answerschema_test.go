package answerschema_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/internal/answerschema"
)

// What JSON Schema 2020-12 says of each keyword, met and not met.
func TestMeets(t *testing.T) {
	for _, c := range []struct{ schema, met, not string }{
		{`true`, `null 1 "a" [] {}`, ``},
		{`false`, ``, `null 1 "a" [] {}`},
		{`{}`, `null {}`, ``},
		{`{"type":"integer"}`, `1 1.0 -3 1e3`, `1.5 "1" null true`},
		{`{"type":["string","null"]}`, `"a" null`, `1 {}`},
		{`{"type":"number"}`, `1 1.5`, `"1"`},
		{`{"type":"boolean"}`, `true false`, `0 null`},
		{`{"enum":[1,"a",null,{"x":[1]}]}`, `1 1.0 "a" null {"x":[1]}`, `2 "b" {"x":[2]} false`},
		{`{"const":null}`, `null`, `0 false`},
		{`{"enum":[1,2],"const":2}`, `2`, `1 3`},
		{`{"minimum":1,"maximum":2}`, `1 2 1.5 "a" null`, `0.9 2.1`},
		{`{"exclusiveMinimum":1,"exclusiveMaximum":2}`, `1.5`, `1 2`},
		{`{"multipleOf":0.1}`, `0.3 7 0 -0.2`, `0.35`},
		{`{"minLength":2,"maxLength":3}`, `"äö" "日本語" 1`, `"ä" "abcd"`},
		{`{"pattern":"^v[0-9]+$"}`, `"v12" 5`, `"v" "xv1"`},
		{`{"pattern":"b"}`, `"abc"`, `"xyz"`},
		{`{"items":{"type":"string"},"minItems":1,"maxItems":2}`, `["a"] {} "x"`, `[] [1] ["a","b","c"]`},
		{`{"uniqueItems":true}`, `[1,"1",[1]]`, `[1,1.0] [{"a":1,"b":2},{"b":2,"a":1}]`},
		{`{"properties":{"a":{"type":"string"}},"required":["a"]}`, `{"a":"x","b":1} []`, `{} {"a":1}`},
		{`{"properties":{"a":true},"additionalProperties":false}`, `{"a":1} {}`, `{"b":1}`},
		{`{"additionalProperties":{"type":"number"}}`, `{"b":1}`, `{"b":"1"}`},
		{`{"minProperties":1,"maxProperties":1}`, `{"a":1}`, `{} {"a":1,"b":2}`},
		{`{"allOf":[{"minimum":1},{"maximum":2}]}`, `1`, `0 3`},
		{`{"anyOf":[{"type":"string"},{"minimum":5}]}`, `"a" 5 null`, `4`},
		{`{"oneOf":[{"minimum":1},{"maximum":5}]}`, `0 6`, `3`},
		{`{"not":{"type":"null"}}`, `0`, `null`},
		{`{"title":"t","description":"d","format":"email","default":5,"examples":[1],"$comment":"c","$schema":"https://json-schema.org/draft/2020-12/schema"}`, `1`, ``},
	} {
		if err := answerschema.Check(json.RawMessage(c.schema)); err != nil {
			t.Errorf("%s: %v", c.schema, err)
		}
		for _, answer := range strings.Fields(c.met) {
			if err := answerschema.Meets(json.RawMessage(c.schema), json.RawMessage(answer)); err != nil {
				t.Errorf("%s: %s: %v", c.schema, answer, err)
			}
		}
		for _, answer := range strings.Fields(c.not) {
			err := answerschema.Meets(json.RawMessage(c.schema), json.RawMessage(answer))
			if bad := (*answerschema.AnswerError)(nil); !errors.As(err, &bad) {
				t.Errorf("%s: %s meets it: %v", c.schema, answer, err)
			}
		}
	}
}

func TestSchemasThatCannotBeUsed(t *testing.T) {
	deep := strings.Repeat(`{"not":`, 40) + "true" + strings.Repeat("}", 40)
	for _, c := range []struct{ schema, path, message string }{
		{`{"type":5}`, "type", "must be one of null"},
		{`{"type":"strin"}`, "type", `"strin"`},
		{`{"type":[]}`, "type", "no type"},
		{`{"$ref":"file:///etc/passwd"}`, "$ref", "not followed"},
		{`{"$ref":"#"}`, "$ref", "not followed"},
		{`{"pattern":"("}`, "pattern", "missing closing )"},
		{`{"pattern":"(?=a)"}`, "pattern", "not a pattern"},
		{`{"pattern":"` + strings.Repeat("a", 2000) + `"}`, "pattern", "the most"},
		{`{"minimum":"a"}`, "minimum", "must be a number"},
		{`{"minLength":-1}`, "minLength", "whole number"},
		{`{"maxItems":1.5}`, "maxItems", "whole number"},
		{`{"multipleOf":0}`, "multipleOf", "more than 0"},
		{`{"properties":{"a":{"type":"x"}}}`, "properties a type", "must be one of"},
		{`{"properties":[]}`, "properties", "must be an object"},
		{`{"anyOf":[true,{"type":"x"}]}`, "anyOf 1 type", "must be one of"},
		{`{"anyOf":[]}`, "anyOf", "not empty"},
		{`{"items":[{}]}`, "items", "a schema is an object"},
		{`{"required":"a"}`, "required", "list of texts"},
		{`{"required":[1]}`, "required 0", "must be text"},
		{`{"enum":[]}`, "enum", "not empty"},
		{`{"uniqueItems":1}`, "uniqueItems", "true or false"},
		{`{"minimun":1}`, "minimun", "not known"},
		{`{"title":1}`, "title", "must be text"},
		{`5`, "", "a schema is an object"},
		{`{`, "", "not JSON"},
		{`{"minimum":1e999}`, "", "not JSON"},
		{deep, strings.TrimSpace(strings.Repeat("not ", 32)), "nested more than 32"},
		{`{"title":"` + strings.Repeat("a", answerschema.MaxSchema) + `"}`, "", "the most"},
	} {
		err := answerschema.Check(json.RawMessage(c.schema))
		var bad *answerschema.SchemaError
		if !errors.As(err, &bad) || strings.Join(bad.Path, " ") != c.path || !strings.Contains(bad.Message, c.message) {
			t.Errorf("%.80s: %v", c.schema, err)
		}
		if err := answerschema.Meets(json.RawMessage(c.schema), json.RawMessage("1")); !errors.As(err, &bad) {
			t.Errorf("%.80s: an answer was checked: %v", c.schema, err)
		}
	}
}

func TestWhereAnAnswerIsWrong(t *testing.T) {
	err := answerschema.Meets(
		json.RawMessage(`{"properties":{"hosts":{"items":{"properties":{"port":{"maximum":65535}}}}}}`),
		json.RawMessage(`{"hosts":[{"port":1},{"port":70000}]}`))
	var bad *answerschema.AnswerError
	if !errors.As(err, &bad) || !slices.Equal(bad.Path, []string{"hosts", "1", "port"}) || !strings.Contains(err.Error(), "hosts.1.port: it must be at most 65535, and is 70000") {
		t.Error(err)
	}
}

// The work of a check is bounded, whatever schema and answer are.
func TestWorkIsBounded(t *testing.T) {
	list := "[" + strings.Repeat("0,", 400_000) + "0]"
	many := "[" + strings.TrimSuffix(strings.Repeat(`{"items":{"minimum":0}},`, 1000), ",") + "]"
	pattern := `{"pattern":"(x+x+){300}y"}`
	for name, c := range map[string][2]string{
		"many schemas": {`{"allOf":` + many + `}`, list},
		"none of many": {`{"not":{"allOf":` + many + `}}`, list},
		"a pattern":    {pattern, `"` + strings.Repeat("x", 1_000_000) + `"`},
		"not large":    {`true`, `"` + strings.Repeat("x", answerschema.MaxAnswer) + `"`},
	} {
		err := answerschema.Meets(json.RawMessage(c[0]), json.RawMessage(c[1]))
		var bad *answerschema.AnswerError
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), "takes too long") && !strings.Contains(err.Error(), "the most") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// No schema and no answer ends the process, and what Check takes Meets can use.
func FuzzMeets(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"pattern":"^a"}}}`, `{"a":"b"}`)
	f.Add(`{"oneOf":[{"minimum":1},{"not":{"enum":[[]]}}]}`, `[1,{}]`)
	f.Add(`{"uniqueItems":true,"items":{"multipleOf":0.5}}`, `[1,2]`)
	f.Fuzz(func(t *testing.T, schema, answer string) {
		checked := answerschema.Check(json.RawMessage(schema))
		err := answerschema.Meets(json.RawMessage(schema), json.RawMessage(answer))
		var bad *answerschema.SchemaError
		if (checked != nil) != errors.As(err, &bad) {
			t.Error(fmt.Errorf("check: %w; meets: %w", checked, err))
		}
	})
}

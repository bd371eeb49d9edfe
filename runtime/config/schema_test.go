package config

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

func resolved(t testing.TB) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(&jsonschema.ResolveOptions{ValidateDefaults: true})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// agree wants the schema to say of a file what the program does.
func agree(t *testing.T, schema *jsonschema.Resolved, text string, good bool) {
	t.Helper()
	d, err := Parse("c", []byte(text))
	if err == nil {
		if p := d.check(false); len(p) > 0 {
			err = fmt.Errorf("%v", p)
		}
	}
	if (err == nil) != good {
		t.Errorf("the program says of %s: %v, want good: %v", text, err, good)
	}
	var value any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(value); (err == nil) != good {
		t.Errorf("the schema says of %s: %v, want good: %v", text, err, good)
	}
}

func TestSchemaAgrees(t *testing.T) {
	schema := resolved(t)
	for _, text := range []string{
		"{}", everything, `{"$schema": "x", "version": 1, "unknown": {"a": [1]}, "daemon": {"more": 1}}`,
		`{"log": {"max": 1}}`, `{"log": {"max": "1"}}`, `{"log": {"max": "007 GiB"}}`, `{"log": {"max": 1.0}}`,
		`{"agent": {"exitIdle": "0"}}`, `{"agent": {"exitIdle": "1h.5m"}}`, `{"agent": {"exitIdle": "1.5h3µs"}}`,
		`{"daemon": {"port": 0, "allowedOrigins": []}}`, `{"profiles": {}}`, `{"profiles": {"a.b-c_1": {}}}`,
		`{"profiles": {"p": {"adapters": {"x": {"mcp": true}}}}}`, // the top level gives the command
		`{"adapters": {"x": {"command": ["a", ""], "more": 1}}}`, `{"adapters": {"x": {"command": "a --b"}}}`,
		`{"chant": {"command": "~/x"}}`, `{"tunnel": {"token": ""}}`, `{"adapters": {"x": {"command": ["a"], "env": {}}}}`,
		`{"profiles": {"p": {"version": "of no meaning here", "profiles": 5}}}`,
	} {
		agree(t, schema, text, true)
	}
	for _, text := range []string{
		"[]", "5", `{"version": 2}`, `{"version": "1"}`, `{"activeProfile": 5}`, `{"daemon": []}`, `{"daemon": null}`,
		`{"log": {"max": 0}}`, `{"log": {"max": "0 GiB"}}`, `{"log": {"max": "1GB"}}`, `{"log": {"max": "1  GiB"}}`, `{"log": {"max": "1 "}}`, `{"log": {"max": 1.5}}`, `{"log": {"max": "-1"}}`,
		`{"agent": {"exitIdle": "-1s"}}`, `{"agent": {"exitIdle": "+1s"}}`, `{"agent": {"exitIdle": "1"}}`, `{"agent": {"exitIdle": ""}}`, `{"agent": {"exitIdle": 5}}`, `{"agent": {"exitIdle": ".s"}}`,
		`{"agent": {"output": "Full"}}`, `{"agent": {"output": 5}}`, `{"agent": {"output": null}}`,
		`{"daemon": {"port": -1}}`, `{"daemon": {"port": 65536}}`, `{"daemon": {"port": "1"}}`, `{"daemon": {"strictOrigins": "true"}}`, `{"daemon": {"strictOrigins": 1}}`,
		`{"daemon": {"allowedOrigins": "a"}}`, `{"daemon": {"allowedOrigins": [5]}}`, `{"daemon": {"workspace": "w"}}`, `{"chant": {"command": "~"}}`, `{"chant": {"command": ""}}`,
		`{"adapters": {"x": {}}}`, `{"adapters": {"x": {"command": []}}}`, `{"adapters": {"x": {"command": [""]}}}`, `{"adapters": {"x": {"command": " "}}}`, `{"adapters": {"x": {"command": ""}}}`, `{"adapters": {"x": {"command": ["a", 5]}}}`,
		`{"adapters": {"x y": {"command": ["a"]}}}`, `{"adapters": {"": {"command": ["a"]}}}`, `{"adapters": {"x": 5}}`,
		`{"adapters": {"x": {"command": ["a"], "env": {"A=": "b"}}}}`, `{"adapters": {"x": {"command": ["a"], "env": {"": "b"}}}}`, `{"adapters": {"x": {"command": ["a"], "env": {"A": 5}}}}`, `{"adapters": {"x": {"command": ["a"], "env": []}}}`,
		`{"profiles": 5}`, `{"profiles": {"-": {}}}`, `{"profiles": {"p": 5}}`, `{"profiles": {"p": {"daemon": {"port": "x"}}}}`, `{"profiles": {"p": {"adapters": {"x": {"mcp": 1}}}}}`, `{"profiles": {"p": {"adapters": 5}}}`,
	} {
		agree(t, schema, text, false)
	}
}

// Of each key, the schema and the program take the example, and of a value of
// each kind they think the same.
func TestSchemaAgreesKeyByKey(t *testing.T) {
	schema := resolved(t)
	for _, k := range Keys() {
		path, err := splitKey(k.Name)
		if err != nil {
			t.Fatal(err)
		}
		for i := range path {
			if wildcard(path[i]) {
				path[i] = "any"
			}
		}
		for _, where := range []string{"", "p"} {
			if k.Top && where != "" {
				continue
			}
			for _, value := range []string{k.Example, "null", "true", "5", "0", "-1", "1e9", `"x"`, `"/x"`, `""`, "[]", `["x"]`, "{}", `{"x": "y"}`} {
				text := string(nested(inProfile(where, path), []byte(value)))
				if k.adapter != nil && path[2] != "command" {
					text = string(nested(inProfile(where, path[:2]), []byte(`{"command": ["x"], "`+path[2]+`": `+value+`}`)))
				}
				d, err := Parse("c", []byte(text))
				agree(t, schema, text, err == nil && len(d.check(false)) == 0)
			}
		}
	}
}

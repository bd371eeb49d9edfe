package config

import (
	"bytes"
	"encoding/json"
	"strings"
)

// Patterns of the schema, for what value.go and path.go check in code.
const (
	namePattern     = `^[A-Za-z0-9_][A-Za-z0-9_.-]*$`
	pathPattern     = `^(/|~/)`
	durationPattern = `^(0|(([0-9]+(\.[0-9]*)?|\.[0-9]+)(ns|us|µs|μs|ms|s|m|h))+)$`
	sizePattern     = `^0*[1-9][0-9]*( ?(KiB|MiB|GiB|TiB))?$`
)

type object = map[string]any

// Schema is the JSON Schema (2020-12) of the file, made of the table of keys. It
// lets keys be that it does not know, as the file may hold them.
func Schema() []byte {
	top := object{
		"$schema":     "https://json-schema.org/draft/2020-12/schema",
		"title":       "Configuration of chant-acp",
		"description": "See docs/configuration.md. Every key may be left out.",
		"type":        "object",
	}
	properties, sections, inProfiles := object{}, object{}, object{}
	for i := range table {
		k := &table[i]
		block, rest, nested := strings.Cut(k.Name, ".")
		if !nested {
			properties[k.Name] = k.schema()
			continue
		}
		if k.adapter != nil {
			block, rest = "adapter", k.Name[strings.LastIndexByte(k.Name, '.')+1:]
		}
		if sections[block] == nil {
			sections[block] = object{"type": "object", "properties": object{}}
			if block != "adapter" {
				properties[block] = object{"$ref": "#/$defs/" + block}
				inProfiles[block] = object{"$ref": "#/$defs/" + block}
			}
		}
		sections[block].(object)["properties"].(object)[rest] = k.schema()
	}
	adapter := object{"$ref": "#/$defs/adapter"}
	whole := object{"$ref": "#/$defs/adapter", "required": []string{"command"}}
	inProfiles["adapters"] = byName("ACP agents, key by key in the place of the top level's", adapter)
	properties["adapters"] = byName("ACP agents that a gateway can start, by name", whole)
	properties["profiles"] = byName("Values that count in the place of the top level's while the profile is active", object{"$ref": "#/$defs/profile"})
	sections["profile"] = object{"type": "object", "properties": inProfiles}
	top["properties"], top["$defs"] = properties, sections

	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	_ = e.Encode(top) // maps, lists and texts always encode
	return b.Bytes()
}

// byName is an object whose keys are names that a person chose.
func byName(description string, value object) object {
	return object{
		"type": "object", "description": description,
		"propertyNames": object{"pattern": namePattern}, "additionalProperties": value,
	}
}

// schema is the schema of one key.
func (k *Key) schema() object {
	s := object{"description": k.Summary + "."}
	if k.Example != "" {
		s["examples"] = []any{json.RawMessage(k.Example)}
	}
	if k.Default != "" {
		s["default"] = json.RawMessage(asJSON(k, k.Default))
	} else if k.Without != "" {
		s["description"] = k.Summary + ". Without it: " + k.Without + "."
	}
	switch k.Type {
	case TypeText:
		s["type"] = "string"
	case TypeChoice:
		s["enum"] = k.Choices
	case TypePath:
		s["type"], s["pattern"] = "string", pathPattern
	case TypeBool:
		s["type"] = "boolean"
	case TypeInteger:
		s["type"], s["minimum"], s["maximum"] = "integer", k.Min, k.Max
	case TypeDuration:
		s["type"], s["pattern"] = "string", durationPattern
	case TypeSize:
		s["type"], s["minimum"], s["maximum"], s["pattern"] = []string{"integer", "string"}, k.Min, k.Max, sizePattern
	case TypeList:
		s["type"], s["items"] = "array", object{"type": "string"}
	case TypeCommand: // it begins with a program
		s["type"], s["items"], s["pattern"] = []string{"array", "string"}, object{"type": "string"}, `[^\s]`
		s["minItems"], s["prefixItems"] = 1, []object{{"type": "string", "minLength": 1}}
	case TypeMap:
		s["type"], s["propertyNames"], s["additionalProperties"] = "object", object{"pattern": "^[^=]+$"}, object{"type": "string"}
	}
	return s
}

package op

import (
	"encoding/json"
	"fmt"
	"math"

	"go.yaml.in/yaml/v4"

	"github.com/chant-acp/chant-acp/internal/strictyaml"
)

// parseYAML reads the one document of a file as a value of JSON.
func parseYAML(data []byte) (*node, []Finding) {
	root, problems := strictyaml.Parse(data, "the file")
	if root == nil {
		var found []Finding
		for _, p := range problems {
			found = append(found, Finding{At: Position{p.Line, p.Column}, Message: p.Message})
		}
		if found == nil {
			found = []Finding{{At: Position{1, 1}, Message: "the file is empty; an Op needs at least name and phases"}}
		}
		return nil, found
	}
	var y yamlReader
	return y.value(root, 0), y.found
}

// yamlReader makes nodes of a YAML document.
type yamlReader struct{ found []Finding }

func (y *yamlReader) bad(n *yaml.Node, format string, args ...any) {
	y.found = append(y.found, Finding{At: Position{n.Line, n.Column}, Message: fmt.Sprintf(format, args...)})
}

func (y *yamlReader) value(n *yaml.Node, depth int) *node {
	v := &node{at: Position{n.Line, n.Column}}
	switch {
	case depth > maxDepth:
		y.bad(n, "%v", errDeep)
	case n.Kind == yaml.MappingNode:
		v.kind = object
		y.members(n, v, depth)
	case n.Kind == yaml.SequenceNode:
		v.kind = list
		for _, c := range n.Content {
			v.items = append(v.items, y.value(c, depth+1))
		}
	default:
		y.scalar(n, v)
	}
	return v
}

func (y *yamlReader) members(n *yaml.Node, v *node, depth int) {
	seen := make(map[string]int, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		at := Position{key.Line, key.Column}
		if key.Kind != yaml.ScalarNode {
			y.bad(key, "a key must be text")
			continue
		}
		if line := seen[key.Value]; line > 0 {
			y.found = append(y.found, twice(key.Value, at, line))
			continue
		}
		seen[key.Value] = key.Line
		v.members = append(v.members, member{key.Value, at, y.value(value, depth+1)})
	}
}

// scalar reads what stands without quotes as YAML 1.2 does; a date stays text.
func (y *yamlReader) scalar(n *yaml.Node, v *node) {
	v.source = n.Value
	switch n.Tag {
	case "!!null":
		v.kind, v.source = null, ""
	case "!!bool":
		var b bool
		_ = n.Decode(&b)
		v.kind, v.text = boolean, fmt.Sprint(b)
	case "!!int", "!!float":
		v.kind = number
		written, err := jsonNumber(n)
		if err != nil {
			y.bad(n, "the number %s cannot be used here: %v; put quotes around it if it is text", n.Value, err)
		}
		v.text = written
	default:
		v.kind, v.text, v.source = text, n.Value, ""
	}
}

// jsonNumber writes a number of YAML, such as 0x10, as JSON does.
func jsonNumber(n *yaml.Node) (string, error) {
	var i int64
	if n.Tag == "!!int" && n.Decode(&i) == nil {
		return fmt.Sprint(i), nil
	}
	var f float64
	if err := n.Decode(&f); err != nil {
		return "0", err
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return "0", fmt.Errorf("JSON has no such number")
	}
	written, err := json.Marshal(f)
	return string(written), err
}

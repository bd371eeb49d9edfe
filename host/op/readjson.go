package op

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/chant-acp/chant-acp/internal/jsondoc"
	"github.com/chant-acp/chant-acp/internal/strictyaml"
)

// maxDepth bounds how deeply values are nested in each other.
const maxDepth = 100

var errDeep = fmt.Errorf("values are nested more than %d deep", maxDepth)

// parseJSON reads one value with the places of all that is in it. A key that
// stands twice is an error, which encoding/json would pass over.
func parseJSON(data []byte) (*node, []Finding) {
	doc, err := jsondoc.Parse(data, jsondoc.Rules{Depth: maxDepth})
	if bad := new(jsondoc.Error); errors.As(err, &bad) {
		return nil, []Finding{{At: Position{bad.Line, bad.Column}, Message: "this is not valid JSON: " + bad.Message}}
	}
	if i, what := strictyaml.InvalidText(doc.Text); what != "" {
		line, column := strictyaml.Position(doc.Text, i)
		return nil, []Finding{{At: Position{line, column}, Message: "the file holds " + what}}
	}
	if doc.Root == nil {
		return nil, []Finding{{At: Position{1, 1}, Message: "this is not valid JSON: the file is empty"}}
	}
	r := jsonReader{places: doc.Places()}
	return r.value(doc.Root), r.found
}

// jsonReader makes nodes of a JSON document.
type jsonReader struct {
	places *jsondoc.Places
	found  []Finding
}

func (r *jsonReader) position(at int) Position {
	line, column := r.places.Of(at)
	return Position{line, column}
}

func (r *jsonReader) value(v *jsondoc.Value) *node {
	n := &node{at: r.position(v.Start)}
	switch v.Kind {
	case 't', 'f':
		n.kind, n.text = boolean, v.String()
	case '0':
		var err error
		n.kind = number
		if n.text, err = asJavaScript(json.Number(v.Text)); err != nil {
			r.found = append(r.found, Finding{At: n.at, Message: fmt.Sprintf("the number %s cannot be used here: %v", v.Text, err)})
		}
	case '"':
		n.kind, n.text = text, v.String()
	case '[':
		n.kind = list
		for i := range v.Items {
			n.items = append(n.items, r.value(&v.Items[i]))
		}
	case '{':
		n.kind = object
		seen := make(map[string]int, len(v.Members))
		for i := range v.Members {
			m := &v.Members[i]
			at := r.position(m.Start)
			if first := seen[m.Name]; first > 0 {
				r.found = append(r.found, twice(m.Name, at, first))
				continue
			}
			seen[m.Name] = at.Line
			n.members = append(n.members, member{m.Name, at, r.value(&m.Value)})
		}
	}
	return n
}

// asJavaScript writes a number as JSON.stringify does: 1.0 is 1.
func asJavaScript(n json.Number) (string, error) {
	if !strings.ContainsAny(n.String(), ".eE") {
		return n.String(), nil
	}
	f, err := n.Float64()
	if err != nil {
		return "0", errors.New("it is too large")
	}
	text, err := json.Marshal(f)
	return string(text), err
}

func twice(name string, at Position, first int) Finding {
	return Finding{At: at, Message: fmt.Sprintf("%q stands twice, first in line %d; remove one of them", name, first)}
}

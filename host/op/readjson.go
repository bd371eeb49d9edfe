package op

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strings"
	"unicode/utf8"

	"github.com/chant-acp/chant-acp/internal/strictyaml"
)

// maxDepth bounds how deeply values are nested in each other.
const maxDepth = 100

// parseJSON reads one value with the places of all that is in it. A key that
// stands twice is an error, which encoding/json would pass over.
func parseJSON(data []byte) (*node, []Finding) {
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	p := &jsonParser{data: data}
	if i, what := strictyaml.InvalidText(data); what != "" {
		line, column := strictyaml.Position(data, i)
		return nil, []Finding{{At: Position{line, column}, Message: "the file holds " + what + "; save it as UTF-8 text"}}
	}
	var all json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, []Finding{p.syntax(err)}
	}
	p.dec = json.NewDecoder(bytes.NewReader(data))
	p.dec.UseNumber()
	for i, c := range data {
		if c == '\n' {
			p.lines = append(p.lines, i+1)
		}
	}
	n, err := p.value(0)
	if err != nil {
		return nil, []Finding{p.syntax(err)}
	}
	return n, p.found
}

type jsonParser struct {
	data  []byte
	dec   *json.Decoder
	lines []int // where each line but the first begins
	found []Finding
}

var errDeep = fmt.Errorf("values are nested more than %d deep", maxDepth)

func (p *jsonParser) syntax(err error) Finding {
	offset := len(p.data)
	var bad *json.SyntaxError
	if errors.As(err, &bad) && bad.Offset > 0 {
		offset = min(int(bad.Offset)-1, len(p.data))
		if strings.Contains(err.Error(), "unexpected end") {
			offset = len(p.data)
		}
	}
	line, column := strictyaml.Position(p.data, offset)
	return Finding{At: Position{line, column}, Message: fmt.Sprintf("this is not valid JSON: %v", err)}
}

// next is where the next token begins: behind blanks and what separates tokens.
func (p *jsonParser) next() Position {
	offset := int(p.dec.InputOffset())
	for offset < len(p.data) && bytes.IndexByte([]byte(" \t\r\n,:"), p.data[offset]) >= 0 {
		offset++
	}
	line := sort.SearchInts(p.lines, offset+1)
	start := 0
	if line > 0 {
		start = p.lines[line-1]
	}
	return Position{line + 1, 1 + utf8.RuneCount(p.data[start:offset])}
}

func (p *jsonParser) value(depth int) (*node, error) {
	if depth > maxDepth {
		return nil, errDeep
	}
	n := &node{at: p.next()}
	token, err := p.dec.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case nil:
	case bool:
		n.kind, n.text = boolean, fmt.Sprint(t)
	case json.Number:
		n.kind = number
		if n.text, err = asJavaScript(t); err != nil {
			p.found = append(p.found, Finding{At: n.at, Message: fmt.Sprintf("the number %s cannot be used here: %v", t, err)})
		}
	case string:
		n.kind, n.text = text, t
	case json.Delim:
		if t == '[' {
			err = p.list(n, depth)
		} else {
			err = p.object(n, depth)
		}
		return n, err
	}
	return n, nil
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

func (p *jsonParser) list(n *node, depth int) error {
	n.kind = list
	for p.dec.More() {
		item, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
	}
	_, err := p.dec.Token()
	return err
}

func (p *jsonParser) object(n *node, depth int) error {
	n.kind = object
	seen := make(map[string]int)
	for p.dec.More() {
		at := p.next()
		key, err := p.dec.Token()
		if err != nil {
			return err
		}
		name, _ := key.(string)
		value, err := p.value(depth + 1)
		if err != nil {
			return err
		}
		if line := seen[name]; line > 0 {
			p.found = append(p.found, twice(name, at, line))
			continue
		}
		seen[name] = at.Line
		n.members = append(n.members, member{name, at, value})
	}
	_, err := p.dec.Token()
	return err
}

func twice(name string, at Position, first int) Finding {
	return Finding{At: at, Message: fmt.Sprintf("%q stands twice, first in line %d; remove one of them", name, first)}
}

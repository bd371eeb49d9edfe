package acp

import (
	"bytes"
	"encoding/json"
)

// encode is json.Marshal without HTML escaping, which would make a third of
// any shell output unreadable in a wire log and longer for nothing.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	if err := encodeTo(&buf, v); err != nil {
		return nil, err
	}
	return buf.Bytes(), nil
}

// encodeTo appends v's JSON to buf, without the newline that json.Encoder adds.
func encodeTo(buf *bytes.Buffer, v any) error {
	e := json.NewEncoder(buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	buf.Truncate(buf.Len() - 1)
	return nil
}

// encodeTagged writes v, which must encode to an object, with a discriminator
// as its first member: the schema's unions carry it inside the object.
func encodeTagged(key, value string, v any) ([]byte, error) {
	var buf bytes.Buffer
	buf.WriteString(`{"` + key + `":"` + value + `"`)
	start := buf.Len()
	if err := encodeTo(&buf, v); err != nil {
		return nil, err
	}
	out := buf.Bytes()
	if len(out) == start+2 { // {}
		return append(out[:start], '}'), nil
	}
	out[start] = ','
	return out, nil
}

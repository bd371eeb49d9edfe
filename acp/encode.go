package acp

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
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

// encodeString appends s as a JSON string. Most strings need no escape, and then
// no encoder either.
func encodeString(buf *bytes.Buffer, s string) error {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c < 0x20 || c > 0x7e || c == '"' || c == '\\' {
			return encodeTo(buf, s)
		}
	}
	buf.WriteByte('"')
	buf.WriteString(s)
	buf.WriteByte('"')
	return nil
}

// encodeTagged is v, which must encode to an object, with a discriminator as its
// first member: the schema's unions carry it inside the object.
func encodeTagged(key, value string, v any) ([]byte, error) {
	var buf bytes.Buffer
	err := encodeTaggedTo(&buf, key, value, v)
	return buf.Bytes(), err
}

func encodeTaggedTo(buf *bytes.Buffer, key, value string, v any) error {
	buf.WriteString(`{"` + key + `":"` + value + `"`)
	start := buf.Len()
	if err := encodeTo(buf, v); err != nil {
		return err
	}
	if buf.Len() == start+len(`{}`) {
		buf.Truncate(start)
		buf.WriteByte('}')
		return nil
	}
	buf.Bytes()[start] = ','
	return nil
}

// appender is a value that encodes itself into a buffer. What is sent often
// spares the copies and checks that json.Marshaler costs.
type appender interface {
	appendJSON(buf *bytes.Buffer) error
}

// encodeValue is encodeTo for the params or the result of a message.
func encodeValue(buf *bytes.Buffer, v any) error {
	if a, ok := v.(appender); ok {
		return a.appendJSON(buf)
	}
	return encodeTo(buf, v)
}

// encodeMeta ends an object with its _meta, if it has one.
func encodeMeta(buf *bytes.Buffer, meta Meta) error {
	sep := `,"_meta":{`
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		buf.WriteString(sep)
		sep = ","
		if err := encodeString(buf, key); err != nil {
			return err
		}
		buf.WriteByte(':')
		if err := encodeTo(buf, meta[key]); err != nil {
			return err
		}
	}
	if len(meta) > 0 {
		buf.WriteByte('}')
	}
	buf.WriteByte('}')
	return nil
}

package acp

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"unicode/utf8"
)

// encodeTo appends v's JSON to buf, without the newline that json.Encoder adds,
// and without HTML escaping, which would make a third of any shell output
// unreadable in a wire log and longer for nothing.
func encodeTo(buf *bytes.Buffer, v any) error {
	e := json.NewEncoder(buf)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return err
	}
	buf.Truncate(buf.Len() - 1)
	return nil
}

// AppendString appends s as a JSON string, the bytes that encoding/json makes of
// it without HTML escaping: what is no UTF-8 becomes U+FFFD.
func AppendString(b []byte, s string) []byte {
	b = append(b, '"')
	plain := 0 // the start of what needs no escape
	for i := 0; i < len(s); {
		c := s[i]
		if c < utf8.RuneSelf {
			if c < 0x20 || c == '"' || c == '\\' {
				b = appendEscape(append(b, s[plain:i]...), c)
				plain = i + 1
			}
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && n == 1 || r == '\u2028' || r == '\u2029' { // line ends to JavaScript
			b = append(append(b, s[plain:i]...), '\\', 'u')
			b = append(b, hex[r>>12&15], hex[r>>8&15], hex[r>>4&15], hex[r&15])
			plain = i + n
		}
		i += n
	}
	b = append(b, s[plain:]...)
	return append(b, '"')
}

const hex = "0123456789abcdef"

func appendEscape(b []byte, c byte) []byte {
	switch c {
	case '"', '\\':
		return append(b, '\\', c)
	case '\b':
		return append(b, '\\', 'b')
	case '\f':
		return append(b, '\\', 'f')
	case '\n':
		return append(b, '\\', 'n')
	case '\r':
		return append(b, '\\', 'r')
	case '\t':
		return append(b, '\\', 't')
	}
	return append(b, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}

// An Appender encodes itself. Nothing checks or copies what it appends, which is
// one JSON value without a newline.
type Appender interface {
	AppendJSON(b []byte) ([]byte, error)
}

// AppendValue appends v's JSON as a message carries it.
func AppendValue(b []byte, v any) ([]byte, error) {
	if a, ok := v.(Appender); ok {
		return a.AppendJSON(b)
	}
	buf := bytes.NewBuffer(b)
	err := encodeTo(buf, v)
	return buf.Bytes(), err
}

// appendTagged appends v, which must encode to an object, with a discriminator
// as its first member: the schema's unions carry it inside the object.
func appendTagged(b []byte, key, value string, v any) ([]byte, error) {
	b = append(b, `{"`+key+`":"`+value+`"`...)
	start := len(b)
	b, err := AppendValue(b, v)
	if err != nil {
		return b, err
	}
	if len(b) == start+len(`{}`) {
		return append(b[:start], '}'), nil
	}
	b[start] = ','
	return b, nil
}

// appendMeta ends an object with its _meta, if it has one.
func appendMeta(b []byte, meta Meta) ([]byte, error) {
	if len(meta) == 0 {
		return append(b, '}'), nil
	}
	sep := `,"_meta":{`
	for _, key := range slices.Sorted(maps.Keys(meta)) {
		b = append(b, sep...)
		sep = ","
		b = append(AppendString(b, key), ':')
		var err error
		if b, err = AppendValue(b, meta[key]); err != nil {
			return b, err
		}
	}
	return append(b, '}', '}'), nil
}

package acp

import (
	"bytes"
	"encoding/json"
	"strings"
)

// object reads the members of one JSON object by their exact names.
// encoding/json matches names without regard to case, so that "CWD" would fill
// cwd. The first thing wrong is kept in err and names its path. What is read is
// known to be valid JSON: a line is checked when it arrives, and encoding/json
// checks before it calls an UnmarshalJSON.
type object struct {
	members []member
	path    string
	err     *Error
	room    [4]member // of members: most objects have no more
}

// member is one property of a JSON object, its value undecoded.
type member struct {
	name  string
	value json.RawMessage
}

// readObject starts reading raw. What is not an object is an error at path.
func readObject(raw json.RawMessage, path string) *object {
	o := &object{path: path}
	o.members = o.room[:0]
	if len(raw) == 0 {
		o.fail("", "is missing: it must be an object")
		return o
	}
	if raw[0] != '{' {
		o.fail("", "must be an object")
		return o
	}
	eachMember(raw, func(name string, value json.RawMessage) {
		o.members = append(o.members, member{name, value})
	})
	return o
}

// lookup returns a member, null included; of two with one name the last.
func (o *object) lookup(name string) (json.RawMessage, bool) {
	for i := len(o.members) - 1; i >= 0; i-- {
		if o.members[i].name == name {
			return o.members[i].value, true
		}
	}
	return nil, false
}

// fail records the first problem, at member key ("" for the object itself).
func (o *object) fail(key, format string, args ...any) {
	if o.err != nil {
		return
	}
	at := o.at(key)
	o.err = Errorf(CodeInvalidParams, at+" "+format, args...).With("path", at)
}

func (o *object) at(key string) string {
	if key == "" {
		return o.path
	}
	return strings.TrimPrefix(o.path+"."+key, ".")
}

// done returns the first problem as an error.
func (o *object) done() error {
	if o.err == nil {
		return nil
	}
	return o.err
}

// get returns a member that is there and not null.
func (o *object) get(key string) (json.RawMessage, bool) {
	v, ok := o.lookup(key)
	return v, ok && string(v) != "null"
}

// string reads a required string.
func (o *object) string(key string) string {
	v, ok := o.lookup(key)
	if !ok {
		o.fail(key, "is missing: it must be a string")
		return ""
	}
	if v[0] != '"' {
		o.fail(key, "must be a string")
		return ""
	}
	return unquote(v)
}

// optString reads a string that may be absent or null.
func (o *object) optString(key string) string {
	if _, ok := o.get(key); !ok {
		return ""
	}
	return o.string(key)
}

// list reads the items of an array; null counts as empty, absent only where
// the member is optional.
func (o *object) list(key string, required bool) []json.RawMessage {
	v, ok := o.lookup(key)
	if !ok {
		if required {
			o.fail(key, "is missing: it must be an array")
		}
		return nil
	}
	if string(v) == "null" {
		return nil
	}
	if v[0] != '[' {
		o.fail(key, "must be an array")
		return nil
	}
	return items(v)
}

// strings reads an optional array of strings.
func (o *object) strings(key string, required bool) []string {
	var out []string
	for _, item := range o.list(key, required) {
		if item[0] != '"' {
			o.fail(key, "must hold strings only")
			return nil
		}
		out = append(out, unquote(item))
	}
	return out
}

// lenient decodes a member that the schema defaults on error: what does not
// fit is as good as absent.
func (o *object) lenient(key string, into any) {
	if v, ok := o.get(key); ok {
		_ = json.Unmarshal(v, into) // of a broken object, what fits is kept
	}
}

// meta reads _meta, which is free-form and never an error.
func (o *object) meta() Meta {
	if _, ok := o.get("_meta"); !ok {
		return nil
	}
	var m Meta
	o.lenient("_meta", &m)
	return m
}

// unquote decodes a JSON string that is known to be valid.
func unquote(raw json.RawMessage) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return intern(raw[1 : len(raw)-1])
	}
	var s string
	_ = json.Unmarshal(raw, &s) // valid by then: the whole line was checked
	return s
}

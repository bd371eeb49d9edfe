package gateway

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// maxBody is the longest body of a request, in bytes.
	maxBody = 1 << 20
	// bodyTime is how long a client may take to send one.
	bodyTime = 30 * time.Second
	// maxDepth is how deep a body's JSON may be nested.
	maxDepth = 32
)

// readBody reads a body into v, a pointer to a struct. Strict: JSON in UTF-8, one
// object, no member that the struct lacks, none twice, nothing behind it. An
// empty body is an empty object.
func readBody(w http.ResponseWriter, r *http.Request, v any) error {
	raw, err := readAll(w, r)
	if err != nil {
		return err
	}
	if len(raw) == 0 { // whatever type it says it has: there is nothing to misread
		raw = []byte("{}")
	} else if err := checkMedia(r.Header.Get("Content-Type")); err != nil {
		return err
	}
	return decode(raw, v)
}

func checkMedia(header string) error {
	media, params, err := mime.ParseMediaType(header)
	charset := params["charset"]
	if err != nil || media != "application/json" || charset != "" && !strings.EqualFold(charset, "utf-8") {
		return wrongMedia.problem("send the body as Content-Type: application/json, in UTF-8")
	}
	return nil
}

// readAll reads a body of at most maxBody. What a client announces is believed
// when it is too long, so that none of it is taken.
func readAll(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	large := func() error {
		w.Header().Set("Connection", "close")
		return tooLarge.problem("the body may have %d bytes", maxBody).with("limit", maxBody)
	}
	if r.ContentLength > maxBody {
		return nil, large()
	}
	control := http.NewResponseController(w)
	_ = control.SetReadDeadline(time.Now().Add(bodyTime)) // not every writer has one, such as those of tests
	raw, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	var tooLong *http.MaxBytesError
	switch {
	case errors.As(err, &tooLong):
		return nil, large()
	case err != nil:
		w.Header().Set("Connection", "close")
		return nil, badRequest.problem("the body did not arrive whole within %s", bodyTime)
	}
	_ = control.SetReadDeadline(time.Time{})
	return raw, nil
}

// decode fills v, a pointer to a struct, from one JSON object.
func decode(raw []byte, v any) error {
	if !utf8.Valid(raw) {
		return badRequest.problem("the body is not UTF-8")
	}
	s := &scan{raw: raw, dec: json.NewDecoder(bytes.NewReader(raw)), known: memberNames(reflect.TypeOf(v).Elem())}
	s.dec.UseNumber()
	var bad *json.SyntaxError
	if err := json.Unmarshal(raw, new(json.RawMessage)); errors.As(err, &bad) {
		return s.at(badRequest, int(bad.Offset), "the body is not JSON: %v", err)
	}
	if err := s.document(); err != nil {
		return err
	}
	var wrong *json.UnmarshalTypeError
	if err := json.Unmarshal(raw, v); errors.As(err, &wrong) {
		at := "/" + strings.ReplaceAll(wrong.Field, ".", "/")
		return s.invalid(at, int(wrong.Offset), "must be %s, not %s", typeName(wrong.Type), wrong.Value)
	} else if err != nil {
		return invalid.problem("the body: %v", err)
	}
	return nil
}

// memberNames are the names that a struct's fields have in JSON.
func memberNames(t reflect.Type) []string {
	var names []string
	for f := range t.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			names = append(names, name)
		}
	}
	return names
}

func typeName(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "an array"
	case reflect.Map, reflect.Struct:
		return "an object"
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return "a whole number from 0 to " + strconv.FormatUint(1<<t.Bits()-1, 10)
	case reflect.Pointer:
		return typeName(t.Elem())
	}
	return "a whole number"
}

// scan looks for what encoding/json lets pass: members given twice or written in
// another case. What it reads is JSON, and one value.
type scan struct {
	raw   []byte
	dec   *json.Decoder
	known []string // members of the outermost object
}

func (s *scan) document() error {
	if t, _ := s.dec.Token(); t != json.Delim('{') {
		return s.invalid("", 1, "must be an object")
	}
	return s.object("", 1)
}

// value checks the value that follows. path is a JSON pointer, RFC 6901.
func (s *scan) value(path string, depth int) error {
	if depth > maxDepth {
		return s.invalid(path, int(s.dec.InputOffset()), "is nested deeper than %d", maxDepth)
	}
	switch t, _ := s.dec.Token(); t {
	case json.Delim('{'):
		return s.object(path, depth)
	case json.Delim('['):
		for i := 0; s.dec.More(); i++ {
			if err := s.value(path+"/"+strconv.Itoa(i), depth+1); err != nil {
				return err
			}
		}
		_, _ = s.dec.Token()
	}
	return nil
}

// object checks the members of an object up to its end.
func (s *scan) object(path string, depth int) error {
	seen := make(map[string]bool)
	for s.dec.More() {
		t, _ := s.dec.Token()
		name, _ := t.(string)
		at := path + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		switch end := int(s.dec.InputOffset()); {
		case seen[name]:
			return s.invalid(at, end, "is there twice")
		case path == "" && len(s.known) == 0:
			return s.invalid(at, end, "is not known; the body has no members")
		case path == "" && !slices.Contains(s.known, name):
			return s.invalid(at, end, "is not known; the body may have: %s", strings.Join(s.known, ", "))
		}
		seen[name] = true
		if err := s.value(at, depth+1); err != nil {
			return err
		}
	}
	_, _ = s.dec.Token()
	return nil
}

// invalid tells what is wrong with the value at path.
func (s *scan) invalid(path string, offset int, format string, args ...any) error {
	what := path
	if what == "" {
		what = "the body"
	}
	p := s.at(invalid, offset, "%s", what+" "+fmt.Sprintf(format, args...))
	return p.with("pointer", path)
}

// at says where, in lines and columns of bytes that count from one.
func (s *scan) at(k kind, offset int, format string, args ...any) *Problem {
	before := s.raw[:min(max(offset-1, 0), len(s.raw))]
	line := bytes.Count(before, []byte("\n")) + 1
	column := len(before) - bytes.LastIndexByte(before, '\n')
	return k.problem(format+fmt.Sprintf(" (line %d, column %d)", line, column), args...).with("line", line).with("column", column)
}

// fieldProblem says what is wrong with a member of a body that can be read.
func fieldProblem(name, format string, args ...any) *Problem {
	return invalid.problem("%s", "/"+name+" "+fmt.Sprintf(format, args...)).with("pointer", "/"+name)
}

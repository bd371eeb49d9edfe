package acptest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
)

// matchLine holds a line to a pattern; see Transcript. Names that it gives a
// value are added to names, which holds JSON, when all of it matches.
func matchLine(pattern string, line []byte, names map[string]string) error {
	want, err := decodeExact([]byte(pattern))
	if err != nil {
		return fmt.Errorf("the pattern is not JSON: %w", err)
	}
	got, err := decodeExact(line)
	if err != nil {
		return err
	}
	m := matcher{names: maps.Clone(names)}
	if err := m.match(want, got, "the line"); err != nil {
		return err
	}
	maps.Copy(names, m.names)
	return nil
}

// decodeExact keeps numbers as they are written.
func decodeExact(raw []byte) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, err
	}
	if d.More() {
		return nil, errors.New("there is more than one value")
	}
	return v, nil
}

// matcher compares a message with one of a transcript, whose names stand for values
// that are not known beforehand.
type matcher struct{ names map[string]string }

const rest = "…"

func (m matcher) match(want, got any, path string) error {
	switch want := want.(type) {
	case string:
		return m.matchString(want, got, path)
	case map[string]any:
		return m.matchObject(want, got, path)
	case []any:
		return m.matchArray(want, got, path)
	}
	if want != got {
		return fmt.Errorf("%s is %v, not %v", path, got, want)
	}
	return nil
}

func (m matcher) matchString(want string, got any, path string) error {
	if name, ok := nameIn(want); ok {
		return m.matchName(name, got, path)
	}
	s, ok := got.(string)
	if !ok {
		return fmt.Errorf("%s is no string", path)
	}
	if !matchText(want, s) {
		return fmt.Errorf("%s is %q, not %q", path, clip([]byte(s)), want)
	}
	return nil
}

// nameIn returns the name of "<name>".
func nameIn(s string) (string, bool) {
	inner, ok := strings.CutPrefix(s, "<")
	if !ok {
		return "", false
	}
	return strings.CutSuffix(inner, ">")
}

func (m matcher) matchName(name string, got any, path string) error {
	if name == "any" {
		return nil
	}
	raw, err := json.Marshal(got)
	if err != nil {
		return err
	}
	bound, ok := m.names[name]
	if !ok {
		m.names[name] = string(raw)
		return nil
	}
	want, err := decodeExact([]byte(bound))
	if err != nil {
		return err
	}
	if canonical, err := json.Marshal(want); err != nil || !bytes.Equal(canonical, raw) {
		return fmt.Errorf("%s is %s, not %s, which is <%s>", path, raw, bound, name)
	}
	return nil
}

// matchText matches text with gaps.
func matchText(pattern, s string) bool {
	pieces := strings.Split(pattern, rest)
	if len(pieces) == 1 {
		return pattern == s
	}
	first, last := pieces[0], pieces[len(pieces)-1]
	if !strings.HasPrefix(s, first) {
		return false
	}
	s = s[len(first):]
	for _, piece := range pieces[1 : len(pieces)-1] {
		at := strings.Index(s, piece)
		if at < 0 {
			return false
		}
		s = s[at+len(piece):]
	}
	return strings.HasSuffix(s, last)
}

func (m matcher) matchObject(want map[string]any, got any, path string) error {
	members, ok := got.(map[string]any)
	if !ok {
		return fmt.Errorf("%s is no object", path)
	}
	_, open := want[rest]
	for key := range members {
		if _, ok := want[key]; !ok && !open {
			return fmt.Errorf("%s has a member %q, which the pattern does not have", path, key)
		}
	}
	for key, w := range want {
		if key == rest {
			continue
		}
		g, ok := members[key]
		if !ok {
			return fmt.Errorf("%s has no member %q", path, key)
		}
		if err := m.match(w, g, path+"."+key); err != nil {
			return err
		}
	}
	return nil
}

// matchSome finds each pattern in turn, with anything between.
func (m matcher) matchSome(want, items []any, path string) error {
	for i, w := range want {
		for {
			if len(items) == 0 {
				return fmt.Errorf("%s has nothing that matches element %d of the pattern", path, i)
			}
			try := matcher{names: maps.Clone(m.names)}
			err := try.match(w, items[0], path)
			items = items[1:]
			if err == nil {
				maps.Copy(m.names, try.names)
				break
			}
		}
	}
	return nil
}

func (m matcher) matchArray(want []any, got any, path string) error {
	items, ok := got.([]any)
	if !ok {
		return fmt.Errorf("%s is no array", path)
	}
	if n := len(want); n > 0 && want[n-1] == rest {
		return m.matchSome(want[:n-1], items, path)
	}
	if len(items) != len(want) {
		return fmt.Errorf("%s has %d elements, not %d", path, len(items), len(want))
	}
	for i := range want {
		if err := m.match(want[i], items[i], fmt.Sprintf("%s[%d]", path, i)); err != nil {
			return err
		}
	}
	return nil
}

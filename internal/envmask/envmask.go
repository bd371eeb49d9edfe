// Package envmask shows values of the environment by their names, for what is
// shown and kept: a token that a file put into a command is not to be read there.
//
// A [Mask] is made of the environment by [New], [Only] or [Beside]; [Mask.Text] and [Mask.JSON]
// give a text with the names in the place of the values.
package envmask

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
)

// MinValue is the least length of a value, in bytes, that is shown by its name.
// Shorter ones are everywhere by chance.
const MinValue = 8

// neverMasked are variables whose values are paths that everybody may read, and
// whose names in the place of them would only make lines hard to follow.
var neverMasked = []string{"PWD", "OLDPWD", "_", "HOME", "SHELL"}

// A Mask replaces values of one environment by ${NAME}. The zero value and nil
// replace nothing.
type Mask struct{ replacer *strings.Replacer }

// New makes the mask of an environment, each entry "NAME=value". Where one value
// holds another the longer is replaced; of two names for one value the first in
// the alphabet is shown. PWD, OLDPWD, _, HOME and SHELL are never replaced.
func New(env []string) *Mask {
	return of(env, func(string, string) bool { return true })
}

// Only is New for a text that can hold the values of some variables and of no
// others.
func Only(env, names []string) *Mask {
	return of(env, func(name, _ string) bool { return slices.Contains(names, name) })
}

// Beside is New for what is told of a text: values that the text itself holds stay
// as they are, but those of the variables names, which it was made of.
func Beside(env []string, text string, names []string) *Mask {
	return of(env, func(name, value string) bool { return slices.Contains(names, name) || !strings.Contains(text, value) })
}

// of makes the mask of those variables for which masked is true, the longest value
// first.
func of(env []string, masked func(name, value string) bool) *Mask {
	type entry struct{ name, value string }
	var entries []entry
	for _, e := range env {
		name, value, ok := strings.Cut(e, "=")
		if ok && name != "" && len(value) >= MinValue && !slices.Contains(neverMasked, name) && masked(name, value) {
			entries = append(entries, entry{name, value})
		}
	}
	slices.SortFunc(entries, func(a, b entry) int {
		return cmp.Or(cmp.Compare(len(b.value), len(a.value)), cmp.Compare(a.name, b.name))
	})
	var pairs []string
	for _, e := range entries {
		pairs = append(pairs, e.value, "${"+e.name+"}")
	}
	if len(pairs) == 0 {
		return new(Mask)
	}
	return &Mask{strings.NewReplacer(pairs...)}
}

// Text replaces the values in s.
func (m *Mask) Text(s string) string {
	if m == nil || m.replacer == nil {
		return s
	}
	return m.replacer.Replace(s)
}

// JSON replaces the values in every string of JSON text, keys included. Text
// that is not JSON is replaced as a whole. Numbers stay as they are written,
// unless they hold a value; the keys of objects are sorted.
func (m *Mask) JSON(text json.RawMessage) json.RawMessage {
	if m == nil || m.replacer == nil || len(text) == 0 {
		return text
	}
	dec := json.NewDecoder(strings.NewReader(string(text)))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return json.RawMessage(m.Text(string(text)))
	}
	masked, err := json.Marshal(m.value(v))
	if err != nil {
		return json.RawMessage("null")
	}
	return masked
}

// value masks a JSON value, the keys of objects too.
func (m *Mask) value(v any) any {
	switch v := v.(type) {
	case string:
		return m.Text(v)
	case json.Number:
		if masked := m.Text(v.String()); masked != v.String() {
			return masked
		}
	case []any:
		for i := range v {
			v[i] = m.value(v[i])
		}
	case map[string]any:
		masked := make(map[string]any, len(v))
		for k, e := range v {
			masked[m.Text(k)] = m.value(e)
		}
		return masked
	}
	return v
}

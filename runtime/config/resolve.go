package config

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chant-acp/chant-acp/internal/jsondoc"
)

// Where a value comes from.
const (
	FromDefault     = "default"
	FromFile        = "file"
	FromProfile     = "profile"
	FromEnvironment = "environment"
)

// Value is what counts for a key.
type Value struct {
	Key *Key
	// Name is the key with a name in the place of a <slug>.
	Name string
	// From is where it comes from; "" where there is no value.
	From string
	// JSON is the value as the file would have it; nil where there is none.
	JSON []byte

	value any
}

// resolver finds what counts. What it does not use for a reason that Check does
// not find, it notes.
type resolver struct {
	d       *Document
	env     func(string) string
	profile string
	found   []Problem
}

// Settings are the values that count. profile names the profile; "" is the one
// that CHANT_ACP_PROFILE or activeProfile names. env is the environment. A value
// that can't be used is one of Settings.Problems, and does not count. The error
// is that there is no such profile; the settings are those without one then.
func (d *Document) Settings(profile string, env func(string) string) (Settings, error) {
	r, err := d.resolver(profile, env)
	s := Settings{Profile: r.profile}
	for i := range table {
		if k := &table[i]; k.setting != nil {
			if v := r.value(k, ""); v.value != nil {
				assign(k.setting(&s), v.value)
			}
		}
	}
	for _, slug := range r.slugs() {
		if s.Adapters == nil {
			s.Adapters = make(map[string]Adapter)
		}
		if a, ok := r.adapter(slug); ok {
			s.Adapters[slug] = a
		}
	}
	s.Problems = append(d.check(false), r.found...)
	return s, err
}

// Silent says whether neither the file nor the environment, as os.Environ returns
// it, says anything, so that the defaults count. It costs nothing to speak of, for
// starts that have no configuration, which are most.
func (d *Document) Silent(environ []string) bool {
	return d.root == nil && !slices.ContainsFunc(environ, func(v string) bool {
		name, ours := strings.CutPrefix(v, "CHANT_ACP_")
		return ours && !strings.HasPrefix(name, "STATE=") && !strings.HasPrefix(name, "CONFIG=")
	})
}

// Values are what counts for each key, in the table's order, and why something
// does not. Profile and env are as in Settings.
func (d *Document) Values(profile string, env func(string) string) (values []Value, problems []Problem, err error) {
	r, err := d.resolver(profile, env)
	for i := range table {
		switch k := &table[i]; {
		case k.setting != nil:
			values = append(values, r.value(k, ""))
		case k.adapter != nil:
			for _, slug := range r.slugs() {
				values = append(values, r.value(k, slug))
			}
		}
	}
	return values, append(d.Check(), r.found...), err
}

// resolver finds out which profile counts.
func (d *Document) resolver(profile string, env func(string) string) (*resolver, error) {
	r := &resolver{d: d, env: env}
	if profile != "" {
		if err := d.checkProfile(profile); err != nil {
			return r, err
		}
		r.profile = profile
		return r, nil
	}
	if name := env("CHANT_ACP_PROFILE"); name != "" {
		if err := d.checkProfile(name); err != nil {
			r.note("CHANT_ACP_PROFILE", "CHANT_ACP_PROFILE is not used: %v", err)
		} else {
			r.profile = name
			return r, nil
		}
	}
	n := d.find([]string{"activeProfile"})
	if n == nil || n.Kind != '"' {
		return r, nil
	}
	name := n.String()
	if err := d.checkProfile(name); err != nil {
		r.note("activeProfile", "activeProfile is not used: %v", err)
		last := len(r.found) - 1
		r.found[last].File = d.file
		r.found[last].Line, r.found[last].Column = d.doc.Position(n.Start)
		return r, nil
	}
	r.profile = name
	return r, nil
}

func (r *resolver) note(key, format string, args ...any) {
	r.found = append(r.found, Problem{Key: key, Message: fmt.Sprintf(format, args...)})
}

// value is what counts for a key, of an adapter where slug is not empty: the
// first place that has a good value.
func (r *resolver) value(k *Key, slug string) Value {
	path := strings.Split(k.Name, ".")
	for i := range path {
		if wildcard(path[i]) {
			path[i] = slug
		}
	}
	name := joinKey(path)
	if variable := k.Variable(); variable != "" {
		if text := r.env(variable); text != "" {
			v, wrong := k.parse(text)
			if v, wrong = r.atHome(k, v, wrong); wrong == "" {
				return Value{k, name, FromEnvironment, asJSON(k, text), v}
			}
			r.note(variable, "%s %s", variable, wrong)
		}
	}
	if r.profile != "" {
		if v, ok := r.inFile(k, name, inProfile(r.profile, path)); ok {
			v.From = FromProfile
			return v
		}
	}
	if v, ok := r.inFile(k, name, path); ok {
		return v
	}
	if k.Default == "" {
		return Value{Key: k, Name: name}
	}
	v, _ := k.parse(k.Default)
	return Value{k, name, FromDefault, asJSON(k, k.Default), v}
}

// inFile is the value at a path of the file, if it is a good one.
func (r *resolver) inFile(k *Key, name string, path []string) (Value, bool) {
	n := r.d.find(path)
	if n == nil {
		return Value{}, false
	}
	v, wrong := k.read(n)
	if wrong != "" { // Check says so
		return Value{}, false
	}
	if v, wrong = r.atHome(k, v, ""); wrong != "" {
		r.note(joinKey(path), "%s %s", joinKey(path), wrong)
		return Value{}, false
	}
	return Value{k, name, FromFile, n.Text, v}, true
}

// atHome cleans a path, and puts the home in the place of a leading ~.
func (r *resolver) atHome(k *Key, v any, wrong string) (any, string) {
	path, ok := v.(string)
	if k.Type != TypePath || wrong != "" || !ok {
		return v, wrong
	}
	if !strings.HasPrefix(path, "~/") {
		return filepath.Clean(path), ""
	}
	home := r.env("HOME")
	if !strings.HasPrefix(home, "/") {
		return nil, "begins with ~/, and HOME is not set"
	}
	return filepath.Join(home, path[1:]), ""
}

// asJSON is a value of the environment, or a default, as the file would have it.
func asJSON(k *Key, text string) []byte {
	switch k.Type {
	case TypeBool:
		if text == "1" || text == "true" {
			return []byte("true")
		}
		return []byte("false")
	case TypeInteger:
		v, _ := k.parse(text)
		return fmt.Append(nil, v)
	case TypeList:
		v, _ := k.parse(text)
		list, _ := v.([]string)
		out := []byte{'['}
		for i, s := range list {
			if i > 0 {
				out = append(out, ", "...)
			}
			out = append(out, jsondoc.Quote(s)...)
		}
		return append(out, ']')
	}
	return []byte(jsondoc.Quote(text))
}

// slugs are the names of adapters, sorted.
func (r *resolver) slugs() []string {
	names := map[string]bool{}
	for _, path := range [][]string{{"adapters"}, inProfile(r.profile, []string{"adapters"})} {
		n := r.d.find(path)
		for i := 0; n != nil && i < len(n.Members); i++ {
			if m := &n.Members[i]; validName(m.Name) && m.Value.Kind == '{' {
				names[m.Name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// adapter is one of the adapters, if it has a command.
func (r *resolver) adapter(slug string) (a Adapter, ok bool) {
	for i := range table {
		if k := &table[i]; k.adapter != nil {
			if v := r.value(k, slug); v.value != nil {
				assign(k.adapter(&a), v.value)
			}
		}
	}
	if a.Command == nil && r.d.find([]string{"adapters", slug}) == nil {
		r.note("adapters."+slug, "the adapter %s of the profile %s is not used: neither the profile nor the file's top level gives it a command", slug, r.profile)
	}
	return a, a.Command != nil
}

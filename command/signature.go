package command

import "strings"

// signature writes how the command is called: positionals in <> when required
// and in [] otherwise, flags with … where a value goes, and … after what may
// be repeated.
func (s *spec) signature() string {
	parts := []string{s.name}
	for _, p := range s.positionals() {
		parts = append(parts, p.usage())
	}
	for _, p := range s.params {
		if p.position == 0 {
			parts = append(parts, p.usage())
		}
	}
	if !s.rest.none() {
		parts = append(parts, "[argument …]")
	}
	return strings.Join(parts, " ")
}

func (p *param) usage() string {
	if p.position > 0 {
		text := p.name
		if p.repeat {
			text += " …"
		}
		if p.required {
			return "<" + text + ">"
		}
		return "[" + text + "]"
	}
	text := p.flag
	if p.kind != typeBool {
		text += " …"
	}
	if p.required {
		return text
	}
	return "[" + text + "]"
}

// signature writes how the verb is called.
func (v *verb) signature(name string) string {
	parts := []string{name}
	for _, p := range v.positionals {
		if p.required {
			parts = append(parts, "<"+p.name+">")
		} else {
			parts = append(parts, "["+p.name+"]")
		}
	}
	optional := false
	for _, f := range v.flags {
		switch {
		case f.required && f.values > 0:
			parts = append(parts, "--"+f.name+" …")
		case f.required:
			parts = append(parts, "--"+f.name)
		default:
			optional = true
		}
	}
	if optional {
		parts = append(parts, "[flags]")
	}
	return strings.Join(parts, " ")
}

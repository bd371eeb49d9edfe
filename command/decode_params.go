package command

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/chant-acp/chant-acp/internal/near"
)

// How the parameter or flag is called that names the environment, and the
// variable that carries it.
const (
	envName     = "env"
	envVariable = "CHANT_ENV"
)

// maxPattern bounds a pattern, whose cost grows with its size.
const maxPattern = 1 << 10

// exec reads the argv's templates.
func (d *decoder) exec(n *yaml.Node, s *spec) {
	elements := d.texts(n, "exec")
	if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		d.bad(n, "exec is empty; it is the program and its arguments, such as [go, test]")
	}
	for _, e := range elements {
		if e == n.Content[0] {
			s.exec, s.program = append(s.exec, d.program(e)), place{e.Line, e.Column}
			continue
		}
		t := parseTemplate(e.Value, func(name string) *param { return d.resolve(e, s, name) })
		d.element(e, t)
		s.exec = append(s.exec, t)
	}
}

// program reads the first element, which holds no parameter.
func (d *decoder) program(n *yaml.Node) template {
	var named string
	t := parseTemplate(n.Value, func(name string) *param {
		named = name
		return nil
	})
	text, _ := t.literal()
	switch {
	case named != "":
		d.bad(n, "the program itself cannot come from a parameter; exec begins with its fixed name (for the text {%s}, write {{%s}})", named, named)
	case text == "":
		d.bad(n, "exec begins with an empty element; it must begin with the program to run")
	}
	return t
}

// resolve finds the parameter that a template names.
func (d *decoder) resolve(n *yaml.Node, s *spec, name string) *param {
	if p := s.param(name); p != nil {
		return p
	}
	names := make([]string, len(s.params))
	for i, p := range s.params {
		names[i] = p.name
	}
	if meant := near.Word(name, names); meant != "" {
		d.bad(n, "{%s} is no parameter of %s; did you mean {%s}? For the text itself write {{%s}}", name, s.name, meant, name)
	} else {
		d.bad(n, "{%s} is no parameter of %s; declare it under params, or write {{%s}} for the text itself", name, s.name, name)
	}
	return nil
}

// element checks that each parameter fits where it stands.
func (d *decoder) element(n *yaml.Node, t template) {
	if t.whole() != nil {
		return
	}
	for _, part := range t {
		p := part.param
		switch {
		case p == nil:
		case p.repeat:
			d.bad(n, "{%s} is repeated, so it must be an element of its own; use `as` to put text around each value", p.name)
		case p.as != nil:
			d.bad(n, "{%s} says what it becomes with `as`, so it must be an element of its own", p.name)
		case !p.required && !p.hasDefault:
			d.bad(n, "{%s} may be absent, so it must be an element of its own, be required, or have a default", p.name)
		}
	}
}

var paramKeys = []string{
	"position", "flag", "short", "type", "required", "default", "enum", "pattern", "repeat", "as", "dash", "description",
}

// params reads the parameters of a command, first each alone, then what they say of one
// another.
func (d *decoder) params(n *yaml.Node, s *spec, m *Manifest) {
	nodes := make(map[*param]map[string]*yaml.Node)
	for _, f := range d.fields(n, "params", nil) {
		if !isName(f.name) {
			d.bad(f.key, "a parameter's name consists of letters, digits, '_' and '-' and begins with a letter or '_'; %q does not", f.name)
			continue
		}
		p := &param{index: len(s.params), name: f.name, line: f.key.Line, column: f.key.Column, kind: typeString}
		values := map[string]*yaml.Node{"": f.key}
		for _, g := range d.fields(f.value, "the parameter "+f.name, paramKeys) {
			values[g.name] = g.value
			d.paramKey(g.name, g.value, p)
		}
		s.params = append(s.params, p)
		nodes[p] = values
		if f.value.Kind == yaml.MappingNode {
			d.checkParam(p, values, m)
		}
	}
	var env *param
	for _, p := range s.params {
		if !p.namesEnvironment() {
			continue
		}
		if env != nil {
			d.bad(nodes[p][""], "%s and %s both name the environment, by their name or flag; rename one", env.name, p.name)
		}
		env = p
	}
	d.positions(s, nodes)
	d.flags(s, nodes)
}

func (d *decoder) paramKey(key string, n *yaml.Node, p *param) {
	switch key {
	case "position":
		p.position, _ = d.integer(n, key, 1, 100)
	case "flag":
		if v, ok := d.text(n, key); ok && !isLongFlag(v) {
			d.bad(n, "a flag looks like --name, in letters, digits, '_', '.' and '-'; %q does not", v)
		} else {
			p.flag = v
		}
	case "short":
		if v, ok := d.text(n, key); ok && !isShortFlag(v) {
			d.bad(n, "a short flag is one hyphen and one letter or digit, such as -t; %q is not", v)
		} else {
			p.short = v
		}
	case "type":
		if v, ok := d.oneOf(n, key, string(typeString), string(typeInt), string(typeBool), string(typePath), string(typeDuration), string(typeWord)); ok {
			p.kind = paramType(v)
		}
	case "required":
		p.required = d.boolean(n, key)
	case "repeat":
		p.repeat = d.boolean(n, key)
	case "dash":
		p.dash = d.boolean(n, key)
	case "description":
		p.description = d.summary(n, key)
	case "enum":
		d.enum(n, p)
	case "pattern":
		p.source, p.pattern = d.pattern(n, key)
	case "as":
		d.as(n, p)
	case "default":
		p.hasDefault = true // read later, when the type is known
	}
}

func isLongFlag(s string) bool {
	name, ok := strings.CutPrefix(s, "--")
	return ok && isPlainWord(name)
}

func isShortFlag(s string) bool {
	return len(s) == 2 && s[0] == '-' && isPlainWord(s[1:])
}

func (d *decoder) enum(n *yaml.Node, p *param) {
	p.enum = []string{}
	for _, c := range d.texts(n, "enum") {
		if slices.Contains(p.enum, c.Value) {
			d.bad(c, "%q stands twice in enum; remove one of them", c.Value)
			continue
		}
		p.enum = append(p.enum, c.Value)
	}
	if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		d.bad(n, "enum is empty, so no value would be allowed; list the values or leave it out")
	}
}

// pattern compiles a pattern for whole values.
func (d *decoder) pattern(n *yaml.Node, what string) (string, *regexp.Regexp) {
	v, ok := d.text(n, what)
	if !ok {
		return "", nil
	}
	if len(v) > maxPattern {
		d.bad(n, "%s is longer than %d bytes; simplify it", what, maxPattern)
		return "", nil
	}
	re, err := wholePattern(v)
	if err != nil {
		d.bad(n, "%s is not a regular expression (RE2 syntax): %s", what, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
		return "", nil
	}
	return v, re
}

func (d *decoder) as(n *yaml.Node, p *param) {
	for _, c := range d.texts(n, "as") {
		p.as = append(p.as, parseAs(c.Value))
	}
	if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		d.bad(n, "as is empty; it lists the arguments that a value becomes, such as [\"--target={}\"]")
	}
}

// checkParam checks what the keys of one parameter say together. nodes holds
// their values, and the parameter's own key under "".
func (d *decoder) checkParam(p *param, nodes map[string]*yaml.Node, m *Manifest) {
	self := nodes[""]
	switch {
	case nodes["position"] != nil && nodes["flag"] != nil:
		d.bad(self, "the parameter %s has both position and flag; keep one", p.name)
	case nodes["position"] == nil && nodes["flag"] == nil:
		d.bad(self, "the parameter %s needs a position (position: 1) or a flag (flag: --%s)", p.name, p.name)
	}
	if n := nodes["short"]; n != nil && nodes["flag"] == nil {
		d.bad(n, "short is the short form of a flag; the parameter %s has no flag", p.name)
	}
	if n := nodes["required"]; p.required && p.hasDefault {
		d.bad(n, "the parameter %s is required, so its default is never used; remove one of them", p.name)
	}
	if n := nodes["as"]; n != nil && p.as != nil {
		d.checkAs(n, p)
	}
	d.checkEnum(nodes["enum"], p)
	if p.namesEnvironment() {
		d.checkEnvParam(self, p)
		p.environments = m.environmentNames()
		if p.free() && len(p.environments) > 0 {
			p.enum = p.environments
		}
	}
	if n := nodes["default"]; n != nil {
		d.defaults(n, p, m)
	}
}

func (d *decoder) checkAs(n *yaml.Node, p *param) {
	places := 0
	for _, piece := range p.as {
		places += len(piece) - 1
	}
	switch {
	case p.kind == typeBool && places > 0:
		d.bad(n, "the pieces of a bool stand for true, so {} has no place in them; leave `as` out to pass true or false")
	case p.kind != typeBool && places == 0:
		d.bad(n, "the value is lost: no piece of `as` holds {}, the place of the value")
	}
}

// checkEnum checks that every listed value is one that the parameter can take.
func (d *decoder) checkEnum(n *yaml.Node, p *param) {
	if n == nil || n.Kind != yaml.SequenceNode {
		return
	}
	for _, c := range n.Content {
		if c.Kind != yaml.ScalarNode || !slices.Contains(p.enum, c.Value) {
			continue
		}
		if reason := p.check(c.Value); reason != "" {
			d.bad(c, "the value %q of enum could never be given: %s", c.Value, reason)
		}
	}
}

// checkEnvParam checks the parameter that names the environment.
func (d *decoder) checkEnvParam(n *yaml.Node, p *param) {
	if p.repeat {
		d.bad(n, "the parameter %s names the one environment in force, so it cannot be repeated; call it, and its flag, something else", p.name)
	}
	if p.kind != typeString {
		d.bad(n, "the parameter %s names an environment, so its type is string; call it, and its flag, something else", p.name)
	}
}

// defaults reads the default, which has to be a value that could be typed.
func (d *decoder) defaults(n *yaml.Node, p *param, m *Manifest) {
	nodes := []*yaml.Node{n}
	if n.Kind == yaml.SequenceNode && p.repeat {
		nodes = d.texts(n, "default")
	}
	for _, c := range nodes {
		v, ok := d.text(c, "default")
		if !ok {
			continue
		}
		if reason := p.check(v); reason != "" {
			d.bad(c, "the default %q could never be given: %s", v, reason)
			continue
		}
		if e, _ := m.environment(v); p.namesEnvironment() && e.Protected {
			d.bad(c, "%s is protected, so it can never be a default; it must stand in the line", v)
			continue
		}
		p.defaults = append(p.defaults, v)
	}
}

// positions checks that the positional parameters form one sequence that can be
// filled from the left in one way only.
func (d *decoder) positions(s *spec, nodes map[*param]map[string]*yaml.Node) {
	var list []*param
	for _, p := range s.params {
		if p.position > 0 && p.flag == "" {
			list = append(list, p)
		}
	}
	slices.SortStableFunc(list, func(a, b *param) int { return cmp.Compare(a.position, b.position) })
	for i, p := range list {
		n := nodes[p]["position"]
		if i == 0 {
			if p.position != 1 {
				d.bad(n, "positions are counted from 1 without gaps; the first one here is %d", p.position)
			}
			continue
		}
		last := list[i-1]
		switch {
		case p.position == last.position:
			d.bad(n, "%s and %s have the same position %d; number them 1, 2, 3", last.name, p.name, p.position)
		case p.position > last.position+1:
			d.bad(n, "positions are counted from 1 without gaps; %d follows %d", p.position, last.position)
		}
		if p.required && !last.required {
			d.bad(n, "the required parameter %s comes after %s, which may be left out; put it before, or make both required", p.name, last.name)
		}
		if last.repeat {
			d.bad(nodes[last]["repeat"], "%s takes every further argument, so it must have the last position", last.name)
		}
	}
}

// flags checks that no two parameters share a flag.
func (d *decoder) flags(s *spec, nodes map[*param]map[string]*yaml.Node) {
	owner := make(map[string]string)
	for _, p := range s.params {
		for _, key := range []string{"flag", "short"} {
			flag := p.flag
			if key == "short" {
				flag = p.short
			}
			if flag == "" {
				continue
			}
			if other := owner[flag]; other != "" {
				d.bad(nodes[p][key], "%s and %s have the same flag %s; rename one", other, p.name, flag)
			}
			owner[flag] = p.name
		}
	}
}

package command

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chant-acp/chant-acp/internal/brief"
	"github.com/chant-acp/chant-acp/internal/near"
)

// check says why a value is not one that the parameter takes, or "". Where a
// path leads is checked apart, because that asks the file system.
func (p *param) check(v string) string {
	if p.enum != nil && !slices.Contains(p.enum, v) {
		return fmt.Sprintf("it must be one of %s%s", strings.Join(p.enum, ", "), didYouMean(v, p.enum))
	}
	if like := otherSpelling(v, p.environments); like != "" {
		return fmt.Sprintf("the environment is spelled %s", like)
	}
	if p.pattern != nil && !p.pattern.MatchString(v) {
		return fmt.Sprintf("the whole value must match the pattern %s", p.source)
	}
	if v == "" && p.enum == nil && p.pattern == nil {
		return "it is empty"
	}
	switch p.kind {
	case typeInt:
		if _, err := strconv.ParseInt(v, 10, 64); err != nil || v[0] == '+' {
			return "it must be a whole number in decimal digits"
		}
	case typeBool:
		if v != "true" && v != "false" {
			return "it must be true or false"
		}
	case typeDuration:
		if _, err := time.ParseDuration(v); err != nil {
			return "it must be a duration such as 90s, 10m or 1h30m"
		}
	case typePath:
		if v == "" {
			return "it must be a path, and is empty"
		}
	case typeWord:
		if !isShellWord(v) {
			return "it must be a word of letters, digits and _ @ % + = : , . / - that does not begin with = or - and holds no .. between slashes, because a shell reads it"
		}
	}
	return ""
}

// didYouMean names the one of the values that was likely meant, or nothing.
func didYouMean(v string, values []string) string {
	if meant := otherSpelling(v, values); meant != "" {
		return "; did you mean " + meant + "?"
	}
	return near.Hint(v, values)
}

// otherSpelling returns the name that v differs from by case alone, or "". Such
// a value would pass for another environment than the one that is protected.
func otherSpelling(v string, names []string) string {
	for _, name := range names {
		if name == v {
			return ""
		}
	}
	for _, name := range names {
		if strings.EqualFold(name, v) {
			return name
		}
	}
	return ""
}

// A binding is the outcome of matching arguments with a command's parameters.
type binding struct {
	values [][]string // by parameter; given values, then defaults
	given  []bool     // by parameter: the line itself holds it
	rest   []string
}

// A binder matches the words after a command's name with its parameters.
type binder struct {
	binding
	spec   *spec
	places []*param // positional parameters not yet filled
	ended  bool     // "--" has ended our flags
}

// bind matches args with the parameters of s. A refusal is a clause for
// [Refusal].
//
// Where the command declares parameters, the first -- ends its flags and is
// taken off; it reaches the program only where exec itself holds one. Where it
// declares none there is nothing to end, so -- is an argument of rest as any
// other.
func (s *spec) bind(args []string) (*binding, string) {
	b := &binder{spec: s, places: s.positionals(), ended: len(s.params) == 0}
	b.values = make([][]string, len(s.params))
	b.given = make([]bool, len(s.params))
	for i := 0; i < len(args); {
		n, reason := b.take(args[i:])
		if reason != "" {
			return nil, reason
		}
		i += n
	}
	return &b.binding, ""
}

// take binds the first of the words and returns how many it used.
func (b *binder) take(words []string) (int, string) {
	w := words[0]
	if !b.ended {
		if w == "--" {
			b.ended = true
			return 1, ""
		}
		if len(w) > 1 && w[0] == '-' {
			name, value, joined := strings.Cut(w, "=")
			if p := b.spec.flag(name); p != nil {
				return b.flag(p, name, value, joined, words[1:])
			}
			if !b.spec.rest.allows(w) {
				return 0, b.unknownFlag(name, w)
			}
			b.rest = append(b.rest, w)
			return 1, ""
		}
	}
	if len(b.places) > 0 {
		p := b.places[0]
		if !p.repeat {
			b.places = b.places[1:]
		}
		return 1, b.set(p, p.name, w)
	}
	if reason := b.surplus(w); reason != "" {
		return 0, reason
	}
	b.rest = append(b.rest, w)
	return 1, ""
}

// flag finds the parameter that owns a flag, long or short.
func (s *spec) flag(name string) *param {
	for _, p := range s.params {
		if name != "" && (p.flag == name || p.short == name) {
			return p
		}
	}
	return nil
}

func (b *binder) flag(p *param, name, value string, joined bool, after []string) (int, string) {
	if b.given[p.index] && !p.repeat {
		return 0, fmt.Sprintf("%s stands twice, and it takes one value; remove one", name)
	}
	switch {
	case joined:
		return 1, b.set(p, name, value)
	case p.kind == typeBool:
		return 1, b.set(p, name, "true")
	case len(after) == 0:
		return 0, fmt.Sprintf("%s needs a value; write %s <%s>", name, name, p.name)
	}
	next, _, _ := strings.Cut(after[0], "=")
	if after[0] == "--" || b.spec.flag(next) != nil {
		return 0, fmt.Sprintf("%s needs a value, and %s comes instead; if that is the value, write %s=%s", name, after[0], name, after[0])
	}
	return 2, b.set(p, name, after[0])
}

// set adds one value that the line gives.
func (b *binder) set(p *param, label, value string) string {
	if reason := p.check(value); reason != "" {
		return fmt.Sprintf("%s cannot be %s: %s", label, show(value), reason)
	}
	b.values[p.index] = append(b.values[p.index], value)
	b.given[p.index] = true
	return ""
}

// show puts a value of the line into a message, at a length fit to read.
func show(s string) string {
	return strconv.Quote(brief.Bytes(s, 60))
}

// unknownFlag says why a word that begins with a hyphen is not taken, and what would
// be.
func (b *binder) unknownFlag(name, word string) string {
	var known []string
	for _, p := range b.spec.params {
		if p.flag != "" {
			known = append(known, p.flag)
		}
	}
	switch meant := near.Word(name, known); {
	case meant != "":
		return fmt.Sprintf("there is no flag %s; did you mean %s?", show(name), meant)
	case !b.spec.rest.none():
		return fmt.Sprintf("%s is neither a flag nor an argument that it takes: %s", show(word), b.spec.rest.describe())
	case len(b.places) > 0 && b.spec.takesHyphen(b.places[0]):
		return fmt.Sprintf("there is no flag %s; if it is the value of %s, put -- before it", show(name), b.places[0].name)
	case len(b.places) > 0:
		return fmt.Sprintf("there is no flag %s, and the value of %s cannot begin with a hyphen", show(name), b.places[0].name)
	case len(known) > 0:
		return fmt.Sprintf("there is no flag %s; its flags are %s", show(name), strings.Join(known, ", "))
	}
	return fmt.Sprintf("there is no flag %s; it takes none", show(name))
}

// surplus says why an argument beyond the parameters is not taken, or "".
func (b *binder) surplus(w string) string {
	r := b.spec.rest
	switch {
	case r.allows(w):
		return ""
	case r.none() && len(b.spec.params) == 0:
		return fmt.Sprintf("it takes no arguments, and %s is one", show(w))
	case r.none():
		return fmt.Sprintf("%s is one argument too many", show(w))
	}
	return fmt.Sprintf("it does not take the argument %s: %s", show(w), r.describe())
}

// describe says what rest takes.
func (r rest) describe() string {
	switch {
	case r.pattern != nil:
		return "each argument as a whole must match the pattern " + r.source
	case r.any:
		return "any argument is taken"
	}
	return "no further arguments are taken"
}

// complete fills in defaults and says which required parameter is missing.
func (s *spec) complete(b *binding) string {
	for _, p := range s.params {
		if len(b.values[p.index]) > 0 {
			continue
		}
		if p.required {
			return p.missing()
		}
		b.values[p.index] = p.defaults
	}
	return ""
}

func (p *param) missing() string {
	hint := ""
	if len(p.enum) > 0 {
		hint = ": one of " + strings.Join(p.enum, ", ")
	}
	return fmt.Sprintf("%s is missing%s", p.label(), hint)
}

// expand puts the values into exec. It refuses a value that begins with a hyphen
// where it would begin an element, because the program could take it for an
// option; the answer is then the parameter and its value.
func (s *spec) expand(values [][]string) (argv []string, bad *param, value string) {
	guarded := false // a -- of exec stands before
	for i, t := range s.exec {
		if text, ok := t.literal(); ok {
			argv = append(argv, text)
			guarded = guarded || i > 0 && text == "--"
			continue
		}
		if p := t.whole(); p != nil {
			for _, v := range values[p.index] {
				if p.leads(v) && !guarded {
					return nil, p, v
				}
				argv = p.pieces(argv, v)
			}
			continue
		}
		element, first := t.join(values)
		if first != nil && element[0] == '-' && !first.dash && !guarded {
			return nil, first, values[first.index][0]
		}
		argv = append(argv, element)
	}
	return argv, nil, ""
}

// leads says whether the value is a hyphen's word that would begin an element
// where the parameter does not allow it.
func (p *param) leads(v string) bool {
	if p.dash || !strings.HasPrefix(v, "-") {
		return false
	}
	return p.as == nil || slices.ContainsFunc(p.as, asPiece.begins)
}

// takesHyphen says whether a value of p may begin with a hyphen everywhere in
// exec.
func (s *spec) takesHyphen(p *param) bool {
	for i, t := range s.exec {
		if text, ok := t.literal(); ok && text == "--" && i > 0 {
			return true
		}
		if t.whole() == p && p.leads("-") || t.whole() == nil && len(t) > 0 && t[0].param == p && !p.dash {
			return false
		}
	}
	return true
}

// pieces appends what one value becomes.
func (p *param) pieces(argv []string, v string) []string {
	if p.as == nil {
		return append(argv, v)
	}
	if p.kind == typeBool && v == "false" {
		return argv
	}
	for _, piece := range p.as {
		argv = append(argv, piece.fill(v))
	}
	return argv
}

// join makes the one element of a template with text around parameters, and
// tells whose value begins it, nil for the text's.
func (t template) join(values [][]string) (element string, first *param) {
	for _, part := range t {
		text := part.text
		if part.param != nil {
			text = values[part.param.index][0]
		}
		if element == "" && text != "" {
			first = part.param
		}
		element += text
	}
	return element, first
}

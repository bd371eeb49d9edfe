package command

import (
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/chant-acp/chant-acp/command/problem"
	"github.com/chant-acp/chant-acp/internal/near"
)

// problems reads a list of formats, each a name or a pattern. An empty list is none.
func (d *decoder) problems(n *yaml.Node, s *spec) {
	if n.Kind != yaml.SequenceNode {
		d.bad(n, "problems must be a list of %s and of patterns, such as [go, {pattern: '(?P<file>\\S+):(?P<line>\\d+)'}]", strings.Join(problem.Names(), ", "))
		return
	}
	s.problems = []problem.Format{}
	for _, c := range n.Content {
		if f, ok := d.problemFormat(c); ok {
			s.problems = append(s.problems, f)
		}
	}
}

func (d *decoder) problemFormat(n *yaml.Node) (f problem.Format, ok bool) {
	if n.Kind != yaml.MappingNode {
		name, isText := d.text(n, "a format of problems")
		if f, ok = problem.Named(name); isText && !ok {
			d.bad(n, "problems knows %s and {pattern: …}, and not %q%s", strings.Join(problem.Names(), ", "), name, near.Hint(name, problem.Names()))
		}
		return f, ok
	}
	if len(n.Content) == 0 {
		d.bad(n, "a format of problems that has no name needs a pattern")
	}
	for _, field := range d.fields(n, "a format of problems", []string{"pattern"}) {
		f, ok = d.problemPattern(field.value)
	}
	return f, ok
}

func (d *decoder) problemPattern(n *yaml.Node) (f problem.Format, ok bool) {
	const what = "the pattern of problems"
	expr, ok := d.text(n, what)
	if !ok {
		return f, false
	}
	if len(expr) > maxPattern {
		d.bad(n, "%s is longer than %d bytes; simplify it", what, maxPattern)
		return f, false
	}
	f, err := problem.Pattern(expr)
	if err != nil {
		d.bad(n, "%s %s", what, err)
	}
	return f, err == nil
}

package op

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chant-acp/chant-acp/internal/brief"
)

// List describes all Ops for people: name, file, overview, phases, gates, and
// what last says of the last run of a name, which may be nil or "". What could
// not be read comes after them. Texts of Ops are put through what shown makes for
// what an Op's file read, before they are made to fit; nil for none. For those of
// failures see [Set.ShowFailed].
func (s *Set) List(last func(string) string, shown func(reads []string) func(string) string) string {
	if shown == nil {
		shown = func([]string) func(string) string { return func(s string) string { return s } }
	}
	var blocks []string
	for _, o := range s.Ops {
		var b strings.Builder
		show := shown(o.Reads)
		fmt.Fprintf(&b, "%s  (%s)\n", show(o.Name()), oneLine(o.File))
		o.Config.describe(&b, show)
		if same := s.Named(o.Name()); len(same) > 1 {
			fmt.Fprintf(&b, "    cannot be run: %s files name their Op so; rename all but one\n", count(len(same)))
		} else if last != nil {
			field(&b, "last run", last(o.Name()))
		}
		blocks = append(blocks, b.String())
	}
	if bad := s.problems(); bad != "" {
		blocks = append(blocks, bad)
	}
	if blocks == nil {
		return fmt.Sprintf("There are no Ops below %s. One is a file whose name ends in %s, %s or %s.\n", s.Root, TypeScript, YAML, JSON)
	}
	return strings.Join(blocks, "\n")
}

// problems is what could not be read, "" where all was.
func (s *Set) problems() string {
	var b strings.Builder
	for _, f := range s.Failed {
		fmt.Fprintf(&b, "%v\n", f)
	}
	if s.Incomplete != nil {
		fmt.Fprintf(&b, "Not all was searched: %v\n", s.Incomplete)
	}
	return b.String()
}

func count(n int) string {
	if n < 10 {
		return [...]string{"no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"}[n]
	}
	return fmt.Sprint(n)
}

func (c *Config) describe(b *strings.Builder, show func(string) string) {
	if c.Overview != "" {
		fmt.Fprintf(b, "    %s\n", oneLine(show(c.Overview)))
	}
	field(b, "phases", outline(c.Phases, show))
	var gates []string
	for _, s := range c.Steps {
		if s.Kind == Gate {
			gates = append(gates, show(s.Name))
		}
	}
	field(b, "gates", strings.Join(gates, ", "))
	undo := slices.Clone(c.OnFailure)
	slices.Reverse(undo) // as it would run
	field(b, "on failure", outline(undo, show))
	field(b, "depends on", show(strings.Join(c.Depends, ", ")))
}

func field(b *strings.Builder, name, value string) {
	if value != "" {
		fmt.Fprintf(b, "    %s: %s\n", name, oneLine(value))
	}
}

func outline(phases []Phase, show func(string) string) string {
	var all []string
	for _, p := range phases {
		text := fmt.Sprintf("%s (%s", oneLine(show(p.Name)), brief.Plural(len(p.Steps), "step"))
		if p.Parallel {
			text += ", parallel"
		}
		all = append(all, text+")")
	}
	return strings.Join(all, " → ")
}

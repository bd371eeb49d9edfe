package command

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/chant-acp/chant-acp/internal/brief"
)

// Explain says what a command line would do, and does nothing: the argv, the
// directory, the names of the variables that are set, effect, confirmation and
// time limit. It is plain text that relies on alignment. Its errors are those of
// [Registry.Parse].
func (r *Registry) Explain(words []string, o ParseOptions) (string, error) {
	inv, err := r.Parse(words, o)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	row := func(label, text string) { fmt.Fprintf(&b, "  %-11s %s\n", label, text) }
	fmt.Fprintf(&b, "%s (%s)\n", inv.Line, inv.Kind)
	if inv.Kind == KindBuiltin {
		explainBuiltin(inv, row)
		return b.String(), nil
	}
	row("runs", Quote(inv.Argv))
	if o := inv.Origin(); o != nil {
		row("from", strings.Join(o.Files, ", "))
	}
	row("in", inv.Dir)
	row("variables", variableNames(inv.Env))
	row("withheld", withheld)
	if inv.Environment != "" {
		text := inv.Environment
		if inv.Protected {
			text += " (protected)"
		}
		row("environment", text)
	}
	row("effect", string(inv.Effect))
	row("confirm", describeConfirm(inv.Confirm))
	row("time limit", fmt.Sprintf("%s, then %s to end", brief.Duration(inv.Timeout), brief.Duration(inv.Grace)))
	if inv.TTY {
		row("terminal", "one of its own")
	}
	if inv.Notice != "" {
		row("note", inv.Notice)
	}
	return b.String(), nil
}

// explainBuiltin says what a built-in would do. What an Op's steps are, its file
// says, and is not read for this.
func explainBuiltin(inv *Invocation, row func(label, text string)) {
	steps := "the steps of the Op "
	switch inv.Name {
	case "run":
	case "run undo":
		steps = "the compensation (onFailure) of the Op "
	default:
		row("runs", "no program; it is carried out by the agent itself")
		return
	}
	row("runs", steps+Quote([]string{inv.Op.Op})+"; `ops` shows its phases and gates")
	row("in", inv.Dir)
	row("variables", variableNames(inv.Env))
	row("withheld", withheld)
	row("effect", string(inv.Effect))
	if inv.Name == "run undo" {
		row("confirm", "none: it runs at once, and only a person may type it")
		return
	}
	row("confirm", "by the gates of the Op, where it has some")
}

// withheld is what no program inherits, as hosts see to: it would say of a line
// what nobody said of it.
const withheld = envVariable + ", CHANT_PARAM_*, CHANT_CONTEXT_* that were inherited"

// variableNames leaves the values out: they may be secrets.
func variableNames(env []string) string {
	if len(env) == 0 {
		return "none"
	}
	names := make([]string, len(env))
	for i, kv := range env {
		names[i], _, _ = strings.Cut(kv, "=")
	}
	return strings.Join(names, ", ")
}

func describeConfirm(c Confirm) string {
	switch c {
	case ConfirmAsk:
		return "ask: a person is asked first"
	case ConfirmRetype:
		return "retype: a line has to be typed first"
	}
	return "none: it runs at once"
}

// detail shows one command in full.
func (r *Registry) detail(e *entry, o ParseOptions) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n  %s\n", e.signature, e.summary)
	switch e.kind {
	case KindBuiltin:
		if e.builtin.params != nil {
			s := e.builtin.specOf()
			if o.NoPerson != "" {
				s.params = slices.DeleteFunc(s.params, (*param).decides)
			}
			s.rows(&b)
		}
		b.WriteString("\n  Built in.\n")
	case KindProject:
		e.spec.detail(&b)
	case KindVerb:
		e.verb.detail(&b, o)
		fmt.Fprintf(&b, "\n  effect      %s\n  runs        chant %s\n", e.effect, e.name)
	}
	return b.String()
}

func (s *spec) detail(b *strings.Builder) {
	width, row := s.rows(b)
	fmt.Fprintf(b, "\n  %-*s  %s\n", width, "runs", s.source())
	if s.cwd != "" {
		row("in", s.cwd)
	}
	row("effect", string(s.effect))
	row("confirm", describeConfirm(s.confirm))
	row("time limit", brief.Duration(s.timeout))
}

// rows shows the parameters, and returns the width of the labels and what writes
// more rows below them.
func (s *spec) rows(b *strings.Builder) (width int, row func(label, text string)) {
	params := slices.Concat(s.positionals(), slices.DeleteFunc(slices.Clone(s.params), func(p *param) bool { return p.position > 0 }))
	labels := make([]string, len(params))
	width = 10
	for i, p := range params {
		labels[i] = p.name
		if p.flag != "" {
			labels[i] = p.flag
		}
		if p.short != "" {
			labels[i] += ", " + p.short
		}
		width = max(width, utf8.RuneCountInString(labels[i]))
	}
	if len(params) > 0 || !s.rest.none() {
		b.WriteByte('\n')
	}
	row = func(label, text string) {
		wrapText(b, fmt.Sprintf("  %-*s  ", width, label), text)
	}
	for i, p := range params {
		row(labels[i], p.describe())
	}
	if !s.rest.none() {
		row("argument …", s.rest.describe())
	}
	return width, row
}

// describe says what the parameter takes.
func (p *param) describe() string {
	var parts []string
	if p.description != "" {
		parts = append(parts, p.description)
	}
	if p.kind != typeString {
		parts = append(parts, string(p.kind))
	}
	if p.enum != nil {
		parts = append(parts, "one of "+strings.Join(p.enum, ", "))
	}
	if p.pattern != nil {
		parts = append(parts, "must match "+p.source)
	}
	if p.kind == typePath {
		parts = append(parts, "inside the project")
	}
	if p.repeat {
		parts = append(parts, "may be repeated")
	}
	switch {
	case p.required:
		parts = append(parts, "required")
	case len(p.defaults) > 0:
		parts = append(parts, "default "+Quote(p.defaults))
	}
	if len(parts) == 0 {
		return "any text"
	}
	return strings.Join(parts, "; ")
}

// source writes exec with its parameters in braces.
func (s *spec) source() string {
	words := make([]string, len(s.exec))
	for i, t := range s.exec {
		for _, part := range t {
			if part.param != nil {
				words[i] += "{" + part.param.name + "}"
			} else {
				words[i] += part.text
			}
		}
	}
	return Quote(words)
}

func (v *verb) detail(b *strings.Builder, o ParseOptions) {
	var flags []string
	for _, f := range o.shownFlags(v.flags) {
		text := "--" + f.name
		switch {
		case f.enum != nil:
			text += "=" + strings.Join(f.enum, "|")
		case f.values == 1:
			text += "=…"
		case f.values == 2:
			text += " … …"
		}
		flags = append(flags, text)
	}
	if len(flags) > 0 {
		b.WriteByte('\n')
		wrapText(b, "  flags       ", strings.Join(flags, ", "))
	}
}

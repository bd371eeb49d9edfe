package command

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/chant-acp/chant-acp/internal/near"
	"github.com/chant-acp/chant-acp/internal/origin"
)

// Bounds of the manifest's durations.
const (
	maxTimeout = 24 * time.Hour
	maxGrace   = 5 * time.Minute
)

// manifest reads the root of the document.
var manifestKeys = []string{"version", "environments", "commands", "sources"}

func (d *decoder) manifest(root *yaml.Node, m *Manifest) {
	versioned := false
	var commands *yaml.Node
	for _, f := range d.fields(root, "the manifest", manifestKeys) {
		switch f.name {
		case "version":
			versioned = true
			if f.value.Tag != "!!int" || f.value.Value != "1" {
				d.bad(f.value, "version must be the number 1, the only one there is, and is %s", wrongVersion(f.value))
			}
		case "environments":
			d.environments(f.value, m)
		case "commands":
			commands = f.value
		case "sources":
			d.sources(f.value, m)
		}
	}
	if !versioned && root.Kind == yaml.MappingNode {
		d.bad(root, "version is missing; add the line: version: 1")
	}
	if commands != nil {
		// After the environments, wherever they stand: commands refer to them.
		d.commands(commands, m)
	}
}

// wrongVersion describes what stands in the place of the version.
func wrongVersion(n *yaml.Node) string {
	if n.Tag == "!!str" && n.Value == "1" {
		return "the text \"1\"; take the quotes off"
	}
	return orEmpty(n.Value)
}

func orEmpty(s string) string {
	if s == "" {
		return "empty"
	}
	return s
}

// environments reads a mapping of names, or a plain list of them.
func (d *decoder) environments(n *yaml.Node, m *Manifest) {
	if n.Kind == yaml.SequenceNode {
		for _, c := range d.texts(n, "environments") {
			d.environment(c, c.Value, false, m)
		}
		return
	}
	for _, f := range d.fields(n, "environments", nil) {
		protected := false
		if f.value.Kind != yaml.ScalarNode || f.value.Tag != "!!null" {
			for _, g := range d.fields(f.value, "the environment "+f.name, []string{"protected"}) {
				protected = d.boolean(g.value, "protected")
			}
		}
		d.environment(f.key, f.name, protected, m)
	}
}

func (d *decoder) environment(n *yaml.Node, name string, protected bool, m *Manifest) {
	switch {
	case !isPlainWord(name):
		d.bad(n, "an environment's name consists of letters, digits, '.', '_' and '-' and begins with a letter or digit; %q does not", name)
	case name == "none":
		d.bad(n, "an environment cannot be called none, which stands for no environment; choose another name")
	case slices.ContainsFunc(m.environments, func(e Environment) bool { return e.Name == name }):
		d.bad(n, "the environment %q stands twice; remove one of them", name)
	default:
		m.environments = append(m.environments, Environment{name, protected})
	}
}

// isPlainWord says whether s is a word that needs no quotes anywhere and cannot
// be taken for a flag.
func isPlainWord(s string) bool {
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		case i > 0 && (c == '.' || c == '_' || c == '-'):
		default:
			return false
		}
	}
	return s != "" && len(s) <= near.Max
}

func (d *decoder) commands(n *yaml.Node, m *Manifest) {
	lines := make(map[string]int)
	for _, f := range d.fields(n, "commands", nil) {
		words := strings.Fields(f.name)
		name := strings.Join(words, " ")
		if !d.commandName(f.key, words) {
			name = f.name
		} else if line := lines[name]; line > 0 {
			d.bad(f.key, "the command %q stands twice, first in line %d; remove one of them", name, line)
		} else {
			lines[name] = f.key.Line
		}
		s := &spec{
			name: name, words: words, line: f.key.Line, column: f.key.Column,
			effect: Write, timeout: DefaultTimeout, grace: DefaultGrace, success: []int{0}, entry: f.value,
		}
		d.command(f.value, s, m)
		m.commands = append(m.commands, s)
	}
}

// commandName checks the words of a command's name.
func (d *decoder) commandName(n *yaml.Node, words []string) bool {
	why := NameError(strings.Join(words, " "))
	if why != "" {
		d.bad(n, "%s", why)
	}
	return why == ""
}

// NameError says why a command of a manifest can't be called so, "" where it can.
func NameError(name string) string {
	words := strings.Fields(name)
	switch {
	case len(words) == 0:
		return "a command needs a name"
	case len(strings.Join(words, " ")) > near.Max:
		return fmt.Sprintf("a command's name has at most %d characters; shorten it", near.Max)
	case reserved(words[0]):
		return fmt.Sprintf("%q is a built-in command, so no other command's name can begin with it; choose another first word", words[0])
	case words[0] == "chant":
		return "a leading word chant is taken off what is typed, so no command's name can begin with it; choose another first word"
	}
	for _, w := range words {
		if !isCommandWord(w) {
			return fmt.Sprintf("a command's name consists of words of letters, digits and any of . _ : + @ / - that begin with a letter or digit; %q is none", w)
		}
	}
	return ""
}

func isCommandWord(w string) bool {
	plain := strings.Map(func(r rune) rune {
		if strings.ContainsRune(":+@/", r) {
			return '-'
		}
		return r
	}, w)
	return isPlainWord(plain)
}

var commandKeys = []string{
	"summary", "exec", "params", "rest", "effect", "confirm", "timeout", "grace", "tty", "cwd", "env", "success", "problems",
}

// command reads what the manifest says of one command.
func (d *decoder) command(n *yaml.Node, s *spec, m *Manifest) {
	what := "the command " + s.name
	values := make(map[string]*yaml.Node)
	for _, f := range d.fields(n, what, commandKeys) {
		values[f.name] = f.value
	}
	if n.Kind != yaml.MappingNode {
		return
	}
	for _, key := range []string{"summary", "exec"} {
		if values[key] == nil {
			d.at(s.line, s.column, "%s needs %s", what, key)
		}
	}
	// Parameters first, because templates refer to them.
	for _, key := range append([]string{"params"}, commandKeys...) {
		if v := values[key]; v != nil {
			d.commandKey(key, v, s, m)
			delete(values, key)
		}
	}
	if s.confirm == "" {
		s.confirm = ConfirmNone
		if s.effect == Destroy {
			s.confirm = ConfirmRetype
		}
	}
	d.fixedEnvironment(s, m)
	d.hyphenDefaults(s)
}

// hyphenDefaults refuses a default that would be refused if it were typed.
func (d *decoder) hyphenDefaults(s *spec) {
	for _, p := range s.params {
		for _, v := range p.defaults {
			if strings.HasPrefix(v, "-") && !s.takesHyphen(p) {
				d.at(p.line, p.column, "the default %q of %s begins with a hyphen, so the program could take it for an option; put -- before it in exec, or say dash: true", v, p.name)
			}
		}
	}
}

func (d *decoder) commandKey(key string, n *yaml.Node, s *spec, m *Manifest) {
	switch key {
	case "summary":
		s.summary = d.summary(n, "summary")
	case "exec":
		d.exec(n, s)
	case "params":
		d.params(n, s, m)
	case "rest":
		d.rest(n, s)
	case "effect":
		if v, ok := d.oneOf(n, key, string(Read), string(Write), string(Destroy)); ok {
			s.effect = Effect(v)
		}
	case "confirm":
		if v, ok := d.oneOf(n, key, string(ConfirmNone), string(ConfirmAsk), string(ConfirmRetype)); ok {
			s.confirm = Confirm(v)
		}
	case "timeout":
		if v, ok := d.duration(n, key, time.Millisecond, maxTimeout); ok {
			s.timeout = v
		}
	case "grace":
		if v, ok := d.duration(n, key, 0, maxGrace); ok {
			s.grace = v
		}
	case "tty":
		s.tty = d.boolean(n, key)
	case "cwd":
		s.cwd, s.folder = d.folder(n), place{n.Line, n.Column}
	case "env":
		d.variables(n, s)
	case "success":
		d.success(n, s)
	case "problems":
		d.problems(n, s)
	}
}

// summary reads one line of text.
func (d *decoder) summary(n *yaml.Node, what string) string {
	v, ok := d.text(n, what)
	v = strings.TrimSpace(v)
	switch {
	case !ok:
	case v == "":
		d.bad(n, "%s is empty; say in a few words what it is for", what)
	case strings.ContainsAny(v, "\n\t"):
		d.bad(n, "%s must be one line without tabs", what)
	case len(v) > 200:
		d.bad(n, "%s is longer than 200 bytes; shorten it", what)
	}
	return v
}

// folder reads cwd: a path below the root. Where links lead is checked when the
// command is used.
func (d *decoder) folder(n *yaml.Node) string {
	v, ok := d.text(n, "cwd")
	if !ok {
		return ""
	}
	clean := path.Clean(v)
	switch {
	case v == "":
		d.bad(n, "cwd is empty; leave it out for the project's root")
	case path.IsAbs(v) || strings.ContainsAny(v, "\\\n\t"):
		d.bad(n, "cwd must be a path relative to the project's root, with forward slashes, and is %q", v)
	case clean == ".." || strings.HasPrefix(clean, "../"):
		d.bad(n, "cwd must lie inside the project, and %q leads out of it", v)
	case clean != ".":
		return clean
	}
	return ""
}

func (d *decoder) variables(n *yaml.Node, s *spec) {
	s.env = make(map[string]string)
	for _, f := range d.fields(n, "env", nil) {
		switch reserved := origin.Reserved(f.name); {
		case !isName(f.name) || strings.Contains(f.name, "-"):
			d.bad(f.key, "a variable's name consists of letters, digits and underscores and does not begin with a digit; %q does not", f.name)
		case reserved != "":
			d.bad(f.key, "this sets %s, and %s", f.name, reserved)
		default:
			if v, ok := d.text(f.value, "the variable "+f.name); ok {
				s.env[f.name] = v
			}
		}
	}
}

func (d *decoder) success(n *yaml.Node, s *spec) {
	var codes []int
	for _, c := range d.texts(n, "success") {
		v, ok := d.integer(c, "an exit code", 0, 255)
		if ok && slices.Contains(codes, v) {
			d.bad(c, "the exit code %d stands twice; remove one of them", v)
		} else if ok {
			codes = append(codes, v)
		}
	}
	if n.Kind == yaml.SequenceNode && len(n.Content) == 0 {
		d.bad(n, "success is empty, so the command could only fail; leave it out for [0]")
	}
	s.success = codes
}

// rest reads none, any, or {pattern}.
func (d *decoder) rest(n *yaml.Node, s *spec) {
	if n.Kind == yaml.MappingNode {
		for _, f := range d.fields(n, "rest", []string{"pattern"}) {
			s.rest.source, s.rest.pattern = d.pattern(f.value, "the pattern of rest")
		}
		if len(n.Content) == 0 {
			d.bad(n, "rest needs a pattern, or none, or any")
		}
	} else if v, ok := d.oneOf(n, "rest", "none", "any"); ok {
		s.rest.any = v == "any"
	}
	if s.rest.none() {
		return
	}
	for _, p := range s.params {
		if p.position > 0 && p.repeat {
			d.bad(n, "rest and the repeated positional parameter %s would take the same arguments; remove one of them", p.name)
		}
	}
}

// fixedEnvironment checks a command that sets CHANT_ENV itself: only a line may
// choose a protected environment, so the command's name has to hold it.
func (d *decoder) fixedEnvironment(s *spec, m *Manifest) {
	fixed, ok := s.env[envVariable]
	if !ok {
		return
	}
	if s.envParam() != nil {
		d.at(s.line, s.column, "the command %s has a parameter for the environment and sets %s too; remove one of them", s.name, envVariable)
	}
	if e, _ := m.environment(fixed); e.Protected && !slices.Contains(s.words, fixed) {
		d.at(s.line, s.column, "the command %s sets %s to %s, which is protected and must stand in the line: make %s a word of the command's name, or take it as a parameter env", s.name, envVariable, fixed, fixed)
	}
}

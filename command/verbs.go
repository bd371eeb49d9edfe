package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chant-acp/chant-acp/internal/near"
)

// longName maps chant's short flags to their long names.
func longName(short string) string {
	switch short {
	case "-o":
		return "output"
	case "-f":
		return "format"
	case "-d":
		return "lexicon"
	case "-t":
		return "template"
	case "-v":
		return "verbose"
	}
	return ""
}

func (v *verb) flag(name string) *verbFlag {
	for i := range v.flags {
		if v.flags[i].name == name {
			return &v.flags[i]
		}
	}
	return nil
}

// A verbLine is what the arguments of a verb say.
type verbLine struct {
	positionals []string
	values      map[string][]string // by flag; a switch has none
}

// verb checks the arguments of a verb of chant and makes its argv: the words as
// they are, behind the program. words do not hold a leading chant.
func (r *Registry) verb(e *entry, inv *Invocation, words []string, o ParseOptions) *Refusal {
	line, reason := e.verb.read(e.name, inv.Args, o)
	if reason != "" {
		return e.refuse(reason)
	}
	extra, reason := r.verbEnvironment(e, line, inv, o)
	if reason != "" {
		return e.refuse(reason)
	}
	if reason := e.verb.complete(line, len(extra)); reason != "" {
		return e.refuse(reason)
	}
	if reason := e.verb.confine(line, inv, r.root, o); reason != "" {
		return e.refuse(reason)
	}
	for name := range line.values {
		if e.verb.flag(name).raises {
			inv.Effect = Write
		}
	}
	inv.Argv = slices.Concat([]string{r.chant}, words, extra)
	inv.Env = variableList(nil, inv.Environment)
	return nil
}

// read checks each argument by itself.
func (v *verb) read(name string, args []string, o ParseOptions) (*verbLine, string) {
	line := &verbLine{values: make(map[string][]string)}
	for i := 0; i < len(args); i++ {
		w := args[i]
		if w == "" {
			return nil, "an argument is empty, and none may be"
		}
		if w[0] != '-' {
			if reason := v.positional(name, line, w); reason != "" {
				return nil, reason
			}
			continue
		}
		n, reason := v.option(line, w, args[i+1:], o)
		if reason != "" {
			return nil, reason
		}
		i += n
	}
	return line, ""
}

func (v *verb) positional(name string, line *verbLine, w string) string {
	n := len(line.positionals)
	switch {
	case n == len(v.positionals) && n == 0:
		return fmt.Sprintf("it takes no arguments but flags, and %s is one", show(w))
	case n == len(v.positionals):
		return fmt.Sprintf("%s is one argument too many", show(w))
	case v.positionals[n].enum != nil && !slices.Contains(v.positionals[n].enum, w):
		return fmt.Sprintf("%s must be one of %s", show(w), strings.Join(v.positionals[n].enum, ", "))
	case name == "run" && slices.Contains([]string{"list", "status", "signal", "cancel", "log"}, w):
		// chant would take these for its verbs "run list" and so on.
		return fmt.Sprintf("a component called %s cannot be run, because chant takes the word for something else", w)
	}
	line.positionals = append(line.positionals, w)
	return ""
}

// option checks a word with a leading hyphen and returns how many of the words
// after it belong to it.
func (v *verb) option(line *verbLine, w string, after []string, o ParseOptions) (int, string) {
	written, value, joined := strings.Cut(w, "=")
	name, long := strings.CutPrefix(written, "--")
	if !long {
		name = longName(written)
	}
	f := v.flag(name)
	switch {
	case f == nil:
		return 0, v.unknownFlag(written, o)
	case joined && !long:
		return 0, fmt.Sprintf("%s takes its value as a word of its own: %s %s", written, written, value)
	case joined && f.values != 1:
		return 0, fmt.Sprintf("--%s takes no value after =", f.name)
	}
	if _, twice := line.values[f.name]; twice && !f.repeat {
		return 0, fmt.Sprintf("--%s stands twice; remove one", f.name)
	}
	values, used := after[:min(len(after), f.values)], f.values
	if joined {
		values, used = []string{value}, 0
	}
	if reason := f.check(values); reason != "" {
		return 0, reason
	}
	line.values[f.name] = append(line.values[f.name], values...)
	return used, ""
}

func (f *verbFlag) check(values []string) string {
	if len(values) < f.values {
		return fmt.Sprintf("--%s needs %s", f.name, f.needs())
	}
	for _, s := range values {
		switch {
		case s == "":
			return fmt.Sprintf("--%s needs %s, and an empty one is none", f.name, f.needs())
		case s[0] == '-':
			return fmt.Sprintf("--%s needs %s, and %s looks like a flag", f.name, f.needs(), show(s))
		case f.enum != nil && !slices.Contains(f.enum, s):
			return fmt.Sprintf("--%s must be one of %s, not %s", f.name, strings.Join(f.enum, ", "), show(s))
		}
	}
	return ""
}

func (f *verbFlag) needs() string {
	if f.values == 2 {
		return "two values"
	}
	return "a value"
}

func (v *verb) unknownFlag(written string, o ParseOptions) string {
	var known []string
	for _, f := range o.shownFlags(v.flags) {
		known = append(known, "--"+f.name)
	}
	meant := near.Word(written, known)
	switch {
	case written == "-w" || written == "--watch":
		return "watching never ends, and a command here has to; leave " + written + " out and run it again when something changed"
	case meant != "":
		return fmt.Sprintf("there is no flag %s here; did you mean %s?", show(written), meant)
	case len(known) == 0:
		return fmt.Sprintf("there is no flag %s here; it takes none", show(written))
	}
	return fmt.Sprintf("there is no flag %s here; its flags are %s", show(written), strings.Join(known, ", "))
}

// complete says what is missing. filled positionals come from the session.
func (v *verb) complete(line *verbLine, filled int) string {
	for i, p := range v.positionals {
		if p.required && i >= len(line.positionals)+filled {
			return fmt.Sprintf("<%s> is missing", p.name)
		}
	}
	for _, f := range v.flags {
		if _, given := line.values[f.name]; f.required && !given {
			return fmt.Sprintf("--%s is missing", f.name)
		}
	}
	return ""
}

// verbEnvironment decides on the environment in force: what the line names, else
// the session's. extra is what the argv needs to name it.
func (r *Registry) verbEnvironment(e *entry, line *verbLine, inv *Invocation, o ParseOptions) (extra []string, reason string) {
	v := e.verb
	takesName := len(v.positionals) > 0 && v.positionals[0].name == envName
	flag := v.flag(envName)
	switch {
	case takesName && len(line.positionals) > 0:
		inv.Environment = line.positionals[0]
	case flag != nil && len(line.values[envName]) > 0:
		inv.Environment = line.values[envName][0]
	default:
		name, reason := r.sessionEnvironment(o)
		if reason != "" {
			return nil, reason
		}
		if e, _ := r.manifest.environment(name); e.Protected {
			return nil, r.withheld(v, takesName, name, inv)
		}
		inv.Environment = name
		switch {
		case name == "":
		case takesName:
			extra = []string{name}
		case flag != nil && flag.session:
			extra = []string{"--" + envName, name}
		}
	}
	env, declared := r.manifest.environment(inv.Environment)
	if like := otherSpelling(inv.Environment, r.manifest.environmentNames()); !declared && like != "" {
		return nil, fmt.Sprintf("there is no environment %s; it is spelled %s", show(inv.Environment), like)
	}
	inv.Protected = env.Protected
	return extra, ""
}

// withheld handles a session's environment that is protected: where the line
// could name it, it has to.
func (r *Registry) withheld(v *verb, takesName bool, name string, inv *Invocation) string {
	if takesName && v.positionals[0].required {
		return mustBeNamed(name, "<"+envName+">")
	}
	how := "this line cannot name it"
	if takesName || v.flag(envName) != nil {
		how = "this line does not name it"
	}
	inv.Notice = fmt.Sprintf("%s is not set: %s is protected, and %s.", envVariable, name, how)
	return ""
}

// neverRun says why a part of chant is not among the commands here, or "".
func neverRun(first string) string {
	switch first {
	case "serve":
		return "chant serve never returns and would own the connection, so it cannot be run here; use a terminal"
	case "init":
		return "chant init asks questions on a terminal, so it cannot be run here, except for `init lexicon <name>`; use a terminal"
	case "acp":
		return "chant acp is what you are talking to, so it cannot be run here"
	}
	return ""
}

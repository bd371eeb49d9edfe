package op

import (
	"errors"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/chant-acp/chant-acp/internal/answerschema"
	"github.com/chant-acp/chant-acp/internal/origin"
)

// step reads a step. Its short form is written out first, so that there is one
// way to read and one to write.
func (d *decoder) step(n *node, what string, s *Step) {
	s.At = n.at
	if n.kind != object {
		d.bad(n.at, "%s must be a mapping (key: value), and is %s", what, n.kind)
		return
	}
	if d.strict && !d.writeOut(n, what) {
		return
	}
	kind := n.get("kind")
	if kind == nil {
		d.bad(n.at, "%s needs a kind, or in a file that is data one of: %s", what, shortNames())
		return
	}
	s.Kind = Kind(d.text(kind, "kind of "+what))
	switch s.Kind {
	case Activity:
		d.activity(n, what, s)
	case Gate:
		d.gate(n, what, s)
	case Exec:
		d.exec(n, what, s)
	case Sleep:
		d.fields(n, what, "kind", "duration")
		if v := d.need(n, what, "duration"); v != nil {
			s.Duration = d.duration(v, "duration of "+what)
		}
	case WaitForEvent:
		d.event(n, what, s)
	default:
		d.bad(kind.at, "%s has the kind %q; there are: activity, gate, exec, sleep, waitForEvent", what, s.Kind)
	}
}

func (d *decoder) activity(n *node, what string, s *Step) {
	d.fields(n, what, "kind", "fn", "args", "profile", "outcomeAttribute")
	if v := d.need(n, what, "fn"); v != nil {
		if s.Fn = d.text(v, "fn of "+what); s.Fn == "" && v.kind == text {
			d.bad(v.at, "%s names no activity in fn", what)
		}
	}
	args := d.optional(n, "args")
	s.Args = d.raw(args, "args of "+what)
	if s.Fn == "shellCmd" && s.Args != nil {
		if cwd := args.get("cwd"); cwd != nil && cwd.kind != null {
			d.folder(cwd, "cwd of "+what)
		}
	}
	d.attempts(n, what, s)
}

// attempts reads what activities and exec steps have in common.
func (d *decoder) attempts(n *node, what string, s *Step) {
	if v := d.optional(n, "profile"); v != nil {
		s.Profile = d.text(v, "profile of "+what)
		if d.strict && !slices.ContainsFunc(Profiles(), func(p Profile) bool { return p.Name == s.Profile }) {
			var names []string
			for _, p := range Profiles() {
				names = append(names, p.Name)
			}
			d.bad(v.at, "%s names the profile %q, and there is none; there are: %s", what, s.Profile, strings.Join(names, ", "))
		}
	}
	v := d.optional(n, "outcomeAttribute")
	if v == nil || !d.fields(v, "outcomeAttribute of "+what, "name", "from") {
		return
	}
	s.Outcome = &Outcome{From: d.text(d.optional(v, "from"), "from of outcomeAttribute of "+what)}
	if name := d.need(v, "outcomeAttribute of "+what, "name"); name != nil {
		s.Outcome.Name = d.text(name, "name of outcomeAttribute of "+what)
	}
}

func (d *decoder) gate(n *node, what string, s *Step) {
	d.fields(n, what, "kind", "signalName", "timeout", "description", "schema", "bind", "evidence")
	if v := d.need(n, what, "signalName"); v != nil {
		s.Name = d.word(v, "the name of the gate in "+what)
		if d.gates[s.Name] {
			d.bad(v.at, "%s is another gate %q, and an approval could not tell which it is for; rename one of them", what, s.Name)
		}
		d.gates[s.Name] = true
	}
	d.wait(n, what, s)
	if n.get("timeout") == nil {
		s.Timeout = DefaultWait
	}
	s.Bind = d.paths(n, what, "bind", CheckGlob)
	s.Evidence = d.paths(n, what, "evidence", CheckPath)
}

// maxPaths bounds the globs and the paths of a gate.
const maxPaths = 100

// paths reads a list of paths below the project's folder.
func (d *decoder) paths(n *node, what, key string, check func(string) error) []string {
	v := d.optional(n, key)
	list := d.texts(v, key+" of "+what)
	if len(list) > maxPaths {
		d.bad(v.at, "%s of %s has more than %d elements; write fewer, wider ones", key, what, maxPaths)
	}
	for i, s := range list {
		if err := check(s); err != nil {
			d.bad(v.items[i].at, "%s of %s: %v", key, what, err)
		}
	}
	return list
}

func (d *decoder) event(n *node, what string, s *Step) {
	d.fields(n, what, "kind", "key", "timeout", "description", "schema")
	if v := d.need(n, what, "key"); v != nil {
		if s.Name = d.text(v, "key of "+what); s.Name == "" && v.kind == text {
			d.bad(v.at, "%s has an empty key", what)
		}
	}
	d.wait(n, what, s)
}

// wait reads what gates and events have in common.
func (d *decoder) wait(n *node, what string, s *Step) {
	if v := d.optional(n, "timeout"); v != nil {
		s.Timeout = d.duration(v, "timeout of "+what)
	}
	s.Description = d.text(d.optional(n, "description"), "description of "+what)
	schema := d.optional(n, "schema")
	if s.Schema = d.raw(schema, "schema of "+what); s.Schema == nil {
		return
	}
	var bad *answerschema.SchemaError
	if errors.As(answerschema.Check(s.Schema), &bad) {
		d.bad(schema.place(bad.Path), "the schema of %s cannot be used: %s%s", what, bad.Where(), bad.Message)
	}
}

func (d *decoder) exec(n *node, what string, s *Step) {
	d.fields(n, what, "kind", "argv", "env", "cwd", "profile", "outcomeAttribute")
	if v := d.need(n, what, "argv"); v != nil {
		s.Argv = d.texts(v, "argv of "+what)
		if v.kind == list && (len(s.Argv) == 0 || s.Argv[0] == "") {
			d.bad(v.at, "argv of %s names no program", what)
		}
	}
	if v := d.optional(n, "env"); v != nil {
		s.Env = d.environment(v, "env of "+what)
	}
	if v := d.optional(n, "cwd"); v != nil {
		s.Dir = d.folder(v, "cwd of "+what)
	}
	d.attempts(n, what, s)
}

// environment reads variables for a program.
func (d *decoder) environment(n *node, what string) map[string]string {
	for _, m := range n.members {
		if m.name == "" || strings.ContainsAny(m.name, "=\x00") {
			d.bad(m.at, "%s holds %q, which cannot be the name of a variable", what, m.name)
		}
		if why := origin.Reserved(m.name); why != "" {
			d.bad(m.at, "%s sets %s, and %s", what, m.name, why)
		}
	}
	return d.variables(n, what)
}

// folder reads the path of a folder below the project's root.
func (d *decoder) folder(n *node, what string) string {
	dir := d.text(n, what)
	if clean := path.Clean(dir); path.IsAbs(dir) || clean == ".." || strings.HasPrefix(clean, "../") {
		d.bad(n.at, "%s must lie inside the project, and %q leads out of it", what, dir)
	}
	return dir
}

// duration reads chant's durations. What a person writes must be one as a whole,
// so that 1.5h is no five hours.
func (d *decoder) duration(n *node, what string) time.Duration {
	s := d.text(n, what)
	if n.kind != text {
		return 0
	}
	v, err := ParseDuration(s)
	if _, _, whole := scanDuration(s); err == nil && d.strict && !whole {
		d.bad(n.at, "%s is %q; write it in whole numbers, as 90s, 10m, 1h30m or 2d", what, s)
	} else if err != nil {
		d.bad(n.at, "%s: %v", what, err)
	} else if v == 0 {
		d.bad(n.at, "%s is zero; remove it, or make it longer", what)
	}
	return v
}

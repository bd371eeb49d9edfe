package op

import (
	"slices"
	"strings"
)

// A shortForm is a key that stands for a kind in files that are data.
type shortForm struct {
	name string
	kind Kind
	key  string   // what the value of the short form is in the long one
	rest []string // the keys that may stand beside it
}

var shortForms = []shortForm{
	{"shell", Activity, "args", []string{"env", "cwd", "profile", "outcomeAttribute"}},
	{"exec", Exec, "argv", []string{"env", "cwd", "profile", "outcomeAttribute"}},
	{"gate", Gate, "signalName", []string{"timeout", "description", "schema", "bind", "evidence"}},
	{"sleep", Sleep, "duration", nil},
	{"waitForEvent", WaitForEvent, "key", []string{"timeout", "description", "schema"}},
}

func shortNames() string {
	var names []string
	for _, f := range shortForms {
		names = append(names, f.name)
	}
	return strings.Join(names, ", ")
}

// writeOut turns the short form of a step into the long one, in chant's order of
// keys. A step without a short form stays as it is. It returns false where the
// step is none, and that was said.
func (d *decoder) writeOut(n *node, what string) bool {
	var form *shortForm
	for _, m := range n.members {
		i := slices.IndexFunc(shortForms, func(f shortForm) bool { return f.name == m.name })
		switch {
		case i < 0:
		case form != nil:
			d.bad(m.at, "%s has %s and %s; a step does one thing", what, form.name, m.name)
			return false
		case n.get("kind") != nil:
			d.bad(m.at, "%s has a kind and %s; remove one of them", what, m.name)
			return false
		default:
			form = &shortForms[i]
		}
	}
	if form == nil {
		return true
	}
	d.fields(n, what, append([]string{form.name}, form.rest...)...)
	value := n.get(form.name)
	long := &node{kind: object, at: n.at}
	long.add("kind", textNode(string(form.kind), value.at))
	rest := form.rest
	if form.kind == Activity {
		long.add("fn", textNode("shellCmd", value.at))
		value, rest = d.shellArgs(n, what), []string{"profile", "outcomeAttribute"}
	}
	long.add(form.key, value)
	for _, key := range rest {
		long.add(key, n.get(key))
	}
	n.members = long.members
	return true
}

// shellArgs are the arguments of shellCmd.
func (d *decoder) shellArgs(n *node, what string) *node {
	args := &node{kind: object, at: n.at}
	cmd := n.get("shell")
	args.add("cmd", cmd)
	if d.text(cmd, "shell of "+what) == "" && cmd.kind == text {
		d.bad(cmd.at, "shell of %s is empty", what)
	}
	if env := n.get("env"); env != nil {
		d.environment(env, "env of "+what)
		args.add("env", env)
	}
	if cwd := n.get("cwd"); cwd != nil {
		d.text(cwd, "cwd of "+what) // where it leads is looked at in the long form
		args.add("cwd", cwd)
	}
	return args
}

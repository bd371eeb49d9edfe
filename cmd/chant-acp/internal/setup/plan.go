package setup

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/chant-acp/chant-acp/internal/jsondoc"
)

// plan is an edit in the making: the file so far, and what was done to it.
type plan struct {
	*settings
	o     Options
	out   []byte
	done  []string // each step taken
	kept  []string // keys of an entry that were there and are left alone
	notes []string // what a person should know besides
	diff  strings.Builder
}

func (s *settings) plan(src []byte, o Options) (*plan, error) {
	p := &plan{settings: s, o: o, out: src}
	d, err := parse(src, s.indent)
	if err != nil {
		return nil, err
	}
	if s.strict && !d.Standard {
		p.notes = append(p.notes, "the file holds comments or trailing commas, which the client may not read")
	}
	if err := p.addOrUpdate(d); err != nil {
		return nil, err
	}
	if _, err := parse(p.out, s.indent); err != nil {
		return nil, fmt.Errorf("the edit would have broken the file (%w); please report this, and paste the snippet instead", err)
	}
	return p, nil
}

func (p *plan) addOrUpdate(d document) error {
	at := place{}
	if d.Root != nil {
		var err error
		if at, err = d.find(p.keys); err != nil {
			return err
		}
	}
	if len(at.keys) < len(p.keys) {
		return p.set("added "+pathName(p.keys), p.keys, p.entry(p.o))
	}
	if at.value.Kind != '{' {
		return d.noObject(at)
	}
	e := entry{d, at.value}
	if p.argv {
		return p.updateACPX(e)
	}
	return p.updateCommand(e)
}

// entry is our entry where the file has one.
type entry struct {
	document
	obj *jsondoc.Value
}

// value is the value of a key in the entry, nil where there is none; a key that
// is there twice is found again, and refused, by the edit that follows.
func (e entry) value(key string) *jsondoc.Value {
	m, err := e.member(e.obj, key)
	if m == nil || err != nil {
		return nil
	}
	return &m.Value
}

// others are the entry's keys but those that are set.
func (e entry) others(set ...string) []string {
	var names []string
	for i := range e.obj.Members {
		if name := e.obj.Members[i].Name; !slices.Contains(set, name) {
			names = append(names, name)
		}
	}
	return names
}

// source is a value as the file has it, cut where it is too long to read.
func (d document) source(v *jsondoc.Value) string {
	return cut(string(v.Text))
}

// text is v's text where it is a string.
func text(v *jsondoc.Value) (string, bool) { return v.String(), v.Kind == '"' }

// words is v's strings where it is a list of nothing else.
func words(v *jsondoc.Value) ([]string, bool) {
	list := []string{}
	for i := range v.Items {
		s, ok := text(&v.Items[i])
		if !ok {
			return nil, false
		}
		list = append(list, s)
	}
	return list, v.Kind == '['
}

func (p *plan) updateCommand(e entry) error {
	p.kept = e.others("command", p.fixed.key)
	if p.fixed.key != "" {
		if v := e.value(p.fixed.key); v != nil {
			if s, ok := text(v); ok && s != p.fixed.value {
				return fmt.Errorf("%s: the entry's %q is %q, so it is not a command of yours; rename that entry, or set it to %q",
					e.where(v.Start), p.fixed.key, s, p.fixed.value)
			}
		}
		if err := p.setString(p.fixed.key, p.fixed.value.(string)); err != nil {
			return err
		}
	}
	if err := p.setString("command", p.o.Binary); err != nil {
		return err
	}
	args := e.value("args")
	if args == nil {
		return p.set("added its args", p.below("args"), argList(p.o))
	}
	p.noteArgs(args)
	return nil
}

// noteArgs says so where the arguments that are kept are not the ones asked for.
func (p *plan) noteArgs(v *jsondoc.Value) {
	if have, ok := words(v); !ok || !slices.Equal(have, p.o.Args) {
		p.notes = append(p.notes, "its args are yours, and differ from "+jsondoc.Line(asJSON(argList(p.o))))
	}
}

// updateACPX keeps the form of the entry: argv alone, command with args, or one
// command line.
func (p *plan) updateACPX(e entry) error {
	argv := append([]string{p.o.Binary}, p.o.Args...)
	example := jsondoc.Line(asJSON(object{{"argv", argv}}))
	command := e.value("command")
	p.kept = e.others("command", "argv")
	switch {
	case e.value("argv") != nil:
		return p.updateArgv(e, e.value("argv"))
	case command == nil && e.value("args") == nil:
		return p.set("added its argv", p.below("argv"), argv)
	case e.value("args") != nil:
		if strings.ContainsFunc(p.o.Binary, func(r rune) bool { return unicode.IsSpace(r) || r == '\'' || r == '"' }) {
			return fmt.Errorf("%s has args, and next to args acpx takes no command that holds a space or a quote; write the entry as %s", pathName(p.keys), example)
		}
		p.noteArgs(e.value("args"))
		return p.setString("command", p.o.Binary)
	case p.o.GOOS == "windows":
		return fmt.Errorf("%s is one command line, which acpx does not take on Windows; write the entry as %s", pathName(p.keys), example)
	}
	if line, ok := text(command); ok && strings.HasPrefix(line, shellWord(p.o.Binary)+" ") {
		return nil // this binary, with arguments of the person's own
	}
	return p.setString("command", commandLine(argv))
}

// updateArgv sets the program of an argument vector and keeps its arguments.
func (p *plan) updateArgv(e entry, v *jsondoc.Value) error {
	if len(v.Items) == 0 {
		return fmt.Errorf("%s: argv must be a list that starts with the program, and is not; correct that first", e.where(v.Start))
	}
	if have, ok := words(v); !ok || !slices.Equal(have[1:], p.o.Args) {
		p.notes = append(p.notes, "the arguments in its argv are yours, and differ from "+jsondoc.Line(asJSON(argList(p.o))))
	}
	program := &v.Items[0]
	if s, ok := text(program); ok && s == p.o.Binary {
		return nil
	}
	out, err := e.replaceString(program, "the first word of argv", p.o.Binary)
	if err != nil {
		return err
	}
	p.step("set its program, which was "+e.source(program), out)
	return nil
}

// below is the path of a key in our entry.
func (p *plan) below(key string) []string { return append(slices.Clone(p.keys), key) }

// setString sets a string of our entry, unless it is that string already.
func (p *plan) setString(key, want string) error {
	d, err := parse(p.out, p.indent)
	if err != nil {
		return err
	}
	at, err := d.find(p.below(key))
	if err != nil {
		return err
	}
	if len(at.keys) == len(p.keys) {
		return p.set("added its "+key, p.below(key), want)
	}
	if s, ok := text(at.value); ok && s == want {
		return nil
	}
	return p.set(fmt.Sprintf("set its %s, which was %s", key, d.source(at.value)), p.below(key), want)
}

func (p *plan) set(what string, keys []string, v any) error {
	d, err := parse(p.out, p.indent)
	if err != nil {
		return err
	}
	out, err := d.set(keys, v)
	if err != nil {
		return err
	}
	p.step(what, out)
	return nil
}

func (p *plan) step(what string, out []byte) {
	p.done = append(p.done, what)
	p.diff.WriteString(lineDiff(p.out, out))
	p.out = out
}

// summary is one sentence for a person.
func (p *plan) summary(path string) string {
	var s string
	switch {
	case len(p.done) == 0:
		s = fmt.Sprintf("Nothing to change: %s in %s starts %s already", pathName(p.keys), path, p.o.Binary)
	case strings.HasPrefix(p.done[0], "added "+jsondoc.Quote(p.keys[0])):
		s = fmt.Sprintf("In %s, %s", path, p.done[0])
	default:
		s = fmt.Sprintf("In %s, for %s: %s", path, pathName(p.keys), strings.Join(p.done, "; "))
	}
	if len(p.kept) > 0 && len(p.done) > 0 {
		s += "; kept its " + strings.Join(p.kept, ", ")
	}
	for _, n := range p.notes {
		s += "; " + n
	}
	return s + "."
}

package project

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/command/source"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/tasks"
)

// taken lists the task runners whose tasks a person has taken here.
func (p *Project) taken(root string) ([]command.Source, error) {
	if p.o.Taken == nil {
		return nil, nil
	}
	return p.o.Taken.Taken(root)
}

// sameTasks says whether no file of a task runner in use has changed.
func (p *Project) sameTasks() bool {
	for _, s := range p.listed {
		if !s.Same() {
			return false
		}
	}
	return true
}

// readTasks reads the tasks of the manifest's task runners, then of those taken here.
// problems gets a clause for each that can't be read.
func (p *Project) readTasks(root string, m *command.Manifest, taken []command.Source, problems []string) (listed []*command.Manifest, _ []string) {
	p.listed = nil
	eachSource(root, m, taken, p.environ(false, false), func(r readSource) {
		p.listed = append(p.listed, r.seen)
		if r.err != nil {
			problems = append(problems, r.err.Error())
			return
		}
		listed = append(listed, r.commands)
	})
	return listed, problems
}

// Tasks are the commands that a manifest takes from task runners in the project root,
// and findings for people, at the places where the manifest names these: what can't be
// read, is called otherwise or goes without a parameter.
func Tasks(root string, m *command.Manifest, env []string) (listed []*command.Manifest, found []command.Diagnostic) {
	eachSource(root, m, nil, env, func(r readSource) {
		notes := r.notes
		if r.err != nil {
			notes = []string{r.err.Error()}
		} else {
			listed = append(listed, r.commands)
		}
		for _, n := range notes {
			found = append(found, command.Diagnostic{File: m.File(), Line: r.of.Line, Column: r.of.Column, Message: n})
		}
	})
	return listed, found
}

// readSource is what became of a source.
type readSource struct {
	of       command.Source
	commands *command.Manifest
	notes    []string // for people; see source.Manifest
	seen     tasks.Seen
	err      error // nothing of it is taken
}

// eachSource reads the sources of a manifest, and those taken here, in the order in
// which names count.
func eachSource(root string, m *command.Manifest, taken []command.Source, env []string, f func(readSource)) {
	names := make(namesTaken)
	if m != nil {
		names.add(m)
	}
	for _, s := range combine(m.Sources(), taken) {
		r := readSource{of: s}
		l, seen, err := tasks.List(context.Background(), root, s, env)
		if r.seen, r.err = seen, err; err == nil {
			r.commands, r.notes, r.err = names.manifest(l)
		}
		f(r)
	}
}

// combine puts what was taken here behind what the manifest names, which counts
// where both have a tool, in the order in which names count.
func combine(declared, taken []command.Source) []command.Source {
	list := slices.Clone(declared)
	for _, s := range taken {
		if !slices.ContainsFunc(declared, func(d command.Source) bool { return d.Tool == s.Tool }) {
			list = append(list, s)
		}
	}
	order := tasks.Tools()
	slices.SortStableFunc(list, func(a, b command.Source) int { return slices.Index(order, a.Tool) - slices.Index(order, b.Tool) })
	return list
}

// namesTaken are the names of commands, of which no other command can have one.
type namesTaken map[string]bool

func (n namesTaken) add(m *command.Manifest) {
	for _, name := range m.Commands() {
		n[name] = true
	}
}

// manifest makes commands of a listing, and takes their names.
func (n namesTaken) manifest(l *source.Listing) (m *command.Manifest, notes []string, err error) {
	text, bodies, notes, err := tasks.Commands([]*source.Listing{l}, func(name string) string {
		if n[name] {
			return "another command has it"
		}
		return command.NameError(name)
	})
	if err == nil {
		m, err = command.ParseListed(command.Origin{File: l.File, Files: l.Files, Bodies: bodies}, text)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("%s is not taken: %w", l.File, err)
	}
	n.add(m)
	return m, notes, nil
}

// lacking says what can't be read of the task runners in use and, where there is no
// manifest, why, and what other task runners have.
func (p *Project) lacking(f fingerprint, taken []command.Source, notTaken []string) string {
	sentences := slices.Clone(notTaken)
	if f.manifest != "" {
		return strings.Join(sentences, ". ")
	}
	if why := command.WhyNoManifest(p.dir); why != "" {
		sentences = append(sentences, "There is no manifest here: "+why)
	}
	var found, tools []string
	for _, t := range tasks.Find(f.root) {
		if !slices.ContainsFunc(taken, func(s command.Source) bool { return s.Tool == t.Tool }) {
			found = append(found, fmt.Sprintf("%s (%s)", t.File, t.What))
			line := "`allow " + t.Tool + "`"
			if t.Tool == "make" {
				line = "`allow make <target>`"
			}
			tools = append(tools, line)
		}
	}
	if len(found) > 0 {
		sentences = append(sentences, fmt.Sprintf("No %s. Found %s. Nothing of it is allowed yet: send %s to take it, here, for you; `chant-acp init` writes it down",
			command.ManifestName, strings.Join(found, ", "), strings.Join(tools, " or ")))
	}
	return strings.Join(sentences, ". ")
}

// errNoSources says that nothing can be taken here.
var errNoSources = errors.New("tasks of task runners can't be taken here: this agent keeps nothing")

// Take implements host.TaskSources.
func (p *Project) Take(ctx context.Context, s command.Source) ([]host.Offer, []string, error) {
	if p.o.Taken == nil {
		return nil, nil, errNoSources
	}
	before := p.AllowList()
	if before.Problem != nil {
		return nil, nil, before.Problem
	}
	root := p.Dir()
	l, _, err := tasks.List(ctx, root, s, p.environ(false, false))
	if err != nil {
		return nil, nil, err
	}
	names := make(namesTaken) // those of others
	for _, o := range before.Registry.Offered() {
		if o.From != l.File {
			names[o.Name] = true
		}
	}
	m, notes, err := names.manifest(l)
	if err != nil {
		return nil, nil, err
	}
	if len(m.Commands()) == 0 {
		return nil, notes, fmt.Errorf("%s offers nothing that can be taken", l.File)
	}
	if err := p.o.Taken.Take(root, s); err != nil {
		return nil, nil, err
	}
	p.look()
	var offers []host.Offer
	for _, c := range p.AllowList().Registry.Offered() {
		if c.From != l.File {
			continue
		}
		o, err := p.offerCommand(c)
		if err != nil {
			return nil, nil, err
		}
		offers = append(offers, o)
	}
	return offers, notes, nil
}

// Drop implements host.TaskSources.
func (p *Project) Drop(tool string) (bool, error) {
	if p.o.Taken == nil {
		return false, errNoSources
	}
	was, err := p.o.Taken.Drop(p.Dir(), tool)
	p.look()
	return was, err
}

// look has the next AllowList look for everything anew.
func (p *Project) look() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = fingerprint{}
}

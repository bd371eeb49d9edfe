package op

import (
	"slices"
	"strconv"
)

// runVerbs are the words that follow run and are no Op.
var runVerbs = []string{"list", "status", "log", "verify", "cancel", "undo", "signal"}

func (d *decoder) config(n *node, c *Config) {
	if !d.fields(n, "an Op", "name", "overview", "taskQueue", "namespace", "phases", "depends", "onFailure", "searchAttributes") {
		return
	}
	if v := d.need(n, "the Op", "name"); v != nil {
		c.Name = d.word(v, "an Op's name")
		if slices.Contains(runVerbs, c.Name) {
			d.bad(v.at, "an Op cannot be called %s, because \"run %s\" means something else; choose another name", c.Name, c.Name)
		}
	}
	c.Overview = d.text(d.optional(n, "overview"), "overview")
	c.TaskQueue = d.text(d.optional(n, "taskQueue"), "taskQueue")
	c.Namespace = d.text(d.optional(n, "namespace"), "namespace")
	c.Attributes = d.variables(d.optional(n, "searchAttributes"), "searchAttributes")
	if v := d.optional(n, "depends"); v != nil {
		c.Depends = d.texts(v, "depends")
		if slices.Contains(c.Depends, c.Name) {
			d.bad(v.at, "the Op depends on itself, so it could never run")
		}
	}
	if v := d.need(n, "the Op", "phases"); v != nil {
		c.Phases = d.phases(v, "phases", false)
	}
	if v := d.optional(n, "onFailure"); v != nil {
		c.OnFailure = d.phases(v, "onFailure", true)
	}
}

func (d *decoder) phases(n *node, what string, compensation bool) []Phase {
	if n.kind != list {
		d.bad(n.at, "%s must be a list, and is %s", what, n.kind)
		return nil
	}
	if d.strict && len(n.items) == 0 {
		d.bad(n.at, "%s is empty; give it a phase, or remove it", what)
	}
	phases := make([]Phase, len(n.items))
	for i, v := range n.items {
		d.phase(v, what+"["+strconv.Itoa(i)+"]", &phases[i], compensation)
	}
	return phases
}

func (d *decoder) phase(n *node, what string, p *Phase, compensation bool) {
	p.At = n.at
	if !d.fields(n, what, "name", "parallel", "steps") {
		return
	}
	if v := d.need(n, what, "name"); v != nil {
		p.Name = d.text(v, "the name of "+what)
		what = "phase " + strconv.Quote(p.Name)
	}
	p.Parallel = d.boolean(d.optional(n, "parallel"), "parallel of "+what)
	steps := d.need(n, what, "steps")
	if steps == nil {
		return
	}
	if steps.kind != list {
		d.bad(steps.at, "steps of %s must be a list, and is %s", what, steps.kind)
		return
	}
	if d.strict && len(steps.items) == 0 {
		d.bad(steps.at, "%s has no steps; give it one, or remove it", what)
	}
	p.Steps = make([]Step, len(steps.items))
	for i, v := range steps.items {
		d.step(v, "step "+strconv.Itoa(i+1)+" of "+what, &p.Steps[i])
		if compensation {
			d.compensates(&p.Steps[i], "step "+strconv.Itoa(i+1)+" of "+what)
		}
	}
}

// compensates refuses what waits for somebody while a failure is undone.
func (d *decoder) compensates(s *Step, what string) {
	switch {
	case s.Kind == Gate, s.Kind == WaitForEvent:
		d.bad(s.At, "onFailure holds %s (%s, %s), and compensation waits for nobody; remove it", s.Kind, s.Name, what)
	case s.Kind == Sleep && s.Duration > MaxInlineSleep:
		d.bad(s.At, "onFailure sleeps for %s (%s), and compensation waits for %s at most", s.Duration, what, MaxInlineSleep)
	}
}

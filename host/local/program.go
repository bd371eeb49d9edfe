package local

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/local/activity"
	"github.com/chant-acp/chant-acp/host/pause"
	"github.com/chant-acp/chant-acp/host/process"
	"github.com/chant-acp/chant-acp/internal/origin"
)

// call is one attempt of a step; it implements activity.Call for the action that
// makes it.
type call struct {
	segment  *segment
	step     *step
	out      *stepOutput
	ctx      context.Context // ends when the run is stopped, or the attempt took too long
	set      map[string]string
	warnings []string
}

var _ activity.Call = (*call)(nil)

// Context implements activity.Call.
func (c *call) Context() context.Context { return c.ctx }

// Sleep implements activity.Call.
func (c *call) Sleep(d time.Duration) error { return c.segment.rt.sleep(c.ctx, d) }

// Say implements activity.Call.
func (c *call) Say(format string, args ...any) { c.out.say(format, args...) }

// Warn implements activity.Call.
func (c *call) Warn(text string) { c.warnings = append(c.warnings, text) }

// Set implements activity.Call.
func (c *call) Set(vars map[string]string) {
	if c.set == nil {
		c.set = make(map[string]string)
	}
	maps.Copy(c.set, vars)
}

// File implements activity.Call.
func (c *call) File(name, extension string) string {
	return filepath.Join(c.segment.folder.dir, name+"-"+c.step.key+extension)
}

// HasOutcome implements activity.Call.
func (c *call) HasOutcome() bool { return c.step.Outcome != nil }

// Run implements activity.Call. One that was stopped with the run is errStopped.
func (c *call) Run(p activity.Program) error {
	exit, err := c.start(p)
	if err != nil {
		return err
	}
	name := filepath.Base(p.Argv[0])
	switch {
	case c.segment.stopped() != host.StopNone:
		return errStopped
	case exit.Err != nil:
		return fmt.Errorf("%s could not be followed to its end: %w", name, exit.Err)
	case exit.Signal != "":
		return &activity.Error{Text: fmt.Sprintf("%s was ended by %s", name, exit.Signal), Code: &exit.Code}
	case exit.Code != 0:
		return &activity.Error{Text: fmt.Sprintf("%s ended with exit code %d", name, exit.Code), Code: &exit.Code}
	}
	return nil
}

func (c *call) start(p activity.Program) (process.Exit, error) {
	dir := c.segment.Root
	if p.Dir != "" {
		dir = p.Dir
		if !filepath.IsAbs(dir) {
			dir = filepath.Join(c.segment.Root, dir)
		}
	}
	env, err := c.environ(p.Env)
	if err != nil {
		return process.Exit{}, activity.Final(err)
	}
	path, err := process.LookPath(p.Argv[0], dir, env)
	if err != nil {
		return process.Exit{}, activity.Final(err)
	}
	if err := c.segment.rt.foreign(path); err != nil {
		return process.Exit{}, activity.Final(err)
	}
	spec := process.Spec{Path: path, Argv: p.Argv, Dir: dir, Env: env}
	flush := c.connect(&spec, p)
	proc, err := process.Start(c.ctx, spec)
	if err != nil {
		return process.Exit{}, err
	}
	exit := c.segment.follow(c.ctx, proc)
	flush()
	c.warn(exit)
	return exit, nil
}

// connect leads the program's output to where it belongs. A value has a pipe of
// its own, which is joined with the other by whole lines.
func (c *call) connect(spec *process.Spec, p activity.Program) (flush func()) {
	if p.Value == nil {
		spec.Output = func(b []byte) {
			if p.Copy != nil {
				_, _ = p.Copy.Write(b)
			}
			_, _ = c.out.Write(b)
		}
		return func() {}
	}
	var mu sync.Mutex
	lines := newJoiner(func(line []byte) { _, _ = c.out.Write(line) })
	add := func(stream int, b []byte) {
		mu.Lock()
		defer mu.Unlock()
		lines.add(stream, b)
	}
	spec.Output = func(b []byte) {
		_, _ = p.Value.Write(b)
		if !p.Quiet {
			add(0, b)
		}
	}
	spec.Errors = func(b []byte) { add(1, b) }
	return lines.flush
}

func (c *call) warn(exit process.Exit) {
	if exit.Leftovers > 0 && exit.Cause == process.Finished {
		text := "a process that it left behind was ended"
		if exit.Leftovers > 1 {
			text = fmt.Sprintf("%d processes that it left behind were ended", exit.Leftovers)
		}
		c.Warn(text)
	}
	if exit.HeldOutput {
		c.Warn("a process that left its group still holds its output open; what that prints is not shown")
	}
}

// follow waits for a program, which a stop of the run reaches, and the end of its
// time.
func (l *segment) follow(ctx context.Context, p *process.Process) process.Exit {
	l.mu.Lock()
	l.programs[p] = struct{}{}
	stops := l.stops
	l.mu.Unlock()
	for _, why := range stops {
		p.Stop(cause(why))
	}
	stop := whenDone(ctx, func() {
		if errors.Is(context.Cause(ctx), errTimedOut) {
			p.Stop(process.TimedOut)
		}
	})
	exit := p.Wait()
	stop()
	l.rt.mu.Lock()
	l.rt.left[l.ID()] = append(l.rt.left[l.ID()], p.Remnant())
	l.rt.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.programs, p)
	if exit.Code == -1 && exit.Signal == "" {
		l.lost = true
	}
	return exit
}

// endLeft ends what earlier steps left behind, so that nothing of a run is at work
// while a gate of it is asked.
func (l *segment) endLeft(gate *step) {
	l.rt.mu.Lock()
	remnants := l.rt.left[l.ID()]
	delete(l.rt.left, l.ID())
	l.rt.mu.Unlock()
	n, err := process.EndLeft(remnants)
	switch {
	case n == 1:
		l.notice("A process that an earlier step left behind was ended before the gate %s was asked.", quote(gate.Name))
	case n > 1:
		l.notice("%d processes that earlier steps left behind were ended before the gate %s was asked.", n, quote(gate.Name))
	}
	if err != nil {
		l.notice("Something that an earlier step left behind could not be ended: %v.", err)
	}
}

// whenDone calls f once ctx ends. The function that it returns takes that back, or
// waits for f.
func whenDone(ctx context.Context, f func()) (undo func()) {
	called := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(called)
		f()
	})
	return func() {
		if !stop() {
			<-called
		}
	}
}

// environ is the environment of a step's programs: what the project gives, the
// words of the line, what the run is, what earlier steps set, and the step's own,
// each over the last.
func (c *call) environ(own map[string]string) ([]string, error) {
	l := c.segment
	env := newEnviron(WithoutRun(l.rt.o.Environ(l.req.Color)))
	env.add(variables(l.Env, l.Params)...)
	env.add(pause.StateVar + "=" + l.pauses().Root())
	if l.Context != nil {
		vars, err := l.Context.Environ()
		if err != nil {
			return nil, err
		}
		env.add(vars...)
	}
	l.mu.Lock()
	set := l.history.set
	for name, value := range set {
		env.add(name + "=" + value)
	}
	l.mu.Unlock()
	for name, value := range own {
		if why := origin.Reserved(name); why != "" {
			return nil, fmt.Errorf("the step sets %s, and %s", name, why)
		}
		env.add(name + "=" + value)
	}
	return env.list, nil
}

// WithoutRun is an environment without what a run gave to its steps, one of which
// started this process. What of it travels is in the context; the rest would be
// recorded of no run that it decides about.
func WithoutRun(environ []string) []string {
	return slices.DeleteFunc(WithoutWords(environ), func(entry string) bool {
		return strings.HasPrefix(entry, pause.ContextVar+"=") || strings.HasPrefix(entry, pause.StateVar+"=")
	})
}

// WithoutWords is a copy of an environment without the variables that the words of
// a line and the keys of a context become. One that was inherited would say of a
// program what nobody said of it.
func WithoutWords(environ []string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		return strings.HasPrefix(entry, "CHANT_ENV=") || strings.HasPrefix(entry, "CHANT_PARAM_") || strings.HasPrefix(entry, pause.ContextPrefix)
	})
}

// environ holds one entry of each name.
type environ struct {
	list []string
	at   map[string]int
}

func newEnviron(base []string) *environ {
	e := &environ{at: make(map[string]int, len(base))}
	e.add(base...)
	return e
}

func (e *environ) add(entries ...string) {
	for _, entry := range entries {
		name, _, _ := strings.Cut(entry, "=")
		if i, there := e.at[name]; there {
			e.list[i] = entry
			continue
		}
		e.at[name] = len(e.list)
		e.list = append(e.list, entry)
	}
}

// Getenv implements activity.Call.
func (c *call) Getenv(name string) string {
	env, err := c.environ(nil)
	if err != nil {
		return ""
	}
	for _, entry := range env {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/local/activity"
	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/host/process"
	"github.com/chant-acp/chant-acp/host/subject"
	"github.com/chant-acp/chant-acp/internal/durable"
)

// asked is what a gate asked about: the steps that it lets run, by their bytes. It
// is kept in a file that is named by its digest, which the journal holds.
type asked struct {
	Subject subject.Subject `json:"subject"`
	// Commit and Clean are the tree's when it was asked.
	Commit string `json:"commit,omitempty"`
	Clean  *bool  `json:"clean,omitempty"`
}

// maxAsked bounds the file of a question.
const maxAsked = 64 << 20

func (f folder) asked(digest string) string {
	return filepath.Join(f.dir, "asked-"+digest+".json")
}

// keepAsked writes down what a question is about, and returns its digest.
func (f folder) keepAsked(a asked) (string, error) {
	digest := a.Subject.Digest()
	text, err := json.Marshal(a)
	if err == nil {
		err = durable.Write(f.asked(digest), text)
	}
	if err != nil {
		return "", fmt.Errorf("writing down what is asked: %w", err)
	}
	return digest, nil
}

// readAsked reads what a question was about. A file that says something else than
// its name does is none.
func (f folder) readAsked(digest string) (asked, error) {
	var a asked
	if digest == "" {
		return a, errors.New("an older version asked, which did not say what runs")
	}
	text, err := durable.Read(f.asked(digest), maxAsked)
	if err == nil {
		err = json.Unmarshal(text, &a)
	}
	if err == nil && a.Subject.Digest() != digest {
		err = errors.New("it is not what it was")
	}
	if err != nil {
		return asked{}, fmt.Errorf("what was asked about can't be read any more: %w", err)
	}
	return a, nil
}

// underGates notes which gates let each step run: those passed last before it. What
// lies behind the next gate is that one's.
func (p plan) underGates() {
	var gates []*step
	for _, ph := range p.phases {
		var beside []*step // gates of a parallel phase, behind which lies the next one
		for _, s := range ph.steps {
			switch {
			case s.Kind != op.Gate:
				s.gates = gates
				for _, g := range gates {
					s.nth = len(g.lets)
					g.lets = append(g.lets, s)
				}
			case ph.parallel:
				beside = append(beside, s)
			default:
				gates = []*step{s}
			}
		}
		if len(beside) > 0 {
			gates = beside
		}
	}
}

// gate finds a gate of a plan by its key.
func (p plan) gate(key string) *step {
	for _, ph := range p.phases {
		for _, s := range ph.steps {
			if s.key == key && s.Kind == op.Gate {
				return s
			}
		}
	}
	return nil
}

// subject is what a gate lets run, as it is now: these of the steps behind it.
func (rt *Runtime) subject(r record, h *history, gate *step, steps []*step) (subject.Subject, error) {
	w := subject.Work{Root: r.Root, Bind: gate.Bind, Evidence: gate.Evidence, Texts: append(textsOfRun(r), subject.Text{Name: "the gate", Value: gate.Name})}
	path := rt.pathVariable(h.set)
	for _, s := range steps {
		w.Commands = append(w.Commands, rt.commands(r, s, path)...)
	}
	return subject.Of(w)
}

// Subject is what a run of an Op would do, all of it, by its bytes.
func (rt *Runtime) Subject(ctx context.Context, ref host.RunRef) (subject.Subject, error) {
	found, steps, err := rt.find(ctx, ref)
	if err != nil {
		return subject.Subject{}, err
	}
	r := record{Root: rt.o.Root, Op: ref.Op, Env: ref.Env, Params: ref.Params, Config: found.Config.Digest()}
	w := subject.Work{Root: r.Root, Texts: textsOfRun(r)}
	w.Commands, w.Steps = rt.allCommands(steps)
	for _, ph := range steps.phases {
		for _, s := range ph.steps {
			w.Bind = append(w.Bind, s.Bind...)
		}
	}
	return subject.Of(w)
}

// Commands are what the steps of an Op start, its compensation included, and the
// steps as they are shown.
func (rt *Runtime) Commands(o *op.Op) (commands []subject.Command, steps []string, err error) {
	p, err := rt.plan(o.Config, rt.maskOf(o))
	if err != nil {
		return nil, nil, err
	}
	commands, steps = rt.allCommands(p)
	return commands, steps, nil
}

func (rt *Runtime) allCommands(p plan) (commands []subject.Command, steps []string) {
	path := rt.pathVariable(nil)
	for _, ph := range slices.Concat(p.phases, p.undo) {
		for _, s := range ph.steps {
			commands = append(commands, rt.commands(record{Root: rt.o.Root}, s, path)...)
			steps = append(steps, s.title)
		}
	}
	return commands, steps
}

// textsOfRun are what a run is, apart from what its steps start.
func textsOfRun(r record) []subject.Text {
	texts := []subject.Text{{Name: "the Op " + r.Op, Value: r.Config}, {Name: "the environment", Value: r.Env}}
	for name, value := range r.Params {
		texts = append(texts, subject.Text{Name: "the parameter " + name, Value: value})
	}
	return texts
}

// pathVariable is the PATH of steps without one of their own.
func (rt *Runtime) pathVariable(set map[string]string) string {
	if path, there := set["PATH"]; there {
		return path
	}
	var path string
	for _, entry := range rt.o.Environ(false) {
		if value, ok := strings.CutPrefix(entry, "PATH="); ok {
			path = value
		}
	}
	return path
}

// commands are what a step runs, as far as that can be told before it does.
func (rt *Runtime) commands(r record, s *step, path string) []subject.Command {
	c := subject.Command{Shown: s.title, Argv: s.Argv, Dir: s.Dir}
	env := s.Env
	var programs []string
	switch {
	case s.Kind == op.Exec:
	case s.Kind == op.Activity && s.Fn == "shellCmd":
		var a activity.ShellArgs
		_ = json.Unmarshal(s.Args, &a) // which plan has done before
		c.Shell, c.Dir, env = a.Cmd, a.Cwd, a.Env
	case s.Kind == op.Activity:
		programs = rt.activities.Programs(s.Fn)
		c.Argv = append([]string{""}, textsOf(s.Args)...)
		c.Argv = append(c.Argv, rt.activities.Scripts(s.Fn, s.Args)...)
		c.Code = rt.activities.Code(s.Fn)
	default:
		return nil
	}
	if !filepath.IsAbs(c.Dir) {
		c.Dir = filepath.Join(r.Root, c.Dir)
	}
	if own, there := env["PATH"]; there {
		path = own
	}
	c.Look = func(name string) (string, error) { return process.LookPath(name, c.Dir, []string{"PATH=" + path}) }
	if programs == nil {
		return []subject.Command{c}
	}
	var all []subject.Command
	for _, p := range programs {
		c.Argv = slices.Clone(c.Argv)
		c.Argv[0] = p
		all = append(all, c)
	}
	return all
}

// textsOf are all texts in JSON, which may be paths.
func textsOf(text json.RawMessage) []string {
	var v any
	if json.Unmarshal(text, &v) != nil {
		return nil
	}
	var all []string
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case string:
			all = append(all, v)
		case []any:
			for _, c := range v {
				walk(c)
			}
		case map[string]any:
			for _, c := range v {
				walk(c)
			}
		}
	}
	walk(v)
	return all
}

// differs says what of that which a gate asked about is not what it was; "" where
// nothing is. Steps that are over do not count.
func (rt *Runtime) differs(f folder, r record, h *history, gate *step) (string, error) {
	was, err := f.readAsked(h.steps[gate.key].digest)
	if err != nil {
		return err.Error(), nil
	}
	return rt.compare(was.Subject, r, h, gate, gate.lets)
}

// compare says what of that which a gate asked about is not what it was, as far as
// these of the steps behind it go.
func (rt *Runtime) compare(was subject.Subject, r record, h *history, gate *step, steps []*step) (string, error) {
	left := slices.DeleteFunc(slices.Clone(steps), func(s *step) bool { return h.ended(s.key) != "" })
	is, err := rt.subject(r, h, gate, left)
	if err != nil {
		return "", fmt.Errorf("comparing what runs with what the gate %s asked about: %w", quote(gate.Name), err)
	}
	return gate.phase.mask.Text(subject.Compare(was, is, h.steps[gate.key].askedAt, "the question")), nil
}

// into fills in what a gate asked about.
func (a asked) into(w *host.OpWait) {
	w.Commit, w.Clean, w.Steps = a.Commit, a.Clean, a.Subject.Steps
	for _, p := range a.Subject.Evidence() {
		w.Evidence = append(w.Evidence, host.Evidence{Path: p.Name, Size: p.Size, SHA256: p.SHA256, Lacks: p.Lacks})
	}
}

// stepsAhead is how many steps are compared with what was asked before one of them
// starts. All that a gate lets run would cost the square of its steps; what comes
// later is compared when it comes nearer, and all of it with the gate.
const stepsAhead = 32

// stillApproved compares what the gates before a step let run with what they asked
// about: all of it before the first step that this process starts, then the step and
// those that come next. Where it is something else they are asked again, which is
// told.
func (l *segment) stillApproved(s *step) verdict {
	v := passed
	for _, g := range s.gates {
		why, err := l.differsBefore(s, g)
		if err != nil { // the same as something else: the question will say what is wrong
			why = l.mask().Text(err.Error())
		}
		if why == "" {
			continue
		}
		if l.void(g, why) != nil {
			return halted
		}
		v = reopened
	}
	return v
}

// differsBefore says what is not what a gate asked about, before a step starts.
func (l *segment) differsBefore(s, gate *step) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock() // steps of a parallel phase end meanwhile
	digest := l.history.steps[gate.key].digest
	if was, known := l.questions[digest]; known {
		next := gate.lets[s.nth:min(s.nth+stepsAhead, len(gate.lets))]
		return l.rt.compare(was, l.record, l.history, gate, next)
	}
	was, err := l.readAsked(digest)
	if err != nil {
		return err.Error(), nil
	}
	l.questions[digest] = was.Subject
	return l.rt.compare(was.Subject, l.record, l.history, gate, gate.lets)
}

func (l *segment) differs(gate *step) (string, error) {
	l.mu.Lock()
	defer l.mu.Unlock() // steps of a parallel phase end meanwhile
	return l.rt.differs(l.folder, l.record, l.history, gate)
}

// void takes back what came of a gate, for good: its question is not asked any
// more, and another one will be.
func (l *segment) void(gate *step, why string) error {
	l.mu.Lock()
	h := *l.history.steps[gate.key] // what it was, for the sentence
	l.mu.Unlock()
	by := ""
	if h.decision != nil {
		by = h.decision.By
	}
	if err := l.append(entry{Kind: entryVoid, Step: gate.key, Error: why}); err != nil {
		return err
	}
	if err := l.pauses().Withdraw(h.pause); err != nil {
		l.notice("The copy of what the gate %s asked is still there, and counts for nothing: %v.", quote(gate.Name), err)
	}
	l.mu.Lock()
	gate.reported, gate.state, gate.phase.changed = false, "", true
	l.mu.Unlock()
	if by == "" {
		l.notice("The gate %s is asked anew: %s.", quote(gate.Name), why)
	} else {
		l.notice("The approval of the gate %s by %s is void: %s. It is asked anew.", quote(gate.Name), by, why)
	}
	return nil
}

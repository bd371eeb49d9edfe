package local

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/local/activity"
	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/host/pause"
	"github.com/chant-acp/chant-acp/internal/brief"
	"github.com/chant-acp/chant-acp/internal/envmask"
)

// plan is a config made ready to run: everything that can be wrong with a step
// before it runs has been found.
type plan struct {
	phases []*phase
	undo   []*phase // in the order in which they run
	mask   *envmask.Mask
}

type phase struct {
	name     string
	parallel bool
	undo     bool
	steps    []*step
	mask     *envmask.Mask // the plan's

	shown   host.PlanPhase // as it was last told of; segment.mu
	changed bool           // since then; segment.mu
}

// step is one step of a plan. Its key is the same in every segment: p2s1 is the first
// step of the second phase, c1s1 the first one of the compensation as it runs.
type step struct {
	*op.Step
	phase   *phase
	key     string
	title   string
	shown   json.RawMessage // its arguments, masked: each plan that is told of holds them all
	act     activity.Action // nil for those that only wait
	profile op.Profile

	gates []*step // that let it run; none of one before the first gate, nor of compensation
	lets  []*step // of a gate: the steps up to the next gate
	nth   int     // the place in lets of its gates, from 0

	state    host.StepState // in this segment; segment.mu
	reported bool           // that its end was reported
}

func (p plan) count() (n int) {
	for _, ph := range p.phases {
		n += len(ph.steps)
	}
	return n
}

// maskOf is what all that is told of a run of an Op goes through, and what is kept
// of it. The Op's own text is what people approve: of the environment it can hold
// only what its file read, and what else looks like a value stands in the file. What
// programs say may hold any value.
func (rt *Runtime) maskOf(o *op.Op) *envmask.Mask {
	var text strings.Builder
	o.Config.Shown(func(s string) string {
		text.WriteString(s + "\n")
		return s
	})
	return envmask.Beside(rt.o.Env, text.String(), o.Reads)
}

// plan makes a config ready. The error names the step.
func (rt *Runtime) plan(c *op.Config, mask *envmask.Mask) (plan, error) {
	p := plan{mask: mask}
	for i := range c.Phases {
		ph, err := rt.planPhase(c, &c.Phases[i], i+1, false, mask)
		if err != nil {
			return plan{}, err
		}
		p.phases = append(p.phases, ph)
	}
	for i := range c.OnFailure {
		last := &c.OnFailure[len(c.OnFailure)-1-i]
		ph, err := rt.planPhase(c, last, i+1, true, mask)
		if err != nil {
			return plan{}, err
		}
		p.undo = append(p.undo, ph)
	}
	p.underGates()
	return p, nil
}

func (rt *Runtime) planPhase(c *op.Config, from *op.Phase, number int, undo bool, mask *envmask.Mask) (*phase, error) {
	ph := &phase{name: mask.Text(from.Name), mask: mask, parallel: from.Parallel, undo: undo}
	for i := range from.Steps {
		s := &step{Step: &from.Steps[i], phase: ph, key: stepKey(undo, number, i+1), profile: c.Profile(&from.Steps[i])}
		if err := rt.planStep(s); err != nil {
			return nil, fmt.Errorf("the Op %s can't be run: step %d of the phase %q, %s: %w", c.Name, i+1, from.Name, s.title, err)
		}
		ph.steps = append(ph.steps, s)
	}
	return ph, nil
}

func (rt *Runtime) planStep(s *step) (err error) {
	s.shown, s.title = s.phase.mask.JSON(shownArgs(s.Step)), title(s.Step, s.phase.mask)
	switch s.Kind {
	case op.Activity:
		s.act, err = rt.activities.Find(s.Fn, s.Args)
	case op.Exec:
		s.act, err = activity.Exec(s.Step)
	case op.Gate, op.WaitForEvent:
		if s.phase.undo {
			return fmt.Errorf("compensation can't wait for anybody")
		}
		if s.Schema != nil {
			err = pause.CheckSchema(s.Schema)
		}
		if err == nil && s.Kind == op.WaitForEvent && s.Name == "" {
			err = fmt.Errorf("an event needs a key")
		}
	case op.Sleep:
	default:
		err = fmt.Errorf("there is no kind %q of steps", s.Kind)
	}
	return err
}

const maxTitle = 200 // runes

// title says what a step does, on one line. Values of the environment are
// replaced before anything else is done to the text, which could cut or quote
// them.
func title(s *op.Step, mask *envmask.Mask) string {
	var text string
	switch s.Kind {
	case op.Gate:
		text = "Gate " + mask.Text(s.Name)
		if s.Description != "" {
			text += ": " + mask.Text(s.Description)
		}
	case op.WaitForEvent:
		text = "Wait for the event " + mask.Text(s.Name)
	case op.Sleep:
		text = "Sleep " + s.Duration.String()
	case op.Exec:
		words := make([]string, len(s.Argv))
		for i, w := range s.Argv {
			words[i] = quote(mask.Text(w))
		}
		text = strings.Join(words, " ")
	default:
		text = activityTitle(s.Fn, mask.JSON(s.Args))
	}
	return oneLine(text)
}

// activityTitle is a command for what runs one, and the name with its arguments
// for the rest.
func activityTitle(fn string, shown json.RawMessage) string {
	var args map[string]any
	dec := json.NewDecoder(bytes.NewReader(shown))
	dec.UseNumber()
	_ = dec.Decode(&args) // what is no object shows no arguments
	if cmd, ok := args["cmd"].(string); ok && fn == "shellCmd" {
		return cmd
	}
	words := []string{fn}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		value, ok := args[name].(string)
		if !ok {
			text, _ := json.Marshal(args[name])
			value = string(text)
		}
		words = append(words, name+"="+value)
	}
	return strings.Join(words, " ")
}

func oneLine(s string) string {
	return brief.Runes(strings.Join(strings.Fields(s), " "), maxTitle)
}

// shownArgs is the JSON object of what a step is given.
func shownArgs(s *op.Step) json.RawMessage {
	var shown any
	switch s.Kind {
	case op.Activity:
		if s.Args == nil {
			return json.RawMessage("{}")
		}
		return s.Args
	case op.Exec:
		shown = struct {
			Argv []string          `json:"argv"`
			Env  map[string]string `json:"env,omitempty"`
			Dir  string            `json:"cwd,omitempty"`
		}{s.Argv, s.Env, s.Dir}
	case op.Sleep:
		shown = map[string]string{"duration": s.Duration.String()}
	default:
		shown = struct {
			Name        string          `json:"name"`
			Description string          `json:"description,omitempty"`
			Timeout     string          `json:"timeout,omitempty"`
			Schema      json.RawMessage `json:"schema,omitempty"`
			Bind        []string        `json:"bind,omitempty"`
			Evidence    []string        `json:"evidence,omitempty"`
		}{s.Name, s.Description, durationText(s), s.Schema, s.Bind, s.Evidence}
	}
	text, err := json.Marshal(shown)
	if err != nil { // a schema that is no JSON, which planStep refuses
		return json.RawMessage("{}")
	}
	return text
}

func durationText(s *op.Step) string {
	if s.Timeout == 0 {
		return ""
	}
	return s.Timeout.String()
}

// stepKey is the key of a step, by the numbers of its phase and of its own from 1.
func stepKey(undo bool, phase, step int) string {
	if undo {
		return fmt.Sprintf("c%ds%d", phase, step)
	}
	return fmt.Sprintf("p%ds%d", phase, step)
}

// shapes are phases as the journal knows them.
func shapes(phases []*phase) []phaseShape {
	all := make([]phaseShape, len(phases))
	for i, ph := range phases {
		all[i] = phaseShape{Steps: len(ph.steps), Parallel: ph.parallel}
		for n, s := range ph.steps {
			if s.act == nil {
				if all[i].Waits == nil {
					all[i].Waits = make(map[int]op.Kind)
				}
				all[i].Waits[n+1] = s.Kind
			}
		}
	}
	return all
}

// compareKeys orders the keys of steps as they run.
func compareKeys(a, b string) int {
	return cmp.Or(cmp.Compare(b[:1], a[:1]), slices.Compare(keyNumbers(a), keyNumbers(b))) // p before c
}

func keyNumbers(key string) []int {
	var numbers []int
	for _, part := range strings.FieldsFunc(key, func(r rune) bool { return r < '0' || r > '9' }) {
		n, _ := strconv.Atoi(part)
		numbers = append(numbers, n)
	}
	return numbers
}

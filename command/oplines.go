package command

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// An OpLine is what a line about Ops and their runs says. Which fields count
// depends on the command; the rest is zero.
type OpLine struct {
	Op   string // "" where the line names none
	Run  string // the id of a run; "" for the one that fits
	Gate string // <gate> or <gate>@<digest>
	// Env is the environment of the run: what the line says, else the session's;
	// "" for none, and for that of the run that is named.
	Env    string
	Params map[string]string // nil for none
	// Context are the keys that travel with a new run; nil for none.
	Context map[string]string

	Resume, Restart, NoDepends bool
	Open, Follow, JSON         bool

	Note    string
	Answer  json.RawMessage // what a gate with a schema is answered; nil for nothing
	Key     string          // of an event
	Payload json.RawMessage // of an event; nil for nothing
}

// opBuiltins are the built-in commands about Ops.
func opBuiltins() []Builtin {
	return []Builtin{
		{Name: "run", Signature: "run <op> [flags]", Summary: "Run an Op, or go on with its run", Effect: Write, params: runParams},
		{Name: "run list", Signature: "run list [op] [--open]", Summary: "List the runs of Ops, the newest first", Effect: Read, params: listParams},
		{Name: "run status", Signature: "run status [op] [--run …]", Summary: "Show how far a run is and what it waits for", Effect: Read, params: whichParams},
		{Name: "run log", Signature: "run log [op] [--run …] [--follow]", Summary: "Show what the steps of a run printed", Effect: Read, params: logParams},
		{Name: "run verify", Signature: "run verify [op] [--run …]", Summary: "Check that what is kept of runs is what was written", Effect: Read, params: whichParams},
		{Name: "run cancel", Signature: "run cancel [op] [--run …]", Summary: "End a run without compensation", Effect: Write, params: whichParams},
		{Name: "run undo", Signature: "run undo <op> [--run …]", Summary: "Run the compensation of a run that was cancelled or interrupted, once", Effect: Write, params: undoParams},
		{Name: "approve", Signature: "approve <op> <gate> [flags]", Summary: "Let a run pass its gate", Effect: Write, params: approveParams},
		{Name: "reject", Signature: "reject <op> <gate> [flags]", Summary: "End a run at its gate, and undo what it did", Effect: Write, params: gateParams},
		{Name: "signal", Signature: "signal <key> [json] [--run …]", Summary: "Tell the run that waits for an event", Effect: Write, params: signalParams},
		{Name: "ops", Signature: "ops [--json]", Summary: "List the Ops of this project", Effect: Read, params: opsParams},
	}
}

func opParam(required bool) *param {
	return &param{name: "op", position: 1, required: required, kind: typeString, description: "the name of the Op"}
}

func flagParam(name string, kind paramType, description string) *param {
	return &param{name: name, flag: "--" + name, kind: kind, description: description}
}

func runID() *param {
	return flagParam("run", typeString, "the id of the run, where more than one fits")
}

func runParams() []*param {
	pair := flagParam("param", typeString, "NAME=VALUE, a parameter of the run")
	pair.repeat = true
	key := flagParam("context", typeString, "KEY=VALUE, which steps and the runs that they start are told of")
	key.repeat = true
	return []*param{
		opParam(true), flagParam("env", typeString, "the environment of the run"), pair, key, runID(),
		flagParam("resume", typeBool, "do the step again in which the run stopped, and go on"),
		flagParam("restart", typeBool, "give up the run that is open and begin anew"),
		flagParam("no-depends", typeBool, "run it though an Op that it depends on never completed"),
	}
}

func listParams() []*param {
	return []*param{opParam(false), flagParam("open", typeBool, "only those that may go on")}
}

func whichParams() []*param { return []*param{opParam(false), runID()} }

func undoParams() []*param { return []*param{opParam(true), runID()} }

func logParams() []*param {
	return append(whichParams(), flagParam("follow", typeBool, "go on until the run stops"))
}

func gateParams() []*param {
	return []*param{
		opParam(true), {name: "gate", position: 2, required: true, kind: typeString, description: "the gate, or gate@digest for the run as it was shown"},
		runID(), flagParam("note", typeString, "a word about the decision, which is kept"),
	}
}

func approveParams() []*param {
	return append(gateParams(), flagParam("answer", typeString, "JSON, where the gate asks for more than a yes"))
}

func signalParams() []*param {
	return []*param{
		{name: "key", position: 1, required: true, kind: typeString, description: "the key of the event"},
		{name: "json", position: 2, kind: typeString, description: "what the event tells"}, runID(),
	}
}

func opsParams() []*param {
	return []*param{flagParam("json", typeBool, "one JSON object a line")}
}

// specOf is a built-in's parameters in the form of a project command's.
func (b *Builtin) specOf() *spec {
	s := &spec{name: b.Name, params: b.params()}
	for i, p := range s.params {
		p.index = i
	}
	return s
}

// opLine reads the arguments of a built-in about Ops.
func (r *Registry) opLine(e *entry, inv *Invocation, o ParseOptions) *Refusal {
	s := e.builtin.specOf()
	b, reason := s.bind(inv.Args)
	if reason == "" && e.name == "run" {
		if b.has(s, "run") {
			o.Environment = "" // a run that is named has its own
		}
		reason = r.runEnvironment(s, b, inv, o)
	}
	if reason == "" {
		reason = s.complete(b)
	}
	inv.Op = &OpLine{}
	for _, p := range s.params {
		for _, v := range b.valuesOf(p) {
			if reason == "" {
				reason = inv.Op.set(p, v)
			}
		}
	}
	if reason == "" && inv.Op.Resume && inv.Op.Restart {
		reason = "--resume goes on with a run and --restart gives it up; remove one"
	}
	if reason != "" {
		return e.refuse(reason)
	}
	return nil
}

// valuesOf is safe for a binding that came to nothing.
func (b *binding) valuesOf(p *param) []string {
	if b == nil {
		return nil
	}
	return b.values[p.index]
}

// has says whether the line gives a parameter.
func (b *binding) has(s *spec, name string) bool {
	return slices.ContainsFunc(s.params, func(p *param) bool { return p.name == name && b.given[p.index] })
}

// runEnvironment decides on the environment of a new run, as for a command of the
// project. Where the manifest declares environments, it is one of them.
func (r *Registry) runEnvironment(s *spec, b *binding, inv *Invocation, o ParseOptions) string {
	if reason := r.projectEnvironment(s, b, inv, o); reason != "" || inv.Environment == "" {
		return reason
	}
	if _, declared := r.manifest.environment(inv.Environment); declared || len(r.manifest.Environments()) == 0 {
		inv.Env = variableList(nil, inv.Environment)
		return ""
	}
	var names []string
	for _, e := range r.manifest.Environments() {
		names = append(names, e.Name)
	}
	return fmt.Sprintf("--env cannot be %s: %s declares the environments %s", show(inv.Environment), ManifestName, strings.Join(names, ", "))
}

// set takes one value; the answer is what is wrong with it.
func (l *OpLine) set(p *param, v string) string {
	yes := v == "true"
	switch p.name {
	case "op":
		l.Op = v
	case "run":
		l.Run = v
	case "gate":
		l.Gate = v
	case "env":
		l.Env = v
	case "param":
		return setPair(&l.Params, p, "NAME=VALUE", v)
	case "context":
		return setPair(&l.Context, p, "KEY=VALUE", v)
	case "resume":
		l.Resume = yes
	case "restart":
		l.Restart = yes
	case "no-depends":
		l.NoDepends = yes
	case "open":
		l.Open = yes
	case "follow":
		l.Follow = yes
	case "note":
		l.Note = v
	case "key":
		l.Key = v
	case "answer":
		return setJSON(&l.Answer, p, v)
	case "json":
		if p.kind == typeBool {
			l.JSON = yes
			return ""
		}
		return setJSON(&l.Payload, p, v)
	}
	return ""
}

// setPair takes one name and its value.
func setPair(into *map[string]string, p *param, form, v string) string {
	name, value, ok := strings.Cut(v, "=")
	if !ok || name == "" {
		return fmt.Sprintf("%s cannot be %s: write %s %s", p.label(), show(v), p.flag, form)
	}
	if _, twice := (*into)[name]; twice {
		return fmt.Sprintf("%s gives %s twice; remove one", p.label(), show(name))
	}
	if *into == nil {
		*into = make(map[string]string)
	}
	(*into)[name] = value
	return ""
}

func setJSON(into *json.RawMessage, p *param, v string) string {
	if !json.Valid([]byte(v)) {
		return fmt.Sprintf(`%s cannot be %s: it is not JSON; a text is written '"text"', with both kinds of quotes`, p.label(), show(v))
	}
	*into = json.RawMessage(v)
	return ""
}

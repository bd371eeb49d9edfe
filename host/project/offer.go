package project

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/local"
	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/host/process"
	"github.com/chant-acp/chant-acp/host/subject"
)

// Offer implements host.Host.
func (p *Project) Offer(ctx context.Context, inv *command.Invocation) (host.Offer, bool, error) {
	if inv.Kind == command.KindBuiltin {
		if inv.Op == nil || inv.Name != "run" && inv.Name != "run undo" {
			return host.Offer{}, false, nil
		}
		set, err := p.loadOps(ctx, p.Dir(), inv.Op.Op, local.WithoutRun(p.o.Env), nil)
		if err != nil {
			return host.Offer{}, true, err
		}
		found, err := set.Find(inv.Op.Op)
		if err != nil {
			return host.Offer{}, true, &host.OpRefusal{Reason: p.shown(set.Reads())(err.Error()), Lines: []string{"ops"}}
		}
		o, err := p.offerOp(found)
		return o, true, err
	}
	c, ok := p.AllowList().Registry.OfferedBy(inv)
	if !ok {
		return host.Offer{}, false, nil
	}
	o, err := p.offerCommand(c)
	return o, true, err
}

// Offers implements host.Host.
func (p *Project) Offers(ctx context.Context) ([]host.Offer, error) {
	var list []host.Offer
	for _, c := range p.AllowList().Registry.Offered() {
		o, err := p.offerCommand(c)
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	set, err := p.loadOps(ctx, p.Dir(), "", local.WithoutRun(p.o.Env), nil)
	if err != nil {
		return nil, err
	}
	for _, found := range set.Ops {
		if len(set.Named(found.Name())) > 1 {
			continue // an Op that can't be run is not offered
		}
		o, err := p.offerOp(found)
		if err != nil {
			return nil, err
		}
		list = append(list, o)
	}
	return list, nil
}

func (p *Project) offerCommand(c command.Offered) (host.Offer, error) {
	root, env := p.Dir(), lastOnly(p.environ(false, false))
	s, err := subject.Of(subject.Work{
		Root: root, Texts: []subject.Text{{Name: "the entry of " + c.Name + " in " + c.From, Value: c.Entry}}, Sources: c.Sources, Steps: []string{c.Runs},
		Commands: []subject.Command{{
			Argv: c.Argv, Dir: c.Dir,
			Look: func(name string) (string, error) { return process.LookPath(name, root, env) },
		}},
	})
	return host.Offer{Name: c.Name, Summary: c.Summary, Effect: c.Effect, Runs: c.Runs, Text: strings.TrimSuffix(lines([]byte(c.Entry))+"\n"+c.Body, "\n"), Subject: inside(s)}, err
}

// offerOp is an Op as it is without an environment and parameters: with others its
// sources are the same.
func (p *Project) offerOp(found *op.Op) (host.Offer, error) {
	name := "run " + found.Name()
	show := p.shown(found.Reads)
	var steps []string
	w := subject.Work{Root: p.Dir(), Sources: found.Sources, Texts: []subject.Text{{Name: "the Op " + found.Name(), Value: found.Config.Digest()}}}
	rt, err := p.runtime()
	if err != nil {
		return host.Offer{}, err
	}
	commands, titles, err := rt.Commands(found)
	if err == nil { // an error is reported when the Op is run
		w.Commands, steps = commands, titles
	}
	w.Steps = steps
	s, err := subject.Of(w)
	return host.Offer{
		Name: name, Summary: show(found.Config.Overview), Effect: command.Write, Runs: strings.Join(steps, "; "),
		Text: lines(found.Config.Shown(show)), Subject: inside(s),
	}, err
}

// inside leaves what the project itself brings: programs of the system may be newer
// tomorrow, words that name no file are arguments, and in another worktree the
// project lies elsewhere.
func inside(s subject.Subject) subject.Subject {
	return s.Without(func(p subject.Part) bool {
		return p.SHA256 == "" && (p.Kind == subject.KindProgram || p.Kind == subject.KindFile)
	})
}

// lines is JSON for people, in lines; "" for none.
func lines(text []byte) string {
	var b bytes.Buffer
	if len(text) == 0 || json.Indent(&b, text, "", "  ") != nil {
		return cmp.Or(string(text), "")
	}
	return b.String()
}

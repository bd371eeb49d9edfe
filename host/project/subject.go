package project

import (
	"context"
	"strings"
	"time"

	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/gitstate"
	"github.com/chant-acp/chant-acp/host/process"
	"github.com/chant-acp/chant-acp/host/subject"
)

// commitWait bounds how long the work tree is looked at: what is found is shown and
// decides nothing.
const commitWait = time.Second

// Commit implements host.Host.
func (p *Project) Commit(ctx context.Context) (string, *bool) {
	ctx, cancel := context.WithTimeout(ctx, commitWait)
	defer cancel()
	s := gitstate.Read(ctx, p.Dir())
	return s.Commit, s.Clean
}

// Subject implements host.Host. Of a line that runs an Op it is all of the Op; of
// any other built-in, which starts nothing, the line.
func (p *Project) Subject(ctx context.Context, inv *command.Invocation) (subject.Subject, error) {
	if inv.Kind == command.KindBuiltin {
		if inv.Op == nil || inv.Name != "run" && inv.Name != "run undo" {
			return subject.Of(subject.Work{Root: p.Dir(), Texts: []subject.Text{{Name: "the line", Value: inv.Line}}})
		}
		rt, err := p.runtime()
		if err != nil {
			return subject.Subject{}, err
		}
		return rt.Subject(ctx, host.RunRef{Op: inv.Op.Op, Env: inv.Op.Env, Params: inv.Op.Params})
	}
	root, env := p.Dir(), p.environment(inv, false)
	texts := []subject.Text{
		{Name: "the line", Value: inv.Line},
		{Name: "what the line runs", Value: command.Quote(inv.Argv)},
		{Name: "the folder of the command", Value: inv.Dir},
		{Name: "the environment", Value: inv.Environment},
	}
	from, sources := command.ManifestName, []string(nil)
	if o := inv.Origin(); o != nil {
		from, sources = o.File, o.Files
	}
	if entry := inv.Entry(); entry != "" {
		texts = append(texts, subject.Text{Name: "the entry of " + inv.Name + " in " + from, Value: entry})
	}
	if inv.Protected {
		texts = append(texts, subject.Text{Name: "the protection of " + inv.Environment})
	}
	for _, kv := range inv.Env {
		name, value, _ := strings.Cut(kv, "=")
		texts = append(texts, subject.Text{Name: "the variable " + name, Value: value})
	}
	return subject.Of(subject.Work{
		Root: root, Texts: texts, Sources: sources,
		Commands: []subject.Command{{
			Shown: command.Quote(inv.Argv), Argv: inv.Argv, Dir: inv.Dir,
			Look: func(name string) (string, error) { return process.LookPath(name, root, env) },
		}},
	})
}

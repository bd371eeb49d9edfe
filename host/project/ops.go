package project

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/local"
	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/host/op/eval"
	"github.com/chant-acp/chant-acp/internal/envmask"
)

// Ops implements host.Host: one runtime for each project root that this session's
// directory has had.
func (p *Project) Ops() (host.Runtime, error) {
	rt, err := p.runtime()
	if err != nil {
		return nil, err
	}
	return rt, nil
}

// runtime is what runs the Ops of the project, made once for each folder that it was
// found in.
func (p *Project) runtime() (*local.Runtime, error) {
	root := p.Dir()
	p.mu.Lock()
	defer p.mu.Unlock()
	if rt := p.runtimes[root]; rt != nil {
		return rt, nil
	}
	if p.o.Runs == "" {
		return nil, errors.New("runs of Ops can't be kept: there is no folder for them")
	}
	rt, err := local.New(local.Options{
		Root: root, State: p.o.Runs, Env: p.o.Env, LogMax: p.o.LogMax, LogFloor: p.o.LogFloor,
		Environ:        func(color bool) []string { return lastOnly(p.environ(false, color)) },
		Chant:          func() string { return p.findChant(root) },
		ManifestDigest: p.manifestDigest,
		Find: func(ctx context.Context, name string, vars []string) (*op.Op, error) {
			return p.findOp(ctx, root, name, vars)
		},
	})
	if err != nil {
		return nil, err
	}
	if p.runtimes == nil {
		p.runtimes = make(map[string]*local.Runtime)
	}
	p.runtimes[root] = rt
	return rt, nil
}

func (p *Project) manifestDigest() string {
	p.AllowList()
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.manifest
}

// findOp reads one Op as it is now, with variables over the environment. That it
// can't be run is for the person who asked for it.
func (p *Project) findOp(ctx context.Context, root, name string, vars []string) (*op.Op, error) {
	set, err := p.loadOps(ctx, root, name, local.WithoutRun(p.o.Env), vars)
	if err != nil {
		return nil, err
	}
	found, err := set.Find(name)
	if err != nil {
		return nil, &host.OpRefusal{Reason: p.shown(set.Reads())(err.Error()), Lines: []string{"ops"}}
	}
	return found, nil
}

// loadOps reads all Ops, the one that is called first before others. What failed is
// for a thread, which is kept and shared: it shows values of the environment that
// its file read by their names.
func (p *Project) loadOps(ctx context.Context, root, first string, env, vars []string) (*op.Set, error) {
	set, err := eval.Load(ctx, root, eval.Options{Cache: p.o.OpCache, Environ: lastOnly(slices.Concat(env, vars)), First: first})
	if err == nil {
		set.ShowFailed(p.shown)
	}
	return set, err
}

// shown makes what shows a text of a file that read some variables. Data reads none
// and is shown as it is: that is what people approve.
func (p *Project) shown(reads []string) func(string) string {
	return envmask.Only(p.o.Env, reads).Text
}

// OpSet implements host.Host.
func (p *Project) OpSet(ctx context.Context) (host.OpSet, error) {
	set, err := p.loadOps(ctx, p.Dir(), "", p.o.Env, nil)
	if err != nil {
		return nil, err
	}
	return opSet{set, p.shown}, nil
}

// opSet implements host.OpSet. It is told in a thread, which is kept and shared:
// values of the environment that a file read are shown by their names.
type opSet struct {
	set   *op.Set
	shown func(reads []string) func(string) string
}

func (s opSet) List(last func(name string) string) string { return s.set.List(last, s.shown) }

func (s opSet) WriteJSON(w io.Writer) error {
	return writeOps(w, s.set, func(o *op.Op) (string, json.RawMessage) {
		show := s.shown(o.Reads)
		return show(o.Name()), o.Config.Shown(show)
	})
}

// WriteOps writes Ops as JSON, one object a line: the Ops by name, each with its
// config as chant would see it, then the files that are none.
func WriteOps(w io.Writer, set *op.Set) error {
	return writeOps(w, set, func(o *op.Op) (string, json.RawMessage) { return o.Name(), o.Config.JSON() })
}

func writeOps(w io.Writer, set *op.Set, show func(*op.Op) (name string, config json.RawMessage)) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false) // as JSON.stringify has it
	for _, o := range set.Ops {
		name, config := show(o)
		if err := enc.Encode(struct {
			Name   string          `json:"name"`
			File   string          `json:"file"`
			Config json.RawMessage `json:"config"`
		}{name, o.File, config}); err != nil {
			return err
		}
	}
	for _, f := range set.Failed {
		if err := enc.Encode(struct {
			File  string `json:"file"`
			Error string `json:"error"`
		}{f.File, f.Error()}); err != nil {
			return err
		}
	}
	return nil
}

package local

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/host/process"
	"github.com/chant-acp/chant-acp/host/subject"
	"github.com/chant-acp/chant-acp/internal/flock"
	"github.com/chant-acp/chant-acp/internal/stateroot"
)

const (
	// identityWait bounds the wait for another line that begins the same run.
	identityWait = 10 * time.Second
	// runWait is longer than somebody who looks whether a run lives holds its lock.
	runWait = time.Second
)

// StartOp implements host.Runtime.
func (rt *Runtime) StartOp(ctx context.Context, req host.OpRequest) (host.OpRun, error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if req.Ref.Op == "" {
		return nil, &host.OpRefusal{Reason: "The line names no Op.", Lines: []string{"ops"}}
	}
	if err := checkParams(req.Ref.Params); err != nil {
		return nil, &host.OpRefusal{Reason: err.Error()}
	}
	if req.Events == nil {
		req.Events = func(host.OpEvent) {}
	}
	if req.Mode == host.RunUndo && req.Ref.ID == "" {
		k, err := rt.toUndo(req.Ref)
		if err != nil {
			return nil, err
		}
		req.Ref.ID = k.id()
	}
	id := identity(rt.o.Root, req.Ref.Op, req.Ref.Env, req.Ref.Params)
	if req.Ref.ID != "" {
		k, err := rt.named(req.Ref)
		if err != nil {
			return nil, err
		}
		if k.Root == "" { // nobody knows any more what was asked
			return nil, rt.unreadable(k, req.Ref)
		}
		id = k.identity()
		req.Ref.Env, req.Ref.Params = k.Env, k.Params
	}
	unlock, err := rt.lockIdentity(ctx, id)
	if err != nil {
		return nil, err
	}
	defer unlock()
	there, err := rt.newest(id, req.Ref.ID)
	if err != nil {
		return nil, err
	}
	switch {
	case there != nil && there.problem != "" && !there.isOver():
		if req.Mode != host.RunRestart || there.live {
			return nil, rt.unreadable(there, req.Ref)
		}
		return rt.begin(ctx, req, id, there)
	case there != nil && (req.Mode == host.RunUndo || req.Mode == host.RunResume && there.state() == host.RunCancelled):
		return rt.goOn(ctx, req, there)
	case there == nil || !there.state().Open():
		return rt.begin(ctx, req, id, there)
	case req.Mode == host.RunRestart:
		return rt.restart(ctx, req, id, there)
	}
	return rt.goOn(ctx, req, there)
}

// lockIdentity keeps others from beginning the same run.
func (rt *Runtime) lockIdentity(ctx context.Context, id string) (func(), error) {
	open := filepath.Join(rt.dir, ".open")
	if err := stateroot.Make(rt.o.State); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(open, 0o700); err != nil {
		return nil, fmt.Errorf("making the folder of runs: %w", err)
	}
	l, err := flock.Take(ctx, filepath.Join(open, id+".lock"), identityWait)
	if errors.Is(err, flock.ErrHeld) {
		return nil, &host.OpRefusal{Reason: "Another line is beginning this very run; try again."}
	}
	if err != nil {
		return nil, err
	}
	return l.Release, nil
}

// unreadable refuses to begin anew, without a word, what may not be over.
func (rt *Runtime) unreadable(k *kept, ref host.RunRef) error {
	refusal := &host.OpRefusal{
		Reason: fmt.Sprintf("The run %s of %s may not be over, and can't go on: %s.", k.id(), opOf(k, ref), k.problem),
		Lines:  []string{"run status --run " + k.id()}, Runs: rt.infos([]*kept{k}),
	}
	switch {
	case k.live:
		refusal.Reason += " A process still runs it; wait for its end."
	case opOf(k, ref) == unknownOp: // a line that begins it anew would need its name
	default:
		refusal.Reason += " It can only be given up, without its compensation, and begun anew."
		ref.ID, ref.Op = "", opOf(k, ref)
		if k.Root != "" {
			ref.Env, ref.Params = k.Env, k.Params
		}
		refusal.Lines = append(refusal.Lines, startLine(ref)+" --restart")
	}
	return refusal
}

const unknownOp = "an unknown Op"

// opOf is the Op of a run of which not everything is known.
func opOf(k *kept, ref host.RunRef) string {
	switch {
	case k.Op != "":
		return k.Op
	case ref.Op != "":
		return ref.Op
	}
	return unknownOp
}

// begin makes a new run and starts it. before is the last one of its identity.
func (rt *Runtime) begin(ctx context.Context, req host.OpRequest, id string, before *kept) (host.OpRun, error) {
	if req.Ref.ID != "" {
		if err := rt.mayBeginAgain(req, id, before); err != nil {
			return nil, err
		}
	}
	switch req.Mode {
	case host.RunResume:
		return nil, &host.OpRefusal{Reason: "There is no run to resume.", Lines: []string{startLine(req.Ref)}}
	case host.RunUndo: // it was removed meanwhile
		return nil, noRun(req.Ref.ID)
	}
	tree := rt.lookAtTree(ctx)
	found, steps, err := rt.find(ctx, req.Ref)
	state := tree()
	if err != nil {
		return nil, err
	}
	if err := rt.checkDepends(ctx, found, req); err != nil {
		return nil, err
	}
	r := record{
		Format: format, Version: version, Root: rt.o.Root, Op: req.Ref.Op, File: found.File, Env: req.Ref.Env, Params: req.Ref.Params,
		Config: found.Config.Digest(), Created: rt.o.Now().UTC(), Commit: state.Commit, Clean: state.Clean, Manifest: rt.o.ManifestDigest(),
		User: osUser(), Client: req.Actor.Client,
	}
	r.Digest = runDigest(r.Root, r.Op, r.Env, r.Params, r.Config)
	var notice string
	if r.Context, notice, err = rt.context(req.Context); err != nil {
		return nil, err
	}
	f, err := rt.create(&r, id, firstSegment(r, steps, req.Actor), steps)
	if err != nil {
		return nil, err
	}
	run, err := rt.take(ctx, req, &segment{folder: f, record: r, config: found.Config, plan: steps, fresh: true, notices: notice})
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(f.dir)) // nothing of it ever ran
	}
	return run, nil
}

// mayBeginAgain refuses to begin anew, from a run that is over, while another one
// of its identity is open.
func (rt *Runtime) mayBeginAgain(req host.OpRequest, id string, before *kept) error {
	if before == nil { // removed meanwhile
		return &host.OpRefusal{Reason: fmt.Sprintf("There is no run %s of this project.", quote(req.Ref.ID)), Lines: []string{"run list"}}
	}
	if req.Mode != host.RunRestart {
		return rt.overNow(before)
	}
	open, err := rt.newest(id, "")
	switch {
	case err != nil || open == nil || open.ID == before.ID:
		return err
	case open.problem != "" && !open.isOver():
		return rt.unreadable(open, req.Ref)
	case !open.state().Open():
		return nil
	}
	return &host.OpRefusal{
		Reason: fmt.Sprintf("The run %s of %s is over, and another one is open.", before.ID, before.Op),
		Lines:  []string{"run " + quote(open.Op) + " --run " + open.ID}, Runs: rt.infos([]*kept{open}),
	}
}

// find reads the Op of a line and makes sure that it can be run.
func (rt *Runtime) find(ctx context.Context, ref host.RunRef) (*op.Op, plan, error) {
	found, err := rt.o.Find(ctx, ref.Op, variables(ref.Env, ref.Params))
	if err != nil {
		return nil, plan{}, err
	}
	mask := rt.maskOf(found)
	steps, err := rt.plan(found.Config, mask)
	if err != nil {
		return nil, plan{}, &host.OpRefusal{Reason: mask.Text(err.Error())}
	}
	return found, steps, nil
}

// startLine is the line that begins a run.
func startLine(ref host.RunRef) string {
	line := "run " + quote(ref.Op)
	if ref.Env != "" {
		line += " --env " + quote(ref.Env)
	}
	for _, name := range slices.Sorted(maps.Keys(ref.Params)) {
		line += " --param " + quote(name+"="+ref.Params[name])
	}
	return line
}

// checkDepends refuses an Op before those that it depends on.
func (rt *Runtime) checkDepends(ctx context.Context, o *op.Op, req host.OpRequest) error {
	if req.NoDepends || len(o.Config.Depends) == 0 {
		return nil
	}
	missing := slices.Clone(o.Config.Depends)
	err := rt.each(func(k *kept) bool {
		if k.Env == req.Ref.Env && slices.Contains(missing, k.Op) && k.state() == host.RunCompleted {
			missing = slices.DeleteFunc(missing, func(name string) bool { return name == k.Op })
		}
		return len(missing) > 0
	})
	if err != nil || len(missing) == 0 {
		return err
	}
	var lines []string
	var unknown string
	for _, name := range missing {
		ref := host.RunRef{Op: name, Env: req.Ref.Env}
		var none *op.NotFoundError
		if _, err := rt.o.Find(ctx, name, variables(ref.Env, nil)); errors.As(err, &none) {
			unknown += fmt.Sprintf(" There is no Op %s in this project.", quote(name))
			continue
		}
		lines = append(lines, startLine(ref))
	}
	where := "in this project"
	if req.Ref.Env != "" {
		where += " and the environment " + req.Ref.Env
	}
	return &host.OpRefusal{
		Reason: fmt.Sprintf("The Op %s depends on %s, which never completed %s.%s Run what is missing, or add --no-depends.", quote(o.Name()), strings.Join(missing, ", "), where, unknown),
		Lines:  lines,
	}
}

// restart gives up the run that is there.
func (rt *Runtime) restart(ctx context.Context, req host.OpRequest, id string, there *kept) (host.OpRun, error) {
	if _, _, err := rt.find(ctx, req.Ref); err != nil { // before anything is given up
		return nil, err
	}
	if err := rt.end(ctx, there, "restarted", req.Actor); err != nil {
		return nil, err
	}
	return rt.begin(ctx, req, id, there)
}

// take locks a run and starts a segment of it.
func (rt *Runtime) take(ctx context.Context, req host.OpRequest, l *segment) (host.OpRun, error) {
	lock, err := flock.Take(ctx, l.lockFile(), runWait)
	if errors.Is(err, flock.ErrHeld) {
		return nil, &host.OpRefusal{Reason: fmt.Sprintf("The run %s of %s is running.", l.ID(), l.Op), Lines: []string{"run status --run " + l.ID()}}
	}
	if err != nil {
		return nil, err
	}
	l.rt, l.req, l.lock = rt, req, lock
	l.programs, l.questions, l.done = make(map[*process.Process]struct{}), make(map[string]subject.Subject), make(chan struct{})
	if err := l.open(ctx); err != nil {
		l.close()
		return nil, err
	}
	go l.run()
	return l, nil
}

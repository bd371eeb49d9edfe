package gatewaycmd

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/rs/zerolog"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/runtime/gateway"
)

// gatewayClient is how what a gateway decides is recorded.
const gatewayClient = "gateway"

// gatewayRuns are the runs of a workspace's project, for people who speak to its
// gateway.
type gatewayRuns struct {
	rt     host.Runtime
	log    zerolog.Logger
	person bool // whether the gateway was started by a person

	life    context.Context
	leave   context.CancelFunc
	mu      sync.Mutex // nothing is added to undoing once life has ended
	undoing sync.WaitGroup
}

func newGatewayRuns(rt host.Runtime, log zerolog.Logger, person bool) *gatewayRuns {
	r := &gatewayRuns{rt: rt, log: log, person: person}
	r.life, r.leave = context.WithCancel(context.Background())
	return r
}

// close interrupts what still runs, and waits for it. An interrupted run is taken
// up again as any other.
func (r *gatewayRuns) close() {
	r.mu.Lock()
	r.leave()
	r.mu.Unlock()
	r.undoing.Wait()
}

// mostRuns is how many runs are listed that are over.
const mostRuns = 1000

// List implements gateway.Runs: the newest, and behind them all others that are
// open, so that no gate is forgotten.
func (r *gatewayRuns) List(ctx context.Context) ([]gateway.Run, error) {
	runs, err := r.rt.Runs(ctx, host.RunQuery{Limit: mostRuns})
	if err == nil && len(runs) == mostRuns {
		var open []host.RunInfo
		open, err = r.rt.Runs(ctx, host.RunQuery{Open: true, Limit: math.MaxInt})
		listed := make(map[string]bool, len(runs))
		for _, run := range runs {
			listed[run.ID] = true
		}
		runs = append(runs, slices.DeleteFunc(open, func(run host.RunInfo) bool { return listed[run.ID] })...)
	}
	if err != nil {
		return nil, err
	}
	list := make([]gateway.Run, len(runs))
	for i, run := range runs {
		list[i] = gateway.Run{
			ID: run.ID, Op: run.Op, Env: run.Env, Params: run.Params, Status: string(run.State),
			Started: run.Began, Ended: run.Ended, Step: run.Step, Failure: run.Failure, Problem: run.Problem,
		}
		for _, w := range run.Waits {
			if w.Kind == host.WaitGate {
				list[i].Gates = append(list[i].Gates, gateOf(w))
			}
		}
	}
	return list, nil
}

func gateOf(w host.OpWait) gateway.Gate {
	status := string(w.State)
	if w.State == host.WaitOpen {
		status = "waiting"
	}
	var evidence []gateway.Evidence
	for _, e := range w.Evidence {
		evidence = append(evidence, gateway.Evidence(e))
	}
	return gateway.Gate{
		Steps: w.Steps, Evidence: evidence, Commit: w.Commit, Clean: w.Clean,
		Name: w.Name, Description: w.Description, Status: status, Digest: w.Digest, Schema: w.Schema,
		Since: w.Since, Until: w.Until, By: w.By, Decided: w.At, Note: w.Note, Approve: w.Approve, Reject: w.Reject, Continue: w.Continue,
	}
}

// Resolve implements gateway.Runs. An approval runs nothing, as on the command
// line; what a rejected run did is undone from here on, without being waited for.
func (r *gatewayRuns) Resolve(ctx context.Context, run, gate string, d gateway.Decision) (gateway.Gate, error) {
	if !r.person {
		return gateway.Gate{}, gateway.ErrNoPerson
	}
	info, err := r.rt.RunInfo(ctx, host.RunRef{ID: run})
	var refusal *host.OpRefusal
	if errors.As(err, &refusal) {
		return gateway.Gate{}, fmt.Errorf("%w (%s)", gateway.ErrNoRun, refusal.Reason)
	}
	if err != nil {
		return gateway.Gate{}, err
	}
	actor := host.Actor{Client: gatewayClient}
	w, err := r.rt.Decide(ctx, host.GateAnswer{
		Ref: host.RunRef{ID: info.ID, Op: info.Op}, Gate: gate, Approve: d.Approve, Note: d.Note, Answer: d.Answer, Actor: actor,
	})
	switch {
	case errors.As(err, &refusal) && refusal.Missing:
		return gateway.Gate{}, fmt.Errorf("%w (%s)", gateway.ErrNoGate, refusal.Reason)
	case errors.As(err, &refusal):
		return gateway.Gate{}, errors.New(refusal.Reason)
	}
	if err == nil && w.State == host.WaitRejected {
		r.undo(host.OpRequest{Ref: host.RunRef{ID: w.RunID, Op: w.Op}, Actor: actor, Events: func(host.OpEvent) {}})
	}
	return gateOf(w), err
}

// undo takes a rejected run to its end.
func (r *gatewayRuns) undo(req host.OpRequest) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.life.Err() != nil {
		return // with the next run or reject
	}
	r.undoing.Go(func() {
		run, err := r.rt.StartOp(r.life, req)
		if err == nil {
			defer context.AfterFunc(r.life, func() { run.Stop(host.StopLeaving) })()
			err = run.Wait().Err
		}
		if err != nil {
			r.log.Warn().Err(err).Str("run", req.Ref.ID).Msg("a rejected run was not taken to its end")
		}
	})
}

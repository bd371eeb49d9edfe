package project

import (
	"context"
	"time"

	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/process"
	"github.com/chant-acp/chant-acp/internal/caplog"
)

// Start starts the program of inv under the guard.
func (p *Project) Start(ctx context.Context, inv *command.Invocation, o host.StartOptions) (host.Run, error) {
	env := p.environment(inv, o.Color)
	path, err := process.LookPath(inv.Argv[0], p.Dir(), env)
	if err != nil {
		return nil, err
	}
	if err := inv.CheckPaths(); err != nil {
		return nil, err
	}
	r := &run{log: newTurnLog(p.o, o.Name), output: o.Output}
	r.process, err = process.Start(ctx, process.Spec{
		Path: path, Argv: inv.Argv, Dir: inv.Dir, Env: env, TTY: inv.TTY,
		Timeout: inv.Timeout, Grace: ownGrace(inv), Output: r.take,
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// ownGrace is a grace that the manifest asks for, 0 for the usual one: only a
// longer one of the command's own outlives this process. One of no time at all
// has to be told from it.
func ownGrace(inv *command.Invocation) time.Duration {
	switch inv.Grace {
	case command.DefaultGrace:
		return 0
	case 0:
		return time.Nanosecond
	}
	return inv.Grace
}

// run is a program and the log of what it prints. It implements host.Run.
type run struct {
	process *process.Process
	log     *caplog.Log
	output  func([]byte)
}

func (r *run) take(b []byte) {
	_, _ = r.log.Write(b)
	r.output(b)
}

func (r *run) Log() string { return r.log.Path() }

var (
	causes = [...]process.Cause{host.StopCancelled: process.Cancelled, host.StopLeaving: process.Leaving, host.StopFault: process.Cancelled}
	stops  = [...]host.Stop{
		process.Finished: host.StopNone, process.Cancelled: host.StopCancelled, process.TimedOut: host.StopTimeout,
		process.Leaving: host.StopLeaving, process.Aborted: host.StopFault,
	}
)

func (r *run) Stop(why host.Stop) { r.process.Stop(causes[why]) }

func (r *run) Wait() host.Result {
	e := r.process.Wait()
	r.log.Close()
	return host.Result{
		ExitCode: e.Code, Signal: e.Signal, Duration: e.Duration, Stopped: stops[e.Cause],
		Killed: e.Killed, Leftovers: e.Leftovers, HeldOutput: e.HeldOutput, Handed: e.Handed,
		LogLacks: r.log.Lacks(), Err: e.Err,
	}
}

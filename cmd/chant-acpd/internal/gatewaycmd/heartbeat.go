package gatewaycmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/chant-acp/chant-acp/cmd/internal/serve"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/subject"
	"github.com/chant-acp/chant-acp/internal/origin"
	"github.com/chant-acp/chant-acp/internal/stateroot"
	"github.com/chant-acp/chant-acp/runtime/gateway"
	"github.com/chant-acp/chant-acp/runtime/heartbeat"
	"github.com/chant-acp/chant-acp/runtime/session"
)

// heartbeatSession is the name of the session that runs HEARTBEAT.md.
const heartbeatSession = "heartbeat"

// heartbeatRunner runs a workspace's HEARTBEAT.md as turns of one session of its gateway.
type heartbeatRunner struct {
	gateway *gateway.Gateway
	rt      host.Runtime // nil where no Op can run
	agent   []string     // the command of the agent that runs it
	log     zerolog.Logger
	project host.Host // the workspace's, as the agent has it

	session *session.Session // used by one run at a time
	running sync.WaitGroup
}

// start begins the loop, which ends with ctx; wait waits for that.
func (b *heartbeatRunner) start(ctx context.Context) error {
	h, err := heartbeat.New(heartbeat.Options{
		Workspace: b.gateway.Workspace(), StateDir: stateroot.Dir(os.Getenv),
		Run: b.run, Settled: b.settled, Notify: b.notify,
		Subject: func(ctx context.Context, job heartbeat.Job) (subject.Subject, error) {
			return serve.LineSubject(ctx, b.project, job.Command)
		},
	})
	if err != nil {
		return err
	}
	b.running.Go(func() {
		if err := h.Run(ctx); err != nil && ctx.Err() == nil {
			b.log.Error().Err(err).Msg("the heartbeat stopped")
			b.gateway.Publish("heartbeat.stopped", map[string]any{"text": err.Error()})
		}
	})
	return nil
}

func (b *heartbeatRunner) wait() { b.running.Wait() }

func (b *heartbeatRunner) notify(e heartbeat.Event) {
	data := map[string]any{"text": e.Text}
	if e.Job != nil {
		data["job"], data["command"] = e.Job.ID, e.Job.Command
	}
	if !e.Tick.IsZero() {
		data["tick"] = e.Tick
	}
	if e.Outcome != nil {
		data["outcome"] = e.Outcome
	}
	b.gateway.Publish("heartbeat."+string(e.Kind), data)
	b.log.Info().Str("event", string(e.Kind)).Msg(e.Text)
}

// run is one turn. What it needs of a person, it does not get: gates and
// confirmations wait.
func (b *heartbeatRunner) run(ctx context.Context, job heartbeat.Job, _ func(string)) heartbeat.Outcome {
	s, err := b.open(ctx)
	if err != nil {
		return heartbeat.Outcome{State: heartbeat.Failed, Text: err.Error()}
	}
	// The gateway ends the session with itself, and the turn is interrupted: what is
	// cancelled could not be taken up again.
	t, err := s.Prompt(context.WithoutCancel(ctx), job.Command, nil)
	switch {
	case ctx.Err() != nil:
		return heartbeat.Outcome{State: heartbeat.Interrupted, Text: "the gateway stopped"}
	case errors.Is(err, session.ErrBusy):
		return heartbeat.Outcome{State: heartbeat.Refused, Text: "the session heartbeat was busy with somebody else's prompt"}
	case err != nil:
		return heartbeat.Outcome{State: heartbeat.Failed, Text: err.Error()}
	}
	o := heartbeatOutcome(t)
	if o.State == heartbeat.Waiting {
		o.Text = b.whatFor(ctx, o.Ref)
	}
	return o
}

// whatFor says in one line what a run waits for, and what a person types.
func (b *heartbeatRunner) whatFor(ctx context.Context, run string) string {
	text := "its run " + run + " waits"
	if b.rt == nil {
		return text
	}
	info, err := b.rt.RunInfo(ctx, host.RunRef{ID: run})
	if err != nil {
		return text
	}
	for _, w := range info.Waits {
		switch {
		case w.Kind == host.WaitGate && w.State == host.WaitOpen:
			return fmt.Sprintf("%s at the gate %s; to decide, type %q or %q, and then %q", text, w.Name, w.Approve, w.Reject, w.Continue)
		case w.Kind == host.WaitEvent:
			return fmt.Sprintf("%s for the event %s; once it happened, type %q, and then %q", text, w.Name, w.Signal, w.Continue)
		case w.Kind == host.WaitSleep:
			return fmt.Sprintf("%s until %s; to go on then, type %q", text, w.Until.UTC().Format(time.DateTime+" MST"), w.Continue)
		}
	}
	return text
}

// open returns the session, and starts it where it is not there, or not any more.
func (b *heartbeatRunner) open(ctx context.Context) (*session.Session, error) {
	if b.session != nil {
		select {
		case <-b.session.Done():
		default:
			return b.session, nil
		}
	}
	s, err := b.gateway.Sessions().StartAgent(ctx, session.AgentSpec{
		Adapter: "chant-acp", Command: b.agent, Env: []string{origin.Variable + "=" + origin.Heartbeat},
		Cwd: b.gateway.Workspace(), Name: heartbeatSession,
	})
	if err != nil {
		return nil, fmt.Errorf("the session of the heartbeat does not start: %w", err)
	}
	b.session = s
	return s, nil
}

// heartbeatOutcome is what a turn's answer says of it.
func heartbeatOutcome(t session.Turn) heartbeat.Outcome {
	reported, err := serve.OutcomeOf(t.Meta)
	if err != nil || reported.Outcome == "" {
		return heartbeat.Outcome{State: heartbeat.Failed, Text: "the agent did not say how the turn ended"}
	}
	o := heartbeat.Outcome{State: heartbeat.State(reported.Outcome), ExitCode: reported.ExitCode, Text: lastLines(t.Text, 5)}
	if o.State == heartbeat.Waiting {
		o.Ref = reported.RunID
		if o.Ref == "" { // a confirmation that nobody gives here
			o.State = heartbeat.Refused
		}
	}
	return o
}

// lastLines are the last lines of a text that hold something.
func lastLines(text string, most int) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[max(0, len(lines)-most):], "\n")
}

// settled says what came of a run that waited.
func (b *heartbeatRunner) settled(ctx context.Context, _ heartbeat.Job, ref string) (heartbeat.Outcome, bool) {
	if b.rt == nil {
		return heartbeat.Outcome{State: heartbeat.Failed, Text: "there are no runs of Ops"}, true
	}
	info, err := b.rt.RunInfo(ctx, host.RunRef{ID: ref})
	if ctx.Err() != nil {
		return heartbeat.Outcome{}, false
	}
	if err != nil {
		return heartbeat.Outcome{State: heartbeat.Failed, Text: err.Error()}, true
	}
	text := fmt.Sprintf("run %s of %s is %s", info.ID, info.Op, info.State)
	switch info.State {
	case host.RunCompleted:
		return heartbeat.Outcome{State: heartbeat.Completed, Text: text}, true
	case host.RunFailed, host.RunUnreadable:
		return heartbeat.Outcome{State: heartbeat.Failed, Text: text + ": " + info.Failure + info.Problem}, true
	case host.RunCancelled:
		return heartbeat.Outcome{State: heartbeat.Cancelled, Text: text}, true
	}
	return heartbeat.Outcome{}, false
}

package heartbeat

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/chant-acp/chant-acp/host/subject"
)

// Options are what a [Heartbeat] needs.
type Options struct {
	// Workspace is the folder whose file counts.
	Workspace string
	// StateDir is the state root, absolute.
	StateDir string

	// Run runs a job's command line as a turn, and returns when it has ended or
	// ctx is done. Only one runs at a time. While it waits for a person, it says
	// so by calling waiting with what it waits for, and with "" when it goes on.
	//
	// A turn that ended before a person has decided returns [Waiting] and a Ref;
	// the job then counts as running until Settled knows more, and others run
	// meanwhile.
	Run func(ctx context.Context, job Job, waiting func(what string)) Outcome
	// Settled says whether what a run waited for has come to an end, and to
	// which. It is asked every few seconds, after a restart too, and must not
	// block. Nil: a run that returns Waiting has ended with that.
	Settled func(ctx context.Context, job Job, ref string) (Outcome, bool)

	// Subject says what a job would run now. It is compared with what the file was
	// trusted with before each run. Nil: that is not looked at.
	Subject func(ctx context.Context, job Job) (subject.Subject, error)

	// Notify hears of all that happens, from one goroutine, and must not block.
	// Nil: nobody does.
	Notify func(Event)
	// Now is the clock; nil for time.Now.
	Now func() time.Time
}

// lookEvery is how often the file and its grant are read, at least. They are read
// before each run, too.
const lookEvery = 2 * time.Second

// Heartbeat runs the jobs of one workspace.
type Heartbeat struct {
	o     Options
	store store

	// All below belongs to the goroutine of Run.
	loaded  *File    // what runs; nil while stopped
	grant   Grant    // its grant
	halts   []string // what was said of why nothing runs
	states  map[string]*JobState
	queue   []*pending // at most one of each job
	current *pending
	dirty   bool   // states differ from what is kept
	trouble string // what was said about keeping them

	done  chan Outcome
	waits chan wait
}

// wait is what a run waits for, "" for nothing any more.
type wait struct {
	run  *pending
	what string
}

// pending is a tick of a job that is to run, or runs. Ticks that come while it
// waits for its turn, up to upTo, are made up for by it.
type pending struct {
	job        Job
	state      *JobState
	tick, upTo time.Time
	grant      Grant // under which it runs
}

// New makes a heartbeat. Nothing runs before [Heartbeat.Run].
func New(o Options) (*Heartbeat, error) {
	real, err := Workspace(o.Workspace)
	switch {
	case err != nil:
		return nil, err
	case o.Run == nil:
		return nil, errors.New("a heartbeat needs something that runs its jobs (Options.Run)")
	case !filepath.IsAbs(o.StateDir):
		return nil, fmt.Errorf("the state root %q of a heartbeat is not an absolute path", o.StateDir)
	}
	o.Workspace = real
	if o.Notify == nil {
		o.Notify = func(Event) {}
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Heartbeat{o: o, store: newStore(o.StateDir, real), done: make(chan Outcome), waits: make(chan wait)}, nil
}

// Run is the loop. It ends with ctx, when the run that is under way has ended,
// which is told by the same context; the error is then nil, or that the state
// could not be kept. It begins with an error where another loop runs for the
// workspace ([ErrRunning]), or where the state is there and can't be read. It
// may be called again when it has returned, and not before.
func (h *Heartbeat) Run(ctx context.Context) error {
	release, err := h.store.lock(ctx)
	if err != nil {
		return fmt.Errorf("the heartbeat does not start: %w", err)
	}
	defer release()
	if err := h.restore(); err != nil {
		return fmt.Errorf("the heartbeat does not start: %w", err)
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		h.step(ctx)
		timer.Reset(h.pause())
		select {
		case <-ctx.Done():
		case w := <-h.waits:
			h.waiting(w)
		case o := <-h.done:
			h.ended(o)
		case <-timer.C:
		}
	}
	return h.leave()
}

// step does what is to be done now.
func (h *Heartbeat) step(ctx context.Context) {
	h.look()
	h.settle(ctx)
	now := h.o.Now()
	if h.loaded != nil {
		for _, j := range h.loaded.Plan.Jobs {
			h.tick(j, now)
		}
	}
	h.startNext(ctx)
	h.persist()
}

// leave waits for the run under way and keeps what there is to know.
func (h *Heartbeat) leave() error {
	h.queue = nil
	for h.current != nil {
		select {
		case w := <-h.waits:
			h.waiting(w)
		case o := <-h.done:
			h.ended(o)
		}
	}
	h.loaded, h.halts = nil, nil
	return h.persist()
}

// pause is how long there is nothing to do.
func (h *Heartbeat) pause() time.Duration {
	pause := lookEvery
	now := h.o.Now()
	if h.loaded != nil {
		for _, j := range h.loaded.Plan.Jobs {
			if next := j.Next(h.o.Workspace, now); !next.IsZero() {
				pause = min(pause, next.Sub(now))
			}
		}
	}
	return max(pause, time.Millisecond)
}

// tick queues or skips what is due of a job. What is queued is seen to only when
// it starts, so that it is not lost where it doesn't.
func (h *Heartbeat) tick(j Job, now time.Time) {
	st := h.state(j, now)
	tick := j.lastDue(h.o.Workspace, now)
	if !tick.After(st.Tick) {
		return
	}
	for _, q := range h.queue {
		if q.job.ID == j.ID {
			if tick.After(q.upTo) {
				q.upTo = tick
				h.skip(q.job, st, tick, "an earlier run of it still waits for its turn")
			}
			return
		}
	}
	switch {
	case j.missed(h.o.Workspace, tick, now):
		h.skip(j, st, tick, "nothing ran it when it was due, and its catch-up is skip")
	case !st.Last.Open():
		h.queue = append(h.queue, &pending{job: j, state: st, tick: tick, upTo: tick})
		return
	case st.Last.State == Waiting:
		h.skip(j, st, tick, "an earlier run of it waits for a person")
	default:
		h.skip(j, st, tick, "it still runs")
	}
	h.seen(j, st, tick)
}

// lateBy is how long after its time a tick may begin where what was missed is left
// out: a loop that runs sees it within lookEvery, and a gateway that is started
// anew within a minute does no harm.
const lateBy = time.Minute

// missed says whether a tick that is seen now is one to leave out.
func (j Job) missed(workspace string, tick, now time.Time) bool {
	return j.Schedule.SkipMissed && now.Sub(j.due(workspace, tick)) > lateBy
}

// skip counts a tick that is not run, and says so for the first one in a row.
func (h *Heartbeat) skip(j Job, st *JobState, tick time.Time, reason string) {
	if st.Skipped == 0 {
		h.report(Event{Kind: Skipped, Job: &j, Tick: tick, Text: fmt.Sprintf("line %d, %s, is due and is skipped: %s", j.Line, j.Command, reason)})
	}
	st.Skipped++
	h.dirty = true
}

// seen notes the last tick that was seen to.
func (h *Heartbeat) seen(j Job, st *JobState, tick time.Time) {
	next := j.due(h.o.Workspace, j.Schedule.next(tick))
	if !st.Tick.Equal(tick) || !st.Next.Equal(next) {
		st.Tick, st.Next, h.dirty = tick, next, true
	}
}

// state is what is known of a job, at a clock that may have been set.
func (h *Heartbeat) state(j Job, now time.Time) *JobState {
	st := h.states[j.ID]
	if st == nil {
		st = &JobState{Command: j.Command, Tick: j.lastDue(h.o.Workspace, now)}
		h.states[j.ID], h.dirty = st, true
	}
	tick := st.Tick
	if back := tick.Sub(now); back > 0 && back > min(maxSetBack, j.Schedule.next(tick).Sub(tick)) {
		tick = j.lastDue(h.o.Workspace, now)
	}
	// What was due before the yes is not run after it.
	if given := h.grant.At; !given.After(now) {
		if last := j.lastDue(h.o.Workspace, given); last.After(tick) {
			tick = last
		}
	}
	h.seen(j, st, tick)
	return st
}

// maxSetBack is how far a clock may be set back, at most, before times that come
// again count anew. Below that, and below the time between two ticks, they
// don't: what ran is not run twice.
const maxSetBack = 3 * time.Hour

// startNext starts the run that has waited longest, where none is under way.
func (h *Heartbeat) startNext(ctx context.Context) {
	for h.current == nil && len(h.queue) > 0 && ctx.Err() == nil {
		p := h.queue[0]
		h.queue = h.queue[1:]
		before, skipped := p.state.Last, p.state.Skipped
		p.state.Last = &Run{Tick: p.tick, Started: h.o.Now().UTC(), Outcome: Outcome{State: Running}}
		p.state.Skipped = 0
		h.dirty = true
		h.seen(p.job, p.state, p.upTo)
		// What isn't kept would run again after a crash.
		if h.persist() != nil {
			p.state.Last, p.state.Skipped = before, skipped
			continue
		}
		h.current, p.grant = p, h.grant
		h.report(Event{Kind: Started, Job: &p.job, Tick: p.tick, Text: fmt.Sprintf("line %d runs: %s", p.job.Line, p.job.Command)})
		go h.run(ctx, p) // ended, in Run or leave, waits for it
	}
}

// run is the goroutine of one run.
func (h *Heartbeat) run(ctx context.Context, p *pending) {
	if why := h.differs(ctx, p); why != "" {
		h.done <- Outcome{State: Refused, Text: why}
		return
	}
	over := make(chan struct{})
	o := h.o.Run(ctx, p.job, func(what string) {
		select {
		case h.waits <- wait{p, what}:
		case <-over:
		}
	})
	close(over)
	h.done <- o
}

// differs says why a job must not run: what it runs is not what was trusted.
func (h *Heartbeat) differs(ctx context.Context, p *pending) string {
	if h.o.Subject == nil {
		return ""
	}
	is, err := h.o.Subject(ctx, p.job)
	if err != nil {
		return err.Error()
	}
	if why := p.grant.Changed(p.job, is); why != "" {
		return why + `; look at it and trust it again with "chant-acp heartbeat trust"`
	}
	return ""
}

// waiting notes that the run under way waits for a person, or goes on.
func (h *Heartbeat) waiting(w wait) {
	if w.run != h.current { // said too late
		return
	}
	h.dirty = true
	run := w.run.state.Last
	if w.what == "" {
		run.Outcome = Outcome{State: Running}
		return
	}
	run.Outcome = Outcome{State: Waiting, Text: w.what}.bounded()
	h.reportWaiting(&w.run.job, run)
}

func (h *Heartbeat) reportWaiting(j *Job, run *Run) {
	o := run.Outcome
	h.report(Event{Kind: Waits, Job: j, Tick: run.Tick, Outcome: &o, Text: fmt.Sprintf("line %d, %s, waits for a person: %s", j.Line, j.Command, o.Text)})
}

// ended notes how the run under way came out.
func (h *Heartbeat) ended(o Outcome) {
	p := h.current
	h.current = nil
	h.close(&p.job, p.state.Last, o)
}

// close ends a run, or leaves it waiting where it can be asked about.
func (h *Heartbeat) close(j *Job, run *Run, o Outcome) {
	if o.State == "" || o.State == Running {
		o.State = Failed
	}
	h.dirty = true
	run.Outcome = o.bounded()
	if o.State == Waiting && o.Ref != "" && h.o.Settled != nil {
		h.reportWaiting(j, run)
		return
	}
	run.Ended = h.o.Now().UTC()
	o = run.Outcome
	h.report(Event{Kind: Ended, Job: j, Tick: run.Tick, Outcome: &o, Text: fmt.Sprintf("line %d, %s: %s", j.Line, j.Command, o.State)})
}

// settle asks about the runs that wait and hold nothing.
func (h *Heartbeat) settle(ctx context.Context) {
	if h.loaded == nil || h.o.Settled == nil {
		return
	}
	for _, j := range h.loaded.Plan.Jobs {
		st := h.states[j.ID]
		if st == nil || !st.Last.Open() || st.Last.Ref == "" {
			continue
		}
		if o, settled := h.o.Settled(ctx, j, st.Last.Ref); settled {
			o.Ref = ""
			h.close(&j, st.Last, o)
		}
	}
}

func (h *Heartbeat) report(e Event) {
	e.Time = h.o.Now()
	h.o.Notify(e)
}

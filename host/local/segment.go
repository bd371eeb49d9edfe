package local

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/host/process"
	"github.com/chant-acp/chant-acp/host/subject"
	"github.com/chant-acp/chant-acp/internal/caplog"
	"github.com/chant-acp/chant-acp/internal/envmask"
	"github.com/chant-acp/chant-acp/internal/flock"
)

// cancelPoll is how often a run looks whether another process asked for its end.
const cancelPoll = 250 * time.Millisecond

// segment is what one process does of a run, from where it was to where it stops. It
// implements host.OpRun.
type segment struct {
	rt *Runtime
	folder
	record
	fresh   bool   // the journal begins with this segment already
	notices string // what is reported before anything else; "" for nothing
	// rejected are the gates that end the run, where its Op is not there any more
	// to go on with. Then config and plan are empty.
	rejected []host.OpWait
	config   *op.Config
	plan     plan
	req      host.OpRequest
	lock     *flock.Lock
	unguard  func() // takes the guard's hold of the lock away
	journal  *openEntries
	log      *caplog.Log
	ctx      context.Context // ends when the segment is stopped
	cancel   context.CancelFunc
	began    time.Time
	done     chan struct{}
	result   host.OpResult

	reporting sync.Mutex // events are reported one after the other

	mu        sync.Mutex
	history   *history // the journal's
	stops     []host.Stop
	programs  map[*process.Process]struct{}
	questions map[string]subject.Subject // what gates asked about, by its digest
	lost      bool                       // something of it may still run
	fault     error
}

// mask is what all that is reported and kept goes through; see [Runtime.maskOf].
func (l *segment) mask() *envmask.Mask {
	if l.plan.mask == nil { // the Op is not there any more
		return l.rt.mask
	}
	return l.plan.mask
}

// ID implements host.OpRun.
func (l *segment) ID() string { return l.folder.id() }

// Wait implements host.OpRun.
func (l *segment) Wait() host.OpResult {
	<-l.done
	return l.result
}

// open reads the history under the lock, shares the lock with the guard, and
// records that this process takes the run up.
func (l *segment) open(ctx context.Context) error {
	var err error
	if l.journal, err = openJournal(l.folder.journal(), l.rt.o.Now); err != nil {
		return err
	}
	h := l.journal.history
	if !l.fresh {
		if err := l.rt.mayGoOn(l.req, &kept{folder: l.folder, record: l.record, history: h}); err != nil {
			return err
		}
	}
	l.history = h
	if l.unguard, err = process.Hold(ctx, l.lock.File()); err != nil {
		return fmt.Errorf("the run %s was not started: %w", l.ID(), err)
	}
	if ctx.Err() != nil { // the last moment at which nothing has happened yet
		return context.Cause(ctx)
	}
	l.log = l.openLog()
	l.began = time.Now()
	if !l.fresh {
		e := firstSegment(l.record, l.plan, l.req.Actor)
		e.Segment = h.segments + 1
		switch {
		case l.req.Mode == host.RunUndo:
			e.Mode, e.Error = legUndo, fmt.Sprintf("undone by %s at %s", e.User, l.rt.o.Now().UTC().Format(time.RFC3339))
		case h.cancelled():
			e.Mode = legResume
		}
		if len(l.rejected) > 0 { // the plan is not there any more
			e.Steps = h.segment.Steps
		}
		if err := l.append(e); err != nil {
			return err
		}
	}
	if h.failing != nil {
		l.leavePhases()
	}
	// The run goes on after the call that started it, until it is stopped.
	l.ctx, l.cancel = context.WithCancel(context.WithoutCancel(ctx))
	return nil
}

// leavePhases notes that no step of the phases is run any more.
func (l *segment) leavePhases() {
	for _, ph := range l.plan.phases {
		for _, s := range ph.steps {
			s.reported, s.state = true, host.StepSkipped
			if known := l.history.steps[s.key]; known != nil && known.begun {
				s.state = host.StepInterrupted
			}
		}
	}
}

// append records what is about to be done, or was.
func (l *segment) append(e entry) error { return l.put(e, true) }

// appendUnsynced is append of what need not be on disk before the next entry that is.
func (l *segment) appendUnsynced(e entry) error { return l.put(e, false) }

func (l *segment) put(e entry, synced bool) error {
	e.Title, e.Error = l.mask().Text(e.Title), l.mask().Text(e.Error)
	if e.Outcome != nil {
		e.Outcome = &outcome{e.Outcome.Name, l.mask().JSON(e.Outcome.Value)}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fault != nil {
		return l.fault // after a hole in the journal nothing may follow
	}
	if l.history.lacks == "" {
		e.LogLacks = l.mask().Text(l.log.Lacks())
	}
	l.fault = l.journal.append(e, synced)
	return l.fault
}

// ended says how a step ended in this segment or before.
func (l *segment) ended(key string) host.StepState {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.history.ended(key)
}

// hasBegun says whether the journal holds a beginning of a step that is not over.
func (l *segment) hasBegun(key string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := l.history.steps[key]
	return s != nil && s.begun && s.end == nil
}

// Stop implements host.OpRun.
func (l *segment) Stop(why host.Stop) {
	l.mu.Lock()
	l.stops = append(l.stops, why)
	var running []*process.Process
	for p := range l.programs {
		running = append(running, p)
	}
	l.mu.Unlock()
	l.cancel()
	for _, p := range running {
		p.Stop(cause(why))
	}
}

func cause(why host.Stop) process.Cause {
	if why == host.StopLeaving {
		return process.Leaving
	}
	return process.Cancelled
}

// stopped is the first reason to stop, StopNone while there is none.
func (l *segment) stopped() host.Stop {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.stops) == 0 {
		return host.StopNone
	}
	return l.stops[0]
}

// run takes the run as far as it goes.
func (l *segment) run() {
	defer close(l.done)
	defer l.close()
	watch := l.watchForCancel()
	if l.notices != "" {
		l.notice("%s", l.notices)
	}
	l.reportPlan()
	var v verdict
	if len(l.rejected) > 0 {
		v = l.giveUp()
	} else {
		v = l.advance()
	}
	watch()
	l.conclude(v)
}

// verdict says how a part of a run went.
type verdict int

const (
	passed   verdict = iota
	failed           // a step failed
	waiting          // it waits for somebody or something
	reopened         // a gate that was passed is to be asked again
	halted           // it was stopped, or the journal can't be kept
)

// advance runs what is left of the phases, and the compensation where they fail.
func (l *segment) advance() verdict {
	if l.history.failing != nil {
		return l.compensate(nil)
	}
	for {
		if v := l.onwards(); v != reopened {
			return v
		}
	}
}

// onwards runs what is left of the phases, from the first on.
func (l *segment) onwards() verdict {
	for _, ph := range l.plan.phases {
		switch v := l.phase(ph); v {
		case passed:
		case failed:
			return l.compensate(ph)
		default:
			return v
		}
	}
	return passed
}

// conclude records where the run stops and lets go of it.
func (l *segment) conclude(v verdict) {
	e := entry{Kind: entryStatus, Step: ""}
	switch v {
	case passed:
		e.State = string(host.RunCompleted)
	case failed:
		e.State = string(host.RunFailed)
	case waiting:
		e.State = string(host.RunWaiting)
	case halted:
		e.State = string(host.RunInterrupted)
		if l.stopped() == host.StopCancelled {
			e.State = string(host.RunCancelled)
		}
	}
	err := l.append(e)
	if v == passed || v == failed {
		l.rt.mu.Lock()
		delete(l.rt.left, l.ID()) // no gate is asked any more
		l.rt.mu.Unlock()
	}
	l.reportRest(v)
	l.mu.Lock()
	k := &kept{folder: l.folder, record: l.record, history: l.history}
	l.mu.Unlock()
	l.result.Run = l.rt.info(k)
	nameSteps(l.result.Run.Compensation, l.plan)
	l.result.Duration = time.Since(l.began)
	l.result.Err = err
}

// close lets go of what the segment holds. While something may still run, the lock
// stays with this process and its guard.
func (l *segment) close() {
	if l.cancel != nil {
		l.cancel()
	}
	if l.log != nil {
		l.log.Close()
	}
	if l.journal != nil {
		l.journal.close()
	}
	if l.lost {
		return
	}
	if l.unguard != nil {
		l.unguard()
	}
	l.lock.Release()
}

// watchForCancel stops the run when another process asks for it. The function
// that it returns ends the watch.
func (l *segment) watchForCancel() func() {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		again := time.NewTicker(cancelPoll)
		defer again.Stop()
		for {
			select {
			case <-quit:
				return
			case <-again.C:
				if l.cancelAsked() {
					l.Stop(host.StopCancelled)
					return
				}
			}
		}
	}()
	return func() { close(quit); <-done }
}

// cancelAsked says whether somebody asked for the end of this segment.
func (l *segment) cancelAsked() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	_ = l.journal.locked(l.ctx, func() error { return nil }) // what is wrong with it the next entry tells
	return l.history.cancel != nil
}

// undoes says whether the key of a step is one of the compensation.
func undoes(key string) bool { return strings.HasPrefix(key, "c") }

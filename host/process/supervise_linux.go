package process

import (
	"fmt"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// killWait is how long SIGKILL may take: a process in an uninterruptible call dies when the
	// call returns, if ever.
	killWait = time.Second
	// leavingKillWait keeps LeavingGrace and the rest together under the time that clients give a
	// process to leave.
	leavingKillWait = 200 * time.Millisecond
	// unsurePause and unsureLooks bound the wait for processes to show an environment.
	unsurePause = 3 * time.Millisecond
	unsureLooks = 3
	// strayPause lies between two looks for strays, for those that start others in their place when
	// they are told to end.
	strayPause = 5 * time.Millisecond
	// forEver is longer than any ladder.
	forEver = 24 * time.Hour
)

// supervisor drives one program to its end. Everything in it belongs to one goroutine, which sends
// all signals and never waits for the output while there may be one to send.
type supervisor struct {
	p     *Process
	group group
	ended <-chan struct{} // closed when the leader is a zombie; nil once it is reaped

	members  members // of the last look: first the group's, and when it is gone the strays
	stray    bool    // members are strays
	unsure   members // waited for because the next look will tell what they are
	looks    int     // consecutive looks that found only processes without an environment
	gone     chan struct{}
	quit     chan struct{}
	limit    *time.Timer // Spec.Timeout
	alarm    *time.Timer // the next rung: SIGKILL, handing over, giving up
	began    time.Time   // when SIGTERM was sent
	leaving  bool
	cancels  int
	killed   bool
	counted  bool // strays are in exit.Leftovers
	finished bool
	lost     bool // the group is given up or handed over: something of it may still run
	exit     Exit
}

func (p *Process) supervise(start uint64, ended <-chan struct{}) {
	s := &supervisor{p: p, group: group{id: p.PID(), start: start}, ended: ended, exit: Exit{Code: -1}}
	s.limit, s.alarm = stopped(), stopped()
	if p.spec.Timeout > 0 {
		s.limit.Reset(p.spec.Timeout)
	}
	s.run()
	s.limit.Stop()
	s.alarm.Stop()
	s.forgetMembers()
	close(p.settled)
	if !s.lost {
		ourGuard.forget(p.PID())
	}
	ourGuard.unwatch()
	if p.in != nil && !p.in.tty {
		_ = p.in.Close() // ends a Write that waits; closing twice does no harm
	}
	for _, o := range p.outputs() {
		o.finish()
		s.exit.HeldOutput = s.exit.HeldOutput || o.held && !s.lost
		if s.exit.Err == nil {
			s.exit.Err = o.err
		}
	}
	p.exit = s.exit
	close(p.done)
}

func (p *Process) outputs() []*output {
	if p.errs == nil {
		return []*output{p.out}
	}
	return []*output{p.out, p.errs}
}

// stopped returns a timer that is not set.
func stopped() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

func (s *supervisor) run() {
	broken := (<-chan struct{})(s.p.broken)
	for !s.finished {
		select {
		case <-s.ended:
			s.reap()
			s.look()
		case <-s.gone:
			s.look()
		case why := <-s.p.orders:
			s.stop(why)
		case <-s.limit.C:
			s.stop(TimedOut)
		case <-broken:
			broken = nil
			s.stop(Aborted)
		case <-s.alarm.C:
			s.escalate()
		}
	}
}

// reap takes the leader's status. From here on the group's number is pinned by its members alone.
func (s *supervisor) reap() {
	s.ended = nil
	s.group.reaped = true
	s.limit.Stop()
	s.exit.Duration = time.Since(s.p.started)
	state, err := s.p.os.Wait()
	if err != nil {
		s.exit.Err = fmt.Errorf("the end of %s (process %d) can't be read: %w", s.p.spec.Path, s.p.PID(), err)
		return
	}
	s.exit.Code = state.ExitCode()
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		s.exit.Code = 128 + int(status.Signal())
		s.exit.Signal = unix.SignalName(status.Signal())
	}
}

// look finds what is left, and sends it the signal of the rung that the ladder has reached. It
// finishes when nothing is left.
func (s *supervisor) look() {
	s.forgetMembers()
	if !s.group.reaped {
		return
	}
	s.members, s.stray = s.group.look(), false
	first := s.began.IsZero()
	if len(s.members) == 0 && s.exit.Cause != Finished && s.lookForStrays() {
		return
	}
	if len(s.members) == 0 {
		s.finished = true
		return
	}
	s.count(first)
	switch {
	case s.killed:
		s.signal(unix.SIGKILL)
	case first:
		s.begin()
	case s.stray:
		s.members.signal(unix.SIGTERM, unix.SIGCONT)
	}
	s.watch(s.members, forEver, strayPause)
}

// lookForStrays makes the strays the members. It returns true when it found none and another look,
// for which it arranged, is needed.
func (s *supervisor) lookForStrays() (again bool) {
	found, unsure := s.group.strays(ourGuard.tags, s.p.number())
	s.members, s.stray = found, true
	if len(found) > 0 || len(unsure) == 0 || s.looks == unsureLooks {
		unsure.release()
		return false
	}
	s.looks++
	s.members, s.unsure = nil, unsure // unsure processes may be strangers: they are never signalled
	s.watch(unsure, unsurePause, 0)
	return true
}

// count adds what outlived the program: a group that was not told to end, and strays, which no
// signal to the group reached.
func (s *supervisor) count(first bool) {
	if first || s.stray && !s.counted {
		s.exit.Leftovers += len(s.members)
	}
	s.counted = s.counted || s.stray
}

// watch lets the loop know when all have ended, or the time is over. Strays that others took the
// place of are looked for after a pause.
func (s *supervisor) watch(ms members, d, pause time.Duration) {
	gone, quit := make(chan struct{}), make(chan struct{})
	s.gone, s.quit = gone, quit
	stray := s.stray
	go func() {
		defer close(gone)
		ms.await(time.Now().Add(d), quit)
		if stray {
			select {
			case <-quit:
			case <-time.After(pause):
			}
		}
	}()
}

// forgetMembers ends the watch and lets go of the members.
func (s *supervisor) forgetMembers() {
	if s.gone != nil {
		close(s.quit)
		<-s.gone
		s.gone, s.quit = nil, nil
	}
	s.members.release()
	s.unsure.release()
	s.members, s.unsure = nil, nil
}

// stop carries out one order. The first cause is the one that is reported.
func (s *supervisor) stop(why Cause) {
	if s.exit.Cause == Finished {
		s.exit.Cause = why
	}
	if s.began.IsZero() {
		s.begin()
	}
	switch {
	case why == Leaving && !s.leaving:
		s.leave()
	case why == Cancelled:
		s.cancels++
		if s.cancels > 1 {
			s.kill()
		}
	}
}

// begin is the first rung. A terminal's programs get SIGHUP as well, which an interactive shell
// obeys and SIGTERM it does not; SIGCONT lets stopped processes obey.
func (s *supervisor) begin() {
	s.began = time.Now()
	s.limit.Stop()
	if s.p.spec.TTY {
		s.signal(unix.SIGHUP)
	}
	s.signal(unix.SIGTERM, unix.SIGCONT)
	s.alarm.Reset(s.grace())
}

func (s *supervisor) grace() time.Duration {
	if s.p.spec.Grace > 0 {
		return s.p.spec.Grace
	}
	return DefaultGrace
}

// leave shortens what is left of the ladder.
func (s *supervisor) leave() {
	s.leaving = true
	if s.killed {
		s.alarm.Reset(leavingKillWait)
		return
	}
	s.alarm.Reset(min(LeavingGrace, time.Until(s.began.Add(s.grace()))))
}

// escalate goes one rung up when the time of the present one is over.
func (s *supervisor) escalate() {
	owed := time.Until(s.began.Add(s.grace()))
	switch {
	case s.killed:
		s.giveUp()
	case s.leaving && s.p.spec.Grace > LeavingGrace && owed > 0:
		s.handOver(owed)
	default:
		s.kill()
	}
}

func (s *supervisor) kill() {
	s.killed, s.exit.Killed = true, true
	s.signal(unix.SIGKILL)
	if s.leaving {
		s.alarm.Reset(leavingKillWait)
	} else {
		s.alarm.Reset(killWait)
	}
}

// signal signals the group as a whole, and of the members those that it does not reach: strays, and
// what has left the group since the look that found it there.
func (s *supervisor) signal(sigs ...unix.Signal) {
	if !s.stray {
		s.group.signal(sigs...)
	}
	for _, m := range s.members {
		if s.stray || s.group.leftBy(m) {
			m.signal(sigs...)
		}
	}
}

// handOver leaves the group to the guard for the rest of its grace, and its output too: a program
// that writes to a pipe without a reader is ended by SIGPIPE.
func (s *supervisor) handOver(owed time.Duration) {
	for _, o := range s.p.outputs() {
		if err := ourGuard.handOver(s.p.PID(), owed, o.file); err != nil {
			s.exit.Err = fmt.Errorf("%s (process %d) was to finish under the guard: %w", s.p.spec.Path, s.p.PID(), err)
			s.kill()
			return
		}
	}
	s.exit.Handed = true
	s.abandon()
}

// giveUp ends the wait for what SIGKILL does not end, or not in the little time that there is when
// we leave; the guard goes on.
func (s *supervisor) giveUp() {
	if s.exit.Err == nil && !s.leaving {
		s.exit.Err = fmt.Errorf("processes of %s (group %d) are still there after SIGKILL; they are in an uninterruptible call or belong to another user: look at ps -o pid,stat,user,wchan:20,args -g %[2]d",
			s.p.spec.Path, s.p.PID())
	}
	s.abandon()
}

// abandon ends supervision while something still runs.
func (s *supervisor) abandon() {
	s.lost, s.finished = true, true
	if s.group.reaped {
		return
	}
	s.exit.Duration = time.Since(s.p.started)
	ended, leader := s.ended, s.p.os
	go func() { // ends with the program, which nobody waits for any more; without it a zombie would stay
		<-ended
		_, _ = leader.Wait()
	}()
}

package process

import (
	"errors"
	"os"
	"strconv"
	"time"
)

// A Remnant stands for what a program that is over left behind, if it left anything. It is small:
// it may be kept for each program of a long run.
type Remnant struct {
	path   string
	pid    int
	start  uint64 // of the leader
	serial uint64
	grace  time.Duration
}

// Remnant waits for the end of the program, as [Process.Wait] does.
func (p *Process) Remnant() Remnant {
	<-p.done
	return Remnant{p.spec.Path, p.PID(), p.start, p.serial, p.spec.Grace}
}

// EndLeft ends what programs left behind: processes that left their group, which the end of a
// program by itself spares. It returns how many it found, and what could not be ended.
func EndLeft(remnants []Remnant) (ended int, err error) {
	over := make(map[string]Remnant, len(remnants))
	for _, r := range remnants {
		over[strconv.FormatUint(r.serial, 10)] = r
	}
	var scan scanner
	for quiet := 0; quiet < 2 && len(over) > 0; quiet++ { // a process may start another, and end, between the two being looked at
		for serial := range leaversOf(&scan, over) {
			x := over[serial].end()
			ended, err = ended+x.Leftovers, errors.Join(err, x.Err)
			delete(over, serial)
			quiet = 0
		}
	}
	return ended, err
}

// leaversOf returns the serial numbers of those programs of which something lives. It waits a
// moment for what does not show yet whose it is.
func leaversOf(scan *scanner, over map[string]Remnant) map[string]bool {
	found := make(map[string]bool)
	var unsure members
	scan.each(func(pid, _ int) {
		serial, ours, blank := ourGuard.tags.program(scan, pid)
		if _, meant := over[serial]; ours && meant {
			found[serial] = true
		}
		if !ours && blank {
			if m, ok := hold(pid, func() bool { return true }); ok {
				unsure = append(unsure, m)
			}
		}
	})
	if len(found) == 0 && len(unsure) > 0 {
		unsure.await(time.Now().Add(unsurePause), nil)
	}
	unsure.release()
	return found
}

// end takes what is left through the ladder of a stop.
func (r Remnant) end() Exit {
	p := &Process{spec: Spec{Path: r.path, Grace: r.grace}, os: &os.Process{Pid: r.pid}, serial: r.serial}
	s := &supervisor{p: p, group: group{id: r.pid, start: r.start, reaped: true}, exit: Exit{Cause: Cancelled}}
	s.limit, s.alarm = stopped(), stopped()
	if s.look(); !s.finished {
		s.run()
	}
	s.alarm.Stop()
	s.forgetMembers()
	return s.exit
}

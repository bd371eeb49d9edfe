package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// find returns the live processes that the guard answers for: those to end now, which it stops, and
// those of groups whose grace is not over, with the time when the first such grace ends. unsure
// says that it could not tell of a process: one in execve shows no environment.
func (g *guard) find() (due, later members, wake time.Time, unsure bool) {
	spared, wake := g.spared(time.Now())
	var h search
	untilQuiet(func() (busy bool) {
		later.release()
		later, unsure = nil, false
		vanished := g.scan.each(func(pid, group int) {
			if h.found.has(pid) {
				return
			}
			serial, ours, blank := g.owns(pid, group)
			if !ours && !blank {
				return
			}
			m, ok := hold(pid, func() bool { return blank || g.stillOwns(pid) })
			switch {
			case ours && !spared[serial]:
				busy = h.add(pid, m, ok) || busy
			case ok && ours:
				later = append(later, m)
			case ok:
				unsure = true
				m.release()
			}
		})
		return busy || vanished || h.found.moving()
	})
	return h.found, later, wake, unsure
}

// spared are the serial numbers of programs whose grace is not over, with the time when the first
// ends.
func (g *guard) spared(now time.Time) (serials map[string]bool, wake time.Time) {
	serials = make(map[string]bool)
	for id, c := range g.groups {
		if recycled(id, c.start) {
			delete(g.groups, id)
			continue
		}
		if now.Before(c.until) {
			serials[c.serial] = true
			if wake.IsZero() || c.until.Before(wake) {
				wake = c.until
			}
		}
	}
	return serials, wake
}

// recycled tells a leader from a later process of the same number. Where no process has the number,
// the group, if it is there at all, still is the one we were told of: its number is not given out
// as long as it has members.
func recycled(id int, start uint64) bool {
	st, there := readStat(id)
	return there && st.start != start
}

// owns says whether a process is of a known group or carries a tag of ours, and to which program it
// belongs.
func (g *guard) owns(pid, group int) (serial string, ours, blank bool) {
	if c, known := g.groups[group]; known {
		return c.serial, true, false
	}
	return g.tags.program(&g.scan, pid)
}

func (g *guard) stillOwns(pid int) bool {
	group, err := unix.Getpgid(pid)
	if err != nil {
		return false
	}
	_, ours, _ := g.owns(pid, group)
	return ours
}

// terminate asks each process once to end, and lets it go on, for it to obey.
func (g *guard) terminate(due members, asked map[uint64]bool) {
	for _, m := range due {
		key := m.start<<22 | uint64(m.pid) // the kernel's numbers have at most 22 bits
		if !asked[key] {
			asked[key] = true
			m.signal(unix.SIGTERM)
		}
		m.signal(unix.SIGCONT)
	}
}

// kill kills each process, and each group as a whole, which no fork escapes.
func (g *guard) kill(due members) {
	due.signal(unix.SIGKILL)
	for _, m := range due {
		group, err := unix.Getpgid(m.pid)
		if c, known := g.groups[group]; err == nil && known && !time.Now().Before(c.until) && !recycled(group, c.start) {
			_ = unix.Kill(-group, unix.SIGKILL)
		}
	}
}

// lastUntil returns the latest end of a grace, and not less than least.
func (g *guard) lastUntil(least time.Time) time.Time {
	for _, c := range g.groups {
		if c.until.After(least) {
			least = c.until
		}
	}
	return least
}

// wait waits for what is due, else for what comes later, else for the pause between two looks.
func wait(due, later members, until time.Time) {
	switch {
	case len(due) > 0:
		due.await(until, nil)
	case len(later) > 0:
		later.await(until, nil)
	default:
		<-time.After(time.Until(until))
	}
}

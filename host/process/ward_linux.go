package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// look finds the live processes that the guard answers for: those to end now, and those of groups whose grace is not over, with the
// time when the first such grace ends.
func (w *ward) look() (due, later members, wake time.Time) {
	now := time.Now()
	spared := make(map[string]bool) // serials
	for id, c := range w.groups {
		if recycled(id, c.start) {
			delete(w.groups, id)
			continue
		}
		if now.Before(c.until) {
			spared[c.serial] = true
			if wake.IsZero() || c.until.Before(wake) {
				wake = c.until
			}
		}
	}
	w.scan.each(func(pid, group int) {
		serial, ours := w.owns(pid, group)
		if !ours {
			return
		}
		m, ok := hold(pid, func() bool { return w.stillOwns(pid) })
		switch {
		case !ok:
		case spared[serial]:
			later = append(later, m)
		default:
			due = append(due, m)
		}
	})
	return due, later, wake
}

// recycled tells a leader from a later process of the same number. Where no process has the number, the group, if it is there at all, still is the one we were told of:
// its number is not given out as long as it has members.
func recycled(id int, start uint64) bool {
	st, there := readStat(id)
	return there && st.start != start
}

// owns says whether a process is of a known group or carries a sign of ours, and to which program it belongs.
func (w *ward) owns(pid, group int) (serial string, ours bool) {
	if c, known := w.groups[group]; known {
		return c.serial, true
	}
	serial, ours, _ = w.signs.program(&w.scan, pid)
	return serial, ours
}

func (w *ward) stillOwns(pid int) bool {
	group, err := unix.Getpgid(pid)
	if err != nil {
		return false
	}
	_, ours := w.owns(pid, group)
	return ours
}

// ask asks each process once to end. SIGCONT lets a stopped process obey.
func (w *ward) ask(due members, asked map[uint64]bool) {
	for _, m := range due {
		key := m.start<<22 | uint64(m.pid) // the kernel's numbers have at most 22 bits
		if !asked[key] {
			asked[key] = true
			m.signal(unix.SIGTERM, unix.SIGCONT)
		}
	}
}

// kill kills each process, and each group as a whole, which no fork escapes.
func (w *ward) kill(due members) {
	due.signal(unix.SIGKILL)
	for _, m := range due {
		group, err := unix.Getpgid(m.pid)
		if c, known := w.groups[group]; err == nil && known && !time.Now().Before(c.until) && !recycled(group, c.start) {
			_ = unix.Kill(-group, unix.SIGKILL)
		}
	}
}

// lastUntil returns the latest end of a grace, and not less than least.
func (w *ward) lastUntil(least time.Time) time.Time {
	for _, c := range w.groups {
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

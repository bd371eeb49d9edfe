package process

import (
	"golang.org/x/sys/unix"
)

// group is a process group whose leader we started. Its number can't be given to others while any
// member, a zombie included, is left; so it is safe to signal until the leader is reaped, and after
// that as long as a look finds members.
type group struct {
	id     int
	start  uint64 // of the leader
	reaped bool
	scan   scanner
}

// empty tells at the price of one system call that the leader, reaped just before, left nobody
// behind. It may say no for zombies.
func (g *group) empty() bool {
	return g.reaped && (unix.Kill(-g.id, 0) == unix.ESRCH || g.recycled())
}

// recycled: after the leader was reaped, a process of its number can only be a stranger, and then
// nobody of the group was left to pin the number.
func (g *group) recycled() bool {
	_, err := unix.Getpgid(g.id)
	return g.reaped && err == nil
}

// look returns the live members of the group, the leader included until it is reaped.
func (g *group) look() members {
	if g.empty() {
		return nil
	}
	var found members
	g.scan.each(func(pid, id int) {
		if id != g.id {
			return
		}
		still := func() bool { now, err := unix.Getpgid(pid); return err == nil && now == g.id }
		if m, ok := hold(pid, still); ok {
			found = append(found, m)
		}
	})
	return found
}

// strays returns the live processes, of whatever group, that carry a tag of the program, and those
// of which a later look will tell: processes not older than the leader whose environment is empty,
// which it is for a moment in every execve. Strays are stopped: whoever gets them ends them or lets
// them go on.
func (g *group) strays(t tags, serial string) (found, unsure members) {
	var h search
	untilQuiet(func() (busy bool) {
		unsure.release()
		unsure = nil
		vanished := g.scan.each(func(pid, _ int) {
			if h.found.has(pid) {
				return
			}
			mine := func() (mine, blank bool) {
				whose, ours, blank := t.program(&g.scan, pid)
				return ours && whose == serial, blank
			}
			is, blank := mine()
			if !is && !blank {
				return
			}
			m, ok := hold(pid, func() bool { still, _ := mine(); return still || blank })
			switch {
			case ok && m.start < g.start: // a program of that number began before, or the tag is not ours
				m.release()
			case is:
				busy = h.add(pid, m, ok) || busy
			case ok:
				unsure = append(unsure, m)
			}
		})
		return busy || vanished || h.found.moving()
	})
	return h.found, unsure
}

// leftBy tells that a process that was a member is none any more, but lives.
func (g *group) leftBy(m member) bool {
	id, err := unix.Getpgid(m.pid)
	return err == nil && id != g.id
}

// signal signals the whole group at once, which no fork escapes.
func (g *group) signal(sigs ...unix.Signal) {
	if g.recycled() {
		return
	}
	for _, sig := range sigs {
		_ = unix.Kill(-g.id, sig) // fails when all have ended, or are another user's; the next look shows which
	}
}

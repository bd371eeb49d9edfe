package process

import (
	"golang.org/x/sys/unix"
)

// group is a process group whose leader we started. Its number can't be given to others while any member, a zombie included, is left; so it is safe to signal
// until the leader is reaped, and after that as long as a look finds members.
type group struct {
	id     int
	start  uint64 // of the leader
	reaped bool
	scan   scanner
}

// empty tells at the price of one system call that the leader, reaped just before, left nobody behind. It may say no for zombies.
func (g *group) empty() bool {
	return g.reaped && (unix.Kill(-g.id, 0) == unix.ESRCH || g.recycled())
}

// recycled: after the leader was reaped, a process of its number can only be a stranger, and then nobody of the group was left to pin the number.
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

// strays returns the live processes, of whatever group, that carry the token, and those of which a later look will tell: processes
// not older than the leader whose environment is empty, which it is for a moment in every execve.
func (g *group) strays(token string) (found, unsure members) {
	g.scan.each(func(pid, _ int) {
		got, blank := g.scan.token(pid)
		if got != token && !blank {
			return
		}
		m, ok := hold(pid, func() bool { now, _ := g.scan.token(pid); return now == token || blank })
		switch {
		case !ok:
		case !blank:
			found = append(found, m)
		case m.start >= g.start:
			unsure = append(unsure, m)
		default:
			m.release()
		}
	})
	return found, unsure
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

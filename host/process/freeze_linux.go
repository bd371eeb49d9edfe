package process

import (
	"time"

	"golang.org/x/sys/unix"
)

// freezeLimit and fewLooks bound the wait for processes to stop: one in an uninterruptible call
// stops when the call returns.
const (
	freezeLimit = 100 * time.Millisecond
	fewLooks    = 10
)

// untilQuiet looks until two looks in a row are quiet: until look has returned false twice. A
// process that starts another one and ends, over and over, is caught by that, if each look stops
// what it finds, and is not quiet when something went before it could be looked at.
func untilQuiet(look func() (busy bool)) {
	began := time.Now()
	for looks, quiet := 0, 0; quiet < 2 && (looks < fewLooks || time.Since(began) < freezeLimit); looks++ {
		quiet++
		if look() {
			quiet = 0
		}
	}
}

// search collects the processes that are to be ended, from look to look.
type search struct {
	found members      // frozen
	ended map[int]bool // ended before they could be
}

// add takes note of a process that is to be ended: m and ok are what hold returned. It says whether
// it is a new one.
func (h *search) add(pid int, m member, ok bool) (news bool) {
	if !ok {
		news = !h.ended[pid]
		if h.ended == nil {
			h.ended = make(map[int]bool)
		}
		h.ended[pid] = true
		return news
	}
	m.freeze()
	h.found = append(h.found, m)
	return true
}

// freeze stops a process at once, so that it starts no other one until it gets SIGCONT.
func (m *member) freeze() {
	err := unix.EPERM
	if m.fd >= 0 {
		err, _ = unix.PidfdSendSignal(m.fd, unix.SIGSTOP, nil, 0).(unix.Errno)
	} else if st, ok := readStat(m.pid); ok && st.start == m.start {
		err, _ = unix.Kill(m.pid, unix.SIGSTOP).(unix.Errno)
	}
	m.frozen = err == 0
}

// moving says that a process that was to stop has not yet. Until then it may be in a fork.
func (ms members) moving() bool {
	for _, m := range ms {
		if st, there := readStat(m.pid); m.frozen && there && st.start == m.start && (st.state == 'R' || st.state == 'S') {
			return true
		}
	}
	return false
}

// has says whether a process is among them.
func (ms members) has(pid int) bool {
	for _, m := range ms {
		if m.pid == pid {
			return true
		}
	}
	return false
}

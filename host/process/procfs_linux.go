package process

import (
	"bytes"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// slice bounds one wait for processes, so that a quit is seen and a kernel without pidfds is looked
// at again.
const slice = 50 * time.Millisecond

// stat is what /proc/<pid>/stat says of a process.
type stat struct {
	state byte
	group int
	start uint64 // in clock ticks since boot; with the pid it names a process for good
}

// alive is false for a zombie: it runs no more, and in a container whose first process reaps nobody
// it may stay for ever.
func (s stat) alive() bool { return s.state != 'Z' && s.state != 'X' }

// readStat returns false when there is no such process.
func readStat(pid int) (stat, bool) {
	var buf [1024]byte
	n := readProc(pid, "stat", buf[:])
	return parseStat(buf[:n])
}

// parseStat reads proc_pid_stat(5). The name, second and in parentheses, may itself hold spaces and
// parentheses.
func parseStat(line []byte) (stat, bool) {
	i := bytes.LastIndexByte(line, ')')
	if i < 0 {
		return stat{}, false
	}
	fields := bytes.Fields(line[i+1:])
	const stateField, groupField, startField = 0, 2, 19 // the page counts from 1, and the name is its second
	if len(fields) <= startField || len(fields[stateField]) != 1 || !isLetter(fields[stateField][0]) {
		return stat{}, false
	}
	group, err1 := strconv.Atoi(string(fields[groupField]))
	start, err2 := strconv.ParseUint(string(fields[startField]), 10, 64)
	return stat{state: fields[stateField][0], group: group, start: start}, err1 == nil && err2 == nil
}

func isLetter(c byte) bool { return 'A' <= c && c <= 'Z' || 'a' <= c && c <= 'z' }

// readProc fills buf from a file of a process and returns how much it read; 0 when the file can't
// be read.
func readProc(pid int, name string, buf []byte) int {
	fd, err := retry(func() (int, error) {
		return unix.Open("/proc/"+strconv.Itoa(pid)+"/"+name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return 0
	}
	defer unix.Close(fd)
	total := 0
	for total < len(buf) {
		n, err := retry(func() (int, error) { return unix.Read(fd, buf[total:]) })
		if n <= 0 || err != nil {
			break
		}
		total += n
	}
	return total
}

// scanner looks at all processes. Its buffers are kept from look to look.
type scanner struct {
	names [64]byte // two processes, or one of the longer names that are there, too
	env   []byte
}

// each calls visit for every process but those of the kernel, which are in no group, and says
// whether one that was listed had gone when it was its turn. It goes by system calls as far as it
// can: opening a file of every process costs ten times as much. It lists few at a time, so that
// little time passes between the list and the visit.
func (s *scanner) each(visit func(pid, group int)) (vanished bool) {
	fd, err := retry(func() (int, error) {
		return unix.Open("/proc", unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	})
	if err != nil {
		return false
	}
	defer unix.Close(fd)
	for {
		n, err := retry(func() (int, error) { return unix.Getdents(fd, s.names[:]) })
		if n <= 0 || err != nil {
			return vanished
		}
		_, _, names := unix.ParseDirent(s.names[:n], -1, nil)
		for _, name := range names {
			pid, err := strconv.Atoi(name)
			if err != nil {
				continue
			}
			group, err := unix.Getpgid(pid)
			vanished = vanished || err == unix.ESRCH
			if err == nil && group > 0 {
				visit(pid, group)
			}
		}
	}
}

// token returns the value of TokenVar in the environment that a process was started with. It is
// empty for a process whose environment can't be read: one of another user. A process that is just
// executing a program shows an empty environment; blank says so.
func (s *scanner) token(pid int) (value string, blank bool) {
	if s.env == nil {
		s.env = make([]byte, 64<<10)
	}
	n := readProc(pid, "environ", s.env)
	for n == len(s.env) {
		s.env = make([]byte, 2*len(s.env))
		n = readProc(pid, "environ", s.env)
	}
	return tokenIn(s.env[:n]), n == 0
}

func tokenIn(env []byte) string {
	const prefix = TokenVar + "="
	for len(env) > 0 {
		entry, rest, _ := bytes.Cut(env, []byte{0})
		if bytes.HasPrefix(entry, []byte(prefix)) {
			return string(entry[len(prefix):])
		}
		env = rest
	}
	return ""
}

// member is one live process, held by a descriptor so that its number can't come to mean another
// one.
type member struct {
	pid   int
	start uint64
	fd    int // a pidfd, or -1 where the kernel has none

	frozen bool // was sent SIGSTOP
}

// hold takes hold of a process. It returns false when the process has ended, or when still, asked
// again now that the number is pinned, says that it is not the one meant.
func hold(pid int, still func() bool) (member, bool) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err == unix.ESRCH {
		return member{}, false
	}
	if err != nil {
		fd = -1
	}
	m := member{pid: pid, fd: fd}
	st, ok := readStat(pid)
	if !ok || !st.alive() || !still() {
		m.release()
		return member{}, false
	}
	m.start = st.start
	return m, true
}

func (m member) release() {
	if m.fd >= 0 {
		unix.Close(m.fd)
	}
}

func (m member) signal(sigs ...unix.Signal) {
	for _, sig := range sigs {
		// Errors are those of a process that has ended, or that is not ours to signal; the next
		// look shows which.
		if m.fd >= 0 {
			_ = unix.PidfdSendSignal(m.fd, sig, nil, 0)
		} else if st, ok := readStat(m.pid); ok && st.start == m.start {
			_ = unix.Kill(m.pid, sig)
		}
	}
}

// members are processes to wait for.
type members []member

func (ms members) release() {
	for _, m := range ms {
		m.release()
	}
}

func (ms members) signal(sigs ...unix.Signal) {
	for _, m := range ms {
		m.signal(sigs...)
	}
}

// await returns when all have ended, at the time until, or when quit is closed. Where a process is
// held by no descriptor it returns after a slice.
func (ms members) await(until time.Time, quit <-chan struct{}) {
	polls := make([]unix.PollFd, 0, len(ms))
	for _, m := range ms {
		if m.fd >= 0 {
			polls = append(polls, unix.PollFd{Fd: int32(m.fd), Events: unix.POLLIN})
		}
	}
	blind := len(polls) < len(ms)
	for len(polls) > 0 || blind {
		select {
		case <-quit:
			return
		default:
		}
		left := min(slice, time.Until(until))
		if left <= 0 {
			return
		}
		n, err := unix.Poll(polls, int((left+time.Millisecond-1)/time.Millisecond))
		if blind && n == 0 || err != nil && err != unix.EINTR {
			return
		}
		polls = unfinished(polls)
	}
}

func unfinished(polls []unix.PollFd) []unix.PollFd {
	kept := polls[:0]
	for _, p := range polls {
		if p.Revents == 0 {
			kept = append(kept, p)
		}
	}
	return kept
}

// retry repeats a system call that a signal interrupted.
func retry(call func() (int, error)) (int, error) {
	for {
		n, err := call()
		if err != unix.EINTR {
			return n, err
		}
	}
}

package process

import (
	"bytes"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// serialBits is how many bits of a mark are the serial number of a program. The numbers begin again
// after that many.
const serialBits = 24

// tags tell the programs of one calling process, and what descends from them, from all other
// processes. There are two: the token in the environment that a process was started with, and the
// mark.
//
// The mark is the soft limit on file locks, which no kernel since 2.4.25 heeds (getrlimit(2),
// RLIMIT_LOCKS). It is inherited by whatever a process starts, through a cleared environment, a new
// session, closed descriptors and the loss of the parent, and the other processes of a user can
// read it. Nothing sets it by accident. A program can raise it again, up to [markCeiling], so that
// the token is looked for as well.
type tags struct {
	prefix  string // of the tokens
	mark    uint64 // of the program with the serial number 0; 0 where there are no marks
	session int    // of the calling process, in which none of its programs is
}

// newTags draws 38 random bits of the mark from the prefix, so that whoever knows the one knows
// the other. The bit above them keeps a limit that somebody chose from being a mark by chance, and
// the highest bit is left out for those who take limits for signed numbers.
func newTags(prefix string, session int) tags {
	t := tags{prefix: prefix, session: session}
	if len(prefix) < 16 {
		return t
	}
	if random, err := strconv.ParseUint(prefix[:16], 16, 64); err == nil {
		t.mark = 1<<62 | random<<serialBits&(1<<62-1)
	}
	return t
}

// forking is held while children inherit a mark, and while they must not.
var forking sync.Mutex

// withMark calls fork while this process has the mark, for its child to have it from birth: a limit
// that is set on a program that runs comes too late for what it has started already, and Go has no
// hook between fork and exec. Where the limit can't be set, because the hard one is lower, the
// child has no mark.
//
// The limit is that of the whole process. A child that foreign code in it starts at the same moment
// has the mark, too; see [tags.marked].
func (t tags) withMark(serial uint64, fork func() error) error {
	lowerCeiling()
	forking.Lock()
	defer forking.Unlock()
	var usual unix.Rlimit
	if t.mark != 0 && unix.Prlimit(0, unix.RLIMIT_LOCKS, nil, &usual) == nil {
		own := unix.Rlimit{Cur: t.mark | serial, Max: usual.Max}
		if unix.Prlimit(0, unix.RLIMIT_LOCKS, &own, nil) == nil {
			defer func() { _ = unix.Prlimit(0, unix.RLIMIT_LOCKS, &usual, nil) }()
		}
	}
	return fork()
}

// shedMark takes off the mark that this process was started with.
func shedMark() {
	var limit unix.Rlimit
	if unix.Prlimit(0, unix.RLIMIT_LOCKS, nil, &limit) == nil {
		limit.Cur = limit.Max
		_ = unix.Prlimit(0, unix.RLIMIT_LOCKS, &limit, nil)
	}
}

// program returns the serial number of the program that a process descends from, if it is one of
// ours. blank is that of [scanner.token].
func (t tags) program(scan *scanner, pid int) (serial string, ours, blank bool) {
	if serial, ours := t.marked(pid); ours || t.prefix == "" {
		return serial, ours, false
	}
	token, blank := scan.token(pid)
	serial, ours = strings.CutPrefix(token, t.prefix+".")
	return serial, ours, blank
}

// marked is program for the mark alone, which costs a tenth and knows no blanks. A process in the
// calling process's own session is not ours, whatever its mark: programs start in sessions of their
// own, and nobody can enter a session that exists.
func (t tags) marked(pid int) (serial string, ours bool) {
	limit, ok := lockLimit(pid)
	if !ok || t.mark == 0 || limit>>serialBits != t.mark>>serialBits {
		return "", false
	}
	if session, err := unix.Getsid(pid); err == nil && session == t.session {
		return "", false
	}
	return strconv.FormatUint(limit&(1<<serialBits-1), 10), true
}

// lockLimit returns the soft limit on file locks of a process. It returns false for one that we may
// not signal.
func lockLimit(pid int) (uint64, bool) {
	var limit unix.Rlimit
	err := unix.Prlimit(pid, unix.RLIMIT_LOCKS, nil, &limit)
	if err != unix.EPERM {
		return limit.Cur, err == nil
	}
	// The call wants all ids, real and effective, of user and group, to be ours; to signal a
	// process, one of the user's is enough.
	if unix.Kill(pid, 0) != nil {
		return 0, false
	}
	var buf [4096]byte
	return parseLockLimit(buf[:readProc(pid, "limits", buf[:])])
}

// parseLockLimit finds the soft limit on file locks in /proc/<pid>/limits. It returns false where
// there is none.
func parseLockLimit(text []byte) (uint64, bool) {
	soft, _ := lockLimits(text)
	limit, err := strconv.ParseUint(soft, 10, 64)
	return limit, err == nil
}

// lockLimits finds both limits on file locks in /proc/<pid>/limits, as they are written there; ""
// where they are not.
func lockLimits(text []byte) (soft, hard string) {
	for line := range bytes.Lines(text) {
		rest, found := bytes.CutPrefix(line, []byte("Max file locks"))
		if !found {
			continue
		}
		soft, after, _ := strings.Cut(strings.TrimLeft(string(rest), " "), " ")
		hard, _, _ := strings.Cut(strings.TrimLeft(after, " "), " ")
		return soft, hard
	}
	return "", ""
}

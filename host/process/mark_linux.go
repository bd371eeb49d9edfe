package process

import (
	"bytes"
	"math"
	"os"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// markCeiling is the hard limit on file locks (RLIMIT_LOCKS, see [tags]) of all that chant-acp
// starts, and of what that starts. It leaves room for every soft limit that is a mark. Without
// privileges nobody raises a hard limit again (setrlimit(2)), so that it tells for good what
// descends from a program of chant-acp: a cleared environment, a new session and the loss of the
// parent do not take it off.
const markCeiling = 1<<63 - 1

// Descends says whether this process descends from a program that a chant-acp started. It is asked
// before this process starts one itself, which marks it as well.
var Descends = sync.OnceValue(func() bool {
	limit, err := hardLimit(os.Getpid())
	return err != nil || limit != math.MaxUint64 || os.Getenv(TokenVar) != ""
})

// DescendsPID is [Descends] for another process of this user. A chant-acp that has started a
// program counts as one, too. The error says that nothing can be told.
func DescendsPID(pid int) (bool, error) {
	limit, err := hardLimit(pid)
	return limit != math.MaxUint64, err
}

// lowerCeiling lowers this process's own hard limit, once and before its first program. Go has no
// hook between fork and exec, in which only the child could be marked.
var lowerCeiling = sync.OnceFunc(func() {
	Descends()
	var limit unix.Rlimit
	if unix.Prlimit(0, unix.RLIMIT_LOCKS, nil, &limit) != nil || limit.Max <= markCeiling {
		return
	}
	limit.Max = markCeiling
	limit.Cur = min(limit.Cur, limit.Max)
	_ = unix.Prlimit(0, unix.RLIMIT_LOCKS, &limit, nil)
})

// hardLimit is the hard limit on file locks of a process, [math.MaxUint64] for none.
func hardLimit(pid int) (uint64, error) {
	var limit unix.Rlimit
	err := unix.Prlimit(pid, unix.RLIMIT_LOCKS, nil, &limit)
	if err != unix.EPERM {
		return limit.Max, err
	}
	var buf [4096]byte
	switch _, hard := lockLimits(buf[:readProc(pid, "limits", buf[:])]); hard {
	case "":
		return 0, unix.ESRCH
	case "unlimited":
		return math.MaxUint64, nil
	default:
		return strconv.ParseUint(hard, 10, 64)
	}
}

// Conceal keeps other processes of this user, root's apart, from what is this process's own: its
// memory, and its open descriptors (PR_SET_DUMPABLE, see prctl(2) and ptrace(2), "Ptrace access
// mode checking"). Without it a program opens the pipe on which an editor speaks to its agent, at
// /proc/<pid>/fd, and speaks there as the person. What this process executes is not concealed. Nor
// is a process that is traced from its start: it has no secrets from its tracer, and strace would
// see no names of files.
func Conceal() {
	var buf [4096]byte
	text := buf[:readProc(os.Getpid(), "status", buf[:])]
	if i := bytes.Index(text, []byte("\nTracerPid:\t")); i >= 0 && !bytes.HasPrefix(text[i:], []byte("\nTracerPid:\t0\n")) {
		return
	}
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) // does not fail with these arguments
}

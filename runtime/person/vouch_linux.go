package person

import (
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// A gateway that a person started vouches for its own agents: it leaves one end of
// a socket with the agent, as descriptor vouchFD, and answers there.
//
// The agent believes the kernel and nobody else. The socket was made by a process
// (SO_PEERCRED, unix(7)) whose executable is the chant-acpd beside the agent's own;
// then, and not before, that very process answers (SCM_CREDENTIALS) with what it
// was asked. A program that makes such a socket can become chant-acpd, but then it
// is no longer there to answer.
const (
	vouchFD   = 3
	vouchWait = 5 * time.Second
	vouched   = "a person: "
)

// Voucher is the gateway's end.
type Voucher struct {
	// Agent is the agent's end: its descriptor 3. Close it when the agent has started.
	Agent *os.File

	conn *os.File
	done chan struct{}
}

// NewVoucher makes one; nil where this process may not decide.
func NewVoucher() (*Voucher, error) {
	if Decides() != nil {
		return nil, nil
	}
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("vouching for an agent: %w", err)
	}
	_ = unix.SetNonblock(ends[0], true)
	v := &Voucher{Agent: os.NewFile(uintptr(ends[1]), "vouched"), conn: os.NewFile(uintptr(ends[0]), "voucher"), done: make(chan struct{})}
	go v.answer()
	return v, nil
}

// answer answers the one question, if it comes.
func (v *Voucher) answer() {
	defer close(v.done)
	defer v.conn.Close()
	question := make([]byte, 64)
	n, err := v.conn.Read(question)
	if err == nil {
		_, _ = v.conn.Write(append([]byte(vouched), question[:n]...)) // the agent may be gone
	}
}

// Close ends it, answered or not.
func (v *Voucher) Close() {
	_ = v.Agent.Close()
	_ = v.conn.SetDeadline(time.Now())
	<-v.done
}

// Vouched says whether a gateway of a person vouches for this process.
var Vouched = sync.OnceValue(func() bool {
	pid, ok := maker(vouchFD)
	return ok && isGateway(pid) && answers(vouchFD, pid)
})

// maker returns the process that made the socket behind a descriptor.
func maker(fd int) (pid int32, ok bool) {
	typ, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_TYPE)
	if err != nil || typ != unix.SOCK_SEQPACKET {
		return 0, false
	}
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	return pidOf(cred), err == nil && cred.Uid == uint32(os.Geteuid()) && cred.Pid > 0
}

func pidOf(cred *unix.Ucred) int32 {
	if cred == nil {
		return 0
	}
	return cred.Pid
}

// isGateway says whether a process runs the chant-acpd that lies beside this
// executable, or this executable itself.
func isGateway(pid int32) bool {
	self, err := os.Executable()
	if err != nil {
		return false
	}
	runs, err := os.Stat(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return false
	}
	for _, path := range []string{filepath.Join(filepath.Dir(self), "chant-acpd"), self} {
		if known, err := os.Stat(path); err == nil && os.SameFile(known, runs) {
			return true
		}
	}
	return false
}

// answers asks over a socket, and says whether that process answers right.
func answers(fd int, pid int32) bool {
	var question [16]byte
	_, _ = rand.Read(question[:])
	asked := fmt.Sprintf("%x", question)
	timeout := unix.NsecToTimeval(vouchWait.Nanoseconds())
	if unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PASSCRED, 1) != nil ||
		unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout) != nil ||
		unix.Sendto(fd, []byte(asked), unix.MSG_NOSIGNAL, nil) != nil {
		return false
	}
	text, oob := make([]byte, 64), make([]byte, unix.CmsgSpace(unix.SizeofUcred))
	for {
		n, oobn, _, _, err := unix.Recvmsg(fd, text, oob, unix.MSG_CMSG_CLOEXEC)
		if err == unix.EINTR {
			continue
		}
		if err != nil || string(text[:n]) != vouched+asked {
			return false
		}
		messages, err := unix.ParseSocketControlMessage(oob[:oobn])
		if err != nil || len(messages) != 1 {
			return false
		}
		cred, err := unix.ParseUnixCredentials(&messages[0])
		return err == nil && cred.Pid == pid
	}
}

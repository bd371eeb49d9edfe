package person

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"github.com/chant-acp/chant-acp/host/process"
	"github.com/chant-acp/chant-acp/internal/acpd"
)

// A gateway that a person started vouches for its own agents: each is left one end
// of a socket, as descriptor vouchFD, and is answered there.
//
// The agent believes the kernel and nobody else: the socket was made by a process
// (SO_PEERCRED, unix(7)) that does not descend from a program of chant-acp, and
// that very process answers (SCM_CREDENTIALS) with what it was asked. The gateway
// itself has the mark, as soon as it has started its first program. So a child of
// it makes the sockets and answers, which it starts before that.
const (
	vouchFD      = 3
	vouchWait    = 5 * time.Second
	vouchAskTime = time.Minute // for the question
	vouched      = "a person: "
)

// A Voucher vouches for agents, by a process of its own.
type Voucher struct {
	child *exec.Cmd

	mu   sync.Mutex
	conn int // to the child; -1 after Close
}

// NewVoucher starts one; nil where this process may not decide. It has to come
// before the first program of this process.
func NewVoucher() (*Voucher, error) {
	if Decides() != nil {
		return nil, nil
	}
	child, err := acpd.Command(acpd.Vouch, []string{})
	if err != nil {
		return nil, err
	}
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("vouching for agents: %w", err)
	}
	theirs := os.NewFile(uintptr(ends[1]), "voucher")
	defer theirs.Close()
	child.Stdin = theirs
	timeout := unix.NsecToTimeval(vouchWait.Nanoseconds())
	err = unix.SetsockoptTimeval(ends[0], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &timeout)
	if err == nil {
		err = child.Start()
	}
	if err != nil {
		unix.Close(ends[0])
		return nil, fmt.Errorf("vouching for agents: %w", err)
	}
	return &Voucher{child: child, conn: ends[0]}, nil
}

// Agent is what an agent is to have as its descriptor 3. It is good for one agent,
// for a minute. Close it when the agent has started.
func (v *Voucher) Agent() (*os.File, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	fd, err := v.ask()
	if err != nil {
		return nil, fmt.Errorf("nobody vouches for the agent any more (%w): start the gateway again", err)
	}
	return os.NewFile(uintptr(fd), "vouched"), nil
}

func (v *Voucher) ask() (fd int, err error) {
	if err := unix.Sendto(v.conn, []byte{0}, unix.MSG_NOSIGNAL, nil); err != nil {
		return -1, err
	}
	text, oob := make([]byte, 1), make([]byte, unix.CmsgSpace(4))
	n, oobn, err := retryRecv(v.conn, text, oob)
	if err != nil {
		return -1, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:oobn])
	if err != nil || n == 0 || len(messages) != 1 {
		return -1, errors.New("it gave no socket")
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return -1, errors.New("it gave no socket")
	}
	return fds[0], nil
}

// Close ends the process. Who was vouched for stays so.
func (v *Voucher) Close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	_ = unix.Close(v.conn)
	v.conn = -1
	_ = v.child.Wait()
}

// VoucherMain is that process, and returns its exit code. Standard input is the
// socket on which it is asked; it ends with it.
func VoucherMain() int {
	for {
		n, _, err := retryRecv(0, make([]byte, 1), nil)
		if err != nil || n == 0 {
			return 0
		}
		ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
		if err != nil {
			return 1
		}
		err = unix.Sendmsg(0, []byte{0}, unix.UnixRights(ends[1]), nil, unix.MSG_NOSIGNAL)
		unix.Close(ends[1])
		if err != nil {
			return 0
		}
		_ = unix.SetNonblock(ends[0], true)
		go answerOnce(os.NewFile(uintptr(ends[0]), "agent")) // until the question, its time, or the process's end
	}
}

// answerOnce answers the one question, if it comes.
func answerOnce(agent *os.File) {
	defer agent.Close()
	_ = agent.SetDeadline(time.Now().Add(vouchAskTime))
	question := make([]byte, 64)
	if n, err := agent.Read(question); err == nil {
		_, _ = agent.Write(append([]byte(vouched), question[:n]...)) // the agent may be gone
	}
}

func retryRecv(fd int, p, oob []byte) (n, oobn int, err error) {
	for {
		n, oobn, _, _, err = unix.Recvmsg(fd, p, oob, unix.MSG_CMSG_CLOEXEC)
		if err != unix.EINTR {
			return n, oobn, err
		}
	}
}

// Vouched says whether a gateway of a person vouches for this process.
var Vouched = sync.OnceValue(func() bool {
	pid, ok := maker(vouchFD)
	return ok && unmarked(pid) && answers(vouchFD, pid) && unmarked(pid)
})

// unmarked says whether a process is there that no program of chant-acp has started.
func unmarked(pid int32) bool {
	descends, err := process.DescendsPID(int(pid))
	return err == nil && !descends
}

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
	n, oobn, err := retryRecv(fd, text, oob)
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

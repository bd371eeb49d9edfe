package acptest

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

var errNoProcess = errors.New("acptest: the agent is no process of its own")

func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func signalGroup(pgid int, s os.Signal) error {
	sig, ok := s.(syscall.Signal)
	if !ok {
		return fmt.Errorf("acptest: %v is no signal of this system", s)
	}
	return syscall.Kill(-pgid, sig)
}

// narrowPipe is what a stalled pipe holds, in bytes: two pages. However lines
// fall into them, one page's worth is there when nothing more fits, and less
// than another is missing.
const (
	narrowPipe  = 8 << 10
	stuckInPipe = 3 << 10
)

// narrow makes a pipe small, unless more than fits is waiting in it; see
// F_SETPIPE_SZ in fcntl(2).
func narrow(f *os.File) error {
	raw, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var setErr error
	err = raw.Control(func(fd uintptr) { _, setErr = unix.FcntlInt(fd, unix.F_SETPIPE_SZ, narrowPipe) })
	if errors.Is(setErr, syscall.EBUSY) {
		setErr = nil
	}
	return errors.Join(err, setErr)
}

// unread is how many bytes wait in a pipe; see FIONREAD in ioctl_pipe(2).
func unread(f *os.File) (int, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return 0, err
	}
	var n int
	var ioctlErr error
	err = raw.Control(func(fd uintptr) { n, ioctlErr = unix.IoctlGetInt(int(fd), unix.TIOCINQ) })
	return n, errors.Join(err, ioctlErr)
}

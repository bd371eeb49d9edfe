//go:build unix

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

//go:build unix

package acptest

import (
	"errors"
	"fmt"
	"os"
	"syscall"
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

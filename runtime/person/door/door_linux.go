package door

import (
	"errors"
	"fmt"
	"net"
	"os"

	"golang.org/x/sys/unix"

	"github.com/chant-acp/chant-acp/host/process"
	"github.com/chant-acp/chant-acp/runtime/person"
)

// check says why the process at the other end is no person's.
func check(conn *net.UnixConn) error {
	raw, err := conn.SyscallConn()
	if err != nil {
		return err
	}
	var cred *unix.Ucred
	var failed error
	if err := raw.Control(func(fd uintptr) { cred, failed = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED) }); err != nil || failed != nil {
		return errors.Join(err, failed)
	}
	if cred.Uid != uint32(os.Geteuid()) {
		return errors.New("another user asked")
	}
	descends, err := process.DescendsPID(int(cred.Pid))
	if err != nil {
		return fmt.Errorf("nothing can be told of who asked: %w", err)
	}
	if descends {
		return person.ErrProgram
	}
	return nil
}

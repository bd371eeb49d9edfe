package engine

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

const filteredVariable = "CHANT_ACP_TEST_FILTERED"

// TestMain is also what a copy of this test binary does behind the filter.
func TestMain(m *testing.M) {
	if os.Getenv(filteredVariable) == "" {
		os.Exit(m.Run())
	}
	var ready, all sync.WaitGroup
	begin := make(chan struct{})
	for range 4 {
		ready.Add(1)
		all.Go(func() { // threads that there were before
			runtime.LockOSThread()
			ready.Done()
			<-begin
			tryFilter()
		})
	}
	ready.Wait()
	if err := dropSyscalls(); err != nil {
		fmt.Println(err)
	}
	close(begin)
	all.Wait()
}

func tryFilter() {
	if _, err := net.Listen("tcp", "127.0.0.1:0"); !errors.Is(err, unix.EPERM) {
		fmt.Println("a socket:", err)
	}
	if _, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0); !errors.Is(err, unix.EPERM) {
		fmt.Println("a Unix socket:", err)
	}
	if err := exec.Command("/proc/self/exe").Run(); !errors.Is(err, unix.EPERM) {
		fmt.Println("a program:", err)
	}
	if err := unix.PtraceAttach(os.Getppid()); !errors.Is(err, unix.EPERM) {
		fmt.Println("tracing:", err)
	}
	if _, _, errno := unix.RawSyscall(unix.SYS_IO_URING_SETUP, 1, 0, 0); errno != unix.EPERM {
		fmt.Println("io_uring:", errno)
	}
}

func TestDropSyscalls(t *testing.T) {
	if _, _, ok := archOf(runtime.GOARCH); !ok {
		t.Skip("there is no filter for this architecture")
	}
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), filteredVariable+"=1")
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	if err := cmd.Run(); err != nil || out.Len() > 0 {
		t.Errorf("%v\n%s", err, &out)
	}
}

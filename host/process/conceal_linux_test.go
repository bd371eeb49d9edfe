package process

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestConceal lets a program of the same user write into a pipe that this process
// has open, before it is concealed and afterwards.
func TestConceal(t *testing.T) {
	if os.Getuid() == 0 { // who may do anything
		again := exec.Command("/proc/self/exe", "-test.run=^TestConceal$", "-test.v")
		again.Dir = "/"
		again.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		if out, err := again.CombinedOutput(); err != nil {
			t.Errorf("as another user: %v\n%s", err, out)
		}
		return
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	write := func() ([]byte, error) {
		return exec.Command("sh", "-c", fmt.Sprintf("echo x >/proc/%d/fd/%d", os.Getpid(), w.Fd())).CombinedOutput()
	}
	if out, err := write(); err != nil {
		t.Skipf("no program gets at the descriptors of others here: %s", out)
	}
	Conceal()
	defer func() { _ = unix.Prctl(unix.PR_SET_DUMPABLE, 1, 0, 0, 0) }()
	if _, err := write(); err == nil {
		t.Error("a program wrote into a pipe of another process")
	}
	if out, err := exec.Command("sh", "-c", "sh -c 'exec 3</proc/'$$'/fd/0' && echo reached").CombinedOutput(); err != nil || string(out) != "reached\n" {
		t.Errorf("what is executed is concealed as well: %s, %v", out, err)
	}
}

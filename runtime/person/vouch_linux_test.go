package person

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/chant-acp/chant-acp/internal/acpd"
)

// What this test's binary is when it is started with the variable role.
const (
	role      = "PERSON_TEST"
	roleAgent = "agent" // says whether somebody vouches for it
	roleFake  = "fake"  // vouches by itself for an agent that it starts, as a program would
	roleOwner = "owner" // the same without the mark
)

func TestMain(m *testing.M) {
	if call, err := acpd.Called(os.Args[1:]); err == nil && call.Is(acpd.Vouch) {
		os.Exit(VoucherMain())
	}
	switch os.Getenv(role) {
	case roleAgent:
		fmt.Println(Vouched())
		os.Exit(0)
	case roleFake:
		limit := unix.Rlimit{Cur: 1 << 62, Max: 1 << 62}
		if err := unix.Prlimit(0, unix.RLIMIT_LOCKS, &limit, nil); err != nil {
			panic(err)
		}
		os.Exit(vouchItself())
	case roleOwner:
		os.Exit(vouchItself())
	}
	os.Exit(m.Run())
}

// as is this test's binary in a role.
func as(name string) *exec.Cmd {
	c := exec.Command("/proc/self/exe")
	c.Env = append(os.Environ(), role+"="+name)
	return c
}

func vouchItself() int {
	ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		panic(err)
	}
	agent := as(roleAgent)
	agent.Stdout = os.Stdout
	agent.ExtraFiles = []*os.File{os.NewFile(uintptr(ends[1]), "agent")}
	if err := agent.Start(); err != nil {
		panic(err)
	}
	agent.ExtraFiles[0].Close()
	answerOnce(os.NewFile(uintptr(ends[0]), "voucher"))
	if agent.Wait() != nil {
		return 1
	}
	return 0
}

// TestVouched holds that an agent believes a gateway's voucher, and no program that
// says the same in its place.
func TestVouched(t *testing.T) {
	if Decides() != nil {
		t.Skip("this test was started by a program of chant-acp")
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv(acpd.Variable, self)
	v, err := NewVoucher()
	if err != nil {
		t.Fatal(err)
	}
	vouchedFor := func() string {
		t.Helper()
		end, err := v.Agent()
		if err != nil {
			t.Fatal(err)
		}
		defer end.Close()
		agent := as(roleAgent)
		agent.ExtraFiles = []*os.File{end}
		return output(t, agent)
	}
	for range 2 {
		if got := vouchedFor(); got != "true" {
			t.Errorf("an agent that is vouched for says %s", got)
		}
	}
	v.Close()
	if _, err := v.Agent(); err == nil || !strings.Contains(err.Error(), "start the gateway again") {
		t.Errorf("after its end: %v", err)
	}
	if got := output(t, as(roleAgent)); got != "false" {
		t.Errorf("an agent with nothing at its descriptor says %s", got)
	}
	if got := output(t, as(roleOwner)); got != "true" {
		t.Errorf("an agent that a person's process vouches for says %s", got)
	}
	if got := output(t, as(roleFake)); got != "false" {
		t.Errorf("an agent that a program vouches for says %s", got)
	}
}

func output(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(out))
}

package eval_test

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	"go.uber.org/goleak"

	"github.com/chant-acp/chant-acp/host/op/eval/engine"
	"github.com/chant-acp/chant-acp/internal/acpd"
)

// olderVariable, in the environment of files, makes the child one of another version.
const olderVariable = "CHANT_ACP_TEST_OLDER"

// TestMain makes this test binary chant-acpd where it is started as that, and wants
// that no goroutine and no child is left.
func TestMain(m *testing.M) {
	if folders := os.Getenv("CHANT_ACP_TEST_WALL"); folders != "" {
		tryWall(folders)
		return
	}
	if call, err := acpd.Called(os.Args[1:]); err == nil && call.Is(acpd.Evaluate) {
		if os.Getenv(olderVariable) != "" { // as a chant-acpd of another version does
			_, err := acpd.Called([]string{"--for=9.8.7"})
			fmt.Fprintln(os.Stderr, err)
			os.Exit(acpd.WrongVersion)
		}
		os.Exit(engine.Main())
	}
	_ = os.Setenv(acpd.Variable, "/proc/self/exe")
	code := m.Run()
	if err := goleak.Find(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); err != syscall.ECHILD {
		fmt.Fprintf(os.Stderr, "a child is left: %d, %v\n", pid, err)
		code = 1
	}
	os.Exit(code)
}

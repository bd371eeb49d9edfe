package eval_test

import (
	"fmt"
	"os"
	"syscall"
	"testing"

	_ "github.com/chant-acp/chant-acp/host/op/eval/engine" // the child
	"go.uber.org/goleak"
)

// TestMain wants that no goroutine and no child is left.
func TestMain(m *testing.M) {
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

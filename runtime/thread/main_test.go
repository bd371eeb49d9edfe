package thread

import (
	"os"
	"testing"

	"go.uber.org/goleak"
)

// The test binary is also the other process of tests with two.
const envChild = "THREAD_TEST_CHILD"

func TestMain(m *testing.M) {
	if mode := os.Getenv(envChild); mode != "" {
		os.Exit(beChild(mode, os.Args[1:]))
	}
	goleak.VerifyTestMain(m)
}

package client_test

import (
	"testing"

	"go.uber.org/goleak"

	"github.com/chant-acp/chant-acp/host/process"
)

func TestMain(m *testing.M) {
	process.GuardMain()
	goleak.VerifyTestMain(m)
}

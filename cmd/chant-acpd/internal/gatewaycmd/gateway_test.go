package gatewaycmd

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/cmd/internal/console/consoletest"
	"github.com/chant-acp/chant-acp/host/process"
	"github.com/chant-acp/chant-acp/internal/acpd"
	"github.com/chant-acp/chant-acp/runtime/gateway"
	"github.com/chant-acp/chant-acp/runtime/heartbeat"
	"github.com/chant-acp/chant-acp/runtime/person"
)

// TestMain is also the chant-acpd that vouches for agents.
func TestMain(m *testing.M) {
	process.GuardMain()
	if call, err := acpd.Called(os.Args[1:]); err == nil && call.Is(acpd.Vouch) {
		os.Exit(person.VoucherMain())
	}
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	_ = os.Setenv("CHANT_ACPD", self)
	_ = os.Setenv("CHANT_ACP_AGENT_ALLOW", "always") // the projects are the tests' own
	os.Exit(m.Run())
}

func isolated(t *testing.T) {
	t.Helper()
	t.Setenv("CHANT_ACP_STATE", t.TempDir())
	t.Setenv("CHANT_ACP_CONFIG", filepath.Join(t.TempDir(), "config.json"))
}

func here() (string, error) { return "/bin/chant-acp", nil }

func TestServerStartsAndStops(t *testing.T) {
	isolated(t)
	out, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	std := console.NewStreams(out, out, out)
	var settings gatewaySettings
	settings.Workspace, settings.Bind = t.TempDir(), "127.0.0.1"
	s, err := prepare(std, here, &gatewayFlags{}, settings)
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	if err := s.start(context.Background()); err != nil {
		t.Fatal(err)
	}
	answer, err := http.Get(s.gateway.URL() + "/health")
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("%+v, %v", answer, err)
	}
	if err == nil {
		answer.Body.Close()
	}
	if err := s.stop(); err != nil {
		t.Error(err)
	}
	said, err := os.ReadFile(out.Name())
	if err != nil || string(said) != s.gateway.URL()+" serves "+s.gateway.Workspace()+"\n" {
		t.Errorf("%q, %v", said, err)
	}
}

func TestGatewayThatCannotStart(t *testing.T) {
	isolated(t)
	lost := errors.New("chant-acp is not there")
	for _, c := range []struct {
		agent func() (string, error)
		args  []string
		code  int
		says  string
	}{
		{here, []string{"--port", "-1"}, console.Usage, "port"},
		{here, []string{"--profile", "none"}, console.Usage, "none"},
		{here, []string{"--workspace", "/dev/null"}, console.Failed, "/dev/null"},
		{func() (string, error) { return "", lost }, nil, console.Failed, lost.Error()},
	} {
		r := consoletest.Run(t, func(std console.Streams) *cobra.Command { return New(std, c.agent) }, c.args...)
		if r.Code != c.code || r.Out != "" || !strings.Contains(r.Err, c.says) {
			t.Errorf("gateway %q: %+v", c.args, r)
		}
	}
}

// What a heartbeat tells is among the events of the gateway.
func TestHeartbeatEventsAreListed(t *testing.T) {
	for _, k := range heartbeat.EventKinds() {
		if !slices.Contains(gateway.EventKinds(), "heartbeat."+string(k)) {
			t.Errorf("heartbeat.%s is not in gateway.EventKinds", k)
		}
	}
}

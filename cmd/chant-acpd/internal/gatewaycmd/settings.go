package gatewaycmd

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/runtime/config"
)

// gatewaySettings are what counts for a gateway.
type gatewaySettings struct {
	config.Daemon
	conversations string
	terminals     bool
	unread        []string // keys that have a value and do nothing
}

// settings lays the flags on top of the configuration. A gateway with a
// configuration that is broken would trust and open what nobody can tell, so it
// does not start.
func (f *gatewayFlags) settings(given func(string) bool) (gatewaySettings, error) {
	all, err := loadSettings(f.profile)
	if err != nil {
		return gatewaySettings{}, err
	}
	s := gatewaySettings{all.Daemon, all.Conversations.Dir, all.Features.PTY, all.Unread()}
	if given("workspace") {
		s.Workspace = f.workspace
	}
	if given("port") {
		s.Port = f.port
	}
	if given("bind") {
		s.Bind = f.bind
	}
	if s.Workspace == "" {
		s.Workspace = "."
	}
	return s, nil
}

// loadSettings reads the configuration, all of which has to be usable.
func loadSettings(profile string) (config.Settings, error) {
	d, err := config.Open(os.Getenv)
	if err != nil {
		return config.Settings{}, console.Exit(console.Failed, fmt.Errorf("the configuration can't be read: %w", err))
	}
	s, err := d.Settings(profile, os.Getenv)
	if err != nil {
		return config.Settings{}, console.Exit(console.Usage, err)
	}
	var wrong []string
	for _, p := range s.Problems {
		if !p.Advice {
			wrong = append(wrong, p.String())
		}
	}
	if len(wrong) > 0 {
		return config.Settings{}, console.Exit(console.Failed, errors.New("the configuration has values that can't be used:\n"+strings.Join(wrong, "\n")))
	}
	return s, nil
}

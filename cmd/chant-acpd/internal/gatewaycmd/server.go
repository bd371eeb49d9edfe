package gatewaycmd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/rs/zerolog"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/internal/acpd"
	"github.com/chant-acp/chant-acp/internal/stateroot"
	"github.com/chant-acp/chant-acp/runtime/gateway"
	"github.com/chant-acp/chant-acp/runtime/person/door"
	"github.com/chant-acp/chant-acp/runtime/session"
)

// server is a gateway, and what of this machine it is given.
type server struct {
	std      console.Streams
	log      zerolog.Logger
	agent    string   // the path of chant-acp
	profile  string   // of the configuration
	unread   []string // keys of it that have a value and do nothing
	commands *gatewayCommands
	runs     *gatewayRuns // nil where there can be none
	noRuns   error        // and why
	gateway  *gateway.Gateway
}

// prepare puts a server together. Where it returns one, close ends it.
func prepare(std console.Streams, findAgent func() (string, error), f *gatewayFlags, settings gatewaySettings) (*server, error) {
	s := &server{std: std, profile: f.profile, unread: settings.unread}
	s.log = zerolog.New(std.Err).Level(zerolog.WarnLevel).With().Timestamp().Logger()
	requests := zerolog.Nop()
	if f.jsonLog {
		s.log = s.log.Level(zerolog.InfoLevel)
		requests = s.log
	}
	var err error
	if s.agent, err = findAgent(); err != nil {
		return nil, console.Exit(console.Failed, err)
	}
	workspace, err := filepath.Abs(settings.Workspace)
	if err != nil {
		return nil, console.Exit(console.Failed, err)
	}
	s.commands = newGatewayCommands(s.log, s.profile)
	s.runs, s.noRuns = s.commands.runs(workspace)
	o := gateway.Options{
		Workspace: workspace, Bind: settings.Bind, Port: settings.Port,
		AllowedOrigins: settings.AllowedOrigins, StrictOrigins: settings.StrictOrigins, AllowedHosts: settings.AllowedHosts, OpenReads: settings.OpenReads,
		NoTerminals:      !settings.terminals,
		ConversationsDir: settings.conversations,
		Version:          acpd.Version,
		Sessions:         session.Options{StateFile: sessionsFile(workspace, s.log), Log: s.log},
		Adapters:         func() ([]gateway.Adapter, error) { return adapters(s.agent, s.profile) },
		Commands:         s.commands,
		PersonSocket:     door.Path(workspace, os.Getenv),
		Log:              s.log, Requests: requests,
	}
	if s.runs != nil {
		o.Runs = s.runs
	}
	if s.gateway, err = gateway.New(o); err != nil {
		s.close()
		return nil, console.Exit(console.Usage, err)
	}
	return s, nil
}

// start begins to listen, and says where.
func (s *server) start(ctx context.Context) error {
	if err := s.gateway.Start(ctx); err != nil {
		return console.Exit(console.Failed, err)
	}
	if s.noRuns != nil {
		s.log.Warn().Err(s.noRuns).Msg("the runs of Ops are not shown")
	}
	for _, key := range s.unread {
		fmt.Fprintf(s.std.Err, "chant-acp: %s is set, and does nothing: nothing reads it yet\n", key)
	}
	fmt.Fprintf(s.std.Out, "%s serves %s\n", s.gateway.URL(), s.gateway.Workspace())
	return nil
}

// newHeartbeat begins the workspace's heartbeat, which ends with ctx. Without it there is
// no gateway either.
func (s *server) newHeartbeat(ctx context.Context) (*heartbeatRunner, error) {
	b := &heartbeatRunner{
		gateway: s.gateway, agent: ownAgent(s.agent, s.profile), log: s.log, project: s.commands.flags.Projects(os.Environ())(s.gateway.Workspace()),
	}
	if s.runs != nil {
		b.rt = s.runs.rt
	}
	if err := b.start(ctx); err != nil {
		return nil, console.Exit(console.Failed, errors.Join(err, s.gateway.Stop(context.Background())))
	}
	return b, nil
}

// stop ends what runs: all of it at the same time, and not one after the other.
func (s *server) stop() error {
	s.commands.leave()
	if s.runs != nil {
		s.runs.leave()
	}
	if err := s.gateway.Stop(context.Background()); err != nil {
		return console.Exit(console.Failed, err)
	}
	return nil
}

// close waits for what the server was given.
func (s *server) close() {
	if s.runs != nil {
		s.runs.close()
	}
	s.commands.close()
}

// sessionsFile is where a workspace's gateway writes its sessions down; "" where
// there is no place for it.
func sessionsFile(workspace string, log zerolog.Logger) string {
	if real, err := filepath.EvalSymlinks(workspace); err == nil {
		workspace = real
	}
	dir := filepath.Join(stateroot.Dir(os.Getenv), "gateways")
	if err := stateroot.Make(dir); err != nil {
		log.Warn().Err(err).Msg("the sessions are not written down, and not listed after a restart")
		return ""
	}
	digest := sha256.Sum256([]byte(workspace))
	return filepath.Join(dir, hex.EncodeToString(digest[:8])+".json")
}

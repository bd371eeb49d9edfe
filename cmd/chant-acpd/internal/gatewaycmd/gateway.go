package gatewaycmd

import (
	"context"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/runtime/gateway"
)

// gatewayFlags are the flags of `chant-acp gateway`.
type gatewayFlags struct {
	workspace, bind, profile string
	port                     int
	jsonLog, heartbeat       bool
}

// New is the command. agent finds chant-acp, which is the workspace's own agent.
func New(std console.Streams, agent func() (string, error)) *cobra.Command {
	var f gatewayFlags
	c := &cobra.Command{
		Use:   "gateway",
		Short: "Serve a workspace's sessions, terminals and commands over HTTP on this machine",
		Long: `Gateway serves what runs in a workspace over HTTP: agents and terminals that it
keeps alive, what happens to them, conversations, and the allow-list as tools of
the Model Context Protocol. docs/gateway.md shows every route.

Its address and its token, which is new at each start, are in
.chant-acp/runtime.json of the workspace, for this user only. It runs until
SIGINT, SIGTERM or SIGHUP, and ends what it started.

On an address beyond this machine every route wants the token, and what is sent
is not encrypted: put a proxy with TLS in front of it.

What flags do not say, the configuration does: see "chant-acp config".`,
		Args: cobra.NoArgs,
	}
	c.RunE = func(*cobra.Command, []string) error { return serveGateway(std, agent, &f, c.Flags().Changed) }
	fs := c.Flags()
	fs.StringVar(&f.workspace, "workspace", "", "the folder to serve (default: daemon.workspace, else the current one)")
	fs.IntVar(&f.port, "port", gateway.DefaultPort, "the port to listen on; 0 takes one that is free")
	fs.StringVar(&f.bind, "bind", gateway.DefaultBind, "the address to listen on")
	fs.BoolVar(&f.jsonLog, "json-log", false, "log each request on standard error, as JSON")
	fs.BoolVar(&f.heartbeat, "heartbeat", false, "run the workspace's HEARTBEAT.md, as far as it is trusted: see chant-acp heartbeat")
	fs.StringVar(&f.profile, "profile", "", "the profile of the configuration that counts")
	return c
}

// serveGateway serves until a signal comes.
func serveGateway(std console.Streams, findAgent func() (string, error), f *gatewayFlags, given func(string) bool) error {
	settings, err := f.settings(given)
	if err != nil {
		return err
	}
	s, err := prepare(std, findAgent, f, settings)
	if err != nil {
		return err
	}
	defer s.close()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := s.start(ctx); err != nil {
		return err
	}
	if f.heartbeat {
		b, err := s.newHeartbeat(ctx)
		if err != nil {
			return err
		}
		defer b.wait()
		defer stop()
	}
	if std.Out.Lost() == nil { // not where nobody can have read the address
		<-ctx.Done()
	}
	return s.stop()
}

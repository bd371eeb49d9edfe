package gatewaycmd

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/rs/zerolog"
	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/cmd/internal/serve"
	"github.com/chant-acp/chant-acp/internal/acpd"
	"github.com/chant-acp/chant-acp/internal/origin"
	"github.com/chant-acp/chant-acp/internal/stateroot"
	"github.com/chant-acp/chant-acp/runtime/gateway"
	"github.com/chant-acp/chant-acp/runtime/session"
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

func serveGateway(std console.Streams, findAgent func() (string, error), f *gatewayFlags, given func(string) bool) error {
	settings, err := f.settings(given)
	if err != nil {
		return err
	}
	log := zerolog.New(std.Err).Level(zerolog.WarnLevel).With().Timestamp().Logger()
	requests := zerolog.Nop()
	if f.jsonLog {
		log = log.Level(zerolog.InfoLevel)
		requests = log
	}
	self, err := findAgent()
	if err != nil {
		return console.Exit(console.Failed, err)
	}
	workspace, err := filepath.Abs(settings.Workspace)
	if err != nil {
		return console.Exit(console.Failed, err)
	}
	commands := newGatewayCommands(log, f.profile)
	defer commands.close()
	runs, noRuns := commands.runs(workspace)
	if noRuns == nil {
		defer runs.close()
	}
	o := gateway.Options{
		Workspace: workspace, Bind: settings.Bind, Port: settings.Port,
		AllowedOrigins: settings.AllowedOrigins, StrictOrigins: settings.StrictOrigins, OpenReads: settings.OpenReads,
		ConversationsDir: settings.conversations,
		Version:          acpd.Version,
		Sessions:         session.Options{StateFile: sessionsFile(workspace, log), Log: log},
		Adapters:         func() ([]gateway.Adapter, error) { return adapters(self, f.profile) },
		Commands:         commands,
		Log:              log, Requests: requests,
	}
	if runs != nil {
		o.Runs = runs
	}
	g, err := gateway.New(o)
	if err != nil {
		return console.Exit(console.Usage, err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer stop()
	if err := g.Start(ctx); err != nil {
		return console.Exit(console.Failed, err)
	}
	if noRuns != nil {
		log.Warn().Err(noRuns).Msg("the runs of Ops are not shown")
	}
	fmt.Fprintf(std.Out, "%s serves %s\n", g.URL(), g.Workspace())
	if f.heartbeat {
		b := &beat{gateway: g, agent: ownAgent(self, f.profile), log: log}
		if runs != nil {
			b.rt = runs.rt
		}
		if err := b.start(ctx); err != nil {
			return console.Exit(console.Failed, errors.Join(err, g.Stop(context.Background())))
		}
		defer b.wait()
		defer stop()
	}
	if std.Out.Lost() == nil { // else nobody was told where it is
		<-ctx.Done()
	}
	commands.leave() // at the same time, and not when all else has ended
	if runs != nil {
		runs.leave()
	}
	if err := g.Stop(context.Background()); err != nil {
		return console.Exit(console.Failed, err)
	}
	return nil
}

// adapters are the agents that can be started: our own, and what the
// configuration names now.
func adapters(self, profile string) ([]gateway.Adapter, error) {
	s, err := loadSettings(profile)
	if err != nil {
		return nil, err
	}
	const own = "chant-acp"
	var list []gateway.Adapter
	if _, other := s.Adapters[own]; !other {
		list = append(list, gateway.Adapter{
			Slug: own, Command: ownAgent(self, profile, "--confirm", "ask", "--gates", "ask"), Env: personal(),
			Description: "The allow-listed commands of a project", MCP: true,
		})
	}
	for _, slug := range slices.Sorted(maps.Keys(s.Adapters)) {
		a := s.Adapters[slug]
		var env []string
		if slug == own {
			env = personal()
		}
		for _, name := range slices.Sorted(maps.Keys(a.Env)) {
			env = append(env, name+"="+a.Env[name])
		}
		list = append(list, gateway.Adapter{Slug: slug, Command: a.Command, Env: env, Description: a.Description, MCP: a.MCP})
	}
	return list, nil
}

// ownAgent is the command of our own agent, which the gateway's profile is for, too.
func ownAgent(self, profile string, flags ...string) []string {
	command := append([]string{self, "serve"}, flags...)
	if profile != "" {
		command = append(command, "--profile", profile)
	}
	return command
}

// personal is what makes the one who speaks to the gateway the person behind our
// own agent, which is else a program that another one runs. Other agents, which
// may be models, do not get it.
func personal() []string {
	if serve.Origin(os.Getenv) != agent.OriginClient {
		return nil
	}
	return []string{origin.Variable + "=" + origin.Client}
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

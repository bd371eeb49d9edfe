package gateway

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/rs/zerolog"

	"github.com/chant-acp/chant-acp/runtime/person"
	"github.com/chant-acp/chant-acp/runtime/person/door"
	"github.com/chant-acp/chant-acp/runtime/session"
)

const (
	// DefaultPort is where clients look first.
	DefaultPort = 18790
	// DefaultBind is the address for this machine alone.
	DefaultBind = "127.0.0.1"
	// StopTime is how long Stop takes at most.
	StopTime = 5 * time.Second

	// answerTime is how long a client may take to take an answer.
	answerTime = 30 * time.Second
	maxHeader  = 32 << 10 // bytes
)

// times are what tests do not wait for.
type times struct {
	header    time.Duration // for the headers of a request
	idle      time.Duration // until the next request of a connection
	keepAlive time.Duration // until a comment is sent in a stream where nothing else is
	write     time.Duration // for which the reader of a stream may take nothing
	ask, pong time.Duration // until a terminal's client is asked whether it is there, and until it has answered
}

var usualTimes = times{header: 10 * time.Second, idle: 2 * time.Minute, keepAlive: 15 * time.Second, write: 10 * time.Second, ask: 30 * time.Second, pong: 10 * time.Second}

// Options are what a gateway is made with.
type Options struct {
	// Workspace is the folder it serves. Its runtime.json is written there.
	Workspace string
	// Bind is an IP address, or a host name that resolves to one; "": DefaultBind.
	// Beyond loopback every route wants the token.
	Bind string
	// Port 0 takes one that is free.
	Port int
	// Token is the bearer token; "": 32 random bytes.
	Token string

	// AllowedOrigins are pages' origins that are trusted beside those of this
	// machine, such as "https://example.org". StrictOrigins trusts only them.
	AllowedOrigins []string
	StrictOrigins  bool
	// AllowedHosts are names by which a proxy in front of the gateway asks for it,
	// without ports. With one of them nothing is open without the token.
	AllowedHosts []string
	// NoTerminals refuses to start terminals.
	NoTerminals bool
	// OpenReads opens the routes that show content to all of this machine.
	OpenReads bool
	// MaxConnections is how many connections are kept; 0: 4,096, or what the limit
	// of open files leaves.
	MaxConnections int

	// ConversationsDir is where conversations are; "": .chant-acp/conversations of
	// the workspace.
	ConversationsDir string
	// Version is told to clients.
	Version string
	// PersonSocket is where people get the capability to decide; "": nowhere. It is
	// opened where this process may decide itself.
	PersonSocket string

	// Sessions configure the registry that the gateway opens and shuts down.
	Sessions session.Options
	// Adapters lists the agents that can be started; nil: none. It is asked each
	// time, and may fail: what was known before then counts.
	Adapters func() ([]Adapter, error)
	// Commands is the allow-list, for MCP; nil: no tools for it.
	Commands Commands
	// Runs are the runs of Ops; nil: none.
	Runs Runs

	// Log takes what goes wrong, Requests a line for each request. Neither is told
	// tokens, queries or bodies.
	Log, Requests zerolog.Logger
}

// Gateway is one running gateway. Make it with New.
type Gateway struct {
	o      Options
	access access
	token  string
	times  times
	hub    *hub

	running  sync.Mutex // held by Start and Stop
	claim    *claim
	listener net.Listener
	server   *http.Server
	url      string
	sessions *session.Registry
	door     *door.Door      // nil: none
	voucher  *person.Voucher // the same
	stopped  bool

	// life ends when Stop begins: streams and turns are told by it.
	life    context.Context
	endLife context.CancelCauseFunc
	work    work
}

// errStopping is why streams end when the gateway does.
var errStopping = errors.New("the gateway stops")

// New makes a gateway that does not run yet. The error says which option is wrong.
func New(o Options) (*Gateway, error) {
	if o.Workspace == "" {
		return nil, errors.New("a gateway needs a workspace")
	}
	if o.Bind == "" {
		o.Bind = DefaultBind
	}
	if o.Port < 0 || o.Port > 65535 {
		return nil, fmt.Errorf("the port %d is not one: it must be from 1 to 65535, or 0 for any that is free", o.Port)
	}
	if o.Token == "" {
		o.Token = newToken()
	} else if strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, errors.New("the token may have printable ASCII characters without spaces only")
	}
	g := &Gateway{o: o, token: o.Token, times: usualTimes, hub: newHub(time.Now, o.Log)}
	g.access.token, g.access.openReads, g.access.strict = sha256.Sum256([]byte(o.Token)), o.OpenReads, o.StrictOrigins
	for _, host := range o.AllowedHosts {
		name := strings.ToLower(strings.TrimSuffix(host, "."))
		if name == "" || name != hostName(name) || strings.ContainsAny(name, "/:@*, ") {
			return nil, fmt.Errorf("the allowed host %q is not one: it is a name without a port, such as panel.example", host)
		}
		g.access.hosts, g.access.proxied = append(g.access.hosts, name), true
	}
	for _, origin := range o.AllowedOrigins {
		normal := strings.ToLower(strings.TrimSuffix(origin, "/"))
		if !(&access{origins: []string{normal}}).trusts(normal) {
			return nil, fmt.Errorf("the allowed origin %q is not one: it is a scheme and a host, such as https://example.org", origin)
		}
		g.access.origins = append(g.access.origins, normal)
	}
	g.life, g.endLife = context.WithCancelCause(context.Background())
	return g, nil
}

// URL is where it listens, as clients of this machine reach it.
func (g *Gateway) URL() string { return g.url }

// Workspace is the folder it serves, without links.
func (g *Gateway) Workspace() string { return g.claim.workspace }

// Sessions is its registry. It is there once Start has returned.
func (g *Gateway) Sessions() *session.Registry { return g.sessions }

// Publish tells the readers of /events that something happened. data is what
// encoding/json takes.
func (g *Gateway) Publish(kind string, data any) { g.hub.publish(kind, data) }

// Start takes the workspace, listens, and returns. ctx bounds only that. A
// gateway that runs there already is a *RunningError. A gateway starts once.
func (g *Gateway) Start(ctx context.Context) (err error) {
	g.running.Lock()
	defer g.running.Unlock()
	if g.claim != nil || g.stopped {
		return errors.New("this gateway was started before")
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.undo())
		}
	}()
	if g.claim, err = claimWorkspace(ctx, g.o.Workspace); err != nil {
		return err
	}
	if err = g.listen(ctx); err != nil {
		return err
	}
	o := g.o.Sessions
	notify := o.Notify
	o.Notify = func(e session.Event) {
		g.hub.sessionEvent(e)
		if notify != nil {
			notify(e)
		}
	}
	if g.sessions, err = session.Open(o); err != nil {
		return err
	}
	at := ""
	if g.o.PersonSocket != "" && person.Decides() == nil {
		at = g.o.PersonSocket
		if g.voucher, err = person.NewVoucher(); err != nil {
			return err
		}
		if g.door, err = door.Open(at, &g.access.people); err != nil {
			return err
		}
	}
	started := time.Now()
	g.serve(started)
	return g.claim.announce(Running{
		Person: at, Version: 1, URL: g.url, Token: g.token, PID: os.Getpid(), Workspace: g.claim.workspace, Started: started.UTC(),
	})
}

// undo takes back what a failed Start did.
func (g *Gateway) undo() error {
	g.stopped = true
	if g.claim == nil {
		return nil
	}
	return g.shutDown()
}

// listen opens the address, and learns what that means for access.
func (g *Gateway) listen(ctx context.Context) error {
	var config net.ListenConfig
	network := "tcp"
	if ip, err := netip.ParseAddr(g.o.Bind); err == nil && ip.Is4() {
		network = "tcp4" // 0.0.0.0 would be all of IPv6, too
	}
	l, err := config.Listen(ctx, network, net.JoinHostPort(strings.Trim(g.o.Bind, "[]"), strconv.Itoa(g.o.Port)))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("port %d of %s is in use: take another one with --port, or 0 for any that is free", g.o.Port, g.o.Bind)
	case errors.Is(err, syscall.EADDRNOTAVAIL):
		return fmt.Errorf("%s is not an address of this machine: take one with --bind that is", g.o.Bind)
	case err != nil:
		return fmt.Errorf("listening on %s, port %d: %w", g.o.Bind, g.o.Port, err)
	}
	at, err := netip.ParseAddrPort(l.Addr().String())
	g.access.loopback = err == nil && at.Addr().Unmap().IsLoopback()
	if !g.access.loopback {
		g.access.hosts = append(g.access.hosts, machineNames(g.o.Bind)...)
	}
	g.listener, g.url = l, urlOf(l)
	return nil
}

// serve begins to answer.
func (g *Gateway) serve(started time.Time) {
	conns := newConnections(g.listener, maxConnections(g.o.MaxConnections))
	router := &router{access: &g.access, log: g.o.Log, requests: g.o.Requests, life: g.life, work: &g.work}
	conversations := conversationRoutes{dir: g.conversationsDir(), hub: g.hub}
	g.server = &http.Server{
		Handler:           router.handler(g.routes(started, conversations)),
		ReadHeaderTimeout: g.times.header,
		IdleTimeout:       g.times.idle,
		MaxHeaderBytes:    maxHeader,
		ConnState:         conns.state,
		ErrorLog:          serverLog(g.o.Log),
		BaseContext:       func(net.Listener) context.Context { return g.life },
	}
	g.work.Go(func() {
		if err := g.server.Serve(conns); !errors.Is(err, http.ErrServerClosed) {
			g.o.Log.Error().Err(err).Msg("the gateway listens no more")
		}
	})
	g.work.Go(func() { conversations.watch(g.life) })
}

// routes lists every route: those of each group.
func (g *Gateway) routes(started time.Time, conversations conversationRoutes) []route {
	workspace := g.claim.workspace
	streams := streams{log: g.o.Log, times: g.times}
	adapters := &adapterRoutes{configured: g.o.Adapters, hub: g.hub, log: g.o.Log}
	runs := runRoutes{runs: g.o.Runs, hub: g.hub}
	tools := mcpRoutes{
		workspace: workspace, version: g.o.Version, life: g.life,
		sessions: g.sessions, adapters: adapters, commands: g.o.Commands, runs: runs,
		posts: new(posts), once: new(once), slots: make(chan struct{}, maxCalls), times: g.times,
	}
	return slices.Concat(
		healthRoutes{access: &g.access, version: g.o.Version, workspace: workspace, started: started}.routes(),
		eventRoutes{hub: g.hub, streams: streams}.routes(),
		conversations.routes(),
		adapters.routes(),
		(&sessionRoutes{access: &g.access, registry: g.sessions, workspace: workspace, life: g.life, noTerminals: g.o.NoTerminals}).routes(),
		agentRoutes{registry: g.sessions, adapters: adapters, workspace: workspace, life: g.life, isPerson: g.access.isPerson, voucher: g.voucher}.routes(),
		outputRoutes{registry: g.sessions, streams: streams, life: g.life}.routes(),
		runs.routes(),
		tools.routes(),
	)
}

// conversationsDir is where conversations are.
func (g *Gateway) conversationsDir() string {
	if g.o.ConversationsDir != "" {
		return g.o.ConversationsDir
	}
	return filepath.Join(g.claim.dir, "conversations")
}

// Stop takes no new requests, ends streams, turns and children, and takes the
// address back, within StopTime. It may be called more than once; ctx may make
// it shorter.
func (g *Gateway) Stop(ctx context.Context) error {
	g.running.Lock()
	defer g.running.Unlock()
	if g.stopped || g.claim == nil {
		g.stopped = true
		return nil
	}
	g.stopped = true
	ctx, cancel := context.WithTimeout(ctx, StopTime-500*time.Millisecond)
	defer cancel()
	return g.shutDownWithin(ctx)
}

func (g *Gateway) shutDown() error {
	ctx, cancel := context.WithTimeout(context.Background(), StopTime-500*time.Millisecond)
	defer cancel()
	return g.shutDownWithin(ctx)
}

// shutDownWithin ends what runs, in order: streams and turns, then children, then
// the connections that are left.
func (g *Gateway) shutDownWithin(ctx context.Context) error {
	g.endLife(errStopping)
	if g.door != nil {
		g.door.Close()
	}
	g.work.end()
	var errs []error
	var closing sync.WaitGroup
	if g.server != nil {
		closing.Go(func() { _ = g.server.Shutdown(ctx) }) // connections that are left are closed below
	} else if g.listener != nil {
		_ = g.listener.Close()
	}
	if g.sessions != nil {
		if err := g.sessions.Shutdown(ctx); err != nil {
			errs = append(errs, fmt.Errorf("ending the sessions: %w", err))
		}
	}
	closing.Wait()
	if g.server != nil {
		_ = g.server.Close()
	}
	if err := g.work.wait(ctx); err != nil {
		errs = append(errs, err)
	}
	if g.voucher != nil {
		g.voucher.Close()
	}
	if err := g.claim.release(); err != nil {
		errs = append(errs, fmt.Errorf("taking the gateway's address back: %w", err))
	}
	return errors.Join(errs...)
}

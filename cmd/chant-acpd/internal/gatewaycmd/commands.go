package gatewaycmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/cmd/internal/serve"
	"github.com/chant-acp/chant-acp/host/subject"
	"github.com/chant-acp/chant-acp/internal/acpd"
	"github.com/chant-acp/chant-acp/internal/origin"
	"github.com/chant-acp/chant-acp/runtime/gateway"
)

// gatewayCommands runs the allow-list for MCP, through an agent in this process:
// one program at a time, as everywhere.
type gatewayCommands struct {
	log   zerolog.Logger
	flags serve.Flags
	agent *agent.Agent
	err   error // why there is no agent

	life    context.Context
	leave   context.CancelFunc
	serving sync.WaitGroup
}

func newGatewayCommands(log zerolog.Logger, profile string) *gatewayCommands {
	f := serve.DefaultFlags()
	f.Profile = profile
	c := &gatewayCommands{log: log, err: f.Configure(), flags: f}
	c.agent = c.flags.AgentIn(append(os.Environ(), origin.Variable+"="+origin.MCP), log, nil)
	c.life, c.leave = context.WithCancel(context.Background())
	return c
}

// close ends what still runs.
func (c *gatewayCommands) close() {
	c.leave()
	c.serving.Wait()
}

// runs are those of a workspace's project.
func (c *gatewayCommands) runs(workspace string) (*gatewayRuns, error) {
	rt, err := c.flags.Projects(os.Environ())(workspace).Ops()
	if err != nil {
		return nil, err
	}
	return newGatewayRuns(rt, c.log, serve.Origin(os.Getenv) == agent.OriginClient), nil
}

// mostText is how much of what a turn says is returned.
const mostText = 256 << 10

// mcpTurn is the client of one connection to the agent.
type mcpTurn struct {
	commands chan []acp.AvailableCommand
	progress func(text string) // set before a prompt; nil without one

	mu   sync.Mutex
	text strings.Builder
	cut  bool
}

// SessionUpdate collects.
func (m *mcpTurn) SessionUpdate(n acp.SessionNotification) {
	switch u := n.Update.(type) {
	case acp.AvailableCommandsUpdate:
		select {
		case m.commands <- u.AvailableCommands:
		default: // the first is enough
		}
	case acp.AgentMessageChunk:
		if m.progress != nil {
			m.progress(u.Content.Text)
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if room := mostText - m.text.Len(); len(u.Content.Text) > room {
			m.text.WriteString(strings.ToValidUTF8(u.Content.Text[:room], ""))
			m.cut = true
		} else {
			m.text.WriteString(u.Content.Text)
		}
	}
}

// RequestPermission allows nothing: nobody is there to be asked.
func (m *mcpTurn) RequestPermission(context.Context, acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	return acp.RequestPermissionResponse{Outcome: acp.PermissionOutcome{Outcome: acp.OutcomeCancelled}}, nil
}

// session opens a session for one call. The caller closes the connection.
func (c *gatewayCommands) session(ctx context.Context, cwd string) (*mcpTurn, *acp.ClientConn, string, error) {
	if c.err != nil {
		return nil, nil, "", c.err
	}
	here, there := acp.Pipe()
	c.serving.Go(func() { _ = c.agent.ServeAs(c.life, there, agent.OriginMCP) }) // ends with the pipe, which the caller closes
	m := &mcpTurn{commands: make(chan []acp.AvailableCommand, 1)}
	conn := acp.Connect(here, m, c.log)
	_, err := conn.Initialize(ctx, acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersion,
		ClientInfo:      &acp.Implementation{Name: "chant-acp-gateway", Version: acpd.Version},
	})
	if err != nil {
		_ = conn.Close()
		return nil, nil, "", fmt.Errorf("opening a session: %w", err)
	}
	s, err := conn.NewSession(ctx, acp.NewSessionRequest{Cwd: cwd})
	if err != nil {
		_ = conn.Close()
		return nil, nil, "", fmt.Errorf("opening a session: %w", err)
	}
	return m, conn, s.SessionID, nil
}

// List lists the commands of a folder.
func (c *gatewayCommands) List(ctx context.Context, cwd string) ([]gateway.Command, error) {
	m, conn, _, err := c.session(ctx, cwd)
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	select {
	case commands := <-m.commands:
		list := make([]gateway.Command, len(commands))
		for i, a := range commands {
			list[i] = gateway.Command{Name: a.Name, Description: a.Description}
		}
		return list, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Subject is what a line would run.
func (c *gatewayCommands) Subject(ctx context.Context, cwd, line string) (subject.Subject, error) {
	if c.err != nil {
		return subject.Subject{}, c.err
	}
	return serve.LineSubject(ctx, c.flags.Projects(os.Environ())(cwd), line)
}

// cancelTime is how long a turn that was cancelled may take to say how it ended.
const cancelTime = 3 * time.Second

// Run runs one command line.
func (c *gatewayCommands) Run(ctx context.Context, cwd, line string, progress func(text string)) (gateway.Outcome, error) {
	m, conn, id, err := c.session(ctx, cwd)
	if err != nil {
		return gateway.Outcome{}, err
	}
	defer conn.Close()
	m.progress = progress
	waits, giveUp := context.WithCancelCause(context.WithoutCancel(ctx))
	sent, err := conn.Send(ctx, acp.MethodSessionPrompt, acp.PromptRequest{SessionID: id, Prompt: []acp.ContentBlock{acp.Text(line)}})
	if err != nil {
		giveUp(nil)
		return gateway.Outcome{}, err
	}
	// The cancel follows the prompt on the same connection: a turn that waits for
	// its place does not start, and one that runs ends.
	var cancelling sync.WaitGroup
	defer cancelling.Wait()
	defer giveUp(nil)
	cancelling.Go(func() {
		select {
		case <-ctx.Done():
		case <-waits.Done():
			return
		}
		_ = conn.Cancel(waits, id)
		limit := time.NewTimer(cancelTime)
		defer limit.Stop()
		select {
		case <-limit.C:
			giveUp(context.Cause(ctx))
		case <-waits.Done():
		}
	})
	var r acp.PromptResponse
	err = sent.Wait(waits, &r)
	var refused *acp.Error
	if errors.As(err, &refused) {
		return gateway.Outcome{}, err
	}
	var o serve.Outcome
	if err == nil {
		o, err = serve.OutcomeOf(r.Meta)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	out := gateway.Outcome{Outcome: o.Outcome, ExitCode: o.ExitCode, Text: m.text.String(), Cut: m.cut}
	if err != nil { // it may have run
		out.Outcome = "interrupted"
		out.Text += "\nHow it ended is not known: " + err.Error()
	}
	return out, nil
}

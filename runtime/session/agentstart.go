package session

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/host/process"
	"github.com/chant-acp/chant-acp/internal/brief"
	"github.com/chant-acp/chant-acp/internal/termtext"
)

const (
	// agentStartLimit bounds the time until an agent has a session: some fetch themselves first.
	agentStartLimit = time.Minute
	// stderrSize is how much of what an agent prints on standard error is kept, in bytes.
	stderrSize = 2 << 10
	// maxNoise is how many lines that are no messages an agent may print before it has a session.
	maxNoise = 100
)

var (
	errStartLimit = errors.New("it took too long")
	errNoise      = errors.New("what it prints is not the protocol")
)

// StartAgent starts an ACP agent and opens a session in it. ctx bounds the start, as does a limit
// of a minute. The error is an *AgentError where the program was found and started.
func (r *Registry) StartAgent(ctx context.Context, spec AgentSpec) (*Session, error) {
	s, p, err := r.prepare(KindAgent, spec.Name, spec.Command, spec.Cwd, spec.Env)
	if err != nil {
		return nil, err
	}
	s.info.State, s.info.Adapter, s.info.MCP = StateStarting, spec.Adapter, spec.MCP
	s.person, p.Extra = spec.Person, spec.Extra
	if err := r.begin(); err != nil {
		return nil, err
	}
	child, err := s.startAgent(ctx, p)
	if err != nil {
		r.running.Done()
		return nil, err
	}
	if err := s.adopt(child, nil); err != nil {
		s.agent.close(child.Wait())
		return nil, err
	}
	limited, cancel := context.WithTimeoutCause(ctx, r.startLimit, errStartLimit)
	defer cancel()
	if err := s.agent.handshake(limited, spec); err != nil {
		if ctx.Err() != nil {
			err = &advisedError{context.Cause(ctx)}
		}
		child.Stop(process.Cancelled)
		<-s.done // at most the ladder's 3 s
		r.remove(s)
		return nil, s.agent.failure(spec.Command, err)
	}
	return s, nil
}

// startAgent starts the program and connects to it.
func (s *Session) startAgent(ctx context.Context, spec process.Spec) (*process.Process, error) {
	a := &agentSide{session: s, stderr: new(stderrTail), exited: make(chan struct{})}
	read, write := io.Pipe()
	spec.Output = func(p []byte) { _, _ = write.Write(p) } // fails when nobody listens any more
	spec.OutputEnd = func() { _ = write.Close() }
	spec.Errors = a.stderr.write
	p, err := process.Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	a.stdin = p.Input()
	a.stdout = &agentOutput{Transport: acp.NewTransport(read, a.stdin), pipe: read, starting: true}
	s.agent = a
	a.conn = acp.Connect(a.stdout, a, s.registry.opts.Log.With().Str("session", s.id).Logger())
	a.work.Go(a.watch)
	return p, nil
}

// handshake opens a session in the agent.
func (a *agentSide) handshake(ctx context.Context, spec AgentSpec) error {
	var hello struct {
		ProtocolVersion int                 `json:"protocolVersion"`
		AgentInfo       *acp.Implementation `json:"agentInfo"`
		AuthMethods     []acp.AuthMethod    `json:"authMethods"`
	}
	err := a.call(ctx, acp.MethodInitialize, acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersion, // and no capabilities: neither files nor terminals are offered
		ClientInfo:      &acp.Implementation{Name: clientName, Title: "chant-acp sessions", Version: "1"},
	}, &hello)
	if err != nil {
		return err
	}
	if hello.ProtocolVersion != acp.ProtocolVersion {
		return &advisedError{fmt.Errorf("it speaks version %d of the protocol, and version %d is needed; install another version of it", hello.ProtocolVersion, acp.ProtocolVersion)}
	}
	var session struct {
		SessionID string `json:"sessionId"`
	}
	err = a.call(ctx, acp.MethodSessionNew, acp.NewSessionRequest{Cwd: spec.Cwd, McpServers: []acp.McpServer{}, Meta: spec.Meta}, &session)
	var refused *acp.Error
	if errors.As(err, &refused) && refused.Code == acp.CodeAuthRequired {
		return &advisedError{fmt.Errorf("%w; log in to it first, by its own command%s", err, authHints(hello.AuthMethods))}
	}
	if err == nil && session.SessionID == "" {
		err = errors.New("its answer to session/new has no sessionId")
	}
	if err != nil {
		return &advisedError{fmt.Errorf("%w; it speaks the protocol but opens no session: see by its own command that it works, and that it is logged in", err)}
	}
	return a.started(session.SessionID, hello.AgentInfo)
}

// clientName is what agents know us by.
const clientName = "chant-acp-sessions"

func authHints(methods []acp.AuthMethod) string {
	text := ""
	for i, m := range methods {
		if i == 0 {
			text = " (it offers: "
		} else {
			text += ", "
		}
		text += m.Name
	}
	if text != "" {
		text += ")"
	}
	return text
}

// started makes the session one that runs, unless the agent has ended in this moment.
func (a *agentSide) started(id string, agent *acp.Implementation) (err error) {
	a.stdout.settled()
	a.session.change(func(i *Info) []notice {
		if i.State != StateStarting || a.leaving {
			err = errors.New("it was ended before it could be used")
			return nil
		}
		a.id = id
		i.State, i.AgentSession = StateRunning, id
		if agent != nil {
			i.AgentName, i.AgentVersion = brief.Bytes(agent.Name, eventText), brief.Bytes(agent.Version, eventText)
		}
		a.show(i)
		return []notice{{EventStarted, nil}}
	})
	return err
}

// failure says why an agent, which has ended, could not be started, and what to do.
func (a *agentSide) failure(command []string, err error) error {
	e := &AgentError{Command: command, Err: err, Stderr: a.stderr.String()}
	var advised *advisedError
	if errors.As(err, &advised) {
		return e
	}
	if errors.Is(err, errStartLimit) {
		e.Err = fmt.Errorf("%w: there was no answer that can be understood within %v", err, a.session.registry.startLimit)
	}
	if noise := a.stdout.noise(); noise != "" {
		e.Err = fmt.Errorf("%w; on standard output it printed what is no message of the Agent Client Protocol, first %q", e.Err, noise)
	}
	e.Err = fmt.Errorf("%w; is it an ACP agent? Some become one by a flag. Run the command in a terminal to see what it does", e.Err)
	return e
}

// advisedError says itself what to do.
type advisedError struct{ error }

func (e *advisedError) Unwrap() error { return e.error }

// agentOutput is what an agent prints, without lines that can be no message: some greet on standard
// output.
type agentOutput struct {
	acp.Transport
	pipe     *io.PipeReader
	mu       sync.Mutex
	starting bool
	lines    int    // of noise
	first    string // of them
}

// ReadLine returns the next line that may be a message. It is not called any more when it has
// failed, and then what the agent prints must go on to be taken.
func (o *agentOutput) ReadLine() ([]byte, error) {
	line, err := o.nextLine()
	if err != nil && !errors.Is(err, acp.ErrLineTooLong) {
		_ = o.pipe.Close()
	}
	return line, err
}

func (o *agentOutput) nextLine() ([]byte, error) {
	for {
		line, err := o.Transport.ReadLine()
		if err != nil {
			return nil, err
		}
		text := bytes.TrimSpace(bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")))
		if len(text) == 0 || text[0] == '{' {
			return line, nil
		}
		if err := o.skip(text); err != nil {
			return nil, err
		}
	}
}

func (o *agentOutput) skip(text []byte) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.first == "" {
		o.first = brief.Bytes(termtext.LastLines(text[:min(len(text), 1<<10)], 1, 200), eventText)
	}
	if o.lines++; o.starting && o.lines >= maxNoise {
		return errNoise
	}
	return nil
}

func (o *agentOutput) settled() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.starting = false
}

// noise returns the first line that was no message.
func (o *agentOutput) noise() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.first
}

// stderrTail keeps the last that an agent prints on standard error.
type stderrTail struct {
	mu   sync.Mutex
	last []byte
}

func (t *stderrTail) write(p []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.last = append(t.last, p[max(0, len(p)-2*stderrSize):]...)
	if over := len(t.last) - 2*stderrSize; over > 0 {
		t.last = append(t.last[:0], t.last[over:]...)
	}
}

// String is the end of it as plain text, at most stderrSize bytes.
func (t *stderrTail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return termtext.LastLines(t.last, 100, stderrSize)
}

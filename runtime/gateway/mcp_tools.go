package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/host/subject"
	"github.com/chant-acp/chant-acp/internal/origin"
	"github.com/chant-acp/chant-acp/internal/termtext"
	"github.com/chant-acp/chant-acp/runtime/session"
)

type listCommandsIn struct {
	Cwd string `json:"cwd,omitempty" jsonschema:"an absolute path in the workspace; the workspace if it is left out"`
}

type listCommandsOut struct {
	Commands []Command `json:"commands"`
}

func (m mcpRoutes) listCommands(ctx context.Context, _ toolCall, in listCommandsIn) (listCommandsOut, error) {
	cwd, err := m.within(in.Cwd)
	if err != nil {
		return listCommandsOut{}, err
	}
	list, err := m.commands.List(ctx, cwd)
	if list == nil {
		list = []Command{}
	}
	return listCommandsOut{list}, err
}

type runCommandIn struct {
	Line string `json:"line" jsonschema:"the command and its arguments, such as: plan staging"`
	Cwd  string `json:"cwd,omitempty" jsonschema:"an absolute path in the workspace; the workspace if it is left out"`
	Key  string `json:"idempotencyKey,omitempty" jsonschema:"at most 200 bytes: the same key and line again return the first result and run nothing, as long as the line would run the same"`
}

func (m mcpRoutes) runCommand(ctx context.Context, c toolCall, in runCommandIn) (Outcome, error) {
	cwd, err := m.within(in.Cwd)
	if err != nil {
		return Outcome{}, err
	}
	return m.once.do(ctx, in.Key, cwd, in.Line, lineWork{
		subject: func() (subject.Subject, error) { return m.commands.Subject(ctx, cwd, in.Line) },
		run:     func() (Outcome, error) { return m.runListed(ctx, c, cwd, in.Line) },
	})
}

// maxCalls is how many lines may run or wait at once, for all clients.
const maxCalls = 64

// errEnded is why a call ends that somebody ended in the list of sessions.
var errEnded = errors.New("it was ended on request, as a session of the gateway")

// runListed runs a line as a session that people see, and can end.
func (m mcpRoutes) runListed(ctx context.Context, c toolCall, cwd, line string) (out Outcome, err error) {
	select {
	case m.slots <- struct{}{}:
		defer func() { <-m.slots }()
	default:
		return Outcome{}, fmt.Errorf("%d lines run or wait already: try again when one of them has ended", maxCalls)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	shown, text := io.Pipe()
	code := make(chan int, 1)
	listed, err := m.sessions.Register(session.Adopted{
		Kind: session.KindCall, Argv: []string{line}, Cwd: cwd, Output: shown,
		Wait: func() (int, string) { return <-code, "" },
		Stop: func() { cancel(errEnded) },
	})
	if err != nil {
		return Outcome{}, err
	}
	defer func() {
		_ = text.Close()
		code <- exitCode(out, err)
		<-listed.Done() // so that the list agrees with what the client is told
	}()
	return m.commands.Run(ctx, cwd, line, func(piece string) {
		_, _ = io.WriteString(text, piece) // the client reads until the call is over
		c.progress(piece)
	})
}

// exitCode is what the list of sessions shows of a call that is over.
func exitCode(out Outcome, err error) int {
	switch {
	case out.ExitCode != nil:
		return *out.ExitCode
	case err != nil || out.unsuccessful():
		return 1
	}
	return 0
}

type listRunsOut struct {
	Runs []Run `json:"runs"`
}

func (m mcpRoutes) listRuns(ctx context.Context, _ toolCall, _ none) (listRunsOut, error) {
	list, err := m.runs.all(ctx)
	return listRunsOut{list}, err
}

type sessionOut struct {
	ID      string `json:"id"`
	Name    string `json:"name,omitempty"`
	Kind    string `json:"kind" jsonschema:"agent, terminal, process or call (of run_command)"`
	State   string `json:"state" jsonschema:"starting, running or ended"`
	Adapter string `json:"adapter,omitempty"`
	Cwd     string `json:"cwd,omitempty"`
	Turn    string `json:"turn,omitempty" jsonschema:"of an agent: idle, running or waiting (for a person)"`
	MCP     bool   `json:"mcp" jsonschema:"the other tools may use it"`
}

func describe(i session.Info) sessionOut {
	return sessionOut{i.ID, i.Name, string(i.Kind), string(i.State), i.Adapter, i.Cwd, i.Turn, i.MCP}
}

type listSessionsOut struct {
	Sessions []sessionOut `json:"sessions"`
}

func (m mcpRoutes) listSessions(context.Context, toolCall, none) (listSessionsOut, error) {
	out := listSessionsOut{[]sessionOut{}}
	for _, i := range m.sessions.List() {
		out.Sessions = append(out.Sessions, describe(i))
	}
	return out, nil
}

type startAgentIn struct {
	Adapter string `json:"adapter" jsonschema:"which agent, such as chant-acp"`
	Cwd     string `json:"cwd,omitempty" jsonschema:"an absolute path in the workspace; the workspace if it is left out"`
	Name    string `json:"name,omitempty" jsonschema:"a name for the session"`
}

func (m mcpRoutes) startAgent(ctx context.Context, _ toolCall, in startAgentIn) (sessionOut, error) {
	a, err := m.adapters.find(in.Adapter)
	if err != nil {
		return sessionOut{}, err
	}
	if !a.MCP {
		return sessionOut{}, fmt.Errorf("the adapter %s is not open to MCP; a person may open it with: chant-acp config set adapters.%s.mcp true", a.Slug, a.Slug)
	}
	cwd, err := m.within(in.Cwd)
	if err != nil {
		return sessionOut{}, err
	}
	env := append(append([]string(nil), a.Env...), origin.Variable+"="+origin.MCP)
	s, err := m.sessions.StartAgent(ctx, session.AgentSpec{Adapter: a.Slug, Command: a.Command, Env: env, Cwd: cwd, Name: in.Name, MCP: true})
	if err != nil {
		return sessionOut{}, err
	}
	return describe(s.Info()), nil
}

type promptIn struct {
	Session string `json:"session" jsonschema:"the id or name of a session"`
	Prompt  string `json:"prompt"`
}

type promptOut struct {
	Outcome    string `json:"outcome,omitempty" jsonschema:"of chant-acp: completed, failed, refused, cancelled, waiting or interrupted"`
	StopReason string `json:"stopReason"`
	Text       string `json:"text"`
	Cut        bool   `json:"cut,omitempty" jsonschema:"the text was longer"`
}

func (m mcpRoutes) prompt(ctx context.Context, _ toolCall, in promptIn) (promptOut, error) {
	s, err := m.open(in.Session, session.KindAgent)
	if err != nil {
		return promptOut{}, err
	}
	begun, err := s.Begin(in.Prompt, nil)
	if err != nil {
		return promptOut{}, err
	}
	select {
	case <-begun.Done():
		turn, err := begun.Result()
		chant, _ := turn.Meta["chant"].(map[string]any)
		outcome, _ := chant["outcome"].(string)
		return promptOut{outcome, string(turn.StopReason), turn.Text, turn.Cut}, err
	case <-ctx.Done():
	}
	err = context.Cause(ctx)
	if !errors.Is(err, errStopping) { // stopping ends the session anyway
		err = errors.Join(err, s.Cancel())
	}
	return promptOut{}, err
}

func (o promptOut) unsuccessful() bool {
	return unsuccessful(o.Outcome) || o.StopReason == string(acp.StopRefusal) || o.StopReason == string(acp.StopCancelled)
}

type readTerminalIn struct {
	Session string `json:"session" jsonschema:"the id or name of a session"`
	Bytes   int    `json:"bytes,omitempty" jsonschema:"how much of the end, at most 65536; 8192 if it is left out"`
}

type readTerminalOut struct {
	Text  string `json:"text"`
	State string `json:"state"`
}

func (m mcpRoutes) readTerminal(_ context.Context, _ toolCall, in readTerminalIn) (readTerminalOut, error) {
	const usual, most = 8 << 10, 64 << 10
	s, err := m.open(in.Session, session.KindTerminal)
	if err != nil {
		return readTerminalOut{}, err
	}
	if in.Bytes < 0 || in.Bytes > most {
		return readTerminalOut{}, fmt.Errorf("bytes must be from 1 to %d", most)
	}
	if in.Bytes == 0 {
		in.Bytes = usual
	}
	return readTerminalOut{string(termtext.Clean(s.ReadTerminal(in.Bytes))), string(s.Info().State)}, nil
}

type writeTerminalIn struct {
	Session string `json:"session" jsonschema:"the id or name of a session"`
	Text    string `json:"text" jsonschema:"what is typed; a carriage return is the Enter key"`
}

func (m mcpRoutes) writeTerminal(ctx context.Context, _ toolCall, in writeTerminalIn) (none, error) {
	s, err := m.open(in.Session, session.KindTerminal)
	if err != nil {
		return none{}, err
	}
	return none{}, s.WriteTerminal(ctx, []byte(in.Text))
}

// open finds a session that MCP may use.
func (m mcpRoutes) open(idOrName string, kind session.Kind) (*session.Session, error) {
	s, err := m.sessions.Find(idOrName)
	if err != nil {
		return nil, err
	}
	switch info := s.Info(); {
	case info.Kind != kind:
		return nil, fmt.Errorf("%s is not of the kind %s: %w", info.ID, kind, session.ErrWrongKind)
	case !info.MCP && kind == session.KindAgent:
		return nil, fmt.Errorf("the session %s belongs to a person: use one that start_agent_session started", info.ID)
	case !info.MCP:
		return nil, fmt.Errorf("the terminal %s is not open to MCP: whoever starts one opens it with \"mcp\": true", info.ID)
	}
	return s, nil
}

// within returns the real path of a folder in the workspace, "" being itself: a
// tool must not choose an allow-list of its own elsewhere.
func (m mcpRoutes) within(cwd string) (string, error) {
	if cwd == "" {
		return m.workspace, nil
	}
	real, err := filepath.EvalSymlinks(cwd)
	if err != nil || !filepath.IsAbs(cwd) {
		return "", errors.New("cwd must be the absolute path of a folder in the workspace")
	}
	if real != m.workspace && !strings.HasPrefix(real, strings.TrimSuffix(m.workspace, "/")+string(os.PathSeparator)) {
		return "", fmt.Errorf("cwd is outside the workspace %s", m.workspace)
	}
	return real, nil
}

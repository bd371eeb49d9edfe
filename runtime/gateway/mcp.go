package gateway

import (
	"bytes"
	"context"
	"io"
	"net/http"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chant-acp/chant-acp/runtime/session"
)

// Commands is the allow-list of a folder. Turns that it runs have the origin MCP:
// what a person has to approve or confirm is refused. Implementations are safe for
// concurrent use.
type Commands interface {
	// List lists the commands of a folder.
	List(ctx context.Context, cwd string) ([]Command, error)
	// Run runs one command line to its end. A line that is not a command is an
	// Outcome as well, refused.
	Run(ctx context.Context, cwd, line string) (Outcome, error)
}

// Command is one of an allow-list.
type Command struct {
	Name        string `json:"name" jsonschema:"its first word"`
	Description string `json:"description" jsonschema:"its parameters and what it does"`
}

// Outcome is how a command line ended.
type Outcome struct {
	Outcome  string `json:"outcome" jsonschema:"completed, failed, refused, cancelled, waiting or interrupted"`
	ExitCode *int   `json:"exitCode,omitempty" jsonschema:"of the program, where one ran"`
	Text     string `json:"text" jsonschema:"what was said and printed"`
	Cut      bool   `json:"cut,omitempty" jsonschema:"the text was longer"`
}

const mcpInstructions = `These tools run the allow-listed commands of a workspace and look after its sessions.
A command is a line such as "plan staging"; list_commands shows which there are, and nothing else runs.
What a person has to approve or confirm can't be approved or confirmed here: say what waits, and ask the person.`

// mcpRoutes are the tools of the Model Context Protocol.
type mcpRoutes struct {
	workspace, version string
	life               context.Context // ends when the gateway stops
	sessions           *session.Registry
	adapters           *adapterRoutes
	commands           Commands // nil: no tools for it
	runs               runRoutes
}

func (m mcpRoutes) routes() []route {
	return []route{{"POST", "/mcp", needToken, true, m.handler()}}
}

// handler serves POST /mcp: Streamable HTTP without sessions, each request on its
// own.
func (m mcpRoutes) handler() handler {
	server := mcp.NewServer(&mcp.Implementation{Name: "chant-acp", Title: "chant", Version: m.version}, &mcp.ServerOptions{
		Instructions: mcpInstructions,
		Capabilities: &mcp.ServerCapabilities{},
	})
	m.addTools(server)
	streamable := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
		Stateless:    true,
		JSONResponse: true,
		// Host and Origin were checked before any route, with what the
		// configuration trusts.
		DisableLocalhostProtection:   true,
		MaxRequestBodyBytes:          maxBody,
		PropagateRequestCancellation: true,
	})
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := checkMedia(r.Header.Get("Content-Type")); err != nil {
			return err
		}
		raw, err := readAll(w, r)
		if err != nil {
			return err
		}
		r.Body = io.NopCloser(bytes.NewReader(raw))
		caught := &caughtErrors{ResponseWriter: w}
		streamable.ServeHTTP(caught, r)
		return caught.problem()
	}
}

// none is the input of tools without parameters.
type none struct{}

// tool adds a tool. Its work ends when the gateway does.
func tool[In, Out any](life context.Context, s *mcp.Server, name, description string, reads bool, do func(context.Context, In) (Out, error)) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: description, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: reads}},
		func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			defer context.AfterFunc(life, func() { cancel(errStopping) })()
			out, err := do(ctx, in)
			return nil, out, err
		})
}

func (m mcpRoutes) addTools(s *mcp.Server) {
	if m.commands != nil {
		tool(m.life, s, "list_commands", "List the commands that may run in the workspace, or in a folder of it.", true, m.listCommands)
		tool(m.life, s, "run_command", "Run one line, a command of list_commands with its arguments, and return what it printed.", false, m.runCommand)
	}
	tool(m.life, s, "list_runs", "List the runs of Ops and the gates that they wait at. A gate is approved by a person, not here.", true, m.listRuns)
	tool(m.life, s, "list_sessions", "List the sessions of agents and terminals.", true, m.listSessions)
	tool(m.life, s, "start_agent_session", "Start an agent that is open to MCP; GET /adapters tells which are. What an agent other than chant-acp runs does not pass the allow-list.", false, m.startAgent)
	tool(m.life, s, "prompt_agent_session", "Send a prompt to a session that start_agent_session started, and return what the agent said.", false, m.prompt)
	tool(m.life, s, "read_terminal", "Return the last of what a terminal that is open to MCP shows, as plain text.", true, m.readTerminal)
	tool(m.life, s, "write_terminal", "Type into a terminal that is open to MCP. What is typed there does not pass the allow-list.", false, m.writeTerminal)
}

package gateway

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chant-acp/chant-acp/host/subject"
	"github.com/chant-acp/chant-acp/runtime/session"
)

// Commands is the allow-list of a folder. Turns that it runs have the origin MCP:
// what a person has to approve or confirm is refused. Implementations are safe for
// concurrent use.
type Commands interface {
	// List lists the commands of a folder.
	List(ctx context.Context, cwd string) ([]Command, error)
	// Run runs one command line to its end, and gives progress what is said and printed,
	// piece by piece, from one goroutine. A line that is not a command is an Outcome
	// as well, refused; and so is one that was cancelled because ctx ended. An error
	// means that nothing ran.
	Run(ctx context.Context, cwd, line string, progress func(text string)) (Outcome, error)
	// Subject is what a line would run now, by its bytes. The error is that the line
	// is none, or that what it names can't be read.
	Subject(ctx context.Context, cwd, line string) (subject.Subject, error)
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

func (o Outcome) unsuccessful() bool { return unsuccessful(o.Outcome) }

// unsuccessful says of an outcome that what was asked for did not happen. What
// waits for a person may still.
func unsuccessful(outcome string) bool {
	switch outcome {
	case "failed", "refused", "cancelled", "interrupted":
		return true
	}
	return false
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
	posts              *posts
	once               *once
	slots              chan struct{} // has an item for each line that runs or waits
	times              times
}

func (m mcpRoutes) routes() []route {
	return []route{{"POST", "/mcp", needToken, true, m.handler()}}
}

// handler serves POST /mcp: Streamable HTTP without a state that a client could
// lose, each request on its own. The answer is JSON, or a stream where progress is
// asked for or JSON is not accepted.
func (m mcpRoutes) handler() handler {
	server := mcp.NewServer(&mcp.Implementation{Name: "chant-acp", Title: "chant", Version: m.version}, &mcp.ServerOptions{
		Instructions: mcpInstructions,
		Capabilities: &mcp.ServerCapabilities{},
	})
	m.addTools(server)
	serve := func(json bool) http.Handler {
		return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{
			Stateless:    true,
			JSONResponse: json,
			// Host and Origin were checked before any route, with what the
			// configuration trusts.
			DisableLocalhostProtection:   true,
			MaxRequestBodyBytes:          maxBody,
			PropagateRequestCancellation: true,
		})
	}
	whole, streamed := serve(true), serve(false)
	return func(w http.ResponseWriter, r *http.Request) error {
		if err := checkMedia(r.Header.Get("Content-Type")); err != nil {
			return err
		}
		asJSON, asStream := accepts(r.Header.Values("Accept"), "application/json"), accepts(r.Header.Values("Accept"), "text/event-stream")
		if !asJSON && !asStream {
			return notAcceptable.problem("the answer is application/json or text/event-stream; Accept one of them, or leave it out")
		}
		raw, err := readAll(w, r)
		if err != nil {
			return err
		}
		r.Body = io.NopCloser(bytes.NewReader(raw))
		r.Header.Set("Accept", "application/json, text/event-stream") // both are wanted there; which it is was decided here
		message := readMessage(raw)
		if message.Method == "initialize" {
			w.Header().Set(mcpSession, newToken())
		}
		ctx, leave := m.posts.enter(r, message)
		defer leave()
		r = r.WithContext(ctx)
		handler := whole
		if asStream && (!asJSON || message.Params.Meta.ProgressToken != nil) {
			handler = streamed
			w = &promptWriter{ResponseWriter: w, limit: m.times.write}
		}
		caught := &caughtErrors{ResponseWriter: w}
		handler.ServeHTTP(caught, r)
		return caught.problem()
	}
}

// promptWriter gives each write of a stream its own time.
type promptWriter struct {
	http.ResponseWriter
	limit time.Duration
}

func (p *promptWriter) Write(b []byte) (int, error) {
	_ = http.NewResponseController(p.ResponseWriter).SetWriteDeadline(time.Now().Add(p.limit))
	return p.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (p *promptWriter) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// none is the input of tools without parameters.
type none struct{}

// toolCall is what a tool may use of the call that it works for.
type toolCall struct {
	// progress tells the client of a piece of text, where it asked for progress.
	progress func(text string)
}

// verdict is a result that may say that what was asked for did not happen.
type verdict interface{ unsuccessful() bool }

// tool adds a tool. Its work ends when the gateway does, when whoever asked for it
// has gone, and when it is cancelled; it does not begin after that.
func tool[In, Out any](m mcpRoutes, s *mcp.Server, name, description string, reads bool, do func(context.Context, toolCall, In) (Out, error)) {
	mcp.AddTool(s, &mcp.Tool{Name: name, Description: description, Annotations: &mcp.ToolAnnotations{ReadOnlyHint: reads}},
		func(ctx context.Context, r *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
			ctx, cancel := context.WithCancelCause(ctx)
			defer cancel(nil)
			defer context.AfterFunc(m.life, func() { cancel(errStopping) })()
			if post, ok := postOf(ctx); ok {
				defer context.AfterFunc(post, func() { cancel(context.Cause(post)) })()
				if post.Err() != nil {
					cancel(context.Cause(post))
				}
			}
			if ctx.Err() != nil {
				var nothing Out
				return nil, nothing, fmt.Errorf("nothing was started: %w", context.Cause(ctx))
			}
			out, err := do(ctx, toolCall{progress: progressOf(ctx, r)}, in)
			result := new(mcp.CallToolResult)
			if v, ok := any(out).(verdict); ok && err == nil {
				result.IsError = v.unsuccessful()
			}
			return result, out, err
		})
}

func (m mcpRoutes) addTools(s *mcp.Server) {
	if m.commands != nil {
		tool(m, s, "list_commands", "List the commands that may run in the workspace, or in a folder of it.", true, m.listCommands)
		tool(m, s, "run_command", "Run one line, a command of list_commands with its arguments, and return what it printed.", false, m.runCommand)
	}
	tool(m, s, "list_runs", "List the runs of Ops and the gates that they wait at. A gate is approved by a person, not here.", true, m.listRuns)
	tool(m, s, "list_sessions", "List the sessions of agents and terminals.", true, m.listSessions)
	tool(m, s, "start_agent_session", "Start an agent that is open to MCP; GET /adapters tells which are. What an agent other than chant-acp runs does not pass the allow-list.", false, m.startAgent)
	tool(m, s, "prompt_agent_session", "Send a prompt to a session that start_agent_session started, and return what the agent said.", false, m.prompt)
	tool(m, s, "read_terminal", "Return the last of what a terminal that is open to MCP shows, as plain text.", true, m.readTerminal)
	tool(m, s, "write_terminal", "Type into a terminal that is open to MCP. What is typed there does not pass the allow-list.", false, m.writeTerminal)
}

package agentcmd

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/cmd/chant-acp/internal/printer"
	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/cmd/internal/serve"
	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/internal/acpd"
)

// promptFlags are the flags of `chant-acp prompt`.
type promptFlags struct {
	serve.Flags
	cwd       string
	yes, json bool
	exitCode  bool
}

// NewPrompt is the command prompt.
func NewPrompt(std console.Streams) *cobra.Command {
	var f promptFlags
	c := &cobra.Command{
		Use:   "prompt [flags] LINE",
		Short: "Run one prompt here and print the turn as a readable thread",
		Long: `Prompt runs one command line as an editor's prompt would, and prints the turn.
What has to be confirmed is asked for on the terminal; without one, it is not
run. Several arguments are one command line: each is one word of it. Flags of
chant-acp go before the line. The thread is not kept; the log of the command is.

Exit codes: 0 completed, 1 failed, 2 wrong usage, 3 refused, 4 waits for a
confirmation, or for a gate of an Op, 130 cancelled (Ctrl-C; twice: at once).
With --exit-code, a program that ran to its end gives its own code instead of 0
and 1: 128+N where signal N ended it.`,
		Example: `  chant-acp prompt help
  chant-acp prompt --cwd ~/shop plan staging
  chant-acp prompt --yes "restart dev web"`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New(`prompt takes a command line, such as "help"`)
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error { return prompt(std, &f, args) },
		ValidArgsFunction: func(_ *cobra.Command, args []string, partial string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return complete(f.cwd, args, partial)
		},
	}
	f.Register(c.Flags())
	c.Flags().StringVar(&f.cwd, "cwd", ".", "the directory of the session")
	c.Flags().BoolVar(&f.yes, "yes", false, "run what has to be confirmed without asking")
	c.Flags().BoolVar(&f.exitCode, "exit-code", false, "exit with the program's own code where one ran")
	c.Flags().BoolVar(&f.json, "json", false, "print the updates and the result as JSON, one object a line")
	c.Flags().SetInterspersed(false) // the rest is the prompt's own
	for _, name := range []string{"allow", "exit-idle", "refusal"} {
		_ = c.Flags().MarkHidden(name) // they exist; what they change is not seen here
	}
	return c
}

func prompt(std console.Streams, f *promptFlags, args []string) error {
	if err := f.Check(); err != nil {
		return err
	}
	if err := f.Configure(); err != nil {
		return err
	}
	if f.Gates == "durable" && !f.Has("gates") { // which is for clients that ask later
		f.Gates = "reply"
	}
	if f.Gates == "durable" {
		return errors.New("prompt is over with its turn, and can't be asked later: --gates takes reply or ask here")
	}
	cwd, err := filepath.Abs(f.cwd)
	if err != nil {
		return console.Exit(console.Failed, err)
	}
	log, closer, err := f.Logger(std.Err)
	if err != nil {
		return console.Exit(console.Failed, err)
	}
	defer closer.Close()

	f.Named = true // as with make, who types a command has chosen it
	here, there := acp.Pipe()
	ctx, leave := context.WithCancel(context.Background())
	var serving sync.WaitGroup
	serving.Go(func() { _ = f.Agent(log, nil).ServeAs(ctx, there, serve.Origin(os.Getenv)) }) // ends with the pipe, which is closed below
	defer serving.Wait()
	defer leave()

	answers, err := console.NewAnswers(std.In)
	if err != nil {
		return console.Exit(console.Failed, err)
	}
	defer answers.Close()
	p := &promptClient{std: std, f: f, printer: printer.New(std.Out, f.json), answers: answers}
	p.conn = acp.Connect(here, p, log)
	defer p.conn.Close()
	code, err := p.run(ctx, cwd, promptLine(args))
	if err != nil {
		return console.Exit(console.Failed, err)
	}
	if code != console.OK {
		return console.Exit(code, nil)
	}
	return nil
}

// promptLine is the command line: one argument as it is, several as one word
// each.
func promptLine(args []string) string {
	if len(args) == 1 {
		return args[0]
	}
	return command.Quote(args)
}

// promptClient is the client of one in-process agent.
type promptClient struct {
	std     console.Streams
	f       *promptFlags
	conn    *acp.ClientConn
	printer *printer.Printer
	answers *console.Answers
	session string
}

func (p *promptClient) run(ctx context.Context, cwd, line string) (int, error) {
	caps := acp.ClientCapabilities{}
	if console.IsTerminal(p.std.Out.File) && !p.f.json {
		caps.Meta = acp.Meta{"terminal_output": true}
		p.printer.NameSteps()
	}
	_, err := p.conn.Initialize(ctx, acp.InitializeRequest{
		ProtocolVersion: acp.ProtocolVersion, ClientCapabilities: caps,
		ClientInfo: &acp.Implementation{Name: agent.PromptClient, Version: acpd.Version},
	})
	if err != nil {
		return 0, err
	}
	s, err := p.conn.NewSession(ctx, acp.NewSessionRequest{Cwd: cwd})
	if err != nil {
		return 0, err
	}
	p.session = s.SessionID

	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	defer signal.Stop(signals)
	stop := make(chan struct{})
	var watching sync.WaitGroup
	watching.Go(func() { p.watch(ctx, signals, stop) })
	defer watching.Wait()
	defer close(stop)

	outcome, err := p.turn(ctx, line)
	if err != nil || outcome.Outcome != "waiting" || outcome.Confirm == "" {
		return p.exitCode(outcome), err
	}
	confirmed, answered := p.confirms(outcome.Confirm)
	if !answered {
		return console.Cancelled, nil
	}
	if confirmed {
		outcome, err = p.turn(ctx, "confirm "+outcome.Confirm)
	}
	return p.exitCode(outcome), err
}

// watch turns signals into cancels: the second one does not wait. A question
// that is open is not waited for either.
func (p *promptClient) watch(ctx context.Context, signals <-chan os.Signal, stop <-chan struct{}) {
	for {
		select {
		case <-signals:
			_ = p.conn.Cancel(ctx, p.session) // fails only when the agent is gone
			p.answers.GiveUp()
		case <-stop:
			return
		}
	}
}

// exitCode is the one that stands for how a turn ended.
func (p *promptClient) exitCode(o serve.Outcome) int {
	if p.f.exitCode && o.ExitCode != nil && (o.Outcome == "completed" || o.Outcome == "failed") && *o.ExitCode >= 0 {
		return *o.ExitCode
	}
	switch o.Outcome {
	case "completed":
		return console.OK
	case "refused":
		return console.Refused
	case "waiting":
		return console.Waiting
	case "cancelled", "interrupted":
		return console.Cancelled
	}
	return console.Failed
}

func (p *promptClient) turn(ctx context.Context, line string) (serve.Outcome, error) {
	p.printer.Prompt(line)
	r, err := p.conn.Prompt(ctx, acp.PromptRequest{SessionID: p.session, Prompt: []acp.ContentBlock{acp.Text(line)}})
	if err != nil {
		return serve.Outcome{}, err
	}
	p.printer.Result(r)
	return serve.OutcomeOf(r.Meta)
}

// confirms asks for a typed code on the terminal. answered is false when a
// signal came instead.
func (p *promptClient) confirms(code string) (confirmed, answered bool) {
	if p.f.yes {
		return true, true
	}
	if !console.IsTerminal(p.std.In) {
		fmt.Fprintln(p.std.Err, "chant-acp: nothing was run: there is no terminal to confirm on; --yes confirms beforehand")
		return false, true
	}
	text, answered := p.ask(fmt.Sprintf("Type confirm %s to run it: ", code))
	typed := strings.Fields(text)
	confirmed = len(typed) == 2 && typed[0] == "confirm" && typed[1] == code
	if !confirmed {
		fmt.Fprintln(p.std.Err, "Not confirmed: nothing was run.")
	}
	return confirmed, answered
}

// ask puts a question on the terminal and reads a line.
func (p *promptClient) ask(question string) (text string, answered bool) {
	fmt.Fprint(p.std.Err, question)
	text, answered = p.answers.Line()
	if text == "" { // the cursor still stands behind the question
		fmt.Fprintln(p.std.Err)
	}
	return text, answered
}

// SessionUpdate prints.
func (p *promptClient) SessionUpdate(n acp.SessionNotification) { p.printer.Update(n) }

var dismissed = acp.RequestPermissionResponse{Outcome: acp.PermissionOutcome{Outcome: acp.OutcomeCancelled}}

// RequestPermission asks on the terminal.
func (p *promptClient) RequestPermission(_ context.Context, r acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	chant, _ := r.Meta["chant"].(map[string]any)
	_, gate := chant["gate"] // a no would end the run: what is no answer leaves it waiting
	answer := acp.RejectOnce
	switch {
	case p.f.yes:
		answer = acp.AllowOnce
	case gate && !console.IsTerminal(p.std.In):
		fmt.Fprintln(p.std.Err, "chant-acp: nothing was decided: there is no terminal to ask on; --yes approves beforehand")
		return dismissed, nil
	case gate:
		text, _ := p.ask(permissionText(r) + "\nApprove it? [yes/no/later] ")
		switch strings.ToLower(strings.TrimSpace(text)) {
		case "y", "yes":
			answer = acp.AllowOnce
		case "n", "no":
		default:
			return dismissed, nil
		}
	case !console.IsTerminal(p.std.In):
		fmt.Fprintln(p.std.Err, "chant-acp: nothing was run: there is no terminal to ask on; --yes allows beforehand")
	default:
		text, answered := p.ask(permissionText(r) + "\nRun it? [y/N] ")
		if !answered {
			return dismissed, nil
		}
		if typed := strings.ToLower(strings.TrimSpace(text)); typed == "y" || typed == "yes" {
			answer = acp.AllowOnce
		}
	}
	for _, o := range r.Options {
		if o.Kind == answer {
			return acp.RequestPermissionResponse{Outcome: acp.PermissionOutcome{Outcome: acp.OutcomeSelected, OptionID: o.OptionID}}, nil
		}
	}
	return acp.RequestPermissionResponse{}, errors.New("no option fits the answer")
}

func permissionText(r acp.RequestPermissionRequest) string {
	var b strings.Builder
	for _, c := range r.ToolCall.Content {
		if c.Content != nil {
			b.WriteString(printer.Unfence(c.Content.Text))
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// complete offers what the allow-list of a folder takes next.
func complete(cwd string, words []string, partial string) ([]cobra.Completion, cobra.ShellCompDirective) {
	dir, err := filepath.Abs(cwd)
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	f := serve.DefaultFlags()
	_ = f.Configure() // the command config reports what can't be used
	allow := f.Projects(os.Environ())(dir).AllowList()
	list, files := allow.Registry.Complete(words, partial)
	var completions []cobra.Completion
	for _, c := range list {
		completions = append(completions, cobra.CompletionWithDesc(c.Word, c.Description))
	}
	if files {
		return completions, cobra.ShellCompDirectiveDefault
	}
	return completions, cobra.ShellCompDirectiveNoFileComp
}

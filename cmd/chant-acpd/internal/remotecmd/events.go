package remotecmd

import (
	"encoding/json"
	"errors"
	"fmt"
	"os/signal"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/internal/brief"
	"github.com/chant-acp/chant-acp/runtime/gateway"
	"github.com/chant-acp/chant-acp/runtime/gateway/client"
	"github.com/chant-acp/chant-acp/runtime/session"
)

// NewEvents is the command events.
func NewEvents(std console.Streams) *cobra.Command {
	var r remote
	var asJSON bool
	var since string
	c := &cobra.Command{
		Use:   "events",
		Short: "Follow what happens at a gateway",
		Long: `Events prints what happens to the sessions, turns, steps, gates and conversations
of the gateway that runs here, until Ctrl-C or until the gateway stops. A stream
that breaks is taken up where it broke. Events that were missed show as a line
of the type gap.

--since tells the events after one again, as far as they are kept; --json prints
their ids.
` + whereGateway,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if strings.ContainsFunc(since, func(r rune) bool { return r <= ' ' || r > '~' }) {
				return fmt.Errorf("%q is no id of an event; events --json prints them", since)
			}
			g, err := r.open()
			if err != nil {
				return err
			}
			defer g.Close()
			ctx, stop := signal.NotifyContext(c.Context(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
			defer stop()
			err = g.Follow(ctx, since, func(e client.Event) error {
				printEvent(std, e, asJSON)
				return std.Out.Lost()
			}, func(err error) { sayLost(std, err) })
			switch {
			case ctx.Err() != nil:
				return nil
			case err == nil:
				fmt.Fprintln(std.Err, "chant-acp: the gateway stopped")
				return nil
			}
			return remoteError(err)
		},
	}
	r.register(c)
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON, one object a line")
	c.Flags().StringVar(&since, "since", "", "begin after the event of this `id`")
	return c
}

// sayLost says why a stream is taken up again.
func sayLost(std console.Streams, err error) {
	var closed *client.ClosedError
	why := "the connection to the gateway broke"
	if errors.As(err, &closed) {
		why = shown(closed.Error())
	}
	fmt.Fprintf(std.Err, "chant-acp: %s; trying again\n", why)
}

func printEvent(std console.Streams, e client.Event, asJSON bool) {
	if asJSON {
		console.PrintJSON(std.Out, e)
		return
	}
	when := "        "
	if !e.Time.IsZero() {
		when = e.Time.Local().Format("15:04:05")
	}
	fmt.Fprintln(std.Out, strings.TrimRight(fmt.Sprintf("%s  %-16s  %s", when, shown(e.Type), summary(e)), " "))
}

// occurrence is what events of all types may have as their data.
type occurrence struct {
	Session *session.Info `json:"session"`
	// Data is of an event of a session.
	Data json.RawMessage `json:"data"`

	// Of a gate that was decided.
	Run  string       `json:"run"`
	Gate gateway.Gate `json:"gate"`

	// Of the others.
	ID      string   `json:"id"`
	Text    string   `json:"text"`
	Detail  string   `json:"detail"`
	Missed  *float64 `json:"missed"`
	Outcome *outcome `json:"outcome"`
}

// outcome is how a turn, or a line of HEARTBEAT.md, came out.
type outcome struct {
	State    string `json:"state"`   // of a line
	Outcome  string `json:"outcome"` // of a turn
	ExitCode *int   `json:"exitCode"`
	Text     string `json:"text"`
	RunID    string `json:"runId"`
}

// summary is what an event means, in a line for a person.
func summary(e client.Event) string {
	var o occurrence
	if json.Unmarshal(e.Data, &o) != nil {
		return "" // it has no words for a person
	}
	var parts []string
	add := func(texts ...string) {
		for _, text := range texts {
			if text != "" {
				parts = append(parts, shown(text))
			}
		}
	}
	if o.Session != nil {
		parts = append(parts, label(*o.Session))
		add(ofSession(e.Type, *o.Session, o.Data)...)
		return strings.Join(parts, "  ")
	}
	switch e.Type {
	case gateway.EventGateResolved:
		add(resolved(o.Run, o.Gate))
	case gateway.EventConversationChanged:
		add(o.ID)
	default: // of a heartbeat, of the configuration, of the stream, and what a newer gateway tells
		if o.Missed != nil {
			parts = append(parts, brief.Plural(int(*o.Missed), "event")+" missed:")
		}
		add(o.Text, o.Detail)
		if o.Outcome != nil {
			add(o.Outcome.words(o.Text))
		}
	}
	return strings.Join(parts, "  ")
}

// resolved says who decided a gate, and how.
func resolved(run string, g gateway.Gate) string {
	text := fmt.Sprintf("gate %s of run %s: %s", g.Name, run, g.Status)
	if g.By != "" {
		text += " by " + g.By
	}
	if g.Note != "" {
		text += fmt.Sprintf(" (%s)", g.Note)
	}
	return text
}

// words are an exit code and what text, the event's, does not say already.
func (o *outcome) words(text string) string {
	var list []string
	if o.ExitCode != nil && *o.ExitCode != 0 {
		list = append(list, fmt.Sprintf("exit code %d", *o.ExitCode))
	}
	if o.Text != "" && !strings.Contains(text, o.Text) {
		list = append(list, o.Text)
	}
	return strings.Join(list, ": ")
}

// ofSession says what happened to a session.
func ofSession(kind string, s session.Info, data json.RawMessage) []string {
	var of struct { // each type has some of it
		session.TurnStarted
		StopReason string `json:"stopReason"`
		Error      string `json:"error"`
		Meta       struct {
			Chant outcome `json:"chant"`
		} `json:"meta"`

		ID       string `json:"id"`
		Title    string `json:"title"`
		Status   string `json:"status"`
		OptionID string `json:"optionId"`
		ToolCall struct {
			Title string `json:"title"`
		} `json:"toolCall"`
		RunID   string `json:"runId"`
		Gate    string `json:"gate"`
		Confirm string `json:"confirm"`
	}
	if data != nil && json.Unmarshal(data, &of) != nil {
		return nil
	}
	switch kind {
	case session.EventStarted:
		return []string{what(s)}
	case session.EventEnded:
		return []string{state(s), s.Reason}
	case session.EventTurnStarted:
		return []string{of.Text}
	case session.EventTurnEnded:
		return turnEnd(of.Meta.Chant, of.StopReason, of.Error)
	case session.EventStep:
		return []string{of.Title, of.Status}
	case session.EventGate:
		if of.Confirm != "" {
			return []string{"waits for a person: confirm " + of.Confirm}
		}
		return []string{fmt.Sprintf("waits for a person at gate %s of run %s", of.Gate, of.RunID)}
	case session.EventRequestOpened:
		return []string{"asks: " + of.ToolCall.Title, "(request " + of.ID + ")"}
	case session.EventRequestClosed:
		if of.OptionID == "" {
			return []string{"request " + of.ID + " was cancelled"}
		}
		return []string{"request " + of.ID + " was answered: " + of.OptionID}
	}
	return nil
}

// turnEnd says how a turn came out: what chant-acp says of it, else why the agent
// stopped.
func turnEnd(chant outcome, stopReason, failure string) []string {
	if chant.Outcome == "" {
		return []string{stopReason, failure}
	}
	text := chant.Outcome
	if chant.ExitCode != nil {
		text += fmt.Sprintf(", exit code %d", *chant.ExitCode)
	}
	if chant.RunID != "" {
		text += ", run " + chant.RunID
	}
	return []string{text, failure}
}

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

// summary is what an event says, in a line.
func summary(e client.Event) string {
	var data struct {
		Session *session.Info  `json:"session"`
		Data    map[string]any `json:"data"`
	}
	var said []string
	if err := json.Unmarshal(e.Data, &data); err == nil && data.Session != nil {
		said = append(said, label(*data.Session))
		switch e.Type {
		case session.EventStarted:
			said = append(said, what(*data.Session))
		case session.EventEnded:
			said = append(said, state(*data.Session))
		}
	} else if err := json.Unmarshal(e.Data, &data.Data); err != nil {
		data.Data = nil // it has no words for a person
	}
	return strings.Join(append(said, words(data.Data)...), "  ")
}

// words are the members of an event's data that a person can read.
func words(data map[string]any) []string {
	var list []string
	if call, ok := data["toolCall"].(map[string]any); ok {
		list = words(call)
	}
	if missed, ok := data["missed"].(float64); ok {
		list = append(list, console.Plural(int(missed), "event")+" missed:")
	}
	for _, name := range []string{"text", "title", "status", "stopReason", "error", "runId", "gate", "optionId", "detail"} {
		if text, ok := data[name].(string); ok && text != "" {
			list = append(list, shown(text))
		}
	}
	if id, ok := data["id"].(string); ok && len(list) == 0 {
		list = append(list, shown(id))
	}
	return list
}

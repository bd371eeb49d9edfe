package agent_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent"
)

// An event's JSON is what encoding/json makes of it: the tags say what is on disk.
func TestEventAppendsTheJSONOfItsTags(t *testing.T) {
	text := rapid.OneOf(rapid.Just(""), rapid.String(), rapid.Just("a\"b\\\n<&>\u2028\xff"))
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) string { return text.Draw(t, label) }
		number := func(label string) int64 { return rapid.Int64().Draw(t, label) }
		there := func(label string) bool { return rapid.Bool().Draw(t, label) }
		e := agent.Event{
			Kind: agent.EventKind(draw("kind")), Turn: draw("turn"), Client: draw("client"), Text: draw("text"), CallID: draw("callId"), Terminal: there("terminal"),
			Time: time.Unix(rapid.Int64Range(0, 1<<35).Draw(t, "time"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC(),
		}
		for range rapid.IntRange(0, 3).Draw(t, "blocks") {
			e.Prompt = append(e.Prompt, rapid.SampledFrom([]acp.ContentBlock{
				acp.Text(draw("block")), {Type: acp.ContentResourceLink, Name: draw("name"), URI: draw("uri")}, {Type: acp.ContentImage, MimeType: draw("mime"), URI: draw("uri")},
			}).Draw(t, "which"))
		}
		if there("call") {
			e.Call = &agent.CallEvent{Title: draw("title"), Status: acp.ToolPending, RawInput: json.RawMessage(`{"a":"<"}`), Cwd: draw("cwd"), Content: draw("content"), Line: draw("line")}
		}
		if there("result") {
			code := int(number("code"))
			e.Result = &agent.ResultEvent{Status: acp.ToolFailed, Content: draw("content"), ExitCode: &code, Signal: draw("signal")}
		}
		if there("end") {
			e.End = &agent.EndEvent{Reason: acp.StopEndTurn, State: draw("state"), Line: draw("line"), Ran: there("ran"), Took: time.Duration(number("took"))}
		}
		if there("code") {
			e.Code = &agent.CodeEvent{Code: draw("code"), Words: []string{draw("word")}, Environment: draw("env"), Until: e.Time}
		}
		for range rapid.IntRange(0, 2).Draw(t, "entries") {
			e.Plan = append(e.Plan, acp.PlanEntry{Content: draw("content"), Priority: "medium", Status: draw("status")})
		}
		got, err := e.AppendJSON(nil)
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		enc := json.NewEncoder(&want)
		enc.SetEscapeHTML(false)
		type tagged agent.Event // without its methods
		if err := enc.Encode((*tagged)(&e)); err != nil {
			t.Fatal(err)
		}
		if string(got)+"\n" != want.String() {
			t.Fatalf("\n got %s\nwant %s", got, want.String())
		}
	})
}

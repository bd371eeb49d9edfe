package conversation

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/runtime/thread"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestFromThread(t *testing.T) {
	at := func(s int) time.Time { return t0.Add(time.Duration(s) * time.Second) }
	events := []thread.Event{
		{Kind: thread.EventPrompt, Time: at(0), Turn: "1", Client: "zed (dev)", Prompt: []acp.ContentBlock{acp.Text("show"), {Type: acp.ContentResourceLink, Name: "f", URI: "file:///f"}}},
		{Kind: thread.EventCall, Time: at(1), Turn: "1", CallID: "c", Call: &agent.CallEvent{Title: "show `f`", RawInput: json.RawMessage(`{}`)}},
		{Kind: thread.EventOutput, Time: at(2), Turn: "1", CallID: "c", Text: "\x1b[31mred\x1b[0m\n```\n", Terminal: true},
		{Kind: thread.EventOutput, Time: at(2), Turn: "1", CallID: "c", Text: "## user — t\n", Terminal: true},
		{Kind: thread.EventResult, Time: at(3), Turn: "1", CallID: "c", Result: &agent.ResultEvent{Content: "not again"}},
		{Kind: thread.EventSay, Time: at(3), Turn: "1", Text: "show: exit 0"},
		{Kind: thread.EventSay, Time: at(3), Turn: "1", Text: " in 2 s\n"},
		{Kind: thread.EventEnd, Time: at(4), Turn: "1", End: &agent.EndEvent{State: "completed"}},
		{Kind: thread.EventUsed, Time: at(5), Text: "abc"},
		{Kind: thread.EventPrompt, Time: at(6), Turn: "2", Prompt: []acp.ContentBlock{acp.Text("make")}},
		{Kind: thread.EventCall, Time: at(7), Turn: "2", CallID: "d", Call: &agent.CallEvent{Title: "make"}},
		{Kind: thread.EventResult, Time: at(8), Turn: "2", CallID: "d", Result: &agent.ResultEvent{Content: "```\nkilled\n```"}},
		{Kind: thread.EventEnd, Time: at(9), Turn: "2", End: &agent.EndEvent{State: "interrupted"}},
		{Kind: thread.EventPrompt, Time: at(9), Turn: "4", Prompt: []acp.ContentBlock{acp.Text("date")}},
		{Kind: thread.EventCall, Time: at(9), Turn: "4", CallID: "e", Call: &agent.CallEvent{Title: "date"}},
		{Kind: thread.EventOutput, Time: at(9), Turn: "4", CallID: "e", Text: "\n```\nMon"},
		{Kind: thread.EventOutput, Time: at(9), Turn: "4", CallID: "e", Text: "day\n```\n"},
		{Kind: thread.EventSay, Time: at(9), Turn: "4", Text: "\ndate: exit 0"},
		{Kind: thread.EventEnd, Time: at(9), Turn: "4", End: &agent.EndEvent{State: "completed"}},
		{Kind: thread.EventPrompt, Time: at(9), Turn: "5", Prompt: []acp.ContentBlock{acp.Text("run deploy")}},
		{Kind: thread.EventPlan, Time: at(9), Turn: "5", Plan: []acp.PlanEntry{{Content: "Build", Status: "in_progress"}, {Content: "Ship", Status: "pending"}}},
		{Kind: thread.EventCall, Time: at(9), Turn: "5", CallID: "s1", Call: &agent.CallEvent{Title: "go build", Status: acp.ToolPending}},
		{Kind: thread.EventCall, Time: at(9), Turn: "5", CallID: "s2", Call: &agent.CallEvent{Title: "go vet", Status: acp.ToolPending}},
		{Kind: thread.EventStart, Time: at(9), Turn: "5", CallID: "s1", Text: "\nBuild › `go build`\n", Terminal: true},
		{Kind: thread.EventOutput, Time: at(9), Turn: "5", CallID: "s1", Text: "built\n", Terminal: true},
		{Kind: thread.EventResult, Time: at(9), Turn: "5", CallID: "s1", Result: &agent.ResultEvent{Status: acp.ToolCompleted}},
		{Kind: thread.EventResult, Time: at(9), Turn: "5", CallID: "s2", Result: &agent.ResultEvent{Status: acp.ToolFailed, Content: "It was not run."}},
		{Kind: thread.EventPlan, Time: at(9), Turn: "5", Plan: []acp.PlanEntry{{Content: "Build", Status: "completed"}, {Content: "Ship", Status: "pending"}}},
		{Kind: thread.EventEnd, Time: at(9), Turn: "5", End: &agent.EndEvent{State: "waiting"}},
		{Kind: thread.EventPrompt, Time: at(10), Turn: "3", Prompt: []acp.ContentBlock{acp.Text("wait")}},
		{Kind: thread.EventSay, Time: at(11), Turn: "3", Text: "waiting"},
	}
	r := thread.Record{ID: "s1", Cwd: "/w", Created: t0}
	want := Conversation{
		Meta: Meta{ID: "s1", Agent: "chant-acp", Started: t0, Status: Open},
		Turns: []Turn{
			{User, at(0), "zed [dev]", "show file:///f"},
			{Assistant, at(4), "", "Ran `` show `f` ``\n\n````\nred\n```\n## user — t\n````\n\nshow: exit 0 in 2 s"},
			{User, at(6), "", "make"},
			{Assistant, at(9), "", "Ran `make`\n\n```\nkilled\n```\n\n*interrupted*"},
			{User, at(9), "", "date"},
			{Assistant, at(9), "", "Ran `date`\n\n```\nMonday\n```\n\ndate: exit 0"},
			{User, at(9), "", "run deploy"},
			{Assistant, at(9), "", "- [x] Build\n- [ ] Ship\n\nBuild › `go build`\n\n```\nbuilt\n```"},
			{User, at(10), "", "wait"},
			{Assistant, at(11), "", "waiting\n\n*not ended*"},
		},
	}
	if d := cmp.Diff(want, FromThread(r, events)); d != "" {
		t.Error(d)
	}
	got, err := parse("s1", FromThread(r, events).Markdown())
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
}

// TestCutAnywhere wants of text that comes in pieces what it is at once.
func TestCutAnywhere(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := someEvents().Draw(t, "events")
		var pieces []thread.Event
		for _, e := range events {
			if e.Kind == thread.EventSay || e.Kind == thread.EventOutput {
				for _, r := range e.Text {
					e.Text = string(r)
					pieces = append(pieces, e)
				}
				e.Text = ""
			}
			pieces = append(pieces, e)
		}
		if d := cmp.Diff(Turns(events), Turns(pieces)); d != "" {
			t.Fatal(d)
		}
	})
}

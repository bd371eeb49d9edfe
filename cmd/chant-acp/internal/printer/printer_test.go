package printer

import (
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/acp"
)

// Code blocks are printed without their fences, however the text is cut.
func TestFences(t *testing.T) {
	const text = "Look:\n\n````\n```\ninside\n```\n````\n```sh\nmake\n```go\n```\n`a` and ``` b\n"
	const want = "Look:\n\n```\ninside\n```\nmake\n```go\n`a` and ``` b\n"
	if got := Unfence(text); got != want {
		t.Errorf("%q", got)
	}
	for size := 1; size < len(text); size++ {
		var f fences
		var got strings.Builder
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			got.WriteString(f.strip(rest[:n]))
			rest = rest[n:]
		}
		if got.WriteString(f.flush()); got.String() != want {
			t.Errorf("in pieces of %d: %q", size, got.String())
		}
	}
}

func TestPlan(t *testing.T) {
	var b strings.Builder
	p := New(&b, false)
	p.Prompt("run deploy")
	plan := func(states ...string) {
		u := acp.Plan{}
		for i, s := range states {
			u.Entries = append(u.Entries, acp.PlanEntry{Content: string(rune('A' + i)), Status: s})
		}
		p.Update(acp.SessionNotification{Update: u})
	}
	plan("pending", "pending")
	plan("completed", "in_progress")
	p.Update(acp.SessionNotification{Update: acp.AgentMessageChunk{Content: acp.Text("done")}})
	p.Result(acp.PromptResponse{})
	if want := "> run deploy\nPlan:\n  [ ] A\n  [ ] B\n  [x] A\n  [>] B\ndone\n"; b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

package session

import (
	"strconv"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/internal/brief"
)

// maxSteps is how many tool calls and entries of a plan are known of a turn; beyond that they are
// not told of.
const maxSteps = 1000

// SessionUpdate takes in what the agent says. It is called on the connection's reading goroutine.
func (a *agentSide) SessionUpdate(n acp.SessionNotification) {
	switch u := n.Update.(type) {
	case acp.AgentMessageChunk:
		a.say(u.Content.Text)
	case acp.ToolCall:
		a.step(Step{ID: u.ToolCallID, Kind: "tool", Title: u.Title, Status: string(u.Status)})
	case acp.ToolCallUpdate:
		a.step(Step{ID: u.ToolCallID, Kind: "tool", Title: u.Title, Status: string(u.Status)})
	case acp.Plan:
		for i, entry := range u.Entries {
			a.step(Step{ID: "plan/" + strconv.Itoa(i), Kind: "plan", Title: entry.Content, Status: entry.Status})
		}
	}
}

// say keeps what the agent says for the turn, and shows it to the session's readers.
func (a *agentSide) say(text string) {
	s := a.session
	s.mu.Lock()
	if t := a.turn; t != nil {
		keep := min(len(text), TextLimit-t.text.Len())
		t.text.WriteString(text[:keep])
		t.cut = t.cut || keep < len(text)
	}
	s.mu.Unlock()
	s.feed.write([]byte(text))
}

// endLine lets what the next turn says begin on a line of its own.
func (a *agentSide) endLine(t *turn) {
	s := a.session
	s.mu.Lock()
	n := t.text.Len()
	open := n > 0 && t.text.Bytes()[n-1] != '\n'
	s.mu.Unlock()
	if open {
		s.feed.write([]byte("\n"))
	}
}

// step tells of a step that is new, or has changed. What an update leaves out stays as it was.
func (a *agentSide) step(now Step) {
	a.session.change(func(*Info) []notice {
		if a.turn == nil {
			return nil
		}
		before, known := a.turn.steps[now.ID]
		if !known && len(a.turn.steps) >= maxSteps {
			return nil
		}
		now.Turn, now.Title = a.turn.number, brief.Bytes(now.Title, eventText)
		if now.Title == "" {
			now.Title = before.Title
		}
		if now.Status == "" {
			now.Status = before.Status
		}
		if now.Status == "" {
			now.Status = string(acp.ToolPending)
		}
		if now == before {
			return nil
		}
		a.turn.steps[now.ID] = now
		return []notice{{EventStep, now}}
	})
}

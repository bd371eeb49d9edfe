package acp_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/rs/zerolog"

	"github.com/chant-acp/chant-acp/acp"
)

// echoAgent is an agent that answers each prompt with its own words.
type echoAgent struct{ acp.AgentConn }

func (e *echoAgent) HandleRequest(r *acp.Request) {
	switch r.Method {
	case acp.MethodInitialize:
		r.Reply(acp.InitializeResponse{ProtocolVersion: acp.ProtocolVersion, AuthMethods: []acp.AuthMethod{}})
	case acp.MethodSessionNew:
		r.Reply(acp.NewSessionResponse{SessionID: "s1"})
	case acp.MethodSessionPrompt:
		var p acp.PromptRequest
		if err := r.Decode(&p); err != nil {
			r.Fail(err)
			return
		}
		b := e.Batch() // an update and the answer, in this order
		b.Notify(acp.MethodSessionUpdate, acp.SessionNotification{
			SessionID: p.SessionID, Update: acp.AgentMessageChunk{Content: acp.Text(p.Prompt[0].Text)},
		})
		b.Reply(r, acp.PromptResponse{StopReason: acp.StopEndTurn})
		b.Send()
	default:
		r.Fail(acp.Errorf(acp.CodeMethodNotFound, "%s is not a method of this agent", r.Method))
	}
}

func (e *echoAgent) HandleNotification(string, json.RawMessage) {}

// printing is a client that prints what the agent says.
type printing struct{}

func (printing) SessionUpdate(n acp.SessionNotification) {
	if m, ok := n.Update.(acp.AgentMessageChunk); ok {
		fmt.Println(m.Content.Text)
	}
}

func (printing) RequestPermission(context.Context, acp.RequestPermissionRequest) (acp.RequestPermissionResponse, error) {
	return acp.RequestPermissionResponse{Outcome: acp.PermissionOutcome{Outcome: acp.OutcomeCancelled}}, nil
}

// Both halves of a connection: an agent that echoes, and a client that prompts it.
func Example() {
	here, there := acp.Pipe()
	agent := &echoAgent{}
	agent.AgentConn = acp.AgentConn{Peer: acp.NewPeer(there, agent, zerolog.Nop())}
	agent.Start()
	defer agent.Close()

	ctx := context.Background()
	client := acp.Connect(here, printing{}, zerolog.Nop())
	defer client.Close()
	if _, err := client.Initialize(ctx, acp.InitializeRequest{ProtocolVersion: acp.ProtocolVersion}); err != nil {
		fmt.Println(err)
		return
	}
	session, err := client.NewSession(ctx, acp.NewSessionRequest{Cwd: "/"})
	if err != nil {
		fmt.Println(err)
		return
	}
	answer, err := client.Prompt(ctx, acp.PromptRequest{
		SessionID: session.SessionID, Prompt: []acp.ContentBlock{acp.Text("plan staging")},
	})
	fmt.Println(answer.StopReason, err)
	// Output:
	// plan staging
	// end_turn <nil>
}

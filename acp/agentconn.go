package acp

import "context"

// AgentConn is the agent's half of a connection: what an agent says to its
// client by itself.
type AgentConn struct {
	*Peer
}

// Update sends a session/update, waiting for room in the way out.
func (c AgentConn) Update(ctx context.Context, sessionID string, u SessionUpdate) error {
	return c.Notify(ctx, MethodSessionUpdate, SessionNotification{SessionID: sessionID, Update: u})
}

// RequestPermission asks a person about a tool call. What comes back is checked
// by the caller: clients answer with options that were not offered, or with
// none.
func (c AgentConn) RequestPermission(ctx context.Context, r RequestPermissionRequest) (PermissionOutcome, error) {
	var resp RequestPermissionResponse
	err := c.Call(ctx, MethodRequestPermission, r, &resp)
	return resp.Outcome, err
}

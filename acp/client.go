package acp

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/rs/zerolog"
)

// Client is what an agent may ask of its client.
type Client interface {
	// SessionUpdate is called on the reading goroutine, in order, and before
	// the response that follows it on the wire is delivered. It must not block.
	SessionUpdate(SessionNotification)
	// RequestPermission is called on a goroutine of its own. Its context ends
	// when the agent gives the request up or the connection ends.
	RequestPermission(context.Context, RequestPermissionRequest) (RequestPermissionResponse, error)
}

// ClientConn is the client's half of a connection to an agent.
type ClientConn struct {
	*Peer
	client Client
	asked  sync.WaitGroup
}

// Connect starts the client's half over t. Close ends it.
func Connect(t Transport, c Client, log zerolog.Logger) *ClientConn {
	conn := &ClientConn{client: c}
	conn.Peer = NewPeer(t, conn, log)
	conn.Start()
	return conn
}

// Close ends the connection and waits for its goroutines and for permission
// requests that are being answered.
func (c *ClientConn) Close() error {
	err := c.Peer.Close()
	c.asked.Wait()
	return err
}

// HandleRequest answers session/request_permission; nothing else is offered.
func (c *ClientConn) HandleRequest(r *Request) {
	if r.Method != MethodRequestPermission {
		r.Fail(Errorf(CodeMethodNotFound, "this client does not offer %s", r.Method))
		return
	}
	var ask RequestPermissionRequest
	if err := json.Unmarshal(r.Params, &ask); err != nil {
		r.Fail(Errorf(CodeInvalidParams, "session/request_permission: %w", err))
		return
	}
	c.asked.Go(func() { // waited for by Close; ended by the answer, the agent or Done
		ctx, cancel := context.WithCancelCause(r.Context())
		defer cancel(nil)
		stop := make(chan struct{})
		defer close(stop)
		c.asked.Go(func() {
			select {
			case <-c.Done():
				cancel(ErrClosed)
			case <-stop:
			}
		})
		answer, err := c.client.RequestPermission(ctx, ask)
		if err != nil {
			r.Fail(err)
			return
		}
		r.Reply(answer)
	})
}

// HandleNotification delivers session/update; what is wrong is logged and
// dropped.
func (c *ClientConn) HandleNotification(method string, params json.RawMessage) {
	if method != MethodSessionUpdate {
		return
	}
	var n SessionNotification
	if err := json.Unmarshal(params, &n); err != nil {
		c.log.Warn().Err(err).Msg("dropped an update of the agent")
		return
	}
	c.client.SessionUpdate(n)
}

// Initialize opens the connection.
func (c *ClientConn) Initialize(ctx context.Context, r InitializeRequest) (InitializeResponse, error) {
	return call[InitializeResponse](ctx, c, MethodInitialize, r)
}

// NewSession starts a session.
func (c *ClientConn) NewSession(ctx context.Context, r NewSessionRequest) (NewSessionResponse, error) {
	if r.McpServers == nil {
		r.McpServers = []McpServer{}
	}
	return call[NewSessionResponse](ctx, c, MethodSessionNew, r)
}

// LoadSession opens a stored session and has its past replayed.
func (c *ClientConn) LoadSession(ctx context.Context, r LoadSessionRequest) (LoadSessionResponse, error) {
	if r.McpServers == nil {
		r.McpServers = []McpServer{}
	}
	return call[LoadSessionResponse](ctx, c, MethodSessionLoad, r)
}

// ResumeSession opens a stored session without a replay.
func (c *ClientConn) ResumeSession(ctx context.Context, r LoadSessionRequest) (LoadSessionResponse, error) {
	if r.McpServers == nil {
		r.McpServers = []McpServer{}
	}
	return call[LoadSessionResponse](ctx, c, MethodSessionResume, r)
}

// ListSessions asks for a page of stored sessions.
func (c *ClientConn) ListSessions(ctx context.Context, r ListSessionsRequest) (ListSessionsResponse, error) {
	return call[ListSessionsResponse](ctx, c, MethodSessionList, r)
}

// CloseSession cancels what runs in a session and frees it.
func (c *ClientConn) CloseSession(ctx context.Context, sessionID string) error {
	return c.Call(ctx, MethodSessionClose, SessionRequest{SessionID: sessionID}, nil)
}

// SetConfigOption sets an option of a session.
func (c *ClientConn) SetConfigOption(ctx context.Context, r SetConfigOptionRequest) (SetConfigOptionResponse, error) {
	return call[SetConfigOptionResponse](ctx, c, MethodSessionSetConfigOption, r)
}

// Prompt runs a turn and returns when it has ended.
func (c *ClientConn) Prompt(ctx context.Context, r PromptRequest) (PromptResponse, error) {
	return call[PromptResponse](ctx, c, MethodSessionPrompt, r)
}

// Cancel asks the agent to end the turn of a session.
func (c *ClientConn) Cancel(ctx context.Context, sessionID string) error {
	return c.Notify(ctx, MethodSessionCancel, SessionRequest{SessionID: sessionID})
}

func call[T any](ctx context.Context, c *ClientConn, method string, params any) (T, error) {
	var result T
	err := c.Call(ctx, method, params, &result)
	return result, err
}

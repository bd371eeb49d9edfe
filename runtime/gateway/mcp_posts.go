package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chant-acp/chant-acp/internal/brief"
)

// mcpSession is the header by which requests of one client are told from those of
// others. It is given out at initialize, and nothing is kept for it.
const mcpSession = "Mcp-Session-Id"

// message is what the gateway itself reads of a request to /mcp. What it can't read
// is the library's to refuse.
type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		RequestID json.RawMessage `json:"requestId"`
		Meta      struct {
			ProgressToken any `json:"progressToken"`
		} `json:"_meta"`
	} `json:"params"`
}

func readMessage(raw []byte) message {
	var m message
	if json.Unmarshal(raw, &m) != nil {
		return message{} // params may be of any kind; then there is nothing for us in it
	}
	return m
}

// posts are the requests to /mcp that have not been answered, so that a
// notifications/cancelled, which is a request of its own, finds what it is about.
type posts struct {
	mu   sync.Mutex
	open map[*post]struct{}
}

// post is one of them.
type post struct {
	client, id string // of MCP's session ("" for none) and of JSON-RPC
	cancel     context.CancelCauseFunc
}

var (
	errGone      = errors.New("whoever asked for it has closed the connection")
	errCancelled = errors.New("it was cancelled by its client")
)

type postKey struct{}

// postOf returns the context of the request that a tool works for: it ends when the
// client has gone, and when it is cancelled. The library's own context does neither
// for clients that speak an older version of the protocol.
func postOf(ctx context.Context) (context.Context, bool) {
	post, ok := ctx.Value(postKey{}).(context.Context)
	return post, ok
}

// enter takes a request in; leave ends it. A cancel is carried out here. Its client
// has to be the one of the request, by MCP's session. Ids count from one with most
// clients: of those without a session a cancel is believed where only one request
// has the id.
func (p *posts) enter(r *http.Request, m message) (ctx context.Context, leave func()) {
	ended, cancel := context.WithCancelCause(context.WithoutCancel(r.Context()))
	unhook := context.AfterFunc(r.Context(), func() { cancel(errGone) })
	entered := &post{client: r.Header.Get(mcpSession), id: string(m.ID), cancel: cancel}
	p.mu.Lock()
	defer p.mu.Unlock()
	if m.Method == "notifications/cancelled" && len(m.Params.RequestID) > 0 {
		p.cancel(entered.client, string(m.Params.RequestID))
	}
	if p.open == nil {
		p.open = make(map[*post]struct{})
	}
	if entered.id != "" {
		p.open[entered] = struct{}{}
	}
	return context.WithValue(r.Context(), postKey{}, ended), func() {
		unhook()
		cancel(nil)
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.open, entered)
	}
}

// cancel cancels what a client asked for; the caller holds the lock.
func (p *posts) cancel(client, id string) {
	var found []*post
	for o := range p.open {
		if o.client == client && o.id == id {
			found = append(found, o)
		}
	}
	if len(found) == 1 {
		found[0].cancel(errCancelled)
	}
}

const (
	// progressEvery is the least time between two notifications of progress.
	progressEvery = 100 * time.Millisecond
	// maxProgress is the longest message of one, in bytes.
	maxProgress = 4 << 10
)

// progressOf returns what tells a client of progress: how many bytes were said so
// far, and the newest of them. It does nothing where the client did not ask.
func progressOf(ctx context.Context, r *mcp.CallToolRequest) func(text string) {
	token := r.Params.GetProgressToken()
	if token == nil {
		return func(string) {}
	}
	var bytes float64
	var last time.Time
	var waiting strings.Builder
	return func(text string) {
		bytes += float64(len(text))
		if waiting.Len() < maxProgress {
			waiting.WriteString(text)
		}
		if text == "" || time.Since(last) < progressEvery {
			return // the next one tells, or the result does
		}
		last = time.Now()
		message := brief.Bytes(waiting.String(), maxProgress)
		waiting.Reset()
		_ = r.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token, Progress: bytes, Message: message}) // a client that is gone misses it
	}
}

package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/chant-acp/chant-acp/runtime/gateway"
	"github.com/chant-acp/chant-acp/runtime/session"
)

// maxAnswer is the longest answer that is read, in bytes.
const maxAnswer = 64 << 20

// Client asks one gateway. It may be used from several goroutines.
type Client struct {
	at   gateway.Running
	http *http.Client
}

// New makes a client of the gateway at an address.
func New(at gateway.Running) *Client {
	return &Client{at, &http.Client{
		Transport: &http.Transport{Proxy: nil, DisableCompression: true}, // the token goes nowhere else
		CheckRedirect: func(*http.Request, []*http.Request) error {
			return http.ErrUseLastResponse
		},
	}}
}

// Close closes the connections that are not in use.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// Problem is an answer that says what is wrong: a problem document of RFC 9457.
type Problem struct {
	Type   string // a word such as "not-found"; docs/gateway.md explains each
	Title  string
	Status int    // of HTTP
	Detail string // what went wrong, and what to do; as the gateway wrote it
}

// Error is the detail, else the title.
func (p *Problem) Error() string {
	switch {
	case p.Detail != "":
		return p.Detail
	case p.Title != "":
		return p.Title
	}
	return fmt.Sprintf("the gateway answered with the status %d and no reason", p.Status)
}

// ErrRefused says that the gateway does not take the token that its runtime.json
// holds.
var ErrRefused = errors.New("the token is not taken")

// Sessions lists all sessions, the oldest first.
func (c *Client) Sessions(ctx context.Context) ([]session.Info, error) {
	var list struct {
		Sessions []session.Info `json:"sessions"`
	}
	err := c.ask(ctx, http.MethodGet, "/sessions", &list)
	return list.Sessions, err
}

// Session describes the session of an id, else of a name. One that is not there is
// a *Problem of the type not-found, a name of several one of the type ambiguous.
func (c *Client) Session(ctx context.Context, idOrName string) (session.Info, error) {
	var info session.Info
	path, err := sessionPath(idOrName)
	if err == nil {
		err = c.ask(ctx, http.MethodGet, path, &info)
	}
	return info, err
}

// Kill ends a session and waits for its end, as long as the gateway does: State
// tells whether it has ended. The errors are those of Session, and a *Problem of
// the type conflict for one that has ended before.
func (c *Client) Kill(ctx context.Context, idOrName string) (session.Info, error) {
	var info session.Info
	path, err := sessionPath(idOrName)
	if err == nil {
		err = c.ask(ctx, http.MethodPost, path+"/kill", &info)
	}
	return info, err
}

// sessionPath is the path of a session. The names that a server takes for steps in
// a path can't be asked for.
func sessionPath(idOrName string) (string, error) {
	if idOrName == "" || idOrName == "." || idOrName == ".." {
		return "", &Problem{Type: "not-found", Status: http.StatusNotFound, Detail: fmt.Sprintf("%q can't be asked for: name the session by its id", idOrName)}
	}
	return "/sessions/" + url.PathEscape(idOrName), nil
}

// request makes a request that shows the token.
func (c *Client) request(ctx context.Context, method, path string) (*http.Request, error) {
	r, err := http.NewRequestWithContext(ctx, method, c.at.URL+path, nil)
	if err != nil {
		return nil, fmt.Errorf("asking the gateway: %w", err)
	}
	r.Header = c.header()
	return r, nil
}

func (c *Client) header() http.Header {
	return http.Header{"Authorization": {"Bearer " + c.at.Token}, "User-Agent": {"chant-acp"}}
}

// ask sends a request and reads its answer into v.
func (c *Client) ask(ctx context.Context, method, path string, v any) error {
	r, err := c.request(ctx, method, path)
	if err != nil {
		return err
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return c.unreachable(ctx, err)
	}
	defer answer.Body.Close()
	if answer.StatusCode/100 != 2 {
		return c.problem(answer)
	}
	raw, err := io.ReadAll(io.LimitReader(answer.Body, maxAnswer))
	if err != nil {
		return c.unreachable(ctx, err)
	}
	if err := json.Unmarshal(raw, v); err != nil {
		return fmt.Errorf("what answers at %s is no gateway that this program knows: %w", c.at.URL, err)
	}
	return nil
}

// unreachable says that a request did not get its answer, and what to do.
func (c *Client) unreachable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var at *url.Error // its text repeats method and address
	if errors.As(err, &at) {
		err = at.Err
	}
	if errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("nobody listens at %s, where the gateway of %s should: it is starting, or was ended; try again, or start one with: chant-acp gateway (%w)", c.at.URL, c.at.Workspace, err)
	}
	return fmt.Errorf("the gateway at %s did not answer: %w", c.at.URL, err)
}

// problem reads an answer that is none of success.
func (c *Client) problem(answer *http.Response) error {
	const most = 64 << 10
	raw, _ := io.ReadAll(io.LimitReader(answer.Body, most)) // what is there of it
	return c.problemOf(answer.StatusCode, raw)
}

func (c *Client) problemOf(status int, raw []byte) error {
	if status == http.StatusUnauthorized {
		return fmt.Errorf("the gateway at %s takes another token than the one that runtime.json of %s holds: %w; it may have been started anew just now, so try again, or start it with: chant-acp gateway", c.at.URL, c.at.Workspace, ErrRefused)
	}
	var doc struct {
		Type, Title, Detail string
	}
	if err := json.Unmarshal(bytes.TrimSpace(raw), &doc); err != nil || doc.Type == "" {
		return fmt.Errorf("what answers at %s is no gateway: it answered with the status %d", c.at.URL, status)
	}
	return &Problem{Type: doc.Type[strings.LastIndexByte(doc.Type, '#')+1:], Title: doc.Title, Status: status, Detail: doc.Detail}
}

package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"github.com/chant-acp/chant-acp/acp"
)

const (
	// maxFrame is the longest frame that is read, in bytes: what a newcomer is shown
	// first may come as one, each byte of it written as six.
	maxFrame = 8 << 20
	// closeTime is how long a goodbye may take.
	closeTime = time.Second
)

var (
	// ErrDropped says that the gateway closed the connection because the client took
	// nothing for too long. The session runs on.
	ErrDropped = errors.New("the gateway dropped this terminal because it took nothing for too long, so that others go on; the session runs on, and can be attached to again")
	// ErrStopping says that the gateway stops, and its sessions end with it.
	ErrStopping = errors.New("the gateway stops, and its sessions end with it")
	// ErrCut says that the connection broke without a reason.
	ErrCut = errors.New("the connection to the gateway broke")
)

// InputError says that a terminal did not take all of some input.
type InputError struct{ Detail string }

// Error is what the gateway said.
func (e *InputError) Error() string { return e.Detail }

// Exit is how a terminal's program ended.
type Exit struct {
	// Code is nil where the end was not seen. 128+n when signal n ended it.
	Code   *int
	Signal string // such as "SIGKILL", or empty
}

// Terminal is a place at the terminal of a session. One goroutine reads; the
// others may be called from anywhere, and need the reading one to go on.
type Terminal struct {
	conn *websocket.Conn
	cut  func() // ends the connection without a word
	exit Exit

	sending sync.Mutex    // held while a ping is sent: answers come in the order of the pings
	mu      sync.Mutex    // never held while something waits
	pings   []chan error  // those without an answer, in order
	ended   chan struct{} // closed when nothing is read any more
	end     sync.Once
}

// Attach takes a place at the terminal of a session, by id, else by name, with a
// size; both 0: with none, so that it does not bound the terminal's. The errors
// are those of Session, and a *Problem of the type conflict for a session that is
// no terminal, or of which nothing is left. ctx bounds only this call.
func (c *Client) Attach(ctx context.Context, idOrName string, cols, rows int) (*Terminal, error) {
	path, err := sessionPath(idOrName)
	if err != nil {
		return nil, err
	}
	path += "/pty"
	if cols != 0 || rows != 0 {
		path += "?" + url.Values{"cols": {fmt.Sprint(cols)}, "rows": {fmt.Sprint(rows)}}.Encode()
	}
	dialed := make(chan net.Conn, 1)
	own := *c.http
	own.Transport = &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, address)
		if err == nil {
			dialed <- conn
		}
		return conn, err
	}}
	conn, answer, err := websocket.Dial(ctx, c.at.URL+path, &websocket.DialOptions{HTTPClient: &own, HTTPHeader: c.header()})
	switch {
	case err != nil && answer != nil:
		raw, _ := io.ReadAll(io.LimitReader(answer.Body, 1024)) // all that the library keeps
		return nil, c.problemOf(answer.StatusCode, raw)
	case err != nil:
		return nil, c.unreachable(ctx, err)
	}
	conn.SetReadLimit(maxFrame)
	raw := <-dialed
	return &Terminal{conn: conn, cut: func() { _ = raw.Close() }, ended: make(chan struct{})}, nil
}

// frame is one message from the gateway.
type frame struct {
	Kind     string `json:"kind"`
	Data     string `json:"data"`
	ExitCode *int   `json:"exitCode"`
	Signal   string `json:"signal"`
	Detail   string `json:"detail"`
}

// Read returns what the terminal prints, in order, what is there already first.
// The error is io.EOF when its program has ended, ErrDropped, ErrStopping or ErrCut.
func (t *Terminal) Read() (string, error) {
	for {
		_, raw, err := t.conn.Read(context.Background()) // Close ends it
		if err != nil {
			return "", t.fail(t.why(err))
		}
		var f frame
		if err := json.Unmarshal(raw, &f); err != nil {
			return "", t.fail(fmt.Errorf("the gateway sent what is no frame: %w", err))
		}
		switch f.Kind {
		case "data":
			if f.Data != "" {
				return f.Data, nil
			}
		case "exit":
			t.exit = Exit{f.ExitCode, f.Signal}
			return "", t.fail(io.EOF)
		case "error":
			t.refused(&InputError{f.Detail})
		case "ping":
			if err := t.send(context.Background(), `{"kind":"pong"}`); err != nil {
				return "", t.fail(t.why(err))
			}
		case "pong":
			t.answered()
		}
	}
}

// fail ends what waits for the reader, which goes no further.
func (t *Terminal) fail(err error) error {
	t.end.Do(func() { close(t.ended) })
	return err
}

// why says what the end of the connection means.
func (t *Terminal) why(err error) error {
	var closed websocket.CloseError
	switch {
	case !errors.As(err, &closed): // an io.EOF, too, is not that of the program
		return fmt.Errorf("%w: %v", ErrCut, err)
	case closed.Code == websocket.StatusGoingAway:
		return ErrStopping
	case closed.Code == websocket.StatusPolicyViolation && strings.HasPrefix(closed.Reason, "slow"):
		return ErrDropped
	}
	return fmt.Errorf("%w: %s", ErrCut, closed.Reason)
}

// Exit tells how the program ended, once Read has returned io.EOF.
func (t *Terminal) Exit() Exit { return t.exit }

// Write sends input, and returns when the terminal has it. The error is an
// *InputError where it has not, ErrCut, or the cause of ctx, whose end cuts the
// connection. Bytes that are not UTF-8 arrive as U+FFFD.
func (t *Terminal) Write(ctx context.Context, p []byte) error {
	text := acp.AppendString([]byte(`{"kind":"input","data":`), string(p))
	return t.exchange(ctx, string(append(text, '}')), ping)
}

// Resize tells the size of this place.
func (t *Terminal) Resize(ctx context.Context, cols, rows int) error {
	return t.send(ctx, fmt.Sprintf(`{"kind":"resize","cols":%d,"rows":%d}`, cols, rows))
}

const ping = `{"kind":"ping"}`

// exchange sends frames, of which the last is a ping, and waits for its answer.
func (t *Terminal) exchange(ctx context.Context, frames ...string) error {
	answer := make(chan error, 2) // answers to the ping: an error frame, or the pong
	err := t.sendAsking(ctx, answer, frames)
	if err == nil {
		select {
		case err := <-answer:
			return err
		case <-t.ended:
			err = ErrCut
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
	}
	select {
	case said := <-answer: // it came before the end
		return said
	default:
		return err
	}
}

// sendAsking sends frames. Their answer may come before the last one is sent.
func (t *Terminal) sendAsking(ctx context.Context, answer chan error, frames []string) error {
	t.sending.Lock()
	defer t.sending.Unlock()
	t.mu.Lock()
	t.pings = append(t.pings, answer)
	t.mu.Unlock()
	for _, text := range frames {
		if err := t.send(ctx, text); err != nil {
			return err
		}
	}
	return nil
}

// refused tells the oldest ping that what was sent before it was not taken: the
// gateway answers in order. A second refusal says nothing new.
func (t *Terminal) refused(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.pings) > 0 && len(t.pings[0]) == 0 {
		t.pings[0] <- err
	}
}

// answered tells the oldest ping that its pong is here.
func (t *Terminal) answered() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.pings) > 0 {
		t.pings[0] <- nil
		t.pings = t.pings[1:]
	}
}

func (t *Terminal) send(ctx context.Context, text string) error {
	if err := t.conn.Write(ctx, websocket.MessageText, []byte(text)); err != nil {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return fmt.Errorf("%w: %v", ErrCut, err)
	}
	return nil
}

// Close leaves the terminal, and ends a Read under way. It may be called more than
// once.
func (t *Terminal) Close() {
	// CloseNow would only wait for Close, which may take 10 s.
	late := time.AfterFunc(closeTime, t.cut)
	defer late.Stop()
	_ = t.conn.Close(websocket.StatusNormalClosure, "") // whether the other side says goodbye does not matter
}

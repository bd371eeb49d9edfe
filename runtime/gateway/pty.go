package gateway

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coder/websocket"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/internal/brief"
	"github.com/chant-acp/chant-acp/runtime/session"
)

const (
	// maxFrame is the longest frame from a client, in bytes.
	maxFrame = 1 << 20
	// ptyWriteTime is how long one frame may take to be taken. It is longer than
	// a watcher may take nothing, so that one that was dropped and then goes on is
	// told why.
	ptyWriteTime = 3 * session.StallLimit
	// closeTime is how long a goodbye may take.
	closeTime = time.Second
)

// outputRoutes show the output of sessions, and take the input of terminals.
type outputRoutes struct {
	registry *session.Registry
	streams  streams
	life     context.Context // ends when the gateway stops
}

func (o outputRoutes) routes() []route {
	return []route{
		{"GET", "/sessions/{id}/pty", needProtocol, true, o.pty},
		{"GET", "/sessions/{id}/stream", needRead, true, o.stream},
	}
}

// pty serves WS /sessions/{id}/pty.
func (o outputRoutes) pty(w http.ResponseWriter, r *http.Request) error {
	found, err := find(o.registry, r)
	if err != nil {
		return err
	}
	cols, rows, err := sizeOf(r)
	if err != nil {
		return err
	}
	if !strings.EqualFold(r.Header.Get("Upgrade"), "websocket") {
		w.Header().Set("Upgrade", "websocket")
		return upgrade.problem("this is for WebSockets (RFC 6455); GET .../stream shows the output as events")
	}
	watcher, err := found.Attach(cols, rows)
	if err != nil {
		return err
	}
	defer watcher.Close()
	// The origin was checked before any route; the library's own check knows
	// nothing of what is trusted.
	hijacked := &hijacked{caughtErrors: caughtErrors{ResponseWriter: w}}
	conn, err := websocket.Accept(hijacked, r, &websocket.AcceptOptions{InsecureSkipVerify: true, Subprotocols: []string{ptyProtocol}})
	if err != nil {
		return hijacked.problem()
	}
	conn.SetReadLimit(maxFrame)
	client := &ptyClient{conn: conn, below: hijacked.conn, watcher: watcher, times: o.streams.times}
	hijacked.conn.progress = client.progress
	why := client.run(o.life)
	if errors.Is(why, session.ErrStalled) || errors.Is(why, errStalled) {
		o.streams.log.Warn().Err(why).Str("session", found.Info().ID).Str("from", r.RemoteAddr).Msg("a slow watcher was closed")
	}
	return nil
}

// hijacked is a writer that remembers the connection that is taken from it.
type hijacked struct {
	caughtErrors
	conn *steadyConn
}

// Hijack implements http.Hijacker.
func (h *hijacked) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	conn, buffered, err := http.NewResponseController(h.ResponseWriter).Hijack()
	if err != nil {
		return nil, nil, err
	}
	h.conn = &steadyConn{Conn: conn}
	return h.conn, buffered, nil
}

// steadyConn is a connection that is written to in small pieces, each of which the
// client made room for: how fast it reads can be told.
type steadyConn struct {
	net.Conn
	progress func() // told of each piece; nil for nobody. Set before the first write of a frame.
}

// piece is how much is written at once, in bytes. It is small beside the socket's
// buffer (see newConnections).
const piece = 4 << 10

// Write writes p in pieces.
func (s *steadyConn) Write(p []byte) (n int, err error) {
	for len(p) > 0 && err == nil {
		var some int
		some, err = s.Conn.Write(p[:min(len(p), piece)])
		n, p = n+some, p[some:]
		if err == nil && s.progress != nil {
			s.progress()
		}
	}
	return n, err
}

// sizeOf reads ?cols=80&rows=24; without them the watcher has no size until it
// sends one.
func sizeOf(r *http.Request) (cols, rows int, err error) {
	query := r.URL.Query()
	if !query.Has("cols") && !query.Has("rows") {
		return 0, 0, nil
	}
	cols, err = strconv.Atoi(query.Get("cols"))
	if err == nil {
		rows, err = strconv.Atoi(query.Get("rows"))
	}
	if err != nil || cols == 0 && rows == 0 {
		return 0, 0, invalid.problem("cols and rows must both be numbers from 1 to %d", session.MaxSize)
	}
	return cols, rows, nil
}

// ptyClient is one client of one terminal.
type ptyClient struct {
	conn    *websocket.Conn
	below   net.Conn // the TCP connection below the WebSocket
	watcher *session.Watcher
	times   times
	stalled atomic.Bool  // a frame was not taken in time
	frames  atomic.Int64 // frames that were read and handled
	taking  atomic.Bool  // one is being taken: what follows it, pongs too, lies unread

	sending sync.Mutex // one frame at a time, so that progress is that frame's
	writing sync.Mutex
	late    *time.Timer // ends a frame that is not taken; nil: none is being sent
}

// progress is told that a part of a frame was taken.
func (p *ptyClient) progress() {
	p.watcher.Progress()
	p.writing.Lock()
	defer p.writing.Unlock()
	if p.late != nil {
		p.late.Reset(ptyWriteTime)
	}
}

// frame is one message, of either side.
type frame struct {
	Kind string `json:"kind"`
	Data string `json:"data"`
	Cols int    `json:"cols"`
	Rows int    `json:"rows"`
}

// run carries output and input until one side ends, and returns why: io.EOF when
// the terminal has.
func (p *ptyClient) run(life context.Context) error {
	ctx, cancel := context.WithCancelCause(life)
	defer cancel(nil)
	var all sync.WaitGroup
	// A read whose context ends closes the connection, and the goodbye could not be
	// said: the reader ends when the connection does.
	read := make(chan struct{})
	go func() {
		defer close(read)
		cancel(p.input(ctx))
	}()
	all.Go(func() { cancel(p.output(ctx)) })
	all.Go(func() { p.askAlive(ctx, cancel) })
	<-ctx.Done()
	why := context.Cause(ctx)
	p.watcher.Close()
	// Also where a frame is still being sent. That a WebSocket is closed already
	// would keep CloseNow from doing anything, and it waits for the other side.
	late := time.AfterFunc(closeTime, func() { _ = p.below.Close() })
	defer late.Stop()
	all.Wait()
	if p.stalled.Load() {
		why = errStalled // the cause that the other goroutines saw is only the closed connection
	}
	if errors.Is(why, io.EOF) {
		p.sendExit()
	}
	p.goodbye(why)
	<-read
	return why
}

// output sends what the terminal prints.
func (p *ptyClient) output(ctx context.Context) error {
	var text []byte
	for {
		data, err := p.watcher.Read(ctx)
		if err != nil {
			return err
		}
		text = append(text[:0], `{"kind":"data","data":`...)
		text = acp.AppendString(text, string(data))
		text = append(text, '}')
		if err := p.send(text); err != nil {
			return err
		}
	}
}

// send sends a message.
func (p *ptyClient) send(text []byte) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	p.sending.Lock()
	defer p.sending.Unlock()
	late := time.AfterFunc(ptyWriteTime, func() {
		p.stalled.Store(true)
		cancel() // which closes the connection
	})
	defer late.Stop()
	p.setLate(late)
	defer p.setLate(nil)
	return p.conn.Write(ctx, websocket.MessageText, text)
}

func (p *ptyClient) setLate(late *time.Timer) {
	p.writing.Lock()
	defer p.writing.Unlock()
	p.late = late
}

// input takes what the client sends until it ends.
func (p *ptyClient) input(ctx context.Context) error {
	for {
		kind, raw, err := p.conn.Read(context.Background())
		if err != nil {
			return err
		}
		p.taking.Store(true)
		var f frame
		if kind != websocket.MessageText || json.Unmarshal(raw, &f) != nil {
			err = p.sendError("a frame must be a JSON object as text, with a kind and what that kind has; this one was passed over")
		} else {
			err = p.take(ctx, f)
		}
		p.frames.Add(1)
		p.taking.Store(false)
		if err != nil {
			return err
		}
	}
}

// take does what a frame asks. What the terminal does not take is told, and
// disturbs nothing else.
func (p *ptyClient) take(ctx context.Context, f frame) error {
	var err error
	switch f.Kind {
	case "input":
		err = p.watcher.Write(ctx, []byte(f.Data))
	case "resize":
		err = p.watcher.Resize(f.Cols, f.Rows)
	case "ping":
		return p.send([]byte(`{"kind":"pong"}`))
	case "pong":
		return nil
	default:
		return p.sendError(fmt.Sprintf("a frame's kind must be input, resize, ping or pong, not %q", brief.Bytes(f.Kind, 20)))
	}
	if err == nil || ctx.Err() != nil {
		return nil
	}
	return p.sendError(err.Error())
}

// sendError tells what could not be done.
func (p *ptyClient) sendError(detail string) error {
	text := acp.AppendString([]byte(`{"kind":"error","detail":`), detail)
	return p.send(append(text, '}'))
}

// askAlive ends the connection of a client that is gone: one that went away
// without a word would hold the terminal at its size.
func (p *ptyClient) askAlive(ctx context.Context, end context.CancelCauseFunc) {
	tick := time.NewTicker(p.times.ask)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		frames := p.frames.Load()
		limited, cancel := context.WithTimeout(ctx, p.times.pong)
		err := p.conn.Ping(limited)
		cancel()
		if err != nil && (p.taking.Load() || p.frames.Load() > frames) {
			continue // the client is alive: its terminal is slow
		}
		if err != nil {
			end(fmt.Errorf("the client does not answer: %w", err))
			return
		}
	}
}

// sendExit tells how the terminal's program ended.
func (p *ptyClient) sendExit() {
	code, signal, ok := p.watcher.Exit()
	end := struct {
		Kind     string `json:"kind"`
		ExitCode *int   `json:"exitCode"`
		Signal   string `json:"signal,omitempty"`
	}{Kind: "exit", Signal: signal}
	if ok {
		end.ExitCode = &code
	}
	text, _ := json.Marshal(end)
	_ = p.send(text) // a client that is gone misses nothing
}

// goodbye closes the connection and says why, to a client that can take it.
func (p *ptyClient) goodbye(why error) {
	code, reason := websocket.StatusInternalError, "the connection ended"
	switch {
	case errors.Is(why, io.EOF):
		code, reason = websocket.StatusNormalClosure, "the session ended"
	case errors.Is(why, errStopping):
		code, reason = websocket.StatusGoingAway, "the gateway stops"
	case errors.Is(why, session.ErrStalled), errors.Is(why, errStalled):
		code, reason = websocket.StatusPolicyViolation, "slow: took nothing for "+session.StallLimit.String()
	}
	_ = p.conn.Close(code, reason)
	_ = p.conn.CloseNow()
}

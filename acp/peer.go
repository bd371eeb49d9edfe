package acp

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"runtime/debug"
	"strconv"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"
	"github.com/sourcegraph/jsonrpc2"
)

// Handler takes what the other side sends. Both methods are called on the
// reading goroutine, one message at a time in the order of arrival, and must
// not block: a long answer is prepared elsewhere, after what the next message
// may refer to has been registered. Params are valid until the method returns.
type Handler interface {
	// HandleRequest must see to it that the request is answered once, now or
	// later.
	HandleRequest(*Request)
	// HandleNotification takes a message without an id. There is no way to
	// answer it, so what is unknown or wrong is dropped.
	HandleNotification(method string, params json.RawMessage)
}

// Peer is one end of a connection: it frames, checks and correlates messages
// over sourcegraph/jsonrpc2. Incoming lines are read one by one, up to MaxLine
// each; what is no message is answered with -32700 or -32600 and its id, or null
// where that can't be read, and the next line is read.
//
// Notifications wait for room in the way out; answers never wait, but with 256
// of them unread nothing more is read. A failed write, or the end of the input,
// ends the connection for reading; see Done.
type Peer struct {
	transport Transport
	handler   Handler
	log       zerolog.Logger
	out       *outbox
	stream    *stream
	conn      *jsonrpc2.Conn
	seq       atomic.Uint64
	done      chan struct{}
	watch     sync.WaitGroup

	mu       sync.Mutex
	inflight map[string]*Request // by raw id, for $/cancel_request
}

// NewPeer makes a Peer; Start begins to read.
func NewPeer(t Transport, h Handler, log zerolog.Logger) *Peer {
	p := &Peer{transport: t, handler: h, log: log, done: make(chan struct{}), inflight: map[string]*Request{}}
	p.out = newOutbox(t)
	p.stream = newStream(t, p.out, p.handle)
	return p
}

// Start begins to read and to write. Close ends both.
func (p *Peer) Start() {
	p.conn = jsonrpc2.NewConn(context.Background(), p.stream, nil, jsonrpc2.SetLogger(debugLog{p.log})) // requests never reach the library
	close(p.stream.started)                                                                             // NewConn reads already: not before conn is there
	p.watch.Go(p.out.run)                                                                               // ended by Close or a failed write
	p.watch.Go(func() {                                                                                 // ended by either end of the connection
		select {
		case <-p.stream.ended:
		case <-p.out.closed:
		}
		close(p.done)
	})
}

// debugLog takes what the library says, such as that nobody asked for an answer.
type debugLog struct{ log zerolog.Logger }

func (l debugLog) Printf(format string, args ...any) { l.log.Debug().Msgf(format, args...) }

// Done is closed when the input has ended or a write has failed. Requests read
// before may still be answered; see Drain.
func (p *Peer) Done() <-chan struct{} { return p.done }

// Err says why the connection ended: nil while it has not, and at the end of
// the input.
func (p *Peer) Err() error {
	select {
	case <-p.out.closed:
		return p.out.err
	case <-p.stream.ended:
		if errors.Is(p.stream.err, io.EOF) {
			return nil
		}
		return p.stream.err
	default:
		return nil
	}
}

// Settle waits until every message that had arrived has been handed to the
// Handler, so that what was written in one packet is seen together. It does not
// wait for messages to come. Not to be called from a Handler's methods.
func (p *Peer) Settle() { p.stream.idle.wait() }

// Pending reports whether another message has arrived already. To be called from
// a Handler's methods only.
func (p *Peer) Pending() bool { return p.transport.Ready() }

// Drain waits until everything said so far has been written.
func (p *Peer) Drain(ctx context.Context) error { return p.out.drain(ctx) }

// Close ends the connection at once, unwritten lines included, and waits for
// its goroutines as far as the Transport's Close unblocks them.
func (p *Peer) Close() error {
	p.out.close(ErrClosed)
	err := p.transport.Close()
	_ = p.conn.Close() // says ErrClosed when the input has ended: no news here
	<-p.stream.ended
	p.watch.Wait()
	return err
}

// Call sends a request and waits for its answer, which is decoded into result
// (nil to drop it). An error answer is returned as *Error. When ctx ends first,
// the call is given up: a later answer is ignored, and ctx's cause is returned.
// The other side is not told by $/cancel_request: strict clients complain of
// it, and who ended the call knows. Not to be called from a Handler's methods.
func (p *Peer) Call(ctx context.Context, method string, params, result any) error {
	c, err := p.Send(ctx, method, params)
	if err != nil {
		return err
	}
	return c.Wait(ctx, result)
}

// Sent is a request that was sent and waits for its answer.
type Sent struct {
	peer *Peer
	id   uint64
	call jsonrpc2.Waiter
}

// Send is the first half of Call: what is sent after it returns arrives behind the
// request, such as a notification that cancels it. The caller has to Wait.
func (p *Peer) Send(ctx context.Context, method string, params any) (*Sent, error) {
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	raw, err := AppendValue(nil, params)
	if err != nil {
		return nil, err
	}
	s := &Sent{peer: p, id: p.seq.Add(1)} // from 1: 0 is "no id" to some
	s.call, err = p.conn.DispatchCall(ctx, method, json.RawMessage(raw), jsonrpc2.PickID(jsonrpc2.ID{Num: s.id}))
	if err != nil {
		return nil, s.failed(ctx, err)
	}
	return s, nil
}

// Wait waits for the answer; see Call.
func (s *Sent) Wait(ctx context.Context, result any) error {
	if err := s.call.Wait(ctx, result); err != nil {
		return s.failed(ctx, err)
	}
	return nil
}

// failed says why a call has no result, in our own errors, and gives up one that has no
// answer.
func (s *Sent) failed(ctx context.Context, err error) error {
	var answered *jsonrpc2.Error
	switch {
	case errors.As(err, &answered):
		return errorOf(answered)
	case errors.Is(err, jsonrpc2.ErrClosed):
		return ErrClosed
	case ctx.Err() != nil:
		s.peer.stream.giveUp(s.id)
		return context.Cause(ctx)
	}
	return err
}

// errorOf is an error of the library as one of ours.
func errorOf(e *jsonrpc2.Error) error {
	text, err := json.Marshal(e)
	if err != nil {
		return err
	}
	var ours Error
	if err := json.Unmarshal(text, &ours); err != nil {
		return err
	}
	return &ours
}

// Notify sends a notification, waiting for room in the way out.
func (p *Peer) Notify(ctx context.Context, method string, params any) error {
	line, err := appendNotification(nil, method, params)
	if err != nil {
		return err
	}
	return p.out.putWhenRoom(ctx, line)
}

// handle takes a request or notification, on the reading goroutine.
func (p *Peer) handle(in inbound) {
	if in.id == nil {
		p.notified(in)
		return
	}
	r := &Request{Method: in.method, Params: in.params, id: in.id, peer: p}
	if !p.register(r) {
		r.Fail(Errorf(CodeInvalidRequest, "a request with the id %s is still running: give each request an id of its own", r.id))
		return
	}
	defer func() {
		if x := recover(); x != nil {
			p.log.Error().Interface("panic", x).Str("method", r.Method).Bytes("stack", debug.Stack()).Msg("a request handler panicked")
			r.Fail(Errorf(CodeInternal, "internal error: %s could not be handled; the log on stderr says where", r.Method))
		}
	}()
	p.handler.HandleRequest(r)
}

func (p *Peer) notified(in inbound) {
	defer func() {
		if x := recover(); x != nil {
			p.log.Error().Interface("panic", x).Str("method", in.method).Bytes("stack", debug.Stack()).Msg("a notification handler panicked")
		}
	}()
	if in.method == MethodCancelRequest {
		p.cancelRequest(in.params)
		return
	}
	p.handler.HandleNotification(in.method, in.params)
}

// cancelRequest ends the context of a running request; anything else is
// silence.
func (p *Peer) cancelRequest(params json.RawMessage) {
	if len(params) == 0 || params[0] != '{' {
		return
	}
	var id json.RawMessage
	eachMember(params, func(key string, value json.RawMessage) {
		if key == "requestId" {
			id = value
		}
	})
	p.mu.Lock()
	r := p.inflight[string(id)]
	p.mu.Unlock()
	if r != nil {
		r.end(ErrRequestCancelled)
	}
}

// register keeps a request for $/cancel_request. It says false where one of
// the same id is running.
func (p *Peer) register(r *Request) bool {
	if string(r.id) == "null" {
		return true
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inflight[string(r.id)] != nil {
		return false
	}
	p.inflight[string(r.id)] = r
	return true
}

func (p *Peer) unregister(r *Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.inflight[string(r.id)] == r {
		delete(p.inflight, string(r.id))
	}
}

// Request is a request of the other side.
type Request struct {
	// Method and Params as they came. Params are nil where absent.
	Method string
	Params json.RawMessage

	id       json.RawMessage
	peer     *Peer
	answered atomic.Bool

	mu     sync.Mutex
	ctx    context.Context // made when it is first asked for: most requests are answered at once
	cancel context.CancelCauseFunc
	ended  bool // the cause is in the context
	why    error
}

// Context ends with the cause ErrRequestCancelled when the other side sends
// $/cancel_request for this request, and otherwise once it is answered.
func (r *Request) Context() context.Context {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ctx == nil {
		r.ctx, r.cancel = context.WithCancelCause(context.Background())
		if r.ended {
			r.cancel(r.why)
		}
	}
	return r.ctx
}

// end ends the context, the first reason counting.
func (r *Request) end(why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	r.ended, r.why = true, why
	if r.cancel != nil {
		r.cancel(why)
	}
}

// Decode reads the params into v, or returns an *Error with -32602. Half of a
// surrogate pair is refused, because it can't be handed on as it is.
func (r *Request) Decode(v json.Unmarshaler) error {
	if half := loneSurrogate(r.Params); half != "" {
		return Errorf(CodeInvalidParams, "the params hold %s, half of a surrogate pair and no character: send text as UTF-8", half)
	}
	return v.UnmarshalJSON(r.Params)
}

// Reply answers with a result.
func (r *Request) Reply(result any) {
	b := r.peer.Batch()
	b.Reply(r, result)
	b.Send()
}

// Fail answers with an error: the *Error in err's tree, else an internal one.
func (r *Request) Fail(err error) {
	b := r.peer.Batch()
	b.Fail(r, err)
	b.Send()
}

// Batch collects an answer and the notifications that belong right before or
// after it. Send puts them on their way together and never waits.
type Batch struct {
	peer    *Peer
	buf     []byte
	answers int
}

// Batch starts an empty batch.
func (p *Peer) Batch() *Batch { return &Batch{peer: p, buf: make([]byte, 0, 1<<10)} }

// Notify adds a notification. Params that can't be encoded are a fault of the
// caller; they are logged and left out.
func (b *Batch) Notify(method string, params any) {
	line, err := appendNotification(b.buf, method, params)
	if err != nil {
		b.peer.log.Error().Err(err).Str("method", method).Msg("a notification could not be encoded")
		return
	}
	b.buf = line
}

// Ask adds a request whose answer, if one comes, counts for nothing.
func (b *Batch) Ask(method string, params any) {
	line := append(append(b.buf, `{"jsonrpc":"2.0","id":`...), strconv.FormatUint(b.peer.seq.Add(1), 10)...)
	line = append(append(append(line, `,"method":"`...), method...), `","params":`...)
	line, err := AppendValue(line, params)
	if err != nil {
		b.peer.log.Error().Err(err).Str("method", method).Msg("a request could not be encoded")
		return
	}
	b.buf = append(line, '}', '\n')
}

// Reply adds the answer to r. Only the first answer to a request counts.
func (b *Batch) Reply(r *Request, result any) {
	if !b.takes(r) {
		return
	}
	line := append(append(b.buf, `{"jsonrpc":"2.0","id":`...), r.id...)
	line, err := AppendValue(append(line, `,"result":`...), result)
	if err != nil {
		b.buf = appendError(b.buf, r.id, asError(err))
		return
	}
	b.buf = append(line, '}', '\n')
}

// Fail adds an error as the answer to r: the *Error in err's tree, else an
// internal one.
func (b *Batch) Fail(r *Request, err error) {
	if b.takes(r) {
		b.buf = appendError(b.buf, r.id, asError(err))
	}
}

// takes says whether r has no answer yet, and counts what follows as the answer.
func (b *Batch) takes(r *Request) bool {
	if r.answered.Swap(true) {
		return false
	}
	r.peer.unregister(r)
	r.end(nil)
	b.answers++
	return true
}

// Send queues the batch. After the end of the connection it is dropped.
func (b *Batch) Send() {
	if len(b.buf) > 0 {
		_ = b.peer.out.put(b.buf, b.answers) // closed: nobody is left to tell
	}
}

func appendNotification(b []byte, method string, params any) ([]byte, error) {
	b = append(append(b, `{"jsonrpc":"2.0","method":"`...), method...)
	b, err := AppendValue(append(b, `","params":`...), params)
	return append(b, '}', '\n'), err
}

func appendError(b []byte, id json.RawMessage, e *Error) []byte {
	b = append(append(b, `{"jsonrpc":"2.0","id":`...), id...)
	line, err := AppendValue(append(b, `,"error":`...), e)
	if err != nil { // data that can't be encoded: the sentence is what matters
		line, _ = AppendValue(append(b, `,"error":`...), &Error{Code: e.Code, Message: e.Message})
	}
	return append(line, '}', '\n')
}

package acp_test

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/chant-acp/chant-acp/acp"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// echo answers each request with its method and params.
type echo struct {
	notified chan string
	hold     chan *acp.Request
}

func (e *echo) HandleRequest(r *acp.Request) {
	switch r.Method {
	case "hold":
		e.hold <- r
	case "panic":
		panic("on purpose")
	default:
		r.Reply(map[string]any{"method": r.Method, "params": append(json.RawMessage(nil), r.Params...)})
	}
}

func (e *echo) HandleNotification(method string, _ json.RawMessage) { e.notified <- method }

// wire is the raw other end of a Peer.
type wire struct {
	t    *testing.T
	in   *io.PipeWriter
	out  *bufio.Reader
	peer *acp.Peer
	h    *echo
}

func startWire(t *testing.T) *wire {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	h := &echo{notified: make(chan string, 16), hold: make(chan *acp.Request, 1024)}
	p := acp.NewPeer(acp.NewTransport(inR, outW), h, zerolog.Nop())
	p.Start()
	w := &wire{t: t, in: inW, out: bufio.NewReaderSize(outR, 1<<20), peer: p, h: h}
	t.Cleanup(func() {
		inW.Close()
		p.Close()
	})
	return w
}

func (w *wire) send(s string) {
	w.t.Helper()
	if _, err := io.WriteString(w.in, s); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wire) line() string {
	w.t.Helper()
	s, err := w.out.ReadString('\n')
	if err != nil {
		w.t.Fatalf("%v after %q", err, s)
	}
	return strings.TrimSuffix(s, "\n")
}

func TestWhatIsNoMessageIsRefusedAndTheNextLineServed(t *testing.T) {
	for _, c := range []struct {
		line string
		code int
		id   string // "" for null
	}{
		{`{bad`, -32700, ""}, {`{"jsonrpc":"2.0","id":1`, -32700, ""}, {"\"\xff\"", -32700, ""}, {strings.Repeat("[", 20000) + strings.Repeat("]", 20000), -32700, ""},
		{`{"jsonrpc":"2.0","id":1,"method":"a"}{"jsonrpc":"2.0","id":2,"method":"b"}`, -32700, ""},
		{`42`, -32600, ""}, {`"x"`, -32600, ""}, {`null`, -32600, ""}, {`true`, -32600, ""},
		{`[]`, -32600, ""}, {`[{"jsonrpc":"2.0","id":1,"method":"a"}]`, -32600, ""},
		{`{}`, -32600, ""}, {`{"id":1,"method":"a"}`, -32600, `1`}, {`{"jsonrpc":"1.0","id":1,"method":"a"}`, -32600, `1`}, {`{"JSONRPC":"2.0","id":1,"method":"a"}`, -32600, `1`},
		{`{"jsonrpc":"2.0","id":1,"method":5}`, -32600, `1`}, {`{"jsonrpc":"2.0","id":1,"Method":"a"}`, -32600, `1`},
		{`{"jsonrpc":"2.0","id":true,"method":"a"}`, -32600, ""}, {`{"jsonrpc":"2.0","id":{},"method":"a"}`, -32600, ""}, {`{"jsonrpc":"2.0","id":[],"method":"a"}`, -32600, ""},
		{`{"jsonrpc":"2.0","id":1,"id":2,"method":"a"}`, -32600, ""}, {`{"jsonrpc":"2.0","id":1,"method":"a","result":1}`, -32600, ""},
		{`{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 5000) + `","method":"a"}`, -32600, ""},
		{`{"jsonrpc":"2.0","id":"\u0061","method":"a","method":"b"}`, -32600, `"\u0061"`}, {`{"id":1,"result":1}`, -32600, ""}, {`{"id":null,"method":"a"}`, -32600, ""},
		{`{"jsonrpc":"2.0","id":"q","params":{}}`, -32600, `"q"`}, {`{"jsonrpc":"2.0","method":5}`, -32600, ""},
		{strings.Repeat("x", acp.MaxLine+1), -32600, ""},
	} {
		name := c.line
		if len(name) > 60 {
			name = name[:60]
		}
		t.Run(name, func(t *testing.T) {
			w := startWire(t)
			w.send(c.line + "\n" + `{"jsonrpc":"2.0","id":7,"method":"after"}` + "\n")
			if got, want := w.line(), fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":%d,`, cmp.Or(c.id, "null"), c.code); !strings.HasPrefix(got, want) {
				t.Errorf("got %s, want %s…", got, want)
			}
			if got, want := w.line(), `{"jsonrpc":"2.0","id":7,"result":{"method":"after"`; !strings.HasPrefix(got, want) {
				t.Errorf("got %s, want %s…", got, want)
			}
		})
	}
}

func TestFramingLeniency(t *testing.T) {
	w := startWire(t)
	w.send("\xef\xbb\xbf" + `{"jsonrpc":"2.0","id":1,"method":"a"}` + "\r\n\n   \n\r\n  " + `{"jsonrpc":"2.0","id":2,"method":"b"}` + "\t\n")
	for _, id := range []string{"1", "2"} {
		if got := w.line(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":`+id+`,"result"`) {
			t.Errorf("id %s: got %s", id, got)
		}
	}
	w.send(`{"jsonrpc":"2.0","id":3,"method":"c"}`) // no newline
	w.in.Close()
	if got := w.line(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":3,"result"`) {
		t.Errorf("unterminated last line: got %s", got)
	}
	<-w.peer.Done()
	if err := w.peer.Err(); err != nil {
		t.Errorf("end of input: %v", err)
	}
}

func TestIDsComeBackByteForByte(t *testing.T) {
	for _, id := range []string{`"abc"`, `0`, `-1`, `9007199254740993`, `1.5`, `1e3`, `null`, `"\u0061"`, `""`, `18446744073709551616`} {
		w := startWire(t)
		w.send(`{"jsonrpc":"2.0","id":` + id + `,"method":"a"}` + "\n")
		if got := w.line(); !strings.HasPrefix(got, `{"jsonrpc":"2.0","id":`+id+`,"result":`) {
			t.Errorf("id %s: got %s", id, got)
		}
	}
}

func TestParamsComeThroughAsTheyAre(t *testing.T) {
	w := startWire(t)
	const params = `{"b":1,"a":"<x>","n":9007199254740993,"a":2}`
	w.send(`{"jsonrpc":"2.0","id":1,"params":` + params + `,"method":"a"}` + "\n")
	if got, want := w.line(), `{"jsonrpc":"2.0","id":1,"result":{"method":"a","params":`+params+`}}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestPanicAnswersInternalErrorAndGoesOn(t *testing.T) {
	w := startWire(t)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"panic"}` + "\n" + `{"jsonrpc":"2.0","id":2,"method":"a"}` + "\n")
	if got := w.line(); !strings.Contains(got, `"id":1,"error":{"code":-32603`) {
		t.Error(got)
	}
	if got := w.line(); !strings.Contains(got, `"id":2,"result"`) {
		t.Error(got)
	}
}

func TestConcurrentUseOfOneID(t *testing.T) {
	w := startWire(t)
	w.send(`{"jsonrpc":"2.0","id":1,"method":"hold"}` + "\n" + `{"jsonrpc":"2.0","id":1,"method":"a"}` + "\n")
	if got := w.line(); !strings.Contains(got, `"id":1,"error":{"code":-32600`) {
		t.Error(got)
	}
	w.send(`{"jsonrpc":"2.0","id":1,"method":"b"}` + "\n") // the refusal has left the running one as it was
	if got := w.line(); !strings.Contains(got, `"id":1,"error":{"code":-32600`) {
		t.Error(got)
	}
	running := <-w.h.hold
	w.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":1}}` + "\n")
	<-running.Context().Done()
	running.Reply(true)
	if got := w.line(); got != `{"jsonrpc":"2.0","id":1,"result":true}` {
		t.Error(got)
	}
	w.send(`{"jsonrpc":"2.0","id":1,"method":"a"}` + "\n")
	if got := w.line(); !strings.Contains(got, `"id":1,"result"`) {
		t.Error("the id is free again: " + got)
	}
}

func TestCancelRequest(t *testing.T) {
	w := startWire(t)
	w.send(`{"jsonrpc":"2.0","id":"r","method":"hold"}` + "\n")
	r := <-w.h.hold
	for _, junk := range []string{``, `,"params":{}`, `,"params":{"requestId":"other"}`, `,"params":[1]`, `,"params":null`} {
		w.send(`{"jsonrpc":"2.0","method":"$/cancel_request"` + junk + "}\n")
	}
	w.send(`{"jsonrpc":"2.0","id":2,"method":"a"}` + "\n")
	w.line()
	if r.Context().Err() != nil {
		t.Fatal("junk cancelled the request")
	}
	w.send(`{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":"r"}}` + "\n")
	<-r.Context().Done()
	if !errors.Is(context.Cause(r.Context()), acp.ErrRequestCancelled) {
		t.Error(context.Cause(r.Context()))
	}
	r.Reply(1)
	r.Reply(2) // only the first counts
	if got := w.line(); got != `{"jsonrpc":"2.0","id":"r","result":1}` {
		t.Error(got)
	}
}

func TestCallTakesOnlyTheAnswerToIt(t *testing.T) {
	w := startWire(t)
	type res struct {
		n   int
		err error
	}
	done := make(chan res)
	call := func(ctx context.Context) {
		var n int
		err := w.peer.Call(ctx, "ask", map[string]string{"a": "<b>"}, &n)
		done <- res{n, err}
	}
	go call(context.Background())
	if got := w.line(); !strings.Contains(got, `"id":1,`) {
		t.Fatal(got)
	}
	// None of these is the answer; a response with id null is a peer's
	// complaint about a line of ours.
	w.send(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}` + "\n" +
		`{"jsonrpc":"2.0","id":0,"result":9}` + "\n" + `{"jsonrpc":"2.0","id":"1","result":9}` + "\n" + `{"jsonrpc":"2.0","result":9}` + "\n" +
		`{"jsonrpc":"2.0","id":1,"result":5}` + "\n")
	if r := <-done; r.n != 5 || r.err != nil {
		t.Errorf("got %+v", r)
	}

	go call(context.Background())
	w.line()
	w.send(`{"jsonrpc":"2.0","id":2,"error":{"code":-32002,"message":"gone","data":{"sessionId":"s"}}}` + "\n")
	if r := <-done; !errors.Is(r.err, acp.Errorf(acp.CodeResourceNotFound, "")) {
		t.Errorf("got %+v", r)
	}

	go call(context.Background())
	w.line()
	w.send(`{"jsonrpc":"2.0","id":3,"error":5}` + "\n") // hostile
	if r := <-done; r.err == nil {
		t.Error("an error that is no object was taken for success")
	}

	for i, hostile := range []string{`"result":1e999`, `"result":"five"`, `"error":null`, `"error":{"code":"x"}`, `"result":5,"error":{"code":1,"message":"m"}`} {
		go call(context.Background())
		w.line()
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`+"\n", i+4, hostile))
		if r := <-done; r.err == nil {
			t.Errorf("%s was taken for success", hostile)
		}
	}
	for i, odd := range []string{`"result":5,"error":null`, `"result":5,"Result":6,"METHOD":"x","Id":1`} {
		go call(context.Background())
		w.line()
		w.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`+"\n", i+9, odd))
		if r := <-done; r.n != 5 || r.err != nil {
			t.Errorf("%s: %+v", odd, r)
		}
	}

	ctx, cancel := context.WithCancelCause(context.Background())
	go call(ctx)
	w.line()
	why := errors.New("why")
	cancel(why)
	if r := <-done; !errors.Is(r.err, why) {
		t.Errorf("got %+v", r)
	}
	w.send(`{"jsonrpc":"2.0","id":11,"result":1}` + "\n" + `{"jsonrpc":"2.0","id":9,"method":"a"}` + "\n")
	if got := w.line(); !strings.Contains(got, `"id":9,"result"`) {
		t.Error(got)
	}

	go call(context.Background())
	w.line()
	w.in.Close()
	if r := <-done; !errors.Is(r.err, acp.ErrClosed) {
		t.Errorf("at the end of input: %+v", r)
	}
}

func TestAnswersHoldBackTheReaderAndNotificationsWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := startWire(t)
		const total = 2000
		sent := 0
		go func() {
			for i := range total {
				fmt.Fprintf(w.in, `{"jsonrpc":"2.0","id":%d,"method":"a"}`+"\n", i)
				sent++
			}
		}()
		synctest.Wait() // everything blocks: nobody reads
		if sent < 256 || sent > 258 {
			t.Errorf("%d requests were read while no answer was; at most 256 answers may wait", sent)
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("gave up")
		big := strings.Repeat("y", 100<<10)
		if err := w.peer.Notify(ctx, "n", big); err != nil {
			t.Errorf("the first finds room: %v", err)
		}
		cancel(why)
		if err := w.peer.Notify(ctx, "n", big); !errors.Is(err, why) {
			t.Errorf("the second has to wait, and gives up with its context: %v", err)
		}
		answers, notes := 0, 0
		for answers < total {
			if strings.Contains(w.line(), `"method":"n"`) {
				notes++
			} else {
				answers++
			}
		}
		if notes != 1 {
			t.Errorf("%d notifications came, want 1", notes)
		}
		if err := w.peer.Drain(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Errors repeat what came in, but not megabytes of it.
func TestErrorsAreShort(t *testing.T) {
	e := acp.Errorf(acp.CodeInvalidParams, "cwd is %s", strings.Repeat("é", 1<<20)).With("cwd", strings.Repeat("x", 1<<20))
	raw, err := json.Marshal(e)
	if err != nil || len(raw) > 16<<10 || !json.Valid(raw) {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
}

// A side that never reads and goes away is noticed, though its last lines can't
// be read for the answers that wait.
func TestTheEndIsSeenBehindUnreadAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		here, there := acp.Pipe()
		h := &echo{notified: make(chan string, 1), hold: make(chan *acp.Request, 1)}
		p := acp.NewPeer(there, h, zerolog.Nop())
		p.Start()
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			for {
				line := `{"jsonrpc":"2.0","id":1,"method":"a","params":{"x":"` + strings.Repeat("y", 1000) + `"}}` + "\n"
				if here.WriteLines([]byte(line)) != nil {
					return
				}
			}
		}()
		synctest.Wait() // both ways are full
		here.Close()
		<-p.Done()
		<-sent
		p.Close()
	})
}

func TestFailedWriteEndsTheConnection(t *testing.T) {
	inR, inW := io.Pipe()
	outR, outW := io.Pipe()
	outR.Close()
	h := &echo{notified: make(chan string, 1), hold: make(chan *acp.Request, 1)}
	p := acp.NewPeer(acp.NewTransport(inR, outW), h, zerolog.Nop())
	p.Start()
	io.WriteString(inW, `{"jsonrpc":"2.0","id":1,"method":"a"}`+"\n")
	<-p.Done()
	if p.Err() == nil {
		t.Error("no error")
	}
	if err := p.Notify(context.Background(), "n", nil); err == nil {
		t.Error("notify after the end")
	}
	if err := p.Call(context.Background(), "n", nil, nil); err == nil {
		t.Error("call after the end")
	}
	p.Close()
}

func TestCaseOfPropertyNamesCounts(t *testing.T) {
	for _, c := range []struct {
		v    json.Unmarshaler
		json string
		path string
	}{
		{new(acp.NewSessionRequest), `{"CWD":"/","mcpServers":[]}`, "params.cwd"},
		{new(acp.NewSessionRequest), `{"cwd":"/"}`, "params.mcpServers"},
		{new(acp.NewSessionRequest), `{"cwd":5,"mcpServers":[]}`, "params.cwd"},
		{new(acp.NewSessionRequest), `{"cwd":"/","mcpServers":[5]}`, "params.mcpServers[0]"},
		{new(acp.NewSessionRequest), ``, "params"}, {new(acp.NewSessionRequest), `null`, "params"}, {new(acp.NewSessionRequest), `[]`, "params"},
		{new(acp.PromptRequest), `{"sessionid":"x","prompt":[]}`, "params.sessionId"},
		{new(acp.PromptRequest), `{"sessionId":"x","prompt":"x"}`, "params.prompt"},
		{new(acp.PromptRequest), `{"sessionId":"x","prompt":null}`, "params.prompt"},
		{new(acp.PromptRequest), `{"sessionId":"x","prompt":[{"type":"video"}]}`, "params.prompt[0].type"},
		{new(acp.PromptRequest), `{"sessionId":"x","prompt":[{"type":"text"}]}`, "params.prompt[0].text"},
		{new(acp.InitializeRequest), `{}`, "params.protocolVersion"}, {new(acp.InitializeRequest), `{"protocolVersion":null}`, "params.protocolVersion"},
		{new(acp.InitializeRequest), `{"protocolVersion":"1"}`, "params.protocolVersion"}, {new(acp.InitializeRequest), `{"protocolVersion":1.5}`, "params.protocolVersion"},
		{new(acp.InitializeRequest), `{"protocolVersion":-1}`, "params.protocolVersion"}, {new(acp.InitializeRequest), `{"protocolVersion":70000}`, "params.protocolVersion"},
	} {
		err := c.v.UnmarshalJSON([]byte(c.json))
		var e *acp.Error
		if !errors.As(err, &e) || e.Code != acp.CodeInvalidParams || e.Data["path"] != c.path {
			t.Errorf("%T %s: got %v, want an invalid-params error at %s", c.v, c.json, err, c.path)
		}
	}
	var lenient acp.InitializeRequest
	if err := lenient.UnmarshalJSON([]byte(`{"protocolVersion":65535,"clientCapabilities":{"fs":"yes","terminal":1,"zzz":1},"_meta":5,"extra":[]}`)); err != nil || lenient.ClientCapabilities.Terminal {
		t.Errorf("%v %+v", err, lenient)
	}
	var null acp.NewSessionRequest
	if err := null.UnmarshalJSON([]byte(`{"cwd":"/","mcpServers":null}`)); err != nil {
		t.Error(err)
	}
}

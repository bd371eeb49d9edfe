package session

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.uber.org/goleak"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/host/process"
	"github.com/chant-acp/chant-acp/host/process/hopper"
	"github.com/chant-acp/chant-acp/internal/testenv"
)

// agentVar makes the test binary an agent, a good one or one of a kind of bad ones.
const agentVar = "SESSION_TEST_AGENT"

func TestMain(m *testing.M) {
	process.GuardMain()
	hopper.Main()
	if kind := os.Getenv(agentVar); kind != "" {
		runAgent(kind)
		os.Exit(0)
	}
	goleak.VerifyTestMain(m)
}

// runAgent ends when its input does, where it is not of a kind that does otherwise.
func runAgent(kind string) {
	switch kind {
	case "silent":
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	case "noise":
		for {
			if _, err := fmt.Println("Usage: agent [flags]"); err != nil {
				return
			}
		}
	case "noise and silence":
		fmt.Println("Welcome!")
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	case "dies":
		fmt.Fprintln(os.Stderr, strings.Repeat("x", 5000)+"\nno such model")
		os.Exit(7)
	case "closes":
		os.Stdout.Close()
		_, _ = io.Copy(io.Discard, os.Stdin)
		select {} // and stays
	case "half a line":
		fmt.Print(`{"jsonrpc":"2.0","id":1,`)
		return
	}
	a := &testAgent{kind: kind, answers: make(map[string]chan json.RawMessage), cancels: make(chan struct{}, 10)}
	a.serve()
}

// testAgent is an agent that does what its prompt says.
type testAgent struct {
	kind    string
	mu      sync.Mutex
	answers map[string]chan json.RawMessage
	cancels chan struct{}
}

type message struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params struct {
		Prompt             []acp.ContentBlock `json:"prompt"`
		Meta               acp.Meta           `json:"_meta"`
		ClientCapabilities json.RawMessage    `json:"clientCapabilities"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
}

func (a *testAgent) serve() {
	if a.kind == "greets" {
		fmt.Println("\x1b[1mhello\x1b[0m, here is your agent")
	}
	in := bufio.NewScanner(os.Stdin)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var m message
		if err := json.Unmarshal(in.Bytes(), &m); err != nil {
			panic(err)
		}
		switch m.Method {
		case "":
			a.mu.Lock()
			a.answers[string(m.ID)] <- m.Result
			a.mu.Unlock()
		case acp.MethodInitialize:
			a.initialize(m)
		case acp.MethodSessionNew:
			a.newSession(m)
		case acp.MethodSessionPrompt:
			go a.prompt(m)
		case acp.MethodSessionCancel:
			select {
			case a.cancels <- struct{}{}:
			default:
			}
		}
	}
}

func (a *testAgent) say(format string, args ...any) {
	a.mu.Lock()
	defer a.mu.Unlock()
	fmt.Printf(format+"\n", args...)
}

func (a *testAgent) initialize(m message) {
	switch a.kind {
	case "other version":
		a.say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":99}}`, m.ID)
	case "refuses":
		a.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"Internal error","data":{"details":"no license"}}}`, m.ID)
	case "nonsense":
		a.say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"one"}}`, m.ID)
	default:
		fmt.Fprintf(os.Stderr, "capabilities %s\n", m.Params.ClientCapabilities)
		a.say(`{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":1,"agentCapabilities":{"odd":true},"agentInfo":{"name":"test","version":"3"},"authMethods":[{"id":"x","name":"by key"}]}}`, m.ID)
	}
}

func (a *testAgent) newSession(m message) {
	switch a.kind {
	case "wants a login":
		a.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32000,"message":"Authentication required"}}`, m.ID)
	case "no session":
		a.say(`{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
	default:
		a.say(`{"jsonrpc":"2.0","id":%s,"result":{"sessionId":"in the agent","modes":{"availableModes":[]},"configOptions":[{"type":"boolean","currentValue":true}]}}`, m.ID)
	}
}

func (a *testAgent) update(update string) {
	a.say(`{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"in the agent","update":%s}}`, update)
}

func (a *testAgent) text(s string) {
	raw, _ := json.Marshal(s)
	a.update(`{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":` + string(raw) + `}}`)
}

func (a *testAgent) end(m message, reason string) {
	a.say(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":%q}}`, m.ID, reason)
}

// ask asks for permission and returns the outcome.
func (a *testAgent) ask(id string) string {
	ch := make(chan json.RawMessage, 1)
	a.mu.Lock()
	a.answers[`"`+id+`"`] = ch
	a.mu.Unlock()
	a.say(`{"jsonrpc":"2.0","id":%q,"method":"session/request_permission","params":{"sessionId":"in the agent","toolCall":{"toolCallId":"t1","title":"rm -rf"},"options":[{"optionId":"yes","name":"Yes","kind":"allow_once"},{"optionId":"no","name":"No","kind":"reject_once"}]}}`, id)
	return string(<-ch)
}

func (a *testAgent) prompt(m message) {
	word, rest, _ := strings.Cut(m.Params.Prompt[0].Text, " ")
	switch word {
	case "echo":
		for _, c := range rest {
			a.text(string(c))
		}
	case "meta":
		raw, _ := json.Marshal(m.Params.Meta)
		a.text(string(raw))
	case "much":
		for range 40 {
			a.text(strings.Repeat("é日", 10_000))
		}
	case "steps":
		a.update(`{"sessionUpdate":"plan","entries":[{"content":"one","priority":"high","status":"in_progress"},{"content":"two","priority":"low","status":"pending"}]}`)
		a.update(`{"sessionUpdate":"tool_call","toolCallId":"t1","title":"ls"}`)
		a.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t1","status":"in_progress"}`)
		a.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t1","content":[]}`)
		a.update(`{"sessionUpdate":"tool_call_update","toolCallId":"t1","status":"completed"}`)
		a.update(`{"sessionUpdate":"plan","entries":[{"content":"one","priority":"high","status":"completed"},{"content":"two","priority":"low","status":"pending"}]}`)
	case "wait":
		<-a.cancels
		a.end(m, "cancelled")
		return
	case "ask":
		a.text(a.ask("ask"))
	case "twice": // and once more after the cancel
		a.text(a.ask("first"))
		a.text(a.ask("second"))
		a.end(m, "cancelled")
		return
	case "leave":
		go a.ask("nobody waits for this")
		<-a.cancels
		a.end(m, "cancelled")
		return
	case "gate":
		a.say(`{"jsonrpc":"2.0","id":%s,"result":{"stopReason":"end_turn","_meta":{"chant":{"outcome":"waiting","runId":"run_1","gate":"review"}}}}`, m.ID)
		return
	case "error":
		a.say(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32603,"message":"overloaded"}}`, m.ID)
		return
	case "die":
		fmt.Fprintln(os.Stderr, "out of memory")
		os.Exit(9)
	case "deaf":
		_ = os.Stdin.Close()
		select {}
	}
	a.end(m, "end_turn")
}

// events collects what a registry tells.
type events struct {
	mu   sync.Mutex
	all  []Event
	news chan struct{}
}

func (e *events) take(event Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.all = append(e.all, event)
	close(e.news)
	e.news = make(chan struct{})
}

// await returns the first event of a type that is not before the n-th.
func (e *events) await(t *testing.T, kind string) Event {
	t.Helper()
	limit := time.After(testenv.Hang)
	for {
		e.mu.Lock()
		for _, event := range e.all {
			if event.Type == kind {
				e.mu.Unlock()
				return event
			}
		}
		news := e.news
		e.mu.Unlock()
		select {
		case <-news:
		case <-limit:
			t.Fatalf("no %s; there are %s", kind, e)
		}
	}
}

// String names the types of all events.
func (e *events) String() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	var types []string
	for _, event := range e.all {
		types = append(types, event.Type)
	}
	return strings.Join(types, " ")
}

// open makes a registry that is shut down with the test.
func open(t testing.TB, o Options) (*Registry, *events) {
	t.Helper()
	told := &events{news: make(chan struct{})}
	o.Notify, o.Log = told.take, zerolog.Nop()
	r, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return r, told
}

// expect reads until want has come, and returns all of it.
func expect(t testing.TB, w *Watcher, want string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), testenv.Hang)
	defer cancel()
	var got []byte
	for !strings.Contains(string(got), want) {
		p, err := w.Read(ctx)
		if err != nil {
			t.Fatalf("%v before %q came; there is %q", err, want, got)
		}
		got = append(got, p...)
	}
	return string(got)
}

func terminal(t testing.TB, r *Registry, script string) *Session {
	t.Helper()
	s, err := r.StartTerminal(context.Background(), TerminalSpec{Argv: []string{"sh", "-c", script}, Cwd: "/"})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func attach(t testing.TB, s *Session, cols, rows int) *Watcher {
	t.Helper()
	w, err := s.Attach(cols, rows)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Close)
	return w
}

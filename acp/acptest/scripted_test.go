package acptest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/rs/zerolog"
)

// scripted is a small agent that does everything right, but for the one thing
// that bug names. It shows that the suite passes what is right, and that each
// check can fail.
type scripted struct {
	bug     string
	askFile string
	store   *store
	slow    func(ctx context.Context) error // runs the program of "slow"
	release <-chan struct{}                 // an agent that does not leave waits for it

	conn  acp.AgentConn
	two   chan struct{} // closed when two turns are open: see the bug mixes-sessions
	mixed sync.Once
	begun chan struct{} // closed when Start has returned
	place chan struct{} // one program at a time
	turns sync.WaitGroup

	mu       sync.Mutex
	ready    bool
	terminal bool
	poisoned bool
	seq      int
	running  map[string]*turn
	held     bool // the reader waits: see the bug holds-all
}

type turn struct {
	cancel context.CancelCauseFunc
	done   chan struct{}
}

// store keeps sessions; agents that share one find each other's.
type store struct {
	mu       sync.Mutex
	dir      string // of files that outlive the process, or ""
	sessions map[string]*past
}

type past struct {
	Cwd     string
	Option  string
	Prompts []string
}

var errCancelled = errors.New("cancelled")

func newScripted(bug string) *scripted {
	return &scripted{
		bug: bug, store: &store{sessions: map[string]*past{}}, place: make(chan struct{}, 1), running: map[string]*turn{}, begun: make(chan struct{}), two: make(chan struct{}),
		slow: func(ctx context.Context) error { <-ctx.Done(); return nil },
	}
}

// serve runs the agent until its input ends, a write fails, or stop is closed.
func (a *scripted) serve(t acp.Transport, stop <-chan struct{}) {
	a.conn = acp.AgentConn{Peer: acp.NewPeer(a.filtered(t), a, zerolog.Nop())}
	if a.bug == "greets" {
		_ = t.WriteLines([]byte("Welcome!\n"))
	}
	a.conn.Start()
	close(a.begun)
	select {
	case <-a.conn.Done():
	case <-stop:
	}
	if a.bug == "stays" || a.bug == "ignores-write-errors" && a.conn.Err() != nil {
		<-a.release
	}
	a.mu.Lock()
	for _, t := range a.running {
		t.cancel(errCancelled)
	}
	a.mu.Unlock()
	a.turns.Wait()
	if a.bug == "drains-for-ever" {
		_ = a.conn.Drain(context.Background())
	}
	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond) // a client that does not read
	defer cancel()
	_ = a.conn.Drain(ctx)
	a.conn.Close()
}

func (a *scripted) HandleNotification(method string, params json.RawMessage) {
	var r acp.SessionRequest
	if a.bug == "answers-notifications" && method != acp.MethodSessionCancel {
		a.notify(map[string]any{"sessionUpdate": "agent_message_chunk", "content": acp.Text("what?")}, "")
	}
	if a.bug == "runs-notified-prompts" && method == acp.MethodSessionPrompt {
		var p acp.PromptRequest
		if p.UnmarshalJSON(params) == nil {
			a.say(p.SessionID, "running")
		}
	}
	if method != acp.MethodSessionCancel || r.UnmarshalJSON(params) != nil {
		return
	}
	a.mu.Lock()
	t := a.running[r.SessionID]
	known := a.store.get(r.SessionID) != nil
	a.poisoned = a.poisoned || t == nil && known && a.bug == "cancel-poisons"
	a.mu.Unlock()
	if !known && a.bug == "answers-cancel" {
		a.say(r.SessionID, "no such session")
	}
	if t != nil {
		t.cancel(errCancelled)
	}
}

func (a *scripted) HandleRequest(r *acp.Request) {
	a.mu.Lock()
	ready := a.ready
	a.mu.Unlock()
	if r.Method == acp.MethodInitialize {
		a.initialize(r)
		return
	}
	if !ready && a.bug != "works-before-initialize" {
		r.Fail(acp.Errorf(acp.CodeInvalidRequest, "send initialize first"))
		return
	}
	if a.bug == "holds-all" {
		a.mu.Lock()
		held := a.held
		a.mu.Unlock()
		if held {
			<-a.release
		}
	}
	switch r.Method {
	case acp.MethodSessionNew:
		a.newSession(r)
	case acp.MethodSessionLoad, acp.MethodSessionResume:
		a.load(r)
	case acp.MethodSessionList:
		a.list(r)
	case acp.MethodSessionClose:
		a.closeSession(r)
	case acp.MethodSessionSetConfigOption:
		a.setOption(r)
	case acp.MethodSessionPrompt:
		a.prompt(r)
	default:
		if a.bug == "accepts-unknown" || a.bug == "accepts-underscore" && strings.HasPrefix(r.Method, "_") {
			r.Reply(map[string]any{})
			return
		}
		r.Fail(acp.Errorf(acp.CodeMethodNotFound, "there is no %s", r.Method))
	}
}

func (a *scripted) initialize(r *acp.Request) {
	var in acp.InitializeRequest
	if err := r.Decode(&in); err != nil && a.bug != "lenient-initialize" {
		r.Fail(err)
		return
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.ready && a.bug == "initialize-resets" {
		a.store.sessions = map[string]*past{}
	}
	a.ready = true
	a.terminal, _ = in.ClientCapabilities.Meta["terminal_output"].(bool)
	out := acp.InitializeResponse{
		ProtocolVersion: acp.ProtocolVersion,
		AgentInfo:       &acp.Implementation{Name: "scripted", Version: "1"},
		AuthMethods:     []acp.AuthMethod{},
		AgentCapabilities: acp.AgentCapabilities{LoadSession: true, SessionCapabilities: &acp.SessionCapabilities{
			List: &struct{}{}, Resume: &struct{}{}, Close: &struct{}{},
		}},
	}
	switch a.bug {
	case "version-2":
		out.ProtocolVersion = 2
	case "echoes-version":
		out.ProtocolVersion = in.ProtocolVersion
	case "anonymous":
		out.AgentInfo = nil
	}
	r.Reply(out)
}

func (a *scripted) id(prefix string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.seq++
	return fmt.Sprintf("%s-%d-%d", prefix, os.Getpid(), a.seq)
}

func (a *scripted) newSession(r *acp.Request) {
	var in acp.NewSessionRequest
	err := r.Decode(&in)
	if err == nil {
		err = checkDir(in.Cwd)
	}
	switch {
	case err == nil:
	case a.bug == "lenient-new", a.bug == "lenient-cwd" && in.Cwd != "" && !filepath.IsAbs(in.Cwd), a.bug == "lenient-null" && string(r.Params) == "null":
	default:
		r.Fail(err)
		return
	}
	if a.bug == "strict-members" && strings.Contains(string(r.Params), "zzz") {
		r.Fail(acp.Errorf(acp.CodeInvalidParams, "zzz is unknown"))
		return
	}
	id := a.id("s")
	if a.bug == "same-session" {
		id = "s"
	}
	a.store.put(id, &past{Cwd: in.Cwd, Option: "auto"})
	b := a.conn.Batch()
	if a.bug == "commands-before-new" {
		b.Notify(acp.MethodSessionUpdate, commands(id))
	}
	b.Reply(r, acp.NewSessionResponse{SessionID: id, ConfigOptions: options("auto")})
	switch a.bug {
	case "commands-before-new", "no-commands":
	case "double-commands":
		n := commands(id)
		u := n.Update.(acp.AvailableCommandsUpdate)
		u.AvailableCommands = append(u.AvailableCommands, u.AvailableCommands[0])
		n.Update = u
		b.Notify(acp.MethodSessionUpdate, n)
	default:
		b.Notify(acp.MethodSessionUpdate, commands(id))
	}
	b.Send()
}

func checkDir(dir string) error {
	if !filepath.IsAbs(dir) {
		return acp.Errorf(acp.CodeInvalidParams, "cwd must be absolute: %q", dir)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return acp.Errorf(acp.CodeInvalidParams, "cwd must be a directory: %q", dir)
	}
	return nil
}

func commands(id string) acp.SessionNotification {
	return acp.SessionNotification{SessionID: id, Update: acp.AvailableCommandsUpdate{AvailableCommands: []acp.AvailableCommand{{Name: "true", Description: "Do nothing"}}}}
}

func options(value string) []acp.ConfigOption {
	return []acp.ConfigOption{{ID: "output", Name: "Output", Type: "select", CurrentValue: value, Options: []acp.ConfigOptionValue{
		{Value: "auto", Name: "Auto"}, {Value: "full", Name: "Full"},
	}}}
}

func (a *scripted) noSession(r *acp.Request, id string) {
	err := acp.Errorf(acp.CodeResourceNotFound, "there is no session %q", id).With("sessionId", id)
	if a.bug == "plain-unknown-session" {
		err = acp.Errorf(acp.CodeInternal, "oops")
	}
	r.Fail(err)
}

func (a *scripted) load(r *acp.Request) {
	var in acp.LoadSessionRequest
	if err := r.Decode(&in); err != nil {
		r.Fail(err)
		return
	}
	p := a.store.get(in.SessionID)
	if p == nil {
		a.noSession(r, in.SessionID)
		return
	}
	if a.bug == "load-cancels" {
		a.mu.Lock()
		if t := a.running[in.SessionID]; t != nil {
			t.cancel(errors.New("loaded"))
		}
		a.mu.Unlock()
	}
	b := a.conn.Batch()
	replay := func() {
		for _, text := range p.Prompts {
			b.Notify(acp.MethodSessionUpdate, acp.SessionNotification{SessionID: in.SessionID, Update: acp.UserMessageChunk{Content: acp.Text(text)}})
			b.Notify(acp.MethodSessionUpdate, acp.SessionNotification{SessionID: in.SessionID, Update: acp.AgentMessageChunk{Content: acp.Text("ran " + text)}})
		}
	}
	if r.Method == acp.MethodSessionLoad && a.bug != "replays-late" || a.bug == "resume-replays" {
		replay()
	}
	if a.bug == "null-load" {
		b.Reply(r, nil)
	} else {
		b.Reply(r, acp.LoadSessionResponse{ConfigOptions: options(p.Option)})
	}
	if a.bug == "replays-late" {
		replay()
	}
	b.Notify(acp.MethodSessionUpdate, commands(in.SessionID))
	b.Send()
}

func (a *scripted) list(r *acp.Request) {
	var out acp.ListSessionsResponse
	out.Sessions = []acp.SessionInfo{}
	if a.bug != "empty-list" {
		a.store.mu.Lock()
		for id, p := range a.store.sessions {
			out.Sessions = append(out.Sessions, acp.SessionInfo{SessionID: id, Cwd: p.Cwd})
		}
		a.store.mu.Unlock()
	}
	r.Reply(out)
}

func (a *scripted) closeSession(r *acp.Request) {
	var in acp.SessionRequest
	if err := r.Decode(&in); err != nil {
		r.Fail(err)
		return
	}
	a.mu.Lock()
	t := a.running[in.SessionID]
	a.mu.Unlock()
	if t == nil || a.bug == "close-keeps-running" {
		r.Reply(struct{}{})
		return
	}
	t.cancel(errCancelled)
	a.turns.Go(func() {
		<-t.done
		if a.bug != "close-keeps" {
			a.store.drop(in.SessionID)
		}
		r.Reply(struct{}{})
	})
}

func (a *scripted) setOption(r *acp.Request) {
	var in acp.SetConfigOptionRequest
	if err := r.Decode(&in); err != nil {
		r.Fail(err)
		return
	}
	p := a.store.get(in.SessionID)
	known := in.ConfigID == "output" && (in.Value == "auto" || in.Value == "full")
	if p == nil || !known {
		if a.bug == "any-option" {
			r.Reply(acp.SetConfigOptionResponse{ConfigOptions: options("auto")})
			return
		}
		r.Fail(acp.Errorf(acp.CodeInvalidParams, "there is no option %s %q", in.ConfigID, in.Value))
		return
	}
	if a.bug == "forgets-options" {
		in.Value = "auto"
	}
	r.Reply(acp.SetConfigOptionResponse{ConfigOptions: options(in.Value)})
}

func (s *store) file(id string) string { return filepath.Join(s.dir, id+".json") }

func (s *store) get(id string) *past {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.sessions[id]; p != nil || s.dir == "" || strings.ContainsAny(id, "/") {
		return p
	}
	raw, err := os.ReadFile(s.file(id))
	if err != nil {
		return nil
	}
	var p past
	if json.Unmarshal(raw, &p) != nil {
		return nil
	}
	s.sessions[id] = &p
	return &p
}

func (s *store) put(id string, p *past) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.sessions = maps.Clone(s.sessions)
	s.sessions[id] = p
	if s.dir != "" {
		raw, _ := json.Marshal(p)
		_ = os.WriteFile(s.file(id), raw, 0o600)
	}
}

func (s *store) drop(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, id)
	if s.dir != "" {
		_ = os.Remove(s.file(id))
	}
}

// said keeps what a session was asked, for a replay.
func (s *store) said(id, text string) {
	old := s.get(id)
	if old == nil {
		return
	}
	next := *old
	next.Prompts = append(slices.Clone(old.Prompts), text)
	s.put(id, &next)
}

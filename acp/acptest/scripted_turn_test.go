package acptest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"sync"

	"github.com/chant-acp/chant-acp/acp"
)

func (a *scripted) prompt(r *acp.Request) {
	var in acp.PromptRequest
	if err := r.Decode(&in); err != nil {
		if a.bug != "lenient-prompt" {
			r.Fail(err)
			return
		}
		r.Reply(acp.PromptResponse{StopReason: acp.StopEndTurn})
		return
	}
	if a.bug == "strict-members" && strings.Contains(string(r.Params), "zzz") || a.bug == "refuses-links" && strings.Contains(string(r.Params), "resource_link") {
		r.Fail(acp.Errorf(acp.CodeInvalidParams, "no"))
		return
	}
	if a.bug == "dies-on-nul" && strings.Contains(string(r.Params), `\u0000`) {
		panic("a NUL")
	}
	if a.store.get(in.SessionID) == nil {
		a.noSession(r, in.SessionID)
		return
	}
	text := ""
	for _, b := range in.Prompt {
		text += b.Text
	}
	ctx, cancel := context.WithCancelCause(r.Context())
	t := &turn{cancel: cancel, done: make(chan struct{})}
	a.mu.Lock()
	if old := a.running[in.SessionID]; old != nil {
		a.mu.Unlock()
		if a.bug == "second-cancels-first" {
			old.cancel(errors.New("another prompt"))
		}
		if a.bug == "second-is-refusal" {
			r.Reply(acp.PromptResponse{StopReason: acp.StopRefusal})
			return
		}
		r.Fail(acp.Errorf(acp.CodeInvalidRequest, "a turn is running"))
		return
	}
	a.running[in.SessionID] = t
	poisoned := a.poisoned
	if len(a.running) == 2 && a.bug == "mixes-sessions" {
		close(a.two)
	}
	a.mu.Unlock()
	if poisoned {
		cancel(errCancelled)
	}
	a.turns.Go(func() {
		a.run(ctx, r, in.SessionID, text, t)
	})
}

// run runs one turn.
func (a *scripted) run(ctx context.Context, r *acp.Request, session, text string, t *turn) {
	s := &step{scripted: a, ctx: ctx, session: session, call: a.id("call"), text: text}
	if a.bug == "reuses-calls" {
		s.call = "call"
	}
	stop := acp.StopCancelled
	var err error
	select {
	case a.place <- struct{}{}:
		if a.bug == "mixes-sessions" {
			<-a.two
			a.mixed.Do(func() { s.session = a.otherTurn(session) })
		}
		stop, err = s.do()
		<-a.place
	case <-ctx.Done():
	}
	if ctx.Err() != nil && err == nil {
		err = s.cancelledWith(&stop)
	}
	a.store.said(session, text)
	a.mu.Lock()
	delete(a.running, session)
	a.mu.Unlock()
	close(t.done)
	a.answer(r, s, stop, err)
}

func (a *scripted) otherTurn(session string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	for id := range a.running {
		if id != session {
			return id
		}
	}
	return session
}

// cancelledWith says how a cancelled turn ends.
func (s *step) cancelledWith(stop *acp.StopReason) error {
	if context.Cause(s.ctx) != errCancelled && !errors.Is(context.Cause(s.ctx), acp.ErrRequestCancelled) {
		*stop = acp.StopEndTurn
		return nil
	}
	switch {
	case s.bug == "cancel-is-error":
		return acp.Errorf(acp.CodeInternal, "aborted")
	case s.bug == "cancel-is-end-turn":
		*stop = acp.StopEndTurn
		return nil
	}
	*stop = acp.StopCancelled
	return nil
}

func (a *scripted) answer(r *acp.Request, s *step, stop acp.StopReason, err error) {
	b := a.conn.Batch()
	switch {
	case err != nil:
		b.Fail(r, err)
	case a.bug == "waiting":
		b.Reply(r, acp.PromptResponse{StopReason: "waiting"})
	default:
		b.Reply(r, acp.PromptResponse{StopReason: stop, Meta: acp.Meta{"chant": map[string]any{"outcome": "completed"}}})
	}
	if a.bug == "update-after-response" {
		b.Notify(acp.MethodSessionUpdate, acp.SessionNotification{SessionID: s.session, Update: acp.AgentMessageChunk{Content: acp.Text("by the way")}})
	}
	b.Notify(acp.MethodSessionUpdate, acp.SessionNotification{SessionID: s.session, Update: acp.SessionInfoUpdate{Title: s.text}})
	b.Send()
}

// step is one turn's command.
type step struct {
	*scripted
	ctx           context.Context
	session, call string
	text          string
}

func (a *scripted) notify(update map[string]any, session string) {
	_ = a.conn.Notify(context.Background(), acp.MethodSessionUpdate, map[string]any{"sessionId": session, "update": update})
}

func (a *scripted) say(session, text string) {
	a.notify(map[string]any{"sessionUpdate": "agent_message_chunk", "content": acp.Text(text)}, session)
}

// update sends an update of the turn; ending ones go even when it is
// cancelled, as far as there is room.
func (s *step) update(ctx context.Context, u acp.SessionUpdate) {
	_ = s.conn.Update(ctx, s.session, u)
}

func (s *step) announce(status acp.ToolStatus) {
	c := acp.ToolCall{ToolCallID: s.call, Title: s.text, ToolKind: acp.ToolExecute, Status: status, RawInput: map[string]any{"command": s.text}}
	s.mu.Lock()
	terminal := s.terminal
	s.mu.Unlock()
	if terminal {
		c.Content = []acp.ToolCallContent{acp.ToolTerminal(s.call)}
		if s.bug != "terminal-unannounced" {
			c.Meta = acp.Meta{"terminal_info": map[string]any{"terminal_id": s.call, "cwd": "/"}}
		}
	}
	s.update(s.ctx, c)
	if terminal && s.bug != "terminal-unannounced" {
		s.update(s.ctx, acp.ToolCallUpdate{ToolCallID: s.call, Status: status, Meta: acp.Meta{"terminal_output": map[string]any{"terminal_id": s.call, "data": "x"}}})
	}
}

func (s *step) finish(status acp.ToolStatus) {
	s.mu.Lock()
	terminal := s.terminal
	s.mu.Unlock()
	u := acp.ToolCallUpdate{ToolCallID: s.call, Status: status, Content: []acp.ToolCallContent{acp.ToolText("done")}}
	if terminal && s.bug != "terminal-stays" {
		u.Meta = acp.Meta{"terminal_exit": map[string]any{"terminal_id": s.call, "exit_code": 0, "signal": nil}}
	}
	switch s.bug {
	case "open-call":
		return
	case "no-status":
		u.Status = ""
		s.update(context.Background(), u)
		u.Status = status
	case "unknown-status":
		u.Status = "waiting"
	case "unwrapped-content":
		s.notify(map[string]any{"sessionUpdate": "tool_call_update", "toolCallId": s.call, "status": status, "content": []any{acp.Text("bare")}}, s.session)
		return
	case "unknown-update":
		s.notify(map[string]any{"sessionUpdate": "progress", "percent": 5}, s.session)
	case "calls-fs":
		_ = s.conn.Notify(s.ctx, "fs/read_text_file", map[string]any{})
	case "no-title":
		s.notify(map[string]any{"sessionUpdate": "tool_call", "toolCallId": s.call}, s.session)
	}
	ctx, cancel := s.lastWords()
	defer cancel()
	s.update(ctx, u)
}

// lastWords lets the last update of a turn wait for a client that reads, and
// for no other.
func (s *step) lastWords() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	if s.bug == "drains-for-ever" {
		return ctx, cancel
	}
	var once sync.WaitGroup
	once.Go(func() {
		select {
		case <-s.conn.Done():
			cancel()
		case <-ctx.Done():
		}
	})
	return ctx, func() { cancel(); once.Wait() }
}

func (s *step) do() (acp.StopReason, error) {
	if s.bug == "silent-turns" {
		return acp.StopEndTurn, nil
	}
	switch word, _, _ := strings.Cut(s.text, " "); word {
	case "true", "hello":
		s.announce(acp.ToolInProgress)
		if word == "hello" && s.bug != "mute" {
			s.update(s.ctx, acp.ToolCallUpdate{ToolCallID: s.call, Status: acp.ToolInProgress, Content: []acp.ToolCallContent{acp.ToolText("hello\n")}})
		}
		s.finish(acp.ToolCompleted)
	case "false":
		if s.bug == "failure-is-error" {
			return "", acp.Errorf(acp.CodeInternal, "exit code 1")
		}
		s.announce(acp.ToolInProgress)
		if s.bug == "failure-completes" {
			s.finish(acp.ToolCompleted)
		} else {
			s.finish(acp.ToolFailed)
		}
	case "slow", "stubborn":
		return s.wait(word), nil
	case "big":
		return s.big(), nil
	case "awkward":
		s.update(s.ctx, acp.AgentMessageChunk{Content: acp.Text("AWKWARD \ufffd")})
	case "ask":
		return s.ask(), nil
	default:
		if s.bug != "silent-refusals" {
			s.update(s.ctx, acp.AgentMessageChunk{Content: acp.Text("unknown command: " + s.text)})
		}
		return acp.StopRefusal, nil
	}
	s.update(s.ctx, acp.AgentMessageChunk{Content: acp.Text("ended: " + s.text)})
	return acp.StopEndTurn, nil
}

func (s *step) wait(word string) acp.StopReason {
	s.announce(acp.ToolInProgress)
	ctx := s.ctx
	switch {
	case s.bug == "stubborn-stays" && word == "stubborn", s.bug == "cancel-hangs":
		<-s.conn.Done()
	case word == "slow":
		_ = s.slow(ctx)
	default:
		<-ctx.Done()
	}
	s.finish(acp.ToolFailed)
	return acp.StopCancelled
}

func (s *step) big() acp.StopReason {
	s.announce(acp.ToolInProgress)
	chunk := strings.Repeat("0123456789abcde\n", 1<<10)
	if s.bug == "huge-line" {
		chunk = strings.Repeat("x", 11<<20)
	}
	for n := 0; n < 2<<20 && s.ctx.Err() == nil; n += len(chunk) {
		s.update(s.ctx, acp.AgentMessageChunk{Content: acp.Text(chunk)})
	}
	s.finish(acp.ToolCompleted)
	if s.bug == "big-is-error" {
		return acp.StopMaxTokens
	}
	return acp.StopEndTurn
}

func (s *step) ask() acp.StopReason {
	s.announce(acp.ToolPending)
	options := []acp.PermissionOption{{OptionID: "yes", Name: "Run", Kind: acp.AllowOnce}, {OptionID: "no", Name: "Don't run", Kind: acp.RejectOnce}}
	if s.bug == "two-of-a-kind" {
		options = append(options, acp.PermissionOption{OptionID: "yes2", Name: "Run too", Kind: acp.AllowOnce})
	}
	ctx := s.ctx
	if s.bug == "gate-stays" {
		ctx = context.WithoutCancel(ctx)
	}
	if s.bug != "gate-keeps-place" {
		<-s.place
	}
	if s.bug == "holds-all" {
		s.mu.Lock()
		s.held = true
		s.mu.Unlock()
	}
	<-s.begun
	outcome, err := s.conn.RequestPermission(ctx, acp.RequestPermissionRequest{
		SessionID: s.session, ToolCall: acp.ToolCallUpdate{ToolCallID: s.call, Status: acp.ToolPending}, Options: options,
	})
	if s.bug != "gate-keeps-place" {
		s.place <- struct{}{}
	}
	if errors.Is(err, acp.ErrClosed) {
		<-s.ctx.Done() // serve ends all turns
		s.finish(acp.ToolFailed)
		return acp.StopCancelled
	}
	allowed := err == nil && outcome.Outcome == acp.OutcomeSelected && outcome.OptionID == "yes" && s.ctx.Err() == nil
	switch s.bug {
	case "allows-anything":
		allowed = true
	case "never-allows":
		allowed = false
	case "allows-odd":
		allowed = allowed || outcome.OptionID == "yes"
	}
	if !allowed {
		s.finish(acp.ToolFailed)
		return acp.StopEndTurn
	}
	if s.askFile != "" {
		_ = os.WriteFile(s.askFile, nil, 0o600)
	}
	s.finish(acp.ToolCompleted)
	return acp.StopEndTurn
}

// filtered puts bugs of the wire in the way.
func (a *scripted) filtered(t acp.Transport) acp.Transport {
	return &filter{Transport: t, bug: a.bug}
}

type filter struct {
	acp.Transport
	bug   string
	queue [][]byte
	reads int
}

func (f *filter) ReadLine() ([]byte, error) {
	for len(f.queue) == 0 {
		line, err := f.Transport.ReadLine()
		if err != nil {
			return nil, err
		}
		f.reads++
		if f.bug == "loses-last-line" && f.reads == 2 { // after initialize
			continue
		}
		f.queue = f.in(bytes.Clone(line))
	}
	line := f.queue[0]
	f.queue = f.queue[1:]
	return line, nil
}

var junkLine = []byte("junk")

func (f *filter) in(line []byte) [][]byte {
	keep := [][]byte{line}
	var items []json.RawMessage
	has := func(s string) bool { return bytes.Contains(line, []byte(s)) }
	switch f.bug {
	case "runs-batches":
		if json.Unmarshal(line, &items) == nil {
			keep = nil
			for _, item := range items {
				keep = append(keep, item)
			}
		}
	case "answers-responses":
		if !has(`"method"`) && (has(`"result"`) || has(`"error"`)) {
			keep = [][]byte{[]byte(`[]`)}
		}
	case "refuses-crlf":
		if bytes.HasSuffix(line, []byte("\r")) {
			keep = [][]byte{junkLine}
		}
	case "loses-bom":
		if has("\xef\xbb\xbf") {
			keep = nil
		}
	case "loses-lines":
		if has("1050") {
			keep = nil
		}
	case "reads-two":
		if one, two, ok := bytes.Cut(line, []byte(`}{`)); ok {
			keep = [][]byte{append(bytes.Clone(one), '}'), append([]byte{'{'}, two...)}
		}
	case "short-reader":
		if len(line) > 1<<16 {
			keep = [][]byte{junkLine}
		}
	case "lenient-utf8":
		keep = [][]byte{bytes.ToValidUTF8(line, []byte("?"))}
	case "lenient-nesting":
		if has(`{"a":{"a":{"a":`) {
			keep = nil
		}
	case "answers-cancel-request":
		if has("$/cancel_request") {
			keep = [][]byte{junkLine}
		}
	case "reorders":
		if has(`"session/prompt"`) {
			if next, err := f.Transport.ReadLine(); err == nil {
				keep = [][]byte{bytes.Clone(next), line}
			}
		}
	case "ignores-cancel-request":
		if has("$/cancel_request") {
			keep = nil
		}
	case "remembers-ids":
		if has(`"id":"again"`) && f.reads > 2 {
			keep = [][]byte{junkLine}
		}
	}
	return keep
}

// Ready and TryWrite keep what is read and written on the way through the
// filter.
func (f *filter) Ready() bool { return len(f.queue) > 0 }

func (f *filter) TryWrite(p []byte) (int, error) {
	if f.bug == "" {
		return f.Transport.TryWrite(p)
	}
	return 0, nil
}

func (f *filter) WriteLines(p []byte) error {
	if f.bug == "" {
		return f.Transport.WriteLines(p)
	}
	var out bytes.Buffer
	for line := range bytes.Lines(p) {
		for _, l := range f.outgoing(line) {
			out.Write(l)
		}
	}
	return f.Transport.WriteLines(out.Bytes())
}

func (f *filter) outgoing(line []byte) [][]byte {
	keep := [][]byte{line}
	has := func(s string) bool { return bytes.Contains(line, []byte(s)) }
	swap := func(old, new string) { keep = [][]byte{bytes.ReplaceAll(line, []byte(old), []byte(new))} }
	switch f.bug {
	case "no-parse-errors":
		if has("-32700") {
			keep = nil
		}
	case "no-invalid-request":
		if has(`"id":null`) && has("-32600") {
			keep = nil
		}
	case "internal-errors":
		swap(`"code":-32600`, `"code":-32603`)
	case "rounds-ids":
		swap("9007199254740993", "9007199254740992")
	case "answers-twice":
		if has(`"id":`) && !has(`"method"`) {
			keep = [][]byte{line, line}
		}
	case "raw-bytes":
		swap("AWKWARD", "\xff\xfe")
	case "no-version":
		swap(`"jsonrpc":"2.0",`, ``)
	case "both":
		swap(`"stopReason"`, `"stopReason":"end_turn"},"error":{"code":1,"message":"x","data":{}},"x":{"y"`)
	case "array-line":
		if has(`"stopReason"`) {
			keep = [][]byte{[]byte("[1,2]\n"), line}
		}
	case "null-update":
		swap(`"update":{`, `"update":null,"x":{`)
	}
	return keep
}

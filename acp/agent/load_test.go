package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/runtime/thread"
)

// disk is a store over root, as a process of its own would have it.
func disk(t *testing.T, root string) agent.Store {
	t.Helper()
	s := thread.New(root)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// process is one more agent over the same root and project.
func process(t *testing.T, root string, h *stubHost, s setup) *wire {
	t.Helper()
	s.host, s.options.Store = h, disk(t, root)
	return dial(t, s)
}

// reopen sends a load or resume.
func (w *wire) reopen(method, session string) int {
	w.t.Helper()
	return w.request(method, acp.LoadSessionRequest{SessionID: session, Cwd: w.host.root, McpServers: []acp.McpServer{}})
}

// load is a whole load: what was replayed, and the answer.
func (w *wire) load(session string) (turnLog, acp.LoadSessionResponse) {
	w.t.Helper()
	from := len(w.seen)
	id := w.reopen("session/load", session)
	var r acp.LoadSessionResponse
	w.result(id, &r)
	log := turnLog(w.seen[from : len(w.seen)-1])
	w.await("commands", isUpdate("available_commands_update"))
	return log, r
}

func (w *wire) resumed(session string) acp.LoadSessionResponse {
	w.t.Helper()
	from := len(w.seen)
	var r acp.LoadSessionResponse
	w.result(w.reopen("session/resume", session), &r)
	if replayed := w.seen[from : len(w.seen)-1]; len(replayed) > 0 {
		w.t.Errorf("a resume replayed %s", replayed[0].raw)
	}
	w.await("commands", isUpdate("available_commands_update"))
	return r
}

// shown are the updates of a thread that a replay has to tell again, as raw
// JSON; text chunks in a row are one.
func (l turnLog) shown() []string {
	var out []string
	var text strings.Builder
	flush := func() {
		if text.Len() > 0 {
			out = append(out, "text "+text.String())
			text.Reset()
		}
	}
	for _, m := range l {
		switch u := m.Params.Update; u.Kind {
		case "agent_message_chunk":
			text.WriteString(u.text())
		case "tool_call", "tool_call_update", "plan":
			flush()
			var raw struct {
				Params struct {
					Update json.RawMessage `json:"update"`
				} `json:"params"`
			}
			_ = json.Unmarshal([]byte(m.raw), &raw)
			out = append(out, string(raw.Params.Update))
		}
	}
	flush()
	return out
}

func TestStoreIsAdvertised(t *testing.T) {
	for _, kept := range []bool{false, true} {
		t.Run(fmt.Sprint(kept), func(t *testing.T) {
			s := setup{noHandshake: true}
			if kept {
				s.options.Store = disk(t, t.TempDir())
			}
			w := dial(t, s)
			var r struct {
				AgentCapabilities struct {
					LoadSession         bool           `json:"loadSession"`
					SessionCapabilities map[string]any `json:"sessionCapabilities"`
				} `json:"agentCapabilities"`
			}
			w.result(w.request("initialize", map[string]any{"protocolVersion": 1}), &r)
			caps := r.AgentCapabilities
			for _, name := range []string{"list", "resume", "delete"} {
				if _, ok := caps.SessionCapabilities[name]; ok != kept {
					t.Errorf("%s: %v", name, caps)
				}
			}
			if caps.LoadSession != kept || caps.SessionCapabilities["close"] == nil {
				t.Errorf("%v", caps)
			}
			if kept {
				return
			}
			for _, method := range []string{"session/load", "session/resume", "session/list", "session/delete"} {
				if e := w.fault(w.request(method, map[string]any{"sessionId": "x", "cwd": w.host.root, "mcpServers": []any{}})); e.Code != acp.CodeMethodNotFound {
					t.Errorf("%s: %v", method, e)
				}
			}
		})
	}
}

var clientKinds = []struct {
	name     string
	terminal bool
}{{"text", false}, {"terminal", true}}

// TestReplay compares what a client was shown with what the same, and the other,
// kind of client is shown at a load.
func TestReplay(t *testing.T) {
	for _, live := range clientKinds {
		t.Run(live.name, func(t *testing.T) {
			root, h := t.TempDir(), newStub(t)
			h.program("ok", func(r *stubRun) host.Result {
				r.print("\x1b[31mred\x1b[0m\n````````\nhalf")
				return host.Result{}
			})
			w := process(t, root, h, setup{terminal: live.terminal, options: agent.Options{Confirm: "ask"}})
			id := w.newSession()
			var want []string
			for _, line := range []string{"ok one", "no such thing", "fail", "vanish", "crash", "burst", "help", "loud", strings.Repeat("x", 40<<10)} {
				_, log := w.prompt(id, line)
				want = append(want, log.shown()...)
			}
			for _, answer := range []string{allowed, rejected} {
				from := len(w.seen)
				p := w.begin(id, "ask me")
				w.send(answerLine(w.asked(), answer))
				w.ended(p)
				want = append(want, turnLog(w.seen[from:]).shown()...)
			}
			want = joinText(want)
			w.answer(w.setOption(id, "env", "staging"))
			w.answer(w.setOption(id, "output", "quiet"))

			for _, later := range clientKinds {
				again := process(t, root, h, setup{terminal: later.terminal})
				log, r := again.load(id)
				if log[0].Params.Update.Kind != "user_message_chunk" || log[0].Params.Update.text() != "ok one" {
					t.Errorf("the replay begins with %s", log[0].raw)
				}
				if got := joinText(log.shown()); later == live && !slices.Equal(got, want) {
					for i := range max(len(got), len(want)) {
						if i >= len(got) || i >= len(want) || got[i] != want[i] {
							t.Errorf("update %d of %d, want %d: %.600s\nwant %.600s", i, len(got), len(want), append(got, "")[min(i, len(got))], append(want, "")[min(i, len(want))])
							break
						}
					}
				}
				if text := log.text(); live.terminal && !later.terminal && (!strings.Contains(text, "red\n") || strings.Contains(text, "\x1b") || !strings.HasPrefix(text, "    red\n    ````````\n    half\n")) {
					t.Errorf("%.300q", text)
				}
				for _, options := range [][]acp.ConfigOption{r.ConfigOptions, again.resumed(id).ConfigOptions} {
					got := map[string]string{}
					for _, o := range options {
						got[o.ID] = o.CurrentValue
					}
					if got["env"] != "staging" || got["output"] != "quiet" {
						t.Errorf("options %v", got)
					}
				}
			}
		})
	}
}

// joinText joins texts that only the borders of turns kept apart.
func joinText(list []string) []string {
	var out []string
	for _, s := range list {
		if n := len(out); n > 0 && strings.HasPrefix(s, "text ") && strings.HasPrefix(out[n-1], "text ") {
			out[n-1] += s[len("text "):]
			continue
		}
		out = append(out, s)
	}
	return out
}

func TestLoadOfARunningTurn(t *testing.T) {
	for _, kind := range clientKinds {
		t.Run(kind.name, func(t *testing.T) {
			w := process(t, t.TempDir(), newStub(t), setup{terminal: kind.terminal})
			id := w.newSession()
			from := len(w.seen)
			p := w.begin(id, "slow one")
			if kind.terminal {
				w.await("output", func(m message) bool { return strings.Contains(m.raw, "begun") })
			} else {
				w.said(id, "begun")
			}
			two := []int{w.reopen("session/load", id), w.reopen("session/load", id)}
			for _, load := range two {
				w.result(load, &struct{}{})
			}
			log, _ := w.load(id)
			if n := strings.Count(joined(log), "begun"); n != 1 {
				t.Errorf("begun %d times in %s", n, joined(log))
			}
			w.send(cancelLine(id))
			if o := w.ended(p); o.String() != "cancelled/cancelled" {
				t.Errorf("%v", o)
			}
			if n := strings.Count(joined(turnLog(w.seen[from:])), "last words"); n != 1 {
				t.Errorf("last words %d times", n)
			}
			log, _ = w.load(id)
			for _, word := range []string{"begun", "last words"} {
				if n := strings.Count(joined(log), word); n != 1 {
					t.Errorf("%s %d times in %s", word, n, joined(log))
				}
			}
		})
	}
}

// joined is what a log shows of outputs; the final content of a call repeats it.
func joined(l turnLog) string {
	var b strings.Builder
	b.WriteString(l.text())
	for _, u := range l.updates("tool_call_update") {
		if data, ok := u.Meta.Output["data"].(string); ok {
			b.WriteString(data)
		}
	}
	return b.String()
}

func TestPromptBehindAnOpening(t *testing.T) {
	for _, method := range []string{"session/load", "session/resume"} {
		for _, text := range []string{"no such thing", "ok", "history"} {
			t.Run(method+" "+text, func(t *testing.T) {
				root, h := t.TempDir(), newStub(t)
				w := process(t, root, h, setup{})
				id := w.newSession()
				w.prompt(id, "ok first")

				again := process(t, root, h, setup{})
				open, one := again.line(method, acp.LoadSessionRequest{SessionID: id, Cwd: h.root, McpServers: []acp.McpServer{}})
				prompt, two := again.line("session/prompt", promptParams(id, acp.Text(text)))
				again.send(one, two)
				again.result(open, &struct{}{})
				before := turnLog(again.seen)
				for _, u := range before.updates("user_message_chunk") {
					if u.text() == text {
						t.Errorf("the prompt behind the load is replayed by it")
					}
				}
				again.ended(prompt)
			})
		}
	}
}

func TestOpeningErrors(t *testing.T) {
	root, h := t.TempDir(), newStub(t)
	w := process(t, root, h, setup{})
	id := w.newSession()
	w.prompt(id, "ok")
	file := func(id string) string { return filepath.Join(root, "sessions", id+".jsonl") }
	raw, err := os.ReadFile(file(id))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"sess_garbage": "garbage\nmore\n",
		"sess_empty":   "",
		"sess_cut":     string(raw[:20]),
		"sess_long":    string(raw) + strings.Repeat("x", 2<<20) + "\n",
		"sess_middle":  string(raw) + "garbage\n" + string(raw[strings.Index(string(raw), "\n")+1:]),
		"sess_newer":   `{"format":"chant-acp/thread","version":99,"x":1}` + "\n",
	} {
		if err := os.WriteFile(file(name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, test := range []struct {
		id, cwd string
		code    int64
	}{
		{"sess_unknown", h.root, -32002},
		{"../../etc/passwd", h.root, -32002},
		{"", h.root, -32002},
		{id, t.TempDir(), 1001},
		{id, "relative", -32602},
		{"sess_garbage", h.root, 1002},
		{"sess_empty", h.root, 1002},
		{"sess_cut", h.root, 1002},
		{"sess_long", h.root, 1002},
		{"sess_middle", h.root, 1002},
		{"sess_newer", h.root, 1003},
	} {
		for _, method := range []string{"session/load", "session/resume"} {
			again := process(t, root, h, setup{})
			e := again.fault(again.request(method, acp.LoadSessionRequest{SessionID: test.id, Cwd: test.cwd, McpServers: []acp.McpServer{}}))
			if int64(e.Code) != test.code {
				t.Errorf("%s of %s in %s: %v, want %d", method, test.id, test.cwd, e, test.code)
			}
			if test.code != -32602 && e.Data["sessionId"] != test.id {
				t.Errorf("%s: data %v", test.id, e.Data)
			}
			if test.code > 1001 && !strings.Contains(e.Message, file(test.id)) {
				t.Errorf("%s: %q does not name the file", test.id, e.Message)
			}
			if text := strings.ToLower(e.Message); test.code > 0 && (strings.Contains(text, "not found") || strings.Contains(text, "unknown session") || strings.Contains(text, "no such")) {
				t.Errorf("%s: %q makes a client start afresh", test.id, e.Message)
			}
		}
	}
}

func TestFolderThatIsGone(t *testing.T) {
	root, h := t.TempDir(), newStub(t)
	old := filepath.Join(t.TempDir(), "old")
	if err := os.Mkdir(old, 0o700); err != nil {
		t.Fatal(err)
	}
	w := process(t, root, h, setup{})
	var r acp.NewSessionResponse
	w.result(w.request("session/new", map[string]any{"cwd": old, "mcpServers": []any{}}), &r)
	w.prompt(r.SessionID, "ok")
	if err := os.Remove(old); err != nil {
		t.Fatal(err)
	}
	again := process(t, root, h, setup{})
	again.load(r.SessionID)
	got, err := disk(t, root).Get(context.Background(), r.SessionID)
	if err != nil || got.Cwd != h.root {
		t.Errorf("%v %v, want %s", got, err, h.root)
	}
	if got.Title != "ok" {
		t.Errorf("title %q", got.Title)
	}
}

func TestHistoryOfSeveralProcesses(t *testing.T) {
	root, h := t.TempDir(), newStub(t)
	a := process(t, root, h, setup{client: "a"})
	id := a.newSession()
	a.prompt(id, "ok 1")
	b := process(t, root, h, setup{client: "b"})
	b.resumed(id)
	b.prompt(id, "ok 2")
	a.prompt(id, "ok 3")
	b.prompt(id, "history")
	b.prompt(id, "ok 4")
	a.prompt(id, "ok 5")
	b.load(id) // a load must not make what came since unknown
	want := []string{"ok 1", "ok 2", "ok 3", "ok 4", "ok 5"}
	for _, w := range []*wire{a, b, a} {
		_, log := w.prompt(id, "history")
		if got := historyLines(log.text()); !slices.Equal(got, want) {
			t.Errorf("%q, want %q", got, want)
		}
	}
	b.prompt(id, "again 5")
	if runs := h.runs(); runs[len(runs)-1] != "ok 1" {
		t.Errorf("%q", runs)
	}
	// Closed and opened again in the same process.
	a.result(a.request("session/close", map[string]any{"sessionId": id}), &struct{}{})
	a.load(id)
	_, log := a.prompt(id, "history")
	if got := historyLines(log.text()); !slices.Equal(got, append(want, "ok 1")) {
		t.Errorf("%q", got)
	}
}

func historyLines(text string) []string {
	var lines []string
	for line := range strings.Lines(text) {
		if f := strings.Fields(line); len(f) > 5 {
			lines = append(lines, strings.Join(f[len(f)-2:], " "))
		}
	}
	return lines
}

func TestCodeIsGoodOnce(t *testing.T) {
	root, h := t.TempDir(), newStub(t)
	a := process(t, root, h, setup{})
	id := a.newSession()
	o, _ := a.prompt(id, "wipe it")
	b := process(t, root, h, setup{})
	b.load(id)
	c := process(t, root, h, setup{})
	c.resumed(id)
	code := "confirm " + o.Meta.Chant.Confirm
	type ending struct {
		w *wire
		p int
	}
	var endings []ending
	for _, w := range []*wire{b, c, a} {
		endings = append(endings, ending{w, w.begin(id, code)})
	}
	for _, e := range endings {
		e.w.ended(e.p)
	}
	for _, w := range []*wire{b, c, a} {
		w.prompt(id, code)
	}
	if runs := h.runs(); !slices.Equal(runs, []string{"wipe it"}) {
		t.Errorf("%q", runs)
	}
	// Wrong codes count wherever they are typed.
	o, _ = a.prompt(id, "wipe it")
	for i := range 5 {
		d := process(t, root, h, setup{})
		d.resumed(id)
		d.prompt(id, fmt.Sprintf("confirm wrong%d", i))
	}
	c.prompt(id, "confirm "+o.Meta.Chant.Confirm)
	if runs := h.runs(); len(runs) != 1 {
		t.Errorf("a code outlived five wrong ones: %q", runs)
	}
}

func TestHeldThread(t *testing.T) {
	root, h := t.TempDir(), newStub(t)
	a := process(t, root, h, setup{})
	id := a.newSession()
	slow := a.begin(id, "slow one")
	a.said(id, "begun")
	b := process(t, root, h, setup{})
	log, _ := b.load(id)
	if n := strings.Count(log.text(), "begun"); n != 1 {
		t.Errorf("%q", log.text())
	}
	if strings.Contains(log.text(), "interrupted") {
		t.Errorf("a turn that runs is told to be interrupted: %q", log.text())
	}
	p := b.begin(id, "ok")
	if o := b.ended(p); o.StopReason != "refusal" {
		t.Errorf("%v", o)
	}
	if text := turnLog(b.seen).text(); !strings.Contains(text, fmt.Sprint(os.Getpid())) {
		t.Errorf("%q does not name the process", text)
	}
	for line, want := range map[string]string{"help": "end_turn/completed", "history": "end_turn/completed", "nothing": "refusal/refused"} {
		if o, _ := b.prompt(id, line); o.String() != want {
			t.Errorf("%s: %v", line, o)
		}
	}
	// A wait for the thread can be cancelled, and takes nothing with it.
	p = b.begin(id, "ok")
	b.send(cancelLine(id))
	if o := b.ended(p); o.StopReason != "cancelled" {
		t.Errorf("%v", o)
	}
	a.send(cancelLine(id))
	a.ended(slow)
	if o, _ := b.prompt(id, "ok"); o.String() != "end_turn/completed" {
		t.Errorf("%v", o)
	}
}

// TestCancelKeepsNoLock cancels at the moment at which the thread is taken.
func TestCancelKeepsNoLock(t *testing.T) {
	store := &slowLock{Store: disk(t, t.TempDir()), taken: make(chan struct{}), go_: make(chan struct{})}
	w := dial(t, setup{options: agent.Options{Store: store}})
	id := w.newSession()
	p := w.begin(id, "ok")
	<-store.taken
	w.send(cancelLine(id))
	w.answer(w.request("session/list", map[string]any{})) // it was read
	close(store.go_)
	if o := w.ended(p); o.StopReason != "cancelled" {
		t.Errorf("%v", o)
	}
	store.taken = nil
	if o, _ := w.prompt(id, "ok"); o.String() != "end_turn/completed" {
		t.Errorf("%v", o)
	}
}

type slowLock struct {
	agent.Store
	taken, go_ chan struct{}
}

func (s *slowLock) Lock(ctx context.Context, id string) (func(), error) {
	release, err := s.Store.Lock(ctx, id)
	if s.taken != nil {
		s.taken <- struct{}{}
		<-s.go_
	}
	return release, err
}

func TestInterruptedTurn(t *testing.T) {
	for _, kind := range clientKinds {
		t.Run(kind.name, func(t *testing.T) {
			root, h := t.TempDir(), newStub(t)
			a := process(t, root, h, setup{})
			id := a.newSession()
			a.prompt(id, "ok 1")
			store := disk(t, root)
			at := time.Now().UTC()
			events := []agent.Event{
				{Kind: agent.EventPrompt, Time: at, Turn: "gone.1", Client: "c", Prompt: []acp.ContentBlock{acp.Text("slow x")}},
				{Kind: agent.EventCall, Time: at, Turn: "gone.1", CallID: "call_gone", Terminal: kind.terminal, Call: &agent.CallEvent{Title: "slow x", Status: "in_progress", Cwd: h.root, RawInput: json.RawMessage(`{"command":"slow x"}`)}},
				{Kind: agent.EventOutput, Time: at, Turn: "gone.1", CallID: "call_gone", Terminal: kind.terminal, Text: "\n````````\nbegun\n"},
			}
			if err := store.Append(context.Background(), id, true, events...); err != nil {
				t.Fatal(err)
			}
			for _, later := range clientKinds {
				b := process(t, root, h, setup{terminal: later.terminal})
				for range 2 {
					log, _ := b.load(id)
					if n := strings.Count(log.text(), "This turn was interrupted"); n != 1 {
						t.Errorf("%d times interrupted: %q", n, log.text())
					}
					if u := log.updates("tool_call_update"); u[len(u)-1].Status != "failed" {
						t.Errorf("%v", u)
					}
				}
				_, log := b.prompt(id, "history")
				if got := historyLines(log.text()); !slices.Equal(got, []string{"ok 1", "slow x"}) {
					t.Errorf("%q", log.text())
				}
			}
		})
	}
}

// Whoever opens a thread ends what a crash left open, before anything follows it.
// Where that was too late, the turns are told one after the other all the same.
func TestInterruptedTurnIsClosedByResume(t *testing.T) {
	gone := func(root string) []agent.Event {
		at := time.Now().UTC()
		return []agent.Event{
			{Kind: agent.EventPrompt, Time: at, Turn: "gone.1", Client: "c", Prompt: []acp.ContentBlock{acp.Text("slow x")}},
			{Kind: agent.EventCall, Time: at, Turn: "gone.1", CallID: "call_gone", Call: &agent.CallEvent{Title: "slow x", Status: "in_progress", Cwd: root, RawInput: json.RawMessage(`{"command":"slow x"}`)}},
			{Kind: agent.EventOutput, Time: at, Turn: "gone.1", CallID: "call_gone", Text: "\n````````\nbegun\n"},
		}
	}
	for _, live := range []bool{false, true} { // whether the session is open already when the other process dies
		t.Run(fmt.Sprintf("live %v", live), func(t *testing.T) {
			root, h := t.TempDir(), newStub(t)
			a := process(t, root, h, setup{})
			id := a.newSession()
			if err := disk(t, root).Append(context.Background(), id, true, gone(h.root)...); err != nil {
				t.Fatal(err)
			}
			if !live {
				a = process(t, root, h, setup{})
				a.resumed(id)
			}
			a.prompt(id, "ok then")
			if !live {
				_, log := a.prompt(id, "history")
				if got := historyLines(log.text()); !slices.Equal(got, []string{"slow x", "ok then"}) {
					t.Errorf("%q", log.text())
				}
			}
			log, _ := process(t, root, h, setup{}).load(id)
			text := log.text()
			begun, interrupted, then := strings.Index(text, "begun"), strings.Index(text, "This turn was interrupted"), strings.Index(text, "ok then")
			if begun < 0 || interrupted < begun || then < interrupted || strings.Count(text, "This turn was interrupted") != 1 {
				t.Errorf("told as %q", text)
			}
		})
	}
}

// A client that does not read holds up a turn's output, and not what it asks
// meanwhile: a resume waits for nothing, and the cancel behind it is seen.
func TestResumeBehindAStalledTurn(t *testing.T) {
	root, h := t.TempDir(), newStub(t)
	ended := make(chan struct{})
	h.program("slow", func(r *stubRun) host.Result {
		defer close(ended)
		for {
			select {
			case why := <-r.stops:
				return host.Result{ExitCode: 143, Stopped: why}
			default:
				r.print(strings.Repeat("y", 999) + "\n")
			}
		}
	})
	w := process(t, root, h, setup{options: agent.Options{Output: "full"}})
	id := w.newSession()
	w.begin(id, "slow")
	w.await("output", func(m message) bool { return strings.Contains(m.Params.Update.text(), "yyy") })
	w.pause()
	for range 50 { // until its output waits for the client, and beyond
		w.reopen("session/resume", id)
	}
	w.send(cancelLine(id))
	<-ended
	w.resume()
}

// A turn of which nothing was said says how it ended, or its prompt would run
// into the next one.
func TestSilentTurnsAreToldApart(t *testing.T) {
	root, h := t.TempDir(), newStub(t)
	a := process(t, root, h, setup{})
	busy, id := a.newSession(), a.newSession()
	running := a.begin(busy, "slow")
	a.begun()
	for _, line := range []string{"ok 1", "ok 2"} {
		waiting := a.begin(id, line)
		a.send(cancelLine(id))
		if o := a.ended(waiting); o.String() != "cancelled/cancelled" {
			t.Fatalf("ended %s", o)
		}
	}
	a.send(cancelLine(busy))
	a.ended(running)
	log, _ := process(t, root, h, setup{}).load(id)
	if n := strings.Count(log.text(), "was cancelled before it started"); n != 2 {
		t.Errorf("%d of 2 turns are told to be cancelled: %q", n, log.text())
	}
}

func TestFailingStore(t *testing.T) {
	for n := 1; n <= 12; n++ {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			h := newStub(t)
			w := dial(t, setup{host: h, options: agent.Options{Store: failing(disk(t, t.TempDir()), n)}})
			id := w.newSession()
			w.prompt(id, "ok 1")
			w.prompt(id, "ok 2")
			o, _ := w.prompt(id, "wipe it")
			w.prompt(id, "confirm "+o.Meta.Chant.Confirm)
			w.answer(w.reopen("session/load", id))
			w.prompt(id, "ok 3")
			if runs := h.runs(); !slices.Equal(runs, []string{"ok 1", "ok 2", "wipe it", "ok 3"}) {
				t.Errorf("%q", runs)
			}
			if k := strings.Count(turnLog(w.seen).text(), "is not being kept"); k != 1 {
				t.Errorf("told %d times: %q", k, turnLog(w.seen).text())
			}
		})
	}
}

func TestListAndDelete(t *testing.T) {
	root, h := t.TempDir(), newStub(t)
	w := process(t, root, h, setup{})
	other := t.TempDir()
	var r acp.NewSessionResponse
	w.result(w.request("session/new", map[string]any{"cwd": other, "mcpServers": []any{}}), &r)
	const count = 60
	var ids []string
	for range count {
		ids = append(ids, w.newSession())
	}
	var unused acp.NewSessionResponse // nothing is asked in it: it stands in no list
	w.result(w.request("session/new", map[string]any{"cwd": h.root, "mcpServers": []any{}}), &unused)
	for _, id := range append(slices.Clone(ids), r.SessionID) {
		w.prompt(id, "help")
	}
	w.prompt(ids[7], "ok title")
	list := func(params map[string]any) (page acp.ListSessionsResponse) {
		w.result(w.request("session/list", params), &page)
		return page
	}
	page := list(map[string]any{"cwd": h.root})
	if s := page.Sessions[0]; s.SessionID != ids[7] || s.Title != "ok title" || s.Cwd != h.root {
		t.Errorf("%+v", s)
	}
	if _, err := time.Parse(time.RFC3339, page.Sessions[0].UpdatedAt); err != nil {
		t.Error(err)
	}
	all := page.Sessions
	for page.NextCursor != "" {
		page = list(map[string]any{"cwd": h.root, "cursor": page.NextCursor})
		all = append(all, page.Sessions...)
	}
	seen := map[string]bool{}
	for _, s := range all {
		seen[s.SessionID] = true
	}
	if len(all) != count || len(seen) != count || seen[r.SessionID] {
		t.Errorf("%d sessions, %d different", len(all), len(seen))
	}
	if page := list(map[string]any{"cwd": other}); len(page.Sessions) != 1 {
		t.Errorf("%+v", page)
	}
	for _, params := range []map[string]any{{"cursor": "nonsense"}, {"cwd": "relative"}} {
		if e := w.fault(w.request("session/list", params)); e.Code != acp.CodeInvalidParams {
			t.Errorf("%v: %v", params, e)
		}
	}

	slow := w.begin(ids[0], "slow")
	w.said(ids[0], "begun")
	gone := w.request("session/delete", map[string]any{"sessionId": ids[0]})
	if o := w.ended(slow); o.StopReason != "cancelled" {
		t.Errorf("%v", o)
	}
	w.result(gone, &struct{}{})
	for _, id := range []string{ids[0], ids[1], "sess_unknown"} {
		b := process(t, root, h, setup{})
		b.result(b.request("session/delete", map[string]any{"sessionId": id}), &struct{}{})
		if e := b.fault(b.reopen("session/load", id)); e.Code != acp.CodeResourceNotFound {
			t.Errorf("%v", e)
		}
	}
	w.result(w.request("session/close", map[string]any{"sessionId": ids[7]}), &struct{}{})
	if log, _ := w.load(ids[7]); !strings.Contains(log.text(), "done") {
		t.Errorf("%q", log.text())
	}
}

// TestOneProcessATurn is how fountain drives an agent.
func TestOneProcessATurn(t *testing.T) {
	root, h := t.TempDir(), newStub(t)
	w := process(t, root, h, setup{})
	id := w.newSession()
	w.prompt(id, "ok 1")
	if err := w.hangUp(); err != nil {
		t.Error(err)
	}
	for _, method := range []string{"session/resume", "session/load", "session/resume"} {
		w = process(t, root, h, setup{})
		w.result(w.reopen(method, id), &struct{}{})
		w.prompt(id, "ok 2")
		if err := w.hangUp(); err != nil {
			t.Error(err)
		}
	}
	// It cancels and vanishes, and the old process lives on.
	old := process(t, root, h, setup{})
	old.resumed(id)
	slow := old.begin(id, "slow")
	old.said(id, "begun")
	old.send(cancelLine(id))
	old.ended(slow)
	w = process(t, root, h, setup{})
	w.resumed(id)
	if o, _ := w.prompt(id, "ok 3"); o.String() != "end_turn/completed" {
		t.Errorf("%v", o)
	}
	_, log := w.prompt(id, "history")
	if n := strings.Count(log.text(), "completed"); n != 5 || !strings.Contains(log.text(), "cancelled") {
		t.Errorf("%q", log.text())
	}
}

func TestLargePromptIsKept(t *testing.T) {
	root, h := t.TempDir(), newStub(t)
	w := process(t, root, h, setup{})
	id := w.newSession()
	var blocks []acp.ContentBlock
	for range 100 {
		blocks = append(blocks, acp.Text(strings.Repeat("\x01x", 20<<10)), acp.ContentBlock{Type: acp.ContentResourceLink, Name: strings.Repeat("n", 50<<10), URI: "file:///" + strings.Repeat("u", 50<<10)})
	}
	w.ended(w.request("session/prompt", promptParams(id, blocks...)))
	w.prompt(id, "ok")
	if text := turnLog(w.seen).text(); strings.Contains(text, "not being kept") {
		t.Errorf("%.300q", text)
	}
	log, _ := process(t, root, h, setup{}).load(id)
	if texts := log.updates("user_message_chunk"); len(texts) < 2 || texts[len(texts)-1].text() != "ok" {
		t.Errorf("%d texts", len(texts))
	}
}

// TestReplayIsBounded loads threads of more than is replayed: of many turns the
// last are shown, of one turn its beginning and its end.
func TestReplayIsBounded(t *testing.T) {
	for _, turns := range []int{1, 20} {
		t.Run(fmt.Sprint(turns), func(t *testing.T) {
			root, h := t.TempDir(), newStub(t)
			w := process(t, root, h, setup{})
			id := w.newSession()
			store := disk(t, root)
			now := time.Now().UTC()
			for turn := range turns {
				name := fmt.Sprintf("old.%d", turn)
				exit := 0
				events := []agent.Event{
					{Kind: agent.EventPrompt, Time: now, Turn: name, Prompt: []acp.ContentBlock{acp.Text(name)}},
					{Kind: agent.EventCall, Time: now, Turn: name, CallID: name, Call: &agent.CallEvent{Title: name, Status: "in_progress", Cwd: h.root}},
				}
				for i := range 1000 {
					line := fmt.Sprintf("%-19999d\n", i)
					if i == 0 {
						line = "\n````````\n" + line
					}
					if i > 50 && turns > 1 {
						break
					}
					events = append(events, agent.Event{Kind: agent.EventOutput, Time: now, Turn: name, CallID: name, Text: line})
				}
				events = append(events,
					agent.Event{Kind: agent.EventOutput, Time: now, Turn: name, CallID: name, Text: "````````\n"},
					agent.Event{Kind: agent.EventResult, Time: now, Turn: name, CallID: name, Result: &agent.ResultEvent{Status: "completed", ExitCode: &exit}},
					agent.Event{Kind: agent.EventSay, Time: now, Turn: name, Text: "the end of " + name},
					agent.Event{Kind: agent.EventEnd, Time: now, Turn: name, End: &agent.EndEvent{Reason: acp.StopEndTurn, State: "completed", Line: name}})
				if err := store.Append(context.Background(), id, false, events...); err != nil {
					t.Fatal(err)
				}
			}
			log, _ := w.load(id)
			text := log.text()
			if len(text) > 9<<20 || len(text) < 6<<20 {
				t.Errorf("%d bytes", len(text))
			}
			if last := fmt.Sprintf("the end of old.%d", turns-1); !strings.HasSuffix(text, last) {
				t.Errorf("ends with %q", text[len(text)-100:])
			}
			_, history := w.prompt(id, "history 1000")
			if got := strings.Count(history.text(), " completed "); got != turns {
				t.Errorf("%d commands in history, want %d", got, turns)
			}
		})
	}
}

// TestTurnEnded tells each turn once, with what was kept of it.
func TestTurnEnded(t *testing.T) {
	type told struct {
		record agent.SessionRecord
		kinds  []agent.EventKind
	}
	got := make(chan told, 10)
	w := dial(t, setup{options: agent.Options{Store: disk(t, t.TempDir()), TurnEnded: func(s agent.SessionRecord, turn []agent.Event) {
		var kinds []agent.EventKind
		for _, e := range turn {
			kinds = append(kinds, e.Kind)
		}
		got <- told{s, kinds}
	}}})
	id := w.newSession()
	for line, want := range map[string][]agent.EventKind{
		"ok":      {agent.EventPrompt, agent.EventCall, agent.EventOutput, agent.EventOutput, agent.EventResult, agent.EventSay, agent.EventEnd},
		"nothing": {agent.EventPrompt, agent.EventSay, agent.EventEnd},
	} {
		w.prompt(id, line)
		if x := <-got; x.record.ID != id || !slices.Equal(slices.Compact(x.kinds), slices.Compact(want)) {
			t.Errorf("%s: %+v", line, x)
		}
	}
	if err := w.hangUp(); err != nil {
		t.Error(err)
	}
	if len(got) > 0 {
		t.Errorf("%+v was told twice", <-got)
	}
}

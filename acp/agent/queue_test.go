package agent_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent"
)

func TestASecondPromptInASession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := dial(t, setup{})
		session := w.newSession()
		first := w.begin(session, "slow")
		w.said(session, "begun")
		for _, line := range []string{"ok", "help", "nonsense"} {
			if e := w.fault(w.begin(session, line)); e.Code != acp.CodeInvalidRequest || e.Data["sessionId"] != session {
				t.Errorf("%s: %d %s %v", line, e.Code, e.Message, e.Data)
			}
		}
		w.send(cancelLine(session))
		if o := w.ended(first); o.String() != "cancelled/cancelled" {
			t.Errorf("the first ended %s", o)
		}
		if got := fmt.Sprint(w.host.runs()); got != "[slow]" {
			t.Errorf("ran %s", got)
		}
		if o, _ := w.prompt(session, "ok"); o.String() != "end_turn/completed" {
			t.Errorf("the next ended %s", o)
		}
	})
}

// The turns of all sessions take the one place in the order of their prompts.
func TestOtherSessionsQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := dial(t, setup{})
		first := w.newSession()
		w.begin(first, "slow")
		w.said(first, "begun")
		var ids []int
		for i := range 5 {
			s := w.newSession()
			ids = append(ids, w.begin(s, fmt.Sprintf("ok %d", i)))
			synctest.Wait()
		}
		told := map[string]bool{}
		w.await("notice for each", func(m message) bool {
			if strings.Contains(m.Params.Update.text(), "Waiting for `slow` to end: one command runs at a time. Cancel to give up.") {
				told[m.Params.SessionID] = true
			}
			return len(told) == 5
		})
		w.send(cancelLine(first))
		for _, id := range ids {
			if o := w.ended(id); o.String() != "end_turn/completed" {
				t.Errorf("ended %s", o)
			}
		}
		if got, want := fmt.Sprint(w.host.runs()), "[slow ok 0 ok 1 ok 2 ok 3 ok 4]"; got != want {
			t.Errorf("ran %s, want %s", got, want)
		}
	})
}

// A short wait is not worth a word; a longer one is told after a second, once.
func TestQueueNotice(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := dial(t, setup{})
		first, second := w.newSession(), w.newSession()
		id := w.begin(first, "slow")
		w.said(first, "begun")
		other := w.begin(second, "ok")
		time.Sleep(999 * time.Millisecond)
		synctest.Wait()
		w.send(cancelLine(first))
		w.ended(id)
		w.ended(other)
		if text := turnLog(w.seen).text(); strings.Contains(text, "Waiting") {
			t.Errorf("it said %q", text)
		}

		id = w.begin(first, "slow")
		w.said(first, "begun")
		other = w.begin(second, "ok")
		time.Sleep(time.Minute)
		synctest.Wait()
		from := len(w.seen)
		w.send(cancelLine(first))
		w.ended(id)
		w.ended(other)
		if text := turnLog(w.seen[from:]).text(); strings.Count(text, "Waiting for `slow`") != 1 {
			t.Errorf("it said %q", text)
		}
	})
}

func TestCancelInTheQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := dial(t, setup{})
		first, second, third := w.newSession(), w.newSession(), w.newSession()
		running := w.begin(first, "slow")
		w.said(first, "begun")
		queued := w.begin(second, "write 2")
		synctest.Wait()
		last := w.begin(third, "ok 3")
		w.said(second, "Waiting")
		w.send(cancelLine(second))
		if o := w.ended(queued); o.String() != "cancelled/cancelled" {
			t.Errorf("the queued one ended %s", o)
		}
		w.send(cancelLine(first))
		w.ended(running)
		w.ended(last)
		if got := fmt.Sprint(w.host.runs()); got != "[slow ok 3]" {
			t.Errorf("ran %s", got)
		}
	})
}

func TestBuiltinsNeverWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := dial(t, setup{})
		first, second := w.newSession(), w.newSession()
		w.begin(first, "slow")
		w.said(first, "begun")
		for _, line := range []string{"help", "explain ok", "history", "confirm abcdef", "wipe", "nonsense"} {
			if _, log := w.prompt(second, line); strings.Contains(log.text(), "Waiting") {
				t.Errorf("%s said %q", line, log.text())
			}
		}
	})
}

// Two agents' worth of clients share one place as well.
func TestConnectionsShareThePlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, v := dialTwo(t)
		first, second := w.newSession(), v.newSession()
		running := w.begin(first, "slow")
		w.said(first, "begun")
		queued := v.begin(second, "ok")
		v.said(second, "Waiting for `slow`")
		w.send(cancelLine(first))
		w.ended(running)
		if o := v.ended(queued); o.String() != "end_turn/completed" {
			t.Errorf("the queued one ended %s", o)
		}
	})
}

// When the client of the running turn goes away, the others go on.
func TestTheQueueOutlivesAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, v := dialTwo(t)
		first, second := w.newSession(), v.newSession()
		w.begin(first, "slow")
		w.said(first, "begun")
		queued := v.begin(second, "ok")
		v.said(second, "Waiting for `slow`")
		if err := w.hangUp(); err != nil {
			t.Error(err)
		}
		if o := v.ended(queued); o.String() != "end_turn/completed" {
			t.Errorf("the queued one ended %s", o)
		}
	})
}

// Prompt and cancel written in one packet: nothing starts.
func TestPromptAndCancelInOnePacket(t *testing.T) {
	w := dial(t, setup{client: "zed"})
	session := w.newSession()
	for i := range 1000 {
		id, line := w.line("session/prompt", promptParams(session, acp.Text([]string{"write", "ask", "wipe"}[i%3])))
		cancel := cancelLine(session)
		if i%2 == 1 {
			cancel = notification("$/cancel_request", map[string]any{"requestId": id})
		}
		w.send(line, cancel)
		if o := w.ended(id); o.String() != "cancelled/cancelled" {
			t.Fatalf("round %d ended %s", i, o)
		}
	}
	if runs := w.host.runs(); len(runs) > 0 {
		t.Errorf("%d programs were started", len(runs))
	}
}

// The whole of a client's life in one packet.
func TestEverythingInOnePacket(t *testing.T) {
	w := dial(t, setup{})
	session := w.newSession()
	var lines []string
	var ids []int
	for range 50 {
		id, line := w.line("session/prompt", promptParams(session, acp.Text("ok")))
		ids, lines = append(ids, id), append(lines, line)
	}
	w.send(lines...)
	ran := 0
	for _, id := range ids {
		if m := w.answer(id); m.Error == nil {
			ran++
		} else if m.Error.Code != acp.CodeInvalidRequest {
			t.Errorf("%s", m.raw)
		}
	}
	if ran == 0 || ran != len(w.host.runs()) {
		t.Errorf("%d prompts ended, %d programs ran", ran, len(w.host.runs()))
	}
}

func TestASecondCancelReachesTheProgram(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := dial(t, setup{})
		session := w.newSession()
		id := w.begin(session, "deaf")
		w.said(session, "begun")
		w.send(cancelLine(session))
		synctest.Wait()
		select {
		case <-w.host.last().ended:
			t.Fatal("it ended at the first cancel")
		default:
		}
		w.send(cancelLine(session))
		if o := w.ended(id); o.String() != "cancelled/cancelled" {
			t.Errorf("ended %s", o)
		}
	})
}

func TestCancelsThatMeanNothing(t *testing.T) {
	w := dial(t, setup{})
	session := w.newSession()
	from := len(w.seen)
	w.send(
		cancelLine(session), cancelLine("sess_unknown"), cancelLine(""),
		notification("session/cancel", map[string]any{}), notification("session/cancel", map[string]any{"sessionId": 5}),
		notification("session/cancel", []any{session}), `{"jsonrpc":"2.0","method":"session/cancel"}`,
		notification("session/cancel", map[string]any{"SessionId": session}),
		notification("$/cancel_request", map[string]any{"requestId": 99}), notification("$/cancel_request", map[string]any{}),
		notification("$/cancel_request", nil), notification("$/unknown", nil), notification("unknown", nil),
		`{"jsonrpc":"2.0","id":77,"result":{"outcome":{"outcome":"selected","optionId":"allow"}}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`,
	)
	if o, _ := w.prompt(session, "ok"); o.String() != "end_turn/completed" {
		t.Errorf("the prompt ended %s", o)
	}
	for _, m := range w.seen[from:] {
		if m.Method == "" && string(m.ID) != fmt.Sprint(w.id) || m.Method != "" && m.Params.SessionID != session {
			t.Errorf("it was answered with %s", m.raw)
		}
	}
}

// A cancel that comes while the host is starting the program ends the start,
// and holds up nobody.
func TestCancelDuringAStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newStub(t)
		h.hold = make(chan struct{})
		w := dial(t, setup{host: h})
		session, other := w.newSession(), w.newSession()
		id := w.begin(session, "ok")
		w.await("the tool call", isUpdate("tool_call"))
		synctest.Wait()
		w.send(cancelLine(session))
		w.prompt(other, "help")
		if o := w.ended(id); o.String() != "cancelled/cancelled" {
			t.Errorf("ended %s", o)
		}
	})
}

// A start that does not end with its context is stopped as soon as it is over.
func TestCancelDuringAStartThatGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newStub(t)
		entered, release := make(chan struct{}), make(chan struct{})
		h.starting = func() {
			close(entered)
			<-release
		}
		w := dial(t, setup{host: h})
		session := w.newSession()
		id := w.begin(session, "slow")
		<-entered
		w.send(cancelLine(session))
		w.prompt(w.newSession(), "help")
		close(release)
		if o := w.ended(id); o.String() != "cancelled/cancelled" {
			t.Errorf("ended %s", o)
		}
	})
}

func TestExitIdle(t *testing.T) {
	for _, c := range []struct {
		name string
		do   func(w *wire, session string)
		end  time.Duration // after the last message; 0 for never
	}{
		{"nothing was cancelled", func(w *wire, s string) { w.prompt(s, "ok") }, 0},
		{"a cancelled turn", func(w *wire, s string) {
			id := w.begin(s, "slow")
			w.said(s, "begun")
			w.send(cancelLine(s))
			w.ended(id)
		}, 5 * time.Second},
		{"a cancel of nothing", func(w *wire, s string) { w.send(cancelLine(s)) }, 5 * time.Second},
		{"a prompt after the cancel", func(w *wire, s string) {
			w.send(cancelLine(s))
			w.prompt(s, "ok")
		}, 0},
		{"a message after the cancel", func(w *wire, s string) {
			w.send(cancelLine(s))
			time.Sleep(4 * time.Second)
			w.newSession()
		}, 5 * time.Second},
		{"a turn that runs", func(w *wire, s string) {
			w.begin(s, "slow")
			w.said(s, "begun")
			w.send(cancelLine("sess_unknown"))
		}, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := setup{}
				s.options.ExitIdle = 5 * time.Second
				w := dial(t, s)
				c.do(w, w.newSession())
				synctest.Wait()
				since := time.Now()
				select {
				case err := <-w.served:
					if took := time.Since(since); c.end == 0 || took != c.end || err != nil {
						t.Errorf("Serve returned %v after %s", err, took)
					}
					w.served <- err
				case <-time.After(time.Hour):
					if c.end != 0 {
						t.Error("Serve did not return")
					}
				}
			})
		})
	}
}

// What only reads waits over MCP for nothing that other clients run; what writes
// takes its turn, and so does everything of a person's client.
func TestReadsOverMCPDoNotWait(t *testing.T) {
	for origin, waits := range map[agent.Origin]bool{agent.OriginMCP: false, agent.OriginClient: true} {
		synctest.Test(t, func(t *testing.T) {
			w := dial(t, setup{origin: origin})
			first, second, third := w.newSession(), w.newSession(), w.newSession()
			holds := w.begin(first, "slow write")
			w.said(first, "begun")
			read, write := w.begin(second, "ok"), w.begin(third, "write")
			synctest.Wait()
			if !waits {
				if o := w.ended(read); o.String() != "end_turn/completed" {
					t.Errorf("the read ended %s", o)
				}
			}
			if got, want := fmt.Sprint(w.host.runs()), map[bool]string{true: "[slow write]", false: "[slow write ok]"}[waits]; got != want {
				t.Errorf("%v: ran %s, want %s", origin, got, want)
			}
			w.send(cancelLine(first))
			w.ended(holds)
			if waits {
				w.ended(read)
			}
			if o := w.ended(write); o.String() != "end_turn/completed" {
				t.Errorf("the write ended %s", o)
			}
		})
	}
}

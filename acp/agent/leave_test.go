package agent_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/internal/testenv"
)

// budget is what a client grants before it kills: leaving is over by then,
// whatever happens.
const budget = 1500 * time.Millisecond

// within waits for Serve in the time of the bubble.
func (w *wire) within(limit time.Duration) error {
	w.t.Helper()
	select {
	case err := <-w.served:
		w.served <- err
		return err
	case <-time.After(limit):
		w.t.Fatalf("Serve did not return within %s", limit)
		return nil
	}
}

func TestLeaving(t *testing.T) {
	ways := []struct {
		name string
		do   func(w *wire)
	}{
		{"end of the input", func(w *wire) { w.in.Close() }},
		{"signal", func(w *wire) { w.leave() }},
	}
	for _, way := range ways {
		t.Run("idle, "+way.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := dial(t, setup{})
				w.newSession()
				w.prompt(w.newSession(), "ok")
				way.do(w)
				if err := w.within(100 * time.Millisecond); err != nil {
					t.Error(err)
				}
			})
		})
		t.Run("before anything, "+way.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := dial(t, setup{noHandshake: true})
				way.do(w)
				if err := w.within(100 * time.Millisecond); err != nil {
					t.Error(err)
				}
			})
		})
		for name, program := range map[string]func(*stubRun) host.Result{
			"obeys": programs["slow"],
			"obeys late": func(r *stubRun) host.Result {
				r.print("begun\n")
				why := <-r.stops
				time.Sleep(1200 * time.Millisecond)
				return host.Result{ExitCode: 137, Signal: "SIGKILL", Stopped: why, Killed: true}
			},
			"is handed to the guard": func(r *stubRun) host.Result {
				r.print("begun\n")
				why := <-r.stops
				time.Sleep(1200 * time.Millisecond)
				return host.Result{ExitCode: -1, Stopped: why, Handed: true}
			},
			"never ends": func(r *stubRun) host.Result {
				r.print("begun\n")
				time.Sleep(time.Hour)
				r.print("too late\n")
				return host.Result{}
			},
			"prints on": func(r *stubRun) host.Result {
				r.print("begun\n")
				why := <-r.stops
				for range 2000 {
					r.print(strings.Repeat("x", 1000) + "\n")
				}
				return host.Result{ExitCode: 143, Signal: "SIGTERM", Stopped: why}
			},
		} {
			for _, terminal := range []bool{false, true} {
				t.Run(fmt.Sprintf("busy, %s, the program %s, terminal %v", way.name, name, terminal), func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						h := newStub(t)
						h.program("slow", program)
						w := dial(t, setup{host: h, terminal: terminal})
						running, queued := w.newSession(), w.newSession()
						first := w.begin(running, "slow")
						w.begun()
						second := w.begin(queued, "ok")
						synctest.Wait()
						way.do(w)
						if err := w.within(budget); err != nil {
							t.Error(err)
						}
						for _, id := range []int{first, second} {
							if o := w.ended(id); o.String() != "cancelled/interrupted" {
								t.Errorf("ended %s", o)
							}
						}
						if got := fmt.Sprint(h.runs()); got != "[slow]" {
							t.Errorf("ran %s", got)
						}
						time.Sleep(2 * time.Hour) // what never ends does end with the process
					})
				})
			}
		}
	}
}

// begun waits for the first output of slow, however it is shown.
func (w *wire) begun() {
	w.t.Helper()
	w.await("begun", func(m message) bool {
		data, _ := m.Params.Update.Meta.Output["data"].(string)
		return strings.Contains(m.Params.Update.text()+data, "begun")
	})
}

// A session that was closed is left, too.
func TestLeavingAClosedSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newStub(t)
		h.program("slow", func(r *stubRun) host.Result {
			r.print("begun\n")
			for why := range r.stops {
				if why == host.StopLeaving {
					return host.Result{ExitCode: 137, Stopped: host.StopCancelled}
				}
			}
			panic("never closed")
		})
		w := dial(t, setup{host: h})
		session := w.newSession()
		id := w.begin(session, "slow")
		w.begun()
		closed := w.request("session/close", map[string]any{"sessionId": session})
		if err := w.hangUp(); err != nil {
			t.Error(err)
		}
		if o := w.ended(id); o.String() != "cancelled/cancelled" {
			t.Errorf("ended %s", o)
		}
		w.answer(closed) // after the turn's own: what closes is over
	})
}

// The end of the input while a person is asked ends the turn as interrupted,
// whichever of the two is noticed first.
func TestLeavingWhileAPersonIsAsked(t *testing.T) {
	h := newStub(t)
	for round := range 100 {
		w := dial(t, setup{host: h, client: "zed", terminal: round%2 == 0})
		id := w.begin(w.newSession(), "ask")
		w.asked()
		if err := w.hangUp(); err != nil {
			t.Fatal(err)
		}
		if o := w.ended(id); o.String() != "cancelled/interrupted" {
			t.Fatalf("round %d ended %s", round, o)
		}
		if len(h.runs()) > 0 {
			t.Fatal("a program was started")
		}
	}
}

// What was read before the end is answered, however it is cut off.
func TestTheLastPacket(t *testing.T) {
	for range 100 / testenv.Stride(5) {
		w := dial(t, setup{})
		session := w.newSession()
		first, a := w.line("session/prompt", promptParams(session, acp.Text("help")))
		second, b := w.line("session/new", map[string]any{"cwd": w.host.root, "mcpServers": []any{}})
		if _, err := io.WriteString(w.in.(io.Writer), a+"\n"+b); err != nil { // no newline at the end
			t.Fatal(err)
		}
		if err := w.hangUp(); err != nil {
			t.Fatal(err)
		}
		if o := w.ended(first); o.StopReason != "end_turn" && o.StopReason != "cancelled" {
			t.Errorf("ended %s", o)
		}
		w.answer(second)
	}
}

// A client that is gone for writing, too, is left at once; the error says so.
func TestAFailedWrite(t *testing.T) {
	for _, c := range []struct {
		name   string
		prints string // by the program, once the client is gone
		also   string // a prompt sent meanwhile, which is refused
	}{
		{name: "while a program prints", prints: strings.Repeat("y\n", 100)},
		{name: "at the end of a turn"},
		{name: "busy", also: "help"},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newStub(t)
				gone := make(chan struct{})
				h.program("slow", func(r *stubRun) host.Result {
					r.print("begun\n")
					<-gone
					if c.also != "" {
						return host.Result{ExitCode: 143, Stopped: <-r.stops}
					}
					r.print(c.prints)
					return host.Result{}
				})
				w := dial(t, setup{host: h})
				session := w.newSession()
				w.begin(session, "slow")
				w.begun()
				w.out.Close()
				close(gone)
				if c.also != "" {
					w.begin(session, c.also)
				}
				if err := w.within(budget); err == nil || !errors.Is(err, io.ErrClosedPipe) {
					t.Errorf("Serve returned %v", err)
				}
			})
		})
	}
}

// A client that never reads holds up its program, and nothing else.
func TestAStalledClient(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(w *wire, session string)
	}{
		{"time limit", func(w *wire, s string) { time.Sleep(time.Minute) }},
		{"cancel", func(w *wire, s string) { w.send(cancelLine(s)) }},
		{"close", func(w *wire, s string) { w.request("session/close", map[string]any{"sessionId": s}) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newStub(t)
				var printed atomic.Int64
				var ended atomic.Bool
				h.program("slow", func(r *stubRun) host.Result {
					limit := time.NewTimer(r.inv.Timeout)
					defer limit.Stop()
					for {
						select {
						case why := <-r.stops:
							ended.Store(true)
							return host.Result{ExitCode: 143, Stopped: why}
						case <-limit.C:
							ended.Store(true)
							return host.Result{ExitCode: 143, Stopped: host.StopTimeout}
						default:
							r.print(strings.Repeat("y", 999) + "\n")
							printed.Add(1)
						}
					}
				})
				w := dial(t, setup{host: h, options: agent.Options{Output: "full"}})
				session := w.newSession()
				w.pause()
				id := w.begin(session, "brief")
				synctest.Wait()
				held := printed.Load()
				time.Sleep(5 * time.Second)
				synctest.Wait()
				if printed.Load() != held || held > 1000 {
					t.Errorf("the program printed %d, then %d lines into the void", held, printed.Load())
				}
				c.end(w, session)
				synctest.Wait()
				if !ended.Load() {
					t.Error("the program goes on")
				}
				w.resume()
				w.ended(id)
			})
		})
		t.Run(c.name+", then the end", func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := dial(t, setup{})
				session := w.newSession()
				w.pause()
				for range 20 {
					w.begin(session, "help")
				}
				w.begin(session, "loud")
				synctest.Wait()
				c.end(w, session)
				w.in.Close()
				if err := w.within(budget); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

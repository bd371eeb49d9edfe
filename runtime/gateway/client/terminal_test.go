package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/coder/websocket"

	"github.com/chant-acp/chant-acp/runtime/gateway/client"
)

// far is the gateway's end of a terminal.
type far struct {
	t    *testing.T
	ctx  context.Context
	conn *websocket.Conn
	r    *http.Request
}

func (f *far) send(text string) { _ = f.conn.Write(f.ctx, websocket.MessageText, []byte(text)) }

// next returns the next frame, nil when the client is gone.
func (f *far) next() map[string]any {
	_, raw, err := f.conn.Read(f.ctx)
	if err != nil {
		return nil
	}
	var frame map[string]any
	if err := json.Unmarshal(raw, &frame); err != nil {
		f.t.Errorf("a frame is no JSON: %v", err)
	}
	return frame
}

// attached is a place at a terminal that do plays.
func attached(t *testing.T, cols, rows int, do func(*far)) *client.Terminal {
	t.Helper()
	var playing sync.WaitGroup
	playing.Add(1)
	g := served(t, func(w http.ResponseWriter, r *http.Request) {
		defer playing.Done()
		conn, err := websocket.Accept(w, r, nil)
		if err != nil {
			t.Error(err)
			return
		}
		defer conn.CloseNow()
		do(&far{t, bounded(t), conn, r})
	})
	at, err := g.Attach(bounded(t), "shell", cols, rows)
	must(t, err)
	t.Cleanup(func() {
		at.Close()
		playing.Wait()
	})
	return at
}

// readAll reads to the end, and returns why it is one.
func readAll(at *client.Terminal) (string, error) {
	var text strings.Builder
	for {
		data, err := at.Read()
		if err != nil {
			return text.String(), err
		}
		text.WriteString(data)
	}
}

func TestTerminalReads(t *testing.T) {
	three := 3
	for name, c := range map[string]struct {
		do   func(*far)
		text string
		err  error
		exit client.Exit
	}{
		"exit":         {func(f *far) { f.send(`{"kind":"exit","exitCode":3}`) }, "hé\x1b[0m", io.EOF, client.Exit{Code: &three}},
		"signal":       {func(f *far) { f.send(`{"kind":"exit","exitCode":3,"signal":"SIGKILL"}`) }, "hé\x1b[0m", io.EOF, client.Exit{Code: &three, Signal: "SIGKILL"}},
		"end not seen": {func(f *far) { f.send(`{"kind":"exit","exitCode":null}`) }, "hé\x1b[0m", io.EOF, client.Exit{}},
		"dropped":      {func(f *far) { _ = f.conn.Close(websocket.StatusPolicyViolation, "slow: took nothing for 5s") }, "hé\x1b[0m", client.ErrDropped, client.Exit{}},
		"stopping":     {func(f *far) { _ = f.conn.Close(websocket.StatusGoingAway, "the gateway stops") }, "hé\x1b[0m", client.ErrStopping, client.Exit{}},
		"cut":          {func(f *far) { _ = f.conn.CloseNow() }, "hé\x1b[0m", client.ErrCut, client.Exit{}},
		"failed":       {func(f *far) { _ = f.conn.Close(websocket.StatusInternalError, "the connection ended") }, "hé\x1b[0m", client.ErrCut, client.Exit{}},
		"unknown kinds": {func(f *far) {
			f.send(`{"kind":"later"}`)
			f.send(`{"kind":"pong"}`)
			f.send(`{"kind":"error","detail":"of nothing that was sent"}`)
			f.send(`{"kind":"data","data":"!"}`)
			f.send(`{"kind":"exit","exitCode":3}`)
		}, "hé\x1b[0m!", io.EOF, client.Exit{Code: &three}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := attached(t, 0, 0, func(f *far) {
				if f.r.URL.String() != "/sessions/shell/pty" {
					t.Errorf("asked for %s", f.r.URL)
				}
				f.send(`{"kind":"data","data":"h\u00e9"}`)
				f.send(`{"kind":"ping"}`)
				if frame := f.next(); frame["kind"] != "pong" {
					t.Errorf("a ping was answered with %v", frame)
				}
				f.send(`{"kind":"data","data":"\u001b[0m"}`)
				c.do(f)
			})
			text, err := readAll(at)
			if text != c.text || !errors.Is(err, c.err) || errors.Is(err, io.EOF) != (c.err == io.EOF) {
				t.Errorf("%q, %v; want %q, %v", text, err, c.text, c.err)
			}
			end := at.Exit()
			if end.Signal != c.exit.Signal || (end.Code == nil) != (c.exit.Code == nil) || end.Code != nil && *end.Code != *c.exit.Code {
				t.Errorf("the exit is %+v, want %+v", end, c.exit)
			}
			if err := at.Write(bounded(t), []byte("x")); !errors.Is(err, client.ErrCut) {
				t.Errorf("writing then says %v", err)
			}
		})
	}
}

// TestTerminalLongFrame is what a newcomer is shown first: 256 KiB, all of it
// escaped.
func TestTerminalLongFrame(t *testing.T) {
	want := strings.Repeat("\x01", 256<<10)
	at := attached(t, 0, 0, func(f *far) {
		f.send(`{"kind":"data","data":"` + strings.Repeat(`\u0001`, 256<<10) + `"}`)
		f.send(`{"kind":"exit","exitCode":0}`)
	})
	if text, err := readAll(at); text != want || err != io.EOF {
		t.Errorf("%d bytes, %v", len(text), err)
	}
}

func TestTerminalSends(t *testing.T) {
	var got []string
	finished := make(chan struct{})
	at := attached(t, 100, 30, func(f *far) {
		defer close(finished)
		if f.r.URL.RawQuery != "cols=100&rows=30" {
			t.Errorf("the size was told as %s", f.r.URL.RawQuery)
		}
		for frame := f.next(); frame != nil; frame = f.next() {
			if frame["kind"] != "ping" {
				raw, _ := json.Marshal(frame)
				got = append(got, string(raw))
			}
			switch {
			case frame["data"] == "refused":
				f.send(`{"kind":"error","detail":"no more is kept"}`)
				f.send(`{"kind":"error","detail":"twice"}`)
			case frame["data"] == "last":
				f.send(`{"kind":"exit","exitCode":0}`)
			case frame["kind"] == "ping":
				f.send(`{"kind":"pong"}`)
			}
		}
	})
	var reading sync.WaitGroup
	reading.Go(func() {
		if _, err := readAll(at); err != io.EOF {
			t.Errorf("it ended with %v", err)
		}
	})
	ctx := bounded(t)
	must(t, at.Write(ctx, []byte("é\x03\"")))
	must(t, at.Resize(ctx, 90, 20))
	var refused *client.InputError
	if err := at.Write(ctx, []byte("refused")); !errors.As(err, &refused) || err.Error() != "no more is kept" {
		t.Errorf("refused input says %v", err)
	}
	must(t, at.Write(ctx, []byte("\xff"))) // an earlier refusal is not this one's
	must(t, at.Ping(ctx))
	if err := at.Write(ctx, []byte("last")); !errors.Is(err, client.ErrCut) && err != nil {
		t.Errorf("the last input says %v", err)
	}
	reading.Wait()
	at.Close()
	<-finished
	want := []string{`{"data":"é\u0003\"","kind":"input"}`, `{"cols":90,"kind":"resize","rows":20}`, `{"data":"refused","kind":"input"}`, `{"data":"` + "\ufffd" + `","kind":"input"}`, `{"data":"last","kind":"input"}`}
	if !slices.Equal(got, want) {
		t.Errorf("what arrived is\n%q, want\n%q", got, want)
	}
}

// TestTerminalWaits wants input that nobody takes to hold up neither output nor
// the end.
func TestTerminalWaits(t *testing.T) {
	at := attached(t, 0, 0, func(f *far) {
		f.next()
		f.next() // the ping stays without its pong
		f.send(`{"kind":"data","data":"x"}`)
		f.next()
	})
	ctx, cancel := context.WithCancelCause(bounded(t))
	var writing sync.WaitGroup
	writing.Go(func() {
		if err := at.Write(ctx, []byte("x")); err == nil {
			t.Error("input that was not taken was said to be")
		}
	})
	if text, err := at.Read(); text != "x" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	cancel(errors.New("enough"))
	writing.Wait()
	at.Close()
}

// TestTerminalCloses leaves a gateway that does not say goodbye.
func TestTerminalCloses(t *testing.T) {
	leave := make(chan struct{})
	at := attached(t, 0, 0, func(f *far) { <-leave })
	at.Close()
	at.Close()
	if _, err := at.Read(); !errors.Is(err, client.ErrCut) {
		t.Errorf("reading then says %v", err)
	}
	close(leave)
}

// TestTerminalRefusalAtTheEnd refuses input before the ping behind it can have
// come, and then ends. That it was refused must not get lost.
func TestTerminalRefusalAtTheEnd(t *testing.T) {
	for range 50 {
		at := attached(t, 0, 0, func(f *far) {
			f.next()
			f.send(`{"kind":"error","detail":"refused"}`)
			f.send(`{"kind":"exit","exitCode":0}`)
			f.next()
		})
		ctx, cancel := context.WithCancel(bounded(t))
		var reading sync.WaitGroup
		reading.Go(func() {
			_, _ = readAll(at)
			cancel()
		})
		var refused *client.InputError
		if err := at.Write(ctx, []byte("x")); !errors.As(err, &refused) {
			t.Fatalf("it says %v", err)
		}
		reading.Wait()
		at.Close()
	}
}

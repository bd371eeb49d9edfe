package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/runtime/thread"
)

// killsVariable says how often TestKilled kills.
const killsVariable = "CHANT_ACP_TEST_KILLS"

// TestKilled kills agents at random points while turns run. What had reached
// the client has to be in the thread, every thread has to load, and no id may
// come twice or get lost.
func TestKilled(t *testing.T) {
	t.Parallel()
	rounds := 20
	if n, err := strconv.Atoi(os.Getenv(killsVariable)); err == nil {
		rounds = n
	}
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	k := &killer{t: t, random: rand.New(rand.NewPCG(seed, 0)), state: t.TempDir(), dir: t.TempDir(), seen: map[string][]string{}, ended: map[string]int{}}
	text := `version: 1
commands:
  hello: {summary: Say hello, exec: [echo, hello], effect: read}
  burst: {summary: Print much, exec: [seq, "4000"], effect: read}
  drip: {summary: Print and rest, exec: [sh, -c, 'for i in 1 2 3; do echo "drip $i"; sleep 0.05; done'], effect: read}
  destroy: {summary: Destroy, exec: [echo, gone], effect: destroy}
`
	if err := os.WriteFile(filepath.Join(k.dir, "chant-acp.yaml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	session := ""
	for range rounds {
		if k.random.IntN(3) == 0 {
			session = ""
		}
		session = k.round(session)
	}
	k.check()
}

type killer struct {
	t          *testing.T
	random     *rand.Rand
	state, dir string
	seen       map[string][]string // by session: what each round's turns said, as far as it arrived
	ended      map[string]int      // by session: answers that arrived
}

// victim is an agent that will be killed.
type victim struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

func (k *killer) start() *victim {
	c := exec.Command(binary(k.t), "serve")
	c.Env = append(os.Environ(), "CHANT_ACP_STATE="+k.state)
	in, err := c.StdinPipe()
	if err != nil {
		k.t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		k.t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		k.t.Fatal(err)
	}
	hang := time.AfterFunc(patience, func() { _ = c.Process.Kill() }) // the readers then fail
	k.t.Cleanup(func() { hang.Stop() })
	return &victim{c, in, bufio.NewReader(out)}
}

func (v *victim) send(id, method string, params map[string]any) {
	raw, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	if err == nil {
		_, _ = v.in.Write(append(raw, '\n')) // who is dead does not read
	}
}

// heard is a message of an agent, as far as these tests look at it.
type heard struct {
	ID     string
	Params struct {
		Update struct {
			SessionUpdate string
			Content       json.RawMessage
		}
	}
	Result *struct{ SessionID string }
	Error  *struct{ Message string }
}

// text is what the message shows of a turn.
func (h heard) text() string {
	var c struct{ Text string }
	if h.Params.Update.SessionUpdate == "agent_message_chunk" {
		_ = json.Unmarshal(h.Params.Update.Content, &c) // no text, no match
	}
	return c.Text
}

// hear reads a whole line; a cut one never arrived.
func (v *victim) hear(t *testing.T) (h heard, ok bool) {
	line, err := v.out.ReadBytes('\n')
	if err != nil {
		return h, false
	}
	if err := json.Unmarshal(line, &h); err != nil {
		t.Fatalf("the line %q: %v", line, err)
	}
	return h, true
}

// until reads up to an answer and returns the text that came before it.
func (v *victim) until(t *testing.T, id string) (heard, string) {
	var said strings.Builder
	for {
		h, ok := v.hear(t)
		if !ok {
			t.Fatalf("the agent ended before it answered %s", id)
		}
		if h.Error != nil {
			t.Fatalf("%s: %s", id, h.Error.Message)
		}
		if h.ID == id {
			return h, said.String()
		}
		said.WriteString(h.text())
	}
}

// round runs turns in a session, "" for a new one, until the agent is killed.
func (k *killer) round(session string) string {
	v := k.start()
	v.send("init", "initialize", map[string]any{"protocolVersion": 1, "clientInfo": map[string]string{"name": "CodeCompanion.nvim", "version": "1"} /* shows message text */})
	v.until(k.t, "init")
	if session == "" {
		v.send("open", "session/new", map[string]any{"cwd": k.dir, "mcpServers": []any{}})
		h, _ := v.until(k.t, "open")
		session = h.Result.SessionID
		if _, known := k.seen[session]; known {
			k.t.Fatalf("the id %s came twice", session)
		}
		k.seen[session] = nil
	} else {
		v.send("open", "session/resume", map[string]any{"cwd": k.dir, "sessionId": session, "mcpServers": []any{}})
		v.until(k.t, "open")
	}
	k.turns(v, session)
	_ = v.cmd.Wait() // killed
	return session
}

// turns runs one turn after the other until a random moment.
func (k *killer) turns(v *victim, session string) {
	lines := []string{"hello", "nope", "burst", "drip", "destroy", "history"}
	prompt := func() {
		line := lines[k.random.IntN(len(lines))]
		v.send("turn", "session/prompt", map[string]any{"sessionId": session, "prompt": []any{map[string]string{"type": "text", "text": line}}})
	}
	// The moment: so many lines, then some microseconds.
	left, after := k.random.IntN(20), time.Duration(k.random.IntN(3000))*time.Microsecond
	kill := func() { time.AfterFunc(after, func() { _ = v.cmd.Process.Kill() }) }
	if left == 0 {
		kill()
	}
	prompt()
	var said strings.Builder
	for {
		h, ok := v.hear(k.t)
		if !ok {
			break
		}
		if left--; left == 0 {
			kill()
		}
		said.WriteString(h.text())
		if h.ID == "turn" {
			k.seen[session] = append(k.seen[session], said.String())
			k.ended[session]++
			said.Reset()
			prompt()
		}
	}
	k.seen[session] = append(k.seen[session], said.String())
}

// check loads every session in one more agent.
func (k *killer) check() {
	v := k.start()
	v.send("init", "initialize", map[string]any{"protocolVersion": 1, "clientInfo": map[string]string{"name": "CodeCompanion.nvim", "version": "1"} /* shows message text */})
	v.until(k.t, "init")
	arrived := 0
	for session, turns := range k.seen {
		v.send(session, "session/load", map[string]any{"cwd": k.dir, "sessionId": session, "mcpServers": []any{}})
		_, replayed := v.until(k.t, session)
		rest := replayed
		for _, said := range turns {
			_, after, found := strings.Cut(rest, said)
			if !found {
				k.t.Fatalf("session %s: what had reached the client is not in the thread.\nIt was:\n%s\nand the thread has:\n%s", session, said, replayed)
			}
			rest = after
			arrived += len(said)
		}
	}
	if err := v.in.Close(); err != nil {
		k.t.Error(err)
	}
	if err := v.cmd.Wait(); err != nil {
		k.t.Error(err)
	}
	if err := k.checkStore(); err != nil {
		k.t.Error(err)
	}
	if arrived == 0 {
		k.t.Error("nothing had arrived of any turn, so nothing was checked")
	}
	k.t.Logf("%d sessions, %d bytes of text had arrived", len(k.seen), arrived)
}

// checkStore looks at the threads themselves: each turn once, with one end, and
// an end for each answer that arrived.
func (k *killer) checkStore() error {
	s := thread.New(k.state)
	var errs []error
	for session := range k.seen {
		begun, ended, done := map[string]bool{}, map[string]bool{}, 0
		_, err := s.Read(context.Background(), session, 0, func(e agent.Event) error {
			switch {
			case e.Kind == thread.EventPrompt && begun[e.Turn], e.Kind == thread.EventEnd && ended[e.Turn]:
				return fmt.Errorf("the turn %s has two of %s", e.Turn, e.Kind)
			case e.Kind == thread.EventPrompt:
				begun[e.Turn] = true
			case e.Kind == thread.EventEnd:
				ended[e.Turn] = true
				if e.End.State != "interrupted" {
					done++
				}
			}
			return nil
		})
		if err != nil || len(begun) != len(ended) || done < k.ended[session] {
			errs = append(errs, fmt.Errorf("session %s: %d turns, %d ends, %d of them of turns that ran to it; %d answers arrived; error: %v", session, len(begun), len(ended), done, k.ended[session], err))
		}
	}
	return errors.Join(append(errs, s.Close())...)
}

package acptest

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/acp"
)

// MaxLine is the longest line that an agent may write, in bytes: the smallest
// limit of the client libraries (coder/acp-go-sdk).
const MaxLine = 10 << 20

// Wire is the raw client end of a connection: bytes out, lines in.
//
// Everything that comes is held, in [Wire.Next], to rules that need no
// agreement between the two sides: each line is one complete JSON object below
// MaxLine and a message of JSON-RPC 2.0 with the shape of its method; requests
// are answered once; a session is not heard of before the answer that made it;
// updates of a turn come while it is open; tool calls have ids of their own and
// are completed or failed when the turn ends; nothing is asked of the client
// that it did not offer.
//
// A Wire reads all the time, so that an agent is never held up by a test that
// does something else; see Stall. Its methods are for one goroutine.
type Wire struct {
	in   io.WriteCloser
	out  *os.File
	proc *process // nil within the test process

	gone   chan struct{} // closed when the agent has ended
	schema *Schema
	most   int // longest line the agent may write
	ledger ledger
	log    []string // the last lines in both directions, for reports

	mu      sync.Mutex
	lines   []line
	ended   bool          // the agent's output has ended
	moved   chan struct{} // capacity 1: something was added
	stalled chan struct{} // nil, or closed by Resume
	readers sync.WaitGroup
}

type line struct {
	raw   []byte
	fault error
}

// ErrHang is returned when a context ended before what was waited for.
var ErrHang = errors.New("acptest: the agent did nothing")

func newWire(in io.WriteCloser, out *os.File, gone chan struct{}) *Wire {
	w := &Wire{in: in, out: out, gone: gone, most: MaxLine, ledger: newLedger(), moved: make(chan struct{}, 1)}
	w.readers.Go(w.read) // ended by the end of the agent's output, or CloseOut
	return w
}

// Pipe returns a Dial for an agent within the test process. serve must return
// when its transport has ended; a Wire waits for it. The transport is made of
// two pipes of the operating system, each way with the buffer that a real agent
// finds.
func Pipe(serve func(acp.Transport)) func(*testing.T) *Wire {
	return func(t *testing.T) *Wire {
		t.Helper()
		agentIn, in, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		out, agentOut, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		gone := make(chan struct{})
		go func() { // waited for by the cleanup below
			defer close(gone)
			transport := acp.NewTransport(agentIn, agentOut)
			defer transport.Close()
			serve(transport)
		}()
		w := newWire(in, out, gone)
		t.Cleanup(func() {
			if err := w.shutdown(); err != nil {
				t.Errorf("the agent did not return when both ends of its transport were closed: %v", err)
			}
		})
		return w
	}
}

// shutdown closes both ends and waits for the agent.
func (w *Wire) shutdown() error {
	w.CloseIn()
	w.CloseOut()
	ctx, cancel := context.WithTimeout(context.Background(), defaultPatience)
	defer cancel()
	err := w.Wait(ctx)
	w.readers.Wait()
	return err
}

// Use has every line checked against a schema from now on, too.
func (w *Wire) Use(s *Schema) { w.schema = s }

// Send writes one line. It fails when the agent does not read until ctx ends,
// which also closes the agent's input.
func (w *Wire) Send(ctx context.Context, text string) error {
	return w.Write(ctx, []byte(text+"\n"))
}

// Write writes bytes as they are. Complete lines among them count as sent.
func (w *Wire) Write(ctx context.Context, raw []byte) error {
	w.ledger.sent(raw)
	w.note("→", raw)
	stop := context.AfterFunc(ctx, w.closeIn) // a closed pipe ends a write that is stuck
	defer stop()
	if _, err := w.in.Write(raw); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("%w: it stopped reading its input", ErrHang)
		}
		return fmt.Errorf("the agent's input is closed: %w", err)
	}
	return nil
}

// Next returns the next line. An error is io.EOF at the end of the agent's
// output, ErrHang when ctx ended first, and else says which rule the line
// breaks; the message is returned as far as it could be read.
func (w *Wire) Next(ctx context.Context) (Message, error) {
	for {
		w.mu.Lock()
		if len(w.lines) > 0 {
			l := w.lines[0]
			w.lines = w.lines[1:]
			w.mu.Unlock()
			return w.take(l)
		}
		ended := w.ended
		w.mu.Unlock()
		if ended {
			return Message{}, io.EOF
		}
		select {
		case <-w.moved:
		case <-ctx.Done():
			return Message{}, fmt.Errorf("%w: no line came", ErrHang)
		}
	}
}

func (w *Wire) take(l line) (Message, error) {
	w.note("←", l.raw)
	m, err := parseMessage(l.raw)
	if err = errors.Join(l.fault, err); err != nil {
		return m, err
	}
	if len(l.raw) > w.most {
		return m, fmt.Errorf("the line has %d bytes: this agent's limit is %d", len(l.raw), w.most)
	}
	method, err := w.ledger.received(m)
	return m, errors.Join(err, checkShape(m, method), w.schema.check(m, method))
}

// CloseIn closes the agent's standard input. What was written of a last line
// counts as sent.
func (w *Wire) CloseIn() {
	w.ledger.sentEnd()
	w.closeIn()
}

func (w *Wire) closeIn() { _ = w.in.Close() } // closed twice is closed

// CloseOut stops reading for good and closes the agent's standard output.
func (w *Wire) CloseOut() {
	_ = w.out.Close()
	w.Resume()
}

// Stall stops reading the agent's output, but for what is in flight, and makes
// the pipe between small.
func (w *Wire) Stall() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stalled == nil {
		w.stalled = make(chan struct{})
	}
	return narrow(w.out)
}

// WaitStuck returns, after Stall, when the pipe is as good as full, so that an
// agent with more to say has nowhere to say it.
func (w *Wire) WaitStuck(ctx context.Context) error {
	tick := time.NewTicker(2 * time.Millisecond) // nobody tells when a pipe fills
	defer tick.Stop()
	for {
		n, err := unread(w.out)
		if err != nil || n >= stuckInPipe {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("%w: only %d bytes wait to be read", ErrHang, n)
		}
	}
}

// Resume ends Stall.
func (w *Wire) Resume() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stalled != nil {
		close(w.stalled)
		w.stalled = nil
	}
}

// Wait returns when the agent has ended, whatever its output still holds.
func (w *Wire) Wait(ctx context.Context) error {
	select {
	case <-w.gone:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("%w: it has not ended", ErrHang)
	}
}

// read splits the agent's output into lines.
func (w *Wire) read() {
	r := bufio.NewReaderSize(w.out, 64<<10)
	for {
		w.waitResumed()
		l, err := readLine(r)
		w.mu.Lock()
		if l.raw != nil || l.fault != nil {
			w.lines = append(w.lines, l)
		}
		w.ended = err != nil
		w.mu.Unlock()
		select {
		case w.moved <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

func (w *Wire) waitResumed() {
	w.mu.Lock()
	stalled := w.stalled
	w.mu.Unlock()
	if stalled != nil {
		<-stalled
	}
}

// readLine keeps at most MaxLine bytes of a line.
func readLine(r *bufio.Reader) (line, error) {
	var l line
	size := 0
	for {
		part, err := r.ReadSlice('\n')
		size += len(part)
		if size <= MaxLine {
			l.raw = append(l.raw, part...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		switch {
		case size > MaxLine:
			l.fault = fmt.Errorf("the line has %d bytes: clients read up to %d", size, MaxLine)
		case err == nil:
			l.raw = bytes.TrimSuffix(l.raw, []byte("\n"))
		case size > 0:
			l.fault = errors.New("the output ended within a line")
		}
		return l, err
	}
}

// keptLog is how many lines a report shows.
const keptLog = 24

func (w *Wire) note(arrow string, raw []byte) {
	if len(w.log) == keptLog {
		w.log = append(w.log[:0], w.log[1:]...)
	}
	w.log = append(w.log, arrow+" "+strings.TrimRight(clip(raw), "\n"))
}

// Log returns the last lines in both directions, for a report.
func (w *Wire) Log() string { return strings.Join(w.log, "\n") }

// defaultPatience detects a hang, even on a slow and busy machine.
const defaultPatience = 2 * time.Minute

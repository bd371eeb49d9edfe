package acp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"sync"
)

// stream is the object stream under the jsonrpc2 connection. It does what the
// library's own streams do not: bounded lines, an answer to what is no message
// and then on with the next, ids and params byte for byte.
//
// Requests and notifications are handed over right here: the library decodes each
// several times into generic values, which is most of the time that a short answer
// takes, and can not express every id. Our calls and their answers are the library's:
// it keeps them, and gets of an answer what came.
type stream struct {
	transport Transport
	out       *outbox
	started   chan struct{} // closed when there is a connection to hand messages to

	handle func(inbound) // called on the reading goroutine

	first bool // of the reading goroutine alone

	mu      sync.Mutex
	givenUp []uint64 // calls that nobody waits for any more, still in the library's table

	idle settled

	ended chan struct{} // closed when reading has ended
	err   error         // why; nil at the end of the stream
}

// settled tells whether all that has arrived is handled: the reader waits for
// more to arrive, or for the other side to read. Who waits for that is content
// with one such moment, so that a side that never stops writing delays nothing.
type settled struct {
	mu   sync.Mutex
	cond sync.Cond
	yes  bool
	many uint64 // how often it became true
}

func (s *settled) set(yes bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.yes = yes
	if yes {
		s.many++
		s.cond.Broadcast()
	}
}

func (s *settled) wait() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for before := s.many; !s.yes && s.many == before; {
		s.cond.Wait()
	}
}

// inbound is a request or notification. Params are valid while it is handled.
type inbound struct {
	id     json.RawMessage // nil for a notification
	method string
	params json.RawMessage
}

func newStream(t Transport, out *outbox, handle func(inbound)) *stream {
	s := &stream{transport: t, out: out, handle: handle, first: true, started: make(chan struct{}), ended: make(chan struct{})}
	s.idle.cond.L = &s.idle.mu
	return s
}

// ReadObject reads lines, and handles what they ask, until one is the answer to
// a call of ours. That it decodes into v, which is the library's own type.
func (s *stream) ReadObject(v any) error {
	<-s.started
	for {
		if id, ok := s.nextGivenUp(); ok {
			return failCall(id, errGivenUp, v)
		}
		line, err := s.readLine()
		if errors.Is(err, ErrLineTooLong) {
			s.refuse(nil, Errorf(CodeInvalidRequest, "the line is longer than %d bytes: nothing of it was read", MaxLine))
			continue
		}
		if err != nil {
			return s.end(err)
		}
		line = s.trim(line)
		if len(line) == 0 {
			continue
		}
		e, fault := parseEnvelope(line)
		if fault != nil {
			s.refuse(e.id, fault)
			continue
		}
		if !e.isResponse() {
			s.handle(inbound{id: bytes.Clone(e.id), method: unquote(e.method), params: e.params})
			continue
		}
		if id, err := strconv.ParseUint(string(e.id), 10, 64); err == nil { // else it is to no call of ours
			return e.decodeAnswer(id, v)
		}
	}
}

// errGivenUp is what becomes of a call that nobody waits for.
var errGivenUp = Errorf(CodeRequestCancelled, "nobody waits for the answer any more")

// decodeAnswer decodes an answer into the library's own type, by its members that
// count: the library takes a key for one of them also where its case is another. An
// answer that it can't decode would end the connection, and fails its call instead.
func (e *envelope) decodeAnswer(id uint64, v any) error {
	name, value := "result", e.result
	if e.result == nil || e.fault != nil && string(e.fault) != "null" {
		name, value = "error", e.fault
	}
	err := decodeInto(fmt.Appendf(nil, `{"id":%d,%q:%s}`, id, name, value), v)
	if err != nil {
		return failCall(id, Errorf(CodeInternal, "the answer can't be read: %w", err), v)
	}
	return nil
}

// failCall is the answer to a call that gets no other.
func failCall(id uint64, why *Error, v any) error {
	return decodeInto(bytes.TrimSpace(appendError(nil, strconv.AppendUint(nil, id, 10), why)), v)
}

// decodeInto decodes JSON that was checked into the library's type, without the check
// that json.Unmarshal would make first.
func decodeInto(text []byte, v any) error {
	u, ok := v.(json.Unmarshaler)
	if !ok {
		return fmt.Errorf("acp: jsonrpc2 reads into a %T, which is not known here", v)
	}
	return u.UnmarshalJSON(text)
}

func (s *stream) readLine() ([]byte, error) {
	if s.out.answersFull() {
		s.idle.set(true)
		if !s.out.waitAnswers(s.transport.HungUp) {
			return nil, io.EOF // nobody will read what the rest would be answered
		}
	}
	if !s.transport.Ready() {
		s.idle.set(true)
	}
	line, err := s.transport.ReadLine()
	s.idle.set(false)
	return line, err
}

func (s *stream) end(err error) error {
	s.idle.set(true)
	s.err = err
	close(s.ended)
	return err
}

// trim takes off blanks, the CR of a CRLF and, on the first line, a byte order
// mark.
func (s *stream) trim(line []byte) []byte {
	if s.first {
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
		s.first = false
	}
	return bytes.Trim(line, " \t\r")
}

// refuse answers what is no message. Where its id could not be read, that is null
// (JSON-RPC 2.0, section 5).
func (s *stream) refuse(id json.RawMessage, fault *Error) {
	if id == nil {
		id = json.RawMessage("null")
	}
	_ = s.out.put(appendError(nil, id, fault), 1) // a closed outbox ends the reader by itself
}

// giveUp gives a call up: the library's entry for it goes before the next line is read.
// A later answer is to nothing that was asked.
func (s *stream) giveUp(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.givenUp = append(s.givenUp, id)
}

func (s *stream) nextGivenUp() (uint64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.givenUp) == 0 {
		return 0, false
	}
	id := s.givenUp[0]
	s.givenUp = s.givenUp[1:]
	return id, true
}

// WriteObject queues one of our calls. It is called under the library's lock
// and must not wait.
func (s *stream) WriteObject(obj any) error {
	line, err := AppendValue(nil, obj)
	if err != nil {
		return err
	}
	return s.out.put(append(line, '\n'), 0)
}

// Close is called by the library when reading ended. Answers may still be on
// their way out, so the transport stays open; the Peer closes it.
func (s *stream) Close() error { return nil }

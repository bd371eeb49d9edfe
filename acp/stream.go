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
// The library decodes each message several times into generic values, which is
// most of the time that a short answer takes, and can not express every id.
// Requests and notifications are therefore handed over right here. The library
// correlates our calls with their answers: it gets a small message made here,
// with the id alone, while what came back stays in the answer. Such a message
// always decodes, so that no half-decoded state is left behind for the next one.
type stream struct {
	transport Transport
	out       *outbox
	logf      func(format string, args ...any)
	started   chan struct{} // closed when there is a connection to hand messages to

	handle func(inbound) // called on the reading goroutine

	first bool // of the reading goroutine alone

	mu      sync.Mutex
	calls   map[uint64]*answer
	retired []uint64 // calls given up, still in the library's table

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

// answer is what came back for one of our calls.
type answer struct {
	result, fault json.RawMessage
}

func newStream(t Transport, out *outbox, handle func(inbound), logf func(string, ...any)) *stream {
	s := &stream{transport: t, out: out, handle: handle, logf: logf, first: true, calls: map[uint64]*answer{}, started: make(chan struct{}), ended: make(chan struct{})}
	s.idle.cond.L = &s.idle.mu
	return s
}

// ReadObject reads lines, and handles what they ask, until one is the answer to
// a call of ours. That it decodes into v, which is the library's own type.
func (s *stream) ReadObject(v any) error {
	<-s.started
	for {
		if id, ok := s.nextRetired(); ok {
			return decodeStub(responseStub(id), v)
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
		if stub := s.takeResponse(e); stub != nil {
			return decodeStub(stub, v)
		}
	}
}

// decodeStub decodes a stub into the library's type, without the check for
// valid JSON that json.Unmarshal would make first.
func decodeStub(stub []byte, v any) error {
	u, ok := v.(json.Unmarshaler)
	if !ok {
		return fmt.Errorf("acp: jsonrpc2 reads into a %T, which is not known here", v)
	}
	return u.UnmarshalJSON(stub)
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

// takeResponse keeps what came back and returns the stub for the library, or nil
// for a response to nothing that was asked.
func (s *stream) takeResponse(e envelope) []byte {
	id, err := strconv.ParseUint(string(e.id), 10, 64)
	s.mu.Lock()
	defer s.mu.Unlock()
	a := s.calls[id]
	if err != nil || a == nil {
		s.logf("ignored a response to nothing that was asked (id %s)", e.id)
		return nil
	}
	delete(s.calls, id)
	a.result, a.fault = bytes.Clone(e.result), bytes.Clone(e.fault)
	return responseStub(id)
}

func responseStub(id uint64) []byte {
	return fmt.Appendf(nil, `{"id":%d,"result":true}`, id)
}

// refuse answers what is no message. Where its id could not be read, that is null
// (JSON-RPC 2.0, section 5).
func (s *stream) refuse(id json.RawMessage, fault *Error) {
	if id == nil {
		id = json.RawMessage("null")
	}
	_ = s.out.put(appendError(nil, id, fault), 1) // a closed outbox ends the reader by itself
}

// expect registers a call before it is written.
func (s *stream) expect(id uint64) *answer {
	a := &answer{}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[id] = a
	return a
}

// retire gives a call up: a late answer is ignored, and the library's entry for
// it goes with the next line that is read.
func (s *stream) retire(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.calls[id]; !ok {
		return
	}
	delete(s.calls, id)
	s.retired = append(s.retired, id)
}

func (s *stream) nextRetired() (uint64, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.retired) == 0 {
		return 0, false
	}
	id := s.retired[0]
	s.retired = s.retired[1:]
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

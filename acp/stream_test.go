package acp

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/rs/zerolog"
)

// raw is what the library is given to read.
type raw struct{ text json.RawMessage }

func (r *raw) UnmarshalJSON(b []byte) error {
	r.text = append(json.RawMessage(nil), b...)
	return nil
}

// The library keeps an entry for each call until it reads an answer. For a call
// that was given up it gets one before the next line, and only one.
func TestACallThatWasGivenUpLeavesTheLibrary(t *testing.T) {
	in, client := io.Pipe()
	defer client.Close()
	tr := NewTransport(in, nopWriter{})
	s := newStream(tr, newOutbox(tr), func(inbound) {})
	close(s.started)
	s.giveUp(1)
	go func() {
		_, _ = io.WriteString(client, `{"jsonrpc":"2.0","id":"x","result":0}`+"\n"+`{"jsonrpc":"2.0","id":2,"result":"in time","ID":3}`+"\n")
	}()
	for _, want := range []string{
		`{"jsonrpc":"2.0","id":1,"error":{"code":-32800,"message":"nobody waits for the answer any more","data":{"details":"nobody waits for the answer any more"}}}`,
		`{"id":2,"result":"in time"}`,
	} {
		var got raw
		if err := s.ReadObject(&got); err != nil || string(got.text) != want {
			t.Errorf("read %s, %v, want %s", got.text, err, want)
		}
	}
}

// A few large answers that nobody reads hold back the reader as many small ones do.
func TestAnswersAreBoundedInBytesToo(t *testing.T) {
	a, b := Pipe()
	defer b.Close()
	defer a.Close()
	o := newOutbox(a)
	line := []byte(strings.Repeat("x", maxWaiting/2) + "\n")
	for i := range 3 {
		if o.answersFull() {
			t.Fatalf("after %d answers of 2 MiB the reader has to wait", i)
		}
		if err := o.put(line, 1); err != nil {
			t.Fatal(err)
		}
	}
	if !o.answersFull() {
		t.Error("6 MiB wait, and the reader goes on")
	}
}

// A question to the person ends with the connection that it came by.
func TestAPermissionQuestionEndsWithItsConnection(t *testing.T) {
	ours, theirs := Pipe()
	client := &asked{questions: make(chan struct{}), ended: make(chan error, 1)}
	conn := Connect(ours, client, zerolog.Nop())
	ask := `{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"sessionId":"s","toolCall":{"toolCallId":"t"},"options":[]}}`
	if err := theirs.WriteLines([]byte(ask + "\n")); err != nil {
		t.Fatal(err)
	}
	<-client.questions
	theirs.Close()
	if err := <-client.ended; err != ErrClosed {
		t.Errorf("it ended with %v", err)
	}
	conn.Close()
}

// asked is a client whose person does not answer.
type asked struct {
	questions chan struct{}
	ended     chan error
}

func (a *asked) SessionUpdate(SessionNotification) {}

func (a *asked) RequestPermission(ctx context.Context, _ RequestPermissionRequest) (RequestPermissionResponse, error) {
	close(a.questions)
	<-ctx.Done()
	a.ended <- context.Cause(ctx)
	return RequestPermissionResponse{}, context.Cause(ctx)
}

package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

// EventGap is the type of an event that tells that others were missed. It has no
// id, and the members missed (how many, where that is known) and detail.
const EventGap = "gap"

// Event is something that happened, as the gateway tells it.
type Event struct {
	ID   string          `json:"id,omitempty"`
	Type string          `json:"type"`
	Time time.Time       `json:"time,omitzero"`
	Data json.RawMessage `json:"data,omitempty"`
}

// ClosedError says why the gateway ended a stream of events.
type ClosedError struct {
	// Reason is "stopping" when the gateway stops, "slow" when events were not taken
	// fast enough, or another word.
	Reason string `json:"reason"`
	Detail string `json:"detail"`
}

// Error says what the gateway said.
func (e *ClosedError) Error() string {
	return "the gateway ended the stream of events: " + e.Detail
}

// Events is one stream of events.
type Events struct {
	body   io.ReadCloser
	reader *sseReader
}

// Events opens a stream of what happens from now on, or after the event of lastID
// where that is not empty. ctx bounds the whole stream. Close it.
func (c *Client) Events(ctx context.Context, lastID string) (*Events, error) {
	r, err := c.request(ctx, http.MethodGet, "/events")
	if err != nil {
		return nil, err
	}
	r.Header.Set("Accept", "text/event-stream")
	if lastID != "" {
		r.Header.Set("Last-Event-ID", lastID)
	}
	answer, err := c.http.Do(r)
	if err != nil {
		return nil, c.unreachable(ctx, err)
	}
	if answer.StatusCode != http.StatusOK {
		defer answer.Body.Close()
		return nil, c.problem(answer)
	}
	if media := answer.Header.Get("Content-Type"); !strings.HasPrefix(media, "text/event-stream") {
		_ = answer.Body.Close()
		return nil, fmt.Errorf("what answers at %s is no gateway: it sends no events", c.at.URL)
	}
	return &Events{answer.Body, newSSEReader(answer.Body)}, nil
}

// Next returns the next event. The error is a *ClosedError where the gateway said
// why it ends the stream, and io.EOF or what went wrong where the stream broke.
func (e *Events) Next() (Event, error) {
	b, err := e.reader.next()
	if err != nil {
		return Event{}, err
	}
	switch b.kind {
	case "closed":
		closed := &ClosedError{}
		if err := json.Unmarshal([]byte(b.data), closed); err != nil {
			closed.Reason = "unknown"
		}
		return Event{}, closed
	case EventGap:
		return Event{Type: EventGap, Data: rawJSON(b.data)}, nil
	}
	event := Event{}
	if err := json.Unmarshal([]byte(b.data), &event); err != nil {
		event = Event{Data: rawJSON(b.data)}
	}
	event.ID, event.Type = b.id, b.kind
	return event, nil
}

// rawJSON is text as JSON, even where it is none.
func rawJSON(text string) json.RawMessage {
	if json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	quoted, _ := json.Marshal(text)
	return quoted
}

// LastID is the id to come back with.
func (e *Events) LastID() string { return e.reader.id }

// Close ends the stream.
func (e *Events) Close() { _ = e.body.Close() } // nothing more is to be read

const (
	// firstRetry is how long to wait after a stream broke; each try that fails
	// doubles it, up to lastRetry.
	firstRetry = 100 * time.Millisecond
	lastRetry  = 5 * time.Second
	// retries is how many tries may fail in a row.
	retries = 8
)

// Follow calls do with each event, as Events tells them, and takes a broken stream
// up again where it broke; lost hears of each break. It returns nil when the
// gateway stops, the cause of ctx when that ends, what do returns, or why the
// gateway can't be reached any more.
func (c *Client) Follow(ctx context.Context, lastID string, do func(Event) error, lost func(error)) error {
	f := &follower{c: c, lastID: lastID, do: do}
	for failed := 0; ; {
		err := f.once(ctx)
		var closed *ClosedError
		var stop *stopError
		switch {
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case errors.As(err, &stop):
			return stop.error
		case errors.As(err, &closed) && closed.Reason == "stopping":
			return nil
		case !f.opened && (!f.before || !passing(err)):
			return err // a first try says what is wrong
		}
		if f.opened {
			f.before, failed = true, 0
			lost(err)
		} else if failed++; failed == retries {
			return fmt.Errorf("the gateway was lost, and %d tries to reach it again failed: %w", retries, err)
		}
		if err := pause(ctx, max(f.retry, min(firstRetry<<failed, lastRetry))); err != nil {
			return err
		}
	}
}

// follower is the state of Follow.
type follower struct {
	c      *Client
	lastID string
	do     func(Event) error
	before bool          // a stream was open before
	opened bool          // the last try opened one
	retry  time.Duration // what the gateway asked to wait
}

// stopError carries what do returned.
type stopError struct{ error }

// once follows one stream to its end.
func (f *follower) once(ctx context.Context) error {
	f.opened = false
	stream, err := f.c.Events(ctx, f.lastID)
	if err != nil {
		return err
	}
	defer stream.Close()
	f.opened = true
	stream.reader.begin(f.lastID)
	if f.before && f.lastID == "" {
		detail := rawJSON(`{"detail":"the stream broke before its first event: what happened meanwhile is not told"}`)
		if err := f.do(Event{Type: EventGap, Data: detail}); err != nil {
			return &stopError{err}
		}
	}
	for {
		event, err := stream.Next()
		f.retry = stream.reader.retry
		if err != nil {
			f.lastID = stream.LastID()
			return err
		}
		if err := f.do(event); err != nil {
			return &stopError{err}
		}
		f.lastID = stream.LastID()
	}
}

// passing says whether another try may end otherwise.
func passing(err error) bool {
	var p *Problem
	if errors.As(err, &p) {
		return p.Status >= 500
	}
	return !errors.Is(err, ErrRefused)
}

// pause waits, unless ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

package pause

import (
	"encoding/json"
	"fmt"
	"time"
)

// A Kind says what a pause waits for.
type Kind string

// The kinds of pauses, as they are written.
const (
	KindCustom   Kind = "custom"
	KindDecision Kind = "decision"
	KindSleep    Kind = "sleep"
	KindEvent    Kind = "event"
)

// A Request is what a pause asks for.
type Request struct {
	Kind   Kind   `json:"kind"`
	Reason string `json:"reason"`
	// Schema is the JSON Schema that an answer must meet.
	Schema json.RawMessage `json:"schema,omitempty"`
	// Payload is for those who answer: what it is about.
	Payload json.RawMessage `json:"payload,omitempty"`
	// TTLMs is how long the pause waits, in ms from CreatedAt; 0 is for ever.
	TTLMs int64 `json:"ttlMs,omitempty"`
	// CorrelationKey is what an event is told by.
	CorrelationKey string `json:"correlationKey,omitempty"`
	// Snapshot is false where nothing has to be kept for the time of the pause.
	Snapshot *bool `json:"snapshot,omitempty"`
	// OnExpiry says that the end of the time is an answer.
	OnExpiry *OnExpiry `json:"onExpiry,omitempty"`
	// CreatedAt is when the pause began; this package writes it, and a record of
	// another runner may lack it.
	CreatedAt time.Time `json:"createdAt,omitzero"`
}

// OnExpiry is what the end of the time means. Mode "resolve" goes on with Value.
type OnExpiry struct {
	Mode  string          `json:"mode"`
	Value json.RawMessage `json:"value,omitempty"`
}

// anything is the schema of an answer that may be whatever it likes.
const anything = "true"

// Decision asks a person. A nil schema takes any answer.
func Decision(reason string, schema json.RawMessage, ttl time.Duration) Request {
	if schema == nil {
		schema = json.RawMessage(anything)
	}
	return Request{Kind: KindDecision, Reason: reason, Schema: schema, TTLMs: ttl.Milliseconds()}
}

// Sleep waits for nothing but the time.
func Sleep(d time.Duration) Request {
	ms := max(d.Milliseconds(), 1)
	return Request{
		Kind: KindSleep, Reason: fmt.Sprintf("sleep %dms", ms), TTLMs: ms,
		Snapshot: new(bool), OnExpiry: &OnExpiry{Mode: "resolve"},
	}
}

// Event waits for a signal with a key. A nil schema takes anything; a ttl of 0
// waits for ever.
func Event(reason, key string, schema json.RawMessage, ttl time.Duration) (Request, error) {
	if key == "" {
		return Request{}, fmt.Errorf("waiting for an event needs a correlation key, by which the event is told")
	}
	return Request{Kind: KindEvent, Reason: reason, CorrelationKey: key, Schema: schema, TTLMs: ttl.Milliseconds()}, nil
}

// Deadline is when the time of the request ends; ok is false where it never does.
func (r Request) Deadline() (at time.Time, ok bool) {
	if r.TTLMs <= 0 || r.CreatedAt.IsZero() {
		return time.Time{}, false
	}
	return r.CreatedAt.Add(time.Duration(r.TTLMs) * time.Millisecond), true
}

// Asked reads what a record asks for.
func (r Record) Asked() (Request, error) {
	var q Request
	if err := json.Unmarshal(r.Request, &q); err != nil {
		return Request{}, &MalformedError{r.PauseID, fmt.Sprintf("its request can't be read: %v", err)}
	}
	return q, nil
}

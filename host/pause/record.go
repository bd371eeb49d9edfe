package pause

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// A Record is one pause: what was asked and, once somebody or the time decided,
// how it was resolved.
type Record struct {
	PauseID string
	// Request is what was asked; see [Request]. It is null in a record that
	// another runner resolved without it.
	Request json.RawMessage
	// Resolved says that the fields below hold. An unresolved record has none.
	Resolved bool
	// Payload is the answer; null where the time ran out.
	Payload json.RawMessage
	// Expired says that the time ran out before an answer came.
	Expired bool
}

// A MalformedError says why a pause record is none.
type MalformedError struct{ ID, Reason string }

func (e *MalformedError) Error() string {
	return fmt.Sprintf("pause record %s is malformed: %s", e.ID, e.Reason)
}

// wireRecord keeps apart what is absent and what is null.
type wireRecord struct {
	PauseID  json.RawMessage `json:"pauseId,omitempty"`
	Request  json.RawMessage `json:"request,omitempty"`
	Resolved json.RawMessage `json:"resolved,omitempty"`
	Payload  json.RawMessage `json:"resumePayload,omitempty"`
	Expired  json.RawMessage `json:"expired,omitempty"`
}

// ParseRecord reads the record of a pause. The error is a *MalformedError.
func ParseRecord(id string, text []byte) (Record, error) {
	malformed := func(reason string) (Record, error) { return Record{}, &MalformedError{id, reason} }
	var wire map[string]json.RawMessage
	if json.Unmarshal(text, &wire) != nil || wire == nil {
		return malformed("expected object")
	}
	name, named := wire["pauseId"]
	if named && !isText(name, id) {
		return malformed("pauseId mismatch")
	}
	request, asked := wire["request"]
	payload, answered := wire["resumePayload"]
	expired, decided := wire["expired"]
	switch resolved, present := wire["resolved"]; {
	case present && isTrue(resolved):
		if !isTrue(expired) && !isFalse(expired) {
			return malformed("resolved records require boolean expired")
		}
		if !answered {
			return malformed("resolved records require resumePayload")
		}
		if !asked {
			request = json.RawMessage("null")
		}
		return Record{PauseID: id, Request: request, Resolved: true, Payload: payload, Expired: isTrue(expired)}, nil
	case present && !isFalse(resolved):
		return malformed("resolved must be true, false, or absent")
	case !named:
		return malformed("unresolved records require matching pauseId")
	case !asked:
		return malformed("unresolved records require request")
	case answered || decided:
		return malformed("unresolved records must not include resolution fields")
	}
	return Record{PauseID: id, Request: request}, nil
}

func isTrue(v json.RawMessage) bool  { return string(bytes.TrimSpace(v)) == "true" }
func isFalse(v json.RawMessage) bool { return string(bytes.TrimSpace(v)) == "false" }

func isText(v json.RawMessage, want string) bool {
	var s *string
	return json.Unmarshal(v, &s) == nil && s != nil && *s == want
}

// MarshalJSON writes the record as the contract has it.
func (r Record) MarshalJSON() ([]byte, error) {
	id, err := json.Marshal(r.PauseID)
	if err != nil {
		return nil, err
	}
	wire := wireRecord{PauseID: id, Request: r.Request}
	if r.Resolved {
		wire.Resolved, wire.Expired, wire.Payload = json.RawMessage("true"), json.RawMessage("false"), r.Payload
		if r.Expired {
			wire.Expired = json.RawMessage("true")
		}
	} else {
		wire.Payload = r.Payload // writing refuses a record like that
	}
	return json.Marshal(wire)
}

// SavePause writes a record, if it is a valid one.
func (s *Store) SavePause(r Record) error {
	path, err := s.file("pause", r.PauseID, pauses, "")
	if err != nil {
		return err
	}
	text, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("pause state values must be JSON-serialisable: %w", err)
	}
	if _, err := ParseRecord(r.PauseID, text); err != nil {
		return err
	}
	return s.save(path, json.RawMessage(text))
}

// Pause reads a record; found is false where there is none. The error is a
// *CorruptError where there is one that can't be understood.
func (s *Store) Pause(id string) (r Record, found bool, err error) {
	path, err := s.file("pause", id, pauses, "")
	if err != nil {
		return Record{}, false, err
	}
	text, found, err := s.load(path)
	if err != nil || !found {
		return Record{}, false, err
	}
	r, err = ParseRecord(id, text)
	if err != nil {
		return Record{}, false, &CorruptError{path, err}
	}
	return r, true, nil
}

package pause

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/google/jsonschema-go/jsonschema"
)

// An AnswerError says why an answer does not meet the schema of what was asked.
type AnswerError struct{ Err error }

func (e *AnswerError) Error() string {
	return fmt.Sprintf("the answer does not meet the schema: %v", e.Err)
}

func (e *AnswerError) Unwrap() error { return e.Err }

// CheckSchema says whether a JSON Schema can be used: one without references,
// within bounds of size and depth, so that an answer is checked in bounded time.
// The error names the place in the schema.
func CheckSchema(schema json.RawMessage) error {
	_, err := resolve(schema)
	return err
}

// Meets checks an answer against the schema of a request. The error is an
// *AnswerError where the answer is at fault.
func (r Request) Meets(answer json.RawMessage) error {
	if s := string(bytes.TrimSpace(r.Schema)); s == "" || s == anything {
		if !json.Valid(answer) {
			return &AnswerError{errors.New("it is not JSON")}
		}
		return nil
	}
	schema, err := resolve(r.Schema)
	if err != nil {
		return err
	}
	if err := mayBeChecked(r.Schema, answer); err != nil {
		return &AnswerError{err}
	}
	var value any
	if err := json.Unmarshal(answer, &value); err != nil {
		return &AnswerError{fmt.Errorf("it is not JSON: %s", plain(err))}
	}
	if err := schema.Validate(value); err != nil {
		return &AnswerError{errors.New(failure(err))}
	}
	return nil
}

func resolve(text json.RawMessage) (*jsonschema.Resolved, error) {
	if err := bounded(text); err != nil {
		return nil, fmt.Errorf("the JSON Schema can't be used: %w", err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(text, &schema); err != nil {
		return nil, fmt.Errorf("the JSON Schema can't be read: %s", plain(err))
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("the JSON Schema can't be used: %w", err)
	}
	return resolved, nil
}

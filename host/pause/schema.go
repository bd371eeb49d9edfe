package pause

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/chant-acp/chant-acp/internal/answerschema"
)

// An AnswerError says why an answer does not meet the schema of what was asked.
type AnswerError = answerschema.AnswerError

// CheckSchema says whether a JSON Schema can be used: one without references,
// against which an answer is checked in bounded time. The error names the place in
// the schema.
func CheckSchema(schema json.RawMessage) error { return answerschema.Check(schema) }

// Meets checks an answer against the schema of a request, which may be of a record
// that somebody else wrote. The error is an *AnswerError where the answer is at
// fault.
func (r Request) Meets(answer json.RawMessage) error {
	if s := string(bytes.TrimSpace(r.Schema)); s != "" && s != anything {
		return answerschema.Meets(r.Schema, answer)
	}
	if !json.Valid(answer) {
		return &AnswerError{Message: "it is not JSON"}
	}
	return nil
}

// plain is an error of the JSON decoder in words that name nothing of Go.
func plain(err error) string {
	var syntax *json.SyntaxError
	var wrong *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return fmt.Sprintf("it is not JSON: %v at byte %d", err, syntax.Offset)
	case errors.As(err, &wrong) && wrong.Field != "":
		return fmt.Sprintf("%s can't be a %s", wrong.Field, wrong.Value)
	case errors.As(err, &wrong):
		return fmt.Sprintf("it can't be a %s", wrong.Value)
	}
	return err.Error()
}

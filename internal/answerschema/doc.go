// Package answerschema checks answers of people and programs against the JSON
// Schema that an Op's author wrote for them. It knows the part of JSON Schema
// 2020-12 that says what an answer looks like, and refuses all else, so that no
// constraint is passed over in silence:
//
//   - type, enum, const
//   - minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf
//   - minLength, maxLength, pattern (in Go's syntax, which has no look-around)
//   - items, minItems, maxItems, uniqueItems
//   - properties, required, additionalProperties, minProperties, maxProperties
//   - allOf, anyOf, oneOf, not
//   - $schema, $comment, title, description, default, examples, format, which
//     constrain nothing
//
// There are no references: a schema is read in one piece, nothing is opened for
// it, and it cannot be endless. Numbers are compared as 64-bit floating point.
//
// [Check] takes a schema, [Meets] an answer beside it.
package answerschema

import (
	"fmt"
	"strings"
)

const (
	// MaxSchema is the largest schema, in bytes.
	MaxSchema = 64 << 10
	// MaxAnswer is the largest answer that is checked, in bytes.
	MaxAnswer = 1 << 20
	// MaxDepth is how deeply schemas are nested in each other.
	MaxDepth = 32

	maxPattern = 1 << 10 // bytes
	// maxWork bounds what one answer costs, in values that are looked at: under a
	// second. So many steps of a pattern cost as much as one value.
	maxWork      = 2_000_000
	patternSteps = 8
)

// A SchemaError says why a schema cannot be used.
type SchemaError struct {
	// Path leads to what is wrong: keys, and positions in lists from 0.
	Path    []string
	Message string
}

func (e *SchemaError) Error() string {
	return "the JSON Schema cannot be used: " + e.Where() + e.Message
}

// Where is the path as the beginning of a sentence about it, "" for the whole
// schema.
func (e *SchemaError) Where() string { return where(e.Path) }

// An AnswerError says what of an answer does not meet the schema.
type AnswerError struct {
	// Path leads to it: keys, and positions in lists from 0.
	Path    []string
	Message string
}

func (e *AnswerError) Error() string {
	return "the answer does not meet the schema: " + where(e.Path) + e.Message
}

func where(path []string) string {
	if len(path) == 0 {
		return ""
	}
	return fmt.Sprintf("%s: ", strings.Join(path, "."))
}

package answerschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"unicode/utf8"
)

// Meets checks an answer, which is JSON. The error is an *[AnswerError] where
// the answer is at fault, and a *[SchemaError] where the schema is.
func Meets(schema, answer json.RawMessage) error {
	s, err := compile(schema)
	if err != nil {
		return err
	}
	if len(answer) > MaxAnswer {
		return &AnswerError{Message: fmt.Sprintf("it has %d bytes, and %d are the most", len(answer), MaxAnswer)}
	}
	var v any
	if err := json.Unmarshal(answer, &v); err != nil {
		return &AnswerError{Message: fmt.Sprintf("it is not JSON: %v", err)}
	}
	c := &checker{left: maxWork}
	bad := c.check(s, v, nil)
	if c.left < 0 {
		return &AnswerError{Message: "to find out takes too long; make the answer, or the schema, smaller"}
	}
	if bad != nil {
		return bad
	}
	return nil
}

// A checker bounds the work of a check.
type checker struct{ left int }

// check returns what is wrong first, nil for nothing, or once the work is used up.
func (c *checker) check(s *schema, v any, at place) *AnswerError {
	if c.left -= 1 + len(s.enum); c.left < 0 {
		return nil
	}
	switch {
	case s.never:
		return at.bad("nothing is allowed here")
	case s.types != nil && !slices.ContainsFunc(s.types, func(name string) bool { return is(v, name) }):
		return at.bad("it must be of type %s, and is %s", show(s.types), kindOf(v))
	case s.values && !slices.ContainsFunc(s.enum, func(one any) bool { return reflect.DeepEqual(one, v) }):
		return at.bad("it must be one of %s, and is %s", show(s.enum), show(v))
	}
	var err *AnswerError
	switch v := v.(type) {
	case float64:
		err = numberMeets(s, v, at)
	case string:
		err = c.textMeets(s, v, at)
	case []any:
		err = c.listMeets(s, v, at)
	case map[string]any:
		err = c.objectMeets(s, v, at)
	}
	if err != nil {
		return err
	}
	return c.combined(s, v, at)
}

// A place is where in an answer a value is.
type place []string

func (p place) bad(format string, args ...any) *AnswerError {
	return &AnswerError{Path: slices.Clone(p), Message: fmt.Sprintf(format, args...)}
}

func is(v any, name string) bool {
	switch v := v.(type) {
	case nil:
		return name == "null"
	case bool:
		return name == "boolean"
	case float64:
		return name == "number" || name == "integer" && v == math.Trunc(v)
	case string:
		return name == "string"
	case []any:
		return name == "array"
	}
	return name == "object"
}

func numberMeets(s *schema, v float64, at place) *AnswerError {
	switch {
	case s.minimum != nil && v < *s.minimum:
		return at.bad("it must be at least %v, and is %v", *s.minimum, v)
	case s.maximum != nil && v > *s.maximum:
		return at.bad("it must be at most %v, and is %v", *s.maximum, v)
	case s.above != nil && v <= *s.above:
		return at.bad("it must be more than %v, and is %v", *s.above, v)
	case s.below != nil && v >= *s.below:
		return at.bad("it must be less than %v, and is %v", *s.below, v)
	case s.multipleOf != nil && !multiple(v, *s.multipleOf):
		return at.bad("it must be a multiple of %v, and is %v", *s.multipleOf, v)
	}
	return nil
}

// multiple allows for what a decimal fraction loses as a float: 0.3 is three
// times 0.1.
func multiple(v, of float64) bool {
	q := v / of
	return math.Abs(q-math.Round(q)) <= 1e-9*max(1, math.Abs(q)) && !math.IsInf(q, 0)
}

func (c *checker) textMeets(s *schema, v string, at place) *AnswerError {
	if s.minLength != nil || s.maxLength != nil {
		if err := inRange(float64(utf8.RuneCountInString(v)), s.minLength, s.maxLength, "characters", at); err != nil {
			return err
		}
	}
	if s.pattern == nil {
		return nil
	}
	if c.left -= s.patternSize * (1 + len(v)) / patternSteps; c.left >= 0 && !s.pattern.MatchString(v) {
		return at.bad("it must match %s, and is %s", s.pattern, show(v))
	}
	return nil
}

func inRange(n float64, least, most *float64, what string, at place) *AnswerError {
	switch {
	case least != nil && n < *least:
		return at.bad("it must have at least %v %s, and has %v", *least, what, n)
	case most != nil && n > *most:
		return at.bad("it must have at most %v %s, and has %v", *most, what, n)
	}
	return nil
}

// listMeets checks a list, and objectMeets an object. Both count down what the check
// may cost.
func (c *checker) listMeets(s *schema, v []any, at place) *AnswerError {
	if err := inRange(float64(len(v)), s.minItems, s.maxItems, "items", at); err != nil {
		return err
	}
	if s.unique {
		seen := make(map[string]bool, len(v))
		for i, item := range v {
			text, err := json.Marshal(item) // which sorts keys
			if c.left -= len(text); err != nil || c.left < 0 {
				return nil
			}
			if seen[string(text)] {
				return at.bad("each item may be there once, and item %d is there twice", i)
			}
			seen[string(text)] = true
		}
	}
	if s.items == nil {
		return nil
	}
	for i, item := range v {
		if err := c.check(s.items, item, append(at, strconv.Itoa(i))); err != nil || c.left < 0 {
			return err
		}
	}
	return nil
}

func (c *checker) objectMeets(s *schema, v map[string]any, at place) *AnswerError {
	if err := inRange(float64(len(v)), s.minProperties, s.maxProperties, "properties", at); err != nil {
		return err
	}
	c.left -= len(s.required)
	for _, name := range s.required {
		if _, ok := v[name]; !ok {
			return at.bad("it needs the property %q", name)
		}
	}
	if s.properties == nil && s.others == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(v)) {
		of, ok := s.properties[name]
		switch {
		case !ok && s.others == nil:
			continue
		case !ok && s.others.never:
			return at.bad("it may not have the property %q", name)
		case !ok:
			of = s.others
		}
		if err := c.check(of, v[name], append(at, name)); err != nil || c.left < 0 {
			return err
		}
	}
	return nil
}

func (c *checker) combined(s *schema, v any, at place) *AnswerError {
	for _, one := range s.allOf {
		if err := c.check(one, v, at); err != nil {
			return err
		}
	}
	if s.anyOf != nil {
		if met, first := c.count(s.anyOf, v, at); met == 0 {
			return at.bad("it meets none of the schemas of anyOf; of the first one: %s%s", where(first.Path), first.Message)
		}
	}
	if s.oneOf != nil {
		if met, _ := c.count(s.oneOf, v, at); met != 1 {
			return at.bad("it must meet one of the schemas of oneOf, and meets %d", met)
		}
	}
	if s.not != nil && c.check(s.not, v, at) == nil && c.left >= 0 {
		return at.bad("it meets the schema of not")
	}
	return nil
}

// count says how many schemas a value meets, and why it does not meet the first
// that it does not.
func (c *checker) count(schemas []*schema, v any, at place) (met int, first *AnswerError) {
	for _, one := range schemas {
		err := c.check(one, v, at)
		switch {
		case err == nil:
			met++
		case first == nil:
			first = err
		}
	}
	return met, first
}

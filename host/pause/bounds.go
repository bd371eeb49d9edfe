package pause

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp/syntax"
	"slices"
	"strings"
)

// A schema comes with a project and an answer with a line, and neither may keep
// the agent busy. Without references each part of a schema looks at each part of
// an answer once at most, so that the sizes bound the time.
const (
	maxSchema  = 16 << 10 // bytes of a schema
	maxAnswer  = 64 << 10 // bytes of an answer that is held against one
	maxProduct = 4 << 20  // of the two: what one check may cost
	maxDepth   = 32       // levels of either
	maxPattern = 4 << 10  // instructions that all patterns of a schema come to
)

// bounded says whether a schema is one that can be evaluated in bounded time. The
// error names the place in it, as a JSON Pointer.
func bounded(schema json.RawMessage) error {
	if len(schema) > maxSchema {
		return fmt.Errorf("it has %d bytes, and may have %d", len(schema), maxSchema)
	}
	if tooDeep(schema) {
		return fmt.Errorf("it is nested more than %d deep", maxDepth)
	}
	var value any
	if err := json.Unmarshal(schema, &value); err != nil {
		return fmt.Errorf("it is not JSON: %s", plain(err))
	}
	room := maxPattern
	return walkSchema(value, "", &room)
}

// walkSchema looks for keywords in all of a schema, without asking whether one
// stands where it has a meaning. The decoder of schemas takes keywords in any
// case.
func walkSchema(value any, place string, room *int) error {
	switch v := value.(type) {
	case []any:
		for i, item := range v {
			if err := walkSchema(item, fmt.Sprintf("%s/%d", place, i), room); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			at := place + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
			if err := checkKeyword(key, v[key], room); err != nil {
				return fmt.Errorf("%s: %w", at, err)
			}
			if err := walkSchema(v[key], at, room); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkKeyword(key string, value any, room *int) error {
	for _, ref := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
		if strings.EqualFold(key, ref) {
			return fmt.Errorf("a schema of a run can't hold references; write out what %s stands for", ref)
		}
	}
	switch {
	case strings.EqualFold(key, "pattern"):
		if text, ok := value.(string); ok {
			return checkPattern(text, room)
		}
	case strings.EqualFold(key, "patternProperties"):
		patterns, _ := value.(map[string]any)
		for _, text := range slices.Sorted(maps.Keys(patterns)) {
			if err := checkPattern(text, room); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkPattern takes a pattern's instructions from the room that is left. Matching
// takes time in proportion to them.
func checkPattern(text string, room *int) error {
	re, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return fmt.Errorf("the pattern %q can't be read: %s", cutTo(text, 100), strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	program, err := syntax.Compile(re.Simplify())
	if err != nil {
		return fmt.Errorf("the pattern %q can't be used: %w", cutTo(text, 100), err)
	}
	if *room -= len(program.Inst); *room < 0 {
		return fmt.Errorf("the patterns of the schema are too large; repeat less often than %q does", cutTo(text, 100))
	}
	return nil
}

// tooDeep counts brackets, before anything is decoded by recursion.
func tooDeep(text []byte) bool {
	depth, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}

// mayBeChecked says whether an answer is small enough for a schema.
func mayBeChecked(schema, answer json.RawMessage) error {
	most := min(maxAnswer, maxProduct/max(1, len(schema)))
	if len(answer) > most {
		return fmt.Errorf("it has %d bytes, and may have %d with this schema", len(answer), most)
	}
	if tooDeep(answer) {
		return fmt.Errorf("it is nested more than %d deep", maxDepth)
	}
	return nil
}

// plain is an error of the JSON decoder in words that name nothing of Go.
func plain(err error) string {
	var syntaxErr *json.SyntaxError
	var typeErr *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntaxErr):
		return fmt.Sprintf("%v at byte %d", err, syntaxErr.Offset)
	case errors.As(err, &typeErr) && typeErr.Field != "":
		return fmt.Sprintf("%s can't be a %s", typeErr.Field, typeErr.Value)
	case errors.As(err, &typeErr):
		return fmt.Sprintf("it can't be a %s", typeErr.Value)
	}
	return cutTo(strings.ReplaceAll(err.Error(), "json: ", ""), 300)
}

// failure is what the evaluation of a schema says, in our words: where, which
// keyword, and why, without the values that it prints as Go has them.
func failure(err error) string {
	text, place := err.Error(), ""
	for {
		rest, ok := strings.CutPrefix(text, "validating ")
		if !ok {
			break
		}
		at, why, ok := strings.Cut(rest, ": ")
		if !ok {
			break
		}
		if text = why; strings.HasPrefix(at, "/") {
			place = at + ": "
		}
	}
	keyword, why, _ := strings.Cut(text, ": ")
	switch keyword {
	case "type":
		if i := strings.LastIndex(why, ` has type "`); i >= 0 {
			why = "it" + why[i:]
		}
	case "enum", "const":
		why = "it is none of the values that the schema allows"
	case "anyOf":
		why = "it meets none of the schemas"
	case "oneOf":
		why = "it meets none of the schemas, or more than one"
	case "not":
		why = "it meets the schema that it must not meet"
	case "contains":
		why = "no item meets the schema"
	}
	return cutTo(place+keyword+": "+why, 300)
}

// cutTo keeps the beginning of a text that is too long.
func cutTo(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return string(bytes.ToValidUTF8([]byte(s[:most]), nil)) + "…"
}

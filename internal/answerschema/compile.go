package answerschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"
)

// A schema is one that can be used. What it does not constrain is nil.
type schema struct {
	never bool // of the schema false, which nothing meets

	types  []string
	enum   []any
	values bool // enum holds what is allowed; it may hold one null

	minimum, maximum, above, below, multipleOf *float64

	minLength, maxLength         *float64
	pattern                      *regexp.Regexp
	patternSize                  int // steps of the pattern for each byte
	minItems, maxItems           *float64
	minProperties, maxProperties *float64
	unique                       bool

	items      *schema
	properties map[string]*schema
	required   []string
	others     *schema // of properties that have no schema of their own

	allOf, anyOf, oneOf []*schema
	not                 *schema
}

// Check says whether a schema can be used. The error is a *[SchemaError].
func Check(text json.RawMessage) error {
	_, err := compile(text)
	return err
}

func compile(text json.RawMessage) (*schema, error) {
	if len(text) > MaxSchema {
		return nil, &SchemaError{Message: fmt.Sprintf("it has %d bytes, and %d are the most", len(text), MaxSchema)}
	}
	var v any
	if err := json.Unmarshal(text, &v); err != nil {
		return nil, &SchemaError{Message: fmt.Sprintf("it is not JSON: %v", err)}
	}
	c := &compiler{}
	s := c.schema(v)
	if c.err != nil {
		return nil, c.err
	}
	return s, nil
}

// A compiler keeps the first thing that is wrong, and where it is at.
type compiler struct {
	path  []string
	depth int
	err   *SchemaError
}

func (c *compiler) bad(format string, args ...any) {
	if c.err == nil {
		c.err = &SchemaError{Path: slices.Clone(c.path), Message: fmt.Sprintf(format, args...)}
	}
}

// in does something one step further down the path.
func (c *compiler) in(key string, do func()) {
	c.path = append(c.path, key)
	do()
	c.path = c.path[:len(c.path)-1]
}

func (c *compiler) schema(v any) *schema {
	s := &schema{}
	if c.depth++; c.depth > MaxDepth {
		c.bad("schemas are nested more than %d deep", MaxDepth)
		return s
	}
	defer func() { c.depth-- }()
	switch v := v.(type) {
	case bool:
		s.never = !v
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			c.in(key, func() { c.keyword(s, key, v[key]) })
		}
	default:
		c.bad("a schema is an object, true or false, and this is %s", kindOf(v))
	}
	return s
}

// keyword takes one keyword of a schema; one that is not known is an error.
func (c *compiler) keyword(s *schema, key string, v any) {
	switch key {
	case "type":
		s.types = c.types(v)
	case "enum":
		list := c.list(v)
		s.enum, s.values = append(s.enum, list...), true
	case "const":
		s.allOf = append(s.allOf, &schema{enum: []any{v}, values: true})
	case "minimum":
		s.minimum = c.number(v)
	case "maximum":
		s.maximum = c.number(v)
	case "exclusiveMinimum":
		s.above = c.number(v)
	case "exclusiveMaximum":
		s.below = c.number(v)
	case "multipleOf":
		if s.multipleOf = c.number(v); *s.multipleOf <= 0 {
			c.bad("it must be more than 0")
		}
	case "minLength":
		s.minLength = c.count(v)
	case "maxLength":
		s.maxLength = c.count(v)
	case "pattern":
		s.pattern, s.patternSize = c.pattern(v)
	case "uniqueItems":
		s.unique = c.boolean(v)
	case "minItems":
		s.minItems = c.count(v)
	case "maxItems":
		s.maxItems = c.count(v)
	case "minProperties":
		s.minProperties = c.count(v)
	case "maxProperties":
		s.maxProperties = c.count(v)
	case "required":
		s.required = c.texts(v)
	default:
		c.applicator(s, key, v)
	}
}

// applicator reads what holds schemas, and what constrains nothing.
func (c *compiler) applicator(s *schema, key string, v any) {
	switch key {
	case "items":
		s.items = c.schema(v)
	case "properties":
		s.properties = c.properties(v)
	case "additionalProperties":
		s.others = c.schema(v)
	case "allOf":
		s.allOf = append(s.allOf, c.schemas(v)...)
	case "anyOf":
		s.anyOf = c.schemas(v)
	case "oneOf":
		s.oneOf = c.schemas(v)
	case "not":
		s.not = c.schema(v)
	case "$schema", "$comment", "title", "description", "format":
		c.text(v)
	case "examples":
		if _, ok := v.([]any); !ok {
			c.bad("it must be a list, and is %s", kindOf(v))
		}
	case "default":
	case "$ref", "$dynamicRef", "$recursiveRef":
		c.bad("references are not followed; write the schema out in one piece")
	default:
		c.bad("this keyword is not known here, and would constrain nothing; there are: %s", strings.Join(keywords(), ", "))
	}
}

func keywords() []string {
	return []string{
		"type", "enum", "const", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf", "minLength", "maxLength", "pattern",
		"items", "minItems", "maxItems", "uniqueItems", "properties", "required", "additionalProperties", "minProperties", "maxProperties",
		"allOf", "anyOf", "oneOf", "not", "title", "description", "default", "examples", "format", "$schema", "$comment",
	}
}

func (c *compiler) types(v any) []string {
	types := []string{}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, item := range list {
		name, _ := item.(string)
		switch name {
		case "null", "boolean", "object", "array", "number", "string", "integer":
			types = append(types, name)
		default:
			c.bad("it must be one of null, boolean, object, array, number, string and integer, or a list of them, and holds %s", show(item))
		}
	}
	if len(types) == 0 {
		c.bad("it names no type, so nothing could meet it")
	}
	return types
}

func (c *compiler) list(v any) []any {
	list, ok := v.([]any)
	if !ok || len(list) == 0 {
		c.bad("it must be a list that is not empty, and is %s", kindOf(v))
	}
	return list
}

func (c *compiler) number(v any) *float64 {
	f, ok := v.(float64)
	if !ok {
		c.bad("it must be a number, and is %s", kindOf(v))
	}
	return &f
}

func (c *compiler) count(v any) *float64 {
	f := c.number(v)
	if *f < 0 || *f != math.Trunc(*f) {
		c.bad("it must be a whole number, 0 or more, and is %v", *f)
	}
	return f
}

func (c *compiler) boolean(v any) bool {
	b, ok := v.(bool)
	if !ok {
		c.bad("it must be true or false, and is %s", kindOf(v))
	}
	return b
}

func (c *compiler) text(v any) string {
	s, ok := v.(string)
	if !ok {
		c.bad("it must be text, and is %s", kindOf(v))
	}
	return s
}

func (c *compiler) texts(v any) []string {
	list, ok := v.([]any)
	if !ok {
		c.bad("it must be a list of texts, and is %s", kindOf(v))
	}
	var all []string
	for i, item := range list {
		c.in(strconv.Itoa(i), func() { all = append(all, c.text(item)) })
	}
	return all
}

func (c *compiler) pattern(v any) (*regexp.Regexp, int) {
	text := c.text(v)
	if len(text) > maxPattern {
		c.bad("it has %d bytes, and %d are the most", len(text), maxPattern)
		return nil, 0
	}
	compiled, err := regexp.Compile(text)
	if err != nil {
		c.bad("it is not a pattern that can be used: %v", err)
		return nil, 0
	}
	// How large a program it is cannot be asked of compiled.
	parsed, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		c.bad("it is not a pattern that can be used: %v", err)
		return nil, 0
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		c.bad("it is not a pattern that can be used: %v", err)
		return nil, 0
	}
	return compiled, len(program.Inst)
}

func (c *compiler) properties(v any) map[string]*schema {
	named, ok := v.(map[string]any)
	if !ok {
		c.bad("it must be an object, and is %s", kindOf(v))
	}
	all := make(map[string]*schema, len(named))
	for _, name := range slices.Sorted(maps.Keys(named)) {
		c.in(name, func() { all[name] = c.schema(named[name]) })
	}
	return all
}

func (c *compiler) schemas(v any) []*schema {
	var all []*schema
	for i, item := range c.list(v) {
		c.in(strconv.Itoa(i), func() { all = append(all, c.schema(item)) })
	}
	return all
}

// kindOf names a value's type in the words of JSON Schema.
func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "a boolean"
	case float64:
		return "a number"
	case string:
		return "a string"
	case []any:
		if len(v) == 0 {
			return "an empty array"
		}
		return "an array"
	}
	return "an object"
}

// show is a value as JSON, its beginning where it is long.
func show(v any) string {
	text, err := json.Marshal(v)
	if err != nil { // cannot fail: the value came from JSON
		return kindOf(v)
	}
	const most = 60
	if len(text) > most {
		return strings.ToValidUTF8(string(text[:most]), "") + "…"
	}
	return string(text)
}

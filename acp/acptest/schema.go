package acptest

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

// Schema is the protocol's JSON Schema. Lines are validated by the type of
// their method, never by the schema's root: the root's branches for extensions
// take anything.
type Schema struct {
	root *jsonschema.Schema
	// Names of types by method, of what an agent sends.
	results, params map[string]string

	mu       sync.Mutex
	resolved map[string]*jsonschema.Resolved
}

// SchemaPath finds the schema beside the module that the working directory lies
// in, at ../shared/acp-schema/v1.json from its root. It returns "" where there
// is none.
func SchemaPath() string {
	dir, err := os.Getwd()
	if err != nil {
		return ""
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			break
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return ""
		}
		dir = parent
	}
	path := filepath.Join(filepath.Dir(dir), "shared", "acp-schema", "v1.json")
	if _, err := os.Stat(path); err != nil {
		return ""
	}
	return path
}

var loaded struct {
	sync.Mutex
	schemas map[string]*Schema
}

// LoadSchema reads a schema from a file, once for each path: it takes longer
// than most checks.
func LoadSchema(path string) (*Schema, error) {
	loaded.Lock()
	defer loaded.Unlock()
	if s := loaded.schemas[path]; s != nil {
		return s, nil
	}
	s, err := readSchema(path)
	if err != nil {
		return nil, err
	}
	if loaded.schemas == nil {
		loaded.schemas = map[string]*Schema{}
	}
	loaded.schemas[path] = s
	return s, nil
}

func readSchema(path string) (*Schema, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("the protocol's schema can't be read: %w", err)
	}
	s := &Schema{
		root:    new(jsonschema.Schema),
		results: map[string]string{}, params: map[string]string{},
		resolved: map[string]*jsonschema.Resolved{},
	}
	if err := json.Unmarshal(raw, s.root); err != nil {
		return nil, fmt.Errorf("%s is no JSON Schema: %w", path, err)
	}
	for name, def := range s.root.Defs {
		method, _ := def.Extra["x-method"].(string)
		switch side, _ := def.Extra["x-side"].(string); {
		case side == "agent" && strings.HasSuffix(name, "Response"):
			s.results[method] = name
		case side != "agent" && !strings.HasSuffix(name, "Response"):
			s.params[method] = name
		}
	}
	if s.results[methodPrompt] == "" || s.params[methodUpdate] == "" || s.root.Defs["Error"] == nil {
		return nil, fmt.Errorf("%s is not the protocol's schema: it names no type for %s or %s", path, methodPrompt, methodUpdate)
	}
	return s, nil
}

// Validate checks a value against one of the schema's types, by its name under
// $defs.
func (s *Schema) Validate(def string, raw []byte) error {
	r, err := s.resolve(def)
	if err != nil {
		return err
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	if err := r.Validate(v); err != nil {
		return fmt.Errorf("not a %s by the schema: %w", def, err)
	}
	return nil
}

func (s *Schema) resolve(def string) (*jsonschema.Resolved, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.resolved[def]; r != nil {
		return r, nil
	}
	if s.root.Defs[def] == nil {
		return nil, fmt.Errorf("the schema has no type %s", def)
	}
	r, err := (&jsonschema.Schema{Ref: "#/$defs/" + def, Defs: s.root.Defs}).Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("the schema's type %s can't be resolved: %w", def, err)
	}
	s.resolved[def] = r
	return r, nil
}

// check validates a message of the agent; method is what a response answers. A
// nil Schema checks nothing.
func (s *Schema) check(m Message, method string) error {
	if s == nil {
		return nil
	}
	if m.Error != nil {
		raw, err := readMembers(m.Raw)
		return errors.Join(err, s.Validate("Error", raw["error"]))
	}
	if m.IsResponse() {
		return s.checkAs(s.results[method], m.Result)
	}
	return s.checkAs(s.params[m.Method], m.Params)
}

func (s *Schema) checkAs(def string, raw []byte) error {
	if def == "" { // an extension
		return nil
	}
	if raw == nil {
		raw = []byte("null")
	}
	return s.Validate(def, raw)
}

package pause

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/chant-acp/chant-acp/internal/durable"
)

// StateVar is the environment variable that tells a step where its run's folder
// is.
const StateVar = "AGENT_COMPOSE_STATE_DIR"

// MaxFile bounds a file of the folder, in bytes. Steps write checkpoints too.
const MaxFile = 16 << 20

const (
	checkpoints = "checkpoints"
	pauses      = "pauses"
)

// A Store is the state folder of one run. The zero value is not usable. It is
// safe for concurrent use, by several processes too.
type Store struct{ root string }

// New returns the store in a folder, an absolute path that need not exist. No
// variable is read: what the environment says is what this run was given, and
// may be another run's.
func New(root string) *Store { return &Store{root} }

// Root is the folder.
func (s *Store) Root() string { return s.root }

// Reset removes the folder with all that is in it, and nothing else. That it is
// not there is no error.
func (s *Store) Reset() error {
	if err := os.RemoveAll(s.root); err != nil {
		return fmt.Errorf("resetting the state of a run: %w", err)
	}
	return nil
}

// A NameError says that a name can't be a file's.
type NameError struct{ Label, Name string }

func (e *NameError) Error() string {
	return fmt.Sprintf("%s name must match ^[a-zA-Z0-9_][a-zA-Z0-9_.-]*$ (got %s)", e.Label, quoted(e.Name))
}

func quoted(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

// A CorruptError says that a file is there and can't be understood. Path is the
// file, which is left as it is.
type CorruptError struct {
	Path string
	Err  error
}

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s can't be read: %v", e.Path, e.Err)
}

func (e *CorruptError) Unwrap() error { return e.Err }

// file checks a name and returns the path of its file.
func (s *Store) file(label, name, folder, prefix string) (string, error) {
	if !validName(name) {
		return "", &NameError{label, name}
	}
	return filepath.Join(s.root, folder, prefix+name+".json"), nil
}

// validName is ^[a-zA-Z0-9_][a-zA-Z0-9_.-]*$, and short enough for the name of a
// file with what is added to it.
func validName(name string) bool {
	if name == "" || len(name) > 200 || name[0] == '.' || name[0] == '-' {
		return false
	}
	for i := range len(name) {
		switch c := name[i]; {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '.', c == '-':
		default:
			return false
		}
	}
	return true
}

// save writes a value. Only what is JSON is one.
func (s *Store) save(path string, value any) error {
	text, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("pause state values must be JSON-serialisable: %w", err)
	}
	for _, dir := range []string{s.root, filepath.Join(s.root, checkpoints), filepath.Join(s.root, pauses)} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return fmt.Errorf("making the state folder of a run: %w", err)
		}
	}
	if err := durable.Write(path, text); err != nil {
		return fmt.Errorf("writing the state of a run: %w", err)
	}
	return nil
}

// load reads a file. found tells a value from none; null is a value. The error
// is a *CorruptError where the file is not JSON.
func (s *Store) load(path string) (value json.RawMessage, found bool, err error) {
	text, err := durable.Read(path, MaxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("reading the state of a run: %w", err)
	}
	if err := json.Unmarshal(text, &value); err != nil {
		return nil, false, &CorruptError{path, err}
	}
	return value, true, nil
}

// SaveCheckpoint keeps a value under a name.
func (s *Store) SaveCheckpoint(name string, value any) error {
	return s.saveNamed("checkpoint", name, checkpoints, "", value)
}

// Checkpoint returns the value kept under a name, and whether there is one.
func (s *Store) Checkpoint(name string) (value json.RawMessage, found bool, err error) {
	return s.loadNamed("checkpoint", name, checkpoints, "")
}

// SaveAgent keeps the state of a loop.
func (s *Store) SaveAgent(id string, state any) error {
	return s.saveNamed("agent", id, "", "agent-", state)
}

// Agent returns the state of a loop, and whether there is one.
func (s *Store) Agent(id string) (state json.RawMessage, found bool, err error) {
	return s.loadNamed("agent", id, "", "agent-")
}

// SaveRuntime keeps what a runtime needs.
func (s *Store) SaveRuntime(id string, state any) error {
	return s.saveNamed("runtime", id, "", "runtime-", state)
}

// Runtime returns what a runtime kept, and whether there is anything.
func (s *Store) Runtime(id string) (state json.RawMessage, found bool, err error) {
	return s.loadNamed("runtime", id, "", "runtime-")
}

func (s *Store) saveNamed(label, name, folder, prefix string, value any) error {
	path, err := s.file(label, name, folder, prefix)
	if err != nil {
		return err
	}
	return s.save(path, value)
}

func (s *Store) loadNamed(label, name, folder, prefix string) (json.RawMessage, bool, error) {
	path, err := s.file(label, name, folder, prefix)
	if err != nil {
		return nil, false, err
	}
	return s.load(path)
}

package local

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"strconv"
	"time"

	"github.com/chant-acp/chant-acp/host/pause"
	"github.com/chant-acp/chant-acp/internal/durable"
	"github.com/chant-acp/chant-acp/internal/journal"
)

const (
	format     = "chant-acp run"
	version    = 2        // of the record and the journal; 1 had no checksums
	maxRecord  = 4 << 20  // of run.json
	maxJournal = 64 << 20 // of the journal
	maxEntry   = 1 << 20  // of one line of it
	maxText    = 16 << 10 // of one text in it
	maxSteps   = 1 << 20  // of one phase
)

// record is what was asked: run.json.
type record struct {
	Format  string            `json:"format"`
	Version int               `json:"version"`
	ID      string            `json:"id"`
	Root    string            `json:"root"`
	Op      string            `json:"op"`
	File    string            `json:"file,omitempty"`
	Env     string            `json:"env,omitempty"`
	Params  map[string]string `json:"params,omitempty"`
	// Digest is over root, Op, environment, parameters and config; the config's
	// own is Config.
	Digest   string         `json:"digest"`
	Config   string         `json:"config"`
	Created  time.Time      `json:"created"`
	Commit   string         `json:"commit,omitempty"`
	Clean    *bool          `json:"clean,omitempty"`
	Manifest string         `json:"manifest,omitempty"`
	User     string         `json:"user"`
	Client   string         `json:"client,omitempty"`
	Context  *contextRecord `json:"context,omitempty"`

	sum string // of the file, as the journal has it
}

// contextRecord lets a context be read back.
type contextRecord struct{ *pause.Context }

func (c *contextRecord) UnmarshalJSON(text []byte) (err error) {
	c.Context, err = pause.ParseContext(text)
	return err
}

func (r record) identity() string { return identity(r.Root, r.Op, r.Env, r.Params) }

// runDigest is what an approval is for.
func runDigest(root, opName, env string, params map[string]string, config string) string {
	return digest(identity(root, opName, env, params), config)
}

// A folder is where one run is kept.
type folder struct{ dir string }

func (f folder) id() string           { return filepath.Base(f.dir) }
func (f folder) record() string       { return filepath.Join(f.dir, "run.json") }
func (f folder) journal() string      { return filepath.Join(f.dir, "journal.jsonl") }
func (f folder) lockFile() string     { return filepath.Join(f.dir, "lock") }
func (f folder) output() string       { return filepath.Join(f.dir, "output.log") }
func (f folder) pauses() *pause.Store { return pause.New(filepath.Join(f.dir, "state")) }

// A damageError says that what is kept of a run can't be understood.
type damageError struct {
	path, problem string
	intact        bool // what another version wrote: it is left alone
}

func (e *damageError) Error() string { return e.path + " " + e.problem }

// readRecord reads what was asked.
func (f folder) readRecord() (record, error) {
	text, err := durable.Read(f.record(), maxRecord)
	if err != nil {
		return record{}, err
	}
	var head struct {
		Format  string
		Version int
	}
	if err := json.Unmarshal(text, &head); err != nil || head.Format != format || head.Version < 1 {
		return record{}, &damageError{path: f.record(), problem: "is not the record of a run"}
	}
	if head.Version != version {
		return record{}, damageOf(f.record(), &journal.VersionError{Version: head.Version, Known: version})
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return record{}, &damageError{path: f.record(), problem: "is damaged: " + err.Error()}
	}
	if r.ID != f.id() {
		return record{}, &damageError{path: f.record(), problem: fmt.Sprintf("is that of the run %q", r.ID)}
	}
	r.sum = sumOf(text)
	return r, nil
}

// sumOf is the SHA-256 of a file, in hexadecimal.
func sumOf(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// osUser is who runs this process, as the system has it.
func osUser() string {
	if u, err := user.Current(); err == nil && u.Username != "" {
		return u.Username
	}
	return strconv.Itoa(os.Getuid())
}

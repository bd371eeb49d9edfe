package eval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"

	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/internal/durable"
	"github.com/chant-acp/chant-acp/internal/stateroot"
)

// maxCache is the largest cache that is read, in bytes.
const maxCache = 64 << 20

// A cache holds what the *.op.ts files of one root gave. It is one file, named
// after the root, and is good as long as all inputs are what they were. Losing
// it costs time and nothing else.
type cache struct {
	path    string // "" keeps nothing
	root    *os.Root
	sums    map[string]string // of files that were looked at now
	stored  cacheFile
	current map[string]cached
	changed bool
}

type cacheFile struct {
	Version string            `json:"version"`
	Root    string            `json:"root"`
	Files   map[string]cached `json:"files"`
}

// cached is the answer for one file. It holds while the inputs are the same and
// what was looked for is still not there.
type cached struct {
	Config   json.RawMessage   `json:"config,omitempty"`
	Findings []op.Finding      `json:"findings,omitempty"`
	Inputs   map[string]string `json:"inputs"`
	Absent   []string          `json:"absent,omitempty"`
}

// openCache reads the cache of a root in the folder dir; "" for none. One that
// cannot be read, or is another evaluator's, is empty.
func openCache(dir string, root *os.Root) *cache {
	c := &cache{root: root, sums: make(map[string]string), current: make(map[string]cached)}
	if dir == "" {
		return c
	}
	sum := sha256.Sum256([]byte(root.Name()))
	c.path = filepath.Join(dir, hex.EncodeToString(sum[:16])+".json")
	text, err := durable.Read(c.path, maxCache)
	if err != nil {
		return c
	}
	var stored cacheFile
	if json.Unmarshal(text, &stored) == nil && stored.Version == evaluatorVersion() && stored.Root == root.Name() {
		c.stored = stored
	}
	return c
}

// get returns what is known of a file.
func (c *cache) get(file string) (cached, bool) {
	entry, ok := c.stored.Files[file]
	if !ok || !c.holds(entry) {
		return cached{}, false
	}
	c.current[file] = entry
	return entry, true
}

func (c *cache) holds(entry cached) bool {
	for name, sum := range entry.Inputs {
		if c.sum(name) != sum {
			return false
		}
	}
	for _, name := range entry.Absent {
		if _, err := c.root.Lstat(name); !errors.Is(err, fs.ErrNotExist) {
			return false
		}
	}
	return len(entry.Inputs) > 0
}

// sum is the SHA-256 of a file, "" of one that cannot be read.
func (c *cache) sum(name string) string {
	sum, known := c.sums[name]
	if !known {
		if data, err := op.ReadFile(c.root, name); err == nil {
			digest := sha256.Sum256(data)
			sum = hex.EncodeToString(digest[:])
		}
		c.sums[name] = sum
	}
	return sum
}

// put keeps an answer that depends on nothing but its inputs.
func (c *cache) put(file string, a answer) {
	if !a.Volatile && len(a.Inputs) > 0 {
		c.current[file] = cached{Config: a.Config, Findings: a.Findings, Inputs: a.Inputs, Absent: a.Absent}
		c.changed = true
	}
}

// save writes what holds now, if that is not what was stored. Files that are gone
// are dropped.
func (c *cache) save() error {
	if c.path == "" || !c.changed && len(c.current) == len(c.stored.Files) {
		return nil
	}
	if err := stateroot.Make(filepath.Dir(c.path)); err != nil {
		return err
	}
	text, err := json.Marshal(cacheFile{Version: evaluatorVersion(), Root: c.root.Name(), Files: c.current})
	if err != nil {
		return err
	}
	return durable.Write(c.path, text)
}

// evaluatorVersion changes with everything of ours that an answer depends on:
// the shims, the modules that evaluate, and the rules written in Go, which the
// number stands for.
func evaluatorVersion() string {
	const rules = "1"
	sum := sha256.New()
	sum.Write([]byte(rules + "\n" + shimSource()))
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if strings.HasPrefix(m.Path, "github.com/evanw/") || strings.HasPrefix(m.Path, "modernc.org/") {
				sum.Write([]byte("\n" + m.Path + " " + m.Version))
			}
		}
	}
	return hex.EncodeToString(sum.Sum(nil))
}

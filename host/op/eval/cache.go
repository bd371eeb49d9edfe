package eval

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"

	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/host/op/eval/internal/wire"
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
	environ string    // digest of what files find in process.env
	now     wire.Seen // what was looked at in this process
	stored  cacheFile
	current map[string]cached
	changed bool
}

// cacheFile is the file of the cache, for one project and one version of the evaluator.
type cacheFile struct {
	Version string            `json:"version"`
	Root    string            `json:"root"`
	Files   map[string]cached `json:"files"`
}

// cached is the answer for one file. It holds while all that was seen is the
// same, and where Environ is not "" the environment is too.
type cached struct {
	Config   json.RawMessage `json:"config,omitempty"`
	Findings []op.Finding    `json:"findings,omitempty"`
	Seen     wire.Seen       `json:"seen"`
	Environ  string          `json:"environ,omitempty"`
}

// openCache reads the cache of a root in the folder dir; "" for none. One that
// cannot be read, or is another evaluator's, is empty.
func openCache(dir string, root *os.Root, environ []string) *cache {
	c := &cache{root: root, environ: digest(environ), current: make(map[string]cached)}
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
	if entry.Environ != "" && entry.Environ != c.environ {
		return false
	}
	for name, state := range entry.Seen.Files {
		if c.file(name) != state {
			return false
		}
	}
	for name, state := range entry.Seen.Paths {
		if c.at(name) != state {
			return false
		}
	}
	return len(entry.Seen.Files) > 0
}

func (c *cache) file(name string) string {
	state, known := c.now.Files[name]
	if !known {
		_, state, _ = wire.ReadSource(c.root, name)
		c.now.File(name, state)
	}
	return state
}

func (c *cache) at(name string) string {
	state, known := c.now.Paths[name]
	if !known {
		_, state, _ = wire.Follow(c.root, name)
		c.now.Path(name, state)
	}
	return state
}

// put keeps an answer that would be the same again, failures too: a file with an
// endless loop would else slow down whoever asks for another. Of those that
// depend on the environment only the failures are kept whose text tells nothing
// of it, with a digest.
func (c *cache) put(file string, a wire.Answer) {
	if a.Chance || a.Environ && !a.Spent || len(a.Seen.Files) == 0 {
		return
	}
	entry := cached{Config: a.Config, Findings: a.Findings, Seen: a.Seen}
	if a.Environ {
		entry.Environ = c.environ
	}
	c.current[file] = entry
	c.changed = true
}

// digest stands for all of an environment, whatever its order.
func digest(environ []string) string {
	sum := sha256.New()
	for _, v := range slices.Sorted(slices.Values(environ)) {
		sum.Write([]byte(v + "\x00"))
	}
	return hex.EncodeToString(sum.Sum(nil))
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

// engines are the modules that evaluate, as go.mod has them. They are linked into
// chant-acpd only, so that this program can't ask its own build for them.
const engines = `github.com/evanw/esbuild v0.28.2
modernc.org/libc v1.79.0
modernc.org/libquickjs v0.14.0
modernc.org/mathutil v1.7.1
modernc.org/memory v1.12.1
modernc.org/quickjs v0.27.0
`

// evaluatorVersion changes with everything of ours that an answer depends on:
// the shims, the modules that evaluate, and the rules written in Go, which the
// number stands for.
func evaluatorVersion() string {
	const rules = "4"
	sum := sha256.Sum256([]byte(rules + "\n" + wire.ShimSource() + engines))
	return hex.EncodeToString(sum[:])
}

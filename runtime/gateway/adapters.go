package gateway

import (
	"debug/buildinfo"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"time"

	"github.com/rs/zerolog"

	"github.com/chant-acp/chant-acp/internal/brief"
)

// Adapter is an ACP agent that can be started.
type Adapter struct {
	Slug        string
	Command     []string // the program and its arguments, never empty
	Env         []string // "NAME=value", on top of the registry's
	Description string
	// MCP lets MCP clients start it. What it runs does not pass the allow-list,
	// unless it is chant-acp.
	MCP bool
	// Own says that it is our own agent, for which the gateway can vouch that a
	// person started it.
	Own bool
}

// adapterRoutes show the agents that can be started: what the configuration said
// last that could be used.
type adapterRoutes struct {
	configured func() ([]Adapter, error) // nil: none
	hub        *hub
	log        zerolog.Logger

	mu       sync.Mutex
	known    []Adapter
	broken   string
	versions map[string]versionOf // by path
}

// versionOf is the version of a program, as long as its file is what it was.
type versionOf struct {
	modified time.Time
	text     string
}

func (l *adapterRoutes) routes() []route {
	return []route{{"GET", "/adapters", needNothing, false, l.list}}
}

// current asks for the adapters. Where that fails, what was known counts on,
// and broken says why.
func (l *adapterRoutes) current() (list []Adapter, broken string) {
	if l.configured == nil {
		return nil, ""
	}
	now, err := l.configured()
	l.mu.Lock()
	was := l.broken
	if err != nil {
		l.broken = err.Error()
	} else {
		l.known, l.broken = now, ""
	}
	list, broken = l.known, l.broken
	l.mu.Unlock()
	if broken != "" && broken != was {
		l.log.Warn().Str("why", broken).Msg("the configuration can't be read; what it said before counts on")
		l.hub.publish(EventConfigBroken, map[string]string{"detail": broken})
	}
	return list, broken
}

// find finds an adapter by its slug.
func (l *adapterRoutes) find(slug string) (Adapter, error) {
	list, broken := l.current()
	for _, a := range list {
		if a.Slug == slug {
			return a, nil
		}
	}
	p := fieldProblem("adapter", "names none: %q; GET /adapters lists them", brief.Bytes(slug, 100))
	if broken != "" {
		p.Detail += "; " + broken
	}
	return Adapter{}, p
}

type adapterEntry struct {
	Slug        string `json:"slug"`
	Description string `json:"description,omitempty"`
	Program     string `json:"program"`
	Installed   bool   `json:"installed"`
	Path        string `json:"path,omitempty"`
	Version     string `json:"version,omitempty"`
	MCP         bool   `json:"mcp"`
}

// list serves GET /adapters. It runs none of them.
func (l *adapterRoutes) list(w http.ResponseWriter, _ *http.Request) error {
	list, broken := l.current()
	entries := make([]adapterEntry, len(list))
	for i, a := range list {
		e := adapterEntry{Slug: a.Slug, Description: a.Description, Program: a.Command[0], MCP: a.MCP}
		if path, err := exec.LookPath(a.Command[0]); err == nil {
			e.Installed, e.Path, e.Version = true, path, l.version(path)
		}
		entries[i] = e
	}
	answer := map[string]any{"adapters": entries}
	if broken != "" {
		answer["warning"] = "what the configuration said before counts on: " + broken
	}
	return writeJSON(w, http.StatusOK, answer)
}

// version is programVersion, asked once for each state of the file.
func (l *adapterRoutes) version(path string) string {
	st, err := os.Stat(path)
	if err != nil {
		return ""
	}
	l.mu.Lock()
	v, ok := l.versions[path]
	l.mu.Unlock()
	if ok && v.modified.Equal(st.ModTime()) {
		return v.text
	}
	v = versionOf{st.ModTime(), programVersion(path)}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.versions == nil {
		l.versions = make(map[string]versionOf)
	}
	l.versions[path] = v
	return v.text
}

// programVersion looks a program's version up without running it: in what Go
// writes into its programs, else in the package.json that a script belongs to.
// "" where neither says.
func programVersion(path string) string {
	real, err := filepath.EvalSymlinks(path)
	if err != nil {
		return ""
	}
	if info, err := buildinfo.ReadFile(real); err == nil {
		if info.Main.Version == "(devel)" {
			return ""
		}
		return info.Main.Version
	}
	const levels = 4 // node_modules/@scope/name/dist/bin.js
	for dir, n := filepath.Dir(real), 0; n < levels; dir, n = filepath.Dir(dir), n+1 {
		if v, found := packageVersion(filepath.Join(dir, "package.json")); found {
			return v
		}
	}
	return ""
}

// packageVersion reads the version of a package.json; found says that there is
// one.
func packageVersion(file string) (version string, found bool) {
	const most = 1 << 20
	f, err := os.Open(file)
	if err != nil {
		return "", false
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, most))
	var p struct {
		Version string `json:"version"`
	}
	if err != nil || json.Unmarshal(raw, &p) != nil {
		return "", true
	}
	return brief.Bytes(p.Version, 100), true
}

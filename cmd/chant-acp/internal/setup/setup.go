// Package setup writes the configuration with which an ACP client starts this
// binary: the exact text to paste for each client chant-acp knows, and, where
// the client keeps plain JSON settings, an edit of that file in place which
// changes nothing but our entry.
//
// Emacs and Neovim settings are programs, and fountain keeps its agents in its
// own database: there the text is printed and never written.
//
// [Lookup] finds a client by its name; a [Target] is what it would be given, and where;
// [Target.Write] edits it.
package setup

import (
	"fmt"
	"strings"
	"time"
)

// Client names an ACP client that setup knows.
type Client string

// The clients, in the order Clients lists them.
const (
	Zed       Client = "zed"
	JetBrains Client = "jetbrains"
	Emacs     Client = "emacs"
	Neovim    Client = "neovim"
	VSCode    Client = "vscode"
	ACPX      Client = "acpx"
	Fountain  Client = "fountain"
)

// Options says what is configured and where the person's settings are.
type Options struct {
	// Binary is the absolute path of the chant-acp binary to start.
	Binary string
	// Args are its arguments; none means that it serves with its defaults.
	Args []string
	// Env looks up an environment variable, like os.Getenv. Nil: none is set.
	Env func(string) string
	// Home is the home directory; empty where there is none.
	Home string
	// Dir is the working directory, where project-level settings are looked for.
	Dir string
	// GOOS is the operating system whose paths are meant (runtime.GOOS).
	GOOS string

	now func() time.Time // of the backup's name; nil means time.Now
}

func (o Options) getenv(key string) string {
	if o.Env == nil {
		return ""
	}
	return o.Env(key)
}

// Target is one client: what to tell it, and where.
type Target struct {
	client  Client
	title   string
	aliases []string
	snippet func(Options) string
	where   func(Options) string
	// settings is nil for a client whose configuration is only printed;
	// printed then says why.
	settings *settings
	printed  string
}

// Name is the client's name as Clients lists it.
func (t *Target) Name() string { return string(t.client) }

// Snippet is the exact text to paste for the binary; it ends with a newline.
func (t *Target) Snippet(o Options) string { return t.snippet(o) }

// Where says, for a person, where the snippet belongs and what to know about
// it there. It ends with a newline.
func (t *Target) Where(o Options) string { return t.where(o) }

// Path is the file that Write edits, which may not exist yet. The error says
// why there is none (the client's configuration is a program, or HOME is not
// set) and what to do instead.
func (t *Target) Path(o Options) (string, error) {
	if t.settings == nil {
		return "", fmt.Errorf("%s; paste what setup prints", t.printed)
	}
	return t.settings.file(o)
}

// Clients lists the names that Lookup knows, aliases left out.
func Clients() []string {
	var names []string
	for _, t := range targets() {
		if !t.hidden() {
			names = append(names, t.Name())
		}
	}
	return names
}

// hidden targets are one half of a client that has two plug-ins; they are
// found by name and not listed.
func (t *Target) hidden() bool { return t.client == codecompanion || t.client == avante }

// Lookup finds a client by its name or a usual other name, in any letter case.
// The error lists the clients, and names the one that was probably meant.
func Lookup(name string) (*Target, error) {
	want := strings.ToLower(strings.TrimSpace(name))
	nearest, best := "", 3
	for _, t := range targets() {
		for _, n := range append([]string{t.Name()}, t.aliases...) {
			if n == want {
				return t, nil
			}
			if d := distance(want, n); d < best && d < len(n) {
				nearest, best = t.Name(), d
			}
		}
	}
	hint := ""
	if nearest != "" {
		hint = fmt.Sprintf(" Did you mean %q?", nearest)
	}
	return nil, fmt.Errorf("there is no set-up for a client called %q.%s The clients are: %s", name, hint, strings.Join(Clients(), ", "))
}

// distance is the number of single-letter edits between two short names
// (Levenshtein).
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

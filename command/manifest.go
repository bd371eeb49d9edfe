package command

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/chant-acp/chant-acp/command/problem"
	"github.com/chant-acp/chant-acp/internal/strictyaml"
	"github.com/chant-acp/chant-acp/internal/trust"
)

// ManifestName is the file name of a project's manifest.
const ManifestName = "chant-acp.yaml"

// MaxManifest is the largest manifest that is read, in bytes.
const MaxManifest = 1 << 20

// A Diagnostic is one finding about a manifest. Line and Column start at 1;
// columns count characters (code points), and a byte order mark is none.
type Diagnostic struct {
	File    string
	Line    int
	Column  int
	Message string
}

func (d Diagnostic) String() string {
	return fmt.Sprintf("%s:%d:%d: %s", d.File, d.Line, d.Column, d.Message)
}

// A ManifestError holds what is wrong with a manifest, the first 100 errors at
// most, in the order
// of the file.
type ManifestError struct {
	Diagnostics []Diagnostic
}

func (e *ManifestError) Error() string {
	lines := make([]string, len(e.Diagnostics))
	for i, d := range e.Diagnostics {
		lines[i] = d.String()
	}
	return strings.Join(lines, "\n")
}

// An Environment is one that the manifest declares. A protected one is never a
// default: a command line has to name it.
type Environment struct {
	Name      string
	Protected bool
}

// A Manifest holds the commands and environments that a project declares. It is
// valid as a whole; there is no partly read manifest.
type Manifest struct {
	file         string
	digest       string
	environments []Environment
	commands     []*spec
	warnings     []Diagnostic
	sources      []Source
}

// ReadManifest reads the manifest at path. A file that cannot be trusted (not
// this user's or root's, writable by everyone), is not a regular file or is
// larger than [MaxManifest] is refused. What is wrong with the contents is a
// *[ManifestError].
func ReadManifest(path string) (*Manifest, error) {
	// Non-blocking, so that a pipe under this name cannot hold the session.
	f, err := os.OpenFile(path, os.O_RDONLY|trust.OpenNonblock, 0)
	if err != nil {
		return nil, fmt.Errorf("the manifest cannot be read: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, fmt.Errorf("the manifest cannot be read: %w", err)
	}
	if reason := distrustFile(path, info); reason != "" {
		return nil, fmt.Errorf("%s is not used: %s", path, reason)
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxManifest+1))
	if err != nil {
		return nil, fmt.Errorf("the manifest cannot be read: %w", err)
	}
	return ParseManifest(path, data)
}

// ParseManifest parses a manifest; file is its name in messages. All that is
// wrong is found in one pass and returned as a *[ManifestError].
func ParseManifest(file string, data []byte) (*Manifest, error) {
	sum := sha256.Sum256(data)
	text := bytes.TrimPrefix(data, []byte("\ufeff"))
	d := &decoder{file: file}
	d.end.line, d.end.column = strictyaml.Position(text, len(text))
	m := &Manifest{file: file, digest: hex.EncodeToString(sum[:])}
	if len(data) > MaxManifest {
		d.at(1, 1, "the manifest is larger than %d bytes, the most that is read; move what is not a command elsewhere", MaxManifest)
	} else if root, problems := strictyaml.Parse(text, "the manifest"); root != nil {
		d.manifest(root, m)
	} else if len(problems) == 0 {
		d.at(1, 1, "the manifest is empty; it needs at least: version: 1")
	} else {
		for _, p := range problems {
			d.at(p.Line, p.Column, "%s", p.Message)
		}
	}
	if len(d.found) > 0 {
		sortDiagnostics(d.found)
		return nil, &ManifestError{Diagnostics: d.found}
	}
	m.warnings = warnings(m)
	return m, nil
}

func sortDiagnostics(list []Diagnostic) {
	slices.SortStableFunc(list, func(a, b Diagnostic) int {
		if a.Line != b.Line {
			return a.Line - b.Line
		}
		return a.Column - b.Column
	})
}

// Warnings tells where the allow-list lets through more than it seems to.
func (m *Manifest) Warnings() []Diagnostic { return m.warnings }

// Environments lists the declared environments in the order of the file.
func (m *Manifest) Environments() []Environment {
	if m == nil {
		return nil
	}
	return slices.Clone(m.environments)
}

// Digest is the SHA-256 of the manifest's bytes, in hex.
func (m *Manifest) Digest() string {
	if m == nil {
		return ""
	}
	return m.digest
}

// File is the name that the manifest was read or parsed under.
func (m *Manifest) File() string { return m.file }

// Commands lists the names of the declared commands in the order of the file.
func (m *Manifest) Commands() []string {
	names := make([]string, len(m.commands))
	for i, s := range m.commands {
		names[i] = s.name
	}
	return names
}

// environment finds a declared environment by name.
func (m *Manifest) environment(name string) (e Environment, declared bool) {
	if m != nil {
		for _, e := range m.environments {
			if e.Name == name {
				return e, true
			}
		}
	}
	return Environment{}, false
}

// environmentNames lists the declared environments in the order of the file;
// none without a manifest.
func (m *Manifest) environmentNames() []string {
	if m == nil {
		return nil
	}
	var names []string
	for _, e := range m.environments {
		names = append(names, e.Name)
	}
	return names
}

// A spec is one command as the manifest declares it.
type spec struct {
	name    string
	words   []string
	line    int
	column  int
	program place // of the first element of exec
	folder  place // of cwd
	summary string
	exec    []template
	params  []*param // in the order of the file
	rest    rest
	effect  Effect
	confirm Confirm
	timeout time.Duration
	grace   time.Duration
	tty     bool
	cwd     string            // slash-separated, inside the root; "" for the root
	env     map[string]string // variables to set
	success []int
	// problems is how its program prints where a problem is; nil for what is usual.
	problems []problem.Format
	entry    *yaml.Node // all that the manifest says of it
	origin   *Origin    // nil for one that the project's own manifest declares
}

// A place is a line and a column of the file.
type place struct{ line, column int }

// positionals returns the positional parameters in order.
func (s *spec) positionals() []*param {
	var list []*param
	for _, p := range s.params {
		if p.position > 0 {
			list = append(list, p)
		}
	}
	slices.SortFunc(list, func(a, b *param) int { return a.position - b.position })
	return list
}

// param finds a parameter by name.
func (s *spec) param(name string) *param {
	for _, p := range s.params {
		if p.name == name {
			return p
		}
	}
	return nil
}

// envParam finds the parameter that names the environment: the one called env,
// or with the flag --env.
func (s *spec) envParam() *param {
	for _, p := range s.params {
		if p.namesEnvironment() {
			return p
		}
	}
	return nil
}

func (p *param) namesEnvironment() bool {
	return p.name == envName || p.flag == "--"+envName
}

// A paramType is the type of a parameter's values.
type paramType string

const (
	typeString   paramType = "string"
	typeInt      paramType = "int"
	typeBool     paramType = "bool"
	typePath     paramType = "path"
	typeDuration paramType = "duration"
	typeWord     paramType = "word"
)

// A param is one declared parameter of a command.
type param struct {
	index       int // in spec.params
	name        string
	line        int // where it is declared
	column      int
	description string
	position    int    // from 1; 0 for a flag
	flag        string // "--target"
	short       string // "-t" or ""
	kind        paramType
	required    bool
	repeat      bool
	dash        bool
	hasDefault  bool
	defaults    []string // one, or any number for a repeated parameter
	enum        []string
	source      string         // the pattern as written
	pattern     *regexp.Regexp // matches whole values only; nil for any
	as          []asPiece      // what a value becomes; nil for the value itself

	// environments, of the parameter that names the environment, are those that
	// the manifest declares.
	environments []string
}

// free says that nothing narrows the parameter's values.
func (p *param) free() bool {
	return p.kind == typeString && p.pattern == nil && p.enum == nil
}

// label is how messages call the parameter: by its flag, or its name.
func (p *param) label() string {
	if p.flag != "" {
		return p.flag
	}
	return p.name
}

// rest is what a command takes beyond its parameters.
type rest struct {
	any     bool
	source  string
	pattern *regexp.Regexp
}

// none says that the command takes nothing more.
func (r rest) none() bool { return !r.any && r.pattern == nil }

// allows says whether the argument may be appended.
func (r rest) allows(arg string) bool {
	if r.pattern != nil {
		return r.pattern.MatchString(arg)
	}
	return r.any
}

// wholePattern compiles an RE2 pattern that has to match all of a value. The
// pattern is compiled alone first, so that an unbalanced one cannot reach out of
// the group it is put in.
func wholePattern(source string) (*regexp.Regexp, error) {
	if _, err := regexp.Compile(source); err != nil {
		return nil, err
	}
	return regexp.Compile(`\A(?:` + source + `)\z`)
}

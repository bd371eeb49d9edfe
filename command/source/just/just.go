// Package just reads what a justfile offers, from the dump that just itself makes
// of it: `just --dump --dump-format json` runs nothing of the project.
//
// [Parse] takes the dump and gives a source.Listing.
package just

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/chant-acp/chant-acp/command/source"
)

// Files are the names that just looks for. It does not mind their case.
var Files = []string{"justfile", ".justfile"}

// DumpArgs are the arguments with which just prints what [Parse] reads.
var DumpArgs = []string{"--dump", "--dump-format", "json"}

// A module is a justfile, or a module of one.
type module struct {
	Recipes  map[string]*recipe `json:"recipes"`
	Modules  map[string]*module `json:"modules"`
	Settings settings           `json:"settings"`

	Assignments map[string]assignment `json:"assignments"`
}

// The types below are those of the dump, as far as they are read (just --dump
// --dump-format json).
type assignment struct {
	Value json.RawMessage `json:"value"`
}

type settings struct {
	Export        bool   `json:"export"`
	Positional    bool   `json:"positional_arguments"`
	DefaultScript bool   `json:"default_script"`
	Shell         *shell `json:"shell"`
}

type shell struct {
	Command   string   `json:"command"`
	Arguments []string `json:"arguments"`
}

type recipe struct {
	Name         string              `json:"name"`
	Namepath     string              `json:"namepath"`
	Doc          string              `json:"doc"`
	Private      bool                `json:"private"`
	Shebang      bool                `json:"shebang"`
	Attributes   []json.RawMessage   `json:"attributes"`
	Body         [][]json.RawMessage `json:"body"`
	Dependencies []dependency        `json:"dependencies"`
	Parameters   []parameter         `json:"parameters"`

	in *module
}

type dependency struct {
	Recipe    string            `json:"recipe"`
	Arguments []json.RawMessage `json:"arguments"`
}

type parameter struct {
	Name     string          `json:"name"`
	Kind     string          `json:"kind"` // singular, plus or star
	Default  json.RawMessage `json:"default"`
	Export   bool            `json:"export"`
	Help     string          `json:"help"`
	Long     string          `json:"long"`
	Multiple bool            `json:"multiple"`
	Flag     bool            `json:"flag"`
	Value    json.RawMessage `json:"value"`
	Pattern  json.RawMessage `json:"pattern"`
}

func (p *parameter) optional() bool {
	return p.Kind == "star" || len(p.Default) > 0 && string(p.Default) != "null" || p.given()
}

// given says that the parameter is an option with a fixed value.
func (p *parameter) given() bool { return p.Flag || len(p.Value) > 0 && string(p.Value) != "null" }

// Parse reads a dump, which holds what the file imports, and its modules. file is
// the justfile's name below the project root.
func Parse(dump []byte, file string) (*source.Listing, error) {
	var root module
	if err := json.Unmarshal(dump, &root); err != nil {
		return nil, fmt.Errorf("what just prints of %s can't be read: %w", file, err)
	}
	l := &source.Listing{Tool: "just", File: file}
	root.list(l)
	return l, nil
}

// list adds the recipes of a module and of those in it.
func (m *module) list(l *source.Listing) {
	maps.DeleteFunc(m.Recipes, func(_ string, r *recipe) bool { return r == nil })
	maps.DeleteFunc(m.Modules, func(_ string, m *module) bool { return m == nil })
	for _, r := range m.Recipes {
		r.in = m
	}
	for _, name := range slices.Sorted(maps.Keys(m.Recipes)) {
		if r := m.Recipes[name]; !r.Private {
			l.Tasks = append(l.Tasks, r.task())
		}
	}
	for _, name := range slices.Sorted(maps.Keys(m.Modules)) {
		m.Modules[name].list(l)
	}
}

// task is a recipe as a task.
func (r *recipe) task() source.Task {
	t := source.Task{Name: r.Namepath, Summary: source.Line(r.Doc), Argv: []string{"just", r.Namepath}, Body: r.text()}
	if t.Confirm = r.has("confirm"); t.Confirm {
		t.Argv = []string{"just", "--yes", r.Namepath} // its own question is asked here
	}
	classes := classify(r, nil)
	for i, p := range r.Parameters {
		class := classes[p.Name]
		param := source.Param{
			Name: p.Name, Help: source.Line(p.Help), Required: !p.optional(),
			Repeat: p.Kind != "singular" || p.Multiple, Word: class.word,
		}
		narrow(&param, p.Pattern)
		if p.Long != "" {
			param.Flag, param.As = "--"+p.Long, []string{"--" + p.Long + "={}"}
			if p.given() {
				param.Switch, param.Word, param.As = true, false, []string{"--" + p.Long}
			}
		}
		unsafe := class.unsafe != "" && param.Enum == nil && !param.Switch
		switch {
		case unsafe && param.Required:
			t.Left = fmt.Sprintf("its parameter %s takes any text, and %s", p.Name, class.unsafe)
			return t
		case unsafe && p.Long != "":
			t.Lost = append(t.Lost, p.Name+": "+class.unsafe)
		case unsafe:
			for _, later := range r.Parameters[i:] { // values are given in order
				if later.Long == "" {
					t.Lost = append(t.Lost, later.Name+": "+class.unsafe)
				}
			}
			return t
		default:
			t.Params = append(t.Params, param)
		}
	}
	return t
}

// has says whether a recipe has an attribute, with a value or without.
func (r *recipe) has(name string) bool {
	_, found := r.attribute(name)
	return found
}

func (r *recipe) attribute(name string) (value json.RawMessage, found bool) {
	for _, raw := range r.Attributes {
		var bare string
		if json.Unmarshal(raw, &bare) == nil {
			if bare == name {
				return nil, true
			}
			continue
		}
		var pair map[string]json.RawMessage
		if json.Unmarshal(raw, &pair) == nil {
			if value, found := pair[name]; found {
				return value, true
			}
		}
	}
	return nil, false
}

// narrow takes over the author's own pattern. Where it lists words, they are an
// enum.
func narrow(p *source.Param, pattern json.RawMessage) {
	var sources []string
	if json.Unmarshal(pattern, &sources) != nil || len(sources) != 1 || sources[0] == "" {
		return
	}
	words := strings.Split(sources[0], "|")
	for _, w := range words {
		if !isPlain(w) {
			p.Pattern = sources[0]
			return
		}
	}
	p.Enum, p.Word = words, false
}

// isPlain says whether a word means itself, as a pattern and in a shell.
func isPlain(w string) bool {
	for i := 0; i < len(w); i++ {
		c := w[i]
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || i > 0 && c == '-') {
			return false
		}
	}
	return w != ""
}

// text is the body of a recipe as its file has it, but for the expressions in it,
// which stand as a dump has them.
func (r *recipe) text() string {
	var b strings.Builder
	for _, line := range r.Body {
		for _, fragment := range line {
			var text string
			if json.Unmarshal(fragment, &text) == nil {
				b.WriteString(text)
			} else {
				b.WriteString("{{" + string(fragment) + "}}")
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

package command

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"go.yaml.in/yaml/v4"
)

// An Offered is a command as a project offers it, whatever its arguments: what a
// person allows.
type Offered struct {
	Name    string // "plan"; "chant" for all verbs of the chant program
	Summary string
	Effect  Effect
	Runs    string   // exec with its parameters in braces
	Entry   string   // what the manifest says, as [Invocation.Entry] has it
	Argv    []string // the program and the fixed words after it
	Dir     string   // absolute

	From    string   // the file that declares it: "chant-acp.yaml", "justfile"
	Sources []string // files that it depends on, relative to the project root
	Body    string   // what a task runner's file has it do, for people; else ""
}

// chantOffer is the name of all verbs of the chant program, which one program
// carries out.
const chantOffer = "chant"

// Offered lists what the project offers: the commands of its manifest, then the
// chant program. Built-ins, which come with this program, are none of it.
func (r *Registry) Offered() []Offered {
	var list []Offered
	for _, e := range r.ordered {
		if e.spec != nil {
			list = append(list, r.offered(e.spec))
		}
	}
	if r.chant != "" {
		list = append(list, r.verbsOffered())
	}
	return list
}

// OfferedBy is the command of an invocation as the project offers it; false for a
// built-in.
func (r *Registry) OfferedBy(inv *Invocation) (Offered, bool) {
	switch {
	case inv.spec != nil:
		return r.offered(inv.spec), true
	case inv.Kind == KindVerb:
		return r.verbsOffered(), true
	}
	return Offered{}, false
}

func (r *Registry) offered(s *spec) Offered {
	o := Offered{Name: s.name, Summary: s.summary, Effect: s.effect, Runs: s.source(), Entry: entryText(s.entry), Dir: filepath.Join(r.root, filepath.FromSlash(s.cwd)), From: ManifestName}
	if s.origin != nil {
		o.From, o.Sources, o.Body = s.origin.File, s.origin.Files, s.origin.Bodies[s.name]
	}
	for _, t := range s.exec {
		if word, fixed := t.literal(); fixed {
			o.Argv = append(o.Argv, word)
		}
	}
	if strings.ContainsRune(o.Argv[0], '/') && !filepath.IsAbs(o.Argv[0]) {
		o.Argv[0] = filepath.Join(r.root, filepath.FromSlash(o.Argv[0]))
	}
	return o
}

func (r *Registry) verbsOffered() Offered {
	return Offered{Name: chantOffer, Summary: "The verbs of the chant program", Effect: Destroy, Runs: "chant …", Argv: []string{r.chant}, Dir: r.root}
}

// entryText is an entry as JSON with sorted keys.
func entryText(entry *yaml.Node) string {
	text, err := json.Marshal(plainValue(entry))
	if err != nil { // strings, lists and mappings of strings have JSON
		return ""
	}
	return string(text)
}

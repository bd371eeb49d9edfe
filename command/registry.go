package command

import (
	"slices"
	"strings"
	"sync"
)

// RegistryOptions say what a [Registry] is made of.
type RegistryOptions struct {
	Root     string    // the project root, absolute
	Manifest *Manifest // nil when there is none, or it is broken

	// Listed are the commands of task runners. Of several commands with one name the
	// manifest's counts, then the first.
	Listed   []*Manifest
	Chant    string    // absolute path of a chant program; "" for none
	Builtins []Builtin // nil for DefaultBuiltins

	// Lacking says what is not offered here that could be, and why, in sentences
	// without the last full stop; "" for nothing to say. It is asked when a person
	// should know. Nil: nothing is said.
	Lacking func() string
}

// ParseOptions are what a session adds to a line.
type ParseOptions struct {
	Environment string // the session's environment; "" for none
	// NoPerson says why the line comes from nobody who may decide, as a clause such
	// as "this turn came over MCP"; "" where a person may have typed it. chant's
	// verbs are then held to the project, and nothing that decides is suggested.
	NoPerson string
}

// A Registry is the allow-list: the built-in commands, then the manifest's, then
// chant's verbs. It is safe for concurrent use.
type Registry struct {
	root     string
	chant    string
	manifest *Manifest
	lacking  func() string
	own      map[string][]*entry // built-ins and project commands by first word, longest first
	ordered  []*entry            // the same, in order
	verbs    func() map[string][]*entry
	names    func() []candidate
}

// An entry is one command of the allow-list.
type entry struct {
	kind      Kind
	name      string
	words     []string
	signature string
	summary   string
	effect    Effect
	builtin   *Builtin
	spec      *spec
	verb      *verb
}

// NewRegistry builds the allow-list.
func NewRegistry(o RegistryOptions) *Registry {
	r := &Registry{root: o.Root, chant: o.Chant, manifest: o.Manifest, own: make(map[string][]*entry), lacking: o.Lacking}
	builtins := o.Builtins
	if builtins == nil {
		builtins = DefaultBuiltins()
	}
	for _, b := range builtins {
		r.add(&entry{kind: KindBuiltin, name: b.Name, words: strings.Fields(b.Name), signature: b.Signature, summary: b.Summary, effect: b.Effect, builtin: &b})
	}
	for _, m := range append([]*Manifest{o.Manifest}, o.Listed...) {
		if m == nil {
			continue
		}
		for _, s := range m.commands {
			if !slices.ContainsFunc(r.own[s.words[0]], func(e *entry) bool { return e.name == s.name }) {
				r.add(&entry{kind: KindProject, name: s.name, words: s.words, signature: s.signature(), summary: s.summary, effect: s.effect, spec: s})
			}
		}
	}
	for _, list := range r.own {
		longestFirst(list)
	}
	r.verbs = sync.OnceValue(r.loadVerbs)
	r.names = sync.OnceValue(r.loadNames)
	return r
}

// Lacking says what is not offered here that could be; "" for nothing to say.
func (r *Registry) Lacking() string {
	if r.lacking == nil {
		return ""
	}
	return r.lacking()
}

func (r *Registry) add(e *entry) {
	r.own[e.words[0]] = append(r.own[e.words[0]], e)
	r.ordered = append(r.ordered, e)
}

func longestFirst(list []*entry) {
	slices.SortStableFunc(list, func(a, b *entry) int { return len(b.words) - len(a.words) })
}

// loadVerbs indexes chant's verbs, which only a registry with a chant program
// has.
func (r *Registry) loadVerbs() map[string][]*entry {
	index := make(map[string][]*entry)
	if r.chant == "" {
		return index
	}
	for _, e := range verbEntries() {
		index[e.words[0]] = append(index[e.words[0]], e)
	}
	index["lc"] = index["lifecycle"]
	for _, list := range index {
		longestFirst(list)
	}
	return index
}

// all lists the allow-list in order: built-ins, project, chant.
func (r *Registry) all() []*entry {
	list := slices.Clone(r.ordered)
	if r.chant == "" {
		return list
	}
	for _, e := range verbEntries() {
		switch {
		case !r.hidden(e):
			list = append(list, e)
		case yields(e.words[0]):
			list = append(list, behindChant(e))
		}
	}
	return list
}

// behindChant is a verb under the name that reaches it past a built-in.
func behindChant(e *entry) *entry {
	named := *e
	named.name = "chant " + e.name
	named.words = append([]string{"chant"}, e.words...)
	named.signature = "chant " + e.signature
	return &named
}

// hidden says whether a verb can only be reached some other way than by its
// name: behind a built-in or a command of the project.
func (r *Registry) hidden(e *entry) bool {
	if reserved(e.words[0]) {
		return e.name != "run"
	}
	return slices.ContainsFunc(r.own[e.words[0]], func(o *entry) bool { return o.name == e.name })
}

// longest finds the entry with the longest name that the words begin with. The
// first words are known to match.
func longest(list []*entry, words []string) *entry {
	for _, e := range list {
		if len(e.words) <= len(words) && slices.Equal(e.words[1:], words[1:len(e.words)]) {
			return e
		}
	}
	return nil
}

// lookup selects the entry for the words of a line; chant says that the word
// chant led them.
func (r *Registry) lookup(words []string, chant bool) *entry {
	first := words[0]
	if r.chant != "" && (first == "run" && runsComponents(words) || chant && yields(first)) {
		if e := longest(r.verbs()[first], words); e != nil {
			return e
		}
	}
	best := longest(r.own[first], words)
	if r.chant != "" && !reserved(first) {
		if v := longest(r.verbs()[first], words); v != nil && (best == nil || len(v.words) > len(best.words)) {
			return v
		}
	}
	return best
}

// yields says whether a built-in gives way to chant's verb of the same name
// where the line begins with the word chant.
func yields(first string) bool {
	switch first {
	case "help", "explain", "ops", "history":
		return true
	}
	return false
}

// runsComponents says whether a line that begins with run has the flag that
// makes it chant's.
func runsComponents(words []string) bool {
	return slices.ContainsFunc(words[1:], func(w string) bool {
		return w == "--components" || strings.HasPrefix(w, "--components=")
	})
}

// strip takes a leading "/" off the first word and then a leading word chant.
func strip(words []string) (rest []string, chant bool) {
	if len(words) == 0 {
		return nil, false
	}
	if first, ok := strings.CutPrefix(words[0], "/"); ok && first != "" {
		words = append([]string{first}, words[1:]...)
	}
	if words[0] == "chant" {
		return words[1:], true
	}
	return words, false
}

// builtin checks the arguments of a built-in command.
func (r *Registry) builtin(e *entry, inv *Invocation, o ParseOptions) *Refusal {
	switch {
	case e.name == "run" && runsComponents(inv.Words): // lookup gives them to chant where there is one
		return &Refusal{Reason: "run --components is chant's, and " + noChant}
	case e.builtin.params != nil:
		return r.opLine(e, inv, o)
	}
	if reason := e.builtin.checkArgs(inv.Args); reason != "" {
		return e.refuse(reason)
	}
	return nil
}

// Parse selects the command that the words name and checks their arguments. Its
// errors are *[Refusal].
func (r *Registry) Parse(words []string, o ParseOptions) (*Invocation, error) {
	for _, w := range words {
		if _, what := illegal(w); what != "" {
			return nil, &Refusal{Reason: "the argument " + show(w) + " holds " + what + "; remove it"}
		}
	}
	typed := words
	words, chant := strip(words)
	if len(words) == 0 {
		return nil, &Refusal{Reason: "this names no command"}
	}
	e := r.lookup(words, chant)
	if e == nil && strings.Contains(words[0], "/") {
		words = typed // a path, and not a name behind a slash
	}
	if e == nil {
		return nil, r.unknown(words, o)
	}
	inv := &Invocation{
		Kind: e.kind, Name: e.name, Words: words, Args: words[len(e.words):],
		Effect: e.effect, Confirm: ConfirmNone, Dir: r.root,
		Timeout: DefaultTimeout, Grace: DefaultGrace, Success: []int{0},
	}
	var refusal *Refusal
	switch e.kind {
	case KindBuiltin:
		refusal = r.builtin(e, inv, o)
	case KindProject:
		refusal = r.project(e, inv, o)
	case KindVerb:
		if chant {
			inv.Words = append([]string{"chant"}, words...)
		}
		refusal = r.verb(e, inv, words, o)
	}
	if refusal != nil {
		if hasUnicodeSpace(words) {
			refusal.Reason += spaceHint
		}
		return nil, refusal
	}
	inv.Line = Quote(inv.Words)
	return inv, nil
}

// A Listed is a command of a manifest as programs read it.
type Listed struct {
	Name      string  `json:"name"`
	Signature string  `json:"signature"`
	Summary   string  `json:"summary"`
	Effect    Effect  `json:"effect"`
	Confirm   Confirm `json:"confirm"`
}

// List returns the commands of the manifest, in the order of the file.
func (r *Registry) List() []Listed {
	list := []Listed{}
	for _, e := range r.ordered {
		if e.kind == KindProject {
			list = append(list, Listed{e.name, e.signature, e.summary, e.effect, e.spec.confirm})
		}
	}
	return list
}

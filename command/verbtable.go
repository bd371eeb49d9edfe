package command

import (
	"strings"
	"sync"
)

// A verb is one verb of chant and what it reads. chant keeps one set of flags
// for all its verbs and ignores those that a verb has no use for; here each verb
// has its own.
type verb struct {
	positionals []verbPositional
	flags       []verbFlag
}

// verbPositional is an argument of a verb that has no name in the line.
type verbPositional struct {
	name     string
	required bool
	enum     []string
	path     bool // chant opens it, or writes below it
}

// verbFlag is a flag of a verb.
type verbFlag struct {
	name     string // without hyphens
	values   int    // how many words follow; 0 for a switch
	enum     []string
	repeat   bool
	required bool
	raises   bool // it makes a reading verb write
	session  bool // the session's environment is its default
	path     bool // chant opens its value, or writes there
}

// vouches says whether the value of a flag is recorded as the name of somebody who
// acted or approved.
func (f *verbFlag) vouches() bool { return f.name == "actor" || f.name == "approver" }

// A verbRow describes a verb in the notation of [parseVerb].
type verbRow struct {
	name, positionals, flags string
	effect                   Effect
	summary                  string
}

// verbEntries are the verbs of chant that come to an end by themselves. They are
// built when first asked for, since a process without a chant program has no use
// for them.
var verbEntries = sync.OnceValue(func() []*entry {
	var list []*entry
	for _, row := range verbRows() {
		v := parseVerb(row)
		list = append(list, &entry{
			kind: KindVerb, name: row.name, words: strings.Fields(row.name),
			signature: v.signature(row.name), summary: row.summary, effect: row.effect, verb: v,
		})
	}
	return list
})

// isVerb says whether chant has verbs that begin with the word.
func isVerb(first string) bool { return firstWords()[first] }

var firstWords = sync.OnceValue(func() map[string]bool {
	words := map[string]bool{"lc": true}
	for _, row := range verbRows() {
		first, _, _ := strings.Cut(row.name, " ")
		words[first] = true
	}
	return words
})

// verbRows is chant's registry of verbs (0.44), without serve, which never
// returns, init, which asks questions, and acp, which is us.
func verbRows() []verbRow {
	return []verbRow{
		{"build", "[path/]", "output=/ format=json|yaml lexicon= verbose env=@ fold no-fold sandbox param=* params-file=/ components generate=", Write, "Synthesize the artifacts of a project"},
		{"lint", "[path/]", "format=stylish|json|sarif fix! sandbox", Read, "Lint the source"},
		{"list", "[path/]", "format=text|json components sandbox", Read, "List the entities"},
		{"describe", "<component> [path/]", "format=text|json components sandbox", Read, "Show the effective config of one entity"},
		{"explain", "[path/]", "format=markdown|json|okf output=!/", Read, "Summarize a project"},
		{"search", "<query>", "show= explain live at= env=@ ambient src=/", Read, "Search the entities"},
		{"import", "[template/]", "output=/ force from= type= name= lexicon= owned verbatim kustomize=/", Write, "Turn a template or live resources into source"},
		{"audit", "[target/]", "json format=stylish|json|sarif|markdown|html tier=merge-worthy|all fail-on=merge-worthy|warning|none template=/ theme=/ output=!/", Read, "Audit CI configuration"},
		{"migrate", "<file/>", "from=github to=gitlab emit=yaml|ts strict validate use-composites output=/ report=/", Write, "Translate a CI workflow"},
		{"carve advise", "", "from=/ state=/ report=!/ json", Read, "Report what can be carved out of Terraform"},
		{"carve emit", "", "from=/ select= state=/ env= live-name= output=/ report=/", Write, "Adopt a Terraform resource into source"},
		{"carve bridge", "", "from=/ select= state=/ output=/ apply-rewrites", Write, "Patch the Terraform that stays"},
		{"carve apply", "", "from=/ select= env= stack= state=/ output=/ write write-source", Write, "Run the graduation of a resource"},
		{"init lexicon", "<name/> [path/]", "force", Write, "Scaffold a lexicon"},
		{"update", "[path/]", "", Write, "Bring the project's types up to date"},
		{"doctor", "[path/]", "", Read, "Check the project's health"},
		{"dev generate", "", "verbose", Write, "Regenerate a lexicon and validate it"},
		{"dev publish", "", "verbose force", Write, "Package a lexicon"},
		{"dev onboard", "<name/>", "verbose", Write, "Add a lexicon to CI and Docker"},
		{"dev check-lexicon", "[dir/]", "format=json", Read, "Check how complete a lexicon is"},
		{"dev surface-diff", "[dir/]", "force verbose run-examples pinned-digest=/ check update-snapshot bump format=json", Write, "Regenerate a lexicon and compare its surface"},
		{"dev pinned-upgrade", "[dir/]", "force! verbose format=json", Read, "Check a pinned upstream"},
		{"dev rolling-upgrade", "[dir/]", "force! verbose format=json", Read, "Check a rolling spec for drift"},
		{"run", "<name|all>", "components^ env=@ param=* params-file=/ seed-outputs=*/ dump-outputs=/ progress-json json sandbox no-release-record temporal", Write, "Run components"},
		{"graph", "[path/]", "format=ir|mermaid|dot|layout components stacks live at= env=@ overlay overlay-anchor=source|live namespace= lens= up down detail=0|1|2|3 node-sizes=/ layout-engine= projection= json src=/ sandbox param=* params-file=/", Read, "Draw the dependency graph"},
		{"vendor", "[pull|check] [name]", "", Write, "Pull or check vendored patterns"},
		{"lifecycle snapshot", "<env> [lexicon]", "src=/ deep ambient param=* params-file=/", Write, "Record the live state"},
		{"lifecycle show", "<env> [lexicon]", "", Read, "Show the latest snapshot"},
		{"lifecycle diff", "<env> [lexicon]", "live between=2 json src=/ sandbox update-baseline! namespace= param=* params-file=/", Read, "Compare source, snapshot and live state"},
		{"lifecycle rollback", "[env]", "to=^ dry-run", Write, "Open a rollback pull request"},
		{"lifecycle plan", "<env> [lexicon]", "owned json namespace= sandbox report=gitlab-mr! src=/ param=*", Read, "Plan the changes"},
		{"lifecycle affected", "", "base=^ head= include-dependents json src=/", Read, "List the stacks a change affects"},
		{"lifecycle log", "[env]", "", Read, "List the snapshots"},
		{"components status", "[env]", "live json compare-to= src=/ sandbox param=*", Read, "Compare what is built and what is deployed"},
		{"components release", "<env>", "component=^ digest=^ git-sha= run-id= actor= approver= json", Write, "Record a release"},
		{"emulator up", "", "lexicon= json", Write, "Start the local emulators"},
		{"emulator down", "", "lexicon= json", Write, "Stop the local emulators"},
		{"emulator status", "", "lexicon= json", Read, "Show the local emulators"},
	}
}

// parseVerb reads a row. Positionals stand in <> when required, else in []; the
// word [pull|check] is a choice unless it is required, where <name|all> is two
// ways to name a thing. A flag is a name; = makes it take a value, =a|b one of
// these, =2 two values; then * repeats, ^ requires, ! makes the verb write, and
// @ takes the session's environment as its default. A / at the end of either says
// that chant takes it for a path.
func parseVerb(row verbRow) *verb {
	v := &verb{}
	for _, w := range strings.Fields(row.positionals) {
		name, path := strings.CutSuffix(w[1:len(w)-1], "/")
		p := verbPositional{name: name, required: w[0] == '<', path: path}
		if !p.required && strings.Contains(p.name, "|") {
			p.enum = strings.Split(p.name, "|")
		}
		v.positionals = append(v.positionals, p)
	}
	for _, w := range strings.Fields(row.flags) {
		name := strings.TrimRight(w, "*^!@/")
		f := verbFlag{}
		for _, mark := range w[len(name):] {
			switch mark {
			case '*':
				f.repeat = true
			case '^':
				f.required = true
			case '!':
				f.raises = true
			case '@':
				f.session = true
			case '/':
				f.path = true
			}
		}
		var kind string
		var takes bool
		f.name, kind, takes = strings.Cut(name, "=")
		switch {
		case kind == "2":
			f.values = 2
		case takes:
			f.values = 1
			if kind != "" {
				f.enum = strings.Split(kind, "|")
			}
		}
		v.flags = append(v.flags, f)
	}
	return v
}

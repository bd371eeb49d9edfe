package command

import (
	"slices"
	"strings"
	"testing"
)

func TestVerbs(t *testing.T) {
	r := sample(t, chantProgram)
	tests := []struct {
		line, name string
		effect     Effect
	}{
		{"build", "build", Write},
		{"build src -o dist -f yaml -v --param a=b --param c=d=e --env=dev", "build", Write},
		{"lint", "lint", Read},
		{"lint --fix", "lint", Write},
		{"audit --format=sarif", "audit", Read},
		{"audit --output out.html", "audit", Write},
		{"chant lint src", "lint", Read},
		{"lifecycle diff dev --between a b --json", "lifecycle diff", Read},
		{"lc diff dev", "lifecycle diff", Read},
		{"lifecycle rollback --to v1", "lifecycle rollback", Write},
		{"lifecycle plan dev --report gitlab-mr", "lifecycle plan", Write},
		{"components release dev --component api --digest sha256:0", "components release", Write},
		{"emulator down", "emulator down", Write},
		{"vendor pull x", "vendor", Write},
		{"init lexicon mine", "init lexicon", Write},
		{"run api --components", "run", Write},
		{"run --components all --json", "run", Write},
		{"chant run --components all", "run", Write},
		{"chant explain src", "explain", Read},
		{"graph --detail 2", "graph", Read},
	}
	for _, tt := range tests {
		inv, err := parse(t, r, tt.line, ParseOptions{})
		if err != nil {
			t.Errorf("%s: %v", tt.line, err)
			continue
		}
		words, _ := Split(strings.TrimPrefix(tt.line, "chant "))
		if inv.Kind != KindVerb || inv.Name != tt.name || inv.Effect != tt.effect || inv.Confirm != ConfirmNone || inv.Dir != r.root {
			t.Errorf("%s: %+v", tt.line, inv)
		}
		if !slices.Equal(inv.Argv, append([]string{chantProgram}, words...)) {
			t.Errorf("%s runs %q", tt.line, inv.Argv)
		}
		if inv.Line != tt.line {
			t.Errorf("%s has the line %s; a leading chant decides and stays", tt.line, inv.Line)
		}
	}
}

func TestVerbsRefuse(t *testing.T) {
	r := sample(t, chantProgram)
	tests := []struct{ line, says string }{
		{"build --live", "there is no flag"},
		{"build --formt json", "did you mean --format"},
		{"build --format toml", "one of json, yaml"},
		{"build --format", "--format needs a value"},
		{"build --format --verbose", "looks like a flag"},
		{"build --format=", "empty"},
		{"build --verbose=true", "no value after ="},
		{"build -o=dist", "word of its own"},
		{"build -x", "there is no flag"},
		{"build --", "there is no flag"},
		{"build -", "there is no flag"},
		{"build a b", "too many"},
		{"build ''", "empty"},
		{"build -w", "never ends"},
		{"lint --watch", "never ends"},
		{"build --env dev --env dev", "twice"},
		{"lifecycle", "not a command by itself"},
		{"lifecycle dif", "lifecycle diff"},
		{"lifecycle diff", "<env> is missing"},
		{"lifecycle diff dev --between a", "two values"},
		{"lifecycle diff dev --between=a,b", "no value after ="},
		{"lifecycle rollback", "--to is missing"},
		{"lifecycle affected src --base main", "takes no arguments but flags"},
		{"components release dev --component x", "--digest is missing"},
		{"vendor push", "one of pull, check"},
		{"serve lsp", "never returns"},
		{"init", "asks questions"},
		{"init src", "`init lexicon <name>`"},
		{"acp", "talking to"},
		{"run --components", "<name|all> is missing"},
		{"run --components=api", "no value after ="},
		{"run list --components", "takes the word for something else"},
	}
	for _, tt := range tests {
		inv, err := parse(t, r, tt.line, ParseOptions{})
		if err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %+v\n%v\nwant a refusal with %q", tt.line, inv, err, tt.says)
		}
	}
}

func TestPrecedence(t *testing.T) {
	m := mustManifest(t, header+`
  build: {summary: Ours, exec: [make]}
  lifecycle: {summary: Ours, exec: [ours, "{what}"], params: {what: {position: 1}}}
  emulator up now: {summary: Ours, exec: [now]}
`)
	r := NewRegistry(RegistryOptions{Root: "/p", Manifest: m, Chant: chantProgram})
	for line, want := range map[string]Kind{
		"build": KindProject, "chant build": KindProject,
		"lifecycle": KindProject, "lifecycle foo": KindProject, "lifecycle diff dev": KindVerb,
		"emulator up": KindVerb, "emulator up now": KindProject,
		"explain build": KindBuiltin, "chant explain": KindVerb, "chant history": KindBuiltin,
	} {
		if inv := mustParse(t, r, line); inv.Kind != want {
			t.Errorf("%s is %s, want %s", line, inv.Kind, want)
		}
	}
}

// The verbs that never return or ask questions have no entry.
func TestVerbTable(t *testing.T) {
	for _, e := range verbEntries() {
		if slices.Contains([]string{"serve", "acp"}, e.words[0]) || e.name == "init" || e.verb.flag("watch") != nil {
			t.Errorf("%s must not be offered", e.name)
		}
		if e.effect != Read && e.effect != Write || e.summary == "" {
			t.Errorf("%s has effect %q, summary %q", e.name, e.effect, e.summary)
		}
		for _, f := range e.verb.flags {
			if !isLongFlag("--" + f.name) {
				t.Errorf("%s has a flag %q", e.name, f.name)
			}
		}
	}
}

func TestVerbsTakeNoOtherSpellingOfAnEnvironment(t *testing.T) {
	m := mustManifest(t, "version: 1\nenvironments: {dev: {}, prod: {protected: true}}\n")
	r := NewRegistry(RegistryOptions{Root: "/p", Manifest: m, Chant: chantProgram})
	for _, line := range []string{"lifecycle diff Prod", "build --env PROD"} {
		if inv, err := parse(t, r, line, ParseOptions{}); err == nil || !strings.Contains(err.Error(), "it is spelled prod") {
			t.Errorf("%s: %+v, %v", line, inv, err)
		}
	}
	if inv := mustParse(t, r, "lifecycle diff prod"); !inv.Protected {
		t.Error("lifecycle diff prod is not protected")
	}
}

package command

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func checkScreen(t *testing.T, text string, lines int) {
	t.Helper()
	all := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	if len(all) > lines {
		t.Errorf("%d lines, want at most %d:\n%s", len(all), lines, text)
	}
	for _, l := range all {
		if utf8.RuneCountInString(l) > 80 || strings.HasSuffix(l, " ") {
			t.Errorf("line too long, or ends in a blank: %q", l)
		}
	}
}

func TestHelp(t *testing.T) {
	text := sample(t, "").Help(nil, ParseOptions{})
	checkScreen(t, text, 24)
	var at []int
	for _, want := range []string{
		"READ", "plan <env> [--target …]", "Show what would change", "status", "WRITE", "db migrate", "(asks first)",
		"DESTROY", "db reset [env]", "Built in: help [command]", "confirm <code>", "Ops: run, run (list, status, log, verify, cancel, undo), approve, reject,", "dev, staging, prod (protected)", "`help <command>`",
	} {
		at = append(at, strings.Index(text, want))
	}
	if !slices.IsSorted(at) || at[0] != 0 {
		t.Errorf("something is missing or out of order, at %v:\n%s", at, text)
	}
	if strings.Contains(text, "chant:") {
		t.Errorf("verbs of chant without a chant program:\n%s", text)
	}
}

func TestHelpPrintsAllOfIt(t *testing.T) {
	var b strings.Builder
	b.WriteString(header)
	for i := range 10 {
		for j := range 15 {
			fmt.Fprintf(&b, "  group%d sub%d: {summary: Do it, exec: [x], effect: %s}\n", i, j, []Effect{Read, Write, Destroy}[j%3])
		}
	}
	r := NewRegistry(RegistryOptions{Root: "/p", Manifest: mustManifest(t, b.String()), Chant: chantProgram})
	text := r.Help(nil, ParseOptions{})
	checkScreen(t, text, 50)
	for _, e := range r.all() {
		if !strings.Contains(text, e.words[0]) || !strings.Contains(text, e.words[len(e.words)-1]) {
			t.Errorf("%s is missing:\n%s", e.name, text)
		}
	}
	checkScreen(t, r.Help([]string{"group3"}, ParseOptions{}), 20)
	if got := strings.Count(r.Help([]string{"group3"}, ParseOptions{}), "Do it"); got != 15 {
		t.Errorf("help group3 shows %d commands, want 15", got)
	}
}

func TestHelpTopic(t *testing.T) {
	r := sample(t, chantProgram)
	for topic, wants := range map[string][]string{
		"plan":           {"plan <env> [--target …]", "--target, -t", "Only this resource", "one of dev, staging, prod; required", "terraform -chdir=envs/{env}", "time limit", "30m"},
		"/plan":          {"Show what would change"},
		"db":             {"db migrate", "db reset [env]"},
		"go test":        {"[argument …]", "must match"},
		"pass":           {"any argument is taken"},
		"lifecycle":      {"lifecycle diff", "lifecycle log"},
		"lifecycle diff": {"--between", "effect      read"},
		"explain":        {"explain <command line>"},
		"chant explain":  {"explain [path]", "runs        chant explain"},
		"plan dev":       {"plan <env>"},
		"nothing":        {"there is no command"},
		"run":            {"run <op> [flags]", "--no-depends", "NAME=VALUE, a parameter of the run; may be repeated", "run status", "run <name|all> --components"},
		"run undo":       {"run undo <op> [--run …]", "once"},
		"run cancel":     {"run cancel [op] [--run …]", "without compensation"},
		"approve":        {"gate@digest", "--answer", "required"},
	} {
		words, _ := Split(topic)
		text := r.Help(words, ParseOptions{})
		for _, want := range wants {
			if !strings.Contains(text, want) {
				t.Errorf("help %s lacks %q:\n%s", topic, want, text)
			}
		}
	}
	if text := NewRegistry(RegistryOptions{Root: "/p"}).Help(nil, ParseOptions{}); !strings.Contains(text, "no chant-acp.yaml is in use here") || !strings.Contains(text, "Built in: help") {
		t.Errorf("an empty allow-list reads\n%s", text)
	}
}

func TestExplain(t *testing.T) {
	m := mustManifest(t, header+"  deploy: {summary: s, exec: [deploy, '{env}', 'a b'], env: {SECRET: hush}, effect: destroy, tty: true, timeout: 1h, params: {env: {position: 1, required: true}}}\n")
	r := NewRegistry(RegistryOptions{Root: "/p", Manifest: m})
	text, err := r.Explain([]string{"deploy", "prod"}, ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"deploy prod (project)", "deploy prod 'a b'", "/p", "CHANT_ENV, SECRET", "prod (protected)", "destroy", "retype", "1h, then 2s", "terminal", "CHANT_CONTEXT_* that were inherited"} {
		if !strings.Contains(text, want) {
			t.Errorf("lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "hush") {
		t.Errorf("shows the value of a variable:\n%s", text)
	}
	if _, err := r.Explain([]string{"deplo"}, ParseOptions{}); err == nil {
		t.Error("explains what is not a command")
	}
	if text, err := r.Explain([]string{"help"}, ParseOptions{}); err != nil || !strings.Contains(text, "no program") {
		t.Errorf("%q, %v", text, err)
	}
}

func TestAdvertised(t *testing.T) {
	r := sample(t, chantProgram)
	seen := make(map[string]Advertisement)
	for _, a := range r.Advertised(ParseOptions{}) {
		if _, twice := seen[a.Name]; twice || strings.ContainsAny(a.Name, " /") {
			t.Errorf("advertises %q twice, or not as one word", a.Name)
		}
		if !strings.HasPrefix(a.Description, a.Name) {
			t.Errorf("%s: the description %q does not begin with the signature", a.Name, a.Description)
		}
		seen[a.Name] = a
	}
	for _, want := range []Advertisement{
		{"plan", "plan <env> [--target …]: Show what would change", "<env> [--target …]"},
		{"status", "status: Show what runs", ""},
		{"go", "go test [argument …]: Run tests", "test [argument …]"},
		{"db", "db migrate|reset: Apply pending migrations, and more", "migrate|reset"},
		{"lifecycle", "lifecycle snapshot|show|diff|rollback|plan|affected|log: Record the live state, and more", "snapshot|show|diff|rollback|plan|affected|log"},
		{"chant", "chant explain [path] [flags]: Summarize a project", "explain [path] [flags]"},
		{"help", "help [command]: Show what can be run here, or one command in full", "[command]"},
	} {
		if seen[want.Name] != want {
			t.Errorf("advertises %+v, want %+v", seen[want.Name], want)
		}
	}
	for _, e := range r.all() {
		if _, ok := seen[e.words[0]]; !ok {
			t.Errorf("%s is in the allow-list and %s is not advertised", e.name, e.words[0])
		}
	}
	for _, a := range sample(t, "").Advertised(ParseOptions{}) {
		if isVerb(a.Name) && a.Name != "explain" && a.Name != "run" {
			t.Errorf("advertises the verb %s without a chant program", a.Name)
		}
	}
}

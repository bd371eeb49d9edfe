package command

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const chantProgram = "/opt/chant"

// sample is the manifest of testdata, bound to a root that exists.
func sample(t testing.TB, chant string) *Registry {
	t.Helper()
	m, err := ReadManifest("testdata/sample.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return NewRegistry(RegistryOptions{Root: t.TempDir(), Manifest: m, Chant: chant})
}

func parse(t testing.TB, r *Registry, line string, o ParseOptions) (*Invocation, error) {
	t.Helper()
	words, err := Split(line)
	if err != nil {
		t.Fatal(err)
	}
	return r.Parse(words, o)
}

func mustParse(t testing.TB, r *Registry, line string) *Invocation {
	t.Helper()
	inv, err := parse(t, r, line, ParseOptions{})
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return inv
}

func TestParseProject(t *testing.T) {
	r := sample(t, "")
	tests := []struct {
		line, name string
		argv       []string
	}{
		{"status", "status", []string{"status"}},
		{"/status", "status", []string{"status"}},
		{"chant status", "status", []string{"status"}},
		{"/chant status", "status", []string{"status"}},
		{"db migrate", "db migrate", []string{"go", "run", "./cmd/migrate", "up"}},
		{"/db migrate", "db migrate", []string{"go", "run", "./cmd/migrate", "up"}},
		{"plan dev", "plan", []string{"terraform", "-chdir=envs/dev", "plan", "-input=false"}},
		{"plan dev --target a.b --target=c", "plan", []string{"terraform", "-chdir=envs/dev", "plan", "-input=false", "-target=a.b", "-target=c"}},
		{`plan -t 'a["b"]' dev`, "plan", []string{"terraform", "-chdir=envs/dev", "plan", "-input=false", `-target=a["b"]`}},
		{"plan -t=a -- dev", "plan", []string{"terraform", "-chdir=envs/dev", "plan", "-input=false", "-target=a"}},
		{"go test ./... -v -run=Foo.*", "go test", []string{"go", "test", "./...", "-v", "-run=Foo.*"}},
		{"pass -- -x 'a b' $HOME", "pass", []string{"pass", "--", "-x", "a b", "$HOME"}},
		{"wrap me -- -x -- y", "wrap", []string{"wrap", "me", "-x", "--", "y"}},
		{"wrap -x me", "wrap", []string{"wrap", "me", "-x"}},
		{"copy a", "copy", []string{"cp", "--", "a"}},
		{"copy -- -a ./b/../c", "copy", []string{"cp", "--", "-a", "./b/../c"}},
		{"say hi 'a  b'", "say", []string{"echo", "hi", "a  b"}},
		{"say --loud hi", "say", []string{"echo", "-n", "-e", "hi"}},
		{"say --loud=false hi", "say", []string{"echo", "hi"}},
		{"wait 5", "wait", []string{"wait-for", "5", "--for=10s", "--strict=false", "{n}"}},
		{"wait --strict --for 1m -- -5", "wait", []string{"wait-for", "-5", "--for=1m", "--strict=true", "{n}"}},
		{"pair a", "pair", []string{"join", "az", "xa"}},
		{"pair '' b", "pair", []string{"join", "b", "x"}},
		{"label --text=-n", "label", []string{"label", "--label", "<-n>", "{}"}},
		{"label --text ''", "", nil},
	}
	for _, tt := range tests {
		inv, err := parse(t, r, tt.line, ParseOptions{})
		if tt.argv == nil {
			if err == nil {
				t.Errorf("%s runs %q", tt.line, inv.Argv)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.line, err)
			continue
		}
		if inv.Kind != KindProject || inv.Name != tt.name || !slices.Equal(inv.Argv, tt.argv) {
			t.Errorf("%s is %s %s %q, want project %s %q", tt.line, inv.Kind, inv.Name, inv.Argv, tt.name, tt.argv)
		}
		if strings.HasPrefix(inv.Line, "/") || strings.HasPrefix(inv.Line, "chant") {
			t.Errorf("%s has the line %s", tt.line, inv.Line)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	r := sample(t, "")
	tests := []struct{ line, says string }{
		{"", "names no command"},
		{"/", `no command "/"`},
		{"/usr/bin/make all", `no command "/usr/bin/make"`},
		{"chant", "names no command"},
		{"PLAN dev", "plan"},
		{"plna dev", "Did you mean:\n  plan"},
		{"stat", "Did you mean:\n  status"},
		{"migrate", "db migrate"},
		{"frobnicate", "`help` lists"},
		{"db", "not a command by itself"},
		{"db migrat", "Did you mean:\n  db migrate"},
		{"db xyzzy", "There are:\n  db migrate"},
		{"plan\u00a0dev", "non-breaking"},
		{"plan dev\u2003", "ordinary spaces"},
		{"plan", "env is missing: one of dev, staging, prod.\nUsage: plan <env> [--target …]"},
		{"plan qa", `env cannot be "qa": it must be one of dev, staging, prod`},
		{"plan dev extra", "one argument too many"},
		{"plan dev --target", "--target needs a value"},
		{"plan dev --target --target", "write --target=--target"},
		{"plan dev --target -- x", "needs a value"},
		{"plan dev --target 'a b'", "pattern"},
		{"plan dev --target \"a\n\"", "pattern"},
		{"plan dev --target ''", "pattern"},
		{"plan dev --tarqet a", "did you mean --target"},
		{"plan dev -x", `there is no flag "-x"`},
		{"plan dev --target=a --no", "its flags are --target"},
		{"status now", "takes no arguments"},
		{"status -x", "takes no arguments"},
		{"status --", "takes no arguments"},
		{"go test -exec=sh", "must match the pattern"},
		{"go test ''", "must match the pattern"},
		{"say -x", "cannot begin with a hyphen"},
		{"say -- -x", "could be taken for an option of echo"},
		{"say a -- -", "could be taken for an option"},
		{"say ''", "it is empty"},
		{"say hi --loud=yes", "true or false"},
		{"say hi --loud --loud", "stands twice"},
		{"wait -5", "put -- before it"},
		{"wait 1.5", "whole number"},
		{"wait +1", "whole number"},
		{"wait 99999999999999999999", "whole number"},
		{"wait 1 --for 10", "duration"},
		{"pair -- -a", "could be taken for an option"},
		{"pair -- '' -b", "could be taken for an option"},
		{"label", "--text is missing"},
		{"copy /etc/passwd", "leads out of the project"},
		{"copy a ../b", "leads out of the project"},
		{"copy .git/hooks/pre-commit", "it leads into .git, which no command is given"},
		{"copy a sub/../.GIT/config", "it leads into .GIT"},
		{"copy a sub/.git", "it leads into .git"},
		{"copy a .chant-acp/runs", "it leads into .chant-acp"},
		{"run", "op is missing"},
		{"run deploy again", `"again" is one argument too many`},
		{"run deploy --pram a=b", "there is no flag \"--pram\"; did you mean --param?"},
		{"run deploy --param a", "write --param NAME=VALUE"},
		{"run deploy --param =b", "write --param NAME=VALUE"},
		{"run deploy --param a=b --param a=c", `--param gives "a" twice`},
		{"run deploy --resume --restart", "remove one"},
		{"run deploy --env nope", "declares the environments dev, staging, prod"},
		{"run deploy --run", "--run needs a value"},
		{"run all --components", "run --components is chant's, and no chant program was found"},
		{"run list --follow", "there is no flag"},
		{"ops x", "one argument too many"},
		{"approve x", "gate is missing"},
		{"approve x y --answer {a", "it is not JSON"},
		{"reject x y --answer 1", "there is no flag"},
		{"signal", "key is missing"},
		{"signal paid yes", "it is not JSON"},
		{"run --components x", "no chant program was found"},
		{"lifecycle diff dev", "no chant program was found"},
		{"history x", "n must be a number"},
		{"history 0", "n must be a number"},
		{"history 1 2", "too many"},
		{"confirm", "missing"},
		{"explain", "missing"},
	}
	for _, tt := range tests {
		inv, err := parse(t, r, tt.line, ParseOptions{})
		var refusal *Refusal
		if !errors.As(err, &refusal) {
			t.Errorf("%q gives %+v, %v; want a *Refusal", tt.line, inv, err)
			continue
		}
		if !strings.Contains(err.Error(), tt.says) || !strings.Contains(err.Error(), "`help` lists") {
			t.Errorf("%q is refused with\n%v\nwant %q in it, and help", tt.line, err, tt.says)
		}
	}
}

func TestParseRefusesIllegalWords(t *testing.T) {
	r := sample(t, "")
	for _, w := range []string{"a\x00b", "a\xff", "a\x1b[0m"} {
		if inv, err := r.Parse([]string{"copy", w}, ParseOptions{}); err == nil {
			t.Errorf("%q runs %q", w, inv.Argv)
		}
	}
}

func TestParseBuiltins(t *testing.T) {
	r := sample(t, "")
	for line, name := range map[string]string{
		"help": "help", "/help plan": "help", "chant help": "help", "explain plan dev": "explain", "history": "history",
		"history 5": "history", "again": "again", "again 2": "again", "confirm abc": "confirm",
	} {
		inv := mustParse(t, r, line)
		if inv.Kind != KindBuiltin || inv.Name != name || inv.Argv != nil || inv.Effect != Read || inv.Confirm != ConfirmNone {
			t.Errorf("%s: %+v", line, inv)
		}
	}
	r = NewRegistry(RegistryOptions{Root: "/p", Builtins: []Builtin{
		{Name: "run", Signature: "run <op>", Summary: "Run an Op", Effect: Write, MinArgs: 1, MaxArgs: 1},
		{Name: "run list", Signature: "run list", Summary: "List the runs", Effect: Read},
	}})
	if inv := mustParse(t, r, "run list"); inv.Name != "run list" {
		t.Errorf("run list is %s; the longest name wins", inv.Name)
	}
	if inv := mustParse(t, r, "run lists"); inv.Name != "run" || !slices.Equal(inv.Args, []string{"lists"}) {
		t.Errorf("run lists: %+v", inv)
	}
	if _, err := parse(t, r, "help", ParseOptions{}); err == nil {
		t.Error("help is not offered here and was taken")
	}
}

func TestEnvironment(t *testing.T) {
	r := sample(t, chantProgram)
	tests := []struct {
		line, session string
		environment   string
		protected     bool
		argv          string // joined
		says          string // in the refusal or the notice
	}{
		{"plan dev", "", "dev", false, "terraform -chdir=envs/dev plan -input=false", ""},
		{"plan", "staging", "staging", false, "terraform -chdir=envs/staging plan -input=false", ""},
		{"plan dev", "staging", "dev", false, "terraform -chdir=envs/dev plan -input=false", ""},
		{"plan prod", "", "prod", true, "terraform -chdir=envs/prod plan -input=false", ""},
		{"plan prod", "dev", "prod", true, "terraform -chdir=envs/prod plan -input=false", ""},
		{"plan", "prod", "", false, "", "prod is protected, so it is never filled in: write prod in the line"},
		{"plan", "gone", "", false, "", "not declared"},
		{"db reset", "", "dev", false, "tools/reset --env=dev", ""},
		{"db reset", "staging", "staging", false, "tools/reset --env=staging", ""},
		{"db reset", "prod", "", false, "", "protected"},
		{"db reset prod", "prod", "prod", true, "tools/reset --env=prod", ""},
		{"status", "staging", "staging", false, "status", ""},
		{"status", "prod", "", false, "status", "CHANT_ENV is not set: prod is protected"},
		{"status", "", "", false, "status", ""},
		{"lifecycle diff staging", "", "staging", false, "chant lifecycle diff staging", ""},
		{"lifecycle diff", "staging", "staging", false, "chant lifecycle diff staging", ""},
		{"lifecycle diff prod k8s", "dev", "prod", true, "chant lifecycle diff prod k8s", ""},
		{"lifecycle diff", "prod", "", false, "", "write prod in the line"},
		{"lifecycle log", "prod", "", false, "chant lifecycle log", "CHANT_ENV is not set"},
		{"build", "staging", "staging", false, "chant build --env staging", ""},
		{"build --env prod", "staging", "prod", true, "chant build --env prod", ""},
		{"build", "prod", "", false, "chant build", "CHANT_ENV is not set"},
		{"lint", "staging", "staging", false, "chant lint", ""},
	}
	for _, tt := range tests {
		inv, err := parse(t, r, tt.line, ParseOptions{Environment: tt.session})
		if tt.argv == "" {
			if err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("%s in %s: %+v, %v; want a refusal with %q", tt.line, tt.session, inv, err, tt.says)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s in %s: %v", tt.line, tt.session, err)
			continue
		}
		argv := strings.ReplaceAll(strings.Join(inv.Argv, " "), r.root+"/", "")
		argv = strings.Replace(argv, chantProgram, "chant", 1)
		if inv.Environment != tt.environment || inv.Protected != tt.protected || argv != tt.argv || !strings.Contains(inv.Notice, tt.says) {
			t.Errorf("%s in %q: environment %q protected %v, %s, notice %q", tt.line, tt.session, inv.Environment, inv.Protected, argv, inv.Notice)
		}
		if slices.Contains(inv.Env, "CHANT_ENV="+tt.environment) != (tt.environment != "") {
			t.Errorf("%s in %q sets %q", tt.line, tt.session, inv.Env)
		}
	}
}

func TestEnvironmentByFlag(t *testing.T) {
	m := mustManifest(t, header+"  c: {summary: s, exec: [x, '{where}'], params: {where: {flag: --env, enum: [dev, prod]}}}\n")
	r := NewRegistry(RegistryOptions{Root: "/p", Manifest: m})
	inv, err := parse(t, r, "c", ParseOptions{Environment: "dev"})
	if err != nil || inv.Environment != "dev" || !slices.Equal(inv.Argv, []string{"x", "dev"}) {
		t.Errorf("%+v, %v; the session's environment is the default of a flag --env", inv, err)
	}
	if inv := mustParse(t, r, "c --env=prod"); !inv.Protected {
		t.Errorf("%+v", inv)
	}
	if _, err := parse(t, r, "c", ParseOptions{Environment: "prod"}); err == nil {
		t.Error("a protected environment is filled in")
	}
	// Without a manifest nobody knows what is protected.
	r = NewRegistry(RegistryOptions{Root: "/p", Chant: chantProgram})
	if _, err := parse(t, r, "build", ParseOptions{Environment: "dev"}); err == nil {
		t.Error("an environment that is not declared is used")
	}
}

func TestRegistryIsSharedSafely(t *testing.T) {
	r := sample(t, chantProgram)
	var group sync.WaitGroup
	for _, line := range []string{"plan dev", "lifecycle dif", "db xyz", "frob", "build", "chant explain"} {
		group.Go(func() {
			words := strings.Fields(line)
			for range 50 {
				_, _ = r.Parse(words, ParseOptions{})
				r.Help(words[:1], ParseOptions{})
				r.Advertised(ParseOptions{})
			}
		})
	}
	group.Wait()
	r.Help(nil, ParseOptions{})
}

func TestFixedEnvironment(t *testing.T) {
	m := mustManifest(t, header+"  deploy prod: {summary: s, exec: [x], env: {CHANT_ENV: prod}}\n  deploy: {summary: s, exec: [x], env: {CHANT_ENV: dev}}\n")
	r := NewRegistry(RegistryOptions{Root: "/p", Manifest: m})
	if inv := mustParse(t, r, "deploy prod"); inv.Environment != "prod" || !inv.Protected {
		t.Errorf("deploy prod: %+v", inv)
	}
	inv, err := parse(t, r, "deploy", ParseOptions{Environment: "staging"})
	if err != nil || inv.Environment != "dev" || !slices.Equal(inv.Env, []string{"CHANT_ENV=dev"}) {
		t.Errorf("deploy: %+v, %v; the manifest's own CHANT_ENV stays", inv, err)
	}
}

func TestPaths(t *testing.T) {
	r := sample(t, "")
	outside := t.TempDir()
	for _, dir := range []string{"a/b", "c"} {
		if err := os.MkdirAll(filepath.Join(r.root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	write(t, filepath.Join(r.root, "file"), "")
	for link, target := range map[string]string{
		"out": outside, "up": "..", "dangling": filepath.Join(outside, "new"), "deep": "a/b", "loop": "loop", "in": "deep/../../c", "a/away": "../../x",
	} {
		if err := os.Symlink(target, filepath.Join(r.root, link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]bool{
		".": true, "a": true, "a/b/..": true, "a/../c": true, "new/file": true, "./x": true, "deep": true, "deep/..": true, "in": true,
		r.root: true, r.root + "/a": true, "no/../no": true, "../" + filepath.Base(r.root) + "/a": true, "a//b/": true,
		"..": false, "../x": false, "a/../..": false, "out": false, "out/x": false, "up": false, "up/x": false, "dangling": false, "loop": false,
		"a/away": false, "/": false, "/etc": false, r.root + "x": false, "no/../../x": false, "file/x": false, "deep/../../..": false,
	} {
		_, err := parse(t, r, "copy "+Quote([]string{path}), ParseOptions{})
		if (err == nil) != want {
			t.Errorf("%s: %v, want allowed %v", path, err, want)
		}
	}
}

// A path is followed from the folder in which the program follows it.
func TestPathsFromFolder(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	m := mustManifest(t, header+"  cat: {summary: s, exec: [cat, '{f}'], cwd: sub, params: {f: {position: 1, type: path}}}\n  gone: {summary: s, exec: [x], cwd: nowhere}\n  away: {summary: s, exec: [x], cwd: link}\n")
	if err := os.Symlink(t.TempDir(), filepath.Join(root, "link")); err != nil {
		t.Fatal(err)
	}
	r := NewRegistry(RegistryOptions{Root: root, Manifest: m})
	mustParse(t, r, "cat ../x")
	for line, says := range map[string]string{"cat ../../x": "leads out", "gone": "does not exist", "away": "leads out"} {
		if _, err := parse(t, r, line, ParseOptions{}); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%s: %v, want %q", line, err, says)
		}
	}
}

// The entry of a command is what the manifest says of it, however it is written and
// whatever stands around it.
func TestEntry(t *testing.T) {
	of := func(manifest, line string) string {
		t.Helper()
		m, err := ParseManifest(ManifestName, []byte(manifest))
		if err != nil {
			t.Fatal(err)
		}
		return mustParse(t, NewRegistry(RegistryOptions{Root: t.TempDir(), Manifest: m}), line).Entry()
	}
	const one = "version: 1\ncommands:\n  say: {summary: s, exec: [echo, '1'], rest: any}\n"
	base := of(one, "say a")
	for name, same := range map[string]string{
		"another line":      of(one, "say b"),
		"written otherwise": of("# c\nversion: 1\ncommands:\n  say:\n    rest: any\n    exec: [\"echo\", \"1\"]\n    summary: s # now\n", "say a"),
		"another command":   of(one+"  other: {summary: o, exec: [ls]}\n", "say a"),
	} {
		if same != base {
			t.Errorf("%s: the entry is %s, want %s", name, same, base)
		}
	}
	for name, other := range map[string]string{
		"an argument":  "version: 1\ncommands:\n  say: {summary: s, exec: [echo, '2'], rest: any}\n",
		"two for one":  "version: 1\ncommands:\n  say: {summary: s, exec: [echo, '1', ''], rest: any}\n",
		"its limit":    "version: 1\ncommands:\n  say: {summary: s, exec: [echo, '1'], rest: any, timeout: 1m}\n",
		"its success":  "version: 1\ncommands:\n  say: {summary: s, exec: [echo, '1'], rest: any, success: [0, 1]}\n",
		"a variable":   "version: 1\ncommands:\n  say: {summary: s, exec: [echo, '1'], rest: any, env: {A: b}}\n",
		"its terminal": "version: 1\ncommands:\n  say: {summary: s, exec: [echo, '1'], rest: any, tty: true}\n",
	} {
		if of(other, "say a") == base {
			t.Errorf("%s is not in the entry %s", name, base)
		}
	}
	if help := mustParse(t, sample(t, ""), "help"); help.Entry() != "" {
		t.Errorf("a built-in has the entry %q", help.Entry())
	}
}

func TestWordParameter(t *testing.T) {
	m := mustManifest(t, header+"  build: {summary: s, exec: [just, build, '{target}'], params: {target: {position: 1, type: word, pattern: '[a-z;]+'}}}\n")
	r := NewRegistry(RegistryOptions{Root: t.TempDir(), Manifest: m})
	mustParse(t, r, "build all")
	for _, line := range []string{"build 'a;b'", "build A", "build ''"} {
		if inv, err := parse(t, r, line, ParseOptions{}); err == nil {
			t.Errorf("%s runs %q", line, inv.Argv)
		}
	}
}

func TestDeclaredEnvironmentsAreAllThereAre(t *testing.T) {
	m := mustManifest(t, `version: 1
environments: {dev: {}, prod: {protected: true}}
commands:
  free: {summary: s, exec: [x, "{env}"], params: {env: {position: 1}}}
  listed: {summary: s, exec: [x, "{env}"], params: {env: {position: 1, enum: [dev, prod]}}}
  pattern: {summary: s, exec: [x, "{env}"], params: {env: {position: 1, pattern: "[A-Za-z0-9-]+"}}}
  flag: {summary: s, exec: [x, "{target}"], params: {target: {flag: --env}}}
  other: {summary: s, exec: [x, "{name}"], params: {name: {position: 1}}}
`)
	r := NewRegistry(RegistryOptions{Root: t.TempDir(), Manifest: m})
	for _, tt := range []struct{ line, says string }{
		{"free dev", ""},
		{"free Prod", `env cannot be "Prod": it must be one of dev, prod; did you mean prod?`},
		{"free qa", `env cannot be "qa": it must be one of dev, prod`},
		{"listed PROD", "did you mean prod?"},
		{"listed prd", "did you mean prod?"},
		{"pattern pr-17", ""},
		{"pattern Prod", `env cannot be "Prod": the environment is spelled prod`},
		{"flag --env Prod", "did you mean prod?"},
		{"other Prod", ""},
	} {
		_, err := parse(t, r, tt.line, ParseOptions{})
		if tt.says == "" && err != nil || tt.says != "" && (err == nil || !strings.Contains(err.Error(), tt.says)) {
			t.Errorf("%s: %v, want %q", tt.line, err, tt.says)
		}
	}
	inv := mustParse(t, r, "free prod")
	if !inv.Protected || inv.Environment != "prod" {
		t.Errorf("free prod: %+v", inv)
	}
}

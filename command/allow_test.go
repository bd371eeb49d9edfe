package command

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// allowed says, for each command of testdata/sample.yaml, which argvs its
// manifest allows: the elements joined by NUL, which no word can hold. It is
// written by hand from the manifest and shares nothing with the code.
var allowed = map[string]*regexp.Regexp{
	"plan":       regexp.MustCompile(`\Aterraform\x00-chdir=envs/(dev|staging|prod)\x00plan\x00-input=false(\x00-target=[a-z0-9_.\[\]"]+)*\z`),
	"db migrate": regexp.MustCompile(`\Ago\x00run\x00\./cmd/migrate\x00up\z`),
	"db reset":   regexp.MustCompile(`\AROOT/tools/reset\x00--env=(dev|staging|prod)\z`),
	"go test":    regexp.MustCompile(`\Ago\x00test(\x00((\./)?[A-Za-z0-9_./-]*[A-Za-z0-9_./]|-(v|race|short|run=[^\x00\n]+|count=[0-9]+)))*\z`),
	"pass":       regexp.MustCompile(`\Apass(\x00[^\x00]*)*\z`),
	"wrap":       regexp.MustCompile(`\Awrap\x00[^\x00-][^\x00]*(\x00[^\x00]*)*\z`),
	"copy":       regexp.MustCompile(`\Acp\x00--\x00[^\x00]+(\x00[^\x00]+)?\z`),
	"say":        regexp.MustCompile(`\Aecho(\x00-n\x00-e)?(\x00[^\x00-][^\x00]*)+\z`),
	"wait":       regexp.MustCompile(`\Await-for\x00-?[0-9]+\x00--for=[-+.0-9a-zµμ]+\x00--strict=(true|false)\x00\{n\}\z`),
	"pair":       regexp.MustCompile(`\Ajoin\x00([a-z][a-z-]*)?\x00x[a-z-]*\z`),
	"label":      regexp.MustCompile(`\Alabel\x00--label\x00<[^\x00]+>\x00\{\}\z`),
	"status":     regexp.MustCompile(`\Astatus\z`),
}

// decoration is what a command's manifest puts around a value in one element.
var decoration = regexp.MustCompile(`\A(-chdir=envs/|-target=|--env=|--for=|--strict=|x|<)?((?s:.*?))(>)?\z`)

// FuzzAllowList holds that no line makes an argv that the manifest does not
// allow, whatever the session's environment is.
func FuzzAllowList(f *testing.F) {
	for _, line := range []string{
		"plan dev", "plan prod --target a.b -t c", "db reset", "db reset -- prod", "/go test ./... -run=x", "pass -- a 'b c'", "wrap -x me -- -y",
		"copy a ../b", "copy -- -a", "say --loud a 'b  c'", "wait -- -5", "wait 5 --for=1h --strict", "pair '' b", "pair a -- -b", "label --text '{text}'",
		"chant build --env prod", "lifecycle diff prod k8s", "lc plan dev", "run --components all", "build --param a=b -o dist", "chant explain x",
		"plan {env}", "say '{words}' '{{n}}'", "copy '' ''", "copy /etc/passwd", "go test '-exec=x'", "pass \"a\nb\"", "chant chant status", "//status",
		"say -- -x", "say a -- -", "wrap -- -x", "pair -- '' -b", "copy out/x", "wait 5 --for=-1s", "build --format --json", "build --", "lint -w", "run list --components", "run hello --env dev --param a=b", "run hello --run r1", "approve a b@0a1b --answer 1", "signal k {}",
	} {
		for environment := range byte(4) {
			f.Add(line, environment)
		}
	}
	root := f.TempDir()
	if err := os.Symlink(f.TempDir(), filepath.Join(root, "out")); err != nil {
		f.Fatal(err)
	}
	m, err := ReadManifest("testdata/sample.yaml")
	if err != nil {
		f.Fatal(err)
	}
	r := NewRegistry(RegistryOptions{Root: root, Manifest: m, Chant: chantProgram})
	f.Fuzz(func(t *testing.T, line string, environment byte) {
		words, err := Split(line)
		if err != nil {
			return
		}
		o := ParseOptions{Environment: []string{"", "dev", "prod", "gone"}[environment%4]}
		before := slices.Clone(words)
		inv, err := r.Parse(words, o)
		if !slices.Equal(words, before) {
			t.Fatalf("Parse changed its words to %q", words)
		}
		if err != nil {
			var refusal *Refusal
			if !errors.As(err, &refusal) || inv != nil || refusal.Reason == "" {
				t.Fatalf("%q: %+v, %v", line, inv, err)
			}
			return
		}
		switch inv.Kind {
		case KindBuiltin:
			if inv.Argv != nil {
				t.Fatalf("the built-in %s runs %q", inv.Name, inv.Argv)
			}
		case KindProject:
			checkProject(t, r.root, inv, words, o)
		case KindVerb:
			checkVerb(t, inv, words, o)
		default:
			t.Fatalf("kind %v", inv.Kind)
		}
		checkEnvironment(t, inv, words)
		checkAgain(t, r, inv, o)
	})
}

func checkProject(t *testing.T, root string, inv *Invocation, words []string, o ParseOptions) {
	joined := strings.Replace(strings.Join(inv.Argv, "\x00"), root, "ROOT", 1)
	if inv.Name == "copy" {
		joined = strings.Join(inv.Argv, "\x00")
		for _, p := range inv.Argv[2:] {
			if !filepath.IsAbs(p) {
				p = filepath.Join(root, p)
			}
			if rel, err := filepath.Rel(root, p); err != nil || rel == ".." || strings.HasPrefix(rel, "../") || rel == "out" || strings.HasPrefix(rel, "out/") {
				t.Fatalf("copy takes %q, outside the project", p)
			}
		}
	}
	if re := allowed[inv.Name]; re == nil || !re.MatchString(joined) {
		t.Fatalf("%q runs %q, which the manifest does not allow", words, inv.Argv)
	}
	// Every element is the manifest's own text or holds one word of the line,
	// whole or behind its flag.
	for _, e := range inv.Argv {
		value := decoration.FindStringSubmatch(e)[2]
		if literal(e) || value == "" || value == o.Environment || inv.Name == "pair" || slices.ContainsFunc(words, func(w string) bool {
			return w == e || w == value || strings.HasSuffix(w, "="+value)
		}) {
			continue
		}
		t.Fatalf("%q runs %q, whose element %q is from nowhere", words, inv.Argv, e)
	}
	if inv.Dir != root {
		t.Fatalf("runs in %s", inv.Dir)
	}
}

// literal says whether an element can be the manifest's own text, defaults
// included.
func literal(e string) bool {
	return strings.HasSuffix(e, "/tools/reset") || slices.Contains(strings.Fields(
		"terraform plan -input=false go run ./cmd/migrate up --env=dev test pass wrap cp -- echo -n -e wait-for --for=10s --strict=false --strict=true {n} join label --label {} status"), e)
}

func checkVerb(t *testing.T, inv *Invocation, words []string, o ParseOptions) {
	if inv.Argv[0] != chantProgram {
		t.Fatalf("%q runs %q", words, inv.Argv)
	}
	typed := slices.Clone(words)
	typed[0] = strings.TrimPrefix(typed[0], "/")
	if typed[0] == "chant" {
		typed = typed[1:]
	}
	argv := inv.Argv[1:]
	if len(argv) < len(typed) || !slices.Equal(argv[:len(typed)], typed) {
		t.Fatalf("%q runs %q", words, inv.Argv)
	}
	extra := argv[len(typed):]
	if len(extra) > 0 && !slices.Equal(extra, []string{o.Environment}) && !slices.Equal(extra, []string{"--env", o.Environment}) {
		t.Fatalf("%q runs %q, with %q from nowhere", words, inv.Argv, extra)
	}
	if slices.Contains([]string{"serve", "acp", "help"}, argv[0]) || argv[0] == "init" && argv[1] != "lexicon" {
		t.Fatalf("%q runs the verb %q", words, argv[0])
	}
	hyphen := regexp.MustCompile(`\A(-[ofdtv]|--[a-z][a-z-]+(=[^-](?s:.*))?)\z`)
	for _, e := range argv {
		if e == "" || e == "-w" || strings.HasPrefix(e, "--watch") || e[0] == '-' && !hyphen.MatchString(e) {
			t.Fatalf("%q runs %q", words, inv.Argv)
		}
	}
}

// checkEnvironment holds that a protected environment stands in the line.
func checkEnvironment(t *testing.T, inv *Invocation, words []string) {
	named := slices.ContainsFunc(words, func(w string) bool { return w == "prod" || strings.HasSuffix(w, "=prod") })
	sets := slices.Contains(inv.Env, "CHANT_ENV=prod")
	if sets != inv.Protected || sets != (inv.Environment == "prod") || sets && !named {
		t.Fatalf("%q: environment %q, protected %v, variables %q", words, inv.Environment, inv.Protected, inv.Env)
	}
	for _, e := range inv.Argv {
		if strings.HasSuffix(e, "prod") && !slices.ContainsFunc(words, func(w string) bool { return strings.HasSuffix(w, "prod") }) {
			t.Fatalf("%q runs %q", words, inv.Argv)
		}
	}
}

// checkAgain holds that the normal form of a line is the same command.
func checkAgain(t *testing.T, r *Registry, inv *Invocation, o ParseOptions) {
	if len(inv.Line) > MaxLine {
		return
	}
	words, err := Split(inv.Line)
	if err != nil {
		t.Fatalf("the line %q: %v", inv.Line, err)
	}
	again, err := r.Parse(words, o)
	if err != nil || !slices.Equal(again.Argv, inv.Argv) || !slices.Equal(again.Env, inv.Env) || again.Dir != inv.Dir || again.Kind != inv.Kind || again.Name != inv.Name || again.Line != inv.Line {
		t.Fatalf("the line %q is another command: %+v, %v; was %+v", inv.Line, again, err, inv)
	}
}

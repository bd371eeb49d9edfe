package command

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/internal/strictyaml"
)

// header begins a manifest whose commands follow in the test.
const header = "version: 1\nenvironments: {dev: {}, staging: , prod: {protected: true}}\ncommands:\n"

func mustManifest(t testing.TB, text string) *Manifest {
	t.Helper()
	m, err := ParseManifest(ManifestName, []byte(text))
	if err != nil {
		t.Fatalf("the manifest is refused:\n%v", err)
	}
	return m
}

func TestManifestDefaults(t *testing.T) {
	text := "\ufeff" + header + "  db  migrate: {summary: Migrate, exec: [migrate, 1.10, true]}\n"
	m := mustManifest(t, text)
	want := []Environment{{"dev", false}, {"staging", false}, {"prod", true}}
	if got := m.Environments(); !slices.Equal(got, want) {
		t.Errorf("environments %v, want %v", got, want)
	}
	sum := sha256.Sum256([]byte(text))
	if got := m.Digest(); got != hex.EncodeToString(sum[:]) {
		t.Errorf("digest %s, want that of the bytes", got)
	}
	inv := mustParse(t, NewRegistry(RegistryOptions{Root: "/p", Manifest: m}), "db migrate")
	if inv.Effect != Write || inv.Confirm != ConfirmNone || inv.Timeout != 30*time.Minute || inv.Grace != 2*time.Second ||
		inv.TTY || !slices.Equal(inv.Success, []int{0}) || inv.Dir != "/p" || inv.Env != nil {
		t.Errorf("defaults are wrong: %+v", inv)
	}
	if !slices.Equal(inv.Argv, []string{"migrate", "1.10", "true"}) {
		t.Errorf("argv %q; scalars must stay as they are written", inv.Argv)
	}
}

func TestManifestKeys(t *testing.T) {
	root := t.TempDir()
	if err := os.Mkdir(filepath.Join(root, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	m := mustManifest(t, header+`
  wipe:
    summary: Wipe
    exec: [tools/wipe]
    effect: destroy
    timeout: 90s
    grace: 5m
    tty: true
    cwd: ./sub
    env: {B: 2, A: x y}
    success: [0, 3]
  ask: {summary: Ask, exec: [x], confirm: ask, grace: 0s}
`)
	r := NewRegistry(RegistryOptions{Root: root, Manifest: m})
	inv := mustParse(t, r, "wipe")
	if inv.Effect != Destroy || inv.Confirm != ConfirmRetype || inv.Timeout != 90*time.Second || inv.Grace != 5*time.Minute || !inv.TTY {
		t.Errorf("wipe: %+v", inv)
	}
	if inv.Dir != filepath.Join(root, "sub") || inv.Argv[0] != filepath.Join(root, "tools/wipe") {
		t.Errorf("runs %q in %s; cwd is below the root, a program with a slash is taken from the root", inv.Argv, inv.Dir)
	}
	if !slices.Equal(inv.Env, []string{"A=x y", "B=2"}) || !slices.Equal(inv.Success, []int{0, 3}) {
		t.Errorf("env %q, success %v", inv.Env, inv.Success)
	}
	if inv := mustParse(t, r, "ask"); inv.Confirm != ConfirmAsk || inv.Grace != 0 {
		t.Errorf("ask: %+v", inv)
	}
}

// Each manifest is wrong at the mark, and the message holds the text.
// badManifest is a manifest with a mistake at §, which is no part of it.
type badManifest struct{ name, text, says string }

func badManifests() []badManifest {
	command := func(keys string) string { return header + "  c: {summary: s, " + keys + "}\n" }
	params := func(list string) string {
		return header + "  c:\n    summary: s\n    exec: [x, '{a}']\n    params:\n      " + strings.ReplaceAll(list, "\n", "\n      ") + "\n"
	}
	return []badManifest{
		{"empty", "§", "empty"},
		{"only a comment and no newline", "§# nothing", "empty"},
		{"no value at the end", "version: 1\ncommands:§", "must be a mapping"},
		{"no key at the end", "version: 1\n?§ ", "must be text"},
		{"only a comment", "§# nothing\n", "empty"},
		{"only null", "§~\n", "must be a mapping"},
		{"list", "§[1]\n", "must be a mapping"},
		{"not YAML", "version: 1\na: §[\n", "not valid YAML"},
		{"not UTF-8", "version: §\xff\n", "UTF-8"},
		{"NUL", "version: 1§\x00\n", "NUL"},
		{"too large", "§version: 1\n#" + strings.Repeat("x", MaxManifest), "larger"},
		{"two documents", "version: 1\n§---\nversion: 1\n", "second document"},
		{"anchor", "version: §&a 1\n", "anchors"},
		{"alias", "version: &a 1\ncommands: §*a\n", "aliases"},
		{"merge key", header + "  c: {§<<: {summary: s}, exec: [x]}\n", "merge keys"},
		{"tag", "version: §!!str 1\n", "tags"},
		{"binary tag", header + "  c: {summary: §!!binary aGk=, exec: [x]}\n", "tags"},
		{"no version", "§commands: {}\n", "version is missing"},
		{"version 2", "version: §2\n", "version must be the number 1"},
		{"version text", "version: §'1'\n", "and is the text \"1\"; take the quotes off"},
		{"unknown key", "version: 1\n§comands: {}\n", `did you mean "commands"`},
		{"unknown key far off", "version: 1\n§zzz: {}\n", "it may have: version, environments, commands"},
		{"duplicate key", "version: 1\n§version: 1\n", "stands twice"},
		{"environment name", "version: 1\nenvironments: [§-x]\n", "an environment's name"},
		{"environment none", "version: 1\nenvironments: [§none]\n", "none"},
		{"environment twice", "version: 1\nenvironments: [a, §a]\n", "stands twice"},
		{"environment key", "version: 1\nenvironments: {a: {§protectd: true}}\n", `did you mean "protected"`},
		{"environment protected", "version: 1\nenvironments: {a: {protected: §yes please}}\n", "true or false"},
		{"environment scalar", "version: 1\nenvironments: {a: §1}\n", "must be a mapping"},
		{"command twice", header + "  db up: {summary: s, exec: [x]}\n  §\"db  up\": {summary: s, exec: [x]}\n", "stands twice"},
		{"command is a list", header + "  c: §[x]\n", "must be a mapping"},
		{"command is empty", header + "  c:§\n", "must be a mapping"},
		{"command name", header + "  §-c: {summary: s, exec: [x]}\n", "a command's name"},
		{"command name slash", header + "  §/c: {summary: s, exec: [x]}\n", "a command's name"},
		{"command name long", header + "  §" + strings.Repeat("c", 65) + ": {summary: s, exec: [x]}\n", "at most 64"},
		{"reserved name", header + "  §help me: {summary: s, exec: [x]}\n", "built-in"},
		{"reserved name not offered", header + "  §run it: {summary: s, exec: [x]}\n", "built-in"},
		{"chant name", header + "  §chant x: {summary: s, exec: [x]}\n", "taken off"},
		{"no summary", header + "  §c: {exec: [x]}\n", "needs summary"},
		{"no exec", header + "  §c: {summary: s}\n", "needs exec"},
		{"empty summary", header + "  c: {summary: §' ', exec: [x]}\n", "empty"},
		{"summary of two lines", header + "  c: {summary: §\"a\\nb\", exec: [x]}\n", "one line"},
		{"control character", header + "  c: {summary: §\"a\\eb\", exec: [x]}\n", "U+001B"},
		{"exec text", command("exec: §x"), "must be a list"},
		{"exec empty", command("exec: §[]"), "empty"},
		{"parameter without quotes", command("exec: [x, §{env}]"), `write "{env}"`},
		{"mapping in exec", command("exec: [x, §{env: 1}]"), "is a mapping"},
		{"glob", command("exec: [x, §*.go]"), `put text that begins with * in quotes: "*.go"`},
		{"parameter in text without quotes", command("exec: [x, --env=§{env}]"), "stands in quotes there"},
		{"comment in a list", header + "  c:\n    exec: §[x, a #b, c]\n", "a # with a blank before it begins a comment"},
		{"exec null", command("exec: [x, §~]"), "must be text"},
		{"exec nested", command("exec: [x, §[y]]"), "must be text"},
		{"program empty", command("exec: [§'']"), "empty element"},
		{"program template", header + "  c: {summary: s, exec: [§'{a}'], params: {a: {position: 1, required: true}}}\n", "the program itself"},
		{"program of two templates", header + "  c: {summary: s, exec: [§'{a}/{b}'], params: {a: {position: 1, required: true}}}\n", "the program itself"},
		{"program template, undeclared", command("exec: [§'{a}']"), "the program itself"},
		{"undeclared template twice", command("exec: [x, §'{a}{a}']"), "{a} is no parameter"},
		{"optional inside twice", header + "  c: {summary: s, exec: [x, §'a={a}{a}'], params: {a: {position: 1}}}\n", "may be absent"},
		{"undeclared template", header + "  c: {summary: s, exec: [x, §'{targt}'], params: {target: {position: 1}}}\n", "did you mean {target}"},
		{"undeclared template far off", command("exec: [awk, §'{print}']"), "{{print}}"},
		{"optional inside", header + "  c: {summary: s, exec: [x, §'a={a}'], params: {a: {position: 1}}}\n", "may be absent"},
		{"repeat inside", header + "  c: {summary: s, exec: [x, §'a={a}'], params: {a: {position: 1, required: true, repeat: true}}}\n", "repeated"},
		{"as inside", header + "  c: {summary: s, exec: [x, §'a={a}'], params: {a: {position: 1, required: true, as: ['{}']}}}\n", "`as`"},
		{"effect", command("exec: [x], effect: §reed"), "one of read, write, destroy"},
		{"confirm", command("exec: [x], confirm: §yes"), "one of none, ask, retype"},
		{"timeout zero", command("exec: [x], timeout: §0s"), "from 1ms to 24h"},
		{"timeout negative", command("exec: [x], timeout: §-1s"), "from 1ms to 24h"},
		{"timeout large", command("exec: [x], timeout: §25h"), "from 1ms to 24h"},
		{"timeout number", command("exec: [x], timeout: §30"), "a duration"},
		{"grace", command("exec: [x], grace: §6m"), "from 0s to 5m"},
		{"tty", command("exec: [x], tty: §1"), "true or false"},
		{"cwd absolute", command("exec: [x], cwd: §/tmp"), "relative"},
		{"cwd outside", command("exec: [x], cwd: §a/../.."), "leads out"},
		{"cwd empty", command("exec: [x], cwd: §''"), "empty"},
		{"env name", command("exec: [x], env: {§A-B: 1}"), "variable's name"},
		{"env ours", command("exec: [x], env: {§CHANT_ACP_TOKEN: 1}"), "chant-acp's own"},
		{"env value", command("exec: [x], env: {A: §[1]}"), "must be text"},
		{"env protected", header + "  §c: {summary: s, exec: [x], env: {CHANT_ENV: prod}}\n", "protected"},
		{"success range", command("exec: [x], success: [0, §256]"), "from 0 to 255"},
		{"success negative", command("exec: [x], success: [§-1]"), "from 0 to 255"},
		{"success text", command("exec: [x], success: [§a]"), "whole number"},
		{"success twice", command("exec: [x], success: [0, §0]"), "twice"},
		{"success empty", command("exec: [x], success: §[]"), "empty"},
		{"rest", command("exec: [x], rest: §some"), "one of none, any"},
		{"problems no list", command("exec: [x], problems: §go"), "a list of go, gcc, tsc, eslint, rust and of patterns"},
		{"problems unknown", command("exec: [x], problems: [go, §esslint]"), "did you mean eslint?"},
		{"problems key", command("exec: [x], problems: [{§patern: a}]"), "did you mean"},
		{"problems without pattern", command("exec: [x], problems: [§{}]"), "needs a pattern"},
		{"problems pattern", command("exec: [x], problems: [{pattern: §'('}]"), "the pattern of problems is not a regular expression (RE2 syntax)"},
		{"problems lookahead", command("exec: [x], problems: [{pattern: §'(?P<file>a)(?=b)'}]"), "RE2"},
		{"problems without a group", command("exec: [x], problems: [{pattern: §'(?P<file>a)'}]"), "needs a group for the line: (?P<line>…)"},
		{"problems with another group", command("exec: [x], problems: [{pattern: §'(?P<file>a)(?P<line>b)(?P<col>c)'}]"), "has a group col"},
		{"problems pattern too long", command("exec: [x], problems: [{pattern: §'" + strings.Repeat("a", 1025) + "'}]"), "longer"},
		{"rest key", command("exec: [x], rest: {§patern: a}"), "did you mean"},
		{"rest empty", command("exec: [x], rest: §{}"), "needs a pattern"},
		{"rest pattern", command("exec: [x], rest: {pattern: §'('}"), "RE2"},
		{"pattern that closes its group", params("a: {position: 1, pattern: §'a)|(?:b'}"), "RE2"},
		{"pattern too long", params("a: {position: 1, pattern: §" + strings.Repeat("a", 1025) + "}"), "longer"},
		{"param key", params("a: {position: 1, §requird: true}"), "did you mean"},
		{"param name", params("a: {position: 1}\n§1b: {position: 2}"), "parameter's name"},
		{"param twice", params("a: {position: 1}\n§a: {position: 2}"), "stands twice"},
		{"neither position nor flag", params("§a: {type: int}"), "needs a position"},
		{"both position and flag", params("§a: {position: 1, flag: --a}"), "both position and flag"},
		{"position zero", params("a: {position: §0}"), "from 1 to 100"},
		{"position text", params("a: {position: §first}"), "whole number"},
		{"position gap", params("a: {position: 1}\nb: {position: §3}"), "without gaps"},
		{"position not from 1", params("a: {position: §2}"), "without gaps"},
		{"position twice", params("a: {position: 1}\nb: {position: §1}"), "same position"},
		{"required after optional", params("a: {position: 1}\nb: {position: §2, required: true}"), "comes after"},
		{"repeat not last", params("a: {position: 1, repeat: §true}\nb: {position: 2}"), "last position"},
		{"repeat with rest", header + "  c: {summary: s, exec: [x, '{a}'], rest: §any, params: {a: {position: 1, repeat: true}}}\n", "same arguments"},
		{"flag", params("a: {flag: §-a}"), "looks like --name"},
		{"flag with =", params("a: {flag: §--a=b}"), "looks like --name"},
		{"short", params("a: {flag: --a, short: §-ab}"), "one hyphen"},
		{"short without flag", params("a: {position: 1, short: §-a}"), "has no flag"},
		{"flag twice", params("a: {flag: --a}\nb: {flag: §--a}"), "the same flag"},
		{"short twice", params("a: {flag: --a, short: -x}\nb: {flag: --b, short: §-x}"), "the same flag"},
		{"type", params("a: {position: 1, type: §strng}"), "one of string"},
		{"enum empty", params("a: {position: 1, enum: §[]}"), "empty"},
		{"enum twice", params("a: {position: 1, enum: [x, §x]}"), "twice"},
		{"enum against type", params("a: {position: 1, type: int, enum: [1, §x]}"), "whole number"},
		{"enum against pattern", params("a: {position: 1, pattern: '[a-z]', enum: [a, §B]}"), "pattern"},
		{"required and default", params("a: {position: 1, required: §true, default: x}"), "never used"},
		{"default against enum", params("a: {position: 1, enum: [x], default: §y}"), "one of x"},
		{"default against pattern", params("a: {position: 1, pattern: x, default: §xx}"), "pattern"},
		{"default against type", params("a: {position: 1, type: duration, default: §x}"), "duration"},
		{"default empty", params("a: {position: 1, default: §''}"), "empty"},
		{"default list", params("a: {position: 1, default: §[x]}"), "must be text"},
		{"default with a hyphen", params("§a: {position: 1, default: -x}"), "begins with a hyphen"},
		{"default protected", header + "  c: {summary: s, exec: [x, '{env}'], params: {env: {position: 1, default: §prod}}}\n", "protected"},
		{"env repeated", header + "  c: {summary: s, exec: [x, '{env}'], params: {§env: {position: 1, repeat: true}}}\n", "cannot be repeated"},
		{"env typed", header + "  c: {summary: s, exec: [x, '{env}'], params: {§env: {position: 1, type: path}}}\n", "its type is string"},
		{"env twice", header + "  §c: {summary: s, exec: [x, '{env}'], env: {CHANT_ENV: dev}, params: {env: {position: 1}}}\n", "sets CHANT_ENV too"},
		{"env by name and by flag", params("env: {position: 1}\n§a: {flag: --env}"), "both name the environment"},
		{"as without a place", params("a: {position: 1, as: §[--x]}"), "the value is lost"},
		{"as empty", params("a: {position: 1, as: §[]}"), "empty"},
		{"as of a bool", params("a: {flag: --a, type: bool, as: §['--x={}']}"), "stand for true"},
		{"dash", params("a: {position: 1, dash: §maybe}"), "true or false"},
		{"params is a list", header + "  c: {summary: s, exec: [x], params: §[a]}\n", "must be a mapping"},
	}
}

func TestManifestErrors(t *testing.T) {
	for _, tt := range badManifests() {
		t.Run(tt.name, func(t *testing.T) {
			before, after, _ := strings.Cut(tt.text, "§")
			line, column := strictyaml.Position([]byte(before), len(before))
			_, err := ParseManifest("f.yaml", []byte(before+after))
			var bad *ManifestError
			if !errors.As(err, &bad) {
				t.Fatalf("error %v, want a *ManifestError", err)
			}
			for i, d := range bad.Diagnostics[1:] {
				if before := bad.Diagnostics[i]; d.Line == before.Line && d.Column == before.Column {
					t.Errorf("two errors for one mistake:\n%v", err)
				}
			}
			for _, d := range bad.Diagnostics {
				if d.File == "f.yaml" && d.Line == line && d.Column == column && strings.Contains(d.Message, tt.says) {
					return
				}
			}
			t.Errorf("want %d:%d with %q, found:\n%v", line, column, tt.says, err)
		})
	}
}

func TestManifestReportsAllErrors(t *testing.T) {
	_, err := ParseManifest("f", []byte("version: 2\ncommands:\n  a: {exec: [x]}\n  b: {summary: s, exec: [x], efect: read}\n  help: {summary: s, exec: ['']}\n"))
	var bad *ManifestError
	if !errors.As(err, &bad) {
		t.Fatalf("error %v", err)
	}
	var lines []int
	for _, d := range bad.Diagnostics {
		lines = append(lines, d.Line)
	}
	if !slices.Equal(lines, []int{1, 3, 4, 5, 5}) {
		t.Errorf("errors in lines %v:\n%v", lines, err)
	}
	if n := strings.Count(err.Error(), "\n"); n != 4 {
		t.Errorf("the text has %d line breaks, want one error in each line:\n%v", n, err)
	}
}

func TestTemplateBraces(t *testing.T) {
	p := &param{name: "a"}
	resolve := func(name string) *param {
		if name == "a" {
			return p
		}
		return nil
	}
	tests := []struct{ in, want string }{
		{"{a}", "<a>"}, {"x{a}y", "x<a>y"}, {"{a}{a}", "<a><a>"},
		{"{{a}}", "{a}"}, {"{{other}}", "{other}"}, {"{{{a}}}", "{{a}}"}, {"{{a}", "{<a>"}, {"{a}}", "<a>}"},
		{"{", "{"}, {"}", "}"}, {"{}", "{}"}, {"{a b}", "{a b}"}, {"{a,b}", "{a,b}"}, {"{{.Name}}", "{{.Name}}"}, {"{1}", "{1}"}, {"${a", "${a"},
	}
	for _, tt := range tests {
		var got string
		for _, part := range parseTemplate(tt.in, resolve) {
			if part.param != nil {
				got += "<" + part.param.name + ">"
			}
			got += part.text
		}
		if got != tt.want {
			t.Errorf("template %q reads %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestReadManifest(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, ManifestName)
	if _, err := ReadManifest(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	write(t, path, "version: 1\n")
	if m, err := ReadManifest(path); err != nil || m.File() != path {
		t.Errorf("%v", err)
	}
	write(t, path, "version: 1\n#"+strings.Repeat("x", MaxManifest))
	var bad *ManifestError
	if _, err := ReadManifest(path); !errors.As(err, &bad) {
		t.Errorf("too large: %v", err)
	}
	if _, err := ReadManifest(dir); err == nil {
		t.Error("a folder is read as a manifest")
	}
}

func TestWarnings(t *testing.T) {
	tests := []struct{ name, keys, says string }{
		{"quiet", "exec: [go, test], rest: {pattern: '[a-z./]+|-v'}", ""},
		{"no rest", "exec: [sh, build.sh]", ""},
		{"any", "exec: [ls], rest: any", "rest: any"},
		{"any of git", "exec: [git, log], rest: any", "-c among them"},
		{"go", "exec: [go, test], rest: {pattern: '-exec=.+|x'}", "-exec"},
		{"git", "exec: [git], rest: {pattern: '-?[a-z]+'}", "git runs programs"},
		{"find", "exec: [/usr/bin/find, .], rest: {pattern: '-[a-z]+'}", "find runs"},
		{"env", "exec: [env, A=1], rest: {pattern: '[a-z]+'}", "env runs"},
		{"behind env", "exec: [env, A=1, go, vet], rest: {pattern: '-vettool=.*'}", "go runs"},
		{"xargs", "exec: [xargs], rest: {pattern: '[a-z]+'}", "xargs runs"},
		{"ssh", "exec: [ssh, host], rest: {pattern: '-o.*'}", "ssh"},
		{"tar", "exec: [tar, xf, a.tar], rest: {pattern: '--[a-z=-]+'}", "tar runs"},
		{"shell", "exec: [bash], rest: {pattern: '-c|x'}", "bash runs"},
		{"python", "exec: [python3.12], rest: {pattern: '-c|y'}", "python"},
		{"script", "exec: [python3, manage.py], rest: {pattern: '[a-z]+'}", ""},
		{"every option", "exec: [ls], rest: {pattern: '[^ ]+'}", "every option"},
		{"every long option", "exec: [ls], rest: {pattern: '--[a-z-]+'}", "every option"},
		{"every short option", "exec: [sudo, ls], rest: {pattern: '-[a-z]'}", "every option"},
		{"options by name", "exec: [ls], rest: {pattern: '-[lahx]+|--all'}", ""},
		{"awk param", "exec: [awk, '{a}'], params: {a: {position: 1}}", "interpret"},
		{"awk script", "exec: [awk, -f, p.awk, '{a}'], params: {a: {position: 1}}", ""},
		{"sed param", "exec: [sed, '{a}', file], params: {a: {position: 1}}", "interpret"},
		{"psql param", "exec: [psql, -c, '{a}'], params: {a: {position: 1}}", "interpret"},
		{"psql", "exec: [psql], rest: {pattern: '-c|[a-z]+'}", "psql runs"},
		{"sqlite3 param", "exec: [sqlite3, a.db, '{a}'], params: {a: {position: 1}}", "interpret"},
		{"vim param", "exec: [vim, '{a}'], params: {a: {position: 1}}", "interpret"},
		{"kubectl exec", "exec: [kubectl, -n, app, exec, pod, -c, web, --, '{a}'], params: {a: {position: 1}}", "interpret"},
		{"kubectl exec of a program", "exec: [kubectl, exec, pod, --, ls, '{a}'], params: {a: {position: 1}}", ""},
		{"kubectl get", "exec: [kubectl, get, '{a}'], params: {a: {position: 1}}", ""},
		{"docker exec", "exec: [docker, exec, -u, root, box], rest: {pattern: '[a-z]+'}", "docker runs"},
		{"docker compose run", "exec: [docker, compose, run, box, sh], rest: {pattern: '-c|x'}", "sh runs"},
		{"sudo", "exec: [sudo, -u, bob, '{a}'], params: {a: {position: 1}}", "interpret"},
		{"sudo of a shell", "exec: [sudo, -u, bob, bash], rest: {pattern: '-c|x'}", "bash runs"},
		{"flock", "exec: [flock, .lock, '{a}'], params: {a: {position: 1}}", "interpret"},
		{"timeout", "exec: [timeout, -k, 5s, 10s, '{a}'], params: {a: {position: 1}}", "interpret"},
		{"python param", "exec: [python3, '{a}'], params: {a: {position: 1}}", "interpret"},
		{"sh param", "exec: [sh, -c, 'echo {a}'], params: {a: {position: 1, required: true}}", "interpret"},
		{"make param", "exec: [make, '{a}'], params: {a: {position: 1}}", "interpret"},
		{"just param", "exec: [just, '{a}'], params: {a: {position: 1}}", "interpret"},
		{"npm param", "exec: [npm, run, '{a}'], params: {a: {position: 1}}", "interpret"},
		{"task param", "exec: [task, '{a}'], params: {a: {position: 1}}", "interpret"},
		{"make param with enum", "exec: [make, '{a}'], params: {a: {position: 1, enum: [all]}}", ""},
		{"echo param", "exec: [echo, '{a}'], params: {a: {position: 1}}", ""},
		{"unused", "exec: [echo], params: {a: {position: 1}}", "used nowhere"},
		{"env unused", "exec: [echo], params: {env: {position: 1, enum: [dev]}}", ""},
		{"env free", "exec: [echo], params: {env: {position: 1}}", ""},
		{"destroy", "exec: [echo], effect: destroy, confirm: none", "asks nobody"},
	}
	for _, tt := range tests {
		m := mustManifest(t, header+"  c: {summary: s, "+tt.keys+"}\n")
		list := m.Warnings()
		switch {
		case tt.says == "" && len(list) > 0:
			t.Errorf("%s: warns %v", tt.name, list)
		case tt.says != "" && (len(list) != 1 || !strings.Contains(list[0].Message, tt.says) || list[0].Line != 4 || list[0].Column < 3):
			t.Errorf("%s: %v, want one warning with %q", tt.name, list, tt.says)
		}
	}
}

func FuzzManifest(f *testing.F) {
	sample, err := os.ReadFile("testdata/sample.yaml")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(sample)
	for _, s := range []string{
		"", "version: 1", "version: 1\n---\n", "a: &a [*a]", "? [a]\n: b", "{<<: 1}", "\ufeffversion: 1", "- ", "a: |\n b", "\xff", "commands: {a: {exec: [x, '{a}'], params: {a: {position: 1}}}}",
		"version: 1\ncommands: {c: {summary: s, exec: [x, '{a}'], params: {a: {flag: --a, type: bool, as: [x], default: true}}}}",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseManifest("f", data)
		if err == nil {
			r := NewRegistry(RegistryOptions{Root: "/nowhere", Manifest: m})
			r.Help(nil, ParseOptions{})
			r.Advertised(ParseOptions{})
			for _, name := range m.Commands() {
				r.Help(strings.Fields(name), ParseOptions{})
				inv, err := r.Parse(strings.Fields(name), ParseOptions{})
				if err == nil && len(inv.Argv) == 0 {
					t.Fatalf("%s runs nothing", name)
				}
			}
			return
		}
		var bad *ManifestError
		if !errors.As(err, &bad) || len(bad.Diagnostics) == 0 {
			t.Fatalf("error %v, want a *ManifestError", err)
		}
		// Every place is one of the file, its end included.
		places := make(map[place]bool)
		text := bytes.TrimPrefix(data, []byte("\ufeff"))
		for i := range len(text) + 1 {
			if len(text) > 1<<10 {
				break // quadratic
			}
			line, column := strictyaml.Position(text, i)
			places[place{line, column}] = true
		}
		for _, d := range bad.Diagnostics {
			if d.Message == "" || len(text) <= 1<<10 && !places[place{d.Line, d.Column}] {
				t.Fatalf("no place or no text: %+v", d)
			}
		}
	})
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestNamesThatClientsTake(t *testing.T) {
	m := mustManifest(t, header+"  clear: {summary: s, exec: [x]}\n  config: {summary: s, exec: [x]}\n  clean: {summary: s, exec: [x]}\n")
	list := m.Warnings()
	if len(list) != 2 || !strings.Contains(list[0].Message, "type /clear") || !strings.Contains(list[1].Message, "type /config") {
		t.Errorf("got %v", list)
	}
}

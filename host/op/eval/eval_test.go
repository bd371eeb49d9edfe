package eval_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/host/op/eval"
)

// project makes a folder of files.
func project(t testing.TB, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func load(t testing.TB, dir string, o eval.Options) *op.Set {
	t.Helper()
	set, err := eval.Load(context.Background(), dir, o)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestConfigs wants of each file of the archives the config that stands behind
// it, byte for byte but for the line ends.
func TestConfigs(t *testing.T) {
	archives, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatal(err, archives)
	}
	for _, name := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			files, want, got := make(map[string]string), make(map[string]string), make(map[string]string)
			for _, f := range archive.Files {
				if of, found := strings.CutSuffix(f.Name, ".want"); found {
					want[of] = strings.ReplaceAll(string(f.Data), "\n", "")
				} else {
					files[f.Name] = string(f.Data)
				}
			}
			set := load(t, project(t, files), eval.Options{Environ: []string{}})
			for _, f := range set.Failed {
				t.Error(f)
			}
			for _, o := range set.Ops {
				got[o.File] = string(o.Config.JSON())
			}
			if d := cmp.Diff(want, got); d != "" {
				t.Error(d)
			}
		})
	}
}

// raced says that the race detector is in the binary, and so in the child: it
// needs memory of its own, and may be the first to miss it.
var raced bool

// head begins files that need the builders.
const head = `import { Op, phase, shell, gate } from "@intentius/chant-lexicon-temporal";` + "\n"

const good = head + `export default Op({ name: "good", phases: [phase("p", [shell("true")])] });`

// simple is an Op of a name whose one step runs what a JavaScript expression
// gives.
func simple(name, expression string) string {
	return head + `export default Op({ name: "` + name + `", phases: [phase("p", [shell(` + expression + `)])] });`
}

// TestBadFiles wants an error for each of them that names what is wrong, and the
// good one beside them all the same.
func TestBadFiles(t *testing.T) {
	outside := project(t, map[string]string{"secret.ts": "export default 1"})
	bad := map[string]struct{ text, message string }{
		"recursion.op.ts": {`const f = () => f() + 1; f();`, "stack overflow"},
		"throws.op.ts":    {`throw new TypeError("no way");`, "it throws TypeError: no way"},
		"undefined.op.ts": {`nothing.here;`, "evaluated without Node"},
		"syntax.op.ts":    {"const x = ;", `Unexpected ";"`},
		"await.op.ts":     {"await 1;\n" + good, "Top-level await can't be used"},
		"shapeless.op.ts": {"throw { toString() { throw 1 } };", "it throws something that can't be shown"},
		"endless.op.ts":   {"throw { toString() { for (;;); } };", "it throws something that can't be shown"},
		"empty.op.ts":     {`throw "";`, "it throws something that can't be shown"},
		"folder.op.ts":    {`import x from "./empty"; export default x;`, "there is no such file"},
		"missing.op.ts":   {`import "./lib/gone";`, `it imports "./lib/gone", and there is no such file`},
		"outside.op.ts":   {`import x from "../../../../etc/hosts.json"; export default x;`, "which lies outside the project"},
		"linked.op.ts":    {`import x from "./link"; export default x;`, "it lies outside the project"},
		"absolute.op.ts":  {`import x from "/etc/hosts.json"; export default x;`, "files of the project"},
		"node.op.ts":      {`import { readFileSync } from "node:fs"; readFileSync("/etc/hosts");`, `it imports "node:fs"`},
		"require.op.ts":   {`require("fs");`, `it imports "fs"`},
		"npm.op.ts":       {`import yaml from "js-yaml"; export default yaml;`, `it imports "js-yaml"`},
		"text.op.ts":      {`import x from "./notes.txt"; export default x;`, "only files that end in .ts, .js, .mjs, .json are read"},
		"nothing.op.ts":   {`export const x = 1;`, "it has no default export"},
		"null.op.ts":      {`export default null;`, "its default export is not an Op"},
		"number.op.ts":    {`export default 7;`, "its default export is not an Op"},
		"noname.op.ts":    {head + `export default Op({ phases: [] });`, "name or phases are missing"},
		"clock.op.ts":     {simple("clock", "String(Date.now())"), "it reads the clock"},
		"date.op.ts":      {simple("date", "new Date().toISOString()"), "it reads the clock"},
		"called.op.ts":    {simple("called", "Date()"), "it reads the clock"},
		"chance.op.ts":    {simple("chance", "String(Math.random())"), "random number"},
		"exit.op.ts":      {`process.exit(0);`, "it calls process.exit"},
		"timer.op.ts":     {`setTimeout(() => {}, 1);`, "evaluated without Node"},
		"fetch.op.ts":     {`fetch("http://127.0.0.1/");`, "evaluated without Node"},
		"cycle.op.ts":     {head + `const a: any = {}; a.a = a; export default Op({ name: "cycle", phases: [], a } as any);`, "circular reference"},
		"bigint.op.ts":    {head + `export default Op({ name: "bigint", phases: [], a: 1n } as any);`, "BigInt"},
		"gates.op.ts":     {head + `export default Op({ name: "gates", phases: [], onFailure: [phase("p", [gate("g")])] });`, "compensation waits for nobody"},
		"status.op.ts":    {simple("status", `"x"`), `"run status" means something else`},
		"fields.op.ts":    {head + `export default Op({ name: "fields", phases: [{ name: "p", steps: [{ kind: "activity", fn: 7 }] }] } as any);`, `fn of step 1 of phase "p" must be text, and is a number`},
		"large.op.ts":     {"", "52428800 bytes"},
		"bundle.op.ts":    {`import "./big/a"; import "./big/b"; import "./big/c"; import "./big/d"; import "./big/e";` + good, "more than 4194304 bytes together"},
		"deep.op.ts":      {"export default " + strings.Repeat("[", 400_000), "nested too deeply"},
		"data.op.yaml":    {"name: data\nphases: 7\n", "phases must be a list"},
	}
	files := map[string]string{"good.op.ts": good, "notes.txt": "x", "empty/readme.md": "x"}
	for name, b := range bad {
		files[name] = b.text
	}
	for _, name := range []string{"a", "b", "c", "d", "e"} {
		files["big/"+name+".ts"] = "// " + strings.Repeat(name, 1<<20-100)
	}
	dir := project(t, files)
	if err := os.Truncate(filepath.Join(dir, "large.op.ts"), 50<<20); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(outside, "secret.ts"), filepath.Join(dir, "link.ts")); err != nil {
		t.Fatal(err)
	}
	set := load(t, dir, eval.Options{})
	if o, err := set.Find("good"); err != nil || o.File != "good.op.ts" {
		t.Errorf("the good Op: %v", err)
	}
	for _, f := range set.Failed {
		b, known := bad[f.File]
		if raced && (f.File == "recursion.op.ts" || f.File == "deep.op.ts") {
			b.message = ""
		}
		if !known || !strings.Contains(f.Error(), b.message) {
			t.Errorf("%s: got %v, want %q in it", f.File, f, b.message)
		}
		delete(bad, f.File)
	}
	for name := range bad {
		t.Errorf("%s was read as an Op", name)
	}
}

// TestEndlessFiles wants an error for each that names what it used up. Each has a
// project of its own: those of one have a time together.
func TestEndlessFiles(t *testing.T) {
	const long, large = "it takes more than 2s to evaluate", "takes more memory than a file has, 256 MiB"
	for name, c := range map[string]struct{ text, message string }{
		"loop":   {"for (;;);", long},
		"regexp": {`/^(a+)+$/.test("a".repeat(50) + "b");`, long},
		"native": {`new Array(4e8).join("abc");`, long},
		"memory": {`const a = []; for (;;) a.push("x".repeat(1e6) + a.length);`, large},
		"buffer": {`const a = []; for (;;) a.push(new Uint8Array(1e7).fill(1));`, large},
	} {
		t.Run(name, func(t *testing.T) {
			set := load(t, project(t, map[string]string{"a.op.ts": c.text, "good.op.ts": good}), eval.Options{})
			if _, err := set.Find("good"); err != nil {
				t.Errorf("the good Op: %v", err)
			}
			if raced && c.message == large {
				c.message = ""
			}
			if len(set.Failed) != 1 || !strings.Contains(set.Failed[0].Error(), c.message) {
				t.Errorf("got %v, want %q in it", set.Failed, c.message)
			}
		})
	}
}

// TestUnknownNames wants a file to fail where a name that is not known becomes
// part of the Op, and to say which.
func TestUnknownNames(t *testing.T) {
	const imports = `import params, { tier, Bucket } from "@intentius/chant-lexicon-aws";` + "\n"
	bad := map[string]struct{ expression, message string }{
		"text":     {"`deploy ${params.tier}`", "default of @intentius/chant-lexicon-aws.tier"},
		"plus":     {`"deploy " + tier`, "tier of @intentius/chant-lexicon-aws"},
		"string":   {`String(tier)`, "turned into text"},
		"number":   {`"x".repeat(tier.count)`, "tier of @intentius/chant-lexicon-aws.count"},
		"join":     {`["a", tier].join(" ")`, "tier of"},
		"value":    {`tier`, "would become part of the Op"},
		"within":   {`"x", { env: { TIER: new Bucket({}).name } }`, "Bucket"},
		"spread":   {`"x", { env: { ...params } }`, "its fields would be made up"},
		"elements": {`[...tier][0]`, "its elements would be made up"},
		"key":      {`"x", { env: { [tier]: "x" } }`, "turned into text"},
		"caught":   {`(() => { try { return String(tier) } catch { return "made up" } })()`, "tier of"},
		"called":   {`Bucket.of(1).url()`, "would become part of the Op"},
	}
	files := make(map[string]string)
	for name, b := range bad {
		files[name+".op.ts"] = imports + simple(name, b.expression)
	}
	set := load(t, project(t, files), eval.Options{})
	for _, o := range set.Ops {
		t.Errorf("%s: a name that is not known gave %s", o.File, o.Config.JSON())
	}
	for _, f := range set.Failed {
		if b := bad[strings.TrimSuffix(f.File, ".op.ts")]; !strings.Contains(f.Error(), b.message) {
			t.Errorf("got %v, want %q in it", f, b.message)
		}
	}
}

func TestPositions(t *testing.T) {
	dir := project(t, map[string]string{
		"a.op.ts":  "\nimport { x } from \"./lib/b\";\nexport default x;",
		"lib/b.ts": "// ä\nexport const x = \"ä\" +;\n",
	})
	set := load(t, dir, eval.Options{})
	if len(set.Failed) != 1 || set.Failed[0].File != "a.op.ts" {
		t.Fatalf("got %v", set.Failed)
	}
	if got := set.Failed[0].Error(); got != `lib/b.ts:2:23: Unexpected ";"` {
		t.Errorf("got %s", got)
	}
}

func TestEnvironment(t *testing.T) {
	dir := project(t, map[string]string{
		"a.op.ts": simple("a", `[process.env.REGION ?? "none", "HOME" in process.env, Object.keys(process.env).join(), process.cwd()].join(" ")`),
	})
	real, err := filepath.EvalSymlinks(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		environ []string
		want    string
	}{{[]string{"REGION=eu"}, "eu false REGION "}, {[]string{"HOME=/h"}, "none true HOME "}} {
		o, err := load(t, dir, eval.Options{Environ: c.environ}).Find("a")
		if err != nil {
			t.Fatal(err)
		}
		if got := string(o.Config.Phases[0].Steps[0].Args); got != `{"cmd":"`+c.want+real+`"}` {
			t.Errorf("with %v: got %s", c.environ, got)
		}
	}
}

// A file's text may hold the values of what it read, and of nothing else.
func TestWhatIsRead(t *testing.T) {
	files := map[string]string{"data.op.yaml": "name: data\noverview: x\nphases: []\n"}
	for name, expression := range map[string]string{
		"none":     `"x"`,
		"one":      `process.env.ONE`,
		"index":    `process.env["O" + "NE"]`,
		"absent":   `String(process.env.NEVER)`,
		"asks":     `"ONE" in process.env`,
		"names":    `Object.keys(process.env).join()`,
		"all":      `JSON.stringify(process.env)`,
		"spread":   `JSON.stringify({...process.env})`,
		"describe": `Object.getOwnPropertyDescriptor(process.env, "TWO")!.value`,
		"entries":  `Object.entries(process.env).join()`,
		"symbol":   `String((process.env as any)[Symbol.iterator])`,
		"cwd":      `process.cwd()`,
		"getter":   `(Object.defineProperty(process.env, "X", { get() { return this.ONE } }), process.env.X)`,
		"setter":   `(() => { let v; Object.defineProperty(process.env, "X", { set() { v = this.ONE } }); try { process.env.X = "1" } catch {} return v })()`,
		"parent":   `(Object.setPrototypeOf(process.env, { get X() { return this.ONE } }), process.env.X)`,
		"written":  `(process.env.X = "3", process.env.X)`,
		"string":   `((String as any).prototype.toString = () => "TWO", (globalThis as any).String = () => "TWO", process.env.ONE)`,
	} {
		files[name+".op.ts"] = simple(name, "`${"+expression+"}`")
	}
	files["throws.op.ts"] = `throw new Error(process.env.TWO);`
	set := load(t, project(t, files), eval.Options{Environ: []string{"ONE=1", "TWO=2"}})
	want := map[string]string{
		"one": "ONE", "index": "ONE", "all": "ONE TWO", "entries": "ONE TWO",
		"names":  "ONE TWO", // JavaScript asks for their descriptors, which hold the values
		"spread": "ONE TWO", "describe": "TWO", "string": "ONE",
	}
	text := map[string]string{"getter": "undefined", "setter": "undefined", "parent": "undefined", "written": "3"}
	for _, o := range set.Ops {
		args := string(o.Config.Phases[0].Steps[0].Args)
		if wanted, fixed := text[o.Name()]; fixed && args != `{"cmd":"`+wanted+`"}` {
			t.Errorf("%s: got %s, want %s in it", o.Name(), args, wanted)
		}
		if got := strings.Join(o.Reads, " "); got != want[o.Name()] {
			t.Errorf("%s read %q, want %q", o.Name(), got, want[o.Name()])
		}
	}
	if len(set.Ops) != len(files)-2 || len(set.Failed) != 2 {
		t.Errorf("%d Ops, and %v", len(set.Ops), set.Failed)
	}
	for _, f := range set.Failed {
		if f.File == "throws.op.ts" && strings.Join(f.Reads, " ") != "TWO" {
			t.Errorf("%s read %q", f.File, f.Reads)
		}
	}
}

func TestCancel(t *testing.T) {
	dir := project(t, map[string]string{"a.op.ts": "for (;;);"})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := eval.Load(ctx, dir, eval.Options{}); err == nil {
		t.Error("a context that is done is not noticed")
	}
}

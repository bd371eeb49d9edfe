package eval_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/chant-acp/chant-acp/host/op/eval"
	"github.com/chant-acp/chant-acp/host/op/eval/internal/wire"
	"github.com/chant-acp/chant-acp/internal/testenv"
)

const secret = "the-secret-of-another-folder"

// TestImportsReadOnlyTheProject holds that no way of naming a file reads one
// outside the project, and that a name which is not one literal is refused.
func TestImportsReadOnlyTheProject(t *testing.T) {
	base := project(t, map[string]string{
		"home/secret.json":  `{"x": "` + secret + `"}`,
		"home/secret.js":    `module.exports = "` + secret + `"`,
		"home/id_rsa":       secret,
		"repo/lib/a.js":     `export const x = "a";`,
		"repo/lib/b.js":     `export const x = "b";`,
		"repo/lib/data.txt": secret,
	})
	const glob = "whose name is not one literal"
	bad := map[string]struct{ text, message string }{
		"require-plus":     {`const x = "ret.json"; const y = require("../home/sec" + x);`, glob},
		"require-template": {"const x = 'secret'; require(`../home/${x}.js`);", glob},
		"import-plus":      {`const n = "secret"; import("../home/" + n + ".json");`, glob},
		"import-template":  {"const n = 'id_rsa'; import(`../home/${n}`);", glob},
		"import-type":      {`const n = "id_"; import("../home/" + n + "rsa", { with: { type: "text" } });`, glob},
		"import-inside":    {`const n = "a"; import("./lib/" + n + ".js");`, glob},
		"import-eval":      {`const x = "secret"; import("../home/" + x + ".js"); eval("require_");`, glob},
		"import-variable":  {`const n = "./lib/a.js"; import(n).then(() => {});`, glob},
		"require-variable": {`const n = "./lib/a"; require(n);`, glob},
		"require-two":      {`require("./lib/a", 1);`, glob},
		"require-value":    {`const r = require; r("./lib/a");`, "evaluated without Node"},
		"dead-code":        {`const x = "secret"; if (false) { require("../home/" + x + ".js"); import("../home/" + x); }`, glob},
		"in-a-function":    {"function f(x) { return import(`../home/${x}.json`) }", glob},
		"in-a-module":      {`import "./lib/deep";`, glob},
		"text-attribute":   {`import x from "../home/id_rsa" with { type: "text" }; export default x;`, "outside the project"},
		"text-inside":      {`import x from "./lib/data.txt" with { type: "text" }; export default x;`, "only files that end in"},
		"file-address":     {`import x from "file://` + base + `/home/secret.js"; export default x;`, "files of the project"},
		"data-address":     {`import x from "data:text/javascript,export default 1"; export default x;`, "files of the project"},
		"absolute":         {`import x from "` + base + `/home/secret.js"; export default x;`, "files of the project"},
		"resolve":          {`require.resolve("../home/secret.js");`, "outside the project"},
	}
	files := map[string]string{"lib/deep.ts": `const n = "secret"; require("../../home/" + n + ".js");`}
	for name, b := range bad {
		files[name+".op.ts"] = b.text + "\n" + good
	}
	dir := filepath.Join(base, "repo")
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cache := t.TempDir()
	set := load(t, dir, eval.Options{Cache: cache})
	for _, f := range set.Failed {
		name := strings.TrimSuffix(f.File, ".op.ts")
		if b, known := bad[name]; !known || !strings.Contains(f.Error(), b.message) {
			t.Errorf("%s: got %v, want %q in it", f.File, f, b.message)
		}
		delete(bad, name)
	}
	for name := range bad {
		t.Errorf("%s was read as an Op", name)
	}
	if _, text := stored(t, cache); strings.Contains(text, secret) {
		t.Error("the cache holds what lies outside the project")
	}
}

// TestReadsOfTheEnvironmentAreNoticed holds that a value of the environment is
// never kept, whatever a file does to what it can reach before it reads it.
func TestReadsOfTheEnvironmentAreNoticed(t *testing.T) {
	files := make(map[string]string)
	for name, before := range map[string]string{
		"plain":     ``,
		"includes":  `Array.prototype.includes = () => true; Array.prototype.push = () => 0;`,
		"json":      `JSON.stringify = () => "{}"; Array.prototype.toJSON = () => []; Object.prototype.toJSON = () => ({});`,
		"reflect":   `let all: any; Reflect.ownKeys = (x: any) => { all = x; return [] }; Reflect.getOwnPropertyDescriptor = (x: any) => { all = x; return undefined };`,
		"string":    `(globalThis as any).String = (x: any) => x;`,
		"prototype": `Object.prototype.hasOwnProperty = () => true; Function.prototype.call = () => 0 as any;`,
		"hooks":     `for (const n of Object.getOwnPropertyNames(globalThis)) if (n.startsWith("__chant")) try { (globalThis as any)[n] = () => "{}" } catch {}`,
	} {
		files[name+".op.ts"] = strings.Replace(simple(name, `"echo " + process.env.TOKEN!.split("").join("+")`), "export default", before+"\nexport default", 1)
	}
	for _, trap := range traps {
		before := fmt.Sprintf(stolenThrough, trap, "process.env")
		files["trap"+trap+".op.ts"] = strings.Replace(simple("trap"+trap, `"echo " + stolen?.TOKEN?.split("").join("+")`), "export default", before+"\nexport default", 1)
	}
	cache := t.TempDir()
	load(t, project(t, files), eval.Options{Cache: cache, Environ: []string{"TOKEN=abc"}})
	entries, err := filepath.Glob(filepath.Join(cache, "*.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range entries {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "a+b+c") {
			t.Errorf("the cache holds a value of the environment:\n%s", text)
		}
	}
}

// traps are all that a Proxy asks its handler for (ECMA-262, 10.5).
var traps = []string{
	"getPrototypeOf", "setPrototypeOf", "isExtensible", "preventExtensions", "getOwnPropertyDescriptor", "defineProperty", "has", "get", "set",
	"deleteProperty", "ownKeys", "apply", "construct",
}

// stolenThrough takes what lies behind a Proxy: its handler has each trap from
// Object.prototype, if its maker did not think of that.
const stolenThrough = `
const own = { ...Object.getOwnPropertyDescriptors(Reflect) };
let stolen: any;
(Object.prototype as any)[%[1]q] = (target: any, ...rest: any[]) => { stolen = target; return own[%[1]q].value(target, ...rest); };
const proxy: any = %[2]s;
const uses: any = {
  getPrototypeOf: () => Object.getPrototypeOf(proxy), setPrototypeOf: () => Object.setPrototypeOf(proxy, null), isExtensible: () => Object.isExtensible(proxy),
  preventExtensions: () => Object.preventExtensions(proxy), getOwnPropertyDescriptor: () => Object.getOwnPropertyDescriptor(proxy, "Q"),
  defineProperty: () => Object.defineProperty(proxy, "Q", { value: 1 }), has: () => "Q" in proxy, get: () => proxy.Q, set: () => { proxy.Q = "1" },
  deleteProperty: () => delete proxy.Q, ownKeys: () => Object.keys(proxy), apply: () => proxy(0), construct: () => new proxy(0),
};
try { uses[%[1]q]() } catch {}
delete (Object.prototype as any)[%[1]q];
`

// TestNoFileReadsTheClock holds that an Op is the same whenever it is read, whatever
// a file does to what it can reach.
func TestNoFileReadsTheClock(t *testing.T) {
	files := make(map[string]string)
	befores := map[string]string{
		"reflect": `let stolen: any; const construct = Reflect.construct; Reflect.construct = (target: any, ...rest: any[]) => { stolen = target; return construct(target, ...rest as [any]) }; const made = new Date(0); Reflect.construct = construct; export const kept = made;`,
	}
	for _, trap := range traps {
		befores["trap"+trap] = fmt.Sprintf(stolenThrough, trap, "Date")
	}
	for name, before := range befores {
		files[name+".op.ts"] = strings.Replace(simple(name, `"echo " + (stolen ? "read " + new stolen() : "nothing")`), "export default", before+"\nexport default", 1)
	}
	set := load(t, project(t, files), eval.Options{})
	if len(set.Ops)+len(set.Failed) != len(files) {
		t.Fatalf("%d Ops and %d failures of %d files", len(set.Ops), len(set.Failed), len(files))
	}
	for _, o := range set.Ops {
		if text := string(o.Config.JSON()); strings.Contains(text, "read ") {
			t.Errorf("%s: %s", o.Name(), text)
		}
	}
}

// TestFilesShareOneBudget holds that files which never end cost a project what
// one or two of them cost, and not the time of each; and that the file of the Op
// that is asked for is evaluated before them.
func TestFilesShareOneBudget(t *testing.T) {
	if !testenv.Long() {
		t.Skip("uses up the whole budget; CHANT_ACP_TEST_LONG=1 runs it")
	}
	files := map[string]string{
		"zz.op.ts":   head + `for (let i = 0; i < 4e6; i++); export default Op({ name: "zz", phases: [phase("p", [shell("true")])] });`,
		"ok.op.yaml": "name: ok\nphases: [{name: p, steps: [{shell: 'true'}]}]\n",
	}
	const endless = 60
	for i := range endless {
		files[fmt.Sprintf("e%02d.op.ts", i)] = "while (1);"
	}
	before := children(t)
	set := load(t, project(t, files), eval.Options{First: "zz"})
	if used := children(t) - before; !raced && used > 3*(wire.MaxExtra+wire.MaxWork) {
		t.Errorf("evaluating took %s of processor time", used)
	}
	for _, name := range []string{"zz", "ok"} {
		if raced && name == "zz" {
			continue // the race detector alone makes it take its time
		}
		if _, err := set.Find(name); err != nil {
			t.Error(err)
		}
	}
	said := make(map[string]int)
	for _, f := range set.Failed {
		if f.File != "zz.op.ts" {
			said[f.Findings[0].Message]++
		}
	}
	if said[wire.TooLong]+said[wire.TooBusy] != endless || said[wire.TooLong] == 0 || said[wire.TooBusy] < endless/2 {
		t.Errorf("got %v", said)
	}
}

// children is the processor time of all children that have ended.
func children(t *testing.T) time.Duration {
	t.Helper()
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_CHILDREN, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

package eval_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/host/op/eval"
)

// poison changes what a cache says, so that a result shows whether it came from
// there.
func poison(t *testing.T, dir string) { t.Helper(); edit(t, dir, "echo ", "cached ") }

func edit(t *testing.T, dir, from, to string) {
	t.Helper()
	file, text := stored(t, dir)
	if err := os.WriteFile(file, []byte(strings.ReplaceAll(text, from, to)), 0o600); err != nil {
		t.Fatal(err)
	}
}

// stored is the one file of a cache.
func stored(t *testing.T, dir string) (file, text string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the cache holds %v, %v", files, err)
	}
	data, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	return files[0], string(data)
}

func command(t *testing.T, set *op.Set, name string) string {
	t.Helper()
	o, err := set.Find(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(o.Config.Phases[0].Steps[0].Args)
}

func TestCache(t *testing.T) {
	const imports = `import { word } from "./lib/word";` + "\n"
	files := map[string]string{
		"plain.op.ts":  imports + simple("plain", "`echo ${word}`"),
		"env.op.ts":    simple("env", "`echo ${process.env.WORD}`"),
		"cwd.op.ts":    simple("cwd", "`echo ${process.cwd().length}`"),
		"data.op.yaml": "name: data\nphases: [{name: p, steps: [{shell: echo}]}]\n",
		"bad.op.ts":    "export default 7;",
		"lib/word.js":  `export const word = "one";`,
	}
	dir, cacheDir := project(t, files), filepath.Join(t.TempDir(), "state", "ops")
	o := eval.Options{Cache: cacheDir, Environ: []string{"WORD=one"}}
	write := func(name, text string) {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	expect := func(name, want string) {
		t.Helper()
		if got := command(t, load(t, dir, o), name); got != `{"cmd":"`+want+`"}` {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
	expect("plain", "echo one")
	poison(t, cacheDir)
	expect("plain", "cached one") // nothing changed
	expect("env", "echo one")     // which may change
	if set := load(t, dir, o); len(set.Failed) != 1 || !strings.Contains(set.Failed[0].Error(), "not an Op") {
		t.Errorf("failed: %v", set.Failed)
	}
	o.Environ = []string{"WORD=two"}
	expect("env", "echo two")
	if got := command(t, load(t, dir, o), "cwd"); !strings.Contains(got, "echo ") {
		t.Errorf("what read the working directory was kept: %s", got)
	}

	write("lib/word.js", `export const word = "two";`) // an input
	expect("plain", "echo two")
	poison(t, cacheDir)
	write("lib/word.ts", `export const word = "three";`) // what was looked for before
	expect("plain", "echo three")
	poison(t, cacheDir)
	write("plain.op.ts", imports+simple("plain", "`echo ${word}!`"))
	expect("plain", "echo three!")

	if err := os.RemoveAll(cacheDir); err != nil {
		t.Fatal(err)
	}
	expect("plain", "echo three!")
	for _, text := range []string{"", "{", `{"version":"x"}`, strings.Repeat("[", 1000)} {
		files, _ := filepath.Glob(filepath.Join(cacheDir, "*.json"))
		if len(files) != 1 {
			t.Fatalf("the cache holds %v", files)
		}
		if err := os.WriteFile(files[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		expect("plain", "echo three!")
	}
	write("plain.op.ts", simple("other", `"echo"`))
	if _, err := load(t, dir, o).Find("plain"); err == nil {
		t.Error("an Op that is gone is found")
	}
}

// TestCacheOfFailures wants failures to be kept like anything else, and found out
// anew when what they depend on has changed.
func TestCacheOfFailures(t *testing.T) {
	outside := project(t, map[string]string{"x.ts": "export default 1"})
	dir := project(t, map[string]string{
		"good.op.ts":    good,
		"env.op.ts":     `if (process.env.WORD === "one") for (;;); export default 7;`,
		"native.op.ts":  `new Array(4e8).join("abc");`,
		"syntax.op.ts":  `import "./broken";`,
		"broken.ts":     "const x = ;",
		"missing.op.ts": `import word from "./word"; throw new Error(word);`,
		"large.op.ts":   `import "./large";`,
		"large.ts":      "//" + strings.Repeat("x", 1<<20),
		"link.op.ts":    `import "./link";`,
		"throws.op.ts":  `throw new Error("no");`,
		"tells.op.ts":   `throw new Error(process.env.TOKEN);`,
	})
	link := filepath.Join(dir, "link.ts")
	if err := os.Symlink(filepath.Join(outside, "x.ts"), link); err != nil {
		t.Fatal(err)
	}
	o := eval.Options{Cache: filepath.Join(t.TempDir(), "ops"), Environ: []string{"WORD=one", "TOKEN=never-to-be-written"}}
	expect := func(fresh ...string) map[string]string {
		t.Helper()
		failed := make(map[string]string)
		for _, f := range load(t, dir, o).Failed {
			failed[f.File] = f.Error()
			if got := !strings.Contains(f.Error(), "kept "); got != slices.Contains(fresh, f.File) {
				t.Errorf("fresh: %t: %s", got, f)
			}
		}
		if len(failed) != 8 {
			t.Errorf("%d files failed", len(failed))
		}
		edit(t, o.Cache, `"Message":"kept `, `"Message":"`)
		edit(t, o.Cache, `"Message":"`, `"Message":"kept `)
		return failed
	}
	all := []string{"env.op.ts", "native.op.ts", "syntax.op.ts", "missing.op.ts", "large.op.ts", "link.op.ts", "throws.op.ts", "tells.op.ts"}
	if failed := expect(all...); !strings.Contains(failed["tells.op.ts"], "never-to-be") {
		t.Errorf("%v", failed)
	}
	if _, text := stored(t, o.Cache); strings.Contains(text, "never-to-be") {
		t.Error("a value of the environment was kept")
	}
	expect("tells.op.ts")

	for name, text := range map[string]string{"broken.ts": "const x = 1;", "word.mjs": `export default "there"`, "large.ts": ""} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if failed := expect("tells.op.ts", "syntax.op.ts", "missing.op.ts", "large.op.ts", "link.op.ts"); !strings.Contains(failed["missing.op.ts"], "there") {
		t.Errorf("%v", failed)
	}
	o.Environ = []string{"WORD=two", "TOKEN=x"}
	if failed := expect("tells.op.ts", "env.op.ts", "native.op.ts"); !strings.Contains(failed["env.op.ts"], "not an Op") {
		t.Errorf("%v", failed)
	}
}

// TestCacheOfDeaths keeps what ended the child while it read a file, with the
// file.
func TestCacheOfDeaths(t *testing.T) {
	if raced {
		t.Skip("the race detector needs the memory that the child has, and may be the first to miss it")
	}
	dir := project(t, map[string]string{"deep.op.ts": `import "./nested";`, "nested.ts": "export default " + strings.Repeat("[", 400_000)})
	o := eval.Options{Cache: filepath.Join(t.TempDir(), "ops")}
	expect := func(want string) {
		t.Helper()
		if failed := load(t, dir, o).Failed; len(failed) != 1 || !strings.Contains(failed[0].Error(), want) {
			t.Errorf("got %v, want %q in it", failed, want)
		}
	}
	expect("it is nested too deeply")
	edit(t, o.Cache, "it is nested", "it was nested")
	expect("it was nested")
	if err := os.WriteFile(filepath.Join(dir, "nested.ts"), []byte("export default 1"), 0o644); err != nil {
		t.Fatal(err)
	}
	expect("no default export")
}

// A context that is done once Err was asked for it so many times.
type asked struct {
	context.Context
	left int
}

func (c *asked) Err() error {
	if c.left--; c.left < 0 {
		return context.Canceled
	}
	return nil
}

// TestCacheOfACancelledLoad keeps what was evaluated before somebody lost
// patience, or the next one would wait as long.
func TestCacheOfACancelledLoad(t *testing.T) {
	dir := project(t, map[string]string{"a.op.ts": simple("a", `"echo"+" "`), "b.op.ts": simple("b", `"true"`)})
	o := eval.Options{Cache: filepath.Join(t.TempDir(), "ops")}
	searchAndFirst := &asked{context.Background(), 2}
	if _, err := eval.Load(searchAndFirst, dir, o); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	poison(t, o.Cache)
	if got := command(t, load(t, dir, o), "a"); got != `{"cmd":"cached "}` {
		t.Errorf("got %s", got)
	}
}

// TestCacheFollowsLinks reads again what an import leads to when it leads
// elsewhere.
func TestCacheFollowsLinks(t *testing.T) {
	dir := project(t, map[string]string{
		"a.op.ts": `import { word } from "./link";` + simple("a", "`echo ${word}`"),
		"one.ts":  `export const word = "one";`, "two.ts": `export const word = "two";`,
	})
	o := eval.Options{Cache: filepath.Join(t.TempDir(), "ops")}
	link := filepath.Join(dir, "link.ts")
	for _, to := range []string{"one", "two"} {
		_ = os.Remove(link)
		if err := os.Symlink(to+".ts", link); err != nil {
			t.Fatal(err)
		}
		if got := command(t, load(t, dir, o), "a"); got != `{"cmd":"echo `+to+`"}` {
			t.Errorf("the link leads to %s, got %s", to, got)
		}
	}
}

// TestCacheUnwritable reads all the same.
func TestCacheUnwritable(t *testing.T) {
	dir := project(t, map[string]string{"a.op.ts": simple("a", `"echo"`), "file": ""})
	set := load(t, dir, eval.Options{Cache: filepath.Join(dir, "file", "ops")})
	if command(t, set, "a") != `{"cmd":"echo"}` {
		t.Error("without a cache nothing is read")
	}
}

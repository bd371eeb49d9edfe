package eval_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/host/op"
	"github.com/chant-acp/chant-acp/host/op/eval"
)

// poison changes what a cache says of a name, so that a result shows whether it
// came from there.
func poison(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("the cache holds %v, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	changed := strings.ReplaceAll(string(text), "echo ", "cached ")
	if err := os.WriteFile(files[0], []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
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

// TestCacheUnwritable reads all the same.
func TestCacheUnwritable(t *testing.T) {
	dir := project(t, map[string]string{"a.op.ts": simple("a", `"echo"`), "file": ""})
	set := load(t, dir, eval.Options{Cache: filepath.Join(dir, "file", "ops")})
	if command(t, set, "a") != `{"cmd":"echo"}` {
		t.Error("without a cache nothing is read")
	}
}

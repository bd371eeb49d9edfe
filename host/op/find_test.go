package op_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-acp/chant-acp/host/op"
)

func write(t testing.TB, root, name, text string) {
	t.Helper()
	file := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// folder is a temporary folder without links in its path.
func folder(t testing.TB) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func find(t testing.TB, dir string) *op.Files {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	files, err := op.FindFiles(context.Background(), root)
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestFindFiles(t *testing.T) {
	dir := folder(t)
	for _, name := range []string{
		"z.op.ts", "a.op.yaml", "ops/b.op.json", "ops/deep/er/c.op.ts", "kept/x.op.ts",
		// and what is passed over
		".op.ts", "x.ts", "x.op.ts.bak", "op.ts", ".hidden/a.op.ts", "node_modules/m/a.op.ts", "dist/a.op.ts", "ops/vendor/a.op.ts",
		"ignored/a.op.ts", "ops/also.op.yaml", "excluded.op.ts", "kept/secret.op.ts",
	} {
		write(t, dir, name, "")
	}
	write(t, dir, ".gitignore", "ignored/\nkept/*\n")
	write(t, dir, "kept/.gitignore", "!x.op.ts\n")
	write(t, dir, "ops/.gitignore", "also*\n")
	write(t, dir, ".git/info/exclude", "excluded.*\n")
	got := find(t, dir)
	want := []string{"a.op.yaml", "kept/x.op.ts", "ops/b.op.json", "ops/deep/er/c.op.ts", "z.op.ts"}
	if d := cmp.Diff(want, got.Names); d != "" {
		t.Error(d)
	}
	if len(got.Failed) > 0 || got.Incomplete != nil {
		t.Errorf("failed: %v, %v", got.Failed, got.Incomplete)
	}
}

func TestFindFailures(t *testing.T) {
	dir, outside := folder(t), folder(t)
	write(t, outside, "o.op.ts", "")
	write(t, dir, "in.op.ts", "")
	write(t, dir, "short.op.yml", "")
	write(t, dir, "open/x.op.ts", "")
	if err := os.Chmod(filepath.Join(dir, "open"), 0o777); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{
		"inside.op.ts": "in.op.ts", "out.op.ts": filepath.Join(outside, "o.op.ts"), "dead.op.ts": "nowhere", "linked": outside,
	} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "folder.op.ts"), 0o755); err != nil {
		t.Fatal(err)
	}
	got := find(t, dir)
	if d := cmp.Diff([]string{"in.op.ts"}, got.Names); d != "" {
		t.Error(d)
	}
	want := map[string]string{
		"short.op.yml": "rename the file", "out.op.ts": "leads out of the project", "dead.op.ts": "leads nowhere", "open": "everyone may write",
	}
	for _, f := range got.Failed {
		if message := want[f.File]; message == "" || !strings.Contains(f.Error(), message) {
			t.Errorf("got %v", f)
		}
		delete(want, f.File)
	}
	if len(want) > 0 {
		t.Errorf("nothing was said of %v", want)
	}
}

func TestFindMany(t *testing.T) {
	dir := folder(t)
	for _, name := range []string{"a.op.ts", "d/1", "d/2", "d/3", "node_modules/x", "z.op.ts"} {
		write(t, dir, name, "")
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	// The folders are entries, too; what is in node_modules is not looked at.
	for most, want := range map[int][]string{7: {"a.op.ts", "z.op.ts"}, 6: {"a.op.ts"}, 4: {"a.op.ts"}, 1: nil} {
		got, err := op.FindAtMost(context.Background(), root, most)
		if err != nil {
			t.Fatal(err)
		}
		if complete := got.Incomplete == nil; complete != (most == 7) {
			t.Errorf("at most %d: incomplete %v", most, got.Incomplete)
		}
		if d := cmp.Diff(want, got.Names); d != "" && most > 1 { // which one is first in a folder that is not read whole is chance
			t.Errorf("at most %d: %s", most, d)
		}
	}
}

func TestReadFile(t *testing.T) {
	dir := folder(t)
	write(t, dir, "sub/ok", "text")
	write(t, dir, "open", "")
	write(t, dir, "large", "")
	if err := os.Truncate(filepath.Join(dir, "large"), 50<<20); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(dir, "open"), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(os.DevNull, filepath.Join(dir, "out")); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	if data, err := op.ReadFile(root, "sub/ok"); err != nil || string(data) != "text" {
		t.Errorf("got %q, %v", data, err)
	}
	for name, message := range map[string]string{
		"large": "52428800 bytes, and 1048576", "open": "everyone may write", "sub": "not a regular file", "gone": "cannot be read", "out": "cannot be read", "../x": "cannot be read",
	} {
		if _, err := op.ReadFile(root, name); err == nil || !strings.Contains(err.Error(), message) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestSet(t *testing.T) {
	named := func(name, file string) *op.Op {
		c := mustDecode(t, "x.op.yaml", "name: "+name+"\nphases: [{name: p, steps: [{shell: x}]}]")
		return &op.Op{File: file, Config: c}
	}
	s := op.NewSet("/r", []*op.Op{named("b", "2"), named("a", "9"), named("b", "1")}, []*op.FileError{op.Failed("z.op.ts", "it is broken")}, errors.New("it was too much"))
	if o, err := s.Find("a"); err != nil || o.File != "9" {
		t.Errorf("got %v, %v", o, err)
	}
	for name, want := range map[string]string{
		"b": "several files name their Op b: 1, 2; rename all but one",
		"c": "there is no Op \"c\"; there are: a, b\nNot all was searched: it was too much\nIt may be in what could not be read:\n  z.op.ts: it is broken",
	} {
		if _, err := s.Find(name); err == nil || err.Error() != want {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	none := op.NewSet("/r", nil, nil, nil)
	if _, err := none.Find("c"); err == nil || err.Error() != `there is no Op "c", nor any other; one is a file below /r whose name ends in .op.ts, .op.yaml or .op.json` {
		t.Errorf("got %v", err)
	}
}

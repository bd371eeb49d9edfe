package atomicfile

import (
	"os"
	"path/filepath"
	"testing"
)

func files(t *testing.T, dir string) (names []string) {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	for _, text := range []string{"one", "two, longer", ""} {
		if err := Write(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || string(got) != text {
			t.Errorf("it holds %q (%v), want %q", got, err, text)
		}
		if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
			t.Errorf("its mode is %v, %v", st.Mode(), err)
		}
	}
	if names := files(t, dir); len(names) != 1 {
		t.Errorf("the folder holds %q", names)
	}
}

func TestWriteFails(t *testing.T) {
	dir := t.TempDir()
	inTheWay := filepath.Join(dir, "f")
	if err := os.MkdirAll(filepath.Join(inTheWay, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if Write(inTheWay, []byte("x"), 0o600) == nil {
		t.Error("a folder was replaced")
	}
	if names := files(t, dir); len(names) != 1 {
		t.Errorf("the folder holds %q", names)
	}
	if Write(filepath.Join(dir, "missing", "f"), nil, 0o600) == nil {
		t.Error("a file was made in a folder that is not there")
	}
}

func TestTarget(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"real", "sub/real"} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, f)), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, f), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for link, to := range map[string]string{
		"link": "real", "twice": "link", "absolute": filepath.Join(dir, "sub", "real"),
		"dangling": "sub/new", "danglingTwice": "dangling", "loop": "loop2", "loop2": "loop",
	} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"real": "real", "new": "new", "link": "real", "twice": "real", "absolute": "sub/real",
		"dangling": "sub/new", "danglingTwice": "sub/new",
	} {
		if got, err := Target(filepath.Join(dir, path)); err != nil || got != filepath.Join(dir, want) {
			t.Errorf("%s leads to %s (%v), want %s", path, got, err, want)
		}
	}
	if got, err := Target(filepath.Join(dir, "loop")); err == nil {
		t.Errorf("a loop leads to %s", got)
	}
}

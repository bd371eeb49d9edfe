package durable_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/internal/durable"
)

func TestWriteReplacesWhole(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.json")
	for _, text := range []string{"first, and longer", "second"} {
		if err := durable.Write(path, []byte(text)); err != nil {
			t.Fatal(err)
		}
		if got, err := durable.Read(path, 100); err != nil || string(got) != text {
			t.Errorf("%q, %v", got, err)
		}
	}
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
	if err := durable.Write(filepath.Join(dir, "none", "x"), nil); err == nil {
		t.Error("written into a folder that is not there")
	}
}

func TestWriteLeavesNothingBehind(t *testing.T) {
	dir := t.TempDir()
	inTheWay := filepath.Join(dir, "f")
	if err := os.MkdirAll(filepath.Join(inTheWay, "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	if durable.Write(inTheWay, []byte("x")) == nil {
		t.Error("a folder was replaced")
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
}

func TestCreateReplacesNothing(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.json")
	if err := durable.Create(path, []byte("first")); err != nil {
		t.Fatal(err)
	}
	if err := durable.Create(path, []byte("second")); !errors.Is(err, fs.ErrExist) {
		t.Errorf("got %v, want that it is there", err)
	}
	if got, err := durable.Read(path, 100); err != nil || string(got) != "first" {
		t.Errorf("%q, %v", got, err)
	}
	st, err := os.Stat(path)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", st, err)
	}
	if files, _ := os.ReadDir(dir); len(files) != 1 {
		t.Errorf("left behind: %v", files)
	}
	if err := durable.Create(filepath.Join(dir, "none", "x"), nil); err == nil {
		t.Error("made in a folder that is not there")
	}
}

// A write that a crash cut leaves its file behind, which is named as the package
// says.
func TestSweep(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"x.json", "x.json.tmp.0123456789ab", "x.json.corrupt-1", "y.json.tmp.0123456789ab"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	durable.Sweep(filepath.Join(dir, "x.json"))
	var left []string
	files, err := os.ReadDir(dir)
	for _, f := range files {
		left = append(left, f.Name())
	}
	if want := []string{"x.json", "x.json.corrupt-1", "y.json.tmp.0123456789ab"}; err != nil || !slices.Equal(left, want) {
		t.Errorf("%q are left (%v), want %q", left, err, want)
	}
}

func TestReadIsBounded(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x")
	if err := os.WriteFile(path, []byte("12345"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := durable.Read(path, 5); err != nil {
		t.Error(err)
	}
	if _, err := durable.Read(path, 4); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("got %v, want the path", err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{link, dir} {
		if _, err := durable.Read(bad, 5); err == nil {
			t.Errorf("%s was read", bad)
		}
	}
}

func TestSetAsideLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x.json")
	for i, text := range []string{"a", "b"} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		aside, err := durable.SetAside(path)
		if err != nil || !strings.HasPrefix(aside, path+".corrupt-") {
			t.Fatalf("%d: %s, %v", i, aside, err)
		}
		if got, err := os.ReadFile(aside); err != nil || string(got) != text {
			t.Errorf("%d: %q, %v", i, got, err)
		}
		if _, err := os.Stat(path); err == nil {
			t.Error("it is there still")
		}
	}
	if _, err := durable.SetAside(path); err == nil {
		t.Error("what is not there was set aside")
	}
}

// Whatever stands in a file's place: a folder can't be linked, a link is moved
// and not followed.
func TestSetAsideOfNoFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "x.json")
	for n, makeIt := range []func() error{
		func() error { return os.MkdirAll(filepath.Join(path, "sub"), 0o700) },
		func() error { return os.Mkdir(path, 0o700) },
		func() error { return os.Symlink("nowhere", path) },
	} {
		if err := makeIt(); err != nil {
			t.Fatal(err)
		}
		aside, err := durable.SetAside(path)
		if want := fmt.Sprintf("%s.corrupt-%d", path, n+1); err != nil || aside != want {
			t.Fatalf("%s, %v; want %s", aside, err, want)
		}
		if _, err := os.Lstat(aside); err != nil {
			t.Error(err)
		}
		if _, err := os.Lstat(path); err == nil {
			t.Error("it is there still")
		}
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
		if got, err := durable.Target(filepath.Join(dir, path)); err != nil || got != filepath.Join(dir, want) {
			t.Errorf("%s leads to %s (%v), want %s", path, got, err, want)
		}
	}
	if got, err := durable.Target(filepath.Join(dir, "loop")); err == nil {
		t.Errorf("a loop leads to %s", got)
	}
}

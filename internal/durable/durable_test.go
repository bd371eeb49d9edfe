package durable_test

import (
	"os"
	"path/filepath"
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

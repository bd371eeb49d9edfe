package stateroot_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/chant-acp/chant-acp/internal/stateroot"
)

func TestDir(t *testing.T) {
	tmp := t.TempDir()
	t.Setenv("TMPDIR", tmp)
	for _, c := range []struct {
		env  map[string]string
		want string
	}{
		{map[string]string{"CHANT_ACP_STATE": "/s", "XDG_STATE_HOME": "/x", "HOME": "/h"}, "/s"},
		{map[string]string{"XDG_STATE_HOME": "/x", "HOME": "/h"}, "/x/chant-acp"},
		{map[string]string{"HOME": "/h"}, "/h/.local/state/chant-acp"},
		{map[string]string{"CHANT_ACP_STATE": "rel", "XDG_STATE_HOME": "rel", "HOME": "/h"}, "/h/.local/state/chant-acp"},
	} {
		if got := stateroot.Dir(func(k string) string { return c.env[k] }); got != c.want {
			t.Errorf("%v: got %s, want %s", c.env, got, c.want)
		}
	}
	t.Setenv("TMPDIR", filepath.Join(tmp, "missing"))
	if got := stateroot.Dir(func(string) string { return "" }); filepath.Dir(got) != "/tmp" {
		t.Errorf("with a TMPDIR that is not there: %s", got)
	}
	t.Setenv("TMPDIR", tmp)
	if got := stateroot.Dir(func(string) string { return "" }); filepath.Dir(got) != tmp {
		t.Errorf("without a home: got %s, want a folder in %s", got, tmp)
	}
}

func TestMake(t *testing.T) {
	tmp := t.TempDir()
	dir := filepath.Join(tmp, "a", "b")
	if err := stateroot.Make(dir); err != nil {
		t.Fatal(err)
	}
	for _, d := range []string{dir, filepath.Dir(dir)} {
		if st, err := os.Stat(d); err != nil || st.Mode().Perm() != 0o700 {
			t.Errorf("%s: %v %v", d, st.Mode(), err)
		}
	}
	open := filepath.Join(tmp, "open")
	if err := os.Mkdir(open, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := stateroot.Make(open); err != nil {
		t.Error(err)
	}
	if st, _ := os.Stat(open); st.Mode().Perm() != 0o700 {
		t.Error("a folder that others could enter stays so")
	}
	link := filepath.Join(tmp, "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	if stateroot.Make(link) == nil {
		t.Error("a link was taken for a folder")
	}
	foreign := filepath.Join(tmp, "foreign")
	if err := os.MkdirAll(filepath.Join(foreign, "chant-acp"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(foreign, 0o777); err != nil {
		t.Fatal(err)
	}
	if stateroot.Make(filepath.Join(foreign, "chant-acp", "logs")) == nil {
		t.Error("a folder that anybody can exchange was taken")
	}
	if _, err := os.Stat(filepath.Join(foreign, "chant-acp", "logs")); err == nil {
		t.Error("a folder was made in one that anybody can exchange")
	}
	if os.Getuid() == 0 {
		if err := os.Chmod(foreign, 0o770); err != nil {
			t.Fatal(err)
		}
		if err := os.Lchown(foreign, -1, 12345); err != nil {
			t.Fatal(err)
		}
		if stateroot.Make(filepath.Join(foreign, "chant-acp")) == nil {
			t.Error("a folder that another group can exchange was taken")
		}
		if err := os.Chmod(foreign, 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Lchown(foreign, 1, 1); err != nil {
			t.Fatal(err)
		}
		if stateroot.Make(filepath.Join(foreign, "chant-acp")) == nil {
			t.Error("another user's folder was taken")
		}
	}
	file := filepath.Join(tmp, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if stateroot.Make(file) == nil || stateroot.Make(filepath.Join(file, "x")) == nil {
		t.Error("a file was taken for a folder")
	}
}

package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// TestMain makes this test binary a writer where it is started as one.
func TestMain(m *testing.M) {
	if path := os.Getenv("CONFIG_TEST_WRITER"); path != "" {
		writer(path, os.Args[1:])
		return
	}
	os.Exit(m.Run())
}

// writer sets many keys, one Update each.
func writer(path string, keys []string) {
	for _, key := range keys {
		err := Update(path, func(d *Document) error { return d.Set("", key, json.RawMessage(`"`+key+`"`)) })
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

func write(t testing.TB, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func content(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func set(key, value string) func(*Document) error {
	return func(d *Document) error { return d.Set("", key, json.RawMessage(value)) }
}

func names(t *testing.T, dir string) (list []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		list = append(list, e.Name())
	}
	return list
}

func TestLoad(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "config.json")
	if d, err := Load(path); err != nil || d.root != nil {
		t.Errorf("of no file: %v", err)
	}
	if d, err := Load(filepath.Join(path, "x")); err != nil || d.root != nil {
		t.Errorf("in no folder: %v", err)
	}
	write(t, path, "\xef\xbb\xbf{\"log\": {\"max\": 7}}")
	d, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if s, err := d.Settings("", environment()); err != nil || s.Log.Max != 7 {
		t.Errorf("%+v, %v", s, err)
	}
	for name, c := range map[string]struct {
		make func(path string) error
		says string
	}{
		"broken":    {func(p string) error { return os.WriteFile(p, []byte("{\n]"), 0o600) }, ":2:1: "},
		"a folder":  {func(p string) error { return os.Mkdir(p, 0o700) }, "no regular file"},
		"a pipe":    {func(p string) error { return syscall.Mkfifo(p, 0o600) }, "no regular file"},
		"too large": {func(p string) error { return os.WriteFile(p, make([]byte, MaxFile+1), 0o600) }, "larger than"},
		"open to all": {func(p string) error {
			return errors.Join(os.WriteFile(p, nil, 0o600), os.Chmod(p, 0o666))
		}, "everyone may write to it"},
		"a loop of links": {func(p string) error { return os.Symlink(p, p) }, "symbolic links"},
	} {
		p := filepath.Join(dir, name)
		if err := c.make(p); err != nil {
			t.Fatal(err)
		}
		d, err := Load(p)
		if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), p) {
			t.Errorf("%s: %v", name, err)
		}
		if d == nil || d.root != nil {
			t.Errorf("%s: no empty document", name)
		}
	}
	if os.Getuid() == 0 {
		if err := os.Chown(path, 1, 1); err != nil {
			t.Fatal(err)
		}
		if _, err := Load(path); err == nil || !strings.Contains(err.Error(), "another user") {
			t.Error(err)
		}
	}
}

func TestUpdateMakesTheFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a", "b")
	path := filepath.Join(dir, "config.json")
	no := errors.New("no")
	if err := Update(path, func(*Document) error { return no }); !errors.Is(err, no) {
		t.Error(err)
	}
	if err := Update(path, func(*Document) error { return nil }); err != nil {
		t.Error(err)
	}
	if list := names(t, dir); len(list) > 0 {
		t.Errorf("changes that were none left %q", list)
	}
	if err := Update(path, set("daemon.port", "5")); err != nil {
		t.Fatal(err)
	}
	if got, want := content(t, path), "{\n  \"version\": 1,\n  \"daemon\": {\n    \"port\": 5\n  }\n}\n"; got != want {
		t.Errorf("it holds %q", got)
	}
	for p, mode := range map[string]fs.FileMode{path: 0o600, dir: 0o700} {
		if st, err := os.Stat(p); err != nil || st.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v", p, st.Mode(), err)
		}
	}
	if list := names(t, dir); len(list) != 1 {
		t.Errorf("it left %q", list)
	}
}

func TestUpdateLeavesBrokenFiles(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	for _, text := range []string{"{\"a\": 1,}", "[]", "{\"version\": 2}"} {
		write(t, path, text)
		var broken *SyntaxError
		called := false
		err := Update(path, func(*Document) error { called = true; return nil })
		if !errors.As(err, &broken) || called || content(t, path) != text {
			t.Errorf("%s: %v, %v, %s", text, err, called, content(t, path))
		}
	}
}

func TestUpdateAddsTheVersion(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	for before, after := range map[string]string{
		`{"z": 1}`:       `{"z": 1, "x": 2, "version": 1}`,
		`{"version": 0}`: `{"version": 1, "x": 2}`,
	} {
		write(t, path, before)
		if err := Update(path, set("x", "2")); err != nil || content(t, path) != after {
			t.Errorf("%s became %s, %v", before, content(t, path), err)
		}
	}
}

func TestUpdateFollowsLinks(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, there := range []bool{true, false} {
		target := filepath.Join(dir, fmt.Sprint("dotfiles", there), "chant.json")
		link := filepath.Join(dir, fmt.Sprint("home", there), "config.json")
		write(t, filepath.Join(filepath.Dir(link), "other"), "")
		if there {
			write(t, target, `{"z": 1}`)
		}
		if err := os.Symlink(target, link); err != nil {
			t.Fatal(err)
		}
		if err := Update(link, set("x", "2")); err != nil {
			t.Fatal(err)
		}
		if to, err := os.Readlink(link); err != nil || to != target {
			t.Errorf("the link leads to %q, %v", to, err)
		}
		if !strings.Contains(content(t, target), `"x": 2`) {
			t.Errorf("it holds %s", content(t, target))
		}
		if list := names(t, filepath.Dir(target)); len(list) != 1 {
			t.Errorf("it left %q", list)
		}
	}
}

// An editor that knows of no lock must not be overwritten.
func TestUpdateSeesOthers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	for name, meddle := range map[string]func(){
		"in place": func() { write(t, path, `{"theirs": 1}`) },
		"replaced": func() {
			write(t, path+".new", `{"theirs": 1}`)
			if err := os.Rename(path+".new", path); err != nil {
				t.Fatal(err)
			}
		},
	} {
		write(t, path, `{"z": 1}`)
		err := Update(path, func(d *Document) error {
			meddle()
			return d.Set("", "x", json.RawMessage("2"))
		})
		if !errors.Is(err, ErrChanged) || content(t, path) != `{"theirs": 1}` {
			t.Errorf("%s: %v, %s", name, err, content(t, path))
		}
	}
}

func TestReplace(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config.json")
	if err := Replace(path, nil, []byte("{}")); err != nil || content(t, path) != "{\n  \"version\": 1\n}" {
		t.Errorf("%v, %q", err, content(t, path))
	}
	write(t, path, "broken")
	if err := Replace(path, []byte("other"), []byte("{}")); !errors.Is(err, ErrChanged) {
		t.Error(err)
	}
	var broken *SyntaxError
	if err := Replace(path, []byte("broken"), []byte("{")); !errors.As(err, &broken) {
		t.Error(err)
	}
	if got := content(t, path); got != "broken" {
		t.Errorf("it holds %q", got)
	}
	if err := Replace(path, []byte("broken"), []byte(`{"version": 1}`)); err != nil || content(t, path) != `{"version": 1}` {
		t.Errorf("%v, %q", err, content(t, path))
	}
}

// Concurrent writers, in processes of their own and within one, lose nothing.
func TestConcurrentWriters(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "config.json")
	const processes, each = 12, 8
	var all []string
	var running sync.WaitGroup
	for p := range processes {
		var keys []string
		for k := range each {
			keys = append(keys, fmt.Sprintf("writers.p%d.k%d", p, k))
		}
		all = append(all, keys...)
		running.Go(func() {
			if p%4 == 0 {
				for _, key := range keys {
					if err := Update(path, set(key, `"`+key+`"`)); err != nil {
						t.Error(err)
					}
				}
				return
			}
			c := exec.Command(os.Args[0], keys...)
			c.Env = append(os.Environ(), "CONFIG_TEST_WRITER="+path)
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
	running.Wait()
	d, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range all {
		if got, ok, err := d.Get("", key); !ok || err != nil || string(got) != `"`+key+`"` {
			t.Errorf("%s: %s, %v, %v", key, got, ok, err)
		}
	}
	if list := names(t, filepath.Dir(path)); len(list) != 1 {
		t.Errorf("they left %q", list)
	}
}

func TestOpen(t *testing.T) {
	dir := t.TempDir()
	good, bad := filepath.Join(dir, "good.json"), filepath.Join(dir, "bad.json")
	for file, text := range map[string]string{good: `{"log": {"max": 1000}}`, bad: "{,}"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for env, want := range map[string]struct {
		text string
		err  bool
	}{
		"":                                       {"", false}, // no home
		"HOME=" + dir:                            {"", false}, // no file
		"CHANT_ACP_CONFIG=" + good:               {`{"log": {"max": 1000}}`, false},
		"CHANT_ACP_CONFIG=" + bad:                {"", true},
		"CHANT_ACP_CONFIG=" + filepath.Base(dir): {"", true}, // relative
	} {
		name, value, _ := strings.Cut(env, "=")
		d, err := Open(func(asked string) string {
			if asked == name {
				return value
			}
			return ""
		})
		if d == nil || string(d.text) != want.text || (err != nil) != want.err {
			t.Errorf("%q: %v, %v", env, d, err)
		}
	}
}

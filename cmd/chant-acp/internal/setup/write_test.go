package setup

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// desk is a person's home with a settings file of one client in it.
type desk struct {
	t      *testing.T
	o      Options
	target *Target
	path   string
}

func newDesk(t *testing.T, client string) *desk {
	t.Helper()
	o := plain()
	o.Home, o.Dir = t.TempDir(), t.TempDir()
	o.now = func() time.Time { return time.Date(2026, 3, 4, 5, 6, 7, 0, time.FixedZone("", 3600)) }
	target, err := Lookup(client)
	if err != nil {
		t.Fatal(err)
	}
	path, err := target.Path(o)
	if err != nil {
		t.Fatal(err)
	}
	return &desk{t, o, target, path}
}

func (d *desk) put(content string, mode fs.FileMode) {
	d.t.Helper()
	if err := os.MkdirAll(filepath.Dir(d.path), 0o700); err != nil {
		d.t.Fatal(err)
	}
	if err := os.WriteFile(d.path, []byte(content), 0o600); err != nil {
		d.t.Fatal(err)
	}
	if err := os.Chmod(d.path, mode); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) write() Change {
	d.t.Helper()
	c, err := d.target.Write(d.o)
	if err != nil {
		d.t.Fatal(err)
	}
	return c
}

func (d *desk) read(path string) string {
	d.t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		d.t.Fatal(err)
	}
	return string(b)
}

// files are the names beside the settings file.
func (d *desk) files() []string {
	d.t.Helper()
	entries, err := os.ReadDir(filepath.Dir(d.path))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		d.t.Fatal(err)
	}
	names := []string{}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func (d *desk) refuses(want string) {
	d.t.Helper()
	before, had := os.ReadFile(d.path)
	names := d.files()
	c, err := d.target.Write(d.o)
	if err == nil || !strings.Contains(err.Error(), want) {
		d.t.Fatalf("got %+v, %v; want an error with %q", c, err, want)
	}
	after, has := os.ReadFile(d.path)
	if string(before) != string(after) || (had == nil) != (has == nil) {
		d.t.Errorf("the file changed from %q to %q", before, after)
	}
	if diff := cmp.Diff(names, d.files()); diff != "" {
		d.t.Errorf("files were left or lost: %s", diff)
	}
}

func has(t *testing.T, text string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(text, p) {
			t.Errorf("%q does not say %q", text, p)
		}
	}
}

// A new file holds what is printed, for each client that is written.
func TestWriteNewFile(t *testing.T) {
	for _, client := range []string{"zed", "jetbrains", "vscode", "acpx"} {
		d := newDesk(t, client)
		c := d.write()
		if !c.Created || c.Unchanged || c.Backup != "" || c.Path != d.path {
			t.Errorf("%s: %+v", client, c)
		}
		if diff := cmp.Diff(d.target.Snippet(d.o), d.read(d.path)); diff != "" {
			t.Error(client, diff)
		}
		has(t, c.Summary, d.path, "added")
		has(t, c.Diff, "@@ line 1 @@\n+{\n")
		if again := d.write(); !again.Unchanged || again.Created || again.Backup != "" || again.Diff != "" {
			t.Errorf("%s, again: %+v", client, again)
		}
		if diff := cmp.Diff([]string{filepath.Base(d.path)}, d.files()); diff != "" {
			t.Error(client, diff)
		}
	}
}

func TestWriteKeepsWhatIsThere(t *testing.T) {
	d := newDesk(t, "zed")
	const before = "// my settings\n{\n  \"theme\": \"One Dark\", // dark\n}\n"
	const after = "// my settings\n{\n  \"theme\": \"One Dark\", // dark\n  \"agent_servers\": {\n    \"chant\": {\n      \"type\": \"custom\",\n      \"command\": \"/usr/local/bin/chant-acp\",\n      \"args\": [],\n      \"env\": {}\n    }\n  },\n}\n"
	d.put(before, 0o640)
	c := d.write()
	if c.Created || c.Unchanged || c.Backup != d.path+".chant-acp-backup-20260304T040607Z" {
		t.Errorf("%+v", c)
	}
	if diff := cmp.Diff(after, d.read(d.path)); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, d.read(c.Backup)); diff != "" {
		t.Error(diff)
	}
	for _, p := range []string{d.path, c.Backup} {
		if info, err := os.Stat(p); err != nil || info.Mode().Perm() != 0o640 {
			t.Errorf("%s: %v, %v", p, info.Mode(), err)
		}
	}
	want := "@@ line 4 @@\n+  \"agent_servers\": {\n+    \"chant\": {\n+      \"type\": \"custom\",\n+      \"command\": \"/usr/local/bin/chant-acp\",\n+      \"args\": [],\n+      \"env\": {}\n+    }\n+  },\n"
	if diff := cmp.Diff(want, c.Diff); diff != "" {
		t.Error(diff)
	}
	if again := d.write(); !again.Unchanged || !strings.Contains(again.Summary, "Nothing to change") {
		t.Errorf("%+v", again)
	}
	if len(d.files()) != 2 {
		t.Errorf("left %q", d.files())
	}
}

func TestBackupsNeverOverwrite(t *testing.T) {
	d := newDesk(t, "jetbrains")
	d.put("{}", 0o600)
	first := d.write()
	d.o.Binary = "/opt/chant-acp"
	second := d.write()
	if first.Backup == second.Backup || second.Backup != first.Backup+"-2" {
		t.Errorf("%q and %q", first.Backup, second.Backup)
	}
	if d.read(first.Backup) != "{}" || !strings.Contains(d.read(second.Backup), "/usr/local/bin") {
		t.Error("a backup holds the wrong version")
	}
}

// An entry that is there keeps what a person put into it.
func TestWriteUpdatesEntry(t *testing.T) {
	const bin = `"/usr/local/bin/chant-acp"`
	for _, c := range []struct {
		name, client, in, want string
		says                   []string
	}{
		{"command only", "jetbrains", `{"agent_servers": {"chant": {"command": "/old", "args": ["-x"], "env": {"K": "secret"}}}}`,
			`{"agent_servers": {"chant": {"command": ` + bin + `, "args": ["-x"], "env": {"K": "secret"}}}}`,
			[]string{`set its command, which was "/old"`, "kept its args, env", "its args are yours"}},
		{"args where there are none", "jetbrains", `{"agent_servers": {"chant": {"command": "/old"}}}`,
			`{"agent_servers": {"chant": {"command": ` + bin + `, "args": []}}}`, []string{"set its command", "added its args"}},
		{"type where there is none", "zed", `{"agent_servers": {"chant": {"command": ` + bin + `, "args": []}}}`,
			`{"agent_servers": {"chant": {"command": ` + bin + `, "args": [], "type": "custom"}}}`, []string{"added its type"}},
		{"acpx argv", "acpx", `{"agents": {"chant": {"argv": ["/old", /* c */ "-x"]}}}`,
			`{"agents": {"chant": {"argv": [` + bin + `, /* c */ "-x"]}}}`, []string{`set its program, which was "/old"`, "arguments in its argv are yours", "comments or trailing commas"}},
		{"acpx command and args", "acpx", `{"agents": {"chant": {"command": "node", "args": ["a.mjs"]}}}`,
			`{"agents": {"chant": {"command": ` + bin + `, "args": ["a.mjs"]}}}`, []string{`which was "node"`, "kept its args"}},
		{"acpx command line", "acpx", `{"agents": {"chant": {"command": "node a.mjs"}}}`,
			`{"agents": {"chant": {"command": ` + bin + `}}}`, []string{`which was "node a.mjs"`}},
		{"acpx command line of ours", "acpx", `{"agents": {"chant": {"command": "/usr/local/bin/chant-acp serve"}}}`,
			`{"agents": {"chant": {"command": "/usr/local/bin/chant-acp serve"}}}`, []string{"Nothing to change"}},
		{"acpx empty entry", "acpx", `{"agents": {"chant": {}}}`,
			`{"agents": {"chant": {"argv": [` + bin + `]}}}`, []string{"added its argv"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newDesk(t, c.client)
			d.put(c.in, 0o600)
			change := d.write()
			if diff := cmp.Diff(c.want, d.read(d.path)); diff != "" {
				t.Error(diff)
			}
			has(t, change.Summary, c.says...)
			if strings.Contains(change.Summary, "secret") {
				t.Errorf("a value of the environment is in %q", change.Summary)
			}
			if !d.write().Unchanged {
				t.Error("a second write changed it")
			}
		})
	}
}

func TestWriteArgs(t *testing.T) {
	d := newDesk(t, "acpx")
	d.o = Options{Binary: awkward().Binary, Args: awkward().Args, Home: d.o.Home, Dir: d.o.Dir, GOOS: "linux"}
	d.put(`{"agents": {"chant": {"command": "x"}}}`, 0o600)
	d.write()
	want := `{"agents": {"chant": {"command": "'/opt/my \"tools\"/ü\\x/it'\"'\"'s chant-acp' --log-file 'a\tb'"}}}`
	if diff := cmp.Diff(want, d.read(d.path)); diff != "" {
		t.Error(diff)
	}
}

func TestWriteRefuses(t *testing.T) {
	t.Run("not JSON", func(t *testing.T) {
		d := newDesk(t, "zed")
		d.put("{\n  oops\n}", 0o600)
		d.refuses("line 2, column 3")
	})
	t.Run("the registry's agent", func(t *testing.T) {
		d := newDesk(t, "zed")
		d.put(`{"agent_servers": {"chant": {"type": "registry"}}}`, 0o600)
		d.refuses(`"type" is "registry"`)
	})
	t.Run("read-only file", func(t *testing.T) {
		d := newDesk(t, "zed")
		d.put("{}", 0o444)
		d.refuses("is read-only")
	})
	t.Run("read-only folder", func(t *testing.T) {
		d := newDesk(t, "zed")
		d.put("{}", 0o644)
		dir := filepath.Dir(d.path)
		if err := os.Chmod(dir, 0o500); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(dir, 0o700) })
		d.refuses("folder " + dir + " is read-only")
	})
	t.Run("a folder in the file's place", func(t *testing.T) {
		d := newDesk(t, "zed")
		if err := os.MkdirAll(d.path, 0o700); err != nil {
			t.Fatal(err)
		}
		d.refuses("not a regular file")
	})
	t.Run("a file in the folder's place", func(t *testing.T) {
		d := newDesk(t, "jetbrains")
		if err := os.WriteFile(filepath.Dir(d.path), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := d.target.Write(d.o); err == nil {
			t.Error("it was written")
		}
	})
	t.Run("too large", func(t *testing.T) {
		d := newDesk(t, "zed")
		d.put("{}", 0o600)
		if err := os.Truncate(d.path, 16<<20+1); err != nil {
			t.Fatal(err)
		}
		d.refuses("16777217 bytes")
	})
	t.Run("no home", func(t *testing.T) {
		d := newDesk(t, "zed")
		d.o.Home = ""
		d.refuses("HOME is not set")
	})
	t.Run("relative binary", func(t *testing.T) {
		d := newDesk(t, "zed")
		d.o.Binary = "chant-acp"
		d.refuses("must be absolute")
	})
	t.Run("binary that is not text", func(t *testing.T) {
		d := newDesk(t, "zed")
		d.o.Binary = "/a\xff"
		d.refuses("not UTF-8 text")
	})
	t.Run("acpx args beside a command with a space", func(t *testing.T) {
		d := newDesk(t, "acpx")
		d.o.Binary = "/a b"
		d.put(`{"agents": {"chant": {"command": "x", "args": []}}}`, 0o600)
		d.refuses(`{"argv": ["/a b"]}`)
	})
	t.Run("acpx command line on Windows", func(t *testing.T) {
		d := newDesk(t, "acpx")
		d.o.GOOS = "windows"
		d.put(`{"agents": {"chant": {"command": "x"}}}`, 0o600)
		d.refuses(`"argv"`)
	})
	t.Run("acpx argv that is no list", func(t *testing.T) {
		d := newDesk(t, "acpx")
		d.put(`{"agents": {"chant": {"argv": []}}}`, 0o600)
		d.refuses("line 1, column 31: argv must be a list")
	})
	t.Run("printed only", func(t *testing.T) {
		for _, client := range []string{"emacs", "neovim", "codecompanion", "avante", "fountain"} {
			target, err := Lookup(client)
			if err != nil {
				t.Fatal(err)
			}
			if c, err := target.Write(plain()); err == nil {
				t.Errorf("%s: %+v", client, c)
			}
		}
	})
}

func TestWriteFollowsLink(t *testing.T) {
	d := newDesk(t, "zed")
	dotfiles := filepath.Join(t.TempDir(), "zed.json")
	if err := os.MkdirAll(filepath.Dir(d.path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(dotfiles, d.path); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	d.refuses("make it point to a file")
	if err := os.WriteFile(dotfiles, []byte("{}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	c := d.write()
	real, err := filepath.EvalSymlinks(dotfiles)
	if err != nil {
		t.Fatal(err)
	}
	if c.Path != real || filepath.Dir(c.Backup) != filepath.Dir(real) {
		t.Errorf("%+v; the file is %s", c, real)
	}
	if to, err := os.Readlink(d.path); err != nil || to != dotfiles {
		t.Errorf("the link is now %q, %v", to, err)
	}
	if diff := cmp.Diff(d.target.Snippet(d.o), d.read(dotfiles)); diff != "" {
		t.Error(diff)
	}
}

// A project is input: a link in it may not choose which file is edited.
func TestWriteStaysInProject(t *testing.T) {
	d := newDesk(t, "acpx")
	d.path = filepath.Join(d.o.Dir, ".acpxrc.json")
	inside := filepath.Join(d.o.Dir, "acpx.json")
	outside := filepath.Join(t.TempDir(), "other.json")
	for _, f := range []string{inside, outside} {
		if err := os.WriteFile(f, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(outside, d.path); err != nil {
		t.Skip("no symbolic links here:", err)
	}
	d.refuses("leads out of the project")
	if err := os.Remove(d.path); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(inside, d.path); err != nil {
		t.Fatal(err)
	}
	d.write()
	has(t, d.read(inside), `"argv"`)
}

// The client may write its settings between our reading and our writing.
func TestReplaceSeesChange(t *testing.T) {
	d := newDesk(t, "zed")
	d.put("{}", 0o600)
	f, err := load(d.path)
	if err != nil {
		t.Fatal(err)
	}
	d.put(`{"new": 1}`, 0o600)
	if _, err := f.replace([]byte("x"), time.Now()); err == nil || !strings.Contains(err.Error(), "changed meanwhile") {
		t.Errorf("got %v", err)
	}
	if d.read(d.path) != `{"new": 1}` || len(d.files()) != 1 {
		t.Errorf("%q in %q", d.read(d.path), d.files())
	}
}

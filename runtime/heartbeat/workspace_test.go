package heartbeat_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/runtime/heartbeat"
)

const good = "```chant\nevery: 1m\none\n```\n"

func TestRead(t *testing.T) {
	for name, test := range map[string]struct {
		make func(dir, file string) error
		want string // in the error; "" for none
	}{
		"a file":             {func(_, f string) error { return os.WriteFile(f, []byte(good), 0o600) }, ""},
		"a link inside":      {func(d, f string) error { return linked(filepath.Join(d, "docs"), "docs/H.md", f) }, ""},
		"a link to outside":  {func(d, f string) error { return linked(filepath.Dir(d), "../H.md", f) }, "a link to one inside of it"},
		"an absolute link":   {func(d, f string) error { return linked(filepath.Dir(d), filepath.Join(filepath.Dir(d), "H.md"), f) }, "a link to one inside of it"},
		"a link to nothing":  {func(_, f string) error { return os.Symlink("none", f) }, "a link to something that is not there"},
		"a link to itself":   {func(_, f string) error { return os.Symlink(heartbeat.FileName, f) }, "is not used"},
		"a folder":           {func(_, f string) error { return os.Mkdir(f, 0o755) }, "not a regular file"},
		"a pipe":             {func(_, f string) error { return syscall.Mkfifo(f, 0o600) }, "not a regular file"},
		"a link to a device": {func(_, f string) error { return os.Symlink("/dev/zero", f) }, "a link to one inside of it"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "ws")
			file := filepath.Join(dir, heartbeat.FileName)
			if err := errors.Join(os.Mkdir(dir, 0o755), test.make(dir, file)); err != nil {
				t.Fatal(err)
			}
			f, err := heartbeat.Read(dir)
			if test.want != "" {
				if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), file) || errors.Is(err, heartbeat.ErrNoFile) {
					t.Errorf("the error is %v", err)
				}
				return
			}
			if err != nil || f.Err != nil || len(f.Plan.Jobs) != 1 || len(f.Digest) != 64 {
				t.Errorf("%+v %v", f, err)
			}
		})
	}
	if _, err := heartbeat.Read(t.TempDir()); !errors.Is(err, heartbeat.ErrNoFile) {
		t.Errorf("without a file: %v", err)
	}
	if _, err := heartbeat.Read(filepath.Join(t.TempDir(), "none")); err == nil || !strings.Contains(err.Error(), "workspace") {
		t.Errorf("without a workspace: %v", err)
	}
}

// linked puts a file into a folder and a link to it at file.
func linked(dir, target, file string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return errors.Join(os.WriteFile(filepath.Join(dir, "H.md"), []byte(good), 0o600), os.Symlink(target, file))
}

func TestTooLarge(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, heartbeat.FileName), make([]byte, heartbeat.MaxFile+100), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := heartbeat.Read(dir)
	if err != nil || f.Err == nil || !strings.Contains(f.Err.Error(), "larger than 262144 bytes") {
		t.Errorf("%+v %v", f, err)
	}
	if err := heartbeat.Trust(t.TempDir(), f, nil, time.Now()); err == nil {
		t.Error("it was trusted")
	}
}

// The yes is to the content, by the real path of the workspace.
func TestTrust(t *testing.T) {
	dir, state := t.TempDir(), filepath.Join(t.TempDir(), "state")
	write := func(text string) *heartbeat.File {
		t.Helper()
		if err := os.WriteFile(filepath.Join(dir, heartbeat.FileName), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		f, err := heartbeat.Read(dir)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	trusted := func() bool {
		t.Helper()
		s, err := heartbeat.Look(state, link, time.Now())
		if err != nil || s.FileErr != nil || s.GrantErr != nil || s.StateErr != nil {
			t.Fatal(s, err)
		}
		return s.Trusted()
	}
	if f := write("only words"); heartbeat.Trust(state, f, nil, time.Now()) == nil {
		t.Error("a file without jobs was trusted")
	}
	f := write(good)
	if trusted() {
		t.Error("it is trusted and nobody said so")
	}
	if _, err := os.Stat(state); !errors.Is(err, fs.ErrNotExist) {
		t.Error("looking has made something:", err)
	}
	write(good + "\n") // after it was shown, before the yes
	if err := heartbeat.Trust(state, f, nil, time.Now()); err != nil {
		t.Fatal(err)
	}
	if trusted() {
		t.Error("the yes counts for what was not shown")
	}
	write(good)
	if !trusted() {
		t.Error("the yes does not count")
	}
	if was, err := heartbeat.Untrust(state, link); !was || err != nil || trusted() {
		t.Error(was, err)
	}
}

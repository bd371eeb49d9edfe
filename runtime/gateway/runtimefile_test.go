package gateway

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/chant-acp/chant-acp/internal/flock"
)

func TestRuntimeFile(t *testing.T) {
	workspace := t.TempDir()
	g, err := New(Options{Workspace: workspace})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Find(workspace); !errors.Is(err, ErrNoGateway) {
		t.Errorf("before the start: %v", err)
	}
	if err := g.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(workspace, ".chant-acp", "runtime.json")
	for path, mode := range map[string]fs.FileMode{file: 0o600, filepath.Dir(file): fs.ModeDir | 0o700} {
		if st, err := os.Lstat(path); err != nil || st.Mode() != mode {
			t.Errorf("%s: %v %v, want %v", path, st.Mode(), err, mode)
		}
	}
	if ignore, err := os.ReadFile(filepath.Join(filepath.Dir(file), ".gitignore")); string(ignore) != "*\n" {
		t.Errorf("%q %v", ignore, err)
	}
	at, err := Find(workspace)
	if err != nil || at.URL != g.URL() || at.Token != g.Token() || at.PID != os.Getpid() || at.Version != 1 || at.Started.IsZero() {
		t.Errorf("%+v %v", at, err)
	}

	second, err := New(Options{Workspace: workspace})
	if err != nil {
		t.Fatal(err)
	}
	var running *RunningError
	if err := second.Start(t.Context()); !errors.As(err, &running) || running.Running.URL != g.URL() {
		t.Errorf("a second start: %v", err)
	} else if !strings.Contains(err.Error(), g.URL()) || strings.Contains(err.Error(), g.Token()) {
		t.Errorf("it says %q", err)
	}
	if again, err := Find(workspace); err != nil || again != at {
		t.Errorf("after the second start: %+v %v", again, err)
	}
	if err := g.Start(t.Context()); err == nil {
		t.Error("it started twice")
	}
	for range 2 {
		if err := g.Stop(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Lstat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after the stop: %v", err)
	}
	if _, err := Find(workspace); !errors.Is(err, ErrNoGateway) {
		t.Errorf("after the stop: %v", err)
	}
}

// TestStaleRuntimeFile: what a gateway left that was killed is no gateway, and is
// replaced.
func TestStaleRuntimeFile(t *testing.T) {
	workspace := t.TempDir()
	file := filepath.Join(workspace, ".chant-acp", "runtime.json")
	write(t, file, `{"version":1,"url":"http://127.0.0.1:9","token":"old","pid":1}`, 0o600)
	if _, err := Find(workspace); !errors.Is(err, ErrNoGateway) {
		t.Errorf("a dead gateway: %v", err)
	}
	r := start(t, func(o *Options) { o.Workspace = workspace })
	if at, err := Find(workspace); err != nil || at.Token != r.Token() {
		t.Errorf("%+v %v", at, err)
	}
	wantProblem(t, r.request("GET", "/runs", "", "Authorization", "Bearer old"), http.StatusUnauthorized, "unauthorized")
}

// TestUnbelievable: what a project may bring along is not believed.
func TestUnbelievable(t *testing.T) {
	for name, prepare := range map[string]func(t *testing.T, workspace string){
		"a link for a folder": func(t *testing.T, w string) {
			write(t, filepath.Join(w, "real", "runtime.json"), `{"url":"http://127.0.0.1:1"}`, 0o600)
			link(t, "real", filepath.Join(w, ".chant-acp"))
		},
		"a link for a file": func(t *testing.T, w string) {
			write(t, filepath.Join(w, "real.json"), `{"url":"http://127.0.0.1:1"}`, 0o600)
			write(t, filepath.Join(w, ".chant-acp", "x"), "", 0o600)
			link(t, "../real.json", filepath.Join(w, ".chant-acp", "runtime.json"))
		},
		"others may read it": func(t *testing.T, w string) {
			write(t, filepath.Join(w, ".chant-acp", "runtime.json"), `{"url":"http://127.0.0.1:1"}`, 0o644)
		},
		"another machine": func(t *testing.T, w string) {
			write(t, filepath.Join(w, ".chant-acp", "runtime.json"), `{"url":"http://192.0.2.1:1"}`, 0o600)
		},
		"a name": func(t *testing.T, w string) {
			write(t, filepath.Join(w, ".chant-acp", "runtime.json"), `{"url":"http://localhost:1"}`, 0o600)
		},
		"no JSON": func(t *testing.T, w string) {
			write(t, filepath.Join(w, ".chant-acp", "runtime.json"), `{`, 0o600)
		},
		"a folder": func(t *testing.T, w string) {
			write(t, filepath.Join(w, ".chant-acp", "runtime.json", "x"), ``, 0o600)
		},
	} {
		t.Run(name, func(t *testing.T) {
			workspace := t.TempDir()
			prepare(t, workspace)
			if at, err := Find(workspace); err == nil || errors.Is(err, ErrNoGateway) {
				t.Errorf("%+v %v", at, err)
			}
		})
	}
}

func link(t *testing.T, to, at string) {
	t.Helper()
	if err := os.Symlink(to, at); err != nil {
		t.Fatal(err)
	}
}

// TestBadWorkspaces: each is a sentence, and nothing is left behind.
func TestBadWorkspaces(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(t *testing.T, dir string) (workspace string)
		want    string
	}{
		"missing": {func(t *testing.T, dir string) string { return filepath.Join(dir, "missing") }, "missing"},
		"a file": {func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, "file"), "", 0o600)
			return filepath.Join(dir, "file")
		}, "not a folder"},
		"a link for its folder": {func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, "elsewhere", "x"), "", 0o600)
			link(t, "elsewhere", filepath.Join(dir, ".chant-acp"))
			return dir
		}, "not a real folder"},
		"a folder for all": {func(t *testing.T, dir string) string {
			if err := os.Mkdir(filepath.Join(dir, ".chant-acp"), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Chmod(filepath.Join(dir, ".chant-acp"), 0o777); err != nil {
				t.Fatal(err)
			}
			return dir
		}, "only you may write to"},
		"read-only": {func(t *testing.T, dir string) string {
			if os.Getuid() == 0 {
				t.Skip("root writes anywhere")
			}
			if err := os.Chmod(dir, 0o500); err != nil {
				t.Fatal(err)
			}
			return dir
		}, "permission denied"},
		"no place for a lock": {func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, ".chant-acp", "gateway.lock", "x"), "", 0o600)
			return dir
		}, "taking the workspace"},
		"no place for the address": {func(t *testing.T, dir string) string {
			write(t, filepath.Join(dir, ".chant-acp", "runtime.json", "x"), "", 0o600)
			return dir
		}, "runtime.json"},
	} {
		t.Run(name, func(t *testing.T) {
			g, err := New(Options{Workspace: c.prepare(t, t.TempDir())})
			if err != nil {
				t.Fatal(err)
			}
			if err := g.Start(t.Context()); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
			if err := g.Stop(context.Background()); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestPortInUse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	workspace := t.TempDir()
	g, err := New(Options{Workspace: workspace, Port: l.Addr().(*net.TCPAddr).Port})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "is in use") {
		t.Errorf("%v", err)
	}
	if _, err := Find(workspace); !errors.Is(err, ErrNoGateway) {
		t.Errorf("after a failed start: %v", err)
	}
	start(t, func(o *Options) { o.Workspace = workspace }) // the workspace is free again
}

func TestBadBind(t *testing.T) {
	g, err := New(Options{Workspace: t.TempDir(), Bind: "192.0.2.1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "not an address of this machine") {
		t.Errorf("%v", err)
	}
}

// TestIgnored: the folder is out of version control also where something that
// does not see to that has its file's name: a start that found the disk full left
// it empty, or the project brought along what keeps nothing out.
func TestIgnored(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(t *testing.T, dir, path string)
		want    string
	}{
		"nothing":         {func(*testing.T, string, string) {}, "*\n"},
		"an empty file":   {func(t *testing.T, _, path string) { write(t, path, "", 0o600) }, "*\n"},
		"a link":          {func(t *testing.T, _, path string) { link(t, "../other", path) }, "*\n"},
		"a dangling link": {func(t *testing.T, _, path string) { link(t, "nowhere", path) }, "*\n"},
		"the project's":   {func(t *testing.T, _, path string) { write(t, path, "!*\n", 0o600) }, "*\n"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			write(t, filepath.Join(dir, "other"), "theirs", 0o600)
			if err := os.Mkdir(filepath.Join(dir, folderName), 0o700); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, folderName, ".gitignore")
			c.prepare(t, dir, path)
			g, err := New(Options{Workspace: dir})
			if err != nil {
				t.Fatal(err)
			}
			if err := errors.Join(g.Start(t.Context()), g.Stop(context.Background())); err != nil {
				t.Fatal(err)
			}
			st, err := os.Lstat(path)
			if err != nil || !st.Mode().IsRegular() {
				t.Fatalf("%v %v", st, err)
			}
			if text, err := os.ReadFile(path); err != nil || string(text) != c.want {
				t.Errorf("%q %v", text, err)
			}
			if text, err := os.ReadFile(filepath.Join(dir, "other")); err != nil || string(text) != "theirs" {
				t.Errorf("%q %v", text, err)
			}
		})
	}
}

// Who looks for a gateway while one starts keeps none from starting.
func TestFindWhileOneStarts(t *testing.T) {
	workspace := t.TempDir()
	stop := make(chan struct{})
	var looking sync.WaitGroup
	for range 4 {
		looking.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					_, _ = flock.Held(filepath.Join(workspace, folderName, lockName))
				}
			}
		})
	}
	for range 200 {
		c, err := claimWorkspace(t.Context(), workspace)
		if err != nil {
			t.Error(err)
			break
		}
		if err := c.release(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	looking.Wait()
}

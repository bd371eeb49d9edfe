package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/chant-acp/chant-acp/runtime/gateway"
	"github.com/chant-acp/chant-acp/runtime/gateway/client"
)

// started is a gateway that runs in a workspace.
func started(t *testing.T, workspace string) *gateway.Gateway {
	t.Helper()
	g, err := gateway.New(gateway.Options{Workspace: workspace})
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Start(context.Background()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := g.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return g
}

// physical is a temporary folder without links in its path.
func physical(t *testing.T) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// TestFindBelievesOnlyItsOwn changes what a running gateway wrote, each way that
// somebody else, or a project that was cloned, could have.
func TestFindBelievesOnlyItsOwn(t *testing.T) {
	type at struct {
		t                 *testing.T
		workspace, folder string
		file              string
	}
	rewrite := func(change func(map[string]any)) func(at) {
		return func(a at) {
			raw, err := os.ReadFile(a.file)
			must(a.t, err)
			var doc map[string]any
			must(a.t, json.Unmarshal(raw, &doc))
			change(doc)
			raw, err = json.Marshal(doc)
			must(a.t, err)
			must(a.t, os.WriteFile(a.file, raw, 0o600))
		}
	}
	url := func(text string) func(at) { return rewrite(func(doc map[string]any) { doc["url"] = text }) }
	for name, c := range map[string]struct {
		change func(at)
		says   string // "": it is believed
	}{
		"as it was":         {func(at) {}, ""},
		"another loopback":  {url("http://127.1.2.3:1"), ""},
		"IPv6 loopback":     {url("http://[::1]:1"), ""},
		"another machine":   {url("http://192.0.2.1:18790"), "not an address of this machine alone"},
		"any address":       {url("http://0.0.0.0:18790"), "not an address of this machine alone"},
		"a name":            {url("http://localhost:18790"), "not an address of this machine alone"},
		"a name like one":   {url("http://127.0.0.1.example:18790"), "not an address of this machine alone"},
		"user before host":  {url("http://127.0.0.1@192.0.2.1:18790"), "not an address of this machine alone"},
		"another scheme":    {url("https://127.0.0.1:18790"), "not an address of this machine alone"},
		"no address":        {url("%"), "no address that can be read"},
		"readable by group": {func(a at) { must(a.t, os.Chmod(a.file, 0o640)) }, "not a file of yours alone"},
		"readable by all":   {func(a at) { must(a.t, os.Chmod(a.file, 0o644)) }, "not a file of yours alone"},
		"no JSON":           {func(a at) { must(a.t, os.WriteFile(a.file, []byte("{"), 0o600)) }, "can't be read"},
		"empty":             {func(a at) { must(a.t, os.WriteFile(a.file, nil, 0o600)) }, "can't be read"},
		"endless": {func(a at) {
			must(a.t, os.WriteFile(a.file, []byte(`{"url":"`+strings.Repeat("x", 1<<20)+`"}`), 0o600))
		}, "can't be read"},
		"a folder": {func(a at) {
			must(a.t, os.Remove(a.file))
			must(a.t, os.Mkdir(a.file, 0o700))
		}, "not a file of yours alone"},
		"a pipe": {func(a at) {
			must(a.t, os.Remove(a.file))
			must(a.t, syscall.Mkfifo(a.file, 0o600))
		}, "not a file of yours alone"},
		"a link": {func(a at) {
			must(a.t, os.Rename(a.file, a.file+".1"))
			must(a.t, os.Symlink(a.file+".1", a.file))
		}, "reading the gateway's address"},
		"a folder that is a link": {func(a at) {
			must(a.t, os.Rename(a.folder, a.folder+".1"))
			must(a.t, os.Symlink(a.folder+".1", a.folder))
		}, "not a real folder"},
		"a folder that others write to": {func(a at) { must(a.t, os.Chmod(a.folder, 0o777)) }, "not a real folder"},
		"a file in the folder's place": {func(a at) {
			must(a.t, os.Rename(a.folder, a.folder+".1"))
			must(a.t, os.WriteFile(a.folder, nil, 0o600))
			a.t.Cleanup(func() { // for the gateway, which stops after this
				must(a.t, os.Remove(a.folder))
				must(a.t, os.Rename(a.folder+".1", a.folder))
			})
		}, "not a real folder"},
		"another user's file": {func(a at) {
			if os.Getuid() != 0 {
				a.t.Skip("only root can give a file away")
			}
			must(a.t, os.Chown(a.file, 12345, -1))
		}, "not a file of yours alone"},
		"another user's folder": {func(a at) {
			if os.Getuid() != 0 {
				a.t.Skip("only root can give a folder away")
			}
			must(a.t, os.Chown(a.folder, 12345, -1))
		}, "not a real folder"},
	} {
		t.Run(name, func(t *testing.T) {
			workspace := physical(t)
			started(t, workspace)
			own, err := gateway.Find(workspace)
			must(t, err)
			folder := filepath.Join(workspace, ".chant-acp")
			c.change(at{t, workspace, folder, filepath.Join(folder, "runtime.json")})
			below := filepath.Join(workspace, "below")
			must(t, os.Mkdir(below, 0o700))
			for _, dir := range []string{workspace, below} {
				found, err := client.Find(dir, workspace)
				switch {
				case c.says == "" && err != nil:
					t.Errorf("it is not believed: %v", err)
				case c.says == "" && found.Token != own.Token:
					t.Errorf("another token was found")
				case c.says != "" && err == nil:
					t.Errorf("it is believed: %s", found.URL)
				case c.says != "" && (!strings.Contains(err.Error(), c.says) || errors.Is(err, gateway.ErrNoGateway)):
					t.Errorf("it says %q, and not %q", err, c.says)
				case err != nil && strings.Contains(err.Error(), own.Token):
					t.Error("the token is told")
				}
			}
		})
	}
}

func TestFindLooksUpwards(t *testing.T) {
	top := physical(t)
	inner := filepath.Join(top, "a", "b")
	must(t, os.MkdirAll(filepath.Join(inner, ".chant-acp"), 0o700)) // conversations only
	started(t, top)
	for root, found := range map[string]bool{top: true, filepath.Join(top, "a"): false, inner: false, filepath.Join(top, "other"): false} {
		at, err := client.Find(inner, root)
		if found && (err != nil || at.Workspace != top) {
			t.Errorf("up to %s: %v, %v", root, at.Workspace, err)
		}
		if !found && !errors.Is(err, gateway.ErrNoGateway) {
			t.Errorf("up to %s: %v", root, err)
		}
		if !found && !strings.Contains(err.Error(), "chant-acp gateway") {
			t.Errorf("it does not say what to do: %v", err)
		}
	}
	nearer := started(t, inner)
	if at, err := client.Find(inner, top); err != nil || at.URL != nearer.URL() {
		t.Errorf("the nearest was not taken: %v", err)
	}
}

// TestFindStale is what a gateway leaves that was killed: its file, and no lock.
func TestFindStale(t *testing.T) {
	dir := physical(t)
	g := started(t, dir)
	file := filepath.Join(dir, ".chant-acp", "runtime.json")
	raw, err := os.ReadFile(file)
	must(t, err)
	must(t, g.Stop(context.Background()))
	must(t, os.WriteFile(file, raw, 0o600))
	if _, err := client.Find(dir, dir); !errors.Is(err, gateway.ErrNoGateway) {
		t.Errorf("a dead gateway was found: %v", err)
	}
}

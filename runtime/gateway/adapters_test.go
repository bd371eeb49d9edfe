package gateway

import (
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestAdapters(t *testing.T) {
	dir := t.TempDir()
	ran := filepath.Join(dir, "ran")
	script := "#!/bin/sh\ntouch " + ran + "\n"
	write(t, filepath.Join(dir, "node_modules", "@x", "codex-acp", "package.json"), `{"name":"@x/codex-acp","version":"4.5.6"}`, 0o600)
	write(t, filepath.Join(dir, "node_modules", "@x", "codex-acp", "dist", "index.js"), script, 0o700)
	write(t, filepath.Join(dir, "bin", "plain"), script, 0o700)
	link(t, "../node_modules/@x/codex-acp/dist/index.js", filepath.Join(dir, "bin", "codex-acp"))
	t.Setenv("PATH", filepath.Join(dir, "bin"))
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	list := []Adapter{
		{Slug: "chant-acp", Command: []string{self, "serve"}, MCP: true},
		{Slug: "codex", Command: []string{"codex-acp", "--key=secret"}, Env: []string{"KEY=secret"}, Description: "Codex"},
		{Slug: "plain", Command: []string{"plain"}},
		{Slug: "gone", Command: []string{"gemini", "--acp"}},
	}
	var broken error
	r := start(t, func(o *Options) { o.Adapters = func() ([]Adapter, error) { return list, broken } })
	type entry struct {
		Slug, Program, Path, Version, Description string
		Installed, MCP                            bool
	}
	var got struct {
		Adapters []entry
		Warning  string
	}
	for range 2 { // the second is answered from what was looked up
		a := r.request("GET", "/adapters", "", "Authorization", "")
		decodeInto(t, a, http.StatusOK, &got)
		want := []entry{
			{Slug: "chant-acp", Program: self, Path: self, Version: got.Adapters[0].Version, Installed: true, MCP: true},
			{Slug: "codex", Program: "codex-acp", Path: filepath.Join(dir, "bin", "codex-acp"), Version: "4.5.6", Description: "Codex", Installed: true},
			{Slug: "plain", Program: "plain", Path: filepath.Join(dir, "bin", "plain"), Installed: true},
			{Slug: "gone", Program: "gemini"},
		}
		if len(got.Adapters) != len(want) || got.Warning != "" {
			t.Fatalf("%+v", got)
		}
		for i := range want {
			if got.Adapters[i] != want[i] {
				t.Errorf("%+v, want %+v", got.Adapters[i], want[i])
			}
		}
		if strings.Contains(a.body, "secret") {
			t.Errorf("an open route shows arguments or the environment: %s", a.body)
		}
	}
	if _, err := os.Stat(ran); err == nil {
		t.Error("an adapter was run to list it")
	}

	// Broken in mid-run: what was known counts on, and it is said.
	broken = errors.New("config.json:3:7: a comma is missing")
	got.Adapters = nil
	decodeInto(t, r.request("GET", "/adapters", ""), http.StatusOK, &got)
	if len(got.Adapters) != len(list) || !strings.Contains(got.Warning, "config.json:3:7") {
		t.Errorf("%+v", got)
	}
	p := wantProblem(t, r.request("POST", "/sessions/agent", `{"adapter":"none"}`), http.StatusUnprocessableEntity, "invalid")
	if detail, _ := p["detail"].(string); p["pointer"] != "/adapter" || !strings.Contains(detail, "config.json:3:7") {
		t.Errorf("%v", p)
	}
	if strings.Count(r.logs.String(), "config.json:3:7") != 1 {
		t.Errorf("said more than once:\n%s", r.logs)
	}
	broken, list = nil, list[:1]
	got.Warning = ""
	decodeInto(t, r.request("GET", "/adapters", ""), http.StatusOK, &got)
	if len(got.Adapters) != 1 || got.Warning != "" {
		t.Errorf("%+v", got)
	}
}

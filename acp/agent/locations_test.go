package agent_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/chant-acp/chant-acp/host"
)

const locationsManifest = `version: 1
commands:
  build: {summary: say where it failed, exec: [build], effect: read}
  check: {summary: say it another way, exec: [check], effect: read, problems: [{pattern: '^(?P<file>\S+) @(?P<line>\d+)'}]}
  none:  {summary: look for nothing, exec: [build], effect: read, problems: []}
  vet:
    summary: look at files
    exec: [ok, --, "{files}"]
    params: {files: {position: 1, repeat: true, type: path}}
    effect: read
`

// newLocations is a project with the files main.go and sub/a_b.go, whose commands name
// them and others.
func newLocations(t *testing.T) *stubHost {
	h := newStub(t)
	h.write(locationsManifest)
	if err := os.Mkdir(filepath.Join(h.root, "sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"main.go", "sub/a_b.go"} {
		if err := os.WriteFile(filepath.Join(h.root, name), nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h.program("build", func(r *stubRun) host.Result {
		r.print("\x1b[1m./main.go:3:5\x1b[0m: undefined: x\nnone.go:1:1: x\n/etc/hosts.go:1:1: x\nsub/a_b")
		r.print(".go:7: y\n")
		return host.Result{ExitCode: 1}
	})
	h.program("check", func(r *stubRun) host.Result {
		r.print("main.go @4\nsub/a_b.go:7: not asked for\n")
		return host.Result{ExitCode: 2}
	})
	return h
}

// located are the locations of the last update of the turn's only call, below root.
func located(t *testing.T, root string, log turnLog) []acp.ToolCallLocation {
	t.Helper()
	updates := log.updates("tool_call_update")
	last := updates[len(updates)-1].Locations
	for i := range last {
		rel, err := filepath.Rel(root, last[i].Path)
		if err != nil || !filepath.IsAbs(last[i].Path) {
			t.Errorf("the location %q is no absolute path of the project", last[i].Path)
		}
		last[i].Path = rel
	}
	return last
}

func TestLocationsOfAFailure(t *testing.T) {
	both := []acp.ToolCallLocation{{Path: "main.go", Line: 3}, {Path: "sub/a_b.go", Line: 7}}
	for name, tt := range map[string]struct {
		client   string
		terminal bool
		line     string
		want     []acp.ToolCallLocation
		text     string // that stands before the closing line
	}{
		"Zed":                      {"zed", true, "build", both, "At [main.go:3:5](file://ROOT/main.go#L3:3), [sub/a_b.go:7](file://ROOT/sub/a_b.go#L7:7).\n"},
		"agent-shell":              {"agent-shell", false, "build", both, "At `main.go:3:5`, `sub/a_b.go:7`.\n"},
		"codecompanion":            {"CodeCompanion.nvim", false, "build", nil, "At `main.go:3:5`, `sub/a_b.go:7`.\n"},
		"acpx":                     {"acpx", false, "build", both, ""},
		"prompt":                   {agent.PromptClient, false, "build", both, ""},
		"another":                  {"something-new", false, "build", both, "At `main.go:3:5`, `sub/a_b.go:7`.\n"},
		"a pattern":                {"something-new", false, "check", []acp.ToolCallLocation{{Path: "main.go", Line: 4}}, "At `main.go:4`.\n"},
		"nothing to be looked for": {"something-new", false, "none", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			root, h := t.TempDir(), newLocations(t)
			w := process(t, root, h, setup{client: tt.client, terminal: tt.terminal})
			id := w.newSession()
			_, log := w.prompt(id, tt.line)
			again, _ := process(t, root, h, setup{client: tt.client, terminal: tt.terminal}).load(id)
			for when, log := range map[string]turnLog{"live": log, "again": again} {
				if diff := cmp.Diff(tt.want, located(t, h.root, log)); diff != "" {
					t.Errorf("%s: %s", when, diff)
				}
				want := strings.ReplaceAll(tt.text, "ROOT", h.root)
				if before, _, ok := strings.Cut("\n"+log.text(), "\n`"+tt.line+"` failed"); !ok || !strings.HasSuffix(before, want) || want == "" && strings.Contains(before, "At ") {
					t.Errorf("%s: %q, want %q before its end", when, log.text(), want)
				}
			}
		})
	}
}

// What succeeded, or shows nothing, has the places that count all the same.
func TestLocationsOfQuietOutput(t *testing.T) {
	h := newLocations(t)
	w := dial(t, setup{host: h})
	id := w.newSession()
	w.answer(w.setOption(id, "output", "quiet"))
	_, log := w.prompt(id, "build")
	if got := located(t, h.root, log); len(got) != 2 {
		t.Errorf("locations %v", got)
	}
}

func TestNoLocationsOfSuccess(t *testing.T) {
	h := newLocations(t)
	h.program("build", func(r *stubRun) host.Result {
		r.print("main.go:3:5: only a warning\n")
		return host.Result{}
	})
	w := dial(t, setup{host: h})
	_, log := w.prompt(w.newSession(), "build")
	if got := located(t, h.root, log); len(got) != 0 || strings.Contains(log.text(), "At ") {
		t.Errorf("locations %v, text %q", got, log.text())
	}
}

// A call names the files that its line does, where they are files.
func TestLocationsOfACall(t *testing.T) {
	h := newLocations(t)
	w := dial(t, setup{host: h})
	_, log := w.prompt(w.newSession(), "vet main.go sub new.go sub/a_b.go")
	want := []acp.ToolCallLocation{{Path: filepath.Join(h.root, "main.go")}, {Path: filepath.Join(h.root, "sub/a_b.go")}}
	if diff := cmp.Diff(want, log.updates("tool_call")[0].Locations); diff != "" {
		t.Error(diff)
	}
}

// A long list leaves room for the rest of the update.
func TestLocationsAreBounded(t *testing.T) {
	h := newLocations(t)
	long := strings.Repeat("x", 200)
	h.program("build", func(r *stubRun) host.Result {
		for i := range 30 {
			name := filepath.Join(h.root, strings.Repeat("y", i+1)+long+".go")
			if err := os.WriteFile(name, nil, 0o644); err != nil {
				t.Error(err)
			}
			r.print(filepath.Base(name) + ":1:1: x\n")
		}
		return host.Result{ExitCode: 1}
	})
	w := dial(t, setup{host: h})
	_, log := w.prompt(w.newSession(), "build")
	if got := located(t, h.root, log); len(got) == 0 || len(got) > 20 {
		t.Errorf("%d locations", len(got))
	}
	if !strings.Contains(log.text(), " more.\n") {
		t.Errorf("the rest is not counted: %q", log.text())
	}
}

package projectcmd

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/cmd/internal/console"
	"github.com/chant-acp/chant-acp/cmd/internal/console/consoletest"
)

// folder makes a project of files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	t.Setenv("CHANT_ACP_STATE", filepath.Join(dir, ".state"))
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestCheck(t *testing.T) {
	for _, c := range []struct {
		manifest string
		args     []string
		code     int
		out, err string
	}{
		{"version: 1\ncommands: {hello: {summary: Say hello, exec: [echo]}}\n", nil, console.OK, "1 command, 0 warnings", ""},
		{"version: 1\ncommands: {hello: {summary: Say hello, exec: [bash, -c, \"{x}\"], params: {x: {position: 1}}}}\n", nil, console.OK, "warning: ", ""},
		{"version: 1\ncommands: {hello: {summary: Say hello, exec: [bash, -c, \"{x}\"], params: {x: {position: 1}}}}\n", []string{"--strict"}, console.Failed, "warning: ", "--strict takes none"},
		{"version: 1\ncommands: {hello: {sumary: Say hello, exec: [echo]}}\n", nil, console.Failed, "chant-acp.yaml:2:", "error"},
		{"version: 1\ncommands: {hello: {summary: Say hello, exec: [sh, -c, \"{x}\"], effect: destroy, params: {x: {position: 1}}}}\n", []string{"--json"}, console.OK,
			`"commands":[{"name":"hello","signature":"hello [x]","summary":"Say hello","effect":"destroy","confirm":"retype"}]`, ""},
		{"version: 1\ncommands: {hello: {summary: Say hello, exec: [sh, -c, \"{x}\"], params: {x: {position: 1}}}}\n", []string{"--json", "--strict"}, console.Failed, `"line":2,"column":`, "--strict takes none"},
		{"version: 1\ncommands: {hello: {sumary: Say hello, exec: [echo]}}\n", []string{"--json"}, console.Failed, `"warnings":[],"commands":[]}`, "errors"},
	} {
		dir := folder(t, map[string]string{"chant-acp.yaml": c.manifest})
		r := consoletest.Run(t, NewCheck, append(c.args, dir)...)
		if r.Code != c.code || !strings.Contains(r.Out, c.out) || !strings.Contains(r.Err, c.err) {
			t.Errorf("%s%q: %+v", c.manifest, c.args, r)
		}
	}
	if r := consoletest.Run(t, NewCheck, folder(t, nil)); r.Code != console.Failed || !strings.Contains(r.Err, "there is no chant-acp.yaml") {
		t.Errorf("%+v", r)
	}
	if r := consoletest.Run(t, NewCheck, "/dev/null"); r.Code != console.Usage {
		t.Errorf("%+v", r)
	}
}

func TestOps(t *testing.T) {
	dir := folder(t, map[string]string{"chant-acp.yaml": "version: 1\n", "greet.op.yaml": "name: greet\nphases: [{name: Greet, steps: [{shell: echo}]}]\n"})
	if r := consoletest.Run(t, NewOps, dir); r.Code != console.OK || !strings.HasPrefix(r.Out, "greet  (greet.op.yaml)\n") {
		t.Errorf("%+v", r)
	}
	if err := os.WriteFile(filepath.Join(dir, "bad.op.json"), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if r := consoletest.Run(t, NewOps, "--json", dir); r.Code != console.Failed || !strings.Contains(r.Out, `{"file":"bad.op.json","error":`) || !strings.Contains(r.Err, "1 file failed") {
		t.Errorf("%+v", r)
	}
}

func TestInit(t *testing.T) {
	t.Setenv("PATH", t.TempDir()) // without just
	dir := folder(t, map[string]string{
		"package.json": `{"scripts": {"build": "vite build", "run": "node ."}}`,
		"Makefile":     "build: x\n\tcc\nlint:\n\tlint\n",
		"Justfile":     "build:\n    echo\n",
	})
	r := consoletest.Run(t, NewInit, dir)
	if r.Code != console.OK || !strings.Contains(r.Out, "build:") || !strings.Contains(r.Out, "npm run:") {
		t.Errorf("%+v", r)
	}
	for _, says := range []string{"Justfile is not taken: just, which reads it, is not installed", "build lint (--make takes them)", "run of package.json is called npm run"} {
		if !strings.Contains(r.Err, says) {
			t.Errorf("standard error lacks %q:\n%s", says, r.Err)
		}
	}
	if r := consoletest.Run(t, NewInit, "--make", "lint,build", "--write", dir); r.Code != console.OK || !strings.Contains(r.Out, "is written") {
		t.Errorf("%+v", r)
	}
	if r := consoletest.Run(t, NewCheck, dir); r.Code != console.OK || !strings.Contains(r.Out, "make build") || !strings.Contains(r.Out, "lint") {
		t.Errorf("%+v", r)
	}
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"--make", "lint", "--write", dir}, "is there already"},
		{[]string{"--make", "lnt", dir}, "did you mean lint?"},
		{[]string{folder(t, nil)}, "there is no justfile"},
		{[]string{"--make", "x", folder(t, map[string]string{"package.json": "{}"})}, "there is no makefile"},
		{[]string{folder(t, map[string]string{"package.json": "{"})}, "package.json with scripts"},
	} {
		if r := consoletest.Run(t, NewInit, c.args...); r.Code != console.Failed || !strings.Contains(r.Err, c.says) {
			t.Errorf("init %q: %+v", c.args, r)
		}
	}
	if r := consoletest.Run(t, NewInit, "/dev/null"); r.Code != console.Usage {
		t.Errorf("%+v", r)
	}
}

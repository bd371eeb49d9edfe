package taskfile_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/command/source"
	"github.com/chant-acp/chant-acp/command/source/taskfile"
)

// of reads files by their names.
func of(files map[string]string) taskfile.Read {
	return func(name string) (string, []byte, error) {
		text, there := files[name]
		if !there {
			return name, nil, fs.ErrNotExist
		}
		return name, []byte(text), nil
	}
}

func TestParse(t *testing.T) {
	l, err := taskfile.Parse("Taskfile.yml", of(map[string]string{
		"Taskfile.yml": `version: '3'
vars: {X: {sh: touch ran}}
includes:
  lib: {taskfile: lib/Taskfile.yml, flatten: true}
  in: {taskfile: hidden.yml, internal: true}
tasks:
  short: echo short
  list: [echo a, echo b]
  args: {desc: "Give arguments\nmore", cmds: ['cc {{.CLI_ARGS}}']}
  level: {requires: {vars: [{name: LEVEL, enum: [major, minor]}]}, summary: Only here, cmds: ['x {{.CLI_ARGS}}']}
  free: {requires: {vars: [VERSION]}}
  named: {desc: "Of {{.X}}"}
  ask: {prompt: [sure?]}
  secret: {internal: true}
  vim: {interactive: true}
  'start:*': {}
  -x: {}
  a=b: {}
  empty:
`,
		"lib/Taskfile.yml": "version: 3\nincludes: {deep: deep.yml}\ntasks: {lint: x}\n",
		"lib/deep.yml":     "version: '3.2'\ntasks: {dig: x}\n",
		"hidden.yml":       "version: '3'\ntasks: {no: x}\n",
	}))
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string]source.Task)
	var order []string
	for _, task := range l.Tasks {
		order = append(order, task.Name)
		task.Body = ""
		got[task.Name] = task
	}
	if want := "short list args level free named ask vim start:* -x a=b empty lint deep:dig"; strings.Join(order, " ") != want {
		t.Errorf("the tasks are %s, want %s", strings.Join(order, " "), want)
	}
	for name, want := range map[string]source.Task{
		"short": {Name: "short", Argv: []string{"task", "short"}},
		"args":  {Name: "args", Summary: "Give arguments", Argv: []string{"task", "args", "--"}, Rest: `(?s)([^-{]|\{[^{])([^{]|\{[^{])*\{?|\{?`},
		"level": {Name: "level", Summary: "Only here", Argv: []string{"task", "level"}, Params: []source.Param{{Name: "level", Required: true, Enum: []string{"major", "minor"}, As: []string{"LEVEL={}"}}}},
		"named": {Name: "named", Argv: []string{"task", "named"}},
		"ask":   {Name: "ask", Argv: []string{"task", "--yes", "ask"}, Confirm: true},
	} {
		if !reflect.DeepEqual(got[name], want) {
			t.Errorf("%s is %+v", name, got[name])
		}
	}
	for name, why := range map[string]string{
		"free": "it requires the variable VERSION", "vim": "interactive", "start:*": "wildcard", "-x": "hyphen", "a=b": "equals sign",
	} {
		if !strings.Contains(got[name].Left, why) {
			t.Errorf("%s is left out because %q, want %q", name, got[name].Left, why)
		}
	}
	if n := taskfile.Count([]byte("version: '3'\ntasks: {a: x, b: {internal: true}, c: [x]}\n")); n != 2 {
		t.Errorf("%d tasks are counted", n)
	}
}

// Whatever a Taskfile says, it is read or refused. That commands come of it is tested
// in host/tasks.
func FuzzParse(f *testing.F) {
	f.Add("version: '3'\ntasks:\n  a: {desc: x, cmds: ['{{.CLI_ARGS}}']}\n  b: {requires: {vars: [{name: X, enum: [a]}]}}\n")
	f.Add("version: 3\nincludes: {a: Taskfile.yml, b: {taskfile: x, optional: true}}\ntasks: [a]\n")
	f.Add("version: '3'\ntasks: &a {b: *a}\n")
	f.Fuzz(func(t *testing.T, text string) {
		taskfile.Count([]byte(text))
		l, err := taskfile.Parse("Taskfile.yml", of(map[string]string{"Taskfile.yml": text}))
		if err != nil {
			return
		}
		if _, _, _, err := source.Manifest([]*source.Listing{l}, command.NameError); err != nil {
			t.Fatal(err)
		}
	})
}

// What Task would render again is no argument.
func TestArguments(t *testing.T) {
	l, err := taskfile.Parse("Taskfile.yml", of(map[string]string{"Taskfile.yml": "version: '3'\ntasks: {a: {cmds: ['x {{.CLI_ARGS}}']}}\n"}))
	if err != nil {
		t.Fatal(err)
	}
	text, _, _, err := source.Manifest([]*source.Listing{l}, command.NameError)
	if err != nil {
		t.Fatal(err)
	}
	m, err := command.ParseManifest("m", text)
	if err != nil {
		t.Fatal(err)
	}
	r := command.NewRegistry(command.RegistryOptions{Root: t.TempDir(), Manifest: m})
	for arg, taken := range map[string]bool{
		"": true, "x": true, "a-b": true, "{": true, "a{": true, "{a}": true, "a\nb": true, "}}": true, "{a{b}": true,
		"-x": false, "{{": false, "a{{.X}}": false, "{{{": false, "a{{": false, "\n{{`'; id; '`}}": false,
	} {
		if _, err := r.Parse([]string{"a", arg}, command.ParseOptions{}); (err == nil) != taken {
			t.Errorf("%q: %v", arg, err)
		}
	}
}

// TestTaskQuotesArguments holds, with the Task of this machine, that arguments reach
// a program as they are, behind the -- and as CLI_ARGS.
func TestTaskQuotesArguments(t *testing.T) {
	if os.Getenv("CHANT_ACP_TEST_TOOLS") == "" {
		t.Skip("CHANT_ACP_TEST_TOOLS=1 runs it")
	}
	if _, err := exec.LookPath("task"); err != nil {
		t.Skip("task is not installed")
	}
	dir := t.TempDir()
	text := "version: '3'\nsilent: true\ntasks:\n  show: {cmds: [\"printf '<%s>' {{.CLI_ARGS}}\"]}\n"
	if err := os.WriteFile(filepath.Join(dir, "Taskfile.yml"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	values := []string{"a b", "$(id)", "`id`", `"`, "'", `\`, "*", "a\nb", "~", "$HOME;x", "&&", "!", "%PATH%", "{a}{", "}} {", "X=1", "{a,b}", "#", "=", "é"}
	cmd := exec.Command("task", append([]string{"show", "--"}, values...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir)
	out, err := cmd.CombinedOutput()
	if want := "<" + strings.Join(values, "><") + ">"; err != nil || string(out) != want {
		t.Errorf("%v: the program saw\n%s\nwant\n%s", err, out, want)
	}
}

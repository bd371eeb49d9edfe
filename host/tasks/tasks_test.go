package tasks_test

import (
	"context"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/command/source"
	"github.com/chant-acp/chant-acp/host/process"
	"github.com/chant-acp/chant-acp/host/tasks"
)

func TestMain(m *testing.M) {
	process.GuardMain()
	os.Exit(m.Run())
}

// put writes the files of a project: names and texts in turn.
func put(t *testing.T, root string, files ...string) {
	t.Helper()
	for i := 0; i+1 < len(files); i += 2 {
		path := filepath.Join(root, files[i])
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[i+1]), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// fakeJust is an environment with a just that prints a dump of one recipe, and
// counts its starts in the file started.
func fakeJust(t *testing.T) (env []string, started func() int) {
	t.Helper()
	bin := t.TempDir()
	script := "#!/bin/sh\necho x >> " + bin + "/started\ncat <<'E'\n" +
		`{"recipes": {"build": {"name": "build", "namepath": "build", "doc": "Build it", "body": [["cc ", [["variable", "x"]]]]}}}` + "\nE\n"
	if err := os.WriteFile(filepath.Join(bin, "just"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return []string{"PATH=" + bin + ":/bin:/usr/bin"}, func() int {
		text, _ := os.ReadFile(filepath.Join(bin, "started"))
		return strings.Count(string(text), "x")
	}
}

func list(t *testing.T, root string, s command.Source, env ...string) (*source.Listing, tasks.Seen) {
	t.Helper()
	l, seen, err := tasks.List(t.Context(), root, s, env)
	if err != nil {
		t.Fatal(err)
	}
	return l, seen
}

func names(l *source.Listing) []string {
	var list []string
	for _, task := range l.Tasks {
		list = append(list, task.Name)
	}
	return list
}

func TestFind(t *testing.T) {
	root := t.TempDir()
	if got := tasks.Find(root); got != nil {
		t.Errorf("in an empty folder: %+v", got)
	}
	put(t, root, "Justfile", "a:\nb: a\n", "package.json", `{"scripts": {"test": "x"}}`, "Taskfile.dist.yml", "version: '3'\ntasks: {a: x, b: {internal: true}}\n",
		"Makefile", "all:\n\techo\nclean:\n", "web/justfile", "c:\n")
	want := []tasks.Found{
		{Tool: "just", File: "Justfile", What: "2 recipes"}, {Tool: "task", File: "Taskfile.dist.yml", What: "1 task"},
		{Tool: "npm", File: "package.json", What: "1 script"}, {Tool: "make", File: "Makefile", What: "2 targets"},
	}
	if got := tasks.Find(root); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	put(t, root, "package.json", "{", "Taskfile.dist.yml", "a: [")
	if got := tasks.Find(root); len(got) != 4 || got[1].What != "can't be read" || got[2].What != "can't be read" {
		t.Errorf("of what is broken: %+v", got)
	}
	if got := tasks.Tools(); !slices.Equal(got, command.SourceTools) {
		t.Errorf("%q are read, and %q can be named in a manifest", got, command.SourceTools)
	}
}

// What is listed depends on all files that are taken in, in the order in which they
// are.
func TestList(t *testing.T) {
	env, started := fakeJust(t)
	for _, c := range []struct {
		name  string
		of    command.Source
		files []string
		tasks []string
		needs []string
	}{
		{"just", command.Source{Tool: "just"}, []string{
			"justfile", "import 'a.just'\nimport? 'gone.just'\nmod web\nmod ops 'deep/ops'\n", "a.just", "import 'b.just'\n", "b.just", "import 'a.just'\n",
			"web.just", "", "deep/ops/Justfile", "",
		}, []string{"build"}, []string{"justfile", "a.just", "b.just", "web.just", "deep/ops/Justfile"}},
		{"npm", command.Source{Tool: "npm"}, []string{"package.json", `{"scripts": {"a": "x", "prea": "y"}}`, ".npmrc", ""}, []string{"a"}, []string{"package.json", ".npmrc"}},
		{"npm in a folder", command.Source{Tool: "npm", Dir: "web"}, []string{"web/package.json", `{"scripts": {"a": "x"}}`, ".npmrc", ""}, []string{"a"}, []string{"web/package.json"}},
		{"some", command.Source{Tool: "npm", Names: []string{"b"}}, []string{"package.json", `{"scripts": {"a": "x", "b": "y"}}`}, []string{"b"}, []string{"package.json"}},
		{"task", command.Source{Tool: "task"}, []string{
			"Taskfile.yml", "version: '3'\nincludes: {docs: ./docs, lib: {taskfile: lib.yml, internal: true}, gone: {taskfile: gone, optional: true}}\ntasks: {a: x}\n",
			"docs/Taskfile.yaml", "version: '3'\ntasks: {b: y}\n", "lib.yml", "version: '3'\ntasks: {c: z}\n",
		}, []string{"a", "docs:b"}, []string{"Taskfile.yml", "docs/Taskfile.yaml", "lib.yml"}},
		{"make", command.Source{Tool: "make", Dir: "sub", Names: []string{"all"}}, []string{"sub/Makefile", "-include x.mk gone.mk\nall:\nclean:\n", "sub/x.mk", ""},
			[]string{"all"}, []string{"sub/Makefile", "sub/x.mk"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := t.TempDir()
			put(t, root, c.files...)
			l, seen := list(t, root, c.of, env...)
			if got := names(l); !slices.Equal(got, c.tasks) {
				t.Errorf("the tasks are %q", got)
			}
			if !slices.Equal(l.Files, c.needs) {
				t.Errorf("it depends on %q", l.Files)
			}
			if !seen.Same() {
				t.Error("it has changed at once")
			}
			for _, file := range l.Files {
				text, err := os.ReadFile(filepath.Join(root, file))
				if err != nil {
					t.Fatal(err)
				}
				put(t, root, file, string(text)+"\n")
				if seen.Same() {
					t.Errorf("that %s changed is not noticed", file)
				}
				_, seen, _ = tasks.List(t.Context(), root, c.of, env)
			}
		})
	}
	if started() == 0 {
		t.Error("just was not asked")
	}
}

// A file that was looked for in vain is noticed when it comes.
func TestWhatComesLater(t *testing.T) {
	env, _ := fakeJust(t)
	for _, c := range []struct {
		of           command.Source
		file, text   string
		new, newText string
	}{
		{command.Source{Tool: "just"}, "justfile", "import? 'x.just'\n", "x.just", ""},
		{command.Source{Tool: "just"}, "justfile", "mod? x\n", "x/mod.just", ""},
		{command.Source{Tool: "just"}, "justfile", "mod? x\n", "x.just", ""},
		{command.Source{Tool: "npm"}, "package.json", "{}", ".npmrc", ""},
		{command.Source{Tool: "task"}, "taskfile.yml", "version: '3'\n", "Taskfile.yml", "version: '3'\n"},
		{command.Source{Tool: "make", Names: []string{"a"}}, "Makefile", "a:\n-include x.mk\n", "x.mk", ""},
	} {
		root := t.TempDir()
		put(t, root, c.file, c.text)
		_, seen := list(t, root, c.of, env...)
		put(t, root, c.new, c.newText)
		if seen.Same() {
			t.Errorf("%s beside %s is not noticed", c.new, c.file)
		}
	}
}

func TestNotTaken(t *testing.T) {
	env, started := fakeJust(t)
	outside := filepath.Join(t.TempDir(), "outside.just")
	if err := os.WriteFile(outside, []byte("x:\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		of    command.Source
		files []string
		says  string
	}{
		{command.Source{Tool: "rake"}, nil, "rake is no task runner that is known"},
		{command.Source{Tool: "just"}, nil, "there is no justfile"},
		{command.Source{Tool: "npm", Dir: "../x"}, nil, "outside of the project"},
		{command.Source{Tool: "just"}, []string{"justfile", "import '../x.just'\n"}, "outside of the project"},
		{command.Source{Tool: "just"}, []string{"justfile", "import '" + outside + "'\n"}, "outside of the project"},
		{command.Source{Tool: "just"}, []string{"justfile", "mod x '/etc'\n"}, "outside of the project"},
		{command.Source{Tool: "just"}, []string{"justfile", "import 'link'\n", "link", "->" + outside}, "link can't be read"},
		{command.Source{Tool: "just"}, []string{"justfile", "import x'~/a'\n"}, "can't be told without running just"},
		{command.Source{Tool: "just", Names: []string{"biuld"}}, []string{"justfile", ""}, "did you mean build?"},
		{command.Source{Tool: "npm"}, []string{"package.json", "{"}, "package.json is not taken"},
		{command.Source{Tool: "task"}, []string{"Taskfile.yml", "version: '3'\nincludes: {a: https://example.org/x.yml}\n"}, "can't be told without running task"},
		{command.Source{Tool: "task"}, []string{"Taskfile.yml", "version: '3'\nincludes: {a: ./gone.yml}\n"}, "gone.yml"},
		{command.Source{Tool: "task"}, []string{"Taskfile.yml", "version: '3'\nincludes: {a: ../up.yml}\n"}, "outside of the project"},
		{command.Source{Tool: "task"}, []string{"Taskfile.yml", "version: '3'\nincludes: {a: Taskfile.yml}\n"}, "includes itself"},
		{command.Source{Tool: "task"}, []string{"Taskfile.yml", "version: '2'\n"}, "version \"2\""},
		{command.Source{Tool: "make"}, []string{"Makefile", "all:\n"}, "have to be named"},
		{command.Source{Tool: "make", Names: []string{"al"}}, []string{"Makefile", "all:\n"}, `no target "al"`},
		{command.Source{Tool: "make", Names: []string{"all"}}, []string{"Makefile", "all:\ninclude /etc/passwd\n"}, "outside of the project"},
	} {
		root := t.TempDir()
		for i := 0; i+1 < len(c.files); i += 2 {
			if target, link := strings.CutPrefix(c.files[i+1], "->"); link {
				if err := os.Symlink(target, filepath.Join(root, c.files[i])); err != nil {
					t.Fatal(err)
				}
			} else {
				put(t, root, c.files[i], c.files[i+1])
			}
		}
		before := started()
		l, _, err := tasks.List(t.Context(), root, c.of, env)
		if err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v of %q: %+v, %v; want %q", c.of, c.files, l, err, c.says)
		}
		if c.of.Names == nil && started() > before {
			t.Errorf("%+v of %q: just was started", c.of, c.files)
		}
	}
}

// A file of tasks decides what runs, so that nobody else may have written it.
func TestFilesOfOthers(t *testing.T) {
	of := command.Source{Tool: "npm", Dir: "web"}
	for name, change := range map[string]func(root string) error{
		"web/package.json is not used: everyone": func(root string) error { return os.Chmod(filepath.Join(root, "web/package.json"), 0o666) },
		"because of the folder ROOT/web: ":       func(root string) error { return os.Chmod(filepath.Join(root, "web"), 0o777) },
	} {
		root, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		put(t, root, "web/package.json", `{"scripts": {"a": "true"}}`)
		_, seen, err := tasks.List(t.Context(), root, of, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := change(root); err != nil {
			t.Fatal(err)
		}
		if seen.Same() {
			t.Errorf("%s: nothing has changed", name)
		}
		want := strings.ReplaceAll(name, "ROOT", root)
		if _, _, err := tasks.List(t.Context(), root, of, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// The project's own just is never asked: it would run before anybody allowed it.
func TestTheProjectsOwnJust(t *testing.T) {
	root := t.TempDir()
	put(t, root, "justfile", "a:\n", "bin/just", "#!/bin/sh\ntouch "+root+"/ran\n")
	if err := os.Chmod(filepath.Join(root, "bin/just"), 0o755); err != nil {
		t.Fatal(err)
	}
	_, _, err := tasks.List(t.Context(), root, command.Source{Tool: "just"}, []string{"PATH=" + filepath.Join(root, "bin")})
	if err == nil || !strings.Contains(err.Error(), "bin/just is a program of the project itself") {
		t.Errorf("%v", err)
	}
	if _, err := os.Stat(filepath.Join(root, "ran")); err == nil {
		t.Error("it ran")
	}
	_, _, err = tasks.List(t.Context(), root, command.Source{Tool: "just"}, nil)
	if err == nil || !strings.Contains(err.Error(), "is not installed") {
		t.Errorf("without one: %v", err)
	}
}

// What just says of a file that it can't read is handed on, and an end of the caller
// ends it.
func TestJustFails(t *testing.T) {
	bin, root := t.TempDir(), t.TempDir()
	put(t, root, "justfile", "a:\n")
	put(t, bin, "just", "#!/bin/sh\necho 'error: Unknown start of token' >&2\necho more >&2\nexit 1\n")
	if err := os.Chmod(filepath.Join(bin, "just"), 0o755); err != nil {
		t.Fatal(err)
	}
	env := []string{"PATH=" + bin + ":/bin:/usr/bin"}
	_, _, err := tasks.List(t.Context(), root, command.Source{Tool: "just"}, env)
	if err == nil || !strings.HasSuffix(err.Error(), "just can't read it: error: Unknown start of token") {
		t.Errorf("%v", err)
	}
	put(t, bin, "just", "#!/bin/sh\necho $$ > "+bin+"/pid\nexec sleep 600\n")
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() {
		_, _, err := tasks.List(ctx, root, command.Source{Tool: "just"}, env)
		ended <- err
	}()
	cancel()
	if err := <-ended; err == nil {
		t.Error("it was listed")
	}
}

// A task that can't be a command is left out alone.
func TestCommands(t *testing.T) {
	root := t.TempDir()
	put(t, root, "Taskfile.yml", "version: '3'\ntasks:\n  good: {desc: Good}\n  bad: {requires: {vars: [{name: 'a b', enum: [x]}]}}\n  twice: {requires: {vars: [{name: A, enum: [x, x]}]}}\n")
	l, _ := list(t, root, command.Source{Tool: "task"})
	text, _, notes, err := tasks.Commands([]*source.Listing{l}, command.NameError)
	if err != nil {
		t.Fatal(err)
	}
	m, err := command.ParseManifest("m", text)
	if err != nil || !slices.Equal(m.Commands(), []string{"good"}) {
		t.Errorf("%v\n%s", err, text)
	}
	if said := strings.Join(notes, "\n"); !strings.Contains(said, "bad of Taskfile.yml is left out: it can't be a command: a parameter's name") || !strings.Contains(said, `twice of Taskfile.yml is left out: it can't be a command: "x" stands twice`) {
		t.Errorf("the notes are %s", said)
	}
}

// Whatever a task runner's file says, commands come of it or an error does.
func FuzzCommands(f *testing.F) {
	f.Add("version: '3'\ntasks:\n  a: {desc: x, cmds: ['{{.CLI_ARGS}}']}\n  b: {requires: {vars: [{name: X, enum: [a]}]}}\n", "Taskfile.yml")
	f.Add("version: '3'\ntasks:\n : {requires: {vars: [{enum: [0]}]}}", "Taskfile.yml")
	f.Add(`{"scripts": {"a": "x\u0000", "b c": "y", "": "", "run": "z"}}`, "package.json")
	f.Fuzz(func(t *testing.T, text, name string) {
		tool := map[string]string{"Taskfile.yml": "task", "package.json": "npm"}[name]
		if tool == "" {
			return
		}
		root := t.TempDir()
		put(t, root, name, text)
		tasks.Find(root)
		l, _, err := tasks.List(t.Context(), root, command.Source{Tool: tool}, nil)
		if err != nil {
			return
		}
		made, _, _, err := tasks.Commands([]*source.Listing{l}, command.NameError)
		if err != nil {
			t.Fatalf("%v\n%s", err, made)
		}
	})
}

package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// A hostile is a project whose every file would like to be run, or to lead out of it.
type hostile struct {
	*testing.T
	base    string   // of all there is; the project may see only its own part
	dir     string   // the project
	env     []string // of all commands
	started string   // what a program that was started writes to
	trace   string   // the folder for strace's files; "" for none
}

// lures are programs by names that tools look for, on PATH and in the project.
var lures = []string{
	"git", "node", "npm", "npx", "pnpm", "yarn", "bun", "deno", "tsc", "tsx", "esbuild", "chant", "chant.js", "fountain", "python3", "make",
	"just", "task", "mise", "direnv", "go", "docker", "kubectl", "k3d", "sh", "bash", "env", "cat", "hostname", "uname", "id", "getent", "ssh",
	"curl", "xdg-open", "less", "tput", "stty", "ps", "lsof", "hg", "gh",
}

func newHostile(t *testing.T) *hostile {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	h := &hostile{T: t, base: base, dir: filepath.Join(base, "project"), started: filepath.Join(base, "started")}
	lure := fmt.Sprintf("#!/bin/sh\necho \"$0 $*\" >>'%s'\n", h.started)
	run := fmt.Sprintf("echo lured >>'%s'", h.started)
	for _, name := range lures {
		h.write("bin/"+name, lure, 0o755)
		h.write("project/node_modules/.bin/"+name, lure, 0o755)
	}
	for _, hook := range []string{"fsmonitor-watchman", "post-index-change", "pre-auto-gc", "reference-transaction", "post-checkout"} {
		h.write("project/hooks/"+hook, lure, 0o755)
		h.write("project/.git/hooks/"+hook, lure, 0o755)
	}
	git := fmt.Sprintf("[core]\n\tbare = false\n\tfsmonitor = \"%[1]s\"\n\thooksPath = hooks\n\tpager = \"%[1]s\"\n\tsshCommand = \"%[1]s\"\n"+
		"[filter \"lure\"]\n\tclean = \"%[1]s\"\n\tsmudge = \"%[1]s\"\n\tprocess = \"%[1]s\"\n\trequired = true\n[diff \"lure\"]\n\ttextconv = \"%[1]s\"\n"+
		"[include]\n\tpath = ../../secret/config\n", run)
	for _, repository := range []string{"project/.git/", "project/bare/"} {
		h.write(repository+"config", git, 0o644)
		h.write(repository+"HEAD", "ref: refs/heads/main\n", 0o644)
		h.write(repository+"refs/heads/main", strings.Repeat("1", 40)+"\n", 0o644)
		h.write(repository+"objects/info/alternates", base+"/secret\n", 0o644)
	}
	for name, text := range map[string]string{
		"project/chant-acp.yaml": "version: 1\ncommands:\n" +
			"  build: {summary: Build, exec: [./scripts/build], effect: write}\n" +
			"  test: {summary: Test, exec: [npm, test], effect: read, params: {file: {flag: --file, type: path}}}\n",
		"project/.gitattributes":            "* filter=lure diff=lure\n",
		"project/.envrc":                    run + "\n",
		"project/.env":                      "LURED=1\n",
		"project/package.json":              fmt.Sprintf(`{"main": "lure.js", "scripts": {"preinstall": %q, "test": %[1]q, "prepare": %[1]q}}`, run),
		"project/.npmrc":                    "script-shell=" + base + "/project/scripts/build\n",
		"project/Makefile":                  "all:\n\t" + run + "\nX := $(shell " + run + ")\n",
		"project/.bashrc":                   run + "\n",
		"project/tsconfig.json":             `{"extends": "../secret/tsconfig.json"}`,
		"project/chant.config.ts":           "require('child_process').execSync(" + fmt.Sprintf("%q", run) + ");\n",
		"project/ops/deploy.op.yaml":        "name: deploy\nphases:\n  - {name: Ask, steps: [{gate: go}]}\n  - {name: Build, steps: [{exec: [./scripts/build]}, {shell: make}]}\n",
		"project/ops/typed.op.ts":           "import { Op, phase, shell } from '@intentius/chant-lexicon-temporal';\nexport default Op({ name: 'typed', overview: process.env.PATH, phases: [phase('Build', [shell('make')])] });\n",
		"project/ops/spawns.op.ts":          "import { execSync } from 'child_process';\nexecSync(" + fmt.Sprintf("%q", run) + ");\n",
		"project/ops/reads.op.ts":           "import secret from '../../secret/data.json';\nexport default secret;\n",
		"project/ops/globs.op.ts":           "const n = 'data';\nexport default require('../../secret/' + n + '.json');\n",
		"project/HEARTBEAT.md":              "# Heartbeat\n\n```chant\nevery: 1m\nbuild\n```\n",
		"project/node_modules/x/index.js":   "require('fs').readFileSync('../../../secret/data.json');\n",
		"project/.vscode/tasks.json":        `{"tasks": [{"command": "make", "runOptions": {"runOn": "folderOpen"}}]}`,
		"project/.chant-acp/agents/x.json":  `{"command": "make"}`,
		"project/.chant-acp/chant-acp.yaml": "version: 1\n",
		"secret/data.json":                  `{"name": "secret"}`,
		"secret/config":                     "[core]\n\tfsmonitor = true\n",
		"secret/tsconfig.json":              "{}",
		"secret/ops/x.op.yaml":              "name: secret\nphases: []\n",
		"secret/ops/x.op.ts":                "export default {};\n",
	} {
		h.write(name, text, 0o644)
	}
	h.write("project/scripts/build", lure, 0o755)
	for name, to := range map[string]string{
		"ops/file.op.yaml": "../../secret/ops/x.op.yaml", "ops/file.op.ts": "../../secret/ops/x.op.ts", "ops/folder": "../../secret/ops",
		"ops/.gitignore": "../../secret/data.json", "sub.op.json": "/etc/hostname",
	} {
		if err := os.Symlink(to, filepath.Join(h.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"home", "state", "state/run"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	h.env = []string{
		"PATH=" + filepath.Join(base, "bin") + ":node_modules/.bin:" + os.Getenv("PATH"), "HOME=" + filepath.Join(base, "home"),
		"CHANT_ACP_STATE=" + filepath.Join(base, "state"), "XDG_RUNTIME_DIR=" + filepath.Join(base, "state", "run"),
		"PAGER=make", "EDITOR=make", "SHELL=" + filepath.Join(base, "bin", "sh"), "BROWSER=xdg-open",
		raceOptions + "=" + os.Getenv(raceOptions),
	}
	return h
}

func (h *hostile) write(name, text string, mode os.FileMode) {
	h.Helper()
	path := filepath.Join(h.base, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		h.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		h.Fatal(err)
	}
}

// command is chant-acp in the project, traced where there is a folder for that.
func (h *hostile) command(args ...string) *exec.Cmd {
	argv := append([]string{binary(h.T)}, args...)
	if h.trace != "" {
		// With -D the program, not strace, is our child, and gets our signals.
		argv = append([]string{"strace", "-D", "-y", "-qq", "-ff", "-s", "1000", "-e", "signal=none", "-e",
			"trace=open,openat,openat2,creat,execve,execveat,socket,connect,bind", "-o", filepath.Join(h.trace, "of"), "--"}, argv...)
	}
	c := exec.Command(argv[0], argv[1:]...)
	c.Dir, c.Env = h.dir, h.env
	return c
}

// prints runs a command, and wants something in what it prints.
func (h *hostile) prints(want string, args ...string) {
	h.Helper()
	out, err := h.command(args...).CombinedOutput() // ends when the tracer has ended, too: it holds standard error
	if !strings.Contains(string(out), want) {
		h.Errorf("%q does not print %q: %v\n%s", args, want, err, out)
	}
}

// looks does all that only looks.
func (h *hostile) looks() {
	h.Helper()
	for _, c := range []struct {
		want string
		args []string
	}{
		{"deploy", []string{"ops"}},
		{`"name":"deploy"`, []string{"ops", "--json"}},
		{"build", []string{"check"}},
		{"build", []string{"check", "-v"}},
		{"build", []string{"prompt", "help"}},
		{"Build", []string{"prompt", "help build"}},
		{"typed", []string{"prompt", "ops"}},
		{"scripts/build", []string{"prompt", "explain build"}},
		{"npm", []string{"prompt", "explain test --file package.json"}},
		{"deploy", []string{"prompt", "explain run deploy"}},
		{"deploy", []string{"prompt", "run list"}},
		{"deploy", []string{"prompt", "run status deploy"}},
		{"no command", []string{"prompt", "buidl"}},
		{"", []string{"sessions", "list"}},
		{"trust", []string{"heartbeat", "status"}},
		{"output", []string{"config", "list"}},
		{"chant-acp", []string{"version"}},
		{"", []string{"__complete", "prompt", ""}},
		{"gateway", []string{"ps"}},
		{"scripts/build", []string{"allow"}},
	} {
		h.prints(c.want, c.args...)
	}
	h.serves()
	h.gateway()
}

// serves opens a session, and asks what a client asks by itself and people ask first.
func (h *hostile) serves() {
	h.Helper()
	s := serveWith(h.T, h.command("serve"), h.dir)
	s.open("session/new", "")
	for _, line := range []string{"help", "ops", "explain build", "run list", "run status deploy"} {
		s.turn(line)
	}
	id := s.session
	s.send(`{"jsonrpc":"2.0","id":"list","method":"session/list","params":{}}`)
	s.answer("list")
	s.open("session/load", id)
	s.in.Close()
	s.exit()
}

// gateway starts one, and gets what it serves.
func (h *hostile) gateway() {
	h.Helper()
	d := startGatewayProcess(h.T, h.command("gateway", "--workspace", h.dir, "--port", "0"), h.dir)
	p := d.person(h.T)
	for _, path := range []string{"/health", "/adapters", "/sessions", "/runs", "/conversations"} {
		p.want(http.StatusOK, "GET", path, "")
	}
	h.prints("", "ps")
	if err := d.Process.Signal(os.Interrupt); err != nil {
		h.Fatal(err)
	}
	_ = d.ends(h.T)
}

// lured is what was started in spite of all; starting one clears it.
func (h *hostile) lured() string {
	text, _ := os.ReadFile(h.started)
	_ = os.Remove(h.started)
	return string(text)
}

// A run that waits at its gate is there to be looked at. It has started nothing.
func (h *hostile) waits() {
	h.Helper()
	h.prints("go", "prompt", "run deploy")
}

// Nothing that a project brings is started by looking at it.
func TestLookingStartsNothing(t *testing.T) {
	t.Parallel()
	h := newHostile(t)
	h.waits()
	h.looks()
	if lured := h.lured(); lured != "" {
		t.Errorf("these were started:\n%s", lured)
	}
	h.prints("", "prompt", "build")
	if lured := h.lured(); !strings.Contains(lured, "scripts/build") {
		t.Errorf("a command left no trace: %q", lured)
	}
}

// Nor is anything opened outside it, or spoken to. This takes strace.
func TestLookingReachesNothing(t *testing.T) {
	t.Parallel()
	if out, err := exec.Command("strace", "-D", "-qq", "-o", os.DevNull, "--", "/proc/self/exe", "-V").CombinedOutput(); err != nil {
		t.Skipf("needs strace, and to be allowed to use it: %v %s", err, out)
	}
	h := newHostile(t)
	h.trace = filepath.Join(h.base, "state", "trace")
	if err := os.Mkdir(h.trace, 0o700); err != nil {
		t.Fatal(err)
	}
	h.waits()
	h.looks()
	for _, found := range h.reached() {
		t.Error(found)
	}
	h.prints("", "prompt", "build")
	if found := h.reached(); !slices.ContainsFunc(found, func(s string) bool { return strings.Contains(s, "scripts/build") }) {
		t.Errorf("a command is not in the trace: %q", found)
	}
}

var (
	openCall = regexp.MustCompile(`^(?:open|openat|openat2|creat)\((?:(?:AT_FDCWD|\d+)(?:<(.*?)>)?, )?"(.*?)".*?\) = (?:\d+<(.*)>|-1 (\w+))`)
	execCall = regexp.MustCompile(`^(?:execve|execveat)\((?:(?:AT_FDCWD|\d+)(?:<(.*?)>)?, )?"(.*?)"`)
)

// reached reads what strace wrote, and returns what has no business there.
func (h *hostile) reached() (found []string) {
	h.Helper()
	files, err := filepath.Glob(filepath.Join(h.trace, "of.*"))
	if err != nil || len(files) == 0 {
		h.Fatalf("no trace: %v", err)
	}
	own := filepath.Dir(binary(h.T))
	seen := make(map[string]bool)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			h.Fatal(err)
		}
		_ = os.Remove(file)
		for line := range strings.Lines(string(text)) {
			if problem := h.judge(own, strings.TrimSpace(line)); problem != "" && !seen[problem] {
				seen[problem] = true
				found = append(found, problem)
			}
		}
	}
	return found
}

func (h *hostile) judge(own, line string) string {
	call, _, _ := strings.Cut(line, "(")
	switch {
	case strings.HasPrefix(call, "open") || call == "creat":
		m := openCall.FindStringSubmatch(line)
		if m == nil {
			return "not understood: " + line
		}
		path := m[3]
		if path == "" { // it failed, for no file or for what is there
			if path = m[2]; !filepath.IsAbs(path) {
				path = filepath.Join(m[1], path)
			}
		}
		if !h.mayOpen(own, filepath.Clean(path)) {
			return "opened: " + path
		}
	case strings.HasPrefix(call, "exec"):
		m := execCall.FindStringSubmatch(line)
		if m == nil {
			return "not understood: " + line
		}
		if path := m[2]; path != "/proc/self/exe" && filepath.Dir(path) != own {
			return "started: " + line
		}
	case call == "connect", call == "bind":
		here := []string{"AF_UNIX", `inet_addr("127.0.0.1")`, `"::ffff:127.0.0.1"`, `"::1"`}
		if !slices.ContainsFunc(here, func(s string) bool { return strings.Contains(line, s) }) {
			return "spoke: " + line
		}
	}
	return ""
}

// mayOpen says whether a file is the project's, of the state, or what any program
// opens.
func (h *hostile) mayOpen(own, path string) bool {
	for _, dir := range []string{
		h.dir, filepath.Join(h.base, "state"), own,
		"/proc", "/sys", "/dev/null", "/dev/urandom", "/lib", "/usr/lib", "/lib64", "/usr/lib64", "/usr/share/zoneinfo", "/usr/share/locale",
		"/etc/ld.so.cache", "/etc/ld.so.preload", "/etc/localtime", "/etc/nsswitch.conf", "/etc/passwd", "/etc/mime.types",
	} {
		if path == dir || strings.HasPrefix(path, dir+"/") {
			return true
		}
	}
	return path == filepath.Join(h.base, "home/.config/chant-acp/config.json") || strings.HasPrefix(filepath.Base(path), "pipe:")
}

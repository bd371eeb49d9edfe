package house_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/chant-acp/chant-acp"

// imports is the house: each package and what it may import of this module,
// beside internal/..., which is open to all. A package that is not here has no
// place yet: give it one, here and in ARCHITECTURE.md.
var imports = map[string][]string{
	"acp":                      {},
	"acp/acptest":              {"acp"},
	"acp/agent":                {"acp", "acp/agent/turn", "acp/agent/view", "host"},
	"command":                  {"command/problem"},
	"command/problem":          {},
	"command/source":           {},
	"command/source/gnumake":   {"command/source"},
	"command/source/just":      {"command/source", "command/source/shelltext"},
	"command/source/npm":       {"command/source"},
	"command/source/shelltext": {},
	"command/source/taskfile":  {"command/source"},
	"host":                     {"command", "host/subject"},
	"host/gitstate":            {},
	"host/local":               {"host", "host/gitstate", "host/local/activity", "host/op", "host/pause", "host/process", "host/subject"},
	"host/op/eval":             {"host/op", "host/op/eval/internal/wire"},

	"acp/agent/view":       {"acp", "acp/agent/view/shape", "command", "command/problem", "host", "host/subject"},
	"acp/agent/turn":       {"acp", "acp/agent/view", "acp/agent/view/shape", "command", "host", "host/subject"},
	"acp/agent/view/shape": {},

	"host/local/activity":        {"host/local/httpask", "host/op", "host/process"},
	"host/local/httpask":         {},
	"host/local/httpask/client":  {"host/local/httpask"},
	"host/op/eval/engine":        {"host/op", "host/op/eval/internal/wire"},
	"host/op/eval/internal/wire": {"host/op"},

	"host/op":             {},
	"host/pause":          {},
	"host/process":        {},
	"host/process/hopper": {},
	"host/project":        {"command", "host", "host/gitstate", "host/local", "host/op", "host/op/eval", "host/process", "host/subject", "host/tasks", "command/source"},
	"host/subject":        {},
	"host/tasks":          {"command", "command/source", "command/source/gnumake", "command/source/just", "command/source/npm", "command/source/taskfile", "host/process"},

	"runtime/allow":          {"command", "host", "host/subject"},
	"runtime/config":         {},
	"runtime/conversation":   {"runtime/thread"},
	"runtime/heartbeat":      {"host/subject"},
	"runtime/gateway":        {"runtime/person", "runtime/person/door", "runtime/conversation", "runtime/session", "host/subject", "acp"},
	"runtime/gateway/client": {"acp", "runtime/gateway", "runtime/session"},
	"runtime/session":        {"acp", "host/process"},
	"runtime/person":         {"host/process"},
	"runtime/person/door":    {"host/process", "runtime/person"},
	"runtime/thread":         {"acp", "acp/agent"},

	"internal/acpd":         {},
	"internal/answerschema": {},
	"internal/brief":        {},
	"internal/caplog":       {},
	"internal/durable":      {},
	"internal/envmask":      {},
	"internal/fileuri":      {},
	"internal/flock":        {},
	"internal/gitignore":    {},
	"internal/house":        {},
	"internal/journal":      {},
	"internal/jsondoc":      {},
	"internal/mutate":       {},
	"internal/near":         {},
	"internal/origin":       {},
	"internal/stateroot":    {},
	"internal/strictyaml":   {},
	"internal/trust":        {},
	"internal/stdio":        {},
	"internal/termtext":     {},
	"internal/testenv":      {},

	"cmd/chant-acp": {
		"host/process",
		"cmd/chant-acp/internal/agentcmd", "cmd/chant-acp/internal/configcmd", "cmd/chant-acp/internal/projectcmd", "cmd/chant-acp/internal/sessionscmd",
		"cmd/internal/cli", "cmd/internal/console",
	},
	"cmd/chant-acp/internal/agentcmd":    {"acp", "acp/agent", "command", "cmd/chant-acp/internal/printer", "cmd/internal/console", "cmd/internal/serve"},
	"cmd/chant-acp/internal/configcmd":   {"command", "host/op", "runtime/config", "runtime/person", "cmd/chant-acp/internal/setup", "cmd/internal/console"},
	"cmd/chant-acp/internal/printer":     {"acp"},
	"cmd/chant-acp/internal/projectcmd":  {"command", "command/source", "host", "host/op", "host/op/eval", "host/project", "host/tasks", "runtime/allow", "cmd/internal/console", "cmd/internal/serve"},
	"cmd/chant-acp/internal/sessionscmd": {"acp", "acp/agent", "runtime/conversation", "runtime/thread", "cmd/chant-acp/internal/printer", "cmd/internal/console", "cmd/internal/serve"},
	"cmd/chant-acp/internal/setup":       {},
	"cmd/chant-acpd": {
		"host/local/httpask/client", "host/op/eval/engine", "host/process", "runtime/person",
		"cmd/chant-acpd/internal/gatewaycmd", "cmd/chant-acpd/internal/heartbeatcmd", "cmd/chant-acpd/internal/remotecmd", "cmd/internal/cli", "cmd/internal/console",
	},
	"cmd/chant-acpd/internal/attach": {"runtime/gateway/client", "runtime/session"},
	"cmd/chant-acpd/internal/gatewaycmd": {
		"acp", "acp/agent", "host", "host/subject", "runtime/config", "runtime/gateway", "runtime/heartbeat", "runtime/person/door", "runtime/session",
		"cmd/internal/console", "cmd/internal/serve",
	},
	"cmd/chant-acpd/internal/heartbeatcmd": {"command", "host/subject", "runtime/heartbeat", "cmd/internal/console", "cmd/internal/serve"},
	"cmd/chant-acpd/internal/remotecmd": {
		"command", "runtime/gateway", "runtime/gateway/client", "runtime/person/door", "runtime/session",
		"cmd/chant-acpd/internal/attach", "cmd/internal/console",
	},
	"cmd/internal/cli":                 {},
	"cmd/internal/console":             {},
	"cmd/internal/console/consoletest": {"cmd/internal/console"},
	"cmd/internal/serve": {
		"acp", "acp/agent", "command", "host", "host/project", "host/subject", "runtime/allow", "runtime/config", "runtime/conversation", "runtime/person", "runtime/thread",
		"cmd/internal/console",
	},
}

// anyTest is what every test may import: a test that starts programs has to be able
// to be their guard, and commands are tested in one way.
var anyTest = []string{"host/process", "host/process/hopper", "cmd/internal/console/consoletest"}

// testImports is what tests may import on top, because they put a package
// together with what it is for.
var testImports = map[string][]string{
	"command/source/just":     {"command"},
	"command/source/npm":      {"command"},
	"command/source/taskfile": {"command"},
	"acp/acptest":             {"acp/agent", "command", "host", "host/project"},
	"acp/agent":               {"acp/acptest", "command", "host/project", "host/subject", "runtime/thread"},
	"cmd/chant-acp":           {"acp/acptest", "acp/agent", "command", "cmd/internal/serve", "runtime/config", "runtime/gateway", "runtime/gateway/client", "runtime/person/door", "runtime/thread"},
	"host/local":              {"host/local/httpask/client"},
	"host/local/httpask":      {"host/local/httpask/client"},
	"host/op/eval":            {"host/op/eval/engine"},
	"host/project":            {"host/op/eval/engine"},
	"internal/house":          {"command", "host/op"},

	"cmd/chant-acpd/internal/attach":     {"runtime/gateway"},
	"cmd/chant-acpd/internal/gatewaycmd": {"runtime/person"},

	"runtime/conversation": {"acp", "acp/agent"},
	"runtime/gateway":      {"acp/agent", "host", "host/project"},
}

// TestMain works at the root of the module, where all paths begin.
// root is the folder of the module.
var root = filepath.Join("..", "..")

// atRoot makes the module's folder the working directory for the length of a test. Not TestMain:
// what is opened after a change of the directory there is unknown to the cache of test results,
// which would not see that a document changed.
func atRoot(t *testing.T) {
	t.Helper()
	t.Chdir(root)
}

// source is one package of the module, as its files say.
type source struct {
	dir                string
	documented         bool
	imports, ofTheTest []string // within the module
	others             []string // outside it
}

// packages reads every Go file of the module.
func packages(t *testing.T) map[string]*source {
	t.Helper()
	found := make(map[string]*source)
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			return enter(file, d.Name())
		}
		if strings.HasSuffix(file, ".go") {
			return read(found, filepath.ToSlash(file))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// enter skips the folders that the go command skips, other modules included.
func enter(dir, name string) error {
	if dir == "." {
		return nil
	}
	if name == "testdata" || name == "node_modules" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
		return filepath.SkipDir
	}
	if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
		return filepath.SkipDir
	}
	return nil
}

func read(found map[string]*source, file string) error {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly|parser.ParseComments)
	if err != nil {
		return err
	}
	dir := path.Dir(file)
	p := found[dir]
	if p == nil {
		p = &source{dir: dir}
		found[dir] = p
	}
	test := strings.HasSuffix(file, "_test.go")
	p.documented = p.documented || !test && documents(parsed)
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return err
		}
		ours, ok := strings.CutPrefix(imported, module+"/")
		switch {
		case !ok:
			p.others = append(p.others, imported)
		case test:
			p.ofTheTest = append(p.ofTheTest, ours)
		default:
			p.imports = append(p.imports, ours)
		}
	}
	return nil
}

// documents says whether a file holds the package comment.
func documents(f *ast.File) bool {
	if f.Doc == nil {
		return false
	}
	text := f.Doc.Text()
	return strings.HasPrefix(text, "Package "+f.Name.Name+" ") || f.Name.Name == "main" && strings.HasPrefix(text, "Command ")
}

func open(imported string) bool { return strings.HasPrefix(imported, "internal/") }

func TestImports(t *testing.T) {
	atRoot(t)
	found := packages(t)
	for name, p := range found {
		allowed, known := imports[name]
		if !known {
			t.Errorf("the package %s has no place in the table of internal/house", name)
			continue
		}
		for _, i := range p.imports {
			switch {
			case strings.HasPrefix(name, "internal/"):
				t.Errorf("%s imports %s; what lies in internal imports nothing of ours", name, i)
			case !open(i) && !slices.Contains(allowed, i):
				t.Errorf("%s imports %s, and may import %q and internal/... only", name, i, allowed)
			}
		}
		for _, i := range allowed {
			if !slices.Contains(p.imports, i) && !slices.Contains(p.ofTheTest, i) {
				t.Errorf("%s may import %s, and does not: take that out of the table, and of ARCHITECTURE.md", name, i)
			}
		}
		for _, i := range p.ofTheTest {
			if !open(i) && i != name && !slices.Contains(allowed, i) && !slices.Contains(anyTest, i) && !slices.Contains(testImports[name], i) {
				t.Errorf("the tests of %s import %s; they may import what it may, and %q", name, i, testImports[name])
			}
		}
	}
	for name := range imports {
		if found[name] == nil {
			t.Errorf("the table of internal/house holds %s, and there is no such package", name)
		}
	}
}

// TestTable holds the rules that the table itself must keep.
func TestTable(t *testing.T) {
	atRoot(t)
	for name, allowed := range imports {
		for _, i := range allowed {
			if _, known := imports[i]; !known {
				t.Errorf("%s may import %s, which is not in the table", name, i)
			}
			below := name == "command" || name == "host" || strings.HasPrefix(name, "host/")
			if below && (i == "acp" || strings.HasPrefix(i, "acp/")) {
				t.Errorf("%s may import %s: nothing in command and host knows the protocol", name, i)
			}
		}
	}
}

// TestTopLevel holds what a visitor sees first: the top of the repository has nothing
// but this, what git ignores aside.
func TestTopLevel(t *testing.T) {
	atRoot(t)
	top := []string{
		"cmd", "acp", "command", "host", "runtime", "internal", "testdata", "go.mod", "go.sum", "README.md",
		"docs", "LICENSE", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", ".ci", ".git", ".gitignore",
	}
	text, err := os.ReadFile(".gitignore")
	if err != nil {
		t.Fatal(err)
	}
	ignored := strings.Fields(string(text))
	entries, err := os.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		name := e.Name()
		if !slices.Contains(top, name) && !slices.Contains(ignored, "/"+name) && !slices.Contains(ignored, "/"+name+"/") {
			t.Errorf("%s has no place at the top of the repository", name)
		}
	}
}

func TestPackageComments(t *testing.T) {
	atRoot(t)
	for name, p := range packages(t) {
		if !p.documented {
			t.Errorf("%s has no package comment", name)
		}
	}
}

func TestNoReplace(t *testing.T) {
	atRoot(t)
	text, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) > 0 && fields[0] == "replace" || strings.Contains(line, "=>") {
			t.Errorf("go.mod replaces a module, and a module with replacements can't be installed: %s", line)
		}
	}
}

// linked lists all packages that one of ours is linked with.
func linked(t *testing.T, pkg string) []string {
	t.Helper()
	out, err := exec.Command("go", "list", "-deps", "./"+pkg).Output()
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Fields(string(out))
	if !slices.Contains(all, module+"/"+pkg) {
		t.Fatalf("go list -deps ./%s does not name the package itself", pkg)
	}
	return all
}

// TestLinked holds what an executable or a package is not linked with: what only
// tests need, what costs start-up time, and what chant-acp leaves to chant-acpd.
func TestLinked(t *testing.T) {
	atRoot(t)
	forTests := []string{"testing", "coder/acp-go-sdk", "rogpeppe/go-internal", "pgregory.net/rapid", "go.uber.org/goleak", "google/go-cmp", module + "/acp/acptest"}
	network := []string{"net/http", "crypto/tls", "coder/websocket", "modelcontextprotocol"}
	javaScript := []string{"evanw", "modernc.org"}
	slow := []string{"yuin/goldmark"} // to initialise
	for pkg, banned := range map[string][]string{
		"acp":            {"net/http", "testing", "os/exec"},
		"cmd/chant-acp":  slices.Concat(forTests, network, javaScript, slow),
		"cmd/chant-acpd": forTests,
	} {
		for _, dep := range linked(t, pkg) {
			for _, b := range banned {
				if dep == b || strings.HasPrefix(dep, b+"/") || strings.HasPrefix(dep, "github.com/"+b) {
					t.Errorf("%s is linked with %s", pkg, dep)
				}
			}
		}
	}
	daemon := linked(t, "cmd/chant-acpd")
	for _, b := range []string{"net/http", "crypto/tls", "github.com/coder/websocket", "github.com/modelcontextprotocol/go-sdk/mcp", "github.com/evanw/esbuild/pkg/api", "modernc.org/quickjs"} {
		if !slices.Contains(daemon, b) {
			t.Errorf("cmd/chant-acpd is not linked with %s: the names that chant-acp must not be linked with are others", b)
		}
	}
}

// TestArchitectureNamesEveryPackage keeps the page and the table together.
func TestArchitectureNamesEveryPackage(t *testing.T) {
	atRoot(t)
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		if !strings.Contains(string(text), "`"+name+"`") {
			t.Errorf("ARCHITECTURE.md does not mention the package %s", name)
		}
	}
}

// TestDependenciesHaveAReason wants every module that is imported to stand in
// CONTRIBUTING.md with what it is for.
func TestDependenciesHaveAReason(t *testing.T) {
	atRoot(t)
	text, err := os.ReadFile("CONTRIBUTING.md")
	if err != nil {
		t.Fatal(err)
	}
	for name, p := range packages(t) {
		for _, i := range p.others {
			first, _, _ := strings.Cut(i, "/")
			if !strings.Contains(first, ".") { // the standard library
				continue
			}
			if !named(string(text), i) {
				t.Errorf("%s imports %s, and CONTRIBUTING.md gives no reason for its module", name, i)
			}
		}
	}
}

// named says whether a page names the package, or a module that it may be of.
func named(text, pkg string) bool {
	for ; strings.Contains(pkg, "/"); pkg = path.Dir(pkg) {
		if strings.Contains(text, "`"+pkg+"`") {
			return true
		}
	}
	return false
}

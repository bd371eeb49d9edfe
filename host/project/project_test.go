package project_test

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/chant-acp/chant-acp/command"
	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/op/eval/engine"
	"github.com/chant-acp/chant-acp/host/process"
	"github.com/chant-acp/chant-acp/host/project"
	"github.com/chant-acp/chant-acp/internal/acpd"
)

// TestMain makes this test binary the guard, or chant-acpd, where it is started as
// one of them.
func TestMain(m *testing.M) {
	process.GuardMain()
	if call, err := acpd.Called(os.Args[1:]); err == nil && call.Is(acpd.Evaluate) {
		os.Exit(engine.Main())
	}
	_ = os.Setenv(acpd.Variable, "/proc/self/exe")
	goleak.VerifyTestMain(m)
}

const manifest = `version: 1
environments: {dev: {}, prod: {protected: true}}
commands:
  show: {summary: print variables, exec: [env], effect: read, env: {OWN: "1", PAGER: mine}}
  fill: {summary: print a lot, exec: [head, -c, "3000000", /dev/zero], effect: read}
  nap: {summary: sleep, exec: [sleep, "60"], grace: 0s, timeout: 10ms}
`

// open makes a project with a manifest, "" for none.
func open(t *testing.T, manifest string, o project.Options) (*project.Project, string) {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if manifest != "" {
		write(t, filepath.Join(dir, command.ManifestName), manifest)
	}
	if o.Env == nil {
		o.Env = os.Environ()
	}
	return project.New(dir, o), dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

func parse(t *testing.T, p *project.Project, line string) *command.Invocation {
	t.Helper()
	words, err := command.Split(line)
	if err != nil {
		t.Fatal(err)
	}
	inv, err := p.AllowList().Registry.Parse(words, command.ParseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return inv
}

// run runs a line and returns what it printed and how it ended.
func run(t *testing.T, p *project.Project, line string, color bool) (string, string, host.Result) {
	t.Helper()
	var out strings.Builder
	r, err := p.Start(context.Background(), parse(t, p, line), host.StartOptions{
		Name: "turn", Color: color, Output: func(b []byte) { out.Write(b) },
	})
	if err != nil {
		t.Fatal(err)
	}
	res := r.Wait()
	return out.String(), r.Log(), res
}

func TestTheAllowListFollowsItsFiles(t *testing.T) {
	p, dir := open(t, "", project.Options{Env: []string{"PATH=/nowhere"}})
	none := p.AllowList()
	if none.Problem != nil || len(none.Environments) != 0 || p.Dir() != dir {
		t.Fatalf("without a manifest: %+v in %s", none, p.Dir())
	}
	write(t, filepath.Join(dir, command.ManifestName), manifest)
	made := p.AllowList()
	if made.Version == none.Version || len(made.Environments) != 2 {
		t.Fatalf("a new manifest is not seen: %+v", made)
	}
	if again := p.AllowList(); again.Version != made.Version {
		t.Error("nothing changed, and yet the version did")
	}
	write(t, filepath.Join(dir, command.ManifestName), "version: 1\nnonsense: 1\n")
	broken := p.AllowList()
	if broken.Version == made.Version || broken.Problem == nil || len(broken.Environments) != 0 {
		t.Fatalf("a broken manifest is not seen: %+v", broken)
	}
	if _, err := broken.Registry.Parse([]string{"show"}, command.ParseOptions{}); err == nil {
		t.Error("a command of the manifest before is still allowed")
	}
	if _, err := broken.Registry.Parse([]string{"help"}, command.ParseOptions{}); err != nil {
		t.Errorf("help: %v", err)
	}
	if err := os.Remove(filepath.Join(dir, command.ManifestName)); err != nil {
		t.Fatal(err)
	}
	if gone := p.AllowList(); gone.Version == broken.Version || gone.Problem != nil {
		t.Errorf("a manifest that is gone: %+v", gone)
	}
}

// ManifestDir is a promise that the folder is there: it ends with the manifest.
func TestTheFolderOfTheManifest(t *testing.T) {
	p, dir := open(t, manifest, project.Options{})
	if got := p.AllowList().ManifestDir; got != dir {
		t.Errorf("it is %q, want %q", got, dir)
	}
	write(t, filepath.Join(dir, command.ManifestName), "version: broken")
	if allow := p.AllowList(); allow.ManifestDir != dir || allow.Problem == nil {
		t.Errorf("of a broken manifest it is %q (%v)", allow.ManifestDir, allow.Problem)
	}
	for _, there := range []bool{true, false} { // known to be there, and not
		if there {
			write(t, filepath.Join(dir, command.ManifestName), manifest)
			p.AllowList()
		}
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		if got := p.AllowList().ManifestDir; got != "" {
			t.Errorf("of a folder that is gone it is %q", got)
		}
	}
	sub := t.TempDir()
	if got := project.New(sub, project.Options{}).AllowList().ManifestDir; got != "" {
		t.Errorf("without a manifest it is %q", got)
	}
}

func TestTheEnvironmentOfPrograms(t *testing.T) {
	for _, c := range []struct {
		name      string
		inherited []string
		color     bool
		want      []string
		never     []string
	}{
		{"plain", []string{"FORCE_COLOR=1", "TERM=xterm"}, false,
			[]string{"NO_COLOR=1", "TERM=dumb", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0", "OWN=1", "PAGER=mine"}, []string{"FORCE_COLOR", "CHANT_ENV"}},
		{"color", []string{"NO_COLOR=1", "TERM=vt100"}, true,
			[]string{"FORCE_COLOR=1", "TERM=xterm-256color", "GIT_PAGER=cat", "OWN=1", "PAGER=mine"}, []string{"NO_COLOR"}},
		{"twice", []string{"A=1", "A=2"}, false, []string{"A=2"}, nil},
		{"of another line", []string{"CHANT_ENV=prod", "CHANT_PARAM_TAG=v1", "CHANT_CONTEXT_who=me", "CHANT_PARAMETER=x"}, false,
			[]string{"CHANT_PARAMETER=x"}, []string{"CHANT_ENV", "CHANT_PARAM_TAG", "CHANT_CONTEXT_who"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, _ := open(t, manifest, project.Options{Env: append([]string{"PATH=" + os.Getenv("PATH")}, c.inherited...)})
			out, _, _ := run(t, p, "show", c.color)
			vars := strings.Split(strings.TrimSpace(out), "\n")
			for _, want := range c.want {
				if !slices.Contains(vars, want) {
					t.Errorf("%s is missing in\n%s", want, out)
				}
			}
			seen := map[string]bool{}
			for _, v := range vars {
				name, _, _ := strings.Cut(v, "=")
				if seen[name] || slices.Contains(c.never, name) {
					t.Errorf("%s stands twice or should not be there:\n%s", name, out)
				}
				seen[name] = true
			}
		})
	}
}

func TestTheLogIsWholeOrSaysWhyNot(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		name  string
		o     project.Options
		size  int64
		lacks string
	}{
		{"whole", project.Options{LogDir: filepath.Join(dir, "a")}, 3000000, ""},
		{"at most", project.Options{LogDir: filepath.Join(dir, "b"), LogMax: 1000}, 1000, "log.max"},
		{"no disk", project.Options{LogDir: filepath.Join(dir, "c"), LogFloor: 1 << 60}, 0, "of disk are free"},
		{"no folder", project.Options{}, -1, "no folder"},
		{"not a folder", project.Options{LogDir: filepath.Join(dir, "file", "x")}, -1, "no log is kept"},
	} {
		t.Run(c.name, func(t *testing.T) {
			write(t, filepath.Join(dir, "file"), "")
			p, _ := open(t, manifest, c.o)
			out, log, res := run(t, p, "fill", false)
			if len(out) != 3000000 || res.ExitCode != 0 {
				t.Errorf("the program was disturbed: %d bytes, %+v", len(out), res)
			}
			if !strings.Contains(res.LogLacks, c.lacks) || (c.lacks == "") != (res.LogLacks == "") {
				t.Errorf("the log lacks %q, want %q", res.LogLacks, c.lacks)
			}
			if c.size < 0 {
				if log != "" {
					t.Errorf("there is a log at %s", log)
				}
				return
			}
			st, err := os.Stat(log)
			if err != nil || st.Size() != c.size || st.Mode().Perm() != 0o600 {
				t.Errorf("log %s: %v, %v, want %d bytes for this user alone", log, st, err, c.size)
			}
		})
	}
}

func TestWithoutOutputThereIsNoLog(t *testing.T) {
	logs := filepath.Join(t.TempDir(), "logs")
	p, _ := open(t, "version: 1\ncommands: {quiet: {summary: s, exec: ['true']}}\n", project.Options{LogDir: logs})
	if _, log, _ := run(t, p, "quiet", false); log != "" {
		t.Errorf("a log at %s", log)
	}
	if _, err := os.Stat(logs); err == nil {
		t.Error("a folder for no log")
	}
}

func TestATimeLimitWithoutGraceEnds(t *testing.T) {
	p, _ := open(t, manifest, project.Options{})
	_, _, res := run(t, p, "nap", false)
	if res.Stopped != host.StopTimeout {
		t.Errorf("%+v", res)
	}
	if res.Duration > time.Minute/2 {
		t.Errorf("it slept on for %s", res.Duration)
	}
}

func TestAProgramThatIsNotThere(t *testing.T) {
	p, _ := open(t, "version: 1\ncommands: {gone: {summary: s, exec: [no-such-program]}}\n", project.Options{Env: []string{"PATH=/nowhere"}})
	_, err := p.Start(context.Background(), parse(t, p, "gone"), host.StartOptions{Name: "x", Output: func([]byte) {}})
	if err == nil || !strings.Contains(err.Error(), "no-such-program") || !strings.Contains(err.Error(), "/nowhere") {
		t.Errorf("got %v, want the program's name and the PATH", err)
	}
}

func TestTheProjectsOwnChantIsUsedOnlyWhereItCanBeTrusted(t *testing.T) {
	p, dir := open(t, "", project.Options{Env: []string{"PATH=/nowhere"}})
	bin := filepath.Join(dir, "node_modules", ".bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		t.Fatal(err)
	}
	chant := filepath.Join(bin, "chant")
	write(t, chant, "#!/bin/sh\necho chant \"$@\"\n")
	verb := func(p *project.Project) error {
		_, err := p.AllowList().Registry.Parse([]string{"lint"}, command.ParseOptions{})
		return err
	}
	if err := verb(p); err != nil {
		t.Errorf("a chant of this user's is not used: %v", err)
	}
	if err := os.Chmod(chant, 0o757); err != nil {
		t.Fatal(err)
	}
	if verb(project.New(dir, project.Options{Env: []string{"PATH=/nowhere"}})) == nil {
		t.Error("a chant that anybody may write is used")
	}
	if err := os.Chmod(chant, 0o755); err != nil {
		t.Fatal(err)
	}
	fresh := func() *project.Project { return project.New(dir, project.Options{Env: []string{"PATH=/nowhere"}}) }
	for _, folder := range []string{bin, filepath.Dir(bin), dir} {
		if err := os.Chmod(folder, 0o777); err != nil {
			t.Fatal(err)
		}
		if verb(fresh()) == nil {
			t.Errorf("a chant in %s, which anybody may write to, is used", folder)
		}
		if err := os.Chmod(folder, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Rename(chant, filepath.Join(dir, "node_modules", "chant.js")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../chant.js", chant); err != nil {
		t.Fatal(err)
	}
	if err := verb(fresh()); err != nil {
		t.Errorf("a link inside the project, as npm makes it, is not used: %v", err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(chant); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("/bin/sh", chant); err != nil {
		t.Fatal(err)
	}
	if verb(fresh()) == nil {
		t.Error("a link that leads out of the project is used")
	}
	if err := os.Remove(chant); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(self, chant); err != nil {
		t.Fatal(err)
	}
	if verb(project.New(dir, project.Options{Env: []string{"PATH=/nowhere"}})) == nil {
		t.Error("this very program is taken for chant")
	}
}

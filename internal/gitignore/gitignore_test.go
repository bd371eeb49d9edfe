package gitignore_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/internal/gitignore"
)

// The cases are those that gitignore(5) tells of.
var cases = []struct {
	pattern, name string // a name that ends in a slash is a folder
	ignored       bool
}{
	{"a.txt", "a.txt", true},
	{"a.txt", "x/y/a.txt", true},
	{"a.txt", "a.txt/", true},
	{"a.txt", "b.txt", false},
	{"# a", "# a", false},
	{`\#a`, "#a", true},
	{`\!a`, "!a", true},
	{"a ", "a", true},
	{`a\ `, "a ", true},
	{"", "a", false},
	{"/", "a", false},
	{"/a", "a", true},
	{"/a", "x/a", false},
	{"a/", "a", false},
	{"a/", "a/", true},
	{"a/", "x/a/", true},
	{"x/a", "x/a", true},
	{"x/a", "y/x/a", false},
	{"x/a/", "x/a/", true},
	{"*.o", "x/y.o", true},
	{"x/*.o", "x/y.o", true},
	{"x/*.o", "x/y/z.o", false},
	{"?.o", "a.o", true},
	{"?.o", "ab.o", false},
	{"[a-c].o", "b.o", true},
	{"[!a-c].o", "b.o", false},
	{"[!a-c].o", "d.o", true},
	{"[[:digit:]].o", "7.o", true},
	{"[[:digit:]].o", "x.o", false},
	{"**/a", "a", true},
	{"**/a", "x/y/a", true},
	{"**/x/a", "y/x/a", true},
	{"x/**", "x/y/a", true},
	{"x/**", "x/", false},
	{"x/**/a", "x/a", true},
	{"x/**/a", "x/y/z/a", true},
	{"x/**/a", "y/a", false},
	{"[a", "[a", false},
	{"a\n!a", "a", false},
	{"!a\na", "a", true},
	{"*\n!*.ts", "x.ts", false},
	{"*\n!*.ts", "x.js", true},
	{"a\r\nb", "a", true},
}

func TestMatch(t *testing.T) {
	for _, c := range cases {
		name, dir := strings.CutSuffix(c.name, "/")
		got, _ := gitignore.Parse("", []byte(c.pattern)).Match(name, dir)
		if got != c.ignored {
			t.Errorf("%q of %q: ignored %v", c.name, c.pattern, got)
		}
	}
}

func TestFolder(t *testing.T) {
	p := gitignore.Parse("x", []byte("/a\nb\n"))
	for name, want := range map[string]bool{"x/a": true, "x/b": true, "x/y/b": true, "a": false, "b": false, "x/y/a": false, "xx/a": false} {
		if got, _ := p.Match(name, false); got != want {
			t.Errorf("%s: ignored %v", name, got)
		}
	}
}

// TestGit asks git the same questions.
func TestGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not there")
	}
	for _, c := range cases {
		dir := t.TempDir()
		if out, err := exec.Command(git, "init", "-q", dir).CombinedOutput(); err != nil {
			t.Skipf("git init: %v %s", err, out)
		}
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(c.pattern), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(c.name)), 0o700); err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(c.name, "/") {
			if err := os.MkdirAll(filepath.Join(dir, c.name), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(git, "check-ignore", "-q", "--no-index", strings.TrimSuffix(c.name, "/"))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		err := cmd.Run()
		if got := err == nil; got != c.ignored {
			t.Errorf("%q of %q: git ignores it: %v", c.name, c.pattern, got)
		}
	}
}

func FuzzMatch(f *testing.F) {
	for _, c := range cases {
		f.Add(c.pattern, c.name)
	}
	f.Fuzz(func(t *testing.T, patterns, name string) {
		gitignore.Parse("", []byte(patterns)).Match(name, false)
	})
}

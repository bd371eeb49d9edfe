package subject_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/chant-acp/chant-acp/host/subject"
)

var asked = time.Now().Add(-24 * time.Hour)

// project makes a folder with files, by their paths below it.
func project(t testing.TB, files map[string]string) string {
	t.Helper()
	root, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		put(t, root, name, text)
	}
	return root
}

func put(t testing.TB, root, name, text string) {
	t.Helper()
	path := filepath.Join(root, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		t.Fatal(err)
	}
}

// look finds programs in the folder bin of the project, then says that they lie in
// the system.
func look(root, dir string) func(string) (string, error) {
	return func(name string) (string, error) {
		path := filepath.Join(root, "bin", name)
		if strings.Contains(name, "/") {
			path = filepath.Join(dir, name)
			if filepath.IsAbs(name) {
				path = name
			}
		}
		if _, err := os.Stat(path); err == nil {
			return path, nil
		}
		if name == "cat" {
			return "/bin/sh", nil // some file of the system
		}
		return "", fs.ErrNotExist
	}
}

func of(t testing.TB, root string, w subject.Work) subject.Subject {
	t.Helper()
	w.Root = root
	for i := range w.Commands {
		c := &w.Commands[i]
		c.Dir = filepath.Join(root, c.Dir)
		c.Look = look(root, c.Dir)
	}
	s, err := subject.Of(w)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// What counts, and in which words a change of it is told.
func TestWhatCounts(t *testing.T) {
	files := map[string]string{
		"scripts/ship": "#!/bin/sh\n", "plan.out": "a plan", "lib/a.tf": "a", "lib/deep/b.tf": "b", "notes.md": "n", "other": "o", "report.txt": "r",
		"scripts/own": "#! ./bin/interpret -x\n", "scripts/by-env": "#!/usr/bin/env -S A=b interpret\n", "bin/interpret": "#!./bin/first\n", "bin/first": "\x7fELF",
		"scripts/itself": "#!./scripts/itself\n", "node_modules/p/lib/a.js": "a", "node_modules/p/node_modules/q/a.js": "q",
	}
	run := func(argv ...string) subject.Work {
		return subject.Work{Commands: []subject.Command{{Argv: argv}}}
	}
	shell := func(line string) subject.Work {
		return subject.Work{Commands: []subject.Command{{Shell: line}}}
	}
	code := func(folder string) subject.Work {
		return subject.Work{Commands: []subject.Command{{Argv: []string{"cat"}, Code: []string{folder}}}}
	}
	write := func(name, text string) func(*testing.T, string) {
		return func(t *testing.T, root string) { put(t, root, name, text) }
	}
	remove := func(name string) func(*testing.T, string) {
		return func(t *testing.T, root string) {
			if err := os.Remove(filepath.Join(root, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		name   string
		work   subject.Work
		change func(*testing.T, string)
		says   string // "" where it does not count
	}{
		{"the program", run("./scripts/ship", "prod"), write("scripts/ship", "rm"), "scripts/ship changed at "},
		{"its interpreter", run("./scripts/own"), write("bin/interpret", "rm"), "bin/interpret changed at "},
		{"the interpreter's", run("./scripts/own"), write("bin/first", "rm"), "bin/first changed at "},
		{"one that env starts", run("./scripts/by-env"), write("bin/interpret", "rm"), "interpret changed at "},
		{"its own interpreter", run("./scripts/itself"), write("other", "another"), ""},
		{"the program is gone", run("./scripts/ship"), remove("scripts/ship"), "scripts/ship is not there any more"},
		{"a file that a word names", run("cat", "plan.out"), write("plan.out", "another"), "plan.out changed at "},
		{"by its absolute path", run("cat", "ROOT/plan.out"), write("plan.out", "another"), "plan.out changed at "},
		{"through a link", run("cat", "link"), write("plan.out", "another"), "plan.out changed at "},
		{"it is gone", run("cat", "plan.out"), remove("plan.out"), "plan.out is not there any more"},
		{"it came", run("cat", "later.out"), write("later.out", "new"), "later.out is new at "},
		{"a folder that comes", run("cat", "dist"), write("dist/a", "x"), ""},
		{"what a shell line writes", shell("cat plan.out >> other 2>&1"), write("other", "another"), ""},
		{"a part of a word", run("cat", "--file=plan.out"), write("plan.out", "another"), ""},
		{"a folder", run("cat", "lib"), write("lib/a.tf", "another"), ""},
		{"a file that nothing names", run("cat", "plan.out"), write("other", "another"), ""},
		{"a program in front of another", run("cat", "x"), write("bin/cat", "mine"), "the program cat is ROOT/bin/cat now, and was /"},
		{"a word of a shell line", shell("cd . && ./scripts/ship prod > out"), write("scripts/ship", "rm"), "scripts/ship changed at "},
		{"a quoted one", shell(`A=b cat "plan.out"`), write("plan.out", "another"), "plan.out changed at "},
		{"one in a substitution", shell(`echo "now: $(cat plan.out)"`), write("plan.out", "another"), "plan.out changed at "},
		{"code of a package", code("ROOT/node_modules/p"), write("node_modules/p/lib/a.js", "another"), "node_modules/p changed at "},
		{"new code of it", code("ROOT/node_modules/p"), write("node_modules/p/lib/b.js", "new"), "node_modules/p changed at "},
		{"another package in it", code("ROOT/node_modules/p"), write("node_modules/p/node_modules/q/b.js", "new"), ""},
		{"a package that is not there", code("ROOT/node_modules/q"), write("other", "another"), ""},
		{"a program of a shell line", shell("true; if cat x; then :; fi"), write("bin/cat", "mine"), "the program cat is ROOT/bin/cat now, and was /"},
		{"a comment", shell("true # other"), write("other", "another"), ""},
		{"bind", subject.Work{Bind: []string{"lib/**/*.tf"}}, write("lib/deep/b.tf", "c"), "lib/deep/b.tf changed at "},
		{"bind, a new file", subject.Work{Bind: []string{"**/*.tf"}}, write("lib/new.tf", "c"), "lib/new.tf is new"},
		{"bind, of one folder", subject.Work{Bind: []string{"lib/*.tf"}}, write("lib/deep/b.tf", "c"), ""},
		{"bind, what git keeps", subject.Work{Bind: []string{"**"}}, write(".git/HEAD", "c"), ""},
		{"evidence", subject.Work{Evidence: []string{"report.txt"}}, write("report.txt", "s"), "report.txt changed at "},
		{"evidence is gone", subject.Work{Evidence: []string{"report.txt"}}, remove("report.txt"), "report.txt is not there any more"},
		{"nothing", run("./scripts/ship", "plan.out"), func(*testing.T, string) {}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := project(t, files)
			if err := os.Symlink("plan.out", filepath.Join(root, "link")); err != nil {
				t.Fatal(err)
			}
			for _, cmd := range c.work.Commands {
				for i := range cmd.Argv {
					cmd.Argv[i] = strings.ReplaceAll(cmd.Argv[i], "ROOT", root)
				}
				for i := range cmd.Code {
					cmd.Code[i] = strings.ReplaceAll(cmd.Code[i], "ROOT", root)
				}
			}
			again := func() subject.Subject {
				w := c.work
				w.Commands = slices.Clone(w.Commands)
				return of(t, root, w)
			}
			was := again()
			c.change(t, root)
			is := again()
			got := subject.Compare(was, is, asked, "the question")
			says := strings.ReplaceAll(c.says, "ROOT", root)
			if (got == "") != (says == "") || !strings.Contains(got, says) {
				t.Errorf("it says %q, want %q", got, says)
			}
			if (got == "") != (was.Digest() == is.Digest()) {
				t.Errorf("it says %q, and the digests are %s and %s", got, was.Digest(), is.Digest())
			}
			if got != "" && !strings.HasSuffix(got, ", after the question") {
				t.Errorf("it says %q, without when", got)
			}
		})
	}
}

// A file with the old content is the old file, whatever its times say; and what
// can't be told by its times is told without.
func TestPuttingBack(t *testing.T) {
	root := project(t, map[string]string{"ship": "one"})
	work := subject.Work{Commands: []subject.Command{{Argv: []string{"./ship"}}}}
	was := of(t, root, subject.Work{Commands: slices.Clone(work.Commands)})
	put(t, root, "ship", "two")
	is := of(t, root, subject.Work{Commands: slices.Clone(work.Commands)})
	if got := subject.Compare(was, is, time.Now().Add(time.Hour), "the question"); got != "ship changed, after the question" {
		t.Errorf("of a change before the question it says %q", got)
	}
	put(t, root, "ship", "one")
	back := of(t, root, subject.Work{Commands: slices.Clone(work.Commands)})
	if got := subject.Compare(was, back, asked, "the question"); got != "" {
		t.Errorf("of what was put back it says %q", got)
	}
}

// After a command ran, the files that it names count as it left them, and what it is
// as it was.
func TestEnded(t *testing.T) {
	root := project(t, map[string]string{"ship": "one", "plan.out": "old"})
	now := func(line string) subject.Subject {
		return of(t, root, subject.Work{Texts: []subject.Text{{Name: "the line", Value: line}}, Commands: []subject.Command{{Shown: "ship", Argv: []string{"./ship", "plan.out"}}}})
	}
	was := now("ship")
	put(t, root, "plan.out", "written by it")
	put(t, root, "ship", "two")
	end := was.Ended(now("another"))
	if got := subject.Compare(end, now("ship"), asked, "the first call"); !strings.HasPrefix(got, "ship changed") || strings.Contains(got, "plan.out") {
		t.Errorf("it says %q", got)
	}
	put(t, root, "ship", "one")
	if end.Digest() != now("ship").Digest() {
		t.Error("the same is not the same after it wrote its file")
	}
	put(t, root, "plan.out", "written by another")
	if got := subject.Compare(end, now("ship"), asked, "the first call"); !strings.HasPrefix(got, "plan.out changed") {
		t.Errorf("it says %q", got)
	}
}

func TestWhatCanNotBeBound(t *testing.T) {
	root := project(t, map[string]string{"a": ""})
	for _, w := range []subject.Work{
		{Root: root, Bind: []string{"../*"}}, {Root: root, Bind: []string{"/etc/*"}}, {Root: root, Bind: []string{"[a"}},
		{Root: root, Evidence: []string{"../a"}}, {Root: root, Evidence: []string{"/etc/passwd"}}, {Root: filepath.Join(root, "gone")},
	} {
		if _, err := subject.Of(w); err == nil {
			t.Errorf("%+v is taken", w)
		}
	}
	if err := os.Symlink("/etc/passwd", filepath.Join(root, "out")); err != nil {
		t.Fatal(err)
	}
	if s, err := subject.Of(subject.Work{Root: root, Evidence: []string{"out"}}); err == nil {
		t.Errorf("evidence is followed out of the project: %+v", s)
	}
}

// A pipe under the name of a file holds nobody, and a large file counts by its
// size.
func TestWhatIsNotRead(t *testing.T) {
	root := project(t, map[string]string{"large": ""})
	work := func() subject.Work {
		return subject.Work{Commands: []subject.Command{{Argv: []string{"cat", "large"}}}}
	}
	if err := os.Truncate(filepath.Join(root, "large"), subject.MaxNamed+1); err != nil {
		t.Fatal(err)
	}
	was := of(t, root, work())
	i := slices.IndexFunc(was.Parts, func(p subject.Part) bool { return p.Name == "large" })
	if i < 0 || was.Parts[i].SHA256 != "" || was.Parts[i].Lacks == "" {
		t.Errorf("a large file is %+v", was.Parts)
	}
	if err := os.Truncate(filepath.Join(root, "large"), subject.MaxNamed+2); err != nil {
		t.Fatal(err)
	}
	if subject.Compare(was, of(t, root, work()), asked, "the question") == "" {
		t.Error("another size is not seen")
	}
}

// Two subjects have one digest exactly where Compare finds nothing.
func TestDigestAndCompareAgree(t *testing.T) {
	root := project(t, nil)
	name := rapid.SampledFrom([]string{"a", "b", "ab", "", "a b"})
	texts := rapid.SliceOfN(rapid.Custom(func(t *rapid.T) subject.Text {
		return subject.Text{Name: name.Draw(t, "name"), Value: name.Draw(t, "value")}
	}), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		w, v := subject.Work{Root: root}, subject.Work{Root: root}
		w.Texts, v.Texts = texts.Draw(t, "texts"), texts.Draw(t, "other texts")
		a, errA := subject.Of(w)
		b, errB := subject.Of(v)
		if err := errors.Join(errA, errB); err != nil {
			t.Fatal(err)
		}
		said := subject.Compare(a, b, asked, "the question")
		if (said == "") != (a.Digest() == b.Digest()) || (said == "") != (set(w) == set(v)) {
			t.Errorf("of %+v and %+v it says %q", w, v, said)
		}
		slices.Reverse(w.Texts)
		if again, err := subject.Of(w); err != nil || again.Digest() != a.Digest() {
			t.Errorf("the order of %+v counts (%v)", w.Texts, err)
		}
	})
}

// set is what counts of texts and steps, as text.
func set(w subject.Work) string {
	var list []string
	for _, t := range w.Texts {
		list = append(list, fmt.Sprintf("%q=%q", t.Name, t.Value))
	}
	slices.Sort(list)
	return fmt.Sprintf("%q", slices.Compact(list))
}

// The steps are what a person is shown: in another order they are another question.
func TestStepsCount(t *testing.T) {
	root := project(t, nil)
	digests := map[string]bool{}
	for _, steps := range [][]string{{"a", "b"}, {"b", "a"}, {"ab"}, {"a", "", "b"}, {}} {
		digests[of(t, root, subject.Work{Steps: steps}).Digest()] = true
	}
	if len(digests) != 5 {
		t.Errorf("%d digests of five lists", len(digests))
	}
}

// What is left to run is compared with all that was asked about.
func TestFewerCommands(t *testing.T) {
	root := project(t, map[string]string{"a": "1", "b": "1", "c": "1"})
	all := func(names ...string) subject.Work {
		w := subject.Work{Bind: []string{"c"}}
		for _, n := range names {
			w.Commands = append(w.Commands, subject.Command{Argv: []string{"cat", n}})
		}
		return w
	}
	was := of(t, root, all("a", "b"))
	put(t, root, "a", "2")
	if got := subject.Compare(was, of(t, root, all("b")), asked, "the question"); got != "" {
		t.Errorf("of what is over it says %q", got)
	}
	put(t, root, "b", "2")
	if got := subject.Compare(was, of(t, root, all("b")), asked, "the question"); !strings.HasPrefix(got, "b changed") {
		t.Errorf("of what is left it says %q", got)
	}
	if got := subject.Compare(was, of(t, root, subject.Work{}), asked, "the question"); !strings.HasPrefix(got, "c is not there any more") {
		t.Errorf("of what is bound it says %q", got)
	}
}

// Whatever byte of a file that counts changes, the digest does.
func TestEveryByteCounts(t *testing.T) {
	root := project(t, nil)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.SliceOfN(rapid.Byte(), 1, 200).Draw(t, "text")
		at := rapid.IntRange(0, len(text)-1).Draw(t, "at")
		other := slices.Clone(text)
		other[at] ^= 1 << rapid.IntRange(0, 7).Draw(t, "bit")
		digests := map[string]bool{}
		for _, content := range [][]byte{text, other, text[:len(text)-1]} {
			if err := os.WriteFile(filepath.Join(root, "f"), content, 0o600); err != nil {
				t.Fatal(err)
			}
			s, err := subject.Of(subject.Work{Root: root, Evidence: []string{"f"}})
			if err != nil {
				t.Fatal(err)
			}
			digests[s.Digest()] = true
		}
		if len(digests) != 3 {
			t.Errorf("%d digests for three contents", len(digests))
		}
	})
}

func TestGlobs(t *testing.T) {
	for _, c := range []struct {
		pattern string
		names   string
	}{
		{"a", "a"}, {"*", "a b.go"}, {"**", "a b.go d/a d/e/b.go"}, {"**/a", "a d/a"}, {"d/**", "d/a d/e/b.go"}, {"d/*", "d/a"},
		{"**/*.go", "b.go d/e/b.go"}, {"d/**/b.go", "d/e/b.go"}, {"*/*/*", "d/e/b.go"}, {"./d/a", "d/a"}, {"x/**", ""}, {"**/e/**", "d/e/b.go"},
	} {
		root := project(t, map[string]string{"a": "", "b.go": "", "d/a": "", "d/e/b.go": ""})
		s := of(t, root, subject.Work{Bind: []string{c.pattern}})
		var names []string
		for _, p := range s.Parts {
			names = append(names, p.Name)
		}
		if got := strings.Join(names, " "); got != c.names {
			t.Errorf("%s names %q, want %q", c.pattern, got, c.names)
		}
	}
}

func FuzzShellLine(f *testing.F) {
	for _, line := range []string{"a 'b' \"c $(d)\" `e` # f", "\\", "'", "\"", "A=1 b; ${x}", "$(("} {
		f.Add(line)
	}
	root := project(f, map[string]string{"a": ""})
	f.Fuzz(func(t *testing.T, line string) {
		of(t, root, subject.Work{Commands: []subject.Command{{Shell: line}}})
	})
}

package gitstate

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// A lab is a repository that git made, in a folder of the test.
type lab struct {
	*testing.T
	git, dir string
	env      []string
	settled  int
}

func newLab(t *testing.T, init ...string) *lab {
	t.Helper()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("needs git")
	}
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	l := &lab{t, git, filepath.Join(dir, "tree"), []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "GIT_CONFIG_NOSYSTEM=1", "GIT_OPTIONAL_LOCKS=0",
		"GIT_AUTHOR_NAME=n", "GIT_AUTHOR_EMAIL=e@example.com", "GIT_COMMITTER_NAME=n", "GIT_COMMITTER_EMAIL=e@example.com",
	}, 0}
	if err := os.Mkdir(l.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	l.run(append([]string{"-c", "init.defaultBranch=main", "init", "-q", "--template="}, init...)...)
	return l
}

// run runs git in the work tree, and returns what it prints.
func (l *lab) run(args ...string) string {
	l.Helper()
	cmd := exec.CommandContext(l.Context(), l.git, args...)
	cmd.Dir, cmd.Env = l.dir, l.env
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		l.Fatalf("git %q: %v: %s", args, err, stderr.String())
	}
	return string(out)
}

func (l *lab) path(name string) string { return filepath.Join(l.dir, name) }

func (l *lab) write(name, text string) {
	l.Helper()
	if err := os.MkdirAll(filepath.Dir(l.path(name)), 0o700); err != nil {
		l.Fatal(err)
	}
	if err := os.WriteFile(l.path(name), []byte(text), 0o600); err != nil {
		l.Fatal(err)
	}
}

// commit commits some files, and lets them be older than the index: what is as old
// is compared by its content, which hides what the index says.
func (l *lab) commit() {
	l.Helper()
	l.write("a.txt", "one\n")
	l.write("dir/b.txt", "two\n")
	l.write("dir/sub/c.txt", "three\n")
	l.write("dir-x", "four\n")
	l.write(".gitignore", "*.log\n/out/\n")
	l.settle()
}

// settle commits all there is.
func (l *lab) settle() {
	l.Helper()
	l.settled++
	old := time.Now().Add(-time.Duration(l.settled) * time.Hour)
	_ = filepath.WalkDir(l.dir, func(path string, d os.DirEntry, _ error) error {
		if d.Name() == ".git" {
			return filepath.SkipDir
		}
		if d.Type().IsRegular() {
			return os.Chtimes(path, old, old)
		}
		return nil
	})
	l.run("add", "-A")
	l.run("commit", "-q", "--allow-empty", "-m", "m")
}

// told is what git says of the work tree.
func (l *lab) told() (s State) {
	l.Helper()
	clean := true
	for line := range strings.Lines(l.run("status", "--porcelain=v2", "--branch")) {
		key, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(line), "# branch."), " ")
		switch {
		case !strings.HasPrefix(line, "#"):
			clean = false
		case key == "oid" && value != "(initial)":
			s.Commit = value
		case key == "head" && value != "(detached)":
			s.Branch = value
		}
	}
	s.Clean = &clean
	return s
}

func show(clean *bool) string {
	switch {
	case clean == nil:
		return "unknown"
	case *clean:
		return "clean"
	}
	return "dirty"
}

// same compares with git. Where hidden, that a tree is clean or not is not known
// here, though git says it.
func (l *lab) same(hidden bool) {
	l.Helper()
	want, got := l.told(), Read(l.Context(), l.dir)
	if got.Commit != want.Commit || got.Branch != want.Branch {
		l.Errorf("got commit %q and branch %q, git says %q and %q", got.Commit, got.Branch, want.Commit, want.Branch)
	}
	if have, said := show(got.Clean), show(want.Clean); hidden && have != "unknown" || !hidden && have != said {
		l.Errorf("got %s, git says %s", have, said)
	}
}

func TestAsGitSays(t *testing.T) {
	for _, c := range []struct {
		name   string
		do     func(l *lab)
		hidden bool
	}{
		{"nothing changed", func(*lab) {}, false},
		{"below the root", func(l *lab) { l.dir = l.path("dir/sub") }, false},
		{"another content", func(l *lab) { l.write("a.txt", "one and more\n") }, false},
		{"another content of the same size", func(l *lab) { l.write("dir/b.txt", "2wo\n") }, false},
		{"another time", func(l *lab) { _ = os.Chtimes(l.path("a.txt"), time.Now(), time.Now()) }, false},
		{"written anew", func(l *lab) { _ = os.Remove(l.path("a.txt")); l.write("a.txt", "one\n") }, false},
		{"deleted", func(l *lab) { _ = os.Remove(l.path("dir/sub/c.txt")) }, false},
		{"a folder deleted", func(l *lab) { _ = os.RemoveAll(l.path("dir")) }, false},
		{"executable", func(l *lab) { _ = os.Chmod(l.path("a.txt"), 0o700) }, false},
		{"executable, which does not count", func(l *lab) {
			l.run("config", "core.fileMode", "false")
			_ = os.Chmod(l.path("a.txt"), 0o700)
		}, false},
		{"a link instead", func(l *lab) { _ = os.Remove(l.path("a.txt")); _ = os.Symlink("dir-x", l.path("a.txt")) }, false},
		{"a folder instead", func(l *lab) { _ = os.Remove(l.path("a.txt")); _ = os.Mkdir(l.path("a.txt"), 0o700) }, false},
		{"a link instead of the folder", func(l *lab) {
			_ = os.Rename(l.path("dir"), l.path("out"))
			_ = os.Symlink("out", l.path("dir"))
		}, false},
		{"a link committed", func(l *lab) { _ = os.Symlink("a.txt", l.path("link")); l.settle() }, false},
		{"a link elsewhere", func(l *lab) {
			_ = os.Symlink("a.txt", l.path("link"))
			l.settle()
			_ = os.Remove(l.path("link"))
			_ = os.Symlink("b.txt", l.path("link"))
		}, false},
		{"untracked", func(l *lab) { l.write("new", "") }, false},
		{"untracked in a folder", func(l *lab) { l.write("new/new/new", "") }, false},
		{"untracked, which does not count", func(l *lab) {
			l.write("new", "")
			l.run("config", "status.showUntrackedFiles", "no")
		}, false},
		{"an empty folder", func(l *lab) { _ = os.MkdirAll(l.path("new/new"), 0o700) }, false},
		{"ignored", func(l *lab) { l.write("dir/x.log", ""); l.write("out/x", ""); l.write("new/y.log", "") }, false},
		{"ignored for the repository", func(l *lab) { l.write("new", ""); l.write(".git/info/exclude", "new\n") }, false},
		{"ignored in its folder", func(l *lab) { l.write("new/.gitignore", "*\n"); l.write("new/x", "") }, false},
		{"not ignored after all", func(l *lab) { l.write("new/.gitignore", "*\n!x.log\n"); l.write("new/x.log", "") }, false},
		{"tracked in an ignored folder", func(l *lab) {
			l.write("out/x", "1")
			l.run("add", "-f", "out/x")
			l.settle()
			l.write("out/new", "")
		}, false},
		{"an untracked pipe", func(l *lab) { mkfifo(l.T, l.path("pipe")) }, false},
		{"staged", func(l *lab) { l.write("new", ""); l.run("add", "new") }, false},
		{"staged and taken back in the tree", func(l *lab) { l.write("a.txt", "x"); l.run("add", "a.txt"); l.write("a.txt", "one\n") }, false},
		{"staged and taken back", func(l *lab) {
			l.write("a.txt", "x")
			l.run("add", "a.txt")
			l.write("a.txt", "one\n")
			l.run("add", "a.txt")
		}, false},
		{"removed from the index", func(l *lab) { l.run("rm", "-q", "--cached", "a.txt") }, false},
		{"intent to add", func(l *lab) { l.write("new", "x"); l.run("add", "-N", "new") }, false},
		{"assumed unchanged", func(l *lab) { l.run("update-index", "--assume-unchanged", "a.txt"); l.write("a.txt", "x") }, false},
		{"assumed unchanged, deleted", func(l *lab) {
			l.run("update-index", "--assume-unchanged", "a.txt")
			_ = os.Remove(l.path("a.txt"))
		}, false},
		{"skipped", func(l *lab) {
			l.run("update-index", "--skip-worktree", "dir/sub/c.txt")
			_ = os.Remove(l.path("dir/sub/c.txt"))
		}, false},
		{"skipped, but there", func(l *lab) {
			l.run("update-index", "--skip-worktree", "a.txt")
			l.write("a.txt", "x")
		}, true},
		{"sparse", func(l *lab) { l.run("sparse-checkout", "set", "other") }, false},
		{"sparse index", func(l *lab) { l.run("sparse-checkout", "set", "--sparse-index", "other") }, false},
		{"version 4", func(l *lab) { l.run("update-index", "--index-version", "4") }, false},
		{"version 4, changed", func(l *lab) { l.run("update-index", "--index-version", "4"); l.write("dir/b.txt", "2wo\n") }, false},
		{"split index", func(l *lab) { l.run("update-index", "--split-index") }, true},
		{"conflict", func(l *lab) {
			l.run("checkout", "-q", "-b", "other")
			l.write("a.txt", "1\n")
			l.settle()
			l.run("checkout", "-q", "main")
			l.write("a.txt", "2\n")
			l.settle()
			_ = exec.Command(l.git, "-C", l.dir, "-c", "user.name=n", "-c", "user.email=e", "merge", "-q", "other").Run()
		}, false},
		{"detached", func(l *lab) { l.run("checkout", "-q", "--detach") }, false},
		{"a branch with slashes", func(l *lab) { l.run("checkout", "-q", "-b", "a/b/c") }, false},
		{"packed refs", func(l *lab) { l.run("tag", "-a", "-m", "t", "t"); l.run("pack-refs", "--all") }, false},
		{"packed objects", func(l *lab) { l.run("gc", "-q") }, false},
		{"commits packed as differences", func(l *lab) {
			for range 20 {
				l.run("commit", "-q", "--allow-empty", "-m", strings.Repeat("a long message, the same for each\n", 100))
			}
			l.run("repack", "-q", "-a", "-d", "-f", "--depth=50", "--window=50")
		}, false},
		{"a symbolic ref", func(l *lab) { l.run("symbolic-ref", "refs/heads/alias", "refs/heads/main") }, false},
		{"a branch without a commit", func(l *lab) { l.run("checkout", "-q", "--orphan", "new") }, false},
		{"a branch without a commit or files", func(l *lab) { l.run("checkout", "-q", "--orphan", "new"); l.run("rm", "-rfq", ".") }, false},
		{"no index", func(l *lab) { _ = os.Remove(l.path(".git/index")) }, false},
		{"a work tree of its own", func(l *lab) { l.run("worktree", "add", "-q", "-b", "other", "../wt"); l.dir += "/../wt" }, false},
		{"a work tree of its own, changed", func(l *lab) {
			l.run("worktree", "add", "-q", "--detach", "../wt")
			l.dir = filepath.Join(l.dir, "../wt")
			l.write("a.txt", "x")
		}, false},
		{"a submodule", func(l *lab) {
			l.run("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./.git", "module")
			l.settle()
		}, true},
		{"in a submodule", func(l *lab) {
			l.run("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./.git", "module")
			l.dir = l.path("module")
		}, false},
		{"a submodule that is not there", func(l *lab) {
			l.run("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", "./.git", "module")
			l.settle()
			l.run("submodule", "--quiet", "deinit", "-f", "module")
		}, false},
		{"another repository in it", func(l *lab) { l.run("init", "-q", "inner") }, true},
		{"line ends are converted", func(l *lab) {
			l.write(".gitattributes", "* text=auto\n")
			l.settle()
			l.write("a.txt", "one\r\n")
		}, true},
		{"line ends are converted, another content", func(l *lab) {
			l.write(".gitattributes", "* text=auto\n")
			l.settle()
			l.write("a.txt", "other\r\n")
		}, false},
		{"a filter, nothing changed", func(l *lab) { l.filter(); l.settle() }, false},
		{"a filter, changed", func(l *lab) { l.filter(); l.settle(); l.write("a.txt", "ONE\n") }, true},
		{"an include", func(l *lab) { l.write(".git/more", ""); l.run("config", "include.path", "more") }, true},
		{"an ignore file elsewhere", func(l *lab) {
			l.run("config", "core.excludesFile", "../ignored")
			l.write("../ignored", "new")
			l.write("new", "")
		}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			l := newLab(t)
			l.commit()
			c.do(l)
			l.same(c.hidden)
		})
	}
}

// filter lets all text files be kept in small letters.
func (l *lab) filter() {
	l.run("config", "filter.small.clean", "tr A-Z a-z")
	l.write(".gitattributes", "*.txt filter=small\n")
}

func TestSHA256(t *testing.T) {
	l := newLab(t, "--object-format=sha256")
	l.same(false)
	l.commit()
	l.same(false)
	l.run("gc", "-q")
	l.run("update-index", "--index-version", "4")
	l.same(false)
	l.write("dir/b.txt", "2wo\n")
	l.same(false)
}

// What came with a project leads to no other repository, holds nobody up, and a folder
// that looks like a bare repository is none.
func TestNoRepository(t *testing.T) {
	l := newLab(t)
	l.commit()
	l.run("clone", "-q", "--bare", ".", "bare")
	l.run("add", "bare")
	l.run("commit", "-q", "-m", "bare")
	inBare := Read(t.Context(), l.path("bare"))
	if want := l.told(); inBare.Commit != want.Commit || inBare.Branch != "main" {
		t.Errorf("in a bare repository: %+v, want that of the tree, %+v", inBare, want)
	}
	empty := State{}
	for _, c := range []struct {
		name string
		do   func(dir string)
	}{
		{"none", func(string) {}},
		{"an empty folder", func(dir string) { _ = os.Mkdir(dir+"/.git", 0o700) }},
		{"a link to a repository", func(dir string) { _ = os.Symlink(l.path(".git"), dir+"/.git") }},
		{"a file that leads to another repository", func(dir string) { _ = os.WriteFile(dir+"/.git", []byte("gitdir: "+l.path(".git")+"\n"), 0o600) }},
		{"a file that leads to a bare one", func(dir string) { _ = os.WriteFile(dir+"/.git", []byte("gitdir: "+l.path("bare")+"\n"), 0o600) }},
		{"a file without a line", func(dir string) { _ = os.WriteFile(dir+"/.git", nil, 0o600) }},
		{"a pipe", func(dir string) { mkfifo(t, dir+"/.git") }},
		{"pipes", func(dir string) {
			_ = os.Mkdir(dir+"/.git", 0o700)
			mkfifo(t, dir+"/.git/HEAD")
			mkfifo(t, dir+"/.git/config")
			mkfifo(t, dir+"/.git/index")
		}},
		{"another work tree's folder", func(dir string) {
			l.run("worktree", "add", "-q", "--detach", "../other")
			_ = os.WriteFile(dir+"/.git", []byte("gitdir: "+l.path(".git/worktrees/other")+"\n"), 0o600)
		}},
		{"HEAD leads elsewhere", func(dir string) {
			_ = os.Mkdir(dir+"/.git", 0o700)
			_ = os.WriteFile(dir+"/.git/HEAD", []byte("ref: refs/../../../tree/.git/refs/heads/main\n"), 0o600)
		}},
		{"HEAD is a link elsewhere", func(dir string) {
			_ = os.Mkdir(dir+"/.git", 0o700)
			_ = os.Symlink(l.path(".git/refs/heads/main"), dir+"/.git/HEAD")
		}},
		{"HEAD is its own", func(dir string) {
			_ = os.MkdirAll(dir+"/.git/refs/heads", 0o700)
			_ = os.WriteFile(dir+"/.git/HEAD", []byte("ref: refs/heads/main\n"), 0o600)
			_ = os.WriteFile(dir+"/.git/refs/heads/main", []byte("ref: refs/heads/main\n"), 0o600)
		}},
		{"a format to come", func(dir string) { copyRepository(t, l, dir, "[core]\nrepositoryformatversion = 2\n") }},
		{"refs in a table", func(dir string) {
			copyRepository(t, l, dir, "[core]\nrepositoryformatversion = 1\n[extensions]\nrefstorage = reftable\n")
		}},
		{"an extension to come", func(dir string) {
			copyRepository(t, l, dir, "[core]\nrepositoryformatversion = 1\n[extensions]\nfuture = true\n")
		}},
		{"a configuration that is none", func(dir string) { copyRepository(t, l, dir, "[core\n") }},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			c.do(dir)
			if got := Read(t.Context(), dir); got != empty {
				t.Errorf("got %+v", got)
			}
		})
	}
}

// copyRepository makes a repository with a HEAD and a configuration of its own.
func copyRepository(t *testing.T, l *lab, dir, config string) {
	t.Helper()
	if err := os.Mkdir(dir+"/.git", 0o700); err != nil {
		t.Fatal(err)
	}
	head := strings.TrimSpace(l.run("rev-parse", "HEAD"))
	for name, text := range map[string]string{"HEAD": head + "\n", "config": config} {
		if err := os.WriteFile(dir+"/.git/"+name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func TestUnknown(t *testing.T) {
	l := newLab(t)
	l.commit()
	commit := l.told().Commit
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got := Read(ctx, l.dir); got.Commit != commit || got.Clean != nil {
		t.Errorf("got %+v", got)
	}
	for _, name := range []string{"objects/" + commit[:2] + "/" + commit[2:], "index"} {
		path := l.path(".git/" + name)
		_ = os.Remove(path)
		if err := os.WriteFile(path, []byte("DIRC"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := Read(t.Context(), l.dir); got.Commit != commit || got.Clean != nil {
			t.Errorf("with a damaged %s: %+v", name, got)
		}
	}
}

// git, as it is built by default, compares seconds, and overlooks this.
func TestWrittenInTheSameSecond(t *testing.T) {
	l := newLab(t)
	l.commit()
	info, err := os.Stat(l.path("dir/b.txt"))
	if err != nil {
		t.Fatal(err)
	}
	l.write("dir/b.txt", "2wo\n")
	if err := os.Chtimes(l.path("dir/b.txt"), info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if got := Read(t.Context(), l.dir); show(got.Clean) != "dirty" {
		t.Errorf("got %s", show(got.Clean))
	}
}

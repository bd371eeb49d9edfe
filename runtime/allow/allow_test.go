package allow_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/subject"
	"github.com/chant-acp/chant-acp/runtime/allow"
)

func offer(t *testing.T, name, entry string) host.Offer {
	t.Helper()
	s, err := subject.Of(subject.Work{Root: t.TempDir(), Texts: []subject.Text{{Name: "the entry of " + name, Value: entry}}})
	if err != nil {
		t.Fatal(err)
	}
	return host.Offer{Name: name, Text: entry, Subject: s}
}

func look(t *testing.T, s *allow.Store, root string, o host.Offer) host.Allowance {
	t.Helper()
	a, err := s.Look(root, o)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestWhatIsAllowed(t *testing.T) {
	root, state := t.TempDir(), filepath.Join(t.TempDir(), "state")
	s := allow.Open(state)
	plan := offer(t, "plan", "a\nb\nc\nd\ne")
	if a := look(t, s, root, plan); a != (host.Allowance{}) {
		t.Errorf("before anything: %+v", a)
	}
	if _, err := os.Stat(state); err == nil {
		t.Error("looking made something")
	}
	if err := s.Allow(root, []host.Offer{plan}, false); err != nil {
		t.Fatal(err)
	}
	s = allow.Open(state) // another process
	if a := look(t, s, root, plan); !a.Allowed || a.Project {
		t.Errorf("of what was named: %+v", a)
	}
	if a := look(t, s, root, offer(t, "apply", "a")); a.Allowed || !a.Before.IsZero() {
		t.Errorf("of another command: %+v", a)
	}
	changed := offer(t, "plan", "a\nb\nC\nd\ne")
	a := look(t, s, root, changed)
	if a.Allowed || a.Before.IsZero() || a.Changed != "the entry of plan changed, after it was allowed" || a.Difference != "  b\n- c\n+ C\n  d" {
		t.Errorf("of what changed: %+v", a)
	}
	if err := s.Allow(root, []host.Offer{changed}, true); err != nil {
		t.Fatal(err)
	}
	for _, o := range []host.Offer{plan, changed} { // both forms: worktrees have one each
		if a := look(t, s, root, o); !a.Allowed || !a.Project {
			t.Errorf("of both forms: %+v", a)
		}
	}
	if a := look(t, s, t.TempDir(), plan); a.Allowed || a.Project {
		t.Errorf("of another project: %+v", a)
	}
	if was, err := s.Forget(root); !was || err != nil {
		t.Errorf("forgetting: %v, %v", was, err)
	}
	if was, err := s.Forget(root); was || err != nil {
		t.Errorf("forgetting again: %v, %v", was, err)
	}
	if a := look(t, s, root, plan); a.Allowed || a.Project {
		t.Errorf("of what was forgotten: %+v", a)
	}
}

func TestADamagedFileAllowsNothing(t *testing.T) {
	root, state := t.TempDir(), filepath.Join(t.TempDir(), "state")
	s := allow.Open(state)
	plan := offer(t, "plan", "a")
	if err := s.Allow(root, []host.Offer{plan}, true); err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob(filepath.Join(state, "allow", "*.json"))
	if err != nil || len(files) != 1 {
		t.Fatalf("%q, %v", files, err)
	}
	good, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "{", "{}", strings.Replace(string(good), root, "/elsewhere", 1), strings.Replace(string(good), `"version":1`, `"version":2`, 1)} {
		if err := os.WriteFile(files[0], []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if a, err := allow.Open(state).Look(root, plan); err == nil || a.Allowed || !strings.Contains(err.Error(), files[0]) {
			t.Errorf("%.40q: %+v, %v", text, a, err)
		}
		if err := allow.Open(state).Allow(root, []host.Offer{plan}, true); err == nil {
			t.Errorf("%.40q was written over", text)
		}
	}
}

// A worktree that git made is the repository it was made from; one that only says
// so is not.
func TestWorktrees(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	put := func(name, text string) {
		t.Helper()
		path := filepath.Join(base, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	put("main/.git/HEAD", "ref: refs/heads/main\n")
	put("main/.git/worktrees/two/gitdir", base+"/two/.git\n")
	put("two/.git", "gitdir: "+base+"/main/.git/worktrees/two\n")
	put("two/sub/x", "")
	put("forged/.git", "gitdir: "+base+"/main/.git/worktrees/two\n")
	put("module/.git", "gitdir: ../main/.git/modules/module\n")
	put("main/.git/modules/module/HEAD", "")
	put("plain/x", "")
	if err := os.Symlink(filepath.Join(base, "two"), filepath.Join(base, "link")); err != nil {
		t.Fatal(err)
	}
	for root, want := range map[string]string{
		"main": "main", "two": "main", "two/sub": "main/sub", "link": "main", "forged": "forged", "module": "module", "plain": "plain",
	} {
		if got, err := allow.Place(filepath.Join(base, root)); err != nil || got != filepath.Join(base, want) {
			t.Errorf("%s is %s, %v, want %s", root, got, err, want)
		}
	}
	if _, err := allow.Place(filepath.Join(base, "gone")); err == nil {
		t.Error("a folder that is not there has a place")
	}
}

package thread

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestWalk(t *testing.T) {
	s := newStore(t)
	for range s.Walk(t.Context(), "") {
		t.Fatal("an empty store has a session")
	}
	const n = 3*pageSize + 7
	for i := range n {
		r := record(fmt.Sprintf("s%04d", i))
		r.Cwd, r.Updated = fmt.Sprint("/work/", i%3), t0.Add(time.Duration(i/2)*time.Minute)
		if err := s.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	mustWrite(t, s.path("damaged"), []byte("x"))
	for _, cwd := range []string{"", "/work/1", "/nowhere"} {
		want, _ := pages(t, s, cwd)
		var got []string
		for r, err := range s.Walk(t.Context(), cwd) {
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, r.ID)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("in %q: %s", cwd, d)
		}
	}
	count := 0
	for range s.Walk(t.Context(), "") {
		if count++; count == 3 {
			break
		}
	}
	if count != 3 {
		t.Errorf("%d after a break", count)
	}
}

func TestFind(t *testing.T) {
	s := newStore(t)
	if got, err := s.Find("s"); err != nil || len(got) != 0 {
		t.Errorf("an empty store: %v %v", got, err)
	}
	for _, id := range []string{"sb", "sa", "other", "s"} {
		create(t, s, id)
	}
	mustWrite(t, s.path("sdamaged"), []byte("x"))
	for prefix, want := range map[string][]string{"s": {"s", "sa", "sb", "sdamaged"}, "sa": {"sa"}, "x": nil, "": {"other", "s", "sa", "sb", "sdamaged"}, "../": nil} {
		if got, err := s.Find(prefix); err != nil || !slices.Equal(want, got) {
			t.Errorf("%q: %v (%v), want %v", prefix, got, err, want)
		}
	}
}

// Whatever becomes of the index of folders, sessions are made, moved, listed
// and removed as if it were whole, and afterwards it is.
func TestBrokenIndex(t *testing.T) {
	key := func(s *Store, cwd string) string { return filepath.Join(s.folders, folderKey(folder(cwd))) }
	put := func(path string, f func(string) error) error {
		if err := os.RemoveAll(path); err != nil {
			return err
		}
		return f(path)
	}
	file := func(p string) error { return os.WriteFile(p, []byte("x"), 0o600) }
	for name, brk := range map[string]func(s *Store) error{
		"missing":            func(s *Store) error { return os.RemoveAll(s.folders) },
		"a file":             func(s *Store) error { return put(s.folders, file) },
		"a link":             func(s *Store) error { return put(s.folders, func(p string) error { return os.Symlink("/tmp", p) }) },
		"a pipe":             func(s *Store) error { return put(s.folders, func(p string) error { return syscall.Mkfifo(p, 0o600) }) },
		"a folder is a file": func(s *Store) error { return put(key(s, "/work/a"), file) },
		"a folder is a link": func(s *Store) error {
			return put(key(s, "/work/a"), func(p string) error { return os.Symlink("/nowhere", p) })
		},
		"a marker is a folder": func(s *Store) error {
			return put(filepath.Join(key(s, "/work/a"), "new"), func(p string) error { return os.Mkdir(p, 0o700) })
		},
		"a marker is a link": func(s *Store) error {
			return put(filepath.Join(key(s, "/work/a"), "new"), func(p string) error { return os.Symlink("/nowhere", p) })
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			s := openStore(t, root)
			at := func(id, cwd string) Record {
				r := record(id)
				r.Cwd = cwd
				return r
			}
			for _, r := range []Record{at("a1", "/work/a"), at("a2", "/work/a"), at("b1", "/work/b")} {
				if err := s.Create(t.Context(), r); err != nil {
					t.Fatal(err)
				}
			}
			check := func(cwd string, want ...string) {
				t.Helper()
				got, _ := pages(t, s, cwd)
				if slices.Sort(got); !slices.Equal(got, want) {
					t.Errorf("in %s: %v, want %v", cwd, got, want)
				}
			}
			if err := brk(s); err != nil {
				t.Fatal(err)
			}
			s = openStore(t, root)
			check("/work/a", "a1", "a2")
			check("/work/b", "b1")
			if err := s.Create(t.Context(), at("new", "/work/a")); err != nil {
				t.Errorf("making a session: %v", err)
			}
			check("/work/a", "a1", "a2", "new")
			if err := s.Update(t.Context(), at("b1", "/work/a")); err != nil {
				t.Errorf("moving a session: %v", err)
			}
			check("/work/a", "a1", "a2", "b1", "new")
			check("/work/b")
			if err := s.Delete(t.Context(), "a2"); err != nil {
				t.Errorf("removing a session: %v", err)
			}
			check("/work/a", "a1", "b1", "new")
			if st, err := os.Lstat(key(s, "/work/a")); err != nil || !st.IsDir() {
				t.Errorf("the index was not made anew: %v", err)
			}
		})
	}
}

// What stands in the place of a lock is named, and a session can be removed
// all the same.
func TestBrokenLock(t *testing.T) {
	for name, put := range map[string]func(string) error{
		"folder": func(p string) error { return os.Mkdir(p, 0o700) },
		"link":   func(p string) error { return os.Symlink("/nowhere", p) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			create(t, s, "s1")
			path := filepath.Join(s.locks, "s1")
			if err := put(path); err != nil {
				t.Fatal(err)
			}
			if _, err := s.Lock(t.Context(), "s1"); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "remove it") {
				t.Errorf("lock: %v, want an error that says what to remove", err)
			}
			if err := s.Delete(t.Context(), "s1"); err != nil {
				t.Errorf("delete: %v", err)
			}
			unknown(t, s, "s1")
			if left := leftovers(t, s); len(left) > 0 {
				t.Errorf("left: %v", left)
			}
		})
	}
	t.Run("folder with something in it", func(t *testing.T) {
		s := newStore(t)
		create(t, s, "s1")
		path := filepath.Join(s.locks, "s1")
		if err := os.MkdirAll(filepath.Join(path, "x"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := s.Delete(t.Context(), "s1"); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "remove it") {
			t.Errorf("delete: %v, want an error that says what to remove", err)
		}
	})
}

// What can't be locked or read is said and left, and the rest goes.
func TestPruneGoesOn(t *testing.T) {
	s := newStore(t)
	damaged(t, s, damages["text inside"])
	for _, id := range []string{"a", "z", "nokind", "locked", "cut"} {
		create(t, s, id)
	}
	for id, rest := range map[string]string{"nokind": "{}\n", "cut": ""} {
		raw := mustRead(t, s.path(id))
		if id == "cut" {
			raw = nil
		}
		mustWrite(t, s.path(id), append(raw, rest...))
	}
	if err := os.MkdirAll(filepath.Join(s.locks, "locked", "x"), 0o700); err != nil {
		t.Fatal(err)
	}
	stay := []string{"cut", "locked", "nokind", "s1"}
	fail := errors.New("this one's logs stay")
	for _, dry := range []bool{true, false} {
		var told []string
		removed, err := s.Prune(t.Context(), PruneOptions{OlderThan: 1, Now: time.Now().Add(time.Hour), DryRun: dry, Removed: func(id string) error {
			told = append(told, id)
			return fail
		}})
		if slices.Sort(removed); !slices.Equal(removed, []string{"a", "z"}) || !dry && len(told) != 2 {
			t.Errorf("removed %v, told %v", removed, told)
		}
		if err == nil || !dry && !errors.Is(err, fail) {
			t.Fatalf("dry %v: %v", dry, err)
		}
		for _, id := range stay {
			if !strings.Contains(err.Error(), id) {
				t.Errorf("the error does not say that %s stays: %v", id, err)
			}
		}
	}
	if left, err := s.Find(""); err != nil || !slices.Equal(left, stay) {
		t.Errorf("left: %v (%v), want %v", left, err, stay)
	}
}

// Each event of what goes is shown before it goes, and before nothing that stays.
func TestPruneShowsEvents(t *testing.T) {
	s := newStore(t)
	create(t, s, "s1")
	if err := s.Append(t.Context(), "s1", false, say(0), say(1)); err != nil {
		t.Fatal(err)
	}
	var seen []string
	_, err := s.Prune(t.Context(), PruneOptions{OlderThan: 1, Event: func(id string, e Event) { seen = append(seen, id+" "+e.Text) },
		Removed: func(id string) error { seen = append(seen, "gone "+id); return nil }})
	if want := []string{"s1 " + say(0).Text, "s1 " + say(1).Text, "gone s1"}; err != nil || !slices.Equal(seen, want) {
		t.Errorf("%q (%v), want %q", seen, err, want)
	}
}

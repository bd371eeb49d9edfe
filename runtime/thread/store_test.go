package thread

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/google/go-cmp/cmp"
)

// What belongs to the files alone.

func mustWrite(t testing.TB, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

func mustRead(t testing.TB, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// A crash may cut a thread anywhere in its events. What is before the cut in
// whole lines is there, and what is appended later follows it.
func TestTornThread(t *testing.T) {
	root := t.TempDir()
	s := openStore(t, root)
	create(t, s, "s1")
	if err := s.Append(t.Context(), "s1", false, say(0), say(1), say(2)); err != nil {
		t.Fatal(err)
	}
	path := s.path("s1")
	whole := mustRead(t, path)
	for cut := bytes.IndexByte(whole, '\n') + 1; cut <= len(whole); cut++ {
		for _, tail := range []string{"", "\x00\x00"} {
			mustWrite(t, path, append(slices.Clone(whole[:cut]), tail...))
			s := openStore(t, root)
			want := max(0, bytes.Count(whole[:cut], []byte("\n"))-1)
			if got, _ := readAll(t, s, "s1", 0); len(got) != want {
				t.Fatalf("cut at %d: %d events, want %d", cut, len(got), want)
			}
			if r, err := s.Get(t.Context(), "s1"); err != nil || r.Cwd != "/work/s1" {
				t.Fatalf("cut at %d: %+v %v", cut, r, err)
			}
			if cut%2 == 0 {
				release, err := s.Lock(t.Context(), "s1")
				if err != nil {
					t.Fatal(err)
				}
				release()
				if raw := mustRead(t, path); !bytes.HasSuffix(raw, []byte("\n")) {
					t.Fatalf("cut at %d: locking left %q", cut, raw)
				}
			}
			if err := s.Append(t.Context(), "s1", false, say(9)); err != nil {
				t.Fatal(err)
			}
			got, _ := readAll(t, s, "s1", 0)
			if len(got) != want+1 || got[want].Text != say(9).Text {
				t.Fatalf("cut at %d, then one more: %d events, want %d", cut, len(got), want+1)
			}
			if r, err := s.Get(t.Context(), "s1"); err != nil || r.Cwd != "/work/s1" {
				t.Fatalf("cut at %d, then one more: %+v %v", cut, r, err)
			}
		}
	}
}

// A record that a crash cut is what it was when the session was made.
func TestTornRecord(t *testing.T) {
	s := newStore(t)
	r := create(t, s, "s1")
	changed := r
	changed.Title = "a title"
	if err := s.Update(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	path := s.recordPath("s1")
	whole := mustRead(t, path)
	for cut := range len(whole) {
		mustWrite(t, path, whole[:cut])
		got, err := s.Get(t.Context(), "s1")
		if err != nil || !cmp.Equal(r, got) {
			t.Fatalf("cut at %d: %+v %v", cut, got, err)
		}
		if got, _ := pages(t, s, "/work/s1"); len(got) != 1 {
			t.Fatalf("cut at %d: listed %v", cut, got)
		}
	}
	if err := s.Update(t.Context(), changed); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Get(t.Context(), "s1"); err != nil || !cmp.Equal(changed, got) {
		t.Errorf("%+v %v", got, err)
	}
	if err := os.RemoveAll(s.records); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), changed); err != nil {
		t.Error("without the folder of records:", err)
	}
}

// sealed is a thread of a header and of events.
func sealed(t testing.TB, header string, events ...string) string {
	t.Helper()
	var objects []any
	for _, e := range events {
		objects = append(objects, json.RawMessage(e))
	}
	text, err := New("/").format().Begin(json.RawMessage(header), objects...)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// A file that is not a thread, or not one of ours, is named and left alone.
func TestUnreadable(t *testing.T) {
	const session = `{"session":{"id":"s1","cwd":"/w","created":"2026-11-01T12:00:00Z","updated":"2026-11-01T12:00:00Z"}}`
	const event = `{"kind":"say","time":"2026-11-01T12:00:00Z","text":"x"}`
	good := sealed(t, session)
	for name, c := range map[string]struct {
		text      string
		get, read error
	}{
		"a thread":            {sealed(t, session, event), nil, nil},
		"unknown fields":      {sealed(t, session, `{"kind":"say","time":"2026-11-01T12:00:00Z","novel":[1]}`), nil, nil},
		"newer":               {strings.Replace(good, `"version":2`, `"version":3`, 1) + "anything", agent.ErrNewerSession, agent.ErrNewerSession},
		"newer with another":  {`{"format":"chant-acp/thread","version":3,"session":[]}` + "\n", agent.ErrNewerSession, agent.ErrNewerSession},
		"older":               {strings.Replace(good, `"version":2`, `"version":1`, 1), agent.ErrUnreadableSession, agent.ErrUnreadableSession},
		"garbage":             {"\x7fELF garbage", agent.ErrUnreadableSession, agent.ErrUnreadableSession},
		"a line of garbage":   {"hello\n", agent.ErrUnreadableSession, agent.ErrUnreadableSession},
		"another format":      {`{"format":"x","version":1}` + "\n", agent.ErrUnreadableSession, agent.ErrUnreadableSession},
		"version 0":           {strings.Replace(good, `"version":2`, `"version":0`, 1), agent.ErrUnreadableSession, agent.ErrUnreadableSession},
		"a damaged record":    {sealed(t, `{"session":1}`), agent.ErrUnreadableSession, agent.ErrUnreadableSession},
		"an endless header":   {`{"format":"chant-acp/thread","version":` + strings.Repeat("1", 2*maxHeader), agent.ErrUnreadableSession, agent.ErrUnreadableSession},
		"garbage inside":      {sealed(t, session, event) + "x\n" + event + "\n", agent.ErrUnreadableSession, agent.ErrUnreadableSession},
		"an empty line":       {good + "\n" + event + "\n", agent.ErrUnreadableSession, agent.ErrUnreadableSession},
		"no kind":             {sealed(t, session, `{"a":1}`), nil, agent.ErrUnreadableSession},
		"a letter in a text":  {strings.Replace(sealed(t, session, event), `"x"`, `"y"`, 1), agent.ErrUnreadableSession, agent.ErrUnreadableSession},
		"an event gone":       {sealed(t, session) + strings.SplitAfter(sealed(t, session, event, event), "\n")[2], agent.ErrUnreadableSession, agent.ErrUnreadableSession},
		"an endless line":     {good + strings.Repeat("x", MaxEvent+2) + "\n", agent.ErrUnreadableSession, agent.ErrUnreadableSession},
		"an endless last one": {good + strings.Repeat("x", 2*MaxEvent), agent.ErrUnreadableSession, agent.ErrUnreadableSession},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			create(t, s, "other")
			path := s.path("s1")
			mustWrite(t, path, []byte(c.text))
			_, getErr := s.Get(t.Context(), "s1")
			_, readErr := s.Read(t.Context(), "s1", 0, func(Event) error { return nil })
			if !errors.Is(getErr, c.get) || !errors.Is(readErr, c.read) {
				t.Errorf("get: %v, want %v; read: %v, want %v", getErr, c.get, readErr, c.read)
			}
			if readErr != nil && !strings.Contains(readErr.Error(), path) {
				t.Errorf("the error does not name the file: %v", readErr)
			}
			if c.get != nil {
				if _, err := s.Lock(t.Context(), "s1"); !errors.Is(err, c.get) {
					t.Errorf("lock: %v", err)
				}
				if err := s.Append(t.Context(), "s1", false, say(1)); !errors.Is(err, c.get) {
					t.Errorf("append: %v", err)
				}
				if _, err := s.Prune(t.Context(), PruneOptions{OlderThan: time.Nanosecond, Protect: func(id string) bool { return id == "other" }}); !errors.Is(err, c.get) || !strings.Contains(err.Error(), path) {
					t.Errorf("pruning: %v, want that it is left", err)
				}
			}
			if got := mustRead(t, path); string(got) != c.text {
				t.Error("the file was changed")
			}
			if _, err := s.Get(t.Context(), "other"); err != nil {
				t.Error("another session:", err)
			}
			if err := s.Delete(t.Context(), "s1"); err != nil {
				t.Error("deleting it:", err)
			}
		})
	}
}

// recorded makes a session that has a record too, as one with a title has.
func recorded(t testing.TB, s *Store, id string) Record {
	t.Helper()
	r := create(t, s, id)
	if err := s.Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestNewerRecord(t *testing.T) {
	s := newStore(t)
	r := recorded(t, s, "s1")
	raw := bytes.Replace(mustRead(t, s.recordPath("s1")), []byte(`"version":2`), []byte(`"version":3`), 1)
	mustWrite(t, s.recordPath("s1"), raw)
	if _, err := s.Get(t.Context(), "s1"); !errors.Is(err, agent.ErrNewerSession) {
		t.Error(err)
	}
	if err := s.Update(t.Context(), r); !errors.Is(err, agent.ErrNewerSession) {
		t.Error(err)
	}
	for _, cwd := range []string{"", r.Cwd} {
		if got, _, err := s.List(t.Context(), cwd, ""); err != nil || len(got) != 1 || got[0].Cwd != r.Cwd {
			t.Errorf("it is not listed from its thread: %+v, %v", got, err)
		}
	}
	if !bytes.Equal(mustRead(t, s.recordPath("s1")), raw) {
		t.Error("the newer record was changed")
	}
}

func TestHuge(t *testing.T) {
	s := newStore(t)
	create(t, s, "s1")
	if err := os.Truncate(s.path("s1"), 2<<30); err != nil { // holes: takes no room
		t.Fatal(err)
	}
	if _, err := s.Get(t.Context(), "s1"); !errors.Is(err, agent.ErrUnreadableSession) {
		t.Errorf("2 GiB: %v", err)
	}
	if err := s.Append(t.Context(), "s1", false, say(1)); !errors.Is(err, agent.ErrUnreadableSession) {
		t.Errorf("2 GiB: %v", err)
	}
}

func TestOfAnotherUser(t *testing.T) {
	s := newStore(t)
	create(t, s, "s1")
	if err := os.Chown(s.path("s1"), os.Getuid()+1, -1); err != nil {
		t.Skip("giving a file away takes root:", err)
	}
	if _, err := s.Get(t.Context(), "s1"); !errors.Is(err, agent.ErrUnreadableSession) || !strings.Contains(err.Error(), "another user") {
		t.Error(err)
	}
}

func TestPermissions(t *testing.T) {
	root := filepath.Join(t.TempDir(), "state", "chant-acp")
	old := syscall.Umask(0)
	defer syscall.Umask(old)
	s := openStore(t, root)
	create(t, s, "s1")
	release, err := s.Lock(t.Context(), "s1")
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := s.Append(t.Context(), "s1", true, say(1)); err != nil {
		t.Fatal(err)
	}
	if err := s.Update(t.Context(), record("s1")); err != nil {
		t.Fatal(err)
	}
	files := 0
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		want := fs.FileMode(0o600)
		if d.IsDir() {
			want = 0o700
		} else {
			files++
		}
		if st.Mode().Perm() != want {
			t.Errorf("%s has mode %v, want %v", path, st.Mode().Perm(), want)
		}
		return nil
	})
	if err != nil || files != 4 {
		t.Errorf("%d files (%v), want a thread, a record, a marker and a lock", files, err)
	}
}

// Nothing is read or written through a link, a pipe or a folder in a file's place.
func TestInTheWay(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside")
	for name, put := range map[string]func(path string) error{
		"link":          func(p string) error { return os.Symlink(outside, p) },
		"dangling link": func(p string) error { return os.Symlink(outside+"x", p) },
		"pipe":          func(p string) error { return syscall.Mkfifo(p, 0o600) },
		"folder":        func(p string) error { return os.Mkdir(p, 0o700) },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			recorded(t, s, "real")
			thread := mustRead(t, s.path("real"))
			mustWrite(t, outside, thread)
			for _, path := range []string{s.path("s1"), filepath.Join(s.locks, "s2"), s.recordPath("s3")} {
				if err := put(path); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := s.Get(t.Context(), "s1"); !errors.Is(err, agent.ErrUnreadableSession) {
				t.Errorf("get: %v", err)
			}
			if err := s.Append(t.Context(), "s1", false, say(1)); !errors.Is(err, agent.ErrUnreadableSession) {
				t.Errorf("append: %v", err)
			}
			if s.Create(t.Context(), record("s1")) == nil {
				t.Error("a session was made where something is")
			}
			create(t, s, "s2")
			if release, err := s.Lock(t.Context(), "s2"); err == nil {
				t.Error("locked through it")
				release()
			}
			_ = s.Create(t.Context(), record("s3"))
			if got, _ := pages(t, s, ""); slices.Contains(got, "s1") {
				t.Errorf("listed: %v", got)
			}
			if !bytes.Equal(mustRead(t, outside), thread) {
				t.Error("what the link leads to was changed")
			}
			if _, err := os.Lstat(outside + "x"); err == nil {
				t.Error("a file was made through a link")
			}
		})
	}
}

func TestRootInTheWay(t *testing.T) {
	root := t.TempDir()
	elsewhere := t.TempDir()
	if err := os.Symlink(elsewhere, filepath.Join(root, "sessions")); err != nil {
		t.Fatal(err)
	}
	for name, root := range map[string]string{"a link": root, "a file": "/dev/null", "no folder can be made": "/proc/nowhere"} {
		s := openStore(t, root)
		err := s.Create(t.Context(), record("s1"))
		if err == nil || !strings.Contains(err.Error(), root) {
			t.Errorf("%s: %v, want an error that names it", name, err)
		}
	}
	if entries, _ := os.ReadDir(elsewhere); len(entries) != 0 {
		t.Errorf("something was made through the link: %v", entries)
	}
}

// Who brings threads alone, as from a backup, has them listed by folder too.
func TestIndexAnew(t *testing.T) {
	root := t.TempDir()
	s := openStore(t, root)
	for i := range 5 {
		r := record(fmt.Sprint("s", i))
		r.Cwd = fmt.Sprint("/work/", i%2)
		if err := s.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{s.records, s.folders, s.locks} {
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{"s3", "s1"}
	s = openStore(t, root)
	if got, _ := pages(t, s, "/work/1"); !cmp.Equal(want, got) {
		t.Errorf("before: %v, want %v", got, want)
	}
	if release, err := s.Lock(t.Context(), "s1"); err != nil {
		t.Error(err)
	} else {
		release()
	}
	create(t, s, "new")
	if got, _ := pages(t, s, "/work/1"); !cmp.Equal(want, got) {
		t.Errorf("after: %v, want %v", got, want)
	}
}

func TestPrune(t *testing.T) {
	for name, c := range map[string]struct {
		o    PruneOptions
		want []string
	}{
		"nothing said": {PruneOptions{}, nil},
		"age":          {PruneOptions{OlderThan: 7*time.Hour + time.Minute}, []string{"s0", "s1", "s2"}},
		"count":        {PruneOptions{Keep: 8}, []string{"s0", "s1"}},
		"bytes":        {PruneOptions{MaxBytes: 1}, []string{"s0", "s1", "s2", "s3", "s4", "s5", "s6", "s8", "s9"}},
		"protected":    {PruneOptions{Keep: 8, Protect: func(id string) bool { return id == "s0" }}, []string{"s1"}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			for i := range 10 {
				r := record(fmt.Sprint("s", i))
				r.Updated = t0.Add(time.Duration(i) * time.Hour)
				if err := s.Create(t.Context(), r); err != nil {
					t.Fatal(err)
				}
			}
			release, err := s.Lock(t.Context(), "s7") // a turn runs
			if err != nil {
				t.Fatal(err)
			}
			defer release()
			c.o.Now = t0.Add(10 * time.Hour)
			var told []string
			c.o.Removed = func(id string) error { told = append(told, id); return nil }
			removed, err := s.Prune(t.Context(), c.o)
			if err != nil || !cmp.Equal(c.want, removed) || !cmp.Equal(c.want, told) {
				t.Errorf("removed %v, told %v (%v), want %v", removed, told, err, c.want)
			}
			if left, _ := pages(t, s, ""); len(left) != 10-len(c.want) {
				t.Errorf("left: %v", left)
			}
		})
	}
}

func TestPruneDryRun(t *testing.T) {
	s := newStore(t)
	for _, id := range []string{"a", "b"} {
		if err := s.Create(t.Context(), record(id)); err != nil {
			t.Fatal(err)
		}
	}
	release, err := s.Lock(t.Context(), "b") // a turn runs
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	removed, err := s.Prune(t.Context(), PruneOptions{MaxBytes: 1, DryRun: true, Removed: func(id string) error {
		t.Errorf("%s is said to be removed", id)
		return nil
	}})
	if err != nil || !cmp.Equal([]string{"a"}, removed) {
		t.Errorf("would remove %v (%v), want a", removed, err)
	}
	if left, _ := pages(t, s, ""); len(left) != 2 {
		t.Errorf("left: %v", left)
	}
}

// A session that somebody goes on with while others are pruned stays.
func TestPruneMeetsTurn(t *testing.T) {
	s := newStore(t)
	create(t, s, "s1")
	removed, err := s.Prune(t.Context(), PruneOptions{OlderThan: time.Hour, Protect: func(id string) bool {
		if err := s.Append(t.Context(), id, false, say(1)); err != nil {
			t.Error(err)
		}
		return false
	}})
	if err != nil || len(removed) != 0 {
		t.Errorf("removed %v (%v)", removed, err)
	}
}

func TestPruneSweeps(t *testing.T) {
	s := newStore(t)
	recorded(t, s, "x.tmp")
	recorded(t, s, "gone")
	if err := os.Remove(s.path("gone")); err != nil { // as a crash in Delete leaves it
		t.Fatal(err)
	}
	mustWrite(t, filepath.Join(s.records, ".s1.00"+tempExt), nil)
	before := len(leftovers(t, s))
	if _, err := s.Prune(t.Context(), PruneOptions{}); err != nil {
		t.Fatal(err)
	}
	if now := len(leftovers(t, s)); now != before {
		t.Errorf("%d files of %d are left: what is young may be in the making", now, before)
	}
	if _, err := s.Prune(t.Context(), PruneOptions{Now: time.Now().Add(2 * time.Hour)}); err != nil {
		t.Fatal(err)
	}
	if files := leftovers(t, s); len(files) != 3 {
		t.Errorf("left: %v, want a thread, its record and its marker", files)
	}
	stop := errors.New("stop")
	removed, err := s.Prune(t.Context(), PruneOptions{OlderThan: 1, Removed: func(string) error { return stop }})
	if !errors.Is(err, stop) || len(removed) != 1 {
		t.Errorf("%v %v", removed, err)
	}
}

// More sessions than a process keeps open.
func TestManyOpen(t *testing.T) {
	s := newStore(t)
	for round := range 2 {
		for i := range keptOpen + 10 {
			id := fmt.Sprint("s", i)
			if round == 0 {
				create(t, s, id)
			}
			if err := s.Append(t.Context(), id, false, say(round)); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := len(s.logs); n > keptOpen {
		t.Errorf("%d are open, want at most %d", n, keptOpen)
	}
	for i := range keptOpen + 10 {
		if got, _ := readAll(t, s, fmt.Sprint("s", i), 0); len(got) != 2 {
			t.Errorf("session %d has %d events, want 2", i, len(got))
		}
	}
}

// Pages are of the list as it was when the first one was asked for: what changes
// meanwhile is neither missing nor there twice, and what was removed is not there.
func TestPagesOfOneList(t *testing.T) {
	s := newStore(t)
	const n = 3 * pageSize
	for i := range n {
		r := record(fmt.Sprintf("s%03d", i))
		r.Updated = t0.Add(time.Duration(i) * time.Minute)
		if err := s.Create(t.Context(), r); err != nil {
			t.Fatal(err)
		}
	}
	seen := map[string]int{}
	cursor, pages := "", 0
	for more := true; more; more = cursor != "" {
		page, next, err := s.List(t.Context(), "", cursor)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range page {
			seen[r.ID]++
		}
		if pages++; pages == 1 {
			if err := s.Append(t.Context(), "s002", false, line(1)); err != nil { // it moves to the front
				t.Fatal(err)
			}
			if err := s.Delete(t.Context(), "s001"); err != nil {
				t.Fatal(err)
			}
			create(t, s, "new")
		}
		cursor = next
	}
	for i := range n {
		id, want := fmt.Sprintf("s%03d", i), 1
		if id == "s001" {
			want = 0
		}
		if seen[id] != want {
			t.Errorf("%s is there %d times, want %d", id, seen[id], want)
		}
	}
	if len(s.listings) != 1 {
		t.Errorf("%d lists are remembered", len(s.listings))
	}
}

// A process that leaves waits for no disk, and what it wrote is there.
func TestLeave(t *testing.T) {
	root := t.TempDir()
	s := New(root)
	create(t, s, "s1")
	if err := s.Append(t.Context(), "s1", false, say(1)); err != nil {
		t.Fatal(err)
	}
	s.Leave()
	s.Leave()
	if s.Append(t.Context(), "s1", false, say(2)) == nil {
		t.Error("a store that was left took something")
	}
	if got, _ := readAll(t, openStore(t, root), "s1", 0); len(got) != 1 {
		t.Errorf("%d events, want 1", len(got))
	}
	if err := s.Close(); err != nil { // for goleak: the fsync is not waited for otherwise
		t.Error(err)
	}
}

func TestClosed(t *testing.T) {
	s := newStore(t)
	create(t, s, "s1")
	if err := s.Append(t.Context(), "s1", false, say(1)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if s.Append(t.Context(), "s1", false, say(2)) == nil || s.Create(t.Context(), record("s2")) == nil {
		t.Error("a closed store took something")
	}
}

func FuzzRead(f *testing.F) {
	head, err := New(f.TempDir()).headerLine(record("s1"), "")
	if err != nil {
		f.Fatal(err)
	}
	event := `{"kind":"say","time":"2026-11-01T12:00:00Z","text":"x"}`
	for _, seed := range []string{
		"", string(head), string(head) + event, string(head) + event + "\n" + event + "\n", string(head) + event + "\n" + event[:20],
		string(head) + "x\n" + event + "\n", string(head) + "\n\n", "\x00\x00", `{"format":"chant-acp/thread","version":`, `{"format":"chant-acp/thread","version":` + "2}\n", "null\n", `{"format":"chant-acp/thread","version":1}` + "\n" + event + "\n",
	} {
		f.Add([]byte(seed), int64(0))
		f.Add([]byte(seed), int64(len(head)))
	}
	s := newStore(f)
	create(f, s, "s1")
	f.Fuzz(func(t *testing.T, content []byte, from int64) {
		mustWrite(t, s.path("s1"), content)
		lines := bytes.Split(content, []byte("\n"))
		lines = lines[:len(lines)-1] // what follows the last newline is no line
		if from == 0 && len(lines) > 0 {
			lines = lines[1:]
		}
		n, at := 0, 0
		next, err := s.Read(t.Context(), "s1", from, func(e Event) error {
			n++
			// It is one of the whole lines, after the one before it.
			for ; at < len(lines); at++ {
				var want Event
				if decodeEvent(lines[at], &want) == nil && cmp.Equal(want, e) {
					at++
					return nil
				}
			}
			t.Fatalf("event %d, %+v, is no whole line of the rest", n, e)
			return nil
		})
		if err == nil && next > int64(len(content)) {
			t.Errorf("position %d of %d", next, len(content))
		}
		if _, err := s.Get(t.Context(), "s1"); err != nil &&
			!errors.Is(err, agent.ErrUnreadableSession) && !errors.Is(err, agent.ErrNewerSession) {
			t.Errorf("get: %v", err)
		}
	})
}

package conversation

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func newDir(t *testing.T) string {
	return filepath.Join(t.TempDir(), ".chant-acp", "conversations")
}

func readParsed(dir, id string) (Conversation, error) {
	raw, err := Read(dir, id)
	if err != nil {
		return Conversation{}, err
	}
	return parse(id, raw)
}

func TestFiles(t *testing.T) {
	dir := newDir(t)
	if list, err := List(dir); err != nil || len(list) != 0 {
		t.Errorf("no folder: %v %v", list, err)
	}
	if _, err := Read(dir, "s1"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
	m := Meta{ID: "s1", Agent: "chant-acp", Started: t0, Status: Open}
	if err := Create(dir, m); err != nil {
		t.Fatal(err)
	}
	turns := []Turn{{User, t0, "zed", "make"}, {Assistant, t0, "", "## user — t\n"}}
	if err := Append(dir, "s1", turns...); err != nil {
		t.Fatal(err)
	}
	// Made again: left as it is.
	if err := Create(dir, Meta{ID: "s1", Agent: "other"}); err != nil {
		t.Fatal(err)
	}
	got, err := readParsed(dir, "s1")
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Conversation{m, turns}.Canonical(), got); d != "" {
		t.Error(d)
	}
	before := time.Now().Add(-time.Second)
	if err := Append(dir, "s2", Turn{Role: System, Attribution: "me", Content: "x"}); err != nil {
		t.Fatal(err)
	}
	got, err = readParsed(dir, "s2")
	if err != nil || got.Agent != "me" || len(got.Turns) != 1 || got.Turns[0].At.Before(before) || got.Started.Before(before) {
		t.Errorf("made by its first turn: %+v %v", got, err)
	}
	for name, text := range map[string]string{"broken.md": "x", "other.txt": "---\n\n---\n", ".hidden.md": "---\n\n---\n", "old.md": "---\nagent: a\n---\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	list, err := List(dir)
	var ids []string
	for _, e := range list {
		ids = append(ids, e.ID+" "+e.Meta.Agent)
	}
	if want := []string{"broken unknown", "old a", "s1 chant-acp", "s2 me"}; err != nil || !cmp.Equal(want, ids) {
		t.Errorf("%v %v, want %v", ids, err, want)
	}
	for _, path := range []string{dir, filepath.Dir(dir), filepath.Join(dir, "s1.md")} {
		if st, err := os.Stat(path); err != nil || st.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v %v", path, st.Mode(), err)
		}
	}
}

func TestIDs(t *testing.T) {
	dir := newDir(t)
	for _, id := range []string{"", ".", "..", "../x", "a/b", "/x", "-x", ".x", "a b", "a\x00", "a\n", "é", strings.Repeat("x", 300)} {
		_, err := Read(dir, id)
		if err == nil || Create(dir, Meta{ID: id}) == nil || Append(dir, id, Turn{}) == nil {
			t.Errorf("id %q was taken", id)
		}
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("made: %v", entries)
	}
}

// Many at once make one file, which is never seen without its front matter.
func TestCreateAtOnce(t *testing.T) {
	dir := newDir(t)
	const n = 16
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			if err := Append(dir, "s1", Turn{Role: User, Attribution: fmt.Sprint(i), Content: "x"}); err != nil {
				t.Error(err)
			}
			if _, err := readParsed(dir, "s1"); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	c, err := readParsed(dir, "s1")
	if err != nil || len(c.Turns) != n {
		t.Errorf("%d turns (%v), want %d", len(c.Turns), err, n)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left over: %v", entries)
	}
}

// A file that a crash cut anywhere takes further turns as turns.
func TestTorn(t *testing.T) {
	dir := newDir(t)
	turn := Turn{User, t0, "zed", "some\ntext"}
	if err := Append(dir, "s1", turn, turn); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "s1.md")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for cut := bytes.Index(whole, []byte("\n---\n")) + 5; cut < len(whole); cut++ {
		if err := os.WriteFile(path, whole[:cut], 0o600); err != nil {
			t.Fatal(err)
		}
		last := Turn{Assistant, t0, "", "last"}
		if err := Append(dir, "s1", last); err != nil {
			t.Fatal(err)
		}
		c, err := readParsed(dir, "s1")
		if err != nil || len(c.Turns) == 0 || !cmp.Equal(last, c.Turns[len(c.Turns)-1]) {
			t.Fatalf("cut at %d: %+v %v", cut, c.Turns, err)
		}
	}
}

func TestInTheWay(t *testing.T) {
	outside := t.TempDir()
	target := filepath.Join(outside, "target.md")
	text := []byte("---\n\n---\n")
	if err := os.WriteFile(target, text, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, dir := range map[string]string{"the folder": newDir(t), "its parent": newDir(t)} {
		link := dir
		if name == "its parent" {
			link = filepath.Dir(dir)
		} else if err := os.Mkdir(filepath.Dir(dir), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, link); err != nil {
			t.Fatal(err)
		}
		_, listErr := List(dir)
		_, readErr := Read(dir, "target")
		if Create(dir, Meta{ID: "s1"}) == nil || Append(dir, "target", Turn{}) == nil || listErr == nil && name == "the folder" || readErr == nil {
			t.Errorf("%s is a link and was followed", name)
		}
	}
	dir := newDir(t)
	if err := Create(dir, Meta{ID: "real"}); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, filepath.Join(dir, "s1.md")); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mkfifo(filepath.Join(dir, "s2.md"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, id := range []string{"s1", "s2"} {
		if _, err := Read(dir, id); err == nil || Append(dir, id, Turn{Content: "x"}) == nil {
			t.Errorf("%s was read or written", id)
		}
	}
	if list, err := List(dir); err != nil || len(list) != 1 {
		t.Errorf("listed: %v %v", list, err)
	}
	if got, _ := os.ReadFile(target); !bytes.Equal(got, text) {
		t.Error("what the link leads to was changed")
	}
	if entries, _ := os.ReadDir(outside); len(entries) != 1 {
		t.Errorf("made outside: %v", entries)
	}
}

// The status is all that changes.
func TestSetStatus(t *testing.T) {
	const tail = "---\n\nnotes\r\nstatus: mine  \n\n## user - none\n\xff"
	for name, c := range map[string]struct{ is, want string }{
		"open":            {"---\nid: a\nstatus: open\n" + tail, "---\nid: a\nstatus: closed\n" + tail},
		"closed already":  {"---\nstatus:  closed \n" + tail, "---\nstatus:  closed \n" + tail},
		"of an editor":    {"\ufeff---\r\nstatus:open\r\nx: y\r\n---\r\n", "\ufeff---\r\nstatus: closed\r\nx: y\r\n---\r\n"},
		"none":            {"---\nid: a\n" + tail, "---\nid: a\n" + tail},
		"no front matter": {"status: open\n" + tail, "status: open\n" + tail},
		"empty":           {"", ""},
	} {
		dir := newDir(t)
		if err := Create(dir, Meta{ID: "other"}); err != nil { // makes the folder
			t.Fatal(err)
		}
		file := filepath.Join(dir, "s1.md")
		if err := os.WriteFile(file, []byte(c.is), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := SetStatus(dir, "s1", Closed); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got, err := os.ReadFile(file); err != nil || string(got) != c.want {
			t.Errorf("%s: %q %v\nwant %q", name, got, err, c.want)
		}
	}
	if err := SetStatus(newDir(t), "s1", Closed); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("no file: %v", err)
	}
}

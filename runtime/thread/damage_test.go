package thread

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/chant-acp/chant-acp/acp/agent"
)

// damages are what may have become of a thread of a header and some events, by
// what became of it.
var damages = map[string]func(head, events []byte) []byte{
	"cut to nothing":    func(_, _ []byte) []byte { return nil },
	"cut in the header": func(head, _ []byte) []byte { return head[:len(head)/2] },
	"a header of zeros": func(head, events []byte) []byte { return append(make([]byte, len(head)), events...) },
	"zeros inside":      func(head, events []byte) []byte { return slices.Concat(head, events, make([]byte, 512), events) },
	"zeros in a text": func(head, events []byte) []byte {
		return slices.Concat(head, bytes.ReplaceAll(events, []byte("<a>"), []byte("\x00\x00\x00")))
	},
	"text inside":           func(head, events []byte) []byte { return slices.Concat(head, events, []byte("garbage\n"), events) },
	"half a line inside":    func(head, events []byte) []byte { return slices.Concat(head, events[:30], events) },
	"the end of a line":     func(head, events []byte) []byte { return slices.Concat(head, events, events[30:], events) },
	"an empty line":         func(head, events []byte) []byte { return slices.Concat(head, events, []byte("\n"), events) },
	"a number":              func(head, events []byte) []byte { return slices.Concat(head, events, []byte("12\n"), events) },
	"an array":              func(head, events []byte) []byte { return slices.Concat(head, events, []byte("[1]\n"), events) },
	"two objects in a line": func(head, events []byte) []byte { return slices.Concat(head, []byte("{}{}\n"), events) },
	"a long line": func(head, events []byte) []byte {
		return slices.Concat(head, events, bytes.Repeat([]byte("x"), MaxEvent+2), []byte("\n"), events)
	},
	"a long event": func(head, events []byte) []byte {
		return slices.Concat(head, []byte(`{"kind":"say","text":"`), bytes.Repeat([]byte("x"), MaxEvent), []byte("\"}\n"), events)
	},
}

// damaged makes the session s1 and damages its thread.
func damaged(t *testing.T, s *Store, damage func(head, events []byte) []byte) []byte {
	t.Helper()
	create(t, s, "s1")
	path := s.path("s1")
	head := mustRead(t, path)
	if err := s.Append(t.Context(), "s1", false, say(0), say(1), say(2)); err != nil {
		t.Fatal(err)
	}
	raw := damage(head, bytes.Clone(mustRead(t, path)[len(head):]))
	mustWrite(t, path, raw)
	return raw
}

// What is damaged is neither opened nor written to, whoever comes first, and
// the error names the file and what to do.
func TestDamaged(t *testing.T) {
	for name, damage := range damages {
		for what, open := range map[string]func(s *Store) error{
			"get":    func(s *Store) error { _, err := s.Get(t.Context(), "s1"); return err },
			"lock":   func(s *Store) error { _, err := s.Lock(t.Context(), "s1"); return err },
			"append": func(s *Store) error { return s.Append(t.Context(), "s1", false, say(9)) },
			"read": func(s *Store) error {
				_, err := s.Read(t.Context(), "s1", 0, func(Event) error { return nil })
				return err
			},
			"update": func(s *Store) error { return s.Update(t.Context(), record("s1")) },
		} {
			if what == "update" && !strings.Contains(name, "cut") {
				continue // the record is a file of its own
			}
			t.Run(name+"/"+what, func(t *testing.T) {
				root := t.TempDir()
				raw := damaged(t, openStore(t, root), damage)
				s := openStore(t, root)
				err := open(s)
				if !errors.Is(err, agent.ErrUnreadableSession) {
					t.Fatalf("got %v, want ErrUnreadableSession", err)
				}
				if text := err.Error(); !strings.Contains(text, s.path("s1")) || !strings.Contains(text, "move it away or mend it") {
					t.Errorf("%q does not say which file, or what to do", text)
				}
				if !bytes.Equal(mustRead(t, s.path("s1")), raw) {
					t.Error("the thread was changed")
				}
				create(t, s, "other")
				if err := s.Append(t.Context(), "other", false, say(1)); err != nil {
					t.Error("another session:", err)
				}
				if err := s.Delete(t.Context(), "s1"); err != nil {
					t.Error("deleting it:", err)
				}
			})
		}
	}
}

// A thread that others damage while it is open here is not written to any more.
func TestDamagedWhileOpen(t *testing.T) {
	for name, change := range map[string]func(raw []byte) []byte{
		"garbage at the end": func(raw []byte) []byte { return append(raw, "garbage\n"...) },
		"cut at a line":      func(raw []byte) []byte { return raw[:bytes.IndexByte(raw, '\n')+1] },
		"cut in a line":      func(raw []byte) []byte { return raw[:len(raw)-9] },
		"cut to nothing":     func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			create(t, s, "s1")
			if err := s.Append(t.Context(), "s1", false, say(0), say(1)); err != nil {
				t.Fatal(err)
			}
			raw := change(mustRead(t, s.path("s1")))
			mustWrite(t, s.path("s1"), raw)
			if err := s.Append(t.Context(), "s1", false, say(2)); !errors.Is(err, agent.ErrUnreadableSession) {
				t.Errorf("append: %v", err)
			}
			if _, err := s.Get(t.Context(), "s1"); !errors.Is(err, agent.ErrUnreadableSession) {
				t.Errorf("get: %v", err)
			}
			if !bytes.Equal(mustRead(t, s.path("s1")), raw) {
				t.Error("the thread was changed")
			}
		})
	}
}

// Mended by its owner, it opens again in the same process.
func TestMended(t *testing.T) {
	s := newStore(t)
	create(t, s, "s1")
	if err := s.Append(t.Context(), "s1", false, say(0)); err != nil {
		t.Fatal(err)
	}
	good := mustRead(t, s.path("s1"))
	mustWrite(t, s.path("s1"), append(slices.Clone(good), "garbage\n"...))
	if _, err := s.Lock(t.Context(), "s1"); !errors.Is(err, agent.ErrUnreadableSession) {
		t.Fatalf("lock: %v", err)
	}
	if err := os.Truncate(s.path("s1"), int64(len(good))); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(t.Context(), "s1", false, say(1)); err != nil {
		t.Error(err)
	}
	if got, _ := readAll(t, s, "s1", 0); len(got) != 2 {
		t.Errorf("%d events, want 2", len(got))
	}
}

// What opening costs for threads of several sizes: resume in a new process.
func BenchmarkGetSizes(b *testing.B) {
	for _, size := range []int{64 << 10, 1 << 20, 16 << 20, 128 << 20} {
		b.Run(fmt.Sprint(size>>10, "KiB"), func(b *testing.B) {
			root := b.TempDir()
			s := New(root)
			create(b, s, "s1")
			var events []Event
			for i := range 1000 {
				events = append(events, line(i))
			}
			for n := 0; n < size; {
				if err := s.Append(b.Context(), "s1", false, events[:min(len(events), (size-n)/400+1)]...); err != nil {
					b.Fatal(err)
				}
				st, err := os.Stat(filepath.Join(s.dir, "s1"+logExt))
				if err != nil {
					b.Fatal(err)
				}
				n = int(st.Size())
			}
			if err := s.Close(); err != nil {
				b.Fatal(err)
			}
			b.SetBytes(int64(size))
			for b.Loop() {
				s := New(root)
				if _, err := s.Get(b.Context(), "s1"); err != nil {
					b.Fatal(err)
				}
				_ = s.Close()
			}
		})
	}
}

// Only the thread counts: whatever stands in a record's place, the session opens,
// is listed, goes on and can be deleted.
func TestRecordInTheWay(t *testing.T) {
	for name, put := range map[string]func(t *testing.T, s *Store, id string){
		"a file for the folder": func(t *testing.T, s *Store, _ string) {
			if err := errors.Join(os.RemoveAll(s.records), os.WriteFile(s.records, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
		},
		"a folder for the record": func(t *testing.T, s *Store, id string) {
			if err := errors.Join(os.Remove(s.recordPath(id)), os.Mkdir(s.recordPath(id), 0o700)); err != nil {
				t.Fatal(err)
			}
		},
		"a pipe for the record": func(t *testing.T, s *Store, id string) {
			if err := errors.Join(os.Remove(s.recordPath(id)), syscall.Mkfifo(s.recordPath(id), 0o600)); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			root := t.TempDir()
			first := openStore(t, root)
			made := recorded(t, first, "s1")
			put(t, first, "s1")
			s := openStore(t, root)
			if got, err := s.Get(t.Context(), "s1"); err != nil || got.Cwd != made.Cwd {
				t.Errorf("%+v %v", got, err)
			}
			if list, _, err := s.List(t.Context(), "", ""); err != nil || len(list) != 1 {
				t.Errorf("listed %v %v", list, err)
			}
			release, err := s.Lock(t.Context(), "s1")
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Append(t.Context(), "s1", true, line(1)); err != nil {
				t.Error(err)
			}
			release()
			if err := s.Delete(t.Context(), "s1"); err != nil {
				t.Error(err)
			}
			if _, err := s.Get(t.Context(), "s1"); !errors.Is(err, agent.ErrUnknownSession) {
				t.Errorf("after it was deleted: %v", err)
			}
		})
	}
}

package session

import (
	"reflect"
	"testing"
)

// What List returns does not change without another Version.
func TestVersion(t *testing.T) {
	r, _ := open(t, Options{})
	var s *Session
	var a, b *Watcher
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, step := range []struct {
		name string
		do   func() error
	}{
		{"start", func() (err error) {
			s, err = r.StartTerminal(t.Context(), TerminalSpec{Argv: []string{"cat"}, Cwd: "/", Cols: 80, Rows: 24})
			return err
		}},
		{"attach", func() (err error) { a, err = s.Attach(60, 20); return err }},
		{"attach another", func() (err error) { b, err = s.Attach(50, 30); return err }},
		{"resize", func() error { return b.Resize(70, 10) }},
		{"leave", func() error { b.Close(); return nil }},
		{"leave too", func() error { a.Close(); return nil }},
		{"rename", func() error { return s.Rename("other") }},
		{"end", func() error { return s.Kill(t.Context()) }},
		{"forget", func() error { return r.Forget("other") }},
	} {
		version, before := r.Version(), r.List()
		must(step.do())
		if step.name == "end" {
			<-s.Done()
		}
		if reflect.DeepEqual(before, r.List()) {
			t.Errorf("%s: the list is as before", step.name)
		}
		if r.Version() == version {
			t.Errorf("%s: the version is as before", step.name)
		}
	}
}

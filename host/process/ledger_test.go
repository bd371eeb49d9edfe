package process

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestLedger(t *testing.T) {
	want := newTags("00112233445566778899aabbccddeeff", 1<<22)
	var l ledger
	if err := l.open(want); err != nil {
		t.Fatal(err)
	}
	defer l.file.Close()
	check := func(wantGroups map[int]guardedGroup) {
		t.Helper()
		got, groups := readLedger(l.file)
		if got != want {
			t.Errorf("tags %+v, want %+v", got, want)
		}
		if diff := cmp.Diff(wantGroups, groups, cmp.AllowUnexported(guardedGroup{})); diff != "" {
			t.Error(diff)
		}
	}
	enter := func(id int, serial, start uint64) {
		t.Helper()
		if err := l.enter(id, serial, start); err != nil {
			t.Fatal(err)
		}
	}
	check(map[int]guardedGroup{})
	enter(10, 1, 100)
	enter(4194303, 1<<64-1, 1<<64-1) // the longest line there can be
	enter(12, 3, 300)
	check(map[int]guardedGroup{10: {serial: "1", start: 100}, 4194303: {serial: "18446744073709551615", start: 1<<64 - 1}, 12: {serial: "3", start: 300}})
	l.leave(10)
	l.leave(12)
	l.leave(12)
	enter(13, 4, 400)
	check(map[int]guardedGroup{13: {serial: "4", start: 400}, 4194303: {serial: "18446744073709551615", start: 1<<64 - 1}})
	l.leave(13)
	l.leave(4194303)
	check(map[int]guardedGroup{})
	info, err := l.file.Stat()
	if err != nil || info.Size() != 4*lineSize {
		t.Errorf("lines are not used again: %d bytes, %v", info.Size(), err)
	}
}

func TestReadLedgerOfNothing(t *testing.T) {
	var l ledger
	if err := l.open(tags{}); err != nil {
		t.Fatal(err)
	}
	defer l.file.Close()
	for _, text := range []string{"0 1 2", "1 1 2", "-5 1 2", "x 1 2", "5 1", "5 1 x", "5 1 2 3"} {
		if err := l.write(1, text); err != nil {
			t.Fatal(err)
		}
		if s, groups := readLedger(l.file); s != (tags{}) || len(groups) != 0 {
			t.Errorf("%q is read as %v", text, groups)
		}
	}
}

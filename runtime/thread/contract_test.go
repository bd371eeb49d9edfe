package thread

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/acp"
	"github.com/chant-acp/chant-acp/acp/agent"
	"github.com/google/go-cmp/cmp"
)

// What agent.Store promises.

var t0 = time.Date(2026, 11, 1, 12, 0, 0, 123456789, time.UTC)

func TestContract(t *testing.T) {
	tests := map[string]func(*testing.T, agent.Store){
		"records": contractRecords, "events": contractEvents, "ids": contractIDs,
		"list": contractList, "folders": contractFolders, "lock": contractLock,
		"delete": contractDelete, "limits": contractLimits, "parallel": contractParallel, "last turn": contractLastTurn,
		"kinds": contractKinds, "recent turns": contractRecentTurns,
	}
	for what, test := range tests {
		t.Run(what, func(t *testing.T) { test(t, newStore(t)) })
	}
}

// contractLastTurn reads from the last prompt on, wherever it is: also where a
// line lies across the edge of what is read at once.
func contractLastTurn(t *testing.T, s agent.Store) {
	read := func(id string) (got []string, next int64) {
		next, err := s.Read(t.Context(), id, agent.LastTurn, func(e Event) error {
			got = append(got, string(e.Kind)+" "+e.Text)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return got, next
	}
	add := func(id string, kind agent.EventKind, text string) {
		if err := s.Append(t.Context(), id, false, Event{Kind: kind, Time: t0, Turn: "t", Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	create(t, s, "empty")
	if got, _ := read("empty"); len(got) > 0 {
		t.Errorf("an empty thread ends in %q", got)
	}
	create(t, s, "none")
	add("none", agent.EventSay, "a")
	if got, _ := read("none"); len(got) != 1 {
		t.Errorf("without a prompt: %q", got)
	}
	for _, far := range []int{0, 1, 60_000, 65_300, 65_400, 65_450, 65_500, 65_536, 131_000, 200_000} {
		id := fmt.Sprintf("far-%d", far)
		create(t, s, id)
		add(id, agent.EventPrompt, "before")
		add(id, agent.EventSay, "before")
		add(id, agent.EventPrompt, "last")
		add(id, agent.EventSay, strings.Repeat("x", far))
		got, next := read(id)
		if len(got) != 2 || got[0] != "prompt last" {
			t.Errorf("%d bytes after it: %d events, from %.20q on", far, len(got), got)
		}
		if all, err := s.Read(t.Context(), id, 0, func(Event) error { return nil }); err != nil || all != next {
			t.Errorf("the end is %d, and %d (%v)", next, all, err)
		}
	}
}

// contractKinds reads events of some kinds alone, and goes on behind all of them.
func contractKinds(t *testing.T, s agent.Store) {
	create(t, s, "s")
	for _, kind := range []agent.EventKind{agent.EventPrompt, agent.EventOutput, agent.EventSay, agent.EventPrompt, agent.EventOutput} {
		if err := s.Append(t.Context(), "s", false, Event{Kind: kind, Time: t0, Turn: "t"}); err != nil {
			t.Fatal(err)
		}
	}
	all, err := s.Read(t.Context(), "s", 0, func(Event) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	for want, kinds := range map[string][]agent.EventKind{
		"prompt prompt ": {agent.EventPrompt}, "prompt say prompt ": {agent.EventSay, agent.EventPrompt}, "": {agent.EventEnd},
	} {
		got := ""
		next, err := s.Read(t.Context(), "s", 0, func(e Event) error { got += string(e.Kind) + " "; return nil }, kinds...)
		if got != want || err != nil || next != all {
			t.Errorf("%v: %q, up to %d of %d, %v", kinds, got, next, all, err)
		}
	}
}

// contractRecentTurns begins with a whole turn, and with the first one where that is
// not too far away.
func contractRecentTurns(t *testing.T, s agent.Store) {
	add := func(id string, kind agent.EventKind, size int) {
		if err := s.Append(t.Context(), id, false, Event{Kind: kind, Time: t0, Turn: "t", Text: strings.Repeat("x", size)}); err != nil {
			t.Fatal(err)
		}
	}
	first := func(id string) (e Event) {
		enough := errors.New("enough")
		if _, err := s.Read(t.Context(), id, agent.RecentTurns, func(got Event) error { e = got; return enough }); err != nil && !errors.Is(err, enough) {
			t.Fatal(err)
		}
		return e
	}
	create(t, s, "empty")
	if e := first("empty"); e.Kind != "" {
		t.Errorf("an empty thread begins with %+v", e)
	}
	create(t, s, "short")
	add("short", agent.EventPrompt, 1)
	add("short", agent.EventSay, 1000)
	if e := first("short"); len(e.Text) != 1 {
		t.Errorf("a short one begins with %s, %d bytes", e.Kind, len(e.Text))
	}
	create(t, s, "long") // its second turn is the first that lies within reach
	s.(*Store).max = 4 * agent.MaxRecent
	for turn, bytes := range []int{4 << 20, agent.MaxRecent - 3<<20, 1 << 20} {
		add("long", agent.EventPrompt, turn+1)
		for ; bytes > 0; bytes -= 512 << 10 {
			add("long", agent.EventOutput, 512<<10-200)
		}
	}
	if e := first("long"); e.Kind != agent.EventPrompt || len(e.Text) != 2 {
		t.Errorf("a long one begins with %s, %d bytes", e.Kind, len(e.Text))
	}
	create(t, s, "one-turn")
	add("one-turn", agent.EventPrompt, 1)
	for range 5 * agent.MaxRecent >> 21 {
		add("one-turn", agent.EventOutput, 512<<10)
	}
	if e := first("one-turn"); e.Kind != agent.EventPrompt {
		t.Errorf("one long turn begins with %s", e.Kind)
	}
}

func newStore(t testing.TB) *Store {
	t.Helper()
	return openStore(t, t.TempDir())
}

func openStore(t testing.TB, root string) *Store {
	t.Helper()
	s := New(root)
	s.lockWait = 20 * time.Millisecond
	s.max = 4 * MaxEvent
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("closing: %v", err)
		}
	})
	return s
}

func record(id string) Record {
	return Record{ID: id, Cwd: "/work/" + id, Created: t0, Updated: t0}
}

func create(t testing.TB, s agent.Store, id string) Record {
	t.Helper()
	r := record(id)
	if err := s.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return r
}

func say(n int) Event {
	return Event{Kind: EventSay, Time: t0.Add(time.Duration(n) * time.Second), Turn: "t", Text: fmt.Sprintf("text %d\nwith <a> line\x00", n)}
}

func readAll(t testing.TB, s agent.Store, id string, from int64) ([]Event, int64) {
	t.Helper()
	var got []Event
	next, err := s.Read(t.Context(), id, from, func(e Event) error {
		got = append(got, e)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got, next
}

func contractRecords(t *testing.T, s agent.Store) {
	ctx := t.Context()
	r := record("s1")
	r.Title, r.Options = "ti\ntle", map[string]string{"env": "prod"}
	if err := s.Create(ctx, r); err != nil {
		t.Fatal(err)
	}
	check := func(want Record) {
		t.Helper()
		got, err := s.Get(ctx, want.ID)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Error(d)
		}
	}
	check(r)
	if s.Create(ctx, record("s1")) == nil {
		t.Error("an id was given twice")
	}
	check(r)
	r.Title, r.Options, r.Cwd, r.Updated = "new", map[string]string{"output": "full"}, "/elsewhere", t0.Add(time.Hour)
	if err := s.Update(ctx, r); err != nil {
		t.Fatal(err)
	}
	check(r)
	// Updated never goes back, and an event takes it forward.
	old := r
	old.Updated = t0
	if err := s.Update(ctx, old); err != nil {
		t.Fatal(err)
	}
	check(r)
	e := say(0)
	e.Time = t0.Add(2 * time.Hour)
	if err := s.Append(ctx, "s1", false, e, say(1)); err != nil {
		t.Fatal(err)
	}
	r.Updated = e.Time
	check(r)
	if err := s.Append(ctx, "s1", true, say(2)); err != nil {
		t.Fatal(err)
	}
	check(r)
}

func contractEvents(t *testing.T, s agent.Store) {
	ctx := t.Context()
	create(t, s, "s1")
	code, text := 3, "inside"
	want := []Event{
		{Kind: EventPrompt, Time: t0, Turn: "t1", Client: "zed", Prompt: []acp.ContentBlock{
			acp.Text("a \u2028 <b>"), {Type: acp.ContentResourceLink, Name: "f", URI: "file:///f"},
			{Type: acp.ContentResource, Resource: &acp.EmbeddedResource{URI: "file:///g", Text: &text}},
		}},
		{Kind: EventCall, Time: t0, Turn: "t1", CallID: "c", Call: &agent.CallEvent{Title: "x", Status: acp.ToolInProgress, Cwd: "/w", RawInput: json.RawMessage(`{"command":"x"}`)}},
		{Kind: EventOutput, Time: t0, Turn: "t1", CallID: "c", Text: "\x1b[1mout\r\n", Terminal: true},
		{Kind: EventResult, Time: t0, Turn: "t1", CallID: "c", Result: &agent.ResultEvent{Status: acp.ToolFailed, ExitCode: &code, RawOutput: json.RawMessage(`{"exitCode":3}`)}},
		{Kind: EventEnd, Time: t0, Turn: "t1", End: &agent.EndEvent{Reason: acp.StopEndTurn, State: "failed", Line: "x", Ran: true, Took: time.Second}},
		{Kind: EventCode, Time: t0, Code: &agent.CodeEvent{Code: "ab", Words: []string{"rm"}, Digest: "d", Until: t0}},
		{Kind: "later", Time: t0},
	}
	if err := s.Append(ctx, "s1", false, want[:2]...); err != nil {
		t.Fatal(err)
	}
	got, mid := readAll(t, s, "s1", 0)
	if d := cmp.Diff(want[:2], got); d != "" {
		t.Error(d)
	}
	if again, next := readAll(t, s, "s1", mid); len(again) != 0 || next != mid {
		t.Errorf("after the last: %d events, position %d, want none and %d", len(again), next, mid)
	}
	if err := s.Append(ctx, "s1", true, want[2:]...); err != nil {
		t.Fatal(err)
	}
	if err := s.Append(ctx, "s1", false); err != nil {
		t.Fatal(err)
	}
	got, _ = readAll(t, s, "s1", mid)
	if d := cmp.Diff(want[2:], got); d != "" {
		t.Error(d)
	}
	got, _ = readAll(t, s, "s1", 0)
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	// A reader that stops goes on where it stopped.
	stop := errors.New("stop")
	n := 0
	at, err := s.Read(ctx, "s1", 0, func(Event) error {
		if n++; n == 3 {
			return stop
		}
		return nil
	})
	if !errors.Is(err, stop) {
		t.Errorf("got %v, want the reader's own error", err)
	}
	if got, _ := readAll(t, s, "s1", at); len(got) != len(want)-2 {
		t.Errorf("%d events after the stop, want %d", len(got), len(want)-2)
	}
	if _, err := s.Read(ctx, "s1", 1<<40, func(Event) error { return nil }); !errors.Is(err, agent.ErrUnreadableSession) {
		t.Errorf("a position beyond the end: %v", err)
	}
}

func contractIDs(t *testing.T, s agent.Store) {
	ctx := t.Context()
	for _, id := range []string{"", ".", "..", "../x", "a/b", "/etc/passwd", "-x", ".x", "a b", "a\x00b", "é", "a\n", strings.Repeat("x", 300)} {
		if s.Create(ctx, record(id)) == nil {
			t.Errorf("id %q was taken", id)
		}
		if err := s.Delete(ctx, id); err != nil {
			t.Errorf("deleting %q: %v", id, err)
		}
		unknown(t, s, id)
	}
	for _, id := range []string{"a", "_", "sess_0198c2f0-7d1c-7000-8000-000000000000", "A.b-c", "0..", "x.tmp", "x.jsonl", "x.json"} {
		create(t, s, id)
		if got, err := s.Get(ctx, id); err != nil || got.ID != id {
			t.Errorf("%q: %v %v", id, got.ID, err)
		}
	}
	unknown(t, s, "nobody")
}

// unknown checks that nothing knows a session.
func unknown(t *testing.T, s agent.Store, id string) {
	t.Helper()
	ctx := t.Context()
	_, getErr := s.Get(ctx, id)
	_, lockErr := s.Lock(ctx, id)
	_, readErr := s.Read(ctx, id, 0, func(Event) error { return nil })
	for what, err := range map[string]error{
		"get": getErr, "lock": lockErr, "read": readErr,
		"update": s.Update(ctx, record(id)), "append": s.Append(ctx, id, false, say(1)),
	} {
		if !errors.Is(err, agent.ErrUnknownSession) {
			t.Errorf("%s of %q: %v, want ErrUnknownSession", what, id, err)
		}
	}
}

func contractList(t *testing.T, s agent.Store) {
	ctx := t.Context()
	if page, next, err := s.List(ctx, "", ""); err != nil || len(page) != 0 || next != "" {
		t.Fatalf("an empty store: %v %q %v", page, next, err)
	}
	const n = 2*pageSize + 7
	var want []string
	for i := range n {
		r := record(fmt.Sprintf("s%04d", i))
		r.Created, r.Updated = t0, t0.Add(time.Duration(i/2)*time.Minute) // in pairs of one time
		if err := s.Create(ctx, r); err != nil {
			t.Fatal(err)
		}
		want = append([]string{r.ID}, want...)
	}
	got, sizes := pages(t, s, "")
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if d := cmp.Diff([]int{pageSize, pageSize, 7}, sizes); d != "" {
		t.Error("sizes of pages:", d)
	}
	// What changes while somebody pages comes to the front and disturbs nothing.
	_, cursor, err := s.List(ctx, "", "")
	if err != nil {
		t.Fatal(err)
	}
	e := say(1)
	e.Time = t0.Add(1000 * time.Hour)
	if err := s.Append(ctx, "s0000", false, e); err != nil {
		t.Fatal(err)
	}
	second, _, err := s.List(ctx, "", cursor)
	if err != nil || second[0].ID != want[pageSize] {
		t.Errorf("the second page starts with %s (%v), want %s", second[0].ID, err, want[pageSize])
	}
	first, _, err := s.List(ctx, "", "")
	if err != nil || first[0].ID != "s0000" || !first[0].Updated.Equal(e.Time) {
		t.Errorf("first is %s of %v (%v), want s0000 of %v", first[0].ID, first[0].Updated, err, e.Time)
	}
	for _, bad := range []string{"x", "MQ", "MSA", "MSAuLi94", cursor + "=", cursor[1:], strings.Repeat("A", 10_000)} {
		if _, _, err := s.List(ctx, "", bad); !errors.Is(err, agent.ErrBadCursor) {
			t.Errorf("cursor %.20q: %v", bad, err)
		}
	}
}

// pages lists everything.
func pages(t *testing.T, s agent.Store, cwd string) (ids []string, sizes []int) {
	t.Helper()
	cursor := ""
	for {
		page, next, err := s.List(t.Context(), cwd, cursor)
		if err != nil {
			t.Fatal(err)
		}
		sizes = append(sizes, len(page))
		for _, r := range page {
			ids = append(ids, r.ID)
		}
		if next == "" {
			return ids, sizes
		}
		cursor = next
	}
}

func contractFolders(t *testing.T, s agent.Store) {
	ctx := t.Context()
	tmp, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	real, link := filepath.Join(tmp, "real"), filepath.Join(tmp, "link")
	if err := os.Mkdir(real, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(real, link); err != nil {
		t.Fatal(err)
	}
	for i, cwd := range []string{real, real + "/", link, tmp, "/nowhere/x", "/nowhere//x/."} {
		r := Record{ID: fmt.Sprint("s", i), Cwd: cwd, Created: t0, Updated: t0.Add(time.Duration(i))}
		if err := s.Create(ctx, r); err != nil {
			t.Fatal(err)
		}
	}
	check := func(cwd string, want ...string) {
		t.Helper()
		if got, _ := pages(t, s, cwd); !cmp.Equal(want, got) {
			t.Errorf("in %s: %v, want %v", cwd, got, want)
		}
	}
	check(real, "s2", "s1", "s0")
	check(link+"/.", "s2", "s1", "s0")
	check(tmp, "s3")
	check("/nowhere/x", "s5", "s4")
	check("/nowhere")
	// A session that moves is found where it is now, and only there.
	r, err := s.Get(ctx, "s1")
	if err != nil {
		t.Fatal(err)
	}
	r.Cwd = tmp
	if err := s.Update(ctx, r); err != nil {
		t.Fatal(err)
	}
	check(real, "s2", "s0")
	check(tmp, "s3", "s1")
}

func contractLock(t *testing.T, s agent.Store) {
	ctx := t.Context()
	create(t, s, "s1")
	create(t, s, "s2")
	release, err := s.Lock(ctx, "s1")
	if err != nil {
		t.Fatal(err)
	}
	var held *agent.SessionHeldError
	if _, err := s.Lock(ctx, "s1"); !errors.As(err, &held) || held.PID != os.Getpid() {
		t.Errorf("got %v, want that process %d holds it", err, os.Getpid())
	}
	if err := s.Delete(ctx, "s1"); !errors.As(err, &held) {
		t.Errorf("deleting in a turn: %v", err)
	}
	other, err := s.Lock(ctx, "s2")
	if err != nil {
		t.Fatal("another session's lock:", err)
	}
	defer other()
	gone, cancel := context.WithCancelCause(ctx)
	left := errors.New("left")
	cancel(left)
	if _, err := s.Lock(gone, "s1"); !errors.Is(err, left) {
		t.Errorf("got %v, want the context's cause", err)
	}
	if err := s.Append(ctx, "s1", false, say(1)); err != nil {
		t.Error("appending under the lock:", err)
	}
	release()
	release()
	again, err := s.Lock(ctx, "s1")
	if err != nil {
		t.Fatal(err)
	}
	release() // of before: not again's
	if _, err := s.Lock(ctx, "s1"); !errors.As(err, &held) {
		t.Errorf("the first release let the second lock go: %v", err)
	}
	again()
}

func contractDelete(t *testing.T, s agent.Store) {
	ctx := t.Context()
	create(t, s, "s1")
	create(t, s, "s2")
	if err := s.Append(ctx, "s1", false, say(1)); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := s.Delete(ctx, "s1"); err != nil {
			t.Fatal(err)
		}
		unknown(t, s, "s1")
	}
	if err := s.Delete(ctx, "never"); err != nil {
		t.Error(err)
	}
	if got, _ := pages(t, s, ""); !cmp.Equal(got, []string{"s2"}) {
		t.Errorf("left: %v", got)
	}
	if got, _ := pages(t, s, "/work/s1"); len(got) != 0 {
		t.Errorf("left in the folder: %v", got)
	}
}

func contractLimits(t *testing.T, s agent.Store) {
	ctx := t.Context()
	create(t, s, "s1")
	e := Event{Kind: EventOutput, Time: t0}
	e.Text = strings.Repeat("x", MaxEvent)
	if err := s.Append(ctx, "s1", false, say(1), e); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a line of more than a MiB: %v", err)
	}
	if err := s.Append(ctx, "s1", false, Event{Kind: EventCall, Call: &agent.CallEvent{RawInput: json.RawMessage("{")}}); err == nil {
		t.Error("broken JSON was taken")
	}
	if got, _ := readAll(t, s, "s1", 0); len(got) != 0 {
		t.Errorf("%d events of failed appends are there", len(got))
	}
	e.Text = strings.Repeat("x", MaxEvent/2)
	n := 0
	for ; ; n++ {
		err := s.Append(ctx, "s1", false, e)
		if errors.Is(err, ErrFull) {
			break
		}
		if err != nil || n > 100 {
			t.Fatalf("after %d: %v, want ErrFull", n, err)
		}
	}
	if n != 7 { // 4 MiB less a sixteenth, in lines of a little more than half a MiB
		t.Errorf("%d lines of output are kept, want 7", n)
	}
	if err := s.Append(ctx, "s1", true, Event{Kind: EventEnd, Time: t0, End: &agent.EndEvent{}}); err != nil {
		t.Error("the end of a turn in a thread full of output:", err)
	}
	if got, _ := readAll(t, s, "s1", 0); len(got) != n+1 {
		t.Errorf("%d events, want %d", len(got), n+1)
	}
}

func contractParallel(t *testing.T, s agent.Store) {
	ctx := t.Context()
	const writers, each = 8, 25
	create(t, s, "s1")
	var wg sync.WaitGroup
	for w := range writers {
		wg.Go(func() {
			for i := range each {
				if err := s.Append(ctx, "s1", i%10 == 0, Event{Kind: EventSay, Turn: fmt.Sprint(w), Text: fmt.Sprint(i)}); err != nil {
					t.Error(err)
				}
				if _, err := s.Get(ctx, "s1"); err != nil {
					t.Error(err)
				}
				if _, _, err := s.List(ctx, "/work/s1", ""); err != nil {
					t.Error(err)
				}
			}
			id := fmt.Sprint("own", w)
			if err := s.Create(ctx, record(id)); err != nil {
				t.Error(err)
			}
			if err := s.Delete(ctx, id); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got, _ := readAll(t, s, "s1", 0)
	inOrder(t, got, writers, each)
}

// inOrder checks that each writer's events are all there, in order.
func inOrder(t *testing.T, got []Event, writers, each int) {
	t.Helper()
	next := map[string]int{}
	for _, e := range got {
		if e.Text != fmt.Sprint(next[e.Turn]) {
			t.Fatalf("writer %s: %s comes after %d", e.Turn, e.Text, next[e.Turn]-1)
		}
		next[e.Turn]++
	}
	if len(got) != writers*each {
		t.Errorf("%d events, want %d", len(got), writers*each)
	}
}

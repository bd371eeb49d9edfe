package local

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/internal/testenv"
)

// waitingJournal is a run that waits at its gate, with its journal and the files
// that were beside it.
type waitingJournal struct {
	*rig
	res    host.OpResult
	path   string
	whole  []byte
	before string // what its steps did
}

func newWaitingJournal(t *testing.T, decided bool) *waitingJournal {
	w := &waitingJournal{rig: newRig(t, gated)}
	w.res = w.waiting("deploy")
	if decided {
		if _, err := w.rt.Decide(t.Context(), approve(w.res.Run.ID, "go")); err != nil {
			t.Fatal(err)
		}
	}
	w.path = w.rt.folder(w.res.Run.ID).journal()
	w.before = w.read("log")
	var err error
	if w.whole, err = os.ReadFile(w.path); err != nil {
		t.Fatal(err)
	}
	return w
}

// put puts another journal in the place, and removes what was set aside.
func (w *waitingJournal) put(text []byte) {
	w.t.Helper()
	for _, path := range setAside(w.path) {
		if err := os.Remove(path); err != nil {
			w.t.Fatal(err)
		}
	}
	if err := os.WriteFile(w.path, text, 0o600); err != nil {
		w.t.Fatal(err)
	}
}

// No bit of a journal can be another without its run being unreadable: nothing of
// it goes on, is decided or begun anew, and what was there is kept.
func TestEveryBitOfAJournal(t *testing.T) {
	w := newWaitingJournal(t, true)
	step := testenv.Stride(89)
	for i := 0; i < len(w.whole)*8; i += step {
		text := slices.Clone(w.whole)
		text[i/8] ^= 1 << (i % 8)
		w.put(text)
		at := fmt.Sprintf("bit %d of byte %d", i%8, i/8)
		info, err := w.rt.RunInfo(t.Context(), host.RunRef{ID: w.res.Run.ID})
		if err != nil || info.State != host.RunUnreadable || info.Op != "deploy" || !strings.Contains(info.Problem, "line ") && !strings.Contains(info.Problem, "format") {
			t.Fatalf("%s: %+v, %v", at, info, err)
		}
		for _, req := range []host.OpRequest{named("deploy"), on(w.res)} {
			if _, _, err := w.start(req); !isRefusal(err, "may not be over, and can't go on") {
				t.Fatalf("%s: it went on: %v", at, err)
			}
		}
		if _, err := w.rt.Decide(t.Context(), approve(w.res.Run.ID, "go")); err == nil {
			t.Fatalf("%s: its gate is passed", at)
		}
		kept := append(setAside(w.path), w.path) // what another version wrote stays where it is
		if got, err := os.ReadFile(kept[0]); err != nil || !slices.Equal(got, text) {
			t.Fatalf("%s: it is not kept: %v", at, err)
		}
	}
	if w.read("log") != w.before {
		t.Errorf("a step ran: %q", w.read("log"))
	}
	w.put(w.whole)
	if s := w.stateOf(w.res.Run.ID); s != host.RunWaiting {
		t.Errorf("mended, it is %s", s)
	}
}

// Nor can any of a compensation that stopped: what was done of it is not done again.
func TestEveryBitOfAnUndo(t *testing.T) {
	r := newRig(t, undoing)
	r.stopIn(named("ship"), host.StopCancelled)
	res := r.stopIn(person(named("ship"), host.RunUndo), host.StopCancelled)
	w := &waitingJournal{rig: r, res: res, path: r.rt.folder(res.Run.ID).journal(), before: r.read("log")}
	var err error
	if w.whole, err = os.ReadFile(w.path); err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(w.whole)*8; i += testenv.Stride(89) {
		text := slices.Clone(w.whole)
		text[i/8] ^= 1 << (i % 8)
		for _, mode := range []host.RunMode{host.RunUndo, host.RunResume} {
			w.put(text)
			if _, _, err := w.start(person(on(w.res), mode)); err == nil || !strings.Contains(err.Error(), "can't go on") && !strings.Contains(err.Error(), "unreadable") {
				t.Fatalf("bit %d of byte %d: it went on: %v", i%8, i/8, err)
			}
		}
	}
	if w.read("log") != w.before {
		t.Errorf("a step ran: %q", w.read("log"))
	}
}

// A journal that was cut anywhere is read as far as it goes: no step runs again
// without a word, and no gate is passed.
func TestEveryPrefixOfAJournal(t *testing.T) {
	w := newWaitingJournal(t, false)
	var ends []int // of its lines
	for i, c := range w.whole {
		if c == '\n' {
			ends = append(ends, i+1)
		}
	}
	begun := ends[1] // the header and the first leg, which are written in one step
	state := filepath.Join(w.rt.folder(w.res.Run.ID).dir, "state")
	asked, err := os.ReadFile(filepath.Join(state, "pauses", "p2s1.json"))
	if err != nil {
		t.Fatal(err)
	}
	step := testenv.Stride(37)
	for cut := 0; cut < len(w.whole); cut++ {
		if cut%step != 0 && !slices.Contains(ends, cut) {
			continue
		}
		w.put(w.whole[:cut])
		info, err := w.rt.RunInfo(t.Context(), host.RunRef{ID: w.res.Run.ID})
		if err != nil {
			t.Fatal(err)
		}
		if unreadable := info.State == host.RunUnreadable; unreadable != (cut < begun) {
			t.Fatalf("cut at %d of %d: %+v", cut, len(w.whole), info)
		}
		if _, _, err := w.start(on(w.res)); err == nil || !isRefusal(err, "--resume") && !isRefusal(err, "can't go on") {
			t.Fatalf("cut at %d: it went on without a word: %v", cut, err)
		}
		if info.State.Open() && len(info.Waits) == 0 {
			if _, err := w.rt.Decide(t.Context(), approve(w.res.Run.ID, "go")); err == nil {
				t.Fatalf("cut at %d: a gate that was not asked is passed", cut)
			}
		}
	}
	if got, err := os.ReadFile(filepath.Join(state, "pauses", "p2s1.json")); err != nil || !slices.Equal(got, asked) {
		t.Errorf("the question is another: %v", err)
	}
	if w.read("log") != w.before {
		t.Errorf("a step ran: %q", w.read("log"))
	}
}

// A decision that was not written whole is none, whatever the copy of its question
// says; it can be made again.
func TestEveryPrefixOfADecision(t *testing.T) {
	w := newWaitingJournal(t, true)
	last := strings.LastIndexByte(string(w.whole[:len(w.whole)-1]), '\n') + 1
	if !strings.Contains(string(w.whole[last:]), `"kind":"decide"`) {
		t.Fatalf("the last line is %s", w.whole[last:])
	}
	for cut := last; cut < len(w.whole); cut += testenv.Stride(60) {
		w.put(w.whole[:cut])
		if still, _ := w.run(on(w.res)); still.Run.State != host.RunWaiting || still.Run.Waits[0].State != host.WaitOpen {
			t.Fatalf("cut at %d of %d: %+v", cut-last, len(w.whole)-last, still)
		}
		w.put(w.whole[:cut])
		if got, err := w.rt.Decide(t.Context(), approve(w.res.Run.ID, "go")); err != nil || got.State != host.WaitApproved {
			t.Fatalf("cut at %d: %+v, %v", cut-last, got, err)
		}
	}
	if w.read("log") != w.before {
		t.Errorf("a step ran: %q", w.read("log"))
	}
	if done, _ := w.run(on(w.res)); done.Run.State != host.RunCompleted {
		t.Errorf("%+v", done)
	}
}

// What a run was begun with is bound to its journal.
func TestEveryBitOfARecord(t *testing.T) {
	w := newWaitingJournal(t, false)
	path := w.rt.folder(w.res.Run.ID).record()
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	step := testenv.Stride(89)
	for i := 0; i < len(whole)*8; i += step {
		text := slices.Clone(whole)
		text[i/8] ^= 1 << (i % 8)
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		info, err := w.rt.RunInfo(t.Context(), host.RunRef{ID: w.res.Run.ID})
		if err != nil || info.State != host.RunUnreadable || !strings.Contains(info.Problem, path) {
			t.Fatalf("bit %d of byte %d: %+v, %v", i%8, i/8, info, err)
		}
		for _, aside := range setAside(path) {
			if err := os.Remove(aside); err != nil {
				t.Fatal(err)
			}
		}
	}
	if w.read("log") != w.before {
		t.Errorf("a step ran: %q", w.read("log"))
	}
}

// The first bad line of any run is named, also once its journal was set aside, and
// looking moves nothing.
func TestVerifyRuns(t *testing.T) {
	w := newWaitingJournal(t, true)
	other := named("deploy")
	other.Ref.Env = "prod"
	whole, _ := w.run(other)
	verify := func(ref host.RunRef) []host.RunCheck {
		t.Helper()
		checks, err := w.rt.VerifyRuns(t.Context(), ref)
		if err != nil {
			t.Fatal(err)
		}
		return checks
	}
	for _, c := range verify(host.RunRef{}) {
		if len(c.Bad) > 0 || c.Lines < 4 || c.Op != "deploy" {
			t.Errorf("%+v", c)
		}
	}
	text := slices.Clone(w.whole)
	text[strings.Index(string(text), "p1s1")] = 'x' // in the third line
	w.put(text)
	for i, path := range []string{w.path, w.path, w.path + ".corrupt-1"} {
		if i == 2 {
			_ = w.stateOf(w.res.Run.ID) // which sets it aside
		}
		checks := verify(host.RunRef{Op: "deploy"})
		if len(checks) != 2 || checks[0].ID != whole.Run.ID || len(checks[0].Bad) > 0 || checks[1].ID != w.res.Run.ID {
			t.Fatalf("%+v", checks)
		}
		bad := checks[1].Bad
		last := bad[len(bad)-1]
		if last.Path != path || !strings.HasPrefix(last.Problem, "is damaged: line 3 is not what was written") || checks[1].Lines != 2 {
			t.Errorf("%+v", checks[1])
		}
	}
	if checks := verify(host.RunRef{Op: "none"}); len(checks) != 0 {
		t.Errorf("%+v", checks)
	}
	if _, err := w.rt.VerifyRuns(t.Context(), host.RunRef{ID: "zzzzzz"}); !isRefusal(err, "There is no run zzzzzz") {
		t.Error(err)
	}
	record := w.rt.folder(whole.Run.ID).record()
	was, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(record, []byte(strings.Replace(string(was), `"env":"prod"`, `"env":"prot"`, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	if checks := verify(host.RunRef{ID: whole.Run.ID}); len(checks) != 1 || len(checks[0].Bad) != 1 || checks[0].Bad[0].Path != record {
		t.Errorf("%+v", checks)
	}
}

package local

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/op"
)

// sealed is a journal of a run of two phases, p1 with two steps and p2 with a gate
// and a step, and of an undo phase with one.
func sealed(t testing.TB, entries ...string) []byte {
	t.Helper()
	header := journalHeader{Run: "r", Phases: []phaseShape{{Steps: 2}, {Steps: 2, Waits: map[int]op.Kind{1: op.Gate}}}, Undo: []phaseShape{{Steps: 1}}}
	var objects []any
	for _, e := range entries {
		objects = append(objects, json.RawMessage(e))
	}
	text, err := journalFormat.Begin(header, objects...)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func journalFile(t testing.TB, text []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadJournal(t *testing.T) {
	const leg = `{"time":"2026-01-01T00:00:00Z","kind":"leg","leg":1}`
	start := func(step string) string { return `{"kind":"start","step":"` + step + `","title":"t","attempt":1}` }
	end := func(step, state string) string { return `{"kind":"end","step":"` + step + `","state":"` + state + `"}` }
	status := func(state string) string { return `{"kind":"status","state":"` + state + `"}` }
	const ask = `{"kind":"ask","step":"p2s1","pause":"p2s1","request":"q","digest":"d","asks":` +
		`{"kind":"decision","payload":{"name":"go"},"ttlMs":60000,"createdAt":"2026-01-01T00:00:00Z"}}`
	const failing = `{"kind":"failing","title":"t"}`
	const resumed, undone = `{"kind":"leg","leg":2,"mode":"resume"}`, `{"kind":"leg","leg":2,"mode":"undo"}`
	decide := func(option, at string) string {
		return `{"kind":"decide","step":"p2s1","request":"q","decision":{"optionId":"` + option + `","at":"2026-01-01T00:` + at + `Z","digest":"d"}}`
	}
	approve, reject, expire := decide("approve", "00:01"), decide("reject", "00:00"), decide("expire", "01:00")
	approved, rejected := end("p2s1", "completed"), end("p2s1", "failed")
	first := []string{leg, start("p1s1"), end("p1s1", "completed"), start("p1s2"), end("p1s2", "completed")}
	and := func(more ...string) []string { return append(slices.Clone(first), more...) }
	for _, c := range []struct {
		name    string
		entries []string
		rest    string
		problem string
	}{
		{"begun", []string{leg}, "", ""},
		{"what a crash cut", []string{leg}, `{"kind":"sta`, ""},
		{"zeros that a power cut left", []string{leg}, "\x00\x00\x00", ""},
		{"done", and(ask, approve, approved, start("p2s2"), end("p2s2", "completed"), status("completed")), "", ""},
		{"gone on with", and(ask, status("waiting"), approve, `{"kind":"leg","leg":2}`, approved), "", ""},
		{"decided while it runs", and(ask, status("waiting"), `{"kind":"leg","leg":2}`, approve, approved), "", ""},
		{"run out", and(ask, status("waiting"), expire, `{"kind":"leg","leg":2}`, rejected), "", ""},
		{"killed and gone on with", []string{leg, start("p1s1"), `{"kind":"leg","leg":2}`, start("p1s1")}, "", ""},
		{"failed and undone", and(ask, reject, rejected, failing, start("c1s1"), end("c1s1", "completed"), status("failed")), "", ""},
		{"asked again", and(ask, approve, approved, start("p2s2"), `{"kind":"void","step":"p2s1"}`, ask, approve, approved, start("p2s2")), "", ""},
		{"resumed after a cancel", []string{leg, start("p1s1"), end("p1s1", "cancelled"), status("cancelled"), resumed, start("p1s1"), end("p1s1", "completed")}, "", ""},
		{"undone after a cancel", []string{leg, start("p1s1"), end("p1s1", "cancelled"), status("cancelled"), undone, start("c1s1"), end("c1s1", "completed"), status("failed")}, "", ""},
		{"undone after a kill", []string{leg, start("p1s1"), undone, start("c1s1")}, "", ""},
		{"resumed after a cancel of the compensation", []string{leg, start("p1s1"), undone, start("c1s1"), end("c1s1", "cancelled"), status("cancelled"), strings.Replace(resumed, "2", "3", 1), start("c1s1")}, "", ""},
		{"undone twice", []string{leg, start("p1s1"), undone, strings.Replace(undone, "2", "3", 1)}, "", "the run is undone, and there is nothing to undo"},
		{"undone while it waits", and(ask, status("waiting"), undone), "", "the run is undone, and there is nothing to undo"},
		{"undone from the beginning", []string{strings.Replace(undone, "2", "1", 1)}, "", "the run is undone, and there is nothing to undo"},
		{"undone after its end", and(ask, reject, rejected, failing, status("failed"), undone), "", "the run is undone, and there is nothing to undo"},
		{"a step after the undo", []string{leg, start("p1s1"), undone, start("p1s1")}, "", "p1s1 comes after the run failed"},
		{"a step of the undo again", []string{leg, start("p1s1"), undone, start("c1s1"), end("c1s1", "completed"), status("cancelled"), strings.Replace(resumed, "2", "3", 1), start("c1s1")}, "", "the step c1s1 was over"},
		{"resumed, and not cancelled", []string{leg, start("p1s1"), status("interrupted"), resumed}, "", "the run is resumed, and was not cancelled"},
		{"taken up after a cancel", []string{leg, status("cancelled"), `{"kind":"leg","leg":2}`}, "", "the run was over"},
		{"a mode that is none", []string{leg, status("cancelled"), `{"kind":"leg","leg":2,"mode":"x"}`}, "", `there is no mode "x"`},
		{"fields of a later version of the same format", []string{leg, `{"kind":"start","step":"p1s1","more":{}}`}, "", ""},
		{"without entries", nil, "", "line 1 has no beginning behind it"},
		{"no JSON", []string{leg}, "x\n", "line 3 is not what was written"},
		{"no entry", []string{leg, `{"kind":"nope"}`}, "", `line 3 is no entry that can stand there: there is no entry "nope"`},
		{"no leg", []string{start("p1s1")}, "", "no process had taken the run up"},
		{"a leg too many", []string{leg, `{"kind":"leg","leg":3}`}, "", "leg 3 after leg 1"},
		{"a step that was over", []string{leg, start("p1s1"), end("p1s1", "completed"), start("p1s1")}, "", "line 5 is no entry that can stand there: the step p1s1 was over"},
		{"a run that was over", and(ask, reject, rejected, failing, status("failed"), `{"kind":"leg","leg":2}`), "", "the run was over"},
		{"a state that is none", []string{leg, status("running")}, "", "there is no state"},
		{"an end that is none", []string{leg, start("p1s1"), end("p1s1", "waiting")}, "", "there is no end"},
		{"no step", []string{leg, `{"kind":"start"}`}, "", "there is no step"},
		{"a step that is not in the plan", []string{leg, start("p1s3")}, "", `there is no step "p1s3"`},
		{"a phase that is not in the plan", []string{leg, start("p3s1")}, "", `there is no step "p3s1"`},
		{"another spelling of a step", []string{leg, start("p01s1")}, "", `there is no step "p01s1"`},
		{"an end without a start", []string{leg, end("p1s1", "completed")}, "", "the step p1s1 ends, and did not begin"},
		{"a retry without a start", []string{leg, `{"kind":"retry","step":"p1s1"}`}, "", "the step p1s1 did not begin"},
		{"a step before the one that lies before it", []string{leg, start("p1s2")}, "", "p1s2 comes before what lies before it is over"},
		{"a gate before what lies before it", []string{leg, start("p1s1"), end("p1s1", "completed"), start("p1s2"), ask}, "", "p2s1 comes before what lies before it is over"},
		{"a step behind a gate that waits", and(ask, start("p2s2")), "", "p2s2 comes before what lies before it is over"},
		{"a step behind a gate that is asked again", and(ask, approve, approved, `{"kind":"void","step":"p2s1"}`, ask, start("p2s2")), "", "p2s2 comes before what lies before it is over"},
		{"a gate that nobody decided", and(ask, end("p2s1", "completed")), "", "the step p2s1 is passed, and nobody decided"},
		{"cancelled by somebody else", []string{leg, start("p1s1"), `{"kind":"cancel","user":"u"}`, end("p1s1", "cancelled"), status("cancelled")}, "", ""},
		{"a cancel that nobody hears", []string{leg, status("interrupted"), `{"kind":"cancel","user":"u"}`}, "", "no process had taken the run up"},
		{"a gate that failed of itself", and(ask, end("p2s1", "failed")), "", "the step p2s1 failed, and nobody decided that"},
		{"a gate that was rejected and passed", and(ask, reject, approved), "", "nobody decided"},
		{"a gate that ran out and passed", and(ask, expire, approved), "", "nobody decided"},
		{"a gate that was approved and failed", and(ask, approve, rejected), "", "nobody decided that"},
		{"a gate that says itself that it was approved", and(ask, strings.Replace(approved, `"completed"`, `"completed","decision":{"optionId":"approve"}`, 1)), "", "nobody decided"},
		{"a decision before its question", and(ask, strings.Replace(approve, "2026-01-01T00:00:01Z", "2025-12-31T23:59:59Z", 1)), "", "the step p2s1 was decided before it was asked"},
		{"a decision without its question", and(approve), "", "what is decided of the step p2s1 was not asked"},
		{"a decision on another question", and(ask, strings.Replace(approve, `"q"`, `"r"`, 1)), "", "was not asked"},
		{"a decision on a question that was voided", and(ask, `{"kind":"void","step":"p2s1"}`, approve), "", "was not asked"},
		{"a decision that is not there", and(ask, `{"kind":"decide","step":"p2s1","request":"q"}`), "", "was not asked"},
		{"a second decision", and(ask, reject, approve), "", "the step p2s1 was decided before"},
		{"a decision after its time", and(ask, decide("approve", "01:00")), "", "was decided after its time, or ran out before it"},
		{"a time that runs out early", and(ask, decide("expire", "00:59")), "", "was decided after its time, or ran out before it"},
		{"a decision that is none", and(ask, decide("signal", "00:01")), "", `can't be decided with "signal"`},
		{"an approval of something else", and(ask, strings.Replace(approve, `"d"`, `"e"`, 1)), "", "was approved for something else"},
		{"a decision on a step that runs", []string{leg, start("p1s1"), strings.Replace(approve, "p2s1", "p1s1", 1)}, "", "was not asked"},
		{"a decision on a run that is over", and(ask, status("cancelled"), approve), "", "the run was over"},
		{"a decision on a gate that is over", and(ask, reject, rejected, approve), "", "the step p2s1 was over"},
		{"a gate that asks for an event", and(strings.Replace(ask, `"decision"`, `"event"`, 1)), "", "asks nothing that it can"},
		{"a gate that runs", and(start("p2s1")), "", "the step p2s1 runs nothing"},
		{"a step that asks", []string{leg, `{"kind":"ask","step":"p1s1"}`}, "", "the step p1s1 has nothing to ask"},
		{"a question asked twice", and(ask, ask), "", "the step p2s1 has nothing to ask"},
		{"completed without its steps", and(status("completed")), "", "the run is completed, and not all of its steps are"},
		{"failed without a failure", and(status("failed")), "", "none of its steps did"},
		{"waiting for nothing", and(status("waiting")), "", "none of its steps does"},
		{"a failure without a failed step", and(failing), "", "no step failed"},
		{"undone without a failure", and(start("c1s1")), "", "no step failed"},
		{"a step after the failure", and(ask, reject, rejected, failing, start("p2s2")), "", "p2s2 comes after the run failed"},
	} {
		_, err := readJournal(journalFile(t, append(sealed(t, c.entries...), c.rest...)))
		var damage *damageError
		switch {
		case c.problem == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.problem != "" && (!errors.As(err, &damage) || !strings.Contains(err.Error(), c.problem) || !strings.Contains(err.Error(), "journal.jsonl")):
			t.Errorf("%s: got %v, want %q", c.name, err, c.problem)
		}
	}
}

// What can be read can be gone on with: more entries make it no worse.
func FuzzReadJournal(f *testing.F) {
	f.Add(`{"kind":"leg","leg":1}` + "\n" + `{"kind":"start","step":"p1s1"}`)
	f.Add(`{"kind":"leg","leg":1}` + "\n" + `{"kind":"status","state":"interrupted"}`)
	f.Add(`{}`)
	f.Fuzz(func(t *testing.T, text string) {
		var entries []string
		for line := range strings.SplitSeq(text, "\n") {
			if !json.Valid([]byte(line)) || !strings.HasPrefix(line, "{") || len(line) < 4 || len(line) > 1000 {
				return
			}
			entries = append(entries, line)
		}
		h, err := readJournal(journalFile(t, sealed(t, entries...)))
		if err != nil {
			return
		}
		if h.status != nil && !host.RunState(h.status.State).Open() {
			return
		}
		if err := h.take(entry{Kind: entrySegment, Segment: h.segments + 1}); err != nil {
			t.Fatal(err)
		}
		k := &kept{history: h}
		if s := k.state(); s != host.RunInterrupted {
			t.Fatalf("a leg that was killed is %s", s)
		}
	})
}

func TestTheJournalIsCutAndGoneOnWith(t *testing.T) {
	path := journalFile(t, append(sealed(t, `{"kind":"leg","leg":1}`), `{"kind":"sta`...))
	j, err := openJournal(path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer j.close()
	if err := j.append(entry{Kind: entryStart, Step: "p1s1"}, true); err != nil {
		t.Fatal(err)
	}
	if err := j.append(entry{Kind: entryStart, Step: strings.Repeat("x", maxEntry)}, true); err == nil {
		t.Error("an entry of any size was taken")
	}
	h, err := readJournal(path)
	if err != nil || h.segments != 1 || !h.steps["p1s1"].begun {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestDamageIsKeptAsideAndTold(t *testing.T) {
	for _, c := range []struct{ name, file, text string }{
		{"a journal", "journal.jsonl", "{\"kind\":\"leg\",\"leg\":1}\nnonsense\n"},
		{"an empty journal", "journal.jsonl", ""},
		{"a record", "run.json", "{"},
		{"another's record", "run.json", `{"format":"chant-acp run","version":2,"id":"zzzzzz"}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, gated)
			res := r.waiting("deploy")
			path := filepath.Join(r.rt.folder(res.Run.ID).dir, c.file)
			if err := os.WriteFile(path, []byte(c.text), 0o600); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				i, err := r.rt.RunInfo(t.Context(), host.RunRef{ID: res.Run.ID})
				if err != nil || i.ID != res.Run.ID || i.State != host.RunUnreadable || !strings.Contains(i.Problem, path+".corrupt-1") {
					t.Errorf("%+v, %v", i, err)
				}
				if c.file == "journal.jsonl" && i.Op != "deploy" {
					t.Errorf("what is known is not told: %+v", i)
				}
			}
			if got, err := os.ReadFile(path + ".corrupt-1"); err != nil || string(got) != c.text {
				t.Errorf("%q, %v", got, err)
			}
			runs, err := r.rt.Runs(t.Context(), host.RunQuery{})
			if err != nil || len(runs) != 1 || runs[0].State != host.RunUnreadable {
				t.Errorf("%+v, %v", runs, err)
			}
			if _, err := r.rt.Decide(t.Context(), approve(res.Run.ID, "go")); err == nil {
				t.Error("a gate of it was approved")
			}
			for _, req := range []host.OpRequest{on(res), named("deploy")} {
				if _, _, err := r.start(req); !isRefusal(err, "may not be over, and can't go on") {
					t.Errorf("it was gone on with: %v", err)
				}
			}
			anew := named("deploy")
			anew.Mode = host.RunRestart
			if next, _ := r.run(anew); next.Run.ID == res.Run.ID || next.Run.State != host.RunWaiting {
				t.Errorf("it keeps others from running: %+v", next)
			}
		})
	}
}

func TestANewerFormatIsRefusedAndLeftAlone(t *testing.T) {
	r := newRig(t, gated)
	res := r.waiting("deploy")
	path := filepath.Join(r.rt.folder(res.Run.ID).dir, "run.json")
	const newer = `{"format":"chant-acp run","version":3,"id":{"anything":1}}`
	if err := os.WriteFile(path, []byte(newer), 0o600); err != nil {
		t.Fatal(err)
	}
	i, err := r.rt.RunInfo(t.Context(), host.RunRef{ID: res.Run.ID})
	if err != nil || i.State != host.RunUnreadable || !strings.Contains(i.Problem, "update chant-acp") {
		t.Errorf("%+v, %v", i, err)
	}
	if got, err := os.ReadFile(path); err != nil || string(got) != newer {
		t.Errorf("%q, %v", got, err)
	}
}

func TestOneOpenRunForEachIdentity(t *testing.T) {
	r := newRig(t, gated)
	a := r.waiting("deploy")
	req := named("deploy")
	req.Ref.Env = "prod"
	b, _ := r.run(req)
	req.Ref.Params = map[string]string{"x": "1"}
	c, _ := r.run(req)
	if a.Run.ID == b.Run.ID || b.Run.ID == c.Run.ID {
		t.Error("different runs are one")
	}
	same, _ := r.run(req)
	if same.Run.ID != c.Run.ID {
		t.Error("one run is two")
	}
	open, err := r.rt.Runs(t.Context(), host.RunQuery{Op: "deploy", Open: true})
	if err != nil || len(open) != 3 || open[0].ID != c.Run.ID {
		t.Errorf("%+v, %v", open, err)
	}
	if one, err := r.rt.Runs(t.Context(), host.RunQuery{Limit: 1}); err != nil || len(one) != 1 {
		t.Errorf("%+v, %v", one, err)
	}
	i, err := r.rt.CancelRun(t.Context(), host.RunRef{ID: b.Run.ID}, host.Actor{})
	if err != nil || i.State != host.RunCancelled || strings.Contains(r.read("log"), "undo") {
		t.Errorf("%+v, %v", i, err)
	}
	if _, err := r.rt.CancelRun(t.Context(), host.RunRef{ID: b.Run.ID}, host.Actor{}); !isRefusal(err, "is over") {
		t.Errorf("once more: %v", err)
	}
}

func TestCancelFromElsewhere(t *testing.T) {
	r := newRig(t, "name: long\noverview: x\nphases: [{name: P, steps: [{shell: 'echo up; exec sleep 999'}]}]\n")
	up := make(chan struct{})
	run, _, err := r.start(host.OpRequest{Ref: host.RunRef{Op: "long"}, Events: func(ev host.OpEvent) {
		if _, ok := ev.(*host.StepOutput); ok {
			close(up)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	<-up
	if s := r.stateOf(run.ID()); s != host.RunRunning {
		t.Errorf("it is %s", s)
	}
	if _, _, err := r.start(named("long")); !isRefusal(err, "is running") {
		t.Errorf("once more: %v", err)
	}
	i, err := r.rt.CancelRun(t.Context(), host.RunRef{Op: "long"}, host.Actor{Client: "zed"})
	if err != nil || i.State != host.RunCancelled {
		t.Errorf("%+v, %v", i, err)
	}
	if res := run.Wait(); res.Run.State != host.RunCancelled {
		t.Errorf("%+v", res)
	}
	if h, err := readJournal(r.rt.folder(run.ID()).journal()); err != nil || h.cancel == nil || h.cancel.User == "" || h.cancel.Client != "zed" {
		t.Errorf("the journal does not say who asked: %+v, %v", h.cancel, err)
	}
}

func TestLeavingInterruptsAndResumeGoesOn(t *testing.T) {
	r := newRig(t, `
name: long
overview: x
phases:
  - name: P
    steps: [{shell: echo one >> log}, {shell: 'echo two >> log; test -e fast || { echo up; exec sleep 999; }'}, {shell: echo three >> log}]
`)
	up := make(chan struct{})
	run, _, err := r.start(host.OpRequest{Ref: host.RunRef{Op: "long"}, Events: func(ev host.OpEvent) {
		if _, ok := ev.(*host.StepOutput); ok {
			close(up)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	<-up
	run.Stop(host.StopLeaving)
	res := run.Wait()
	if res.Run.State != host.RunInterrupted || !strings.Contains(res.Run.Step, "echo two") {
		t.Errorf("%+v", res)
	}
	r.open()
	if _, _, err := r.start(named("long")); !isRefusal(err, "echo two") || !isRefusal(err, "--resume") || !isRefusal(err, "--restart") {
		t.Errorf("got %v", err)
	}
	r.file("fast", "", 0o600)
	again := on(res)
	again.Mode = host.RunResume
	done, e := r.run(again)
	if done.Run.State != host.RunCompleted || r.read("log") != "one\ntwo\ntwo\nthree\n" {
		t.Errorf("%+v, log %q", done, r.read("log"))
	}
	if strings.Contains(strings.Join(e.lines(), "\n"), "echo one") {
		t.Errorf("a completed step is told of again: %q", e.lines())
	}
}

// One run that can't be read hides no other, whatever lies there.
func TestWhatIsNoRunIsToldAsUnreadable(t *testing.T) {
	r := newRig(t, gated)
	res := r.waiting("deploy")
	for id, put := range map[string]func(dir string) error{
		"aaaaaa": func(dir string) error { return os.MkdirAll(filepath.Join(dir, "run.json"), 0o700) },
		"bbbbbb": func(dir string) error { return os.Mkdir(dir, 0o700) },
		"cccccc": func(dir string) error {
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
			return os.Symlink(r.rt.folder(res.Run.ID).record(), filepath.Join(dir, "run.json"))
		},
		"dddddd": func(dir string) error {
			if err := os.Mkdir(dir, 0o700); err != nil {
				return err
			}
			return os.WriteFile(filepath.Join(dir, "run.json"), make([]byte, maxRecord+1), 0o600)
		},
	} {
		if err := put(filepath.Join(r.rt.dir, id)); err != nil {
			t.Fatal(err)
		}
	}
	runs, err := r.rt.Runs(t.Context(), host.RunQuery{})
	if err != nil || len(runs) != 5 {
		t.Fatalf("%+v, %v", runs, err)
	}
	for _, i := range runs {
		if i.ID != res.Run.ID && (i.State != host.RunUnreadable || i.Problem == "") {
			t.Errorf("%+v", i)
		}
	}
}

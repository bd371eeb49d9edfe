package local

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/host"
)

func TestParseJournal(t *testing.T) {
	const leg = `{"time":"2026-01-01T00:00:00Z","kind":"leg","leg":1}` + "\n"
	start := `{"kind":"start","step":"p1s1","title":"t","attempt":1}` + "\n"
	for _, c := range []struct{ name, text, problem string }{
		{"begun", leg, ""},
		{"what a crash cut", leg + `{"kind":"sta`, ""},
		{"zeros that a power cut left", leg + "\x00\x00\x00", ""},
		{"done", leg + start + `{"kind":"end","step":"p1s1","state":"completed"}` + "\n" + `{"kind":"status","state":"completed"}` + "\n", ""},
		{"gone on with", leg + `{"kind":"status","state":"waiting"}` + "\n" + `{"kind":"leg","leg":2}` + "\n", ""},
		{"killed and gone on with", leg + start + `{"kind":"leg","leg":2}` + "\n" + start, ""},
		{"fields of a later version of the same format", leg + `{"kind":"start","step":"p1s1","more":{}}` + "\n", ""},
		{"empty", "", "holds no beginning"},
		{"no JSON", leg + "x\n", "line 2 is no entry"},
		{"no entry", leg + `{"kind":"nope"}` + "\n", "line 2: there is no entry"},
		{"no object", leg + "[]\n", "line 2 is no entry"},
		{"no leg", start, "no process had taken the run up"},
		{"a leg too many", leg + `{"kind":"leg","leg":3}` + "\n", "leg 3 after leg 1"},
		{"a step that was over", leg + start + `{"kind":"end","step":"p1s1","state":"completed"}` + "\n" + start, "line 4: the step p1s1 was over"},
		{"a run that was over", leg + `{"kind":"status","state":"failed"}` + "\n" + `{"kind":"leg","leg":2}` + "\n", "the run was over"},
		{"a state that is none", leg + `{"kind":"status","state":"running"}` + "\n", "there is no state"},
		{"an end that is none", leg + `{"kind":"end","step":"p1s1","state":"waiting"}` + "\n", "there is no end"},
		{"no step", leg + `{"kind":"start"}` + "\n", "names no step"},
	} {
		_, err := parseJournal("path", []byte(c.text))
		var damage *damageError
		switch {
		case c.problem == "" && err != nil:
			t.Errorf("%s: %v", c.name, err)
		case c.problem != "" && (!errors.As(err, &damage) || !strings.Contains(err.Error(), c.problem) || !strings.Contains(err.Error(), "path")):
			t.Errorf("%s: got %v, want %q", c.name, err, c.problem)
		}
	}
}

// What can be read can be gone on with: more entries make it no worse.
func FuzzParseJournal(f *testing.F) {
	f.Add([]byte(`{"kind":"leg","leg":1}` + "\n" + `{"kind":"start","step":"p1s1"}` + "\n"))
	f.Add([]byte(`{"kind":"leg","leg":1}` + "\n" + `{"kind":"status","state":"waiting"}` + "\n" + `{"kind":"le`))
	f.Add([]byte("\n\n"))
	f.Fuzz(func(t *testing.T, text []byte) {
		h, err := parseJournal("path", text)
		if err != nil {
			return
		}
		if h.status != nil && !host.RunState(h.status.State).Open() {
			return
		}
		if err := h.take(entry{Kind: entryLeg, Leg: h.legs + 1}); err != nil {
			t.Fatal(err)
		}
		k := &kept{history: h}
		if s := k.state(); s != host.RunInterrupted {
			t.Fatalf("a leg that was killed is %s", s)
		}
	})
}

func TestTheJournalIsCutAndGoneOnWith(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.jsonl")
	if err := os.WriteFile(path, []byte(`{"kind":"leg","leg":1}`+"\n"+`{"kind":"sta`), 0o600); err != nil {
		t.Fatal(err)
	}
	j, err := openJournal(path, time.Now)
	if err != nil {
		t.Fatal(err)
	}
	defer j.close()
	if err := j.append(entry{Kind: entryStart, Step: "p1s1"}); err != nil {
		t.Fatal(err)
	}
	if err := j.append(entry{Kind: entryStart, Step: strings.Repeat("x", maxEntry)}); err == nil {
		t.Error("an entry of any size was taken")
	}
	h, err := readJournal(path)
	if err != nil || h.legs != 1 || !h.steps["p1s1"].begun {
		t.Errorf("%+v, %v", h, err)
	}
}

func TestDamageIsKeptAsideAndTold(t *testing.T) {
	for _, c := range []struct{ name, file, text string }{
		{"a journal", "journal.jsonl", "{\"kind\":\"leg\",\"leg\":1}\nnonsense\n"},
		{"an empty journal", "journal.jsonl", ""},
		{"a record", "run.json", "{"},
		{"another's record", "run.json", `{"format":"chant-acp run","version":1,"id":"zzzzzz"}`},
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
	const newer = `{"format":"chant-acp run","version":2,"id":{"anything":1}}`
	if err := os.WriteFile(path, []byte(newer), 0o600); err != nil {
		t.Fatal(err)
	}
	i, err := r.rt.RunInfo(t.Context(), host.RunRef{ID: res.Run.ID})
	if err != nil || i.State != host.RunUnreadable || !strings.Contains(i.Problem, "newer") {
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
	i, err := r.rt.CancelRun(t.Context(), host.RunRef{Op: "long"}, host.Actor{})
	if err != nil || i.State != host.RunCancelled {
		t.Errorf("%+v, %v", i, err)
	}
	if res := run.Wait(); res.Run.State != host.RunCancelled {
		t.Errorf("%+v", res)
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

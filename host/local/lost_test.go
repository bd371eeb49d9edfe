package local

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/pause"
)

// A run that can't be read is not begun anew without a word, and what is left of
// it is told of.
func TestARunThatCannotBeRead(t *testing.T) {
	for name, c := range map[string]struct {
		file, text string
		line       string // that begins anew
		env        string // that is still known
		done       int
	}{
		"run.json":            {"run.json", "{", "run deploy --env prod --restart", "prod", 1},
		"run.json gone":       {"run.json", "", "run deploy --env prod --restart", "prod", 1},
		"journal":             {"journal.jsonl", "garbage\n", "run deploy --env prod --restart", "prod", 0},
		"end of the journal":  {"journal.jsonl", "+garbage\n", "run deploy --env prod --restart", "prod", 1},
		"journal without any": {"journal.jsonl", "", "run deploy --env prod --restart", "prod", 0},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, gated)
			req := named("deploy")
			req.Ref.Env = "prod"
			res, _ := r.run(req)
			path := filepath.Join(r.rt.folder(res.Run.ID).dir, c.file)
			before, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			text := c.text
			if rest, ok := strings.CutPrefix(text, "+"); ok {
				text = string(before) + rest
			}
			if c.text == "" {
				err = os.Remove(path)
			} else {
				err = os.WriteFile(path, []byte(text), 0o600)
			}
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // the second one finds it set aside
				_, _, err := r.start(req)
				if !isRefusal(err, res.Run.ID) || !isRefusal(err, c.line) || !isRefusal(err, path) || c.text != "" && !isRefusal(err, path+".corrupt-1") {
					t.Errorf("got %v", err)
				}
				again := on(res)
				if _, _, err := r.start(again); !isRefusal(err, res.Run.ID) || !isRefusal(err, path) {
					t.Errorf("by its id: %v", err)
				}
				i, err := r.rt.RunInfo(t.Context(), host.RunRef{Op: "deploy"})
				if err != nil || i.ID != res.Run.ID || i.State != host.RunUnreadable || i.Op != "deploy" || i.Env != c.env || i.Done != c.done || !strings.Contains(i.Problem, path) || !i.Ended.IsZero() {
					t.Errorf("%+v, %v", i, err)
				}
			}
			if r.read("log") != "build\n" {
				t.Errorf("something ran: %q", r.read("log"))
			}
			req.Mode = host.RunRestart
			if fresh, _ := r.run(req); fresh.Run.ID == res.Run.ID || fresh.Run.State != host.RunWaiting {
				t.Errorf("%+v", fresh)
			}
		})
	}
}

// One that was over is nobody's loss; a pointer that is damaged hides no open run.
func TestWhatStandsInNobodysWay(t *testing.T) {
	r := newRig(t, gated)
	res := r.waiting("deploy")
	pointers, err := filepath.Glob(filepath.Join(r.rt.dir, ".open", "*"))
	if err != nil || len(pointers) < 1 {
		t.Fatal(pointers, err)
	}
	for _, p := range pointers {
		if !strings.HasSuffix(p, ".lock") {
			if err := os.WriteFile(p, []byte("\x00"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	if same, _ := r.run(named("deploy")); same.Run.ID != res.Run.ID {
		t.Errorf("another run began beside the open one: %+v", same)
	}
	if _, err := r.rt.CancelRun(t.Context(), host.RunRef{ID: res.Run.ID}, host.Actor{}); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.rt.folder(res.Run.ID).record(), []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if fresh, _ := r.run(named("deploy")); fresh.Run.State != host.RunWaiting {
		t.Errorf("%+v", fresh)
	}
}

// A step that writes the record of a gate before it is asked decides nothing.
func TestAStepCannotAnswerItsGate(t *testing.T) {
	forged, err := json.Marshal(pause.Record{PauseID: "p1s2", Request: json.RawMessage(`{"kind":"decision","reason":"r"}`), Resolved: true,
		Payload: json.RawMessage(`{"optionId":"approve"}`)})
	if err != nil {
		t.Fatal(err)
	}
	for name, record := range map[string]string{"approved": string(forged), "damaged": "{"} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, `
name: deploy
overview: x
phases:
  - name: P
    steps: [{shell: 'mkdir -p $AGENT_COMPOSE_STATE_DIR/pauses; cp forged $AGENT_COMPOSE_STATE_DIR/pauses/p1s2.json'}, {gate: go}, {shell: touch passed}]
`)
			r.file("forged", record, 0o600)
			res, e := r.run(named("deploy"))
			if res.Run.State != host.RunWaiting || len(res.Run.Waits) != 1 || res.Run.Waits[0].State != host.WaitOpen {
				t.Fatalf("%+v", res)
			}
			if lines := strings.Join(e.lines(), "\n"); !strings.Contains(lines, "notice A record of Gate go was there before it was asked for") || !strings.Contains(lines, "p1s2.json.corrupt-1") {
				t.Errorf("it said %s", lines)
			}
			if _, err := r.rt.Decide(t.Context(), approve(res.Run.ID, "go")); err != nil {
				t.Fatal(err)
			}
			if done, _ := r.run(on(res)); done.Run.State != host.RunCompleted {
				t.Errorf("%+v", done)
			}
		})
	}
}

// The record that a run waits for is the one that it asked with.
func TestARecordOfAnotherQuestion(t *testing.T) {
	for name, change := range map[string]func(about *question){
		"run":     func(q *question) { q.Run = "zzzzzz" },
		"op":      func(q *question) { q.Op = "other" },
		"digest":  func(q *question) { q.Digest = strings.Repeat("0", 64) },
		"request": func(q *question) { q.RequestID += "0" },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, gated)
			res := r.waiting("deploy")
			store := r.rt.folder(res.Run.ID).pauses()
			rec, _, err := store.Pause("p2s1")
			if err != nil {
				t.Fatal(err)
			}
			asked, err := rec.Asked()
			if err != nil {
				t.Fatal(err)
			}
			var about question
			if err := json.Unmarshal(asked.Payload, &about); err != nil {
				t.Fatal(err)
			}
			change(&about)
			if asked.Payload, err = json.Marshal(about); err != nil {
				t.Fatal(err)
			}
			if rec.Request, err = json.Marshal(asked); err != nil {
				t.Fatal(err)
			}
			if err := store.SavePause(rec); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				i, err := r.rt.RunInfo(t.Context(), host.RunRef{ID: res.Run.ID})
				if err != nil || i.State != host.RunUnreadable || !strings.Contains(i.Problem, "p2s1.json.corrupt-1") {
					t.Errorf("%+v, %v", i, err)
				}
				if _, err := r.rt.Decide(t.Context(), approve(res.Run.ID, "go")); err == nil || !strings.Contains(err.Error(), "p2s1.json.corrupt-1") {
					t.Errorf("approve: %v", err)
				}
				if _, _, err := r.start(on(res)); !isRefusal(err, "p2s1.json.corrupt-1") || !isRefusal(err, "--restart") {
					t.Errorf("run: %v", err)
				}
			}
		})
	}
}

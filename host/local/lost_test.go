package local

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/host"
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

// copyOf is the copy of a question, as steps are given it.
func (r *rig) copyOf(id, key string) string {
	return filepath.Join(r.rt.folder(id).pauses().Root(), "pauses", key+".json")
}

// forge is what a step may make of the copy of a question: a decision, with any name
// and any time.
func forge(t testing.TB, text []byte, option string, expired bool) []byte {
	t.Helper()
	var rec map[string]any
	if err := json.Unmarshal(text, &rec); err != nil {
		t.Fatal(err)
	}
	rec["resolved"], rec["expired"] = true, expired
	rec["resumePayload"] = map[string]any{"optionId": option, "resolvedBy": "alice", "client": "zed", "at": time.Now().Add(time.Hour), "answer": true}
	if payload, ok := rec["request"].(map[string]any)["payload"].(map[string]any); ok {
		rec["resumePayload"].(map[string]any)["digest"] = payload["digest"]
	}
	forged, err := json.Marshal(rec)
	if err != nil {
		t.Fatal(err)
	}
	return forged
}

// Whatever stands in the copy of a question, it decides nothing, hides nothing and
// changes nothing of what is asked.
func TestTheCopyOfAQuestionSaysNothing(t *testing.T) {
	for name, change := range map[string]func(text []byte) []byte{
		"approved":         func(text []byte) []byte { return forge(t, text, "approve", false) },
		"rejected":         func(text []byte) []byte { return forge(t, text, "reject", false) },
		"expired":          func(text []byte) []byte { return forge(t, text, "", true) },
		"damaged":          func([]byte) []byte { return []byte("{") },
		"gone":             func([]byte) []byte { return nil },
		"another question": func(text []byte) []byte { return []byte(strings.Replace(string(text), "Ship it?", "Is it Friday?", 1)) },
		"another time": func(text []byte) []byte {
			return []byte(strings.Replace(string(text), `"ttlMs":172800000`, `"ttlMs":1`, 1))
		},
		"another request": func(text []byte) []byte { return []byte(strings.Replace(string(text), ".p2s1.", ".p2s1.0", 1)) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, gated)
			res := r.waiting("deploy")
			asked := res.Run.Waits[0]
			path := r.copyOf(res.Run.ID, "p2s1")
			own, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			put := func(text []byte) {
				t.Helper()
				if string(text) == string(own) {
					t.Fatal("nothing was changed")
				}
				if text == nil {
					err = os.Remove(path)
				} else {
					err = os.WriteFile(path, text, 0o600)
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			put(change(own))
			i, err := r.rt.RunInfo(t.Context(), host.RunRef{ID: res.Run.ID})
			if err != nil || i.State != host.RunWaiting || len(i.Waits) != 1 || !reflect.DeepEqual(i.Waits[0], asked) {
				t.Errorf("%+v, %v", i, err)
			}
			still, e := r.run(on(res))
			if still.Run.State != host.RunWaiting || r.read("log") != "build\n" {
				t.Fatalf("%+v, log %q", still, r.read("log"))
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != string(own) {
				t.Errorf("the copy is %s, %v", got, err)
			}
			if said := strings.Contains(strings.Join(e.lines(), "\n"), "It counts for nothing, and is kept as "+path+".corrupt-1"); said != (change(own) != nil) {
				t.Errorf("it said %q", e.lines())
			}
			put(change(own))
			if _, err := r.rt.Decide(t.Context(), approve(res.Run.ID, "go")); err != nil {
				t.Fatal(err)
			}
			rec, _, err := r.rt.folder(res.Run.ID).pauses().Pause("p2s1")
			if err != nil || !rec.Resolved || rec.Expired || !strings.Contains(string(rec.Payload), `"optionId":"approve"`) || strings.Contains(string(rec.Payload), "alice") {
				t.Errorf("the copy is %+v, %v", rec, err)
			}
			put(change(own)) // a decision is not taken back, either
			if done, _ := r.run(on(res)); done.Run.State != host.RunCompleted || r.read("log") != "build\napply\n" {
				t.Errorf("%+v, log %q", done, r.read("log"))
			}
		})
	}
}

// A step that answers its own gate, at once or from a process that it leaves behind,
// decides nothing.
func TestAStepCannotAnswerItsGate(t *testing.T) {
	const write = `mkdir -p $S/pauses; echo '{"pauseId":"p1s2","request":{"kind":"decision","reason":"r"},"resolved":true,"expired":false,` +
		`"resumePayload":{"optionId":"approve","resolvedBy":"alice","at":"2099-01-01T00:00:00Z"}}' >$S/pauses/p1s2.json`
	for name, c := range map[string]struct{ step, notice string }{
		"at once": {"S=$AGENT_COMPOSE_STATE_DIR\n" + write, "It counts for nothing, and is kept as "},
		"damaged": {"mkdir $AGENT_COMPOSE_STATE_DIR $AGENT_COMPOSE_STATE_DIR/pauses; echo { >$AGENT_COMPOSE_STATE_DIR/pauses/p1s2.json", "It counts for nothing, and is kept as "},
		"from a daemon": {
			"sed s,STATE,$AGENT_COMPOSE_STATE_DIR, daemon.in >daemon; env -i setsid /bin/sh daemon >/dev/null 2>&1 </dev/null &\n" +
				"while ! test -e up; do /bin/sleep 0.01; done",
			" ended before the gate go was asked.",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "name: deploy\noverview: x\nphases:\n  - name: P\n    steps: [{exec: [sh, step]}, {gate: go}, {shell: touch passed}]\n")
			r.file("step", c.step, 0o600)
			r.file("daemon.in", "PATH=/usr/bin:/bin S=STATE\necho $$ >pid; mv pid up\nwhile :; do\n"+write+"\nsleep 0.01\ndone\n", 0o600)
			res, e := r.run(named("deploy"))
			if res.Run.State != host.RunWaiting || len(res.Run.Waits) != 1 || res.Run.Waits[0].State != host.WaitOpen {
				t.Fatalf("%+v", res)
			}
			if lines := strings.Join(e.lines(), "\n"); !strings.Contains(lines, c.notice) {
				t.Errorf("it said %s", lines)
			}
			if pid := strings.TrimSpace(r.read("up")); pid != "" {
				if text, err := os.ReadFile("/proc/" + pid + "/cmdline"); err == nil && strings.Contains(string(text), "daemon") {
					t.Errorf("the process %s is still there", pid)
				}
			}
			if still, _ := r.run(on(res)); still.Run.State != host.RunWaiting || r.read("passed") != "" {
				t.Fatalf("%+v", still)
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

// What only leaves its group, and is not asked about, goes on: a gate ends it, and
// the end of a run does not.
func TestWhatAStepLeavesBehind(t *testing.T) {
	r := newRig(t, "name: deploy\noverview: x\nphases: [{name: P, steps: [{exec: [sh, step]}, {shell: 'kill -0 $(cat up)'}]}]\n")
	r.file("step", "env -i setsid /bin/sh -c 'echo $$ >pid; mv pid up; exec /bin/sleep 999' >/dev/null 2>&1 </dev/null &\nwhile ! test -e up; do /bin/sleep 0.01; done", 0o600)
	if res, e := r.run(named("deploy")); res.Run.State != host.RunCompleted {
		t.Errorf("%+v, %q", res, e.lines())
	}
	pid, err := strconv.Atoi(strings.TrimSpace(r.read("up")))
	if err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
		t.Errorf("it was ended: %v", err)
	}
}

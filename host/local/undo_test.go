package local

import (
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/host"
)

// undoing is an Op whose second step, and second step of its compensation, wait for
// a file: without it they can be stopped.
const undoing = `
name: ship
overview: x
phases:
  - name: P
    steps:
      - shell: echo one >> log
      - shell: 'echo two >> log; test -e go || { echo up; exec sleep 999; }'
      - shell: echo three >> log
onFailure:
  - name: Last
    steps: [{shell: echo undo3 >> log}]
  - name: First
    steps:
      - shell: echo undo1 >> log
      - shell: 'echo undo2 >> log; test -e go2 || { echo up; exec sleep 999; }'
`

// person is a request as a person types it.
func person(req host.OpRequest, mode host.RunMode) host.OpRequest {
	req.Mode, req.Actor.Person = mode, true
	return req
}

// stopIn runs a request until a step prints, and stops it there.
func (r *rig) stopIn(req host.OpRequest, why host.Stop) host.OpResult {
	r.t.Helper()
	up := make(chan struct{})
	req.Events = func(ev host.OpEvent) {
		if _, ok := ev.(*host.StepOutput); ok {
			close(up)
		}
	}
	run, _, err := r.start(req)
	if err != nil {
		r.t.Fatal(err)
	}
	<-up
	run.Stop(why)
	res := run.Wait()
	if res.Err != nil {
		r.t.Fatal(res.Err)
	}
	return res
}

func (r *rig) refused(req host.OpRequest, part string) {
	r.t.Helper()
	before := r.read("log")
	if _, _, err := r.start(req); !isRefusal(err, part) {
		r.t.Errorf("got %v, want %q", err, part)
	}
	if after := r.read("log"); after != before {
		r.t.Errorf("refused, and steps ran: %q", after)
	}
}

// undoStates are the states of the steps of a compensation.
func undoStates(i host.RunInfo) string {
	var states []string
	for _, s := range i.Compensation {
		states = append(states, s.Title[:len("echo undoN")]+"="+string(s.State))
	}
	return strings.Join(states, " ")
}

// A run that was cancelled or interrupted is undone once, because a person says so.
func TestUndo(t *testing.T) {
	for name, why := range map[string]host.Stop{"cancelled": host.StopCancelled, "interrupted": host.StopLeaving} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, undoing)
			r.file("go2", "", 0o600)
			res := r.stopIn(named("ship"), why)
			id := res.Run.ID
			info, err := r.rt.RunInfo(t.Context(), host.RunRef{ID: id})
			for _, i := range []host.RunInfo{res.Run, info} {
				if err != nil || string(i.State) != name || len(i.NotUndone) != 2 || !strings.Contains(i.Step, "echo two") ||
					i.Undo != "run undo ship --run "+id || i.Resume != "run ship --run "+id+" --resume" || i.Compensation != nil {
					t.Errorf("%+v, %v", i, err)
				}
			}
			program := named("ship")
			program.Mode = host.RunUndo
			r.refused(program, "Only a person")
			done, e := r.run(person(named("ship"), host.RunUndo))
			if done.Run.ID != id || done.Run.State != host.RunFailed || done.Run.UndoneBy == "" || done.Failed != nil || len(done.Run.NotUndone) != 0 ||
				undoStates(done.Run) != "echo undo1=completed echo undo2=completed echo undo3=completed" {
				t.Errorf("%+v", done)
			}
			if got := r.read("log"); got != "one\ntwo\nundo1\nundo2\nundo3\n" {
				t.Errorf("log %q", got)
			}
			if want := "P=" + map[string]string{"cancelled": "cancelled", "interrupted": "interrupted"}[name] + " First=completed Last=completed"; e.plan() != want {
				t.Errorf("plan %s, want %s", e.plan(), want)
			}
			r.open()
			r.refused(person(named("ship"), host.RunUndo), "ran before, and is not run again: 3 of its 3 steps completed")
			r.refused(person(on(res), host.RunResume), "is over: it is failed")
		})
	}
}

// What was cancelled goes on with the step in which it stopped.
func TestResumeAfterCancel(t *testing.T) {
	r := newRig(t, undoing)
	res := r.stopIn(named("ship"), host.StopCancelled)
	program := on(res)
	program.Mode = host.RunResume
	r.refused(program, "Only a person")
	r.refused(on(res), "run undo ship --run "+res.Run.ID)
	r.file("go", "", 0o600)
	r.open()
	done, _ := r.run(person(named("ship"), host.RunResume))
	if done.Run.ID != res.Run.ID || done.Run.State != host.RunCompleted || r.read("log") != "one\ntwo\ntwo\nthree\n" {
		t.Errorf("%+v, log %q", done, r.read("log"))
	}
	r.refused(person(on(res), host.RunUndo), "is completed: what it did stays")
}

// A run that was cancelled while it waited waits again, for the same.
func TestResumeAtAGate(t *testing.T) {
	r := newRig(t, gated)
	res := r.waiting("deploy")
	r.refused(person(on(res), host.RunUndo), "waits. Reject its gate")
	if _, err := r.rt.CancelRun(t.Context(), host.RunRef{ID: res.Run.ID}, host.Actor{}); err != nil {
		t.Fatal(err)
	}
	if _, err := r.rt.Decide(t.Context(), approve(res.Run.ID, "go")); !isRefusal(err, "is over: it is cancelled") {
		t.Errorf("a gate of a run that was cancelled is decided: %v", err)
	}
	again, _ := r.run(person(on(res), host.RunResume))
	if again.Run.State != host.RunWaiting || again.Run.Waits[0].RequestID != res.Run.Waits[0].RequestID {
		t.Fatalf("%+v", again)
	}
	if _, err := r.rt.Decide(t.Context(), approve(res.Run.ID, "go")); err != nil {
		t.Fatal(err)
	}
	if done, _ := r.run(on(res)); done.Run.State != host.RunCompleted {
		t.Errorf("%+v", done)
	}
}

// A compensation that was stopped counts all of its steps, and goes on where it was:
// no step of it is repeated unless a person says so.
func TestStoppedCompensation(t *testing.T) {
	for _, why := range []host.Stop{host.StopCancelled, host.StopLeaving} {
		for _, failed := range []bool{true, false} { // or undone
			r := newRig(t, strings.Replace(undoing, "echo three >> log", "echo three >> log; exit 3", 1))
			begin := named("ship")
			if failed {
				r.file("go", "", 0o600)
			} else {
				r.stopIn(named("ship"), host.StopCancelled)
				begin = person(named("ship"), host.RunUndo)
			}
			res := r.stopIn(begin, why)
			state := map[host.Stop]string{host.StopCancelled: "cancelled", host.StopLeaving: "interrupted"}[why]
			info, err := r.rt.RunInfo(t.Context(), host.RunRef{ID: res.Run.ID})
			for _, i := range []host.RunInfo{res.Run, info} {
				if err != nil || string(i.State) != state || i.Undo != "" || i.Resume == "" ||
					undoStates(i) != "echo undo1=completed echo undo2="+state+" echo undo3=pending" {
					t.Errorf("%+v, %v", i, err)
				}
			}
			r.open()
			r.refused(person(on(res), host.RunUndo), "1 of its 3 steps completed. It stopped in the step echo undo2")
			program := on(res)
			program.Mode = host.RunResume
			r.refused(program, "Only a person")
			r.file("go2", "", 0o600)
			before := r.read("log")
			done, _ := r.run(person(named("ship"), host.RunResume))
			if done.Run.State != host.RunFailed || (done.Run.UndoneBy == "") != failed || r.read("log") != before+"undo2\nundo3\n" ||
				undoStates(done.Run) != "echo undo1=completed echo undo2=completed echo undo3=completed" {
				t.Errorf("%+v, log %q", done, r.read("log"))
			}
		}
	}
}

func TestUndoIsRefused(t *testing.T) {
	r := newRig(t, undoing, "name: bare\noverview: x\nphases: [{name: P, steps: [{shell: 'echo up; exec sleep 999'}]}]\n",
		"name: early\noverview: x\nphases: [{name: P, steps: [{gate: go}]}]\nonFailure: [{name: U, steps: [{shell: echo undone >> log}]}]\n")
	undo := func(op string) host.OpRequest { return person(named(op), host.RunUndo) }
	r.refused(undo("ship"), "There is no run of ship")
	r.stopIn(named("bare"), host.StopCancelled)
	r.refused(undo("bare"), "has no compensation (onFailure)")
	early, _ := r.run(named("early"))
	if _, err := r.rt.CancelRun(t.Context(), host.RunRef{ID: early.Run.ID}, host.Actor{}); err != nil {
		t.Fatal(err)
	}
	r.refused(undo("early"), "No step of the run")

	first := r.stopIn(named("ship"), host.StopCancelled)
	dev := named("ship")
	dev.Ref.Env = "dev"
	other := r.stopIn(dev, host.StopCancelled)
	r.refused(undo("ship"), "More than one run fits")
	r.op(strings.Replace(undoing, "echo undo1", "echo other", 1))
	r.refused(person(on(other), host.RunUndo), "The run can't be undone: the Op ship is not what it was")
	r.refused(person(on(other), host.RunResume), "The run can't be resumed: the Op ship is not what it was")
	r.op(undoing)
	second := r.stopIn(named("ship"), host.StopCancelled)
	r.refused(person(on(first), host.RunUndo), second.Run.ID+" of ship was begun after the run "+first.Run.ID)
	r.refused(person(on(first), host.RunResume), "was begun after the run")
	if i, err := r.rt.RunInfo(t.Context(), host.RunRef{ID: first.Run.ID}); err != nil || i.Undo+i.Resume != "" {
		t.Errorf("a line is shown that would be refused: %+v, %v", i, err)
	}
}

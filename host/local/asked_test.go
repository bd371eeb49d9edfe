package local

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/host"
)

// shipped has two gates, with a step before, between and behind them.
const shipped = `
name: deploy
overview: Deploys
phases:
  - name: Plan
    steps: [{shell: "test -e plan.out || echo plan > plan.out"}]
  - name: Approve
    steps:
      - {gate: go, bind: ["k8s/**"], evidence: [plan.out]}
      - {shell: "./scripts/first plan.out"}
      - {exec: [./scripts/ship, "plan.out"]}
  - name: Last
    steps:
      - {gate: last}
      - {exec: [announce]}
`

// newShipped is a project with what shipped names; every program writes its name
// into the log.
func newShipped(t *testing.T) *rig {
	r := newRig(t, shipped)
	for name, path := range map[string]string{"first": "scripts/first", "ship": "scripts/ship", "announce": "tools/announce"} {
		r.file(path, "#!/bin/sh\necho "+name+" >> log\n", 0o755)
	}
	r.file("k8s/app/web.yaml", "one", 0o644)
	r.env = append(r.env, "PATH="+filepath.Join(r.root, "front")+":"+filepath.Join(r.root, "tools")+":"+os.Getenv("PATH"))
	r.open()
	return r
}

// approves says yes to the gate that the run waits at.
func (r *rig) approves(id, gate string) {
	r.t.Helper()
	if _, err := r.rt.Decide(r.t.Context(), approve(id, gate)); err != nil {
		r.t.Fatal(err)
	}
}

// What an approval is for is compared before each start: what changed is named, the
// approval is void, and putting the file back does not bring it back.
func TestAnApprovalIsForBytes(t *testing.T) {
	const script = "#!/bin/sh\necho other >> log\n"
	for name, c := range map[string]struct {
		path, text, says string
		mode             os.FileMode
	}{
		"the program of a later step": {"scripts/ship", script, "scripts/ship changed at ", 0o755},
		"a word of a shell step":      {"scripts/first", script, "scripts/first changed at ", 0o755},
		"a file that an argv names":   {"plan.out", "another plan\n", "plan.out changed at ", 0o644},
		"a bound file":                {"k8s/app/web.yaml", "two", "k8s/app/web.yaml changed at ", 0o644},
		"a new bound file":            {"k8s/new.yaml", "two", "k8s/new.yaml is new at ", 0o644},
	} {
		t.Run(name, func(t *testing.T) {
			r := newShipped(t)
			res := r.waiting("deploy")
			asked := res.Run.Waits[0]
			before, err := os.ReadFile(filepath.Join(r.root, c.path))
			there := err == nil
			r.approves(res.Run.ID, "go")
			r.file(c.path, c.text, c.mode)
			i, err := r.rt.RunInfo(t.Context(), host.RunRef{ID: res.Run.ID})
			if err != nil || !strings.Contains(i.Waits[0].Void, c.says) {
				t.Errorf("run status says %q, %v, want %q", i.Waits[0].Void, err, c.says)
			}
			void, e := r.run(on(res))
			if void.Run.State != host.RunWaiting || r.read("log") != "" {
				t.Fatalf("%+v, log %q", void, r.read("log"))
			}
			lines := strings.Join(e.lines(), "\n")
			if !strings.Contains(lines, "notice The approval of the gate go by ") || !strings.Contains(lines, c.says) || !strings.Contains(lines, ", after the question. It is asked anew.") {
				t.Errorf("it said\n%s\nwant %q", lines, c.says)
			}
			again := void.Run.Waits[0]
			if again.RequestID == asked.RequestID || again.Digest == asked.Digest || again.State != host.WaitOpen {
				t.Errorf("it was not asked anew: %+v, then %+v", asked, again)
			}
			if there {
				r.file(c.path, string(before), c.mode)
			} else if err := os.Remove(filepath.Join(r.root, c.path)); err != nil {
				t.Fatal(err)
			}
			back, _ := r.run(on(res))
			if back.Run.State != host.RunWaiting || r.read("log") != "" || back.Run.Waits[0].State != host.WaitOpen {
				t.Fatalf("what was put back brought the approval back: %+v", back)
			}
			r.approves(res.Run.ID, "go@"+back.Run.Waits[0].Digest)
			done, _ := r.run(on(res))
			if done.Run.State != host.RunWaiting || done.Run.Waits[0].Name != "last" || r.read("log") != "first\nship\n" {
				t.Errorf("%+v, log %q", done, r.read("log"))
			}
		})
	}
}

// An approval of what is not there any more is refused, with what changed and with
// the line that asks anew.
func TestWhatChangedBeforeTheDecision(t *testing.T) {
	r := newShipped(t)
	res := r.waiting("deploy")
	r.file("scripts/ship", "#!/bin/sh\nrm -rf /\n", 0o755)
	_, err := r.rt.Decide(t.Context(), approve(res.Run.ID, "go"))
	if !isRefusal(err, "An approval would be void: scripts/ship changed at ") || !isRefusal(err, "run deploy --run "+res.Run.ID) {
		t.Errorf("got %v", err)
	}
	if _, err := r.rt.Decide(t.Context(), approve(res.Run.ID, "go@0000")); !isRefusal(err, "asks about "+res.Run.Waits[0].Digest+", and not about 0000") {
		t.Errorf("another digest: %v", err)
	}
	again, e := r.run(on(res))
	if lines := strings.Join(e.lines(), "\n"); !strings.Contains(lines, "notice The gate go is asked anew: scripts/ship changed at ") {
		t.Errorf("it said\n%s", lines)
	}
	if _, err := r.rt.Decide(t.Context(), host.GateAnswer{Request: res.Run.Waits[0].RequestID, Approve: true}); err == nil {
		t.Error("the old question was answered")
	}
	r.approves(res.Run.ID, "go@"+again.Run.Waits[0].Digest)
}

// A step that changes what a later one runs does not pass it under the approval
// that came before; what is done is not done again.
func TestBetweenTwoSteps(t *testing.T) {
	r := newShipped(t)
	r.file("scripts/first", "#!/bin/sh\necho first >> log\necho '#' >> scripts/ship\n", 0o755)
	res := r.waiting("deploy")
	r.approves(res.Run.ID, "go")
	again, e := r.run(on(res))
	if again.Run.State != host.RunWaiting || again.Run.Waits[0].Name != "go" || r.read("log") != "first\n" {
		t.Fatalf("%+v, log %q", again, r.read("log"))
	}
	if lines := strings.Join(e.lines(), "\n"); !strings.Contains(lines, "scripts/ship changed at ") {
		t.Errorf("it said\n%s", lines)
	}
	r.open() // another process
	r.approves(res.Run.ID, "go")
	done, _ := r.run(on(res))
	if done.Run.State != host.RunWaiting || done.Run.Waits[0].Name != "last" || r.read("log") != "first\nship\n" {
		t.Errorf("%+v, log %q", done, r.read("log"))
	}
}

// PATH is resolved when it is asked: what comes in front later is seen.
// Of many steps behind a gate those that come next are compared before each start: a
// difference that only a later one sees voids the approval before that one starts.
func TestBetweenManySteps(t *testing.T) {
	var steps strings.Builder
	for i := range 2 * stepsAhead {
		command := fmt.Sprintf("echo %d >> log", i)
		if i == 0 {
			command += "; echo changed > data"
		}
		if i == 2*stepsAhead-1 {
			command = "cat data > taken"
		}
		fmt.Fprintf(&steps, "      - shell: %q\n", command)
	}
	r := newRig(t, "name: deploy\noverview: x\nphases:\n  - name: P\n    steps:\n      - gate: go\n"+steps.String())
	r.file("data", "was", 0o600)
	res := r.waiting("deploy")
	if _, err := r.rt.Decide(t.Context(), approve(res.Run.ID, "go")); err != nil {
		t.Fatal(err)
	}
	again, e := r.run(on(res))
	if again.Run.State != host.RunWaiting || r.read("taken") != "" || !strings.Contains(strings.Join(e.lines(), "\n"), "is void: data changed") {
		t.Errorf("%+v\n%s", again, strings.Join(e.lines(), "\n"))
	}
	if ran := strings.Count(r.read("log"), "\n"); ran != stepsAhead {
		t.Errorf("%d steps ran before", ran)
	}
}

func TestAProgramInFront(t *testing.T) {
	r := newShipped(t)
	res := r.waiting("deploy")
	r.approves(res.Run.ID, "go")
	last, _ := r.run(on(res))
	r.approves(res.Run.ID, "last")
	r.file("front/announce", "#!/bin/sh\necho mine >> log\n", 0o755)
	void, e := r.run(on(res))
	want := fmt.Sprintf("the program announce is %s now, and was %s, after the question", filepath.Join(r.root, "front/announce"), filepath.Join(r.root, "tools/announce"))
	if lines := strings.Join(e.lines(), "\n"); void.Run.State != host.RunWaiting || !strings.Contains(lines, want) {
		t.Errorf("%s, it said\n%s\nwant %s", void.Run.State, lines, want)
	}
	if r.read("log") != "first\nship\n" || last.Run.Waits[0].Name != "last" {
		t.Errorf("log %q", r.read("log"))
	}
}

// A question shows what it is about.
func TestWhatAGateShows(t *testing.T) {
	r := newShipped(t)
	res := r.waiting("deploy")
	w := res.Run.Waits[0]
	same(t, "steps", w.Steps, []string{"./scripts/first plan.out", "./scripts/ship plan.out"})
	const sum = "1b4025dc7b8d27cf38df85e77b20ed44a00851a2c28b338560560d85deded8e3" // printf 'plan\n' | sha256sum
	if len(w.Evidence) != 1 || w.Evidence[0].Path != "plan.out" || w.Evidence[0].Size != 5 || w.Evidence[0].SHA256 != sum || w.Evidence[0].Lacks != "" {
		t.Errorf("evidence %+v", w.Evidence)
	}
	r.approves(res.Run.ID, "go")
	last, _ := r.run(on(res))
	same(t, "steps behind the last gate", last.Run.Waits[0].Steps, []string{"announce"})
}

// What a journal names is what the question's file holds, or else the approval is
// void.
func TestAQuestionThatSaysSomethingElse(t *testing.T) {
	for name, change := range map[string]func(path string) error{
		"gone":      os.Remove,
		"damaged":   func(path string) error { return os.WriteFile(path, []byte("{"), 0o600) },
		"another's": func(path string) error { return os.WriteFile(path, []byte(`{"subject":{"parts":[]}}`), 0o600) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newShipped(t)
			res := r.waiting("deploy")
			r.approves(res.Run.ID, "go")
			files, err := filepath.Glob(filepath.Join(r.state, "*", res.Run.ID, "asked-*.json"))
			if err != nil || len(files) != 1 {
				t.Fatalf("%q, %v", files, err)
			}
			if err := change(files[0]); err != nil {
				t.Fatal(err)
			}
			void, e := r.run(on(res))
			if lines := strings.Join(e.lines(), "\n"); void.Run.State != host.RunWaiting || !strings.Contains(lines, "can't be read any more") {
				t.Errorf("%s, it said\n%s", void.Run.State, lines)
			}
			if r.read("log") != "" {
				t.Errorf("log %q", r.read("log"))
			}
		})
	}
}

// Gates of a parallel phase let run what comes after it, all of them.
func TestGatesSideBySide(t *testing.T) {
	r := newRig(t, `
name: deploy
overview: Deploys
phases:
  - name: Both
    parallel: true
    steps: [{gate: one}, {gate: two}]
  - name: Ship
    parallel: true
    steps: [{shell: cat a >> log}, {shell: cat b >> log}]
`)
	r.file("a", "a\n", 0o644)
	r.file("b", "b\n", 0o644)
	res, _ := r.run(named("deploy"))
	if len(res.Run.Waits) != 2 {
		t.Fatalf("%+v", res.Run)
	}
	r.approves(res.Run.ID, "one")
	r.approves(res.Run.ID, "two")
	r.file("b", "c\n", 0o644)
	void, _ := r.run(on(res))
	if void.Run.State != host.RunWaiting || len(void.Run.Waits) != 2 || r.read("log") != "" {
		t.Fatalf("%+v, log %q", void.Run, r.read("log"))
	}
	r.approves(res.Run.ID, "one")
	r.approves(res.Run.ID, "two")
	if done, _ := r.run(on(res)); done.Run.State != host.RunCompleted {
		t.Errorf("%+v, log %q", done.Run, r.read("log"))
	}
}

// Whatever is done between questions and starts, in whatever order: nothing runs
// but what the last approval was asked about.
func TestOnlyWhatWasAskedAboutRuns(t *testing.T) {
	const text = `
name: deploy
overview: Deploys
phases:
  - name: Ship
    steps: [{gate: go}, {shell: cat a >> log}, {shell: cat b >> log}]
`
	for seed := range uint64(12) {
		random := rand.New(rand.NewPCG(seed, 0))
		r := newRig(t, text)
		content := map[string]string{"a": "a0\n", "b": "b0\n"}
		for name, text := range content {
			r.file(name, text, 0o644)
		}
		res, _ := r.run(named("deploy"))
		asked := map[string]string{"a": content["a"], "b": content["b"]}
		approved, log, trace := false, "", ""
		for range 12 {
			switch random.IntN(4) {
			case 0, 1:
				name := []string{"a", "b"}[random.IntN(2)]
				content[name] = fmt.Sprintf("%s%d\n", name, random.IntN(2))
				r.file(name, content[name], 0o644)
				trace += " " + strings.TrimSpace(content[name])
			case 2:
				_, err := r.rt.Decide(t.Context(), approve(res.Run.ID, "go"))
				approved = approved || err == nil
				trace += fmt.Sprintf(" approve(%t)", err == nil)
			case 3:
				trace += " run"
				res, _ = r.run(on(res))
			}
			got := r.read("log")
			if got != log && (!approved || got != asked["a"]+asked["b"]) {
				t.Fatalf("seed %d:%s: it ran %q, approved %t, and asked about %q", seed, trace, got, approved, asked)
			}
			log = got
			if res.Run.State != host.RunWaiting {
				break
			}
			if w := res.Run.Waits[0]; w.State == host.WaitOpen && strings.HasSuffix(trace, "run") {
				approved, asked["a"], asked["b"] = false, content["a"], content["b"]
			}
		}
	}
}

package local

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/host"
)

func TestPhasesInOrder(t *testing.T) {
	r := newRig(t, `
name: hello
overview: Says hello
phases:
  - name: Greet
    steps:
      - shell: echo one; echo two >&2
      - exec: [printf, '%s|', "a b", "$HOME", ";"]
  - name: End
    steps: [{shell: "printf end"}]
`)
	res, e := r.run(named("hello"))
	if res.Run.State != host.RunCompleted || res.Failed != nil || res.Run.Done != 3 || res.Run.Steps != 3 {
		t.Errorf("%+v", res)
	}
	if got := e.out.String(); got != "one\ntwo\na b|$HOME|;|end" {
		t.Errorf("printed %q", got)
	}
	same(t, "events", e.lines(), []string{
		"start echo one; echo two >&2 1/1", "completed echo one; echo two >&2",
		"start printf %s| 'a b' $HOME ; 1/1", "completed printf %s| 'a b' $HOME ;",
		"start printf end 1/1", "completed printf end",
	})
	if e.plan() != "Greet=completed End=completed" {
		t.Errorf("plan %s", e.plan())
	}
	var log strings.Builder
	if err := r.rt.RunLog(t.Context(), host.RunRef{ID: res.Run.ID}, true, &log); err != nil {
		t.Fatal(err)
	}
	if got := log.String(); !strings.Contains(got, "one\ntwo\n") || !strings.HasSuffix(got, "end") || !strings.Contains(got, "Greet") {
		t.Errorf("log %q", got)
	}
}

func TestFailureSkipsAndCompensates(t *testing.T) {
	r := newRig(t, `
name: failing
overview: Fails
phases:
  - name: First
    steps: [{shell: echo fine}]
  - name: Second
    steps: [{shell: "echo why >&2; exit 3"}, {shell: echo never}]
  - name: Third
    steps: [{shell: echo never too}]
onFailure:
  - name: Undo first
    steps: [{shell: echo undo first}]
  - name: Undo second
    steps: [{shell: "exit 1"}, {shell: echo skipped}]
`)
	res, e := r.run(named("failing"))
	if res.Run.State != host.RunFailed || res.Failed == nil || res.Failed.ExitCode == nil || *res.Failed.ExitCode != 3 {
		t.Fatalf("%+v", res)
	}
	same(t, "tail", res.Failed.Tail, []string{"why"})
	same(t, "events", e.lines(), []string{
		"start echo fine 1/1", "completed echo fine",
		"start echo why >&2; exit 3 1/1", "failed echo why >&2; exit 3: sh ended with exit code 3",
		"notice The Op failing failed in the step echo why >&2; exit 3. Its compensation begins.",
		"start exit 1 1/1", "failed exit 1: sh ended with exit code 1",
		"start echo undo first 1/1", "completed echo undo first",
		"skipped echo never", "skipped echo never too", "skipped echo skipped",
	})
	if e.plan() != "First=completed Second=failed Third=skipped Undo second=failed Undo first=completed" {
		t.Errorf("plan %s", e.plan())
	}
	if len(res.Compensation) != 2 || res.Failed.Step.Title != "echo why >&2; exit 3" {
		t.Errorf("%+v", res)
	}
	if i, err := r.rt.RunInfo(t.Context(), host.RunRef{ID: res.Run.ID}); err != nil || i.State != host.RunFailed || !strings.Contains(i.Failure, "exit code 3") {
		t.Errorf("%+v, %v", i, err)
	}
	if _, _, err := r.start(on(res)); !isRefusal(err, "is over: it is failed") {
		t.Errorf("a run that is over: %v", err)
	}
	again, _ := r.run(named("failing"))
	if again.Run.ID == res.Run.ID {
		t.Error("the failed run was taken up again")
	}
}

func isRefusal(err error, part string) bool {
	var refusal *host.OpRefusal
	return errors.As(err, &refusal) && strings.Contains(refusal.Error(), part)
}

func TestEachAttemptIsSeen(t *testing.T) {
	r := newRig(t, `
name: flaky
overview: Works the third time
phases:
  - name: Try
    steps:
      - shell: 'echo x >> tries; test $(wc -l < tries) -ge 3'
        profile: longInfra
        outcomeAttribute: {name: Tries}
`)
	var waits []time.Duration
	r.rt.sleep = func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }
	res, e := r.run(named("flaky"))
	if res.Run.State != host.RunCompleted {
		t.Fatalf("%+v", res)
	}
	title := "echo x >> tries; test $(wc -l < tries) -ge 3"
	same(t, "events", e.lines(), []string{
		"start " + title + " 1/3", "retry after 30s: sh ended with exit code 1",
		"start " + title + " 2/3", "retry after 1m0s: sh ended with exit code 1",
		"start " + title + " 3/3", "completed " + title + ` [Tries=""]`,
	})
	if len(waits) != 2 || waits[0] != 30*time.Second || waits[1] != time.Minute {
		t.Errorf("waited %v", waits)
	}
}

func TestBackOffEndsWithACancel(t *testing.T) {
	r := newRig(t, `
name: flaky
overview: Never works
phases: [{name: Try, steps: [{shell: "false", profile: longInfra}]}]
onFailure: [{name: Undo, steps: [{shell: echo undone}]}]
`)
	e := &told{}
	retried := make(chan struct{})
	e.on = func(ev host.OpEvent) {
		if _, ok := ev.(*host.StepRetry); ok {
			close(retried)
		}
	}
	run, _, err := r.start(host.OpRequest{Ref: host.RunRef{Op: "flaky"}, Events: e.take})
	if err != nil {
		t.Fatal(err)
	}
	<-retried
	run.Stop(host.StopCancelled)
	res := run.Wait()
	if res.Run.State != host.RunCancelled || strings.Contains(e.out.String(), "undone") || len(res.Compensation) != 0 {
		t.Errorf("%+v", res)
	}
	if r.stateOf(res.Run.ID) != host.RunCancelled {
		t.Error("it is not recorded")
	}
}

func TestParallelStepsRunToTheirEnd(t *testing.T) {
	r := newRig(t, `
name: wide
overview: Beside each other
phases:
  - name: Both
    parallel: true
    steps:
      - shell: 'touch a; while ! test -e b; do sleep 0.01; done; printf "one\ntwo"; exit 4'
      - shell: 'touch b; while ! test -e a; do sleep 0.01; done; echo three'
  - name: After
    steps: [{shell: echo never}]
`)
	res, e := r.run(named("wide"))
	if res.Run.State != host.RunFailed {
		t.Fatalf("%+v", res)
	}
	lines := strings.Split(strings.TrimSuffix(e.out.String(), "\n"), "\n")
	if len(lines) != 3 {
		t.Fatalf("printed %q", e.out.String())
	}
	for _, line := range lines {
		if !strings.HasPrefix(line, "[touch a;") && !strings.HasPrefix(line, "[touch b;") {
			t.Errorf("a line without its step: %q", line)
		}
	}
	if !strings.Contains(e.out.String(), "three") || strings.Contains(e.out.String(), "never") {
		t.Errorf("printed %q", e.out.String())
	}
	if e.plan() != "Both=failed After=skipped" {
		t.Errorf("plan %s", e.plan())
	}
}

func TestOutcomes(t *testing.T) {
	r := newRig(t, `
name: outcomes
overview: Results
phases:
  - name: All
    steps:
      - {shell: "echo ' value '; echo noise >&2", outcomeAttribute: {name: V}}
      - {exec: [echo, x], outcomeAttribute: {name: None, from: a.b}}
`)
	_, e := r.run(named("outcomes"))
	lines := e.lines()
	if len(lines) != 4 || !strings.HasSuffix(lines[1], `[V="value"]`) || !strings.HasSuffix(lines[3], `[None=null]`) {
		t.Errorf("%q", lines)
	}
	if got := e.out.String(); !strings.Contains(got, "noise\n") || !strings.Contains(got, " value \n") {
		t.Errorf("printed %q", got)
	}
}

func TestWhatAStepSees(t *testing.T) {
	r := newRig(t, `
name: sees
overview: Prints variables
phases: [{name: P, steps: [{shell: 'echo "$CHANT_ENV|$CHANT_PARAM_RELEASE_TAG|$CHANT_CONTEXT_TICKET|$OWN|$AGENT_COMPOSE_STATE_DIR$CHANT_PARAM_LEFT$CHANT_CONTEXT_LEFT"; echo "$AGENT_COMPOSE_REQUEST_CONTEXT"', env: {OWN: own}}]}]
`)
	r.env = append(r.env, "AGENT_COMPOSE_STATE_DIR=/nowhere/at/all", "CHANT_PARAM_LEFT=over", "CHANT_CONTEXT_LEFT=over", `AGENT_COMPOSE_REQUEST_CONTEXT={"reserved":{"teamId":"t","runId":"parent","workflowId":"w","factoryId":null,"apiKeyScopes":[],"parentRunId":null},"user":{"ticket":"old","more":1}}`)
	r.open()
	req := named("sees")
	req.Ref.Env, req.Ref.Params = "prod", map[string]string{"release-tag": "v1; rm -rf $(x)"}
	req.Context = map[string]string{"ticket": "OPS-1"}
	res, e := r.run(req)
	k, err := r.rt.load(res.Run.ID)
	if err != nil {
		t.Fatal(err)
	}
	first, second, _ := strings.Cut(e.out.String(), "\n")
	if want := "prod|v1; rm -rf $(x)|OPS-1|own|" + filepath.Join(k.dir, "state"); first != want {
		t.Errorf("got  %s\nwant %s", first, want)
	}
	if want := `{"reserved":{"teamId":"","runId":"` + res.Run.ID + `","workflowId":"sees","factoryId":null,"apiKeyScopes":[],"parentRunId":null},"user":{"more":1,"ticket":"OPS-1"}}`; strings.TrimSpace(second) != want {
		t.Errorf("got  %s\nwant %s", second, want)
	}
	if lines := strings.Join(e.lines(), "\n"); res.Run.Parent != "" || !strings.HasPrefix(lines, "notice What AGENT_COMPOSE_REQUEST_CONTEXT says of a team, a run and scopes is ignored") {
		t.Errorf("a run that is none is its parent: %+v, %s", res.Run, lines)
	}
	req.Context = map[string]string{"ac__runId": "x"}
	if _, _, err := r.start(req); !isRefusal(err, "ac__") {
		t.Errorf("a reserved key: %v", err)
	}
	req.Context, req.Ref.Params = nil, map[string]string{"ac__x": "1"}
	if _, _, err := r.start(req); !isRefusal(err, "ac__") {
		t.Errorf("a reserved parameter: %v", err)
	}
}

// A step's own environment makes what it starts a child of its run, as long as
// that goes on; what can't be read is an error.
func TestTheContextOfAStepMakesAChild(t *testing.T) {
	r := newRig(t, `
name: parent
overview: x
phases: [{name: P, steps: [{shell: 'printf %s "$AGENT_COMPOSE_REQUEST_CONTEXT" > context; echo up; until test -e go; do sleep 0.01; done'}]}]
`, "name: child\noverview: x\nphases: [{name: P, steps: [{shell: 'echo $CHANT_CONTEXT_TICKET'}, {gate: go}]}]\n",
		"name: none\noverview: x\nphases: [{name: P, steps: [{shell: 'echo \"<$CHANT_ENV>\"'}]}]\n")
	up := make(chan struct{})
	run, _, err := r.start(host.OpRequest{Ref: host.RunRef{Op: "parent"}, Context: map[string]string{"ticket": "OPS-1"}, Events: func(ev host.OpEvent) {
		if _, ok := ev.(*host.StepOutput); ok {
			close(up)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	<-up
	r.env = append(r.env, "CHANT_ENV=parents", "AGENT_COMPOSE_REQUEST_CONTEXT="+r.read("context"))
	r.open()
	if res, e := r.run(named("none")); res.Run.Env != "" || e.out.String() != "<>\n" {
		t.Errorf("a run of no environment sees one: %+v, it printed %q", res.Run, e.out.String())
	}
	child, e := r.run(named("child"))
	if child.Run.Parent != run.ID() || e.out.String() != "OPS-1\n" {
		t.Errorf("%+v, it printed %q", child.Run, e.out.String())
	}
	more := named("child")
	more.Context = map[string]string{"ticket": "OPS-2"}
	if _, _, err := r.start(more); !isRefusal(err, "begun with another ticket in its context") {
		t.Errorf("another key for a run that is there: %v", err)
	}
	r.file("go", "", 0o600)
	run.Wait()
	late := named("child")
	late.Ref.Env = "later"
	if after, e := r.run(late); after.Run.Parent != "" || e.out.String() != "OPS-1\n" {
		t.Errorf("after the end of its parent: %+v, it printed %q", after.Run, e.out.String())
	}
	r.env[len(r.env)-1] = "AGENT_COMPOSE_REQUEST_CONTEXT={}"
	r.open()
	late.Ref.Env = "broken"
	if _, _, err := r.start(late); !isRefusal(err, "The variable AGENT_COMPOSE_REQUEST_CONTEXT holds no request context") {
		t.Errorf("one that is none: %v", err)
	}
}

// What stands in a file that can't read the environment is what people approve, and is
// told as it is. What a program says may be a value that nobody wrote there.
func TestTheTextOfAnOpIsToldAsItIs(t *testing.T) {
	r := newRig(t, `
name: plain
overview: Names a region
phases:
  - name: To eu-central-1
    steps:
      - {shell: 'echo eu-central-1; test -z "$TOKEN" || printf "$TOKEN"', outcomeAttribute: {name: V}}
      - {gate: go, description: Deploy to eu-central-1}
`)
	r.env = append(r.env, "REGION=eu-central-1", "TOKEN=s3cr3t-t0ken", "HERE=Deploy to")
	r.open()
	res, e := r.run(named("plain"))
	text := strings.Join(e.lines(), "\n")
	for _, want := range []string{"echo eu-central-1; test", "Deploy to eu-central-1"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not told: %s", want, text)
		}
	}
	for _, ev := range e.events {
		if p, ok := ev.(*host.OpPlan); ok && p.Phases[0].Name != "To eu-central-1" {
			t.Errorf("the phase is told as %q", p.Phases[0].Name)
		}
	}
	if strings.Contains(text, "${REGION}") || !strings.Contains(text, `[V=`) || !strings.Contains(text, "${TOKEN}") {
		t.Errorf("told: %s", text)
	}
	k, _ := r.rt.load(res.Run.ID)
	journal, err := os.ReadFile(k.folder.journal())
	if err != nil || strings.Contains(string(journal), "s3cr3t") || !strings.Contains(string(journal), "eu-central-1") {
		t.Errorf("kept: %v\n%s", err, journal)
	}
}

func TestValuesOfTheEnvironmentAreNotToldOrKept(t *testing.T) {
	r := newRig(t, `
name: secret
overview: Uses a token
phases: [{name: P, steps: [{shell: 'echo s3cr3t-t0ken > /dev/null; exit 1', outcomeAttribute: {name: V}}, {exec: [echo, "a 's3cr3t-t0ken' b"]}]}]
onFailure:
  - name: U
    steps: [{shell: 'printf s3cr3t-t0ken', outcomeAttribute: {name: V}}, {sleep: 1ms}, {kind: activity, fn: compensateApply, args: {target: kubectl, env: s3cr3t-t0ken}}]
`)
	r.env = append(r.env, "TOKEN=s3cr3t-t0ken")
	r.reads = []string{"TOKEN"}
	r.open()
	res, e := r.run(named("secret"))
	for _, line := range e.lines() {
		if strings.Contains(line, "s3cr3t") {
			t.Errorf("told: %s", line)
		}
	}
	if !strings.Contains(strings.Join(e.lines(), "\n"), "echo ${TOKEN} > /dev/null") {
		t.Errorf("told: %q", e.lines())
	}
	for _, ev := range e.events {
		if p, ok := ev.(*host.OpPlan); ok {
			for _, ph := range p.Phases {
				for _, s := range ph.Steps {
					if strings.Contains(string(s.Args)+s.Title, "s3cr3t") {
						t.Errorf("told: %s %s", s.Title, s.Args)
					}
				}
			}
		}
	}
	last := res.Compensation[len(res.Compensation)-1]
	if text := strings.Join(append(last.Warnings, last.Tail...), "\n"); !strings.Contains(text, "applied to ${TOKEN} stays") || strings.Contains(text, "s3cr3t") {
		t.Errorf("told: %s", text)
	}
	r.op("name: worse\noverview: x\nphases: [{name: P, steps: [{kind: activity, fn: nativeApply, args: {target: s3cr3t-t0ken, env: x}}]}]\n")
	if _, _, err := r.start(named("worse")); !isRefusal(err, "${TOKEN}") || strings.Contains(err.Error(), "s3cr3t") {
		t.Errorf("refused: %v", err)
	}
	k, _ := r.rt.load(res.Run.ID)
	for _, name := range []string{k.folder.record(), k.folder.journal()} {
		text, err := os.ReadFile(name)
		if err != nil || strings.Contains(string(text), "s3cr3t") {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
	}
}

// What is missing and is no Op is not offered.
func TestADependencyThatIsNoOp(t *testing.T) {
	r := newRig(t, "name: base\noverview: x\nphases: [{name: P, steps: [{shell: 'true'}]}]\n",
		"name: top\noverview: x\ndepends: [base, nosuch]\nphases: [{name: P, steps: [{shell: 'true'}]}]\n")
	_, _, err := r.start(named("top"))
	if !isRefusal(err, "There is no Op nosuch") || !isRefusal(err, "run base") || isRefusal(err, "run nosuch") {
		t.Errorf("got %v", err)
	}
}

func TestDependsAreEnforced(t *testing.T) {
	r := newRig(t, "name: base\noverview: x\nphases: [{name: P, steps: [{shell: 'true'}]}]\n",
		"name: top\noverview: x\ndepends: [base]\nphases: [{name: P, steps: [{shell: 'true'}]}]\n")
	top := named("top")
	top.Ref.Env = "prod"
	if _, _, err := r.start(top); !isRefusal(err, "run base --env prod") {
		t.Errorf("nothing ran before: %v", err)
	}
	base := named("base")
	r.run(base) // in no environment
	if _, _, err := r.start(top); !isRefusal(err, "depends on base") {
		t.Errorf("in another environment: %v", err)
	}
	base.Ref.Env = "prod"
	r.run(base)
	if res, _ := r.run(top); res.Run.State != host.RunCompleted {
		t.Errorf("%+v", res)
	}
	skip := named("top")
	skip.Ref.Env, skip.NoDepends = "dev", true
	if res, _ := r.run(skip); res.Run.State != host.RunCompleted {
		t.Errorf("%+v", res)
	}
}

func TestTimeLimit(t *testing.T) {
	r := newRig(t, "name: slow\noverview: x\nphases: [{name: P, steps: [{shell: 'sleep 999 & sleep 999'}]}]\n")
	// The limit of a profile is minutes, so it is shortened here.
	found, steps, err := r.rt.find(t.Context(), host.RunRef{Op: "slow"})
	if err != nil {
		t.Fatal(err)
	}
	steps.phases[0].steps[0].profile.StartToClose = 50 * time.Millisecond
	rec := record{Format: format, Version: version, Root: r.root, Op: "slow", Config: found.Config.Digest()}
	id := identity(r.root, "slow", "", nil)
	unlock, err := r.rt.lockIdentity(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	unlock()
	if rec.Context, _, err = r.rt.context(nil); err != nil {
		t.Fatal(err)
	}
	f, err := r.rt.create(&rec, id, firstSegment(record{}, steps, host.Actor{}), steps)
	if err != nil {
		t.Fatal(err)
	}
	e := &told{}
	again, err := r.rt.take(t.Context(), host.OpRequest{Events: e.take}, &segment{folder: f, record: rec, config: found.Config, plan: steps, fresh: true})
	if err != nil {
		t.Fatal(err)
	}
	res := again.Wait()
	if res.Run.State != host.RunFailed || !strings.Contains(res.Failed.Err, "took longer than 50ms") {
		t.Errorf("%+v", res)
	}
}

func TestWhatCannotRunIsRefusedBeforeAnythingDoes(t *testing.T) {
	for name, step := range map[string]string{
		"awsApply needs its package":     "{kind: activity, fn: awsApply, args: {templatePath: t.json}}",
		"there is no activity \"nope\"":  "{kind: activity, fn: nope}",
		"chant program":                  "{kind: activity, fn: lifecycleSnapshot, args: {env: prod}}",
		"the argument name":              "{kind: activity, fn: helmInstall, args: {chart: x}}",
		"taken for a flag":               "{kind: activity, fn: helmInstall, args: {name: --version, chart: x}}",
		"its arguments":                  "{kind: activity, fn: chantBuild, args: {path: [x]}}",
		"no address":                     "{kind: activity, fn: httpCheck, args: {url: 'file:///etc/passwd'}}",
		"deleteMode":                     "{kind: activity, fn: nativeApply, args: {target: kubectl, env: dev, deleteMode: owned-only}}",
		"@intentius/chant-lexicon-azure": "{kind: activity, fn: azApply, args: {templatePath: x}}",
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, "name: bad\noverview: x\nphases: [{name: P, steps: [{shell: touch ran}, "+step+"]}]\n")
			_, _, err := r.start(named("bad"))
			want := name
			if strings.HasPrefix(name, "awsApply") {
				want = "@intentius/chant-lexicon-aws"
			}
			if !isRefusal(err, want) {
				t.Errorf("got %v, want %q", err, want)
			}
			if r.read("ran") != "" {
				t.Error("something ran")
			}
			if runs, err := r.rt.Runs(t.Context(), host.RunQuery{}); len(runs) != 0 || err != nil {
				t.Errorf("%v, %v", runs, err)
			}
		})
	}
}

func TestOutputHasNoLimitAndNoMemory(t *testing.T) {
	r := newRig(t, "name: big\noverview: x\nphases: [{name: P, steps: [{shell: 'head -c 30000000 /dev/zero', outcomeAttribute: {name: V}}]}]\n")
	total := 0
	run, _, err := r.start(host.OpRequest{Ref: host.RunRef{Op: "big"}, Events: func(ev host.OpEvent) {
		if o, ok := ev.(*host.StepOutput); ok {
			total += len(o.Data)
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if res := run.Wait(); res.Err != nil || res.Run.State != host.RunCompleted || total < 30000000 {
		t.Errorf("%d bytes, %+v", total, res)
	}
}

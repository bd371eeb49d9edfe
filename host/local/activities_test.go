package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chant-acp/chant-acp/host"
	"github.com/chant-acp/chant-acp/host/local/activity"
)

// fake puts a program on PATH that writes its name and arguments to calls, one
// call a line, each argument in <>, and then runs a script.
func (r *rig) fake(name, script string) {
	r.t.Helper()
	r.file("bin/"+name, "#!/bin/sh\n{ printf "+name+"; printf ' <%s>' \"$@\"; echo; } >> '"+r.root+"/calls'\n"+script+"\n", 0o755)
}

// step is an Op of one activity, as JSON that is YAML.
func activityOp(fn, args, more string) string {
	return fmt.Sprintf("name: one\noverview: x\nphases: [{name: P, steps: [{kind: activity, fn: %s, args: %s%s}]}]\n", fn, args, more)
}

func TestActivitiesAsWords(t *testing.T) {
	for _, c := range []struct {
		fn, args string
		calls    []string
	}{
		{"chantBuild", `{path: sub}`, []string{"npm <run> <build>"}},
		{"chantBuild", `{path: sub, script: "build:fly; x"}`, []string{"npm <run> <build:fly; x>"}},
		{"chantTeardown", `{path: sub}`, []string{"npm <run> <teardown>"}},
		{"lifecycleSnapshot", `{env: "a b; c"}`, []string{"chant <lifecycle> <snapshot> <a b; c>"}},
		{"lifecycleDiff", `{env: prod, live: true}`, []string{"chant <lifecycle> <diff> <prod> <--live>"}},
		{"helmInstall", `{name: web, chart: ./c, namespace: "n s", values: v.yaml, set: {b: "x y", a: 1}}`,
			[]string{"helm <upgrade> <--install> <--wait> <web> <./c> <--namespace> <n s> <--create-namespace> <-f> <v.yaml> <--set> <a=1> <--set> <b=x y>"}},
		{"waitForStack", `{name: api, namespace: ns, context: ctx}`,
			[]string{"kubectl <rollout> <status> <deployment/api> <-n> <ns> <--context> <ctx> <--timeout=30s>"}},
		{"nativeApply", `{target: cloudformation, env: "my stack"}`,
			[]string{"aws <cloudformation> <deploy> <--template-file> <template.json> <--stack-name> <my stack> <--capabilities> <CAPABILITY_NAMED_IAM>"}},
		{"nativeApply", `{target: kubectl, env: dev, forceConflicts: true}`,
			[]string{"kubectl <apply> <--server-side> <--field-manager=chant> <-f> <dist> <--force-conflicts>"}},
		{"kubectlApply", `{manifest: m.yaml, context: c, stack: s, force: true, dryRun: true, deleteMode: never}`,
			[]string{"kubectl <apply> <--server-side> <--field-manager=chant:s> <-f> <m.yaml> <--context> <c> <--force-conflicts> <--dry-run=server>"}},
		{"compensateApply", `{target: cloudformation, env: prod}`, []string{"aws <cloudformation> <rollback-stack> <--stack-name> <prod>"}},
		{"compensateApply", `{target: kubectl, env: prod}`, nil},
		{"compensateApply", `{target: kubectl, env: prod, command: "helm 'a b'"}`, []string{"helm <a b>"}},
		{"k3dUp", `{name: dev, servers: 1, agents: 0, ports: ["80:80@lb"], image: i}`, []string{
			"k3d <cluster> <list> <dev> <--no-headers>",
			"k3d <cluster> <create> <dev> <--servers> <1> <--agents> <0> <--image> <i> <-p> <80:80@lb> <--kubeconfig-update-default=false> <--kubeconfig-switch-context=false> <--wait> <--timeout> <120s>",
			"k3d <kubeconfig> <write> <dev>"}},
		{"k3dUp", `{name: dev, configFile: f, updateDefaultKubeconfig: true, timeout: 5m}`, []string{
			"k3d <cluster> <list> <dev> <--no-headers>",
			"k3d <cluster> <create> <dev> <--config> <f> <--kubeconfig-update-default=true> <--wait> <--timeout> <5m>"}},
		{"k3dDown", `{name: dev}`, []string{"k3d <cluster> <delete> <dev>"}},
		{"azGroupEnsure", `{resourceGroup: "g 1"}`, []string{"az <group> <create> <--name> <g 1> <--location> <eastus> <--output> <none>"}},
		{"azGroupDelete", `{resourceGroup: g}`, []string{"az <group> <delete> <--name> <g> <--yes> <--no-wait>"}},
		{"flociAzDown", `{}`, []string{"docker <rm> <-f> <chant-floci-az>"}},
		{"gitlabPipeline", `{name: group/app}`, []string{
			"glab <ci> <run> <--project> <group/app> <--ref> <HEAD>", "glab <ci> <status> <--project> <group/app> <--format> <json>"}},
	} {
		t.Run(c.fn+" "+c.args, func(t *testing.T) {
			r := newRig(t, activityOp(c.fn, c.args, ""))
			r.file("sub/x", "", 0o600)
			for _, name := range []string{"npm", "helm", "kubectl", "aws", "k3d", "az", "docker", "chant"} {
				r.fake(name, "")
			}
			r.fake("glab", `echo '[{"status":"success"}]'`)
			r.chant = filepath.Join(r.root, "bin", "chant")
			res, e := r.run(named("one"))
			if res.Run.State != host.RunCompleted {
				t.Fatalf("%+v\n%s", res.Failed, e.out.String())
			}
			var calls []string
			if text := strings.TrimSuffix(r.read("calls"), "\n"); text != "" {
				calls = strings.Split(text, "\n")
			}
			same(t, "calls", calls, c.calls)
		})
	}
}

func TestResultsOfActivities(t *testing.T) {
	for _, c := range []struct {
		name, fn, args, from string
		fakes                map[string]string
		want                 string // the outcome, or part of the error
		fails                bool
	}{
		{"a difference", "lifecycleDiff", `{env: p}`, "drifted", map[string]string{"chant": "echo 'DRIFTED (2)'; exit 1"}, "true", false},
		{"a header on a line", "lifecycleDiff", `{env: p}`, "drifted", map[string]string{"chant": "echo x >&2; echo MISSING"}, "true", false},
		{"no difference", "lifecycleDiff", `{env: p}`, "drifted", map[string]string{"chant": "echo clean; exit 2"}, "false", false},
		{"an exit code is a result", "lifecycleDiff", `{env: p}`, "exitCode", map[string]string{"chant": "exit 2"}, "2", false},
		{"a killed diff is none", "lifecycleDiff", `{env: p}`, "", map[string]string{"chant": "kill -9 $$"}, "SIGKILL", true},
		{"an endpoint", "nativeApply", `{target: cloudformation, env: p}`, "command", map[string]string{"aws": ""},
			`"aws --endpoint-url ${AWS_ENDPOINT_URL} cloudformation deploy --template-file template.json --stack-name p --capabilities CAPABILITY_NAMED_IAM"`, false},
		{"a cluster that is there", "k3dUp", `{name: d}`, "", map[string]string{"k3d": `case "$2" in list) echo d;; write) echo /k/config;; *) exit 9;; esac`},
			`{"context":"k3d-d","kubeconfigPath":"/k/config"}`, false},
		{"a pipeline that fails", "gitlabPipeline", `{name: a}`, "", map[string]string{"glab": `test "$2" = run || echo '[{"status":"canceled"}]'`}, "ended as canceled", true},
		{"a program that is missing", "helmInstall", `{name: a, chart: b}`, "", nil, `program "helm" not found`, true},
		{"deleting what is not there", "azGroupDelete", `{resourceGroup: g}`, "", map[string]string{"az": "exit 3"}, "null", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			more := ", outcomeAttribute: {name: V}"
			if c.from != "" {
				more = ", outcomeAttribute: {name: V, from: " + c.from + "}"
			}
			r := newRig(t, activityOp(c.fn, c.args, more))
			for name, script := range c.fakes {
				r.fake(name, script)
			}
			r.chant = filepath.Join(r.root, "bin", "chant")
			r.env = []string{"PATH=" + filepath.Join(r.root, "bin") + ":/usr/bin:/bin", "AWS_ENDPOINT_URL=http://localhost:1"}
			r.open()
			res, e := r.run(named("one"))
			last := e.lines()[len(e.lines())-1]
			if c.fails != (res.Run.State == host.RunFailed) || !strings.Contains(last, c.want) || !c.fails && !strings.HasSuffix(last, "[V="+c.want+"]") {
				t.Errorf("got %s, want %s\n%s", last, c.want, e.out.String())
			}
		})
	}
}

func TestAMissingProgramIsNotTriedAgain(t *testing.T) {
	r := newRig(t, activityOp("helmInstall", "{name: a, chart: b}", ", profile: longInfra"))
	r.env = []string{"PATH=/nowhere"}
	r.open()
	res, _ := r.run(named("one"))
	if res.Failed == nil || res.Failed.Attempts != 1 {
		t.Errorf("%+v", res.Failed)
	}
}

func TestWaitForStackTriesBothKinds(t *testing.T) {
	r := newRig(t, activityOp("waitForStack", "{name: api, intervalMs: 5}", ""))
	r.fake("kubectl", `test "$3" = statefulset/api && test $(wc -l < calls) -ge 4`)
	var waits []time.Duration
	r.rt.sleep = func(_ context.Context, d time.Duration) error { waits = append(waits, d); return nil }
	if res, e := r.run(named("one")); res.Run.State != host.RunCompleted {
		t.Fatalf("%+v\n%s", res.Failed, e.out.String())
	}
	if n := strings.Count(r.read("calls"), "\n"); n != 4 || len(waits) != 1 || waits[0] != 5*time.Millisecond {
		t.Errorf("%d calls, waits %v", n, waits)
	}
}

func TestKustomizeHasNoLimit(t *testing.T) {
	for _, program := range []string{"kustomize", "kubectl"} {
		t.Run(program, func(t *testing.T) {
			r := newRig(t, activityOp("nativeApply", "{target: kustomize, env: dev, output: over}", ""))
			build := "head -c 9000000 /dev/zero"
			r.fake("kubectl", `case "$1" in kustomize) `+build+`;; apply) stat -c %s "$5" > size;; esac`)
			if program == "kustomize" {
				r.fake("kustomize", build)
			}
			r.env = []string{"PATH=" + filepath.Join(r.root, "bin") + ":/usr/bin:/bin"}
			r.open()
			res, e := r.run(named("one"))
			if res.Run.State != host.RunCompleted || strings.TrimSpace(r.read("size")) != "9000000" {
				t.Errorf("%+v, size %s\n%s", res.Failed, r.read("size"), e.out.String())
			}
			if left, _ := filepath.Glob(filepath.Join(r.rt.folder(res.Run.ID).dir, "rendered-*")); len(left) != 0 {
				t.Errorf("left behind: %v", left)
			}
		})
	}
}

func TestHTTPCheck(t *testing.T) {
	asked := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		asked++
		switch req.URL.Path {
		case "/late":
			if asked < 3 {
				w.WriteHeader(http.StatusServiceUnavailable)
				return
			}
		case "/missing":
			w.WriteHeader(http.StatusNotFound)
			return
		case "/method":
			if req.Method != http.MethodHead {
				w.WriteHeader(http.StatusMethodNotAllowed)
			}
			return
		}
		_, _ = w.Write([]byte(strings.Repeat("x", 100_000) + "needle"))
	}))
	defer server.Close()
	for _, c := range []struct {
		args  string
		tries int
		fails string
	}{
		{`{url: "%s/"}`, 1, ""},
		{`{url: "%s/", contains: needle}`, 1, ""},
		{`{url: "%s/", contains: gone}`, 1, `the body lacks "gone"`},
		{`{url: "%s/", contains: ""}`, 1, ""},
		{`{url: "%s/late", retries: 5, intervalMs: 1}`, 3, ""},
		{`{url: "%s/missing", retries: 2, intervalMs: 1}`, 3, "status 404 (want 2xx)"},
		{`{url: "%s/missing", status: 404}`, 1, ""},
		{`{url: "%s/", status: 201}`, 1, "status 200 (want 201)"},
		{`{url: "%s/method", method: HEAD}`, 1, ""},
	} {
		t.Run(c.args, func(t *testing.T) {
			asked = 0
			r := newRig(t, activityOp("httpCheck", fmt.Sprintf(c.args, server.URL), ", outcomeAttribute: {name: S, from: status}"))
			res, e := r.run(named("one"))
			if asked != c.tries || (c.fails == "") != (res.Run.State == host.RunCompleted) {
				t.Errorf("asked %d times, %s", asked, e.lines())
			}
			if c.fails != "" && !strings.Contains(res.Failed.Err, c.fails) {
				t.Errorf("got %s, want %s", res.Failed.Err, c.fails)
			}
		})
	}
}

func TestACancelEndsAnHTTPCheck(t *testing.T) {
	asked, hang := make(chan struct{}, 1), make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, req *http.Request) {
		asked <- struct{}{}
		select {
		case <-hang:
		case <-req.Context().Done():
		}
	}))
	defer server.Close()
	defer close(hang)
	r := newRig(t, activityOp("httpCheck", fmt.Sprintf(`{url: "%s/", retries: 100}`, server.URL), ""))
	run, _, err := r.start(named("one"))
	if err != nil {
		t.Fatal(err)
	}
	<-asked
	run.Stop(host.StopCancelled)
	if res := run.Wait(); res.Run.State != host.RunCancelled {
		t.Errorf("%+v", res)
	}
}

func TestAnEmulatorsVariablesBelongToTheRun(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == "/_localstack/health" {
			_, _ = w.Write([]byte(`{"services":{"cloudformation":"running"}}`))
		}
	}))
	defer server.Close()
	port, err := strconv.Atoi(server.URL[strings.LastIndexByte(server.URL, ':')+1:])
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, fmt.Sprintf(`
name: one
overview: x
phases:
  - name: Up
    steps: [{kind: activity, fn: flociUp, args: {port: %d, dockerSocket: true}}]
  - name: Approve
    steps: [{gate: go}]
  - name: Use
    steps: [{shell: 'echo "$AWS_ENDPOINT_URL $AWS_ACCESS_KEY_ID $AWS_REGION"'}]
`, port), "name: two\noverview: x\nphases: [{name: P, steps: [{shell: 'echo \"<$AWS_ENDPOINT_URL>\"'}]}]\n")
	r.fake("docker", `test "$1" = ps || echo started`)
	res := r.waiting("one")
	same(t, "calls", strings.Split(strings.TrimSpace(r.read("calls")), "\n"), []string{
		"docker <ps> <-q> <-f> <name=^/?chant-floci$>",
		fmt.Sprintf("docker <run> <-d> <--rm> <--name> <chant-floci> <-p> <%d:4566> <-v> </var/run/docker.sock:/var/run/docker.sock> <floci/floci:1.5.34>", port),
	})
	r.open() // another process
	if _, err := r.rt.Decide(t.Context(), host.GateAnswer{Ref: host.RunRef{ID: res.Run.ID}, Gate: "go", Approve: true}); err != nil {
		t.Fatal(err)
	}
	if _, e := r.run(on(res)); e.out.String() != fmt.Sprintf("http://localhost:%d test us-east-1\n", port) {
		t.Errorf("printed %q", e.out.String())
	}
	if _, e := r.run(named("two")); e.out.String() != "<>\n" {
		t.Errorf("another run sees %q", e.out.String())
	}
}

func TestEnvironmentsWithAClusterOfTheirOwnAreNotGuessed(t *testing.T) {
	r := newRig(t, activityOp("nativeApply", "{target: kubectl, env: prod}", ""))
	r.file("chant.config.ts", "export default { k8s: { profiles: { prod: { context: 'p' } } } }", 0o600)
	if _, _, err := r.start(named("one")); !isRefusal(err, "chant.config.ts says which cluster") || !isRefusal(err, "@intentius/chant-lexicon-temporal is not installed") {
		t.Errorf("got %v", err)
	}
}

// The rest is handed to the package that has it, which Node runs.
func TestHandingOver(t *testing.T) {
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("there is no node")
	}
	r := newRig(t, `
name: one
overview: x
phases:
  - name: P
    steps:
      - {kind: activity, fn: awsApply, args: {templatePath: "it's <x>"}, outcomeAttribute: {name: V, from: got.templatePath}}
      - {shell: 'echo "set $HANDED"'}
      - {kind: activity, fn: awsDelete, args: {templatePath: t}}
`)
	r.file("node_modules/@intentius/chant-lexicon-aws/package.json", `{"name":"@intentius/chant-lexicon-aws","type":"module","exports":{"./op/activities":"./a.js"}}`, 0o600)
	r.file("node_modules/@intentius/chant-lexicon-aws/a.js", `
export async function awsApply(args, signal) {
  console.log("applying"); process.env.HANDED = "over";
  return { got: args, aborted: signal.aborted };
}
export async function awsDelete() { const e = new Error("not there"); e.name = "StackError"; throw e; }
`, 0o600)
	res, e := r.run(named("one"))
	if out := e.out.String(); out != "applying\nset over\n" {
		t.Errorf("printed %q", out)
	}
	lines := e.lines()
	if res.Run.State != host.RunFailed || !strings.HasSuffix(lines[1], `[V="it's \u003cx\u003e"]`) && !strings.HasSuffix(lines[1], `[V="it's <x>"]`) || res.Failed.Err != "not there" {
		t.Errorf("%q", lines)
	}
	if left, _ := filepath.Glob(filepath.Join(r.rt.folder(res.Run.ID).dir, "result-*")); len(left) != 0 {
		t.Errorf("left behind: %v", left)
	}
	if os.Getuid() == 0 { // modes mean little to others here, but they are looked at
		if err := os.Chmod(filepath.Join(r.root, "node_modules"), 0o777); err != nil {
			t.Fatal(err)
		}
		if _, _, err := r.start(named("one")); !isRefusal(err, "not installed") {
			t.Errorf("a package that anybody may write is used: %v", err)
		}
	}
}

func TestPick(t *testing.T) {
	value := map[string]any{"a": map[string]any{"b": []int{1}}, "n": nil, "": 1}
	for path, want := range map[string]string{"": `{"":1,"a":{"b":[1]},"n":null}`, "a.b": "[1]", "a.c": "null", "n": "null", "n.x": "null", "a.b.0": "null", ".": "null"} {
		if got := string(pick(value, path)); got != want {
			t.Errorf("%q: got %s, want %s", path, got, want)
		}
	}
	if got := string(pick(make(chan int), "")); got != "null" {
		t.Errorf("what is no JSON: %s", got)
	}
	long := bounded(json.RawMessage(`"` + strings.Repeat("x", maxOutcome) + `"`))
	if len(long) > maxOutcome || !json.Valid(long) {
		t.Errorf("%d bytes", len(long))
	}
}

func TestPermanentErrors(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{errors.New("x"), false},
		{activity.Final(errors.New("x")), true},
		{fmt.Errorf("wrapped: %w", activity.Final(errors.New("x"))), true},
		{&activity.Error{Name: "ReadinessFailedError"}, true},
		{&activity.Error{Name: "Other"}, false},
		{&activity.Error{}, false},
	} {
		if got := permanent(c.err, []string{"ReadinessFailedError", ""}); got != c.want {
			t.Errorf("%#v: %t", c.err, got)
		}
	}
}

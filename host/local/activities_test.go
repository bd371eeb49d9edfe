package local

import (
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

func TestResultsOfActivities(t *testing.T) {
	for _, c := range []struct {
		name, fn, args, from string
		fakes                map[string]string
		want                 string // the outcome, or part of the error
		fails                bool
	}{
		{"a header on a line", "lifecycleDiff", `{env: p}`, "drifted", map[string]string{"chant": "echo x >&2; echo MISSING"}, "true", false},
		{"a killed diff is none", "lifecycleDiff", `{env: p}`, "", map[string]string{"chant": "kill -9 $$"}, "SIGKILL", true},
		{"an endpoint", "nativeApply", `{target: cloudformation, env: p}`, "command", map[string]string{"aws": ""},
			`"aws --endpoint-url ${AWS_ENDPOINT_URL} cloudformation deploy --template-file template.json --stack-name p --capabilities CAPABILITY_NAMED_IAM"`, false},
		{"words are arguments", "helmInstall", `{name: a, chart: "b c; d"}`, "", map[string]string{"helm": `test "$5" = "b c; d"`}, "null", false},
		{"a program that is missing", "helmInstall", `{name: a, chart: b}`, "", nil, `program "helm" not found`, true},
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

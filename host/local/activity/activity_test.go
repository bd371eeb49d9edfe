package activity

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/chant-acp/chant-acp/host/op"
)

// fakeCall is an attempt whose programs answer stands for. It notes what they are called
// with, each argument in <>.
type fakeCall struct {
	ctx      context.Context
	answer   func(argv []string) (prints string, code int)
	outcome  bool
	calls    []string
	said     []string
	warnings []string
	waits    []time.Duration
}

func (c *fakeCall) Context() context.Context { return c.ctx }

func (c *fakeCall) Run(p Program) error {
	line := p.Argv[0]
	for _, word := range p.Argv[1:] {
		line += " <" + word + ">"
	}
	c.calls = append(c.calls, line)
	if c.answer == nil {
		return nil
	}
	prints, code := c.answer(p.Argv)
	for _, w := range []io.Writer{p.Value, p.Copy} {
		if w != nil {
			_, _ = io.WriteString(w, prints)
		}
	}
	if code != 0 {
		return &Error{Text: fmt.Sprintf("%s ended with exit code %d", p.Argv[0], code), Code: &code}
	}
	return nil
}

func (c *fakeCall) Getenv(string) string { return "" }

func (c *fakeCall) Sleep(d time.Duration) error {
	c.waits = append(c.waits, d)
	return nil
}

func (c *fakeCall) Say(format string, args ...any) {
	c.said = append(c.said, fmt.Sprintf(format, args...))
}

func (c *fakeCall) Warn(text string)             { c.warnings = append(c.warnings, text) }
func (c *fakeCall) Set(map[string]string)        {}
func (c *fakeCall) File(name, ext string) string { return name + ext }
func (c *fakeCall) HasOutcome() bool             { return c.outcome }

// find makes the action of an activity; args are YAML.
func find(t *testing.T, fn, args string) (Action, error) {
	t.Helper()
	o, err := op.Decode("x.op.yaml", fmt.Appendf(nil, "name: one\nphases: [{name: P, steps: [{kind: activity, fn: %s, args: %s}]}]\n", fn, args))
	if err != nil {
		t.Fatal(err)
	}
	p := &Project{Root: t.TempDir(), Chant: func() string { return "chant" }, Environ: func() []string { return nil }}
	return p.Find(fn, o.Phases[0].Steps[0].Args)
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
		{"compensateApply", `{target: kubectl, env: prod, command: "helm 'a b'"}`, []string{"/bin/sh <-c> <helm 'a b'>"}},
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
			act, err := find(t, c.fn, c.args)
			if err != nil {
				t.Fatal(err)
			}
			call := &fakeCall{ctx: t.Context(), answer: func(argv []string) (string, int) {
				if argv[0] == "glab" {
					return `[{"status":"success"}]`, 0
				}
				return "", 0
			}}
			if _, err := act(call); err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.calls, call.calls); d != "" {
				t.Error(d)
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	for _, c := range []struct{ fn, args, says string }{
		{"helmInstall", `{name: a}`, "needs the argument chart"},
		{"helmInstall", `{name: -a, chart: b}`, "its argument name begins with -"},
		{"chantBuild", `{path: a, script: --x}`, "its argument script begins with -"},
		{"shellCmd", `{cmd: " "}`, "needs the argument cmd"},
		{"httpCheck", `{url: ftp://x}`, "http:// or https://"},
		{"httpCheck", `{url: http://x, retries: -1}`, "retries is -1"},
		{"flociUp", `{port: 70000}`, "port is 70000"},
		{"nativeApply", `{target: moon, env: x}`, `no target "moon"`},
		{"kubectlApply", `{manifest: m, deleteMode: prune}`, "@intentius/chant-lexicon-k8s is not installed"},
		{"awsApply", `{}`, "@intentius/chant-lexicon-aws is not installed"},
		{"k3dUp", `{name: [a]}`, "its arguments: "},
		{"lunch", `{}`, `no activity "lunch"`},
	} {
		if _, err := find(t, c.fn, c.args); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s %s: %v, want %q", c.fn, c.args, err, c.says)
		}
	}
}

func TestResults(t *testing.T) {
	one := func(prints string, code int) func([]string) (string, int) {
		return func([]string) (string, int) { return prints, code }
	}
	second := func(argv []string) string { return argv[min(2, len(argv)-1)] }
	for _, c := range []struct {
		name, fn, args string
		answer         func([]string) (string, int)
		want           string // the result, as JSON
		fails          string
	}{
		{"a difference", "lifecycleDiff", `{env: p}`, one("DRIFTED (2)\n", 1), `{"output":"DRIFTED (2)","exitCode":1,"drifted":true}`, ""},
		{"no difference", "lifecycleDiff", `{env: p}`, one("clean\n", 0), `{"output":"clean","exitCode":0,"drifted":false}`, ""},
		{"a killed diff", "lifecycleDiff", `{env: p}`, one("", 137), `{"output":"","exitCode":0,"drifted":false}`, "exit code 137"},
		{"what a shell prints", "shellCmd", `{cmd: x}`, one(" a\n", 0), `"a"`, ""},
		{"a cluster that is there", "k3dUp", `{name: d}`, func(argv []string) (string, int) {
			return map[string]string{"list": "d", "write": "/k/config"}[second(argv)], 0
		}, `{"context":"k3d-d","kubeconfigPath":"/k/config"}`, ""},
		{"a pipeline that fails", "gitlabPipeline", `{name: a}`, one(`[{"status":"canceled"}]`, 0), "null", "ended as canceled"},
		{"deleting what is not there", "azGroupDelete", `{resourceGroup: g}`, one("", 3), "null", ""},
		{"nothing to go back to", "compensateApply", `{target: kubectl, env: p}`, nil, "{}", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			act, err := find(t, c.fn, c.args)
			if err != nil {
				t.Fatal(err)
			}
			value, err := act(&fakeCall{ctx: t.Context(), answer: c.answer, outcome: true})
			if (err == nil) != (c.fails == "") || err != nil && !strings.Contains(err.Error(), c.fails) {
				t.Errorf("%v, want %q", err, c.fails)
			}
			text, err := json.Marshal(value)
			if err != nil || string(text) != c.want {
				t.Errorf("got %s, %v; want %s", text, err, c.want)
			}
		})
	}
}

// Of what a program prints the beginning is the result, where somebody asks for it, and
// that there was more is told.
func TestAResultIsBounded(t *testing.T) {
	for _, outcome := range []bool{false, true} {
		act, err := find(t, "shellCmd", "{cmd: x}")
		if err != nil {
			t.Fatal(err)
		}
		call := &fakeCall{ctx: t.Context(), outcome: outcome, answer: func([]string) (string, int) { return strings.Repeat("x", maxValue+1), 0 }}
		value, err := act(call)
		text, _ := value.(string)
		if err != nil || outcome != (len(text) == maxValue) || outcome != (len(call.warnings) == 1) {
			t.Errorf("with an outcome %t: %d bytes, %v, %v", outcome, len(text), call.warnings, err)
		}
	}
}

func TestWaitForStackTriesBothKinds(t *testing.T) {
	act, err := find(t, "waitForStack", "{name: api, intervalMs: 5}")
	if err != nil {
		t.Fatal(err)
	}
	call := &fakeCall{ctx: t.Context()}
	call.answer = func(argv []string) (string, int) {
		if argv[3] == "statefulset/api" && len(call.calls) >= 4 {
			return "", 0
		}
		return "", 1
	}
	if _, err := act(call); err != nil {
		t.Fatal(err)
	}
	if len(call.calls) != 4 || !slices.Equal(call.waits, []time.Duration{5 * time.Millisecond}) {
		t.Errorf("%q, waits %v", call.calls, call.waits)
	}
}

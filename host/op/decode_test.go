package op_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/chant-acp/chant-acp/host/op"
)

func mustDecode(t *testing.T, file, text string) *op.Config {
	t.Helper()
	c, err := op.Decode(file, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

const full = `# everything that an Op can hold
name: deploy
overview: Deploys all of it
taskQueue: q
namespace: ns
depends: [build]
searchAttributes: {Env: prod, Port: 8080}
phases:
  - name: Build
    parallel: true
    steps:
      - shell: make all
      - shell: make docs
        env: {LEVEL: 1.10, ON: true}
        cwd: docs
        profile: longInfra
        outcomeAttribute: {name: Docs, from: a.b}
      - exec: [go, test, ./...]
        env: {GOFLAGS: -race}
        cwd: ./sub
  - name: Approve
    steps:
      - gate: approve-prod
        timeout: 12h
        description: Ship it?
        schema: {type: object}
      - gate: second
      - sleep: 1m30s
      - waitForEvent: order 7
        timeout: 1d
  - name: Long
    steps:
      - kind: activity
        fn: helmInstall
        args: {name: web, chart: ./chart, set: {replicas: 3, ratio: 0.50, debug: false, none: ~}}
        profile: longInfra
      - {kind: gate, signalName: third, timeout: 30s, bind: ["k8s/**/*.yaml"], evidence: [plan.txt, 7]}
      - {kind: exec, argv: [make, 7]}
      - {kind: sleep, duration: 10m}
      - {kind: waitForEvent, key: k, schema: {}}
onFailure:
  - name: Rollback
    steps:
      - shell: make undo
      - sleep: 5m
`

// What chant would have for it: the keys in chant's order, no defaults.
const fullJSON = `{"name":"deploy","overview":"Deploys all of it","taskQueue":"q","namespace":"ns","depends":["build"],"searchAttributes":{"Env":"prod","Port":"8080"},"phases":[` +
	`{"name":"Build","parallel":true,"steps":[` +
	`{"kind":"activity","fn":"shellCmd","args":{"cmd":"make all"}},` +
	`{"kind":"activity","fn":"shellCmd","args":{"cmd":"make docs","env":{"LEVEL":"1.10","ON":"true"},"cwd":"docs"},"profile":"longInfra","outcomeAttribute":{"name":"Docs","from":"a.b"}},` +
	`{"kind":"exec","argv":["go","test","./..."],"env":{"GOFLAGS":"-race"},"cwd":"./sub"}]},` +
	`{"name":"Approve","steps":[` +
	`{"kind":"gate","signalName":"approve-prod","timeout":"12h","description":"Ship it?","schema":{"type":"object"}},` +
	`{"kind":"gate","signalName":"second"},` +
	`{"kind":"sleep","duration":"1m30s"},` +
	`{"kind":"waitForEvent","key":"order 7","timeout":"1d"}]},` +
	`{"name":"Long","steps":[` +
	`{"kind":"activity","fn":"helmInstall","args":{"name":"web","chart":"./chart","set":{"replicas":3,"ratio":0.5,"debug":false,"none":null}},"profile":"longInfra"},` +
	`{"kind":"gate","signalName":"third","timeout":"30s","bind":["k8s/**/*.yaml"],"evidence":["plan.txt","7"]},` +
	`{"kind":"exec","argv":["make","7"]},` +
	`{"kind":"sleep","duration":"10m"},` +
	`{"kind":"waitForEvent","key":"k","schema":{}}]}],` +
	`"onFailure":[{"name":"Rollback","steps":[{"kind":"activity","fn":"shellCmd","args":{"cmd":"make undo"}},{"kind":"sleep","duration":"5m"}]}]}`

func TestDecode(t *testing.T) {
	c := mustDecode(t, "ops/deploy.op.yaml", full)
	text, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(fullJSON, string(text)); d != "" {
		t.Error(d)
	}
	want := []op.Step{
		{Kind: op.Activity, Fn: "shellCmd", Args: json.RawMessage(`{"cmd":"make all"}`)},
		{Kind: op.Activity, Fn: "shellCmd", Args: json.RawMessage(`{"cmd":"make docs","env":{"LEVEL":"1.10","ON":"true"},"cwd":"docs"}`), Profile: "longInfra", Outcome: &op.Outcome{Name: "Docs", From: "a.b"}},
		{Kind: op.Exec, Argv: []string{"go", "test", "./..."}, Env: map[string]string{"GOFLAGS": "-race"}, Dir: "./sub"},
		{Kind: op.Gate, Name: "approve-prod", Timeout: 12 * time.Hour, Description: "Ship it?", Schema: json.RawMessage(`{"type":"object"}`)},
		{Kind: op.Gate, Name: "second", Timeout: 48 * time.Hour},
		{Kind: op.Sleep, Duration: 90 * time.Second},
		{Kind: op.WaitForEvent, Name: "order 7", Timeout: 24 * time.Hour},
		{Kind: op.Activity, Fn: "helmInstall", Args: json.RawMessage(`{"name":"web","chart":"./chart","set":{"replicas":3,"ratio":0.5,"debug":false,"none":null}}`), Profile: "longInfra"},
		{Kind: op.Gate, Name: "third", Timeout: 30 * time.Second, Bind: []string{"k8s/**/*.yaml"}, Evidence: []string{"plan.txt", "7"}},
		{Kind: op.Exec, Argv: []string{"make", "7"}},
		{Kind: op.Sleep, Duration: 10 * time.Minute},
		{Kind: op.WaitForEvent, Name: "k", Schema: json.RawMessage(`{}`)},
		{Kind: op.Activity, Fn: "shellCmd", Args: json.RawMessage(`{"cmd":"make undo"}`)},
		{Kind: op.Sleep, Duration: 5 * time.Minute},
	}
	var got []op.Step
	for _, s := range c.Steps {
		got = append(got, *s)
	}
	if d := cmp.Diff(want, got, cmpopts.IgnoreFields(op.Step{}, "At")); d != "" {
		t.Error(d)
	}
	if at := c.Phases[1].Steps[2].At; at != (op.Position{Line: 28, Column: 9}) {
		t.Errorf("the sleep stands at %v", at)
	}
	if !c.Phases[0].Parallel || c.Phases[1].Parallel {
		t.Error("parallel is not that of the first phase")
	}
}

// TestFormats reads the same Op from JSON, and once more from what was written.
func TestFormats(t *testing.T) {
	yaml := mustDecode(t, "a.op.yaml", full)
	fromJSON := mustDecode(t, "a.op.json", fullJSON)
	if yaml.Digest() != fromJSON.Digest() {
		t.Error("YAML and JSON give different digests")
	}
	again, err := op.Restore("a.op.yaml", []byte(fullJSON))
	if err != nil {
		t.Fatal(err)
	}
	if again.Format != op.YAML || again.Digest() != yaml.Digest() {
		t.Errorf("restored as %s", again.Format)
	}
	if d := cmp.Diff(yaml.Phases, again.Phases, cmpopts.IgnoreTypes(op.Position{})); d != "" {
		t.Error(d)
	}
}

func TestNumbers(t *testing.T) {
	for in, want := range map[string]string{"1": "1", "1.0": "1", "0.50": "0.5", "1e2": "100", "1e21": "1e+21", "-3": "-3", "12345678901234567890": "12345678901234567890"} {
		c := mustDecode(t, "a.op.json", `{"name":"a","phases":[{"name":"p","steps":[{"kind":"activity","fn":"f","args":{"x":`+in+`}}]}]}`)
		if got := string(c.Phases[0].Steps[0].Args); got != `{"x":`+want+`}` {
			t.Errorf("%s: got %s", in, got)
		}
	}
}

func TestDigest(t *testing.T) {
	a := mustDecode(t, "a.op.json", `{"name":"a","phases":[{"name":"p","steps":[{"kind":"activity","fn":"f","args":{"x":1,"y":2}}]}]}`)
	b := mustDecode(t, "b.op.yaml", "phases: [{steps: [{args: {y: 2, x: 1}, fn: f, kind: activity}], name: p}]\nname: a\n")
	c := mustDecode(t, "a.op.json", `{"name":"a","phases":[{"name":"p","steps":[{"kind":"activity","fn":"f","args":{"x":1,"y":3}}]}]}`)
	if a.Digest() != b.Digest() {
		t.Error("the order of keys changes the digest")
	}
	if a.Digest() == c.Digest() || len(a.Digest()) != 64 {
		t.Errorf("digests %s and %s", a.Digest(), c.Digest())
	}
}

// A § marks where the error is; the rest is the file.
func TestDecodeErrors(t *testing.T) {
	step := func(s string) string { return "name: a\nphases:\n  - name: p\n    steps:\n      - " + s + "\n" }
	undo := func(s string) string {
		return step("shell: x") + "onFailure:\n  - name: u\n    steps:\n      - " + s + "\n"
	}
	for _, c := range []struct{ name, file, message string }{
		{"empty", "§", "the file is empty"},
		{"a list", "§[]", "must be a mapping"},
		{"not YAML", "a: §[", "not valid YAML"},
		{"no name", "§phases: [{name: p, steps: [{shell: x}]}]", "needs name"},
		{"no phases", "§name: a", "needs phases"},
		{"unknown key", "name: a\n§steps: []\nphases: [{name: p, steps: [{shell: x}]}]", `has no key "steps"; it may have: name, overview`},
		{"twice", "name: a\n§name: b\nphases: [{name: p, steps: [{shell: x}]}]", "stands twice, first in line 1"},
		{"a name with blanks", "name: §a b\nphases: [{name: p, steps: [{shell: x}]}]", "typed in a command line"},
		{"a word of run", "name: §status\nphases: [{name: p, steps: [{shell: x}]}]", `"run status" means something else`},
		{"itself", "name: a\ndepends: §[a]\nphases: [{name: p, steps: [{shell: x}]}]", "depends on itself"},
		{"no phase", "name: a\nphases: §[]", "phases is empty"},
		{"no step", "name: a\nphases: [{name: p, steps: §[]}]", "has no steps"},
		{"parallel", "name: a\nphases: [{name: p, parallel: §maybe, steps: [{shell: x}]}]", "true or false"},
		{"a step as text", step("§make"), "must be a mapping"},
		{"no kind", step("§{args: {}}"), "needs a kind, or in a file that is data one of: shell, exec"},
		{"unknown kind", step("kind: §lunch"), `the kind "lunch"`},
		{"two forms", step("{shell: x, §gate: y}"), "a step does one thing"},
		{"kind and form", step("{kind: gate, §gate: y}"), "has a kind and gate"},
		{"key of another form", step("{shell: x, §timeout: 5m}"), `has no key "timeout"`},
		{"shell of a list", step("shell: §[x]"), "must be text"},
		{"empty shell", step("shell: §''"), "is empty"},
		{"null shell", step("shell:§"), "must be text, and is empty"},
		{"exec of text", step("exec: §make all"), "must be a list"},
		{"exec of nothing", step("exec: §[]"), "names no program"},
		{"bind outside", step("{gate: x, bind: [§../y]}"), "must be a path below the project's folder"},
		{"bind that is no pattern", step("{gate: x, bind: [§'[a']}"), "is no pattern"},
		{"evidence outside", step("{gate: x, evidence: [§/etc/passwd]}"), "must be a path below the project's folder"},
		{"evidence that is no list", step("{gate: x, evidence: §a}"), "evidence of"},
		{"cwd outside", step("{exec: [x], cwd: §../y}"), "leads out of it"},
		{"cwd absolute", step("{exec: [x], cwd: §/y}"), "inside the project"},
		{"cwd of shell outside", step("{shell: x, cwd: §../../../}"), "leads out of it"},
		{"cwd of shellCmd outside", step("{kind: activity, fn: shellCmd, args: {cmd: x, cwd: §a/../../b}}"), `cwd of step 1 of phase "p" must lie inside the project`},
		{"a variable's name", step("{exec: [x], env: {§A=B: c}}"), "name of a variable"},
		{"a variable of ours", step("{exec: [x], env: {§CHANT_ACP_ORIGIN: client}}"), "CHANT_ACP_ are chant-acp's own"},
		{"a variable of ours for shell", step("{shell: x, env: {§CHANT_ACP_TOKEN: c}}"), "CHANT_ACP_ are chant-acp's own"},
		{"a variable's name for shell", step("{shell: x, env: {§'': c}}"), "name of a variable"},
		{"profile", step("{shell: x, profile: §slow}"), "there are: fastIdempotent, longInfra"},
		{"outcome without name", step("{shell: x, outcomeAttribute: §{from: a}}"), "needs name"},
		{"gate name", step("gate: §go ahead"), "typed in a command line"},
		{"gate timeout", step("{gate: g, timeout: §soon}"), "unparseable duration"},
		{"half an hour", step("sleep: §0.5h"), "whole numbers"},
		{"zero", step("sleep: §0s"), "zero"},
		{"long", step("sleep: §4000d"), "longer than ten years"},
		{"two gates", step("{gate: g}\n      - {gate: §g}"), "is another gate"},
		{"event without key", step("waitForEvent: §''"), "empty key"},
		{"schema as text", step("{gate: g, schema: §x}"), "must be a mapping"},
		{"type that is a number", step("{gate: g, schema: {§type: 5}}"), `the schema of step 1 of phase "p" cannot be used: type: it must be one of null`},
		{"type that is none", step("{gate: g, schema: {type: object, properties: {a: {§type: strin}}}}"), "properties.a.type: "},
		{"reference", step("{gate: g, schema: {§$ref: 'file:///etc/passwd'}}"), "references are not followed"},
		{"pattern", step("{waitForEvent: g, schema: {§pattern: '('}}"), "missing closing )"},
		{"minimum", step("{gate: g, schema: {anyOf: [{type: 'null'}, {§minimum: a}]}}"), "must be a number"},
		{"required number", step("{gate: g, schema: {required: [a, §1]}}"), "must be text"},
		{"gate in onFailure", undo("§gate: g"), "compensation waits for nobody"},
		{"event in onFailure", undo("§waitForEvent: g"), "compensation waits for nobody"},
		{"long sleep in onFailure", undo("§sleep: 6m"), "5m0s at most"},
		{"a date as a number", step("{kind: activity, fn: f, args: {x: §.nan}}"), "no such number"},
		{"args as a list", step("{kind: activity, fn: f, args: §[]}"), "must be a mapping"},
	} {
		t.Run(c.name, func(t *testing.T) { expectFinding(t, "f.op.yaml", c.file, c.message) })
	}
	for _, c := range []struct{ name, file, message string }{
		{"not JSON", "{\n  \"name\": §x}", "not valid JSON"},
		{"cut off", "{\"name\":§", "not valid JSON"},
		{"two values", "{} §{}", "not valid JSON"},
		{"twice", "{\"name\": \"a\",\n §\"name\": \"b\", \"phases\": [{\"name\":\"p\",\"steps\":[{\"sleep\":\"1s\"}]}]}", "stands twice"},
		{"infinite", "{\"name\": \"a\", \"phases\": [{\"name\":\"p\",\"steps\":[{\"kind\":\"activity\",\"fn\":\"f\",\"args\":{\"x\":§1e999}}]}]}", "too large"},
		{"number for text", "{\"name\": §7, \"phases\": [{\"name\":\"p\",\"steps\":[{\"sleep\":\"1s\"}]}]}", "must be text, and is a number"},
		{"deep", "{\"name\": \"ä\", \"x\":" + strings.Repeat("[", 101) + strings.Repeat("]", 101) + "}", "nested more than 100"},
		{"not UTF-8", "{\"name\": \"§\xff\"}", "not UTF-8"},
	} {
		t.Run("JSON "+c.name, func(t *testing.T) { expectFinding(t, "f.op.json", c.file, c.message) })
	}
}

func expectFinding(t *testing.T, file, marked, message string) {
	t.Helper()
	before, after, marks := strings.Cut(marked, "§")
	_, err := op.Decode(file, []byte(before+after))
	var bad *op.FileError
	if !errors.As(err, &bad) {
		t.Fatalf("error %v, want a *FileError", err)
	}
	f := bad.Findings[0]
	if !strings.Contains(f.Message, message) {
		t.Errorf("got %q, want %q in it", f, message)
	}
	line := 1 + strings.Count(before, "\n")
	column := 1 + len([]rune(before[strings.LastIndex(before, "\n")+1:]))
	if marks && (f.At != op.Position{Line: line, Column: column} || f.File != file) {
		t.Errorf("got %v, want line %d, column %d", f, line, column)
	}
}

func TestShown(t *testing.T) {
	c := mustDecode(t, "a.op.json", `{"name":"a","phases":[{"name":"p","steps":[{"kind":"activity","fn":"f","args":{"z":"secret","secret":[12345678,1.5,null,true]}}]}]}`)
	got := string(c.Shown(func(s string) string {
		return strings.NewReplacer("secret", "${S}", "12345678", "${N}").Replace(s)
	}))
	if want := `{"name":"a","phases":[{"name":"p","steps":[{"kind":"activity","fn":"f","args":{"z":"${S}","${S}":["${N}",1.5,null,true]}}]}]}`; got != want {
		t.Errorf("got %s", got)
	}
	if got := string((&op.Config{}).Shown(strings.ToUpper)); got != "null" {
		t.Errorf("of nothing: %s", got)
	}
}

// TestAllErrors finds everything that is wrong, in the order of the file.
func TestAllErrors(t *testing.T) {
	_, err := op.Decode("f.op.yaml", []byte("name: a b\nphases:\n  - steps:\n    - gate: x y\n    - {shell: z, when: now}\nfoo: 1\n"))
	want := []string{"f.op.yaml:1:7", "f.op.yaml:3:5", "f.op.yaml:4:13", "f.op.yaml:5:18", "f.op.yaml:6:1"}
	if err == nil {
		t.Fatal("no error")
	}
	lines := strings.Split(err.Error(), "\n")
	if len(lines) != len(want) {
		t.Fatalf("got %d errors, want %d:\n%v", len(lines), len(want), err)
	}
	for i := range want {
		if !strings.HasPrefix(lines[i], want[i]+": ") {
			t.Errorf("got %s, want %s", lines[i], want[i])
		}
	}
}

// TestRestoreIsLax takes what chant takes: unknown keys, null, and steps that do
// nothing.
func TestRestoreIsLax(t *testing.T) {
	const config = `{"name":"a","overview":null,"x":[1],"phases":[{"name":"p","steps":[]},{"name":"q","steps":[{"kind":"activity","fn":"f","profile":"odd","y":1}]}]}`
	c, err := op.Restore("a.op.ts", []byte(config))
	if err != nil {
		t.Fatal(err)
	}
	if text, _ := json.Marshal(c); string(text) != config {
		t.Errorf("got %s", text)
	}
	if p := c.Profile(&c.Phases[1].Steps[0]); p.Attempts != 1 || p.StartToClose != 5*time.Minute {
		t.Errorf("an unknown profile is %+v", p)
	}
}

// TestRestoreNamesTheStep wants the phase and the step where there is no place in
// a file to name.
func TestRestoreNamesTheStep(t *testing.T) {
	for _, bad := range []string{
		`{"kind":7}`, `{"kind":"lunch"}`, `{}`, `7`,
		`{"kind":"gate","signalName":7}`, `{"kind":"gate","signalName":"a b"}`, `{"kind":"gate"}`, `{"kind":"gate","signalName":"g","timeout":7}`,
		`{"kind":"gate","signalName":"g","timeout":"soon"}`, `{"kind":"gate","signalName":"g","description":7}`, `{"kind":"gate","signalName":"g","schema":7}`,
		`{"kind":"gate","signalName":"g","schema":{"type":5}}`, `{"kind":"gate","signalName":"g","bind":"a"}`, `{"kind":"gate","signalName":"g","evidence":["../a"]}`, `{"kind":"gate","signalName":"first"}`,
		`{"kind":"activity","fn":7}`, `{"kind":"activity","fn":""}`, `{"kind":"activity","fn":"f","args":7}`, `{"kind":"activity","fn":"f","profile":7}`,
		`{"kind":"activity","fn":"f","outcomeAttribute":7}`, `{"kind":"activity","fn":"f","outcomeAttribute":{"name":7}}`, `{"kind":"activity","fn":"f","outcomeAttribute":{"name":"x","from":7}}`,
		`{"kind":"activity","fn":"shellCmd","args":{"cmd":"x","cwd":"/"}}`, `{"kind":"activity","fn":"shellCmd","args":{"cmd":"x","cwd":7}}`,
		`{"kind":"exec"}`, `{"kind":"exec","argv":7}`, `{"kind":"exec","argv":[7]}`, `{"kind":"exec","argv":["x"],"env":{"A":7}}`, `{"kind":"exec","argv":["x"],"env":{"A=":"7"}}`, `{"kind":"exec","argv":["x"],"cwd":7}`,
		`{"kind":"sleep"}`, `{"kind":"sleep","duration":7}`, `{"kind":"sleep","duration":"0s"}`, `{"kind":"waitForEvent","key":7}`, `{"kind":"waitForEvent","key":""}`,
	} {
		_, err := op.Restore("a.op.ts", []byte(`{"name":"a","phases":[{"name":"ship","steps":[{"kind":"gate","signalName":"first"},`+bad+`]}]}`))
		if err == nil || !strings.Contains(err.Error(), `step 2 of phase "ship"`) {
			t.Errorf("%s: %v", bad, err)
		}
	}
	_, err := op.Restore("a.op.ts", []byte(`{"name":"a","phases":[],"onFailure":[{"name":"undo","steps":[{"kind":"gate","signalName":"g"}]}]}`))
	if err == nil || !strings.Contains(err.Error(), `step 1 of phase "undo"`) {
		t.Error(err)
	}
}

func TestProfile(t *testing.T) {
	const phases = `"phases":[{"name":"p","steps":[{"kind":"activity","fn":"f"},{"kind":"activity","fn":"f","profile":"argoSync"}]}]`
	data := mustDecode(t, "a.op.json", `{"name":"a",`+phases+`}`)
	ts, err := op.Restore("a.op.ts", []byte(`{"name":"a",`+phases+`}`))
	if err != nil {
		t.Fatal(err)
	}
	if p := data.Profile(&data.Phases[0].Steps[0]); p.Attempts != 1 {
		t.Errorf("in data, a step without a profile has %d attempts", p.Attempts)
	}
	if p := ts.Profile(&ts.Phases[0].Steps[0]); p.Name != "fastIdempotent" || p.Attempts != 3 {
		t.Errorf("in TypeScript, a step without a profile has %+v", p)
	}
	p := data.Profile(&data.Phases[0].Steps[1])
	var waits []time.Duration
	for n := 1; n < p.Attempts; n++ {
		waits = append(waits, p.Wait(n))
	}
	if d := cmp.Diff([]time.Duration{10 * time.Second, 20 * time.Second, 40 * time.Second, time.Minute}, waits); d != "" {
		t.Error(d)
	}
}

func TestParseDuration(t *testing.T) {
	for in, want := range map[string]time.Duration{
		"90s": 90 * time.Second, "1h30m": 90 * time.Minute, "2d": 48 * time.Hour, "250ms": 250 * time.Millisecond,
		"1h 30m": 90 * time.Minute, "5m5m": 10 * time.Minute, "0s": 0, "about 5m": 5 * time.Minute, "1.5h": 5 * time.Hour, "10x5s": 5 * time.Second,
		"3650d": 3650 * 24 * time.Hour, "5ms3m": 3*time.Minute + 5*time.Millisecond,
	} {
		if got, err := op.ParseDuration(in); err != nil || got != want {
			t.Errorf("%q: got %v, %v; want %v", in, got, err, want)
		}
	}
	for _, in := range []string{"", "5", "s", "m5", "5 m", "3651d", "99999999999999999999h", "9223372036854775807ms9223372036854775807d", "-"} {
		if got, err := op.ParseDuration(in); err == nil {
			t.Errorf("%q: got %v, want an error", in, got)
		}
	}
}

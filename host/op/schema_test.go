package op_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"go.yaml.in/yaml/v4"

	"github.com/chant-acp/chant-acp/host/op"
)

func opSchema(t *testing.T) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	if err := json.Unmarshal(op.Schema(), &s); err != nil {
		t.Fatal(err)
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

// agree wants that a text is an Op to the schema where it is one to Decode.
func agree(t *testing.T, s *jsonschema.Resolved, name, text string) (taken bool) {
	t.Helper()
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	_, err := op.Decode(name, []byte(text))
	if says := s.Validate(v); (says == nil) != (err == nil) {
		t.Errorf("%s\nDecode says %v\nthe schema says %v", text, err, says)
	}
	return err == nil
}

func TestSchemaTakesWhatDecodeTakes(t *testing.T) {
	s := opSchema(t)
	if !agree(t, s, "full.op.yaml", full) {
		t.Error("the full one is no Op")
	}
	files, err := filepath.Glob("../../testdata/project/ops/*.op.*")
	if err != nil {
		t.Fatal(err)
	}
	read := 0
	for _, file := range files {
		if op.FormatOf(file) == op.TypeScript {
			continue
		}
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if !agree(t, s, filepath.Base(file), string(text)) {
			t.Errorf("%s is no Op", file)
		}
		read++
	}
	if read == 0 {
		t.Error("the sample project has no Ops that are data")
	}
}

func TestSchemaAgreesWithDecode(t *testing.T) {
	s := opSchema(t)
	taken := map[bool]int{}
	const head = "name: a\nphases:\n  - name: p\n    steps:\n      - "
	for _, step := range []string{
		"shell: make", "shell: 7", "shell: ''", "{shell: make, env: {A: 1, B: true}}", "{shell: make, env: {A: [1]}}", "{shell: make, env: {A=B: c}}",
		"{shell: make, cwd: sub}", "{shell: make, cwd: /sub}", "{shell: make, timeout: 1s}", "{shell: make, exec: [a]}", "{shell: make, kind: exec}",
		"{shell: make, profile: longInfra}", "{shell: make, profile: long}", "{shell: make, outcomeAttribute: {name: A}}", "{shell: make, outcomeAttribute: {from: a}}",
		"{shell: make, outcomeAttribute: {name: A, to: b}}", "{shell: make, outcomeAttribute: A}",
		"exec: [go, 1, true]", "exec: []", "exec: ['']", "exec: go", "exec: [go, [a]]",
		"gate: ok", "gate: not ok", "gate: 7", "{gate: ok, timeout: 1h30m}", "{gate: ok, timeout: 1.5h}", "{gate: ok, timeout: soon}", "{gate: ok, timeout: 10}",
		"{gate: ok, description: d, schema: {type: object}}", "{gate: ok, schema: [1]}", "{gate: ok, env: {}}",
		"{gate: ok, bind: [a/**], evidence: [b]}", "{gate: ok, bind: a}", "{gate: ok, evidence: [/a]}", "{gate: ok, bind: ['']}", "{shell: make, bind: [a]}",
		"{kind: gate, signalName: ok, bind: [a], evidence: []}",
		"sleep: 90s", "sleep: 1h 30m", "sleep: 1 h", "sleep: ''", "{sleep: 1s, timeout: 1s}",
		"waitForEvent: order 7", "waitForEvent: ''", "{waitForEvent: k, timeout: 1d, schema: {}}",
		"{kind: activity, fn: f}", "{kind: activity}", "{kind: activity, fn: f, args: {a: [1]}}", "{kind: activity, fn: f, args: [1]}", "{kind: activity, fn: f, argv: [a]}",
		"{kind: exec, argv: [a], env: {}, cwd: b}", "{kind: exec}", "{kind: exec, argv: []}",
		"{kind: gate, signalName: ok, timeout: 1s}", "{kind: gate}", "{kind: gate, signalName: -a}",
		"{kind: sleep, duration: 1s}", "{kind: sleep}", "{kind: waitForEvent, key: k}", "{kind: waitForEvent, signalName: k}",
		"{kind: other}", "{}", "text", "[]", "{wait: 1s}",
	} {
		taken[agree(t, s, "x.op.yaml", head+step+"\n")]++
	}
	const tail = "\nphases: [{name: p, steps: [{sleep: 1s}]}]\n"
	for _, text := range []string{
		"name: a" + tail, "name: 7" + tail, "name: a b" + tail, "name: list" + tail, "name: " + strings.Repeat("a", 101) + tail, "overview: o" + tail,
		"{name: a, phases: []}", "{name: a, phases: {}}", "{name: a}", "{name: a, phases: [{name: p, steps: []}]}", "{name: a, phases: [{steps: [{sleep: 1s}]}]}",
		"{name: a, phases: [{name: p, parallel: yes please, steps: [{sleep: 1s}]}]}", "{name: a, phases: [{name: p, serial: true, steps: [{sleep: 1s}]}]}",
		"{name: a, phases: [{name: p}]}", "[]", "{}", "text",
		"name: a\noverview: 7\ntaskQueue: q\nnamespace: n\ndepends: [b, 7]\nsearchAttributes: {A: 1}" + tail,
		"name: a\ndepends: b" + tail, "name: a\nsearchAttributes: [1]" + tail, "name: a\nother: 1" + tail,
		"name: a\nonFailure: [{name: p, steps: [{shell: undo}]}]" + tail, "name: a\nonFailure: []" + tail,
		"name: a\nonFailure: [{name: p, steps: [{gate: ok}]}]" + tail, "name: a\nonFailure: [{name: p, steps: [{kind: gate, signalName: ok}]}]" + tail,
		"name: a\nonFailure: [{name: p, steps: [{waitForEvent: k}]}]" + tail, "name: a\nonFailure: [{name: p, steps: [{sleep: 1s}]}]" + tail,
	} {
		taken[agree(t, s, "x.op.yaml", text)]++
	}
	if taken[true] < 20 || taken[false] < 20 {
		t.Errorf("%d Ops are taken and %d are not: one kind is hardly looked at", taken[true], taken[false])
	}
}

func TestSchemaNamesTheProfiles(t *testing.T) {
	var s struct {
		Defs struct {
			Profile struct{ Enum []string }
		} `json:"$defs"`
	}
	if err := json.Unmarshal(op.Schema(), &s); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, p := range op.Profiles() {
		want = append(want, p.Name)
	}
	if !slices.Equal(s.Defs.Profile.Enum, want) {
		t.Errorf("the schema has the profiles %q, and there are %q", s.Defs.Profile.Enum, want)
	}
}

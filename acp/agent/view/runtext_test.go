package view

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/host"
)

// A gate shows what it lets run, what there is to look at, and where the tree
// stands; and once that is not so any more, no line that would be refused.
func TestWhatAGateIsAbout(t *testing.T) {
	dirty := false
	w := host.OpWait{
		RunID: "h7k2m9", Op: "deploy", Kind: host.WaitGate, Name: "go", Digest: "0a1b2c3d", RequestID: "r", State: host.WaitOpen,
		Approve: "approve deploy go --run h7k2m9", Reject: "reject deploy go --run h7k2m9", Continue: "run deploy --run h7k2m9",
		Steps: []string{"./scripts/ship prod", "echo \u202edone"}, Commit: "4f5e", Clean: &dirty,
		Evidence: []host.Evidence{{Path: "plan.out", Size: 5, SHA256: "abcd"}, {Path: "report", Lacks: "not there"}},
	}
	const block = "```\ndigest    0a1b2c3d\ncommit    4f5e, dirty\nruns      ./scripts/ship prod\nruns      echo \\u202edone\n" +
		"look at   plan.out (5 bytes, SHA-256 abcd)\nlook at   report, which is not there\n```"
	for name, text := range map[string]string{"question": GateText(w), "lines": WaitText(w)} {
		if !strings.Contains(text, block) {
			t.Errorf("the %s is\n%s\nwant\n%s", name, text, block)
		}
	}
	meta, err := json.Marshal(GateMeta(w))
	const want = `{"clean":false,"commit":"4f5e","digest":"0a1b2c3d","evidence":[{"path":"plan.out","sha256":"abcd","size":5},{"lacks":"not there","path":"report"}],` +
		`"gate":"go","requestId":"r","runId":"h7k2m9","steps":["./scripts/ship prod","echo ` + "\u202e" + `done"]}`
	if err != nil || string(meta) != want {
		t.Errorf("_meta.chant is\n%s, want\n%s", meta, want)
	}
	w.Void = "plan.out changed at 14:02, after the question"
	if text := WaitText(w); strings.Contains(text, w.Approve) || !strings.Contains(text, "would be void: plan.out changed at 14:02, after the question.") || !strings.Contains(text, w.Continue) {
		t.Errorf("of a change it says\n%s", text)
	}
	w.State, w.By = host.WaitApproved, "ann"
	if text := WaitText(w); !strings.Contains(text, "That is void: plan.out changed") || !strings.Contains(text, w.Continue) {
		t.Errorf("of a void approval it says\n%s", text)
	}
	w.Void, w.Steps = "", make([]string, 500)
	for i := range w.Steps {
		w.Steps[i] = strings.Repeat("long ", 200)
	}
	if text := GateText(w); JSONLen(text) > 2*FieldBytes {
		t.Errorf("a question has %d bytes", JSONLen(text))
	}
}

package main

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// attempts are what a program tries in order to decide as a person would: lines of
// sh, run by an allowed script. $CHANT is chant-acp, $RUN a run that waits at the
// gate ship of the Op release, $STOPPED one that was cancelled, $URL and $TOKEN are those
// of the workspace's gateway.
var attempts = map[string]string{
	"plain":                "$CHANT prompt --yes approve release ship --run $RUN",
	"without variables":    "env -u CHANT_ACP_TOKEN -u CHANT_ACP_ORIGIN $CHANT prompt --yes approve release ship --run $RUN",
	"env -i":               `env -i HOME="$HOME" PATH="$PATH" CHANT_ACP_STATE="$CHANT_ACP_STATE" $CHANT prompt --yes approve release ship --run $RUN`,
	"as a client":          "env -u CHANT_ACP_TOKEN CHANT_ACP_ORIGIN=client $CHANT prompt --yes approve release ship --run $RUN",
	"a session of its own": "env -u CHANT_ACP_TOKEN setsid $CHANT prompt --yes approve release ship --run $RUN",
	"a double fork":        "(env -u CHANT_ACP_TOKEN setsid sh -c '$CHANT prompt --yes approve release ship --run $RUN >daemon 2>&1; echo done >>daemon' </dev/null >/dev/null 2>&1 &); until grep -q done daemon 2>/dev/null; do sleep 0.05; done; cat daemon",
	"limits":               "ulimit -Hx unlimited 2>/dev/null; ulimit -x unlimited 2>/dev/null; env -u CHANT_ACP_TOKEN $CHANT prompt --yes approve release ship --run $RUN",
	"undoing":              "env -u CHANT_ACP_TOKEN $CHANT prompt --yes run undo release --run $STOPPED",
	"resuming":             "env -u CHANT_ACP_TOKEN $CHANT prompt --yes run release --env dev --run $STOPPED --resume",
	"cancelling":           "env -u CHANT_ACP_TOKEN $CHANT prompt --yes run cancel release --run $RUN",
	"restarting":           "env -u CHANT_ACP_TOKEN $CHANT prompt --yes run release --run $RUN --restart",
	"rejecting":            "env -u CHANT_ACP_TOKEN $CHANT prompt --yes reject release ship --run $RUN",
	"confirming":           "env -u CHANT_ACP_TOKEN $CHANT prompt --yes destroy",
	"allowing":             "env -u CHANT_ACP_TOKEN $CHANT allow --yes other",
	"configuring":          "env -u CHANT_ACP_TOKEN $CHANT config set agent.allow always; env -u CHANT_ACP_TOKEN $CHANT config unset agent.allow",
	"taking tasks":         "env -u CHANT_ACP_TOKEN $CHANT prompt --yes --cwd other allow make all",
	"trusting":             "env -u CHANT_ACP_TOKEN $CHANT heartbeat trust --yes",
	"a descriptor":         "env -u CHANT_ACP_TOKEN $CHANT prompt --yes approve release ship --run $RUN 3<>/dev/null",
	"a capability":         "env -u CHANT_ACP_TOKEN $CHANT gateway capability",
	"the token":            `curl -s -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{"decision":"approve"}' "$URL/runs/$RUN/gates/ship"`,
	"a session":            `curl -s -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d "{\"adapter\":\"chant-acp\",\"name\":\"mine$$\"}" "$URL/sessions/agent" >/dev/null; curl -s -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d "{\"prompt\":\"approve release ship --run $RUN\"}" "$URL/sessions/mine$$/prompt"`,
	"a person's session":   `curl -s -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d "{\"prompt\":\"approve release ship --run $RUN\"}" "$URL/sessions/theirs/prompt"`,
	"a terminal":           `curl -s -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d "{\"argv\":[\"sh\",\"-c\",\"env -u CHANT_ACP_TOKEN $CHANT prompt --yes approve release ship --run $RUN >terminal 2>&1; echo done >>terminal\"]}" "$URL/sessions/terminal" >/dev/null; until grep -q done terminal 2>/dev/null; do sleep 0.05; done; cat terminal`,
	"a terminal's origin":  `curl -s -H "Authorization: Bearer $TOKEN" -H 'Content-Type: application/json' -d '{"argv":["true"],"env":{"CHANT_ACP_ORIGIN":"client"}}' "$URL/sessions/terminal"`,
	"a gateway":            "env -u CHANT_ACP_TOKEN $CHANT gateway --workspace other --port 0 >gateway & until [ -s other/.chant-acp/runtime.json ]; do sleep 0.05; done; grep person other/.chant-acp/runtime.json || echo 'it has no person'; kill $!; wait",
}

// tried says whether an attempt is to fail: root raises its limits, as the README
// says.
func tried(name string) bool { return name != "limits" || os.Getuid() != 0 }

// refusals are what says that it did not work.
var refusals = []string{"person", "CHANT_ACP_"}

// TestProgramsDecideNothing lets programs that chant-acp starts try to decide as a
// person. No decision may appear, and each is told why.
func TestProgramsDecideNothing(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	dir, state := t.TempDir(), t.TempDir()
	files := map[string]string{
		"chant-acp.yaml":       "version: 1\ncommands:\n  try: {summary: Try, exec: [sh, attempt]}\n  destroy: {summary: Destroy, exec: [touch, destroyed], effect: destroy}\n",
		"release.op.yaml":      "name: release\nphases:\n  - name: Ship\n    steps: [{shell: echo}, {gate: ship}, {shell: touch shipped}]\nonFailure: [{name: U, steps: [{shell: touch undone}]}]\n",
		"HEARTBEAT.md":         "```chant\nevery: 1h\ntry\n```\n",
		"other/chant-acp.yaml": "version: 1\ncommands: {x: {summary: X, exec: [echo]}}\n",
		"other/Makefile":       "all:\n",
	}
	for name, text := range files {
		write(t, filepath.Join(dir, name), text)
	}
	run := func(line ...string) string {
		c := program(t, append([]string{"prompt", "--cwd", dir}, line...)...)
		c.Env = append(c.Env, "CHANT_ACP_STATE="+state, "CHANT_ACP_TOKEN=")
		out, _ := c.CombinedOutput()
		return string(out)
	}
	_, stopped, _ := strings.Cut(run("run release --env dev"), "--run ")
	stopped, _, _ = strings.Cut(stopped, "\n")
	if text := run("run cancel --run " + stopped); !strings.Contains(text, "cancelled") {
		t.Fatal(text)
	}
	text := run("run release")
	_, id, found := strings.Cut(text, "--run ")
	if id, _, _ = strings.Cut(id, "\n"); !found {
		t.Fatalf("the run does not wait:\n%s", text)
	}
	d := startGatewayIn(t, dir, state)
	p := d.person(t)
	p.want(http.StatusCreated, "POST", "/sessions/agent", `{"adapter":"chant-acp","name":"theirs"}`)
	for name, attempt := range attempts {
		if !tried(name) {
			continue
		}
		script := fmt.Sprintf("CHANT=%s RUN=%s STOPPED=%s URL=%s TOKEN=%s\nexport CHANT RUN STOPPED\n%s\n", binary(t), strings.TrimSpace(id), stopped, p.at.URL, p.at.Token, attempt)
		write(t, filepath.Join(dir, "attempt"), script)
		said := run("try")
		told := false
		for _, r := range refusals {
			told = told || strings.Contains(said, r)
		}
		if !told {
			t.Errorf("%s: nothing says that it was refused:\n%s", name, said)
		}
		if status := run("run status release --run " + strings.TrimSpace(id)); !strings.Contains(status, "waiting") && !strings.Contains(status, "waits") {
			t.Fatalf("%s: a gate was decided:\n%s\n%s", name, said, status)
		}
	}
	for _, file := range []string{"destroyed", "shipped", "undone"} {
		if _, err := os.Stat(filepath.Join(dir, file)); err == nil {
			t.Errorf("%s is there", file)
		}
	}
	if status := run("run status --run " + stopped); !strings.Contains(status, "state        cancelled") {
		t.Errorf("what was cancelled went on:\n%s", status)
	}
	// A person can.
	p.want(http.StatusOK, "POST", "/runs/"+strings.TrimSpace(id)+"/gates/ship", `{"decision":"approve"}`)
}

// write writes a file of a project, and makes its folder.
func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

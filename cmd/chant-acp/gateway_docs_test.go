package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// secrets are the words of an example that hold what only one person may know.
const secrets = "Bearer $"

// example is a shell block of a page, and what is shown below it.
type example struct {
	line               int
	shell, kind, shown string
}

// examples are the shell blocks of a page.
func examples(page string) []example {
	var list []example
	var inside string
	for i, line := range strings.Split(page, "\n") {
		switch {
		case inside == "" && strings.HasPrefix(line, "```"):
			inside = strings.TrimPrefix(line, "```")
			if inside == "sh" {
				list = append(list, example{line: i + 1})
			}
		case line == "```":
			inside = ""
		case len(list) == 0:
		case inside == "sh":
			list[len(list)-1].shell += line + "\n"
		case inside != "":
			list[len(list)-1].kind = inside
			list[len(list)-1].shown += line + "\n"
		}
	}
	return list
}

// TestGatewayExamples runs what docs/gateway.md shows, in order, against a real
// gateway, and wants what is shown below: JSON with these members, or these lines
// of a stream.
func TestGatewayExamples(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("there is no curl")
	}
	page, err := os.ReadFile("../../docs/gateway.md")
	if err != nil {
		t.Fatal(err)
	}
	workspace := t.TempDir()
	const allowed = "version: 1\ncommands:\n  status: {summary: Show, exec: [echo, all is well], effect: read}\n  deploy: {summary: Deploy, exec: [echo, done], confirm: ask}\n"
	if err := os.WriteFile(filepath.Join(workspace, "chant-acp.yaml"), []byte(allowed), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(workspace, ".chant-acp", "conversations"), 0o700); err != nil {
		t.Fatal(err)
	}
	const release = "name: release\nphases:\n  - name: Ship\n    steps: [{gate: ship}, {shell: echo shipped}]\n"
	if err := os.WriteFile(filepath.Join(workspace, "release.op.yaml"), []byte(release), 0o600); err != nil {
		t.Fatal(err)
	}
	startGateway(t, workspace)
	setup, ran := "", 0
	for _, e := range examples(string(page)) {
		if strings.HasPrefix(e.shell, "URL=") {
			setup = e.shell
		}
		if !strings.Contains(e.shell, "curl") && !strings.Contains(e.shell, "as \"") {
			continue
		}
		ran++
		if strings.Contains(e.shell, secrets) {
			t.Errorf("line %d: a secret stands in a command line, where every program reads it", e.line)
		}
		t.Run(fmt.Sprintf("line %d", e.line), func(t *testing.T) { e.run(t, workspace, setup) })
	}
	if ran < 18 {
		t.Errorf("only %d examples were found", ran)
	}
}

func (e example) run(t *testing.T, workspace, setup string) {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := exec.CommandContext(ctx, "sh", "-c", "set -e\n"+setup+e.shell)
	c.Dir = workspace
	c.Env = append(os.Environ(), "no_proxy=*", "PATH="+filepath.Dir(binary(t))+string(filepath.ListSeparator)+os.Getenv("PATH"))
	c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	c.Cancel = func() error { return syscall.Kill(-c.Process.Pid, syscall.SIGKILL) } // the shell's curl too
	var errors bytes.Buffer
	c.Stderr = &errors
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	missing := strings.Split(strings.TrimSuffix(e.shown, "\n"), "\n")
	for lines := bufio.NewScanner(out); lines.Scan(); {
		text.WriteString(lines.Text() + "\n")
		for len(missing) > 0 && strings.HasPrefix(lines.Text(), missing[0]) {
			missing = missing[1:]
			break
		}
		if e.kind == "text" && len(missing) == 0 {
			cancel() // a stream goes on for ever
		}
	}
	err = c.Wait()
	switch {
	case e.kind == "text":
		if len(missing) > 0 {
			t.Errorf("%v\n%s\n%s: %q does not come", err, errors.String(), text.String(), missing[0])
		}
		return
	case err != nil || e.kind != "json" && strings.Contains(text.String(), "gateway.md#"):
		t.Fatalf("%v\n%s\n%s", err, errors.String(), text.String())
	case e.kind != "json":
		return
	}
	var got, shown any
	if err := json.Unmarshal([]byte(text.String()), &got); err != nil {
		t.Fatalf("%v\n%s", err, text.String())
	}
	if err := json.Unmarshal([]byte(e.shown), &shown); err != nil {
		t.Fatalf("what is shown: %v", err)
	}
	for _, p := range differ("", shown, got) {
		t.Errorf("%s\n%s", p, text.String())
	}
}

// differ lists where JSON has not the shape of what is shown.
func differ(at string, shown, got any) []string {
	switch shown := shown.(type) {
	case map[string]any:
		object, ok := got.(map[string]any)
		if !ok {
			return []string{at + " is no object"}
		}
		var list []string
		for name, value := range shown {
			if other, ok := object[name]; ok {
				list = append(list, differ(at+"/"+name, value, other)...)
			} else {
				list = append(list, at+"/"+name+" is not there")
			}
		}
		return list
	case []any:
		array, ok := got.([]any)
		if !ok || len(array) < len(shown) {
			return []string{at + " is no array of as many"}
		}
		var list []string
		for i := range shown {
			list = append(list, differ(fmt.Sprintf("%s/%d", at, i), shown[i], array[i])...)
		}
		return list
	default:
		if fmt.Sprintf("%T", shown) != fmt.Sprintf("%T", got) {
			return []string{fmt.Sprintf("%s is %v, and not like %v", at, got, shown)}
		}
		return nil
	}
}

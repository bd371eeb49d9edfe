package agent_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/chant-acp/chant-acp/acp"
)

// values of the options, by id, of an answer or an update.
func values(options []acp.ConfigOption) string {
	var list []string
	for _, o := range options {
		var of []string
		for _, v := range o.Options {
			of = append(of, v.Value)
		}
		list = append(list, fmt.Sprintf("%s=%s of %s", o.ID, o.CurrentValue, strings.Join(of, ",")))
	}
	return strings.Join(list, "; ")
}

func TestConfigOptions(t *testing.T) {
	w := dial(t, setup{})
	var made acp.NewSessionResponse
	w.result(w.request("session/new", map[string]any{"cwd": w.host.root, "mcpServers": []any{}}), &made)
	const outputs = " of auto,full,plain,quiet"
	if got, want := values(made.ConfigOptions), "env=none of none,dev,staging; output=auto"+outputs; got != want {
		t.Errorf("session/new has %s, want %s", got, want)
	}
	set := func(id, value, want string) {
		t.Helper()
		var r acp.SetConfigOptionResponse
		w.result(w.setOption(made.SessionID, id, value), &r)
		if got := values(r.ConfigOptions); got != want {
			t.Errorf("setting %s to %s gives %s, want %s", id, value, got, want)
		}
	}
	set("env", "dev", "env=dev of none,dev,staging; output=auto"+outputs)
	set("output", "quiet", "env=dev of none,dev,staging; output=quiet"+outputs)
	set("env", "none", "env=none of none,dev,staging; output=quiet"+outputs)
	for _, c := range []struct{ id, value, says string }{
		{"env", "prod", "protected"}, {"env", "moon", "none, dev, staging"}, {"env", "", "none, dev, staging"}, {"env", "Dev", "none, dev, staging"},
		{"output", "loud", "auto, full, plain, quiet"}, {"output", "", "auto, full, plain, quiet"},
		{"mode", "ask", "env and output"}, {"", "", "env and output"},
	} {
		if e := w.fault(w.setOption(made.SessionID, c.id, c.value)); e.Code != acp.CodeInvalidParams || !strings.Contains(e.Message, c.says) {
			t.Errorf("setting %s to %s: %d %s", c.id, c.value, e.Code, e.Message)
		}
	}
	if e := w.fault(w.setOption("sess_unknown", "env", "dev")); e.Code != acp.CodeResourceNotFound || e.Data["sessionId"] != "sess_unknown" {
		t.Errorf("unknown session: %d %v", e.Code, e.Data)
	}
	if e := w.fault(w.request("session/set_config_option", map[string]any{"sessionId": made.SessionID, "configId": "output", "type": "boolean", "value": true})); e.Code != acp.CodeInvalidParams {
		t.Errorf("a boolean: %d %s", e.Code, e.Message)
	}
}

// The option env is the default of a parameter of that name, and CHANT_ENV.
func TestTheOptionEnv(t *testing.T) {
	w := dial(t, setup{})
	session, other := w.newSession(), w.newSession()
	if o, _ := w.prompt(session, "where"); o.StopReason != "refusal" {
		t.Errorf("without an environment it ended %s", o)
	}
	w.prompt(session, "ok")
	if got := w.host.last().env("CHANT_ENV"); got != "" {
		t.Errorf("CHANT_ENV is %q", got)
	}
	w.answer(w.setOption(session, "env", "dev"))
	for line, want := range map[string]string{"where": "dev", "where staging": "staging", "where prod": "prod", "ok": "dev"} {
		w.prompt(session, line)
		r := w.host.last()
		if got := r.env("CHANT_ENV"); got != want || line != "ok" && r.inv.Argv[1] != want {
			t.Errorf("%s ran %v with CHANT_ENV=%s, want %s", line, r.inv.Argv, got, want)
		}
	}
	if o, _ := w.prompt(other, "where"); o.StopReason != "refusal" {
		t.Errorf("in another session it ended %s", o)
	}
}

func TestOutputModes(t *testing.T) {
	for _, c := range []struct {
		output, line string
		has, hasNot  []string
	}{
		{"auto", "ok", []string{"    done\n"}, []string{"```"}},
		{"plain", "ok", []string{"done\n"}, []string{"```", " done"}},
		{"quiet", "ok", []string{"completed in"}, []string{"done"}},
		{"quiet", "fail", []string{"no such thing", "failed with exit code 1"}, nil},
		{"auto", "loud", []string{"left out here", "0000000 ", "0019999 "}, []string{"0010000 "}},
		{"full", "loud", []string{"0000000 ", "0010000 ", "0019999 "}, []string{"left out here"}},
	} {
		t.Run(c.output+" "+c.line, func(t *testing.T) {
			w := dial(t, setup{})
			session := w.newSession()
			w.answer(w.setOption(session, "output", c.output))
			_, log := w.prompt(session, c.line)
			for _, s := range c.has {
				if !strings.Contains(log.text(), s) {
					t.Errorf("%q is not in %.500q", s, log.text())
				}
			}
			for _, s := range c.hasNot {
				if strings.Contains(log.text(), s) {
					t.Errorf("%q is in %.500q", s, log.text())
				}
			}
		})
	}
}

const brokenManifest = "version: 1\nnonsense: 1\n"

// What is wrong with a manifest is told once, and again when it changes; the
// built-in commands work all the same.
func TestABrokenManifest(t *testing.T) {
	w := dial(t, setup{})
	w.host.write(brokenManifest)
	session := w.newSession()
	tells := func(line, problem string) {
		t.Helper()
		o, log := w.prompt(session, line)
		if told := strings.Contains(log.text(), "can't be used"); told != (problem != "") || !strings.Contains(log.text(), problem) {
			t.Errorf("%s ended %s and said %q", line, o, log.text())
		}
	}
	tells("help", "nonsense")
	tells("help", "")
	tells("ok", "")
	if n := len(w.host.runs()); n > 0 {
		t.Errorf("ran %v", w.host.runs())
	}
	w.host.write("version: 1\nrubbish: 1\n")
	tells("history", "rubbish")
	w.host.write(stubManifest)
	tells("ok", "")
	w.host.write(brokenManifest)
	tells("ok", "nonsense")
}

// A client learns of the slash commands after session/new, at the first prompt
// and after a change, and of the options then, too.
func TestChangesOfTheManifest(t *testing.T) {
	w := dial(t, setup{})
	session := w.newSession()
	names := func(log turnLog) (list []string) {
		for _, u := range log.updates("available_commands_update") {
			for _, c := range u.Commands {
				list = append(list, c.Name)
			}
		}
		return list
	}
	_, log := w.prompt(session, "help")
	if got := names(log); !slices.Contains(got, "ok") || !slices.Contains(got, "help") {
		t.Errorf("the first prompt tells of %v", got)
	}
	if _, log = w.prompt(session, "help"); names(log) != nil {
		t.Errorf("the second prompt tells of %v", names(log))
	}
	w.answer(w.setOption(session, "env", "dev"))
	w.host.write("version: 1\nenvironments: [qa]\ncommands:\n  fresh: {summary: new, exec: [ok]}\n")
	_, log = w.prompt(session, "fresh")
	if got := names(log); !slices.Contains(got, "fresh") || slices.Contains(got, "ok") {
		t.Errorf("after a change it tells of %v", got)
	}
	options := log.updates("config_option_update")
	if len(options) != 1 || !strings.HasPrefix(values(options[0].Options), "env=none of none,qa;") {
		t.Errorf("after a change it tells of the options %v", options)
	}
}

// A change between session/new and the first prompt is no exception.
func TestAChangeBeforeTheFirstPrompt(t *testing.T) {
	w := dial(t, setup{})
	session := w.newSession()
	w.host.write("version: 1\nenvironments: [qa]\ncommands: {}\n")
	_, log := w.prompt(session, "help")
	options := log.updates("config_option_update")
	if len(options) != 1 || !strings.HasPrefix(values(options[0].Options), "env=none of none,qa;") {
		t.Errorf("it tells of the options %v", options)
	}
}

// The whole order of _meta.terminal_*, and that the colour is asked for.
func TestTerminalOutput(t *testing.T) {
	for line, exit := range map[string]string{
		"ok": `"exit_code":0,"signal":null`, "fail": `"exit_code":1,"signal":null`, "brief": `"exit_code":null,"signal":"SIGTERM"`,
	} {
		t.Run(line, func(t *testing.T) {
			s := setup{terminal: true}
			if line == "brief" {
				line = "slow"
			}
			w := dial(t, s)
			session := w.newSession()
			id := w.begin(session, line)
			if line == "slow" {
				w.begun()
				w.send(cancelLine(session))
			}
			w.ended(id)
			log := turnLog(w.seen)
			call := log.updates("tool_call")[0]
			if call.Meta.Info["terminal_id"] != call.ToolCallID || call.Meta.Info["cwd"] != w.host.root {
				t.Errorf("terminal_info is %v", call.Meta.Info)
			}
			if want := fmt.Sprintf(`[{"type":"terminal","terminalId":"%s"}]`, call.ToolCallID); !sameJSON(string(call.Content), want) {
				t.Errorf("content is %s, want %s", call.Content, want)
			}
			updates := log.updates("tool_call_update")
			last := updates[len(updates)-1]
			var data strings.Builder
			for _, u := range updates[:len(updates)-1] {
				if u.Content != nil || u.Meta.Output["terminal_id"] != call.ToolCallID {
					t.Errorf("an update is %+v", u)
				}
				data.WriteString(u.Meta.Output["data"].(string))
			}
			if n := strings.Count(data.String(), "\n"); n == 0 || !w.host.last().o.Color {
				t.Errorf("the output is %q, colour %v", data.String(), w.host.last().o.Color)
			}
			got, _ := json.Marshal(last.Meta.Exit)
			if !strings.Contains(string(got), strings.Split(exit, ",")[0]) || !strings.Contains(string(got), strings.Split(exit, ",")[1]) {
				t.Errorf("terminal_exit is %s, want %s", got, exit)
			}
			if last.Content != nil {
				t.Errorf("the last content is %s", last.Content)
			}
			if text := log.text(); strings.Contains(text, "```") || !strings.Contains(text, "`"+line+"` ") {
				t.Errorf("it said %q", text)
			}
		})
	}
}

func sameJSON(a, b string) bool {
	var x, y any
	return json.Unmarshal([]byte(a), &x) == nil && json.Unmarshal([]byte(b), &y) == nil && fmt.Sprint(x) == fmt.Sprint(y)
}
